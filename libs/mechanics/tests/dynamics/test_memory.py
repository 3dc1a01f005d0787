"""Memory of terms: internal variables of elements and nodes, their updates, gradients, batches and messages."""

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import (
    Checkpointed,
    CustomStep,
    ExampleSettings,
    InputError,
    MemorySpec,
    Model,
    NoGradient,
    ParamSpec,
    SimulationError,
    State,
    StoreAll,
    Surface,
)
from diffloom.plugins import get_integrator
from diffloom_kernels import device, ld3, length3, mul3, neg3, store_corners, sub3, where
from diffloom_mechanics import ElementTerm, Mechanics, NodeTerm, TorchTerm, particles
from diffloom_testing import check_gradient

REAL = torch.float64
COUNT = 5
PAIRS = np.array([[k, k + 1] for k in range(COUNT - 1)], dtype=np.int32)


@device
def yielding(strain, p, s, modulus, limit, hardening):
    """Stress of an elastoplastic bar, its plastic strain and the sum of its amounts, by return mapping."""
    zero = strain - strain
    trial = modulus * (strain - p)
    sign = where(trial > zero, zero + 1, zero - 1)
    over = sign * trial - limit - hardening * s
    gain = where(over > zero, over / (modulus + hardening), zero)
    return trial - modulus * sign * gain, p + sign * gain, s + gain


@device
def stretched(e, q, nodes, length):
    """Direction times length, and strain of bar e."""
    d = sub3(ld3(q, nodes[e, 1]), ld3(q, nodes[e, 0]))
    return d, length3(d) / length[e] - q.dtype.type(1)


@device
def bar_force(e, clock, q, u, nodes, memory, length, modulus, limit, hardening, out):
    """Tension of an elastoplastic bar."""
    d, strain = stretched(e, q, nodes, length)
    stress, _, _ = yielding(strain, memory[e, 0], memory[e, 1], modulus[e], limit[e], hardening[e])
    f = mul3(d, stress / length3(d))
    store_corners(out, e, (f, neg3(f)))


@device
def bar_update(e, clock, q, u, nodes, memory, length, modulus, limit, hardening):
    """Plastic strain and its amount after a step."""
    _, strain = stretched(e, q, nodes, length)
    _, p, s = yielding(strain, memory[e, 0], memory[e, 1], modulus[e], limit[e], hardening[e])
    return p, s


@device
def warm_force(i, clock, q, u, memory, gain):
    """A drag that grows with the node's temperature."""
    return mul3(ld3(u, i), -gain[i] * memory[i, 0])


@device
def warm_force_adjoint(i, clock, q, u, memory, gain, adj_f, adj_memory, adj_gain):
    """Written by hand: adj_u = -g T adj_f, adj_T = -g u.adj_f, adj_g = -T u.adj_f."""
    zero = q.dtype.type(0)
    v, a = ld3(u, i), ld3(adj_f, i)
    along = v[0] * a[0] + v[1] * a[1] + v[2] * a[2]
    adj_memory[i, 0] -= gain[i] * along
    adj_gain[i] -= memory[i, 0] * along
    return (zero, zero, zero), mul3(a, -gain[i] * memory[i, 0])


@device
def warm_update(i, clock, q, u, memory, gain):
    """Temperature that rises by friction, and the time for which the node has been above the ground."""
    v = ld3(u, i)
    zero = q.dtype.type(0)
    heat = gain[i] * memory[i, 0] * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    return memory[i, 0] + clock.dt * heat, memory[i, 1] + where(q[i, 1] > zero, clock.dt, zero)


BAR_MEMORY = (
    MemorySpec("plastic_strain", 0.0, "", "plastic strain", ("bars",)),
    MemorySpec("amount", 0.0, "", "sum of the amounts of plastic strain", ("bars",)),
)
WARM_MEMORY = (
    MemorySpec("temperature", 1.0, "K", "temperature", ("nodes", 1)),
    MemorySpec("aloft", 0.0, "s", "time above the ground", ("nodes",)),
)


def make_values():
    """Values of all tensors, with which some bars yield and others do not."""
    random = np.random.default_rng(3)
    normal = lambda *shape: torch.from_numpy(random.standard_normal(shape))  # noqa: E731
    q = torch.stack([0.5 * torch.arange(COUNT, dtype=REAL), *0.05 * normal(2, COUNT)], dim=1)
    full = lambda value: torch.full((COUNT - 1,), value, dtype=REAL)  # noqa: E731
    return {
        "q": q, "u": 0.6 * normal(COUNT, 3), "start": 0.01 * normal(COUNT - 1),
        "length": full(0.5), "modulus": full(500.0), "limit": full(20.0), "hardening": full(100.0),
        "gain": torch.full((COUNT,), 0.5, dtype=REAL),
    }  # fmt: skip


def make_system(length, modulus, limit, hardening, gain, torch_term=False):
    """A chain of elastoplastic bars between particles that get warm; the first one is held."""
    values = (("length", length), ("modulus", modulus), ("limit", limit), ("hardening", hardening))
    bars = ElementTerm("bars", PAIRS, bar_force, params=values, memory=BAR_MEMORY, update=bar_update)
    warm = NodeTerm(
        "warm", warm_force, warm_force_adjoint, params=(("gain", gain),), memory=WARM_MEMORY, update=warm_update
    )
    more = (TorchTerm("drag", lambda clock, q, u: -0.1 * u),) if torch_term else ()
    mass = torch.ones_like(gain)
    mass[0] = 0.0
    return Mechanics(particles(mass, gain.new_tensor([0.0, -9.81, 0.0])), (bars, warm, *more))


def roll(scheme, q, u, start, torch_term=False, gradient=None, steps=16, **values):
    """Return the saved states of the chain."""
    state = State(q, u, memory={"plastic_strain": start})
    return get_integrator(scheme)().rollout(
        make_system(**values, torch_term=torch_term), state, dt=8e-3, steps=steps, save=(steps // 2, steps),
        gradient=gradient or StoreAll(),
    )  # fmt: skip


def flatten(path):
    """All numbers of a trajectory in one row."""
    parts = [*(t for pair in path.sets.values() for t in pair), *path.memory.values()]
    return torch.cat([t.reshape(-1) for t in parts])


def reference(q, u, start, length, modulus, limit, hardening, gain, steps=16, dt=8e-3):
    """Chain by semi-implicit Euler in plain PyTorch."""
    p, s = start, torch.zeros_like(start)
    hot, aloft = torch.ones_like(gain), torch.zeros_like(gain)
    i, j = torch.as_tensor(PAIRS, dtype=torch.int64).unbind(1)
    free = torch.ones_like(gain)
    free[0] = 0.0

    def mapped(q, p, s):
        d = q[j] - q[i]
        size = d.norm(dim=1)
        trial = modulus * (size / length - 1.0 - p)
        gains = ((trial.abs() - limit - hardening * s) / (modulus + hardening)).clamp_min(0.0)
        return d / size[:, None], trial - modulus * trial.sign() * gains, p + trial.sign() * gains, s + gains

    saved = []
    for k in range(steps):
        way, stress, _, _ = mapped(q, p, s)
        f = -(gain * hot)[:, None] * u
        f = f.index_add(0, i, way * stress[:, None]).index_add(0, j, -way * stress[:, None])
        u = u + dt * free[:, None] * (f + f.new_tensor([0.0, -9.81, 0.0]))
        q = q + dt * u * free[:, None]
        _, _, p, s = mapped(q, p, s)
        hot = hot + dt * gain * hot * u.square().sum(1)
        aloft = aloft + dt * (q[:, 1] > 0.0).to(REAL)
        if k + 1 in (steps // 2, steps):
            saved.append((q, u, p, s, hot, aloft))
    return torch.cat([torch.stack(part).reshape(-1) for part in zip(*saved, strict=True)])


def test_states_and_gradients_agree_with_plain_pytorch():
    leaves = {name: value.clone().requires_grad_() for name, value in make_values().items()}
    found, expected = flatten(roll("semi_implicit", **leaves)), reference(**leaves)
    assert float((found - expected).detach().abs().max()) < 1e-12
    weights = torch.linspace(-1.0, 1.0, len(found), dtype=REAL)
    ours, theirs = (torch.autograd.grad((v * weights).sum(), list(leaves.values())) for v in (found, expected))
    for name, a, b in zip(leaves, ours, theirs, strict=True):
        assert bool(b.any()), name
        assert float((a - b).abs().max()) <= 1e-10 * float(b.abs().max()), name


def test_some_bars_yield_and_some_do_not():
    amount = roll("semi_implicit", **make_values()).memory["amount"][-1]
    assert 0 < int((amount > 0.0).sum()) < COUNT - 1


@pytest.mark.parametrize(
    ("scheme", "torch_term"),
    [("semi_implicit", True), ("rk4", False), ("implicit_midpoint", False)]
    + [
        pytest.param(*case, marks=pytest.mark.slow)
        for case in [("leapfrog", False), ("leapfrog", True), ("rk4", True), ("backward_euler", False)]
    ],
)
def test_gradients_agree_with_differences(scheme, torch_term):
    # The step of differences is small, because bars begin to yield at kinks of the motion.
    found = check_gradient(
        lambda **values: flatten(roll(scheme, torch_term=torch_term, **values)), make_values(), step=1e-6,
        tolerance=2e-5, directions=1,
    )  # fmt: skip
    assert not any(each.silent for each in found)


@pytest.mark.parametrize("policy", [Checkpointed(segment=5), NoGradient()])
def test_policies_give_the_same_bits(policy):
    leaves = {name: value.clone().requires_grad_() for name, value in make_values().items()}
    kept, other = (flatten(roll("semi_implicit", gradient=each, **leaves)) for each in (StoreAll(), policy))
    assert torch.equal(kept, other)
    if isinstance(policy, Checkpointed):
        for a, b in zip(*(torch.autograd.grad(v.sum(), list(leaves.values())) for v in (kept, other)), strict=True):
            assert torch.equal(a, b)


def test_a_rollout_goes_on_from_a_saved_state():
    values = make_values()
    whole = roll("semi_implicit", **values)
    half = whole[0]
    system = make_system(**{k: v for k, v in values.items() if k not in ("q", "u", "start")})
    rest = get_integrator("semi_implicit")().rollout(system, half, dt=8e-3, steps=8, save=(8,), gradient=NoGradient())
    assert torch.equal(flatten(rest), flatten(whole.select([1])))


class Chain(Model):
    """The chain as a model."""

    example_settings = ExampleSettings(dt=8e-3, steps=16, fit="modulus")

    @property
    def specs(self):
        return (
            ParamSpec("modulus", 500.0, "Pa", "of each bar", ("bars",), (0.0, None)),
            ParamSpec("gain", 0.5, "", "of friction", ("nodes",), (0.0, None)),
        )

    @property
    def axes(self):
        return {"bars": COUNT - 1, "nodes": COUNT}

    @property
    def memory(self):
        return (*BAR_MEMORY, *WARM_MEMORY)

    def initial_state(self, params):
        values = make_values()
        return State(values["q"].to(params.dtype), values["u"].to(params.dtype))

    def dynamics(self, params, control):
        values = {name: make_values()[name].to(params.dtype) for name in ("length", "limit", "hardening")}
        wide = params["modulus"].expand(COUNT - 1).contiguous(), params["gain"].expand(COUNT).contiguous()
        return make_system(modulus=wide[0], gain=wide[1], **values)

    def surface(self, trajectory, params):
        return Surface(trajectory.q, torch.tensor([[0, 1, 2]]))


def test_scenes_of_a_batch_are_those_of_single_runs():
    stiff = torch.tensor([300.0, 500.0, 900.0], dtype=REAL)
    model = Chain()
    many = simulate(model, model.params(REAL, batch=3, modulus=stiff), dt=8e-3, steps=16, save=(8, 16))
    for scene, value in enumerate(stiff):
        one = simulate(model, model.params(REAL, modulus=value), dt=8e-3, steps=16, save=(8, 16))
        assert list(one.memory) == ["plastic_strain", "amount", "temperature", "aloft"]
        assert one.memory["temperature"].shape == (2, COUNT, 1)
        assert torch.equal(flatten(many.scene(scene)), flatten(one))
    short = simulate(model, model.params(REAL, batch=3, modulus=stiff), dt=8e-3, steps=[8, 16, 16], save=(8, 16))
    assert torch.equal(short.memory["amount"][0, 0], short.memory["amount"][0, 1])


def test_memory_of_a_custom_step():
    def step(k, dt, state):
        return State(state.q, state.u, state.time + dt, {"age": state.memory["age"] * (1.0 + state.q.sum())})

    q = torch.full((2, 1), 0.25, dtype=REAL, requires_grad=True)
    start = State(q, torch.zeros_like(q), memory={"age": torch.ones(2, dtype=REAL)})
    for policy in (StoreAll(), Checkpointed(segment=2)):
        path = get_integrator("custom_step")().rollout(
            CustomStep(step, (q,)), start, dt=0.1, steps=3, save=(0, 3), gradient=policy
        )
        assert torch.equal(path.memory["age"][1], torch.full((2,), 1.5**3, dtype=REAL))
        (found,) = torch.autograd.grad(path.memory["age"][1, 0], q)
        assert torch.allclose(found, torch.full_like(q, 3 * 1.5**2))


@device
def broken_update(i, clock, q, u, memory, gain):
    """A temperature that becomes infinite after 0.05 s."""
    zero = q.dtype.type(0)
    return where(clock.time > zero + 0.05, zero + 1, zero) / zero, memory[i, 1]


def test_the_message_of_a_bad_update_names_variable_term_and_step():
    warm = NodeTerm(
        "warm", warm_force, warm_force_adjoint, params=(("gain", torch.zeros(COUNT, dtype=REAL)),),
        memory=WARM_MEMORY, update=broken_update,
    )  # fmt: skip
    values = make_values()
    system = Mechanics(particles(torch.ones(COUNT, dtype=REAL), torch.zeros(3, dtype=REAL)), (warm,))
    with pytest.raises(SimulationError, match=r"step 1 .*update of the term 'warm' gives node 0 a 'temperature'"):
        get_integrator("semi_implicit")().rollout(
            system, State(values["q"], values["u"]), dt=8e-3, steps=16, save=(16,), gradient=NoGradient()
        )


def test_wrong_memory_is_refused():
    values = make_values()
    system = make_system(**{k: v for k, v in values.items() if k not in ("q", "u", "start")})

    def run(**memory):
        state = State(values["q"], values["u"], memory=memory)
        get_integrator("semi_implicit")().rollout(system, state, dt=1e-3, steps=1, save=(1,), gradient=NoGradient())

    with pytest.raises(InputError, match=r"'warmth', which is not declared; declared are: 'plastic_strain', 'amount'"):
        run(warmth=torch.zeros(COUNT, dtype=REAL))
    with pytest.raises(InputError, match=r"memory\['amount'\]: got shape \(2,\); expected \(4,\)"):
        run(amount=torch.zeros(2, dtype=REAL))
    with pytest.raises(InputError, match="got memory without update; expected both"):
        NodeTerm("warm", warm_force, params=(("gain", values["gain"]),), memory=WARM_MEMORY)
    with pytest.raises(InputError, match="got shape \\(3,\\); expected the name of an axis"):
        MemorySpec("damage", 0.0, "", "damage", (3,))
