"""Systems of several node sets: particles of two sets, rotors of width 1, terms within, between and on some nodes."""

import numpy as np
import pytest
import torch

from diffloom.fixed_order import broadcast, broadcast_read_only
from diffloom.interfaces import Checkpointed, InputError, State, StoreAll
from diffloom.plugins import get_integrator
from diffloom_kernels import device, ld3, mul3, neg3, sub3
from diffloom_mechanics import ElementTerm, Mechanics, NodeSet, NodeTerm, TorchTerm, external_force, particles, springs

REAL = torch.float64
SCHEMES = ["semi_implicit", "leapfrog", "rk4", "backward_euler", "implicit_midpoint"]


@device
def link_force(e, clock, q, u, nodes, q_b, u_b, nodes_b, stiffness, out, out_b):
    """A spring without length from a node of one set to one of another."""
    f = mul3(sub3(ld3(q_b, nodes_b[e, 0]), ld3(q, nodes[e, 0])), stiffness[e])
    g = neg3(f)
    for c in range(3):
        out[e, 0, c] = f[c]
        out_b[e, 0, c] = g[c]


@device
def link_force_adjoint(
    e, clock, q, u, nodes, q_b, u_b, nodes_b, stiffness, adj_f, adj_f_b, adj_q, adj_u, adj_q_b, adj_u_b, adj_stiffness
):
    """Transpose of the link's force; with a = adj_f - adj_g: adj_d = k a, adj_k = d.a."""
    d = sub3(ld3(q_b, nodes_b[e, 0]), ld3(q, nodes[e, 0]))
    a = sub3(ld3(adj_f, nodes[e, 0]), ld3(adj_f_b, nodes_b[e, 0]))
    zero = q.dtype.type(0)
    for c in range(3):
        adj_q[e, 0, c] = -stiffness[e] * a[c]
        adj_q_b[e, 0, c] = stiffness[e] * a[c]
        adj_u[e, 0, c] = zero
        adj_u_b[e, 0, c] = zero
        adj_stiffness[e] += d[c] * a[c]


@device
def rotor_acceleration(i, q, u, f, inertia):
    """f / I."""
    return (f[0] / inertia[i],)


@device
def rotor_acceleration_adjoint(i, q, u, f, inertia, adj, adj_inertia):
    """adj_f = adj / I, adj_I = -f adj / I^2."""
    zero = inertia.dtype.type(0)
    adj_inertia[i] -= f[0] * adj[0] / (inertia[i] * inertia[i])
    return (zero,), (zero,), (adj[0] / inertia[i],)


@device
def twist(i, clock, q, u, q_p, u_p, gain):
    """Rotor i follows the height of particle i: gain (y - angle)."""
    return (gain[i] * (q_p[i, 1] - q[i, 0]),)


@device
def twist_adjoint(i, clock, q, u, q_p, u_p, gain, adj_f, adj_f_p, adj_gain):
    """Transpose of both forces, which depend on the angle: adj_angle = gain (adj_pull - adj_twist)."""
    zero = q.dtype.type(0)
    adj_gain[i] += (q_p[i, 1] - q[i, 0]) * adj_f[i, 0]
    return (gain[i] * (adj_f_p[i, 1] - adj_f[i, 0]),), (zero,)


@device
def pull(i, clock, q, u, q_r, u_r, gain):
    """The opposite of twist, on particle i."""
    zero = q.dtype.type(0)
    return (zero, gain[i] * (q_r[i, 0] - q[i, 1]), zero)


@device
def pull_adjoint(i, clock, q, u, q_r, u_r, gain, adj_f, adj_f_r, adj_gain):
    """adj_y = gain (adj_twist - adj_pull)."""
    zero = q.dtype.type(0)
    adj_gain[i] += (q_r[i, 0] - q[i, 1]) * adj_f[i, 1]
    return (zero, gain[i] * (adj_f_r[i, 0] - adj_f[i, 1]), zero), (zero, zero, zero)


@device
def lift(i, clock, q, u, force):
    """A given force upwards."""
    zero = q.dtype.type(0)
    return (zero, force[i], zero)


@device
def lift_adjoint(i, clock, q, u, force, adj_f, adj_force):
    """adj_force = adj_f."""
    zero = q.dtype.type(0)
    adj_force[i] += adj_f[i, 1]
    return (zero, zero, zero), (zero, zero, zero)


def inputs():
    random = np.random.default_rng(3)
    t = lambda a: torch.tensor(a, dtype=REAL)  # noqa: E731
    return {
        "mass": t([0.5, 0.7, 0.6]), "mass_b": t([0.4, 0.9]), "inertia": t([0.3, 0.2, 0.5]), "link": t([20.0, 30.0]),
        "gain": t(4.0), "lift": t([1.0, 2.0, 3.0]), "stiffness": t(25.0),
        "q": t(random.normal(size=(3, 3))), "u": t(random.normal(size=(3, 3))), "q_b": t(random.normal(size=(2, 3))),
        "u_b": t(random.normal(size=(2, 3))), "angle": t(random.normal(size=(3, 1))),
        "rate": t(random.normal(size=(3, 1))), "external_force": t(random.normal(size=(1, 2, 3))),
    }  # fmt: skip


def system(at, torch_term=False):
    gravity = torch.tensor([0.0, -9.81, 0.0], dtype=REAL)
    sets = {
        "rotors": NodeSet(
            "rotors", 1, 1, rotor_acceleration, rotor_acceleration_adjoint, (("inertia", at["inertia"]),)
        ),
        "a": particles(at["mass"], gravity),
        "b": particles(at["mass_b"], gravity),
    }
    gain = broadcast(at["gain"], (3,))
    flags = np.array([True, False, True])
    terms = [
        ElementTerm("link", {"a": np.array([[0], [2]], np.int32), "b": np.array([[1], [0]], np.int32)},
                    link_force, link_force_adjoint, params=(("stiffness", at["link"]),), simd=False),
        NodeTerm("twist", twist, twist_adjoint, params=(("gain", gain),), on="rotors", reads="a"),
        NodeTerm("pull", pull, pull_adjoint, params=(("gain", gain),), on="a", reads="rotors"),
        NodeTerm("lift", lift, lift_adjoint, params=(("force", at["lift"]),), on="a", only=flags),
        springs(np.array([[0, 1]], np.int32), at["stiffness"], torch.tensor(0.2, dtype=REAL),
                torch.tensor(0.5, dtype=REAL), on="b"),
        external_force(at["external_force"], on="b"),
    ]  # fmt: skip
    if torch_term:
        terms.append(TorchTerm("drag", lambda clock, q, u, c: -c * u, (("c", at["gain"]),), on="b"))
    return Mechanics(sets, tuple(terms))


def start(at):
    return State(
        {"rotors": at["angle"], "a": at["q"], "b": at["q_b"]}, {"rotors": at["rate"], "a": at["u"], "b": at["u_b"]}
    )


def score(at, scheme, gradient=None, **kind):
    path = get_integrator(scheme)().rollout(
        system(at, **kind), start(at), dt=0.01, steps=9, save=(3, 9), gradient=gradient or StoreAll()
    )
    return sum(path[name].q[k].square().sum() + path[name].u[k].sin().sum() for name in path.names for k in (0, 1))


def difference(at, name, way, h, scheme, **kind):
    """The central difference of the score along ``way``."""
    ends = []
    for sign in (1.0, -1.0):
        moved = {n: v.detach() + (sign * h * way if n == name else 0.0) for n, v in at.items()}
        ends.append(float(score(moved, scheme, **kind)))
    return (ends[0] - ends[1]) / (2 * h)


@pytest.mark.parametrize("kind", [{}, {"torch_term": True}])
@pytest.mark.parametrize("scheme", [pytest.param(s, marks=[pytest.mark.slow] * (s == "rk4")) for s in SCHEMES])
def test_gradients_against_differences(scheme, kind):
    at = {name: value.requires_grad_() for name, value in inputs().items()}
    score(at, scheme, **kind).backward()
    random = torch.Generator().manual_seed(1)
    for name, value in at.items():
        way = torch.randn(value.shape, generator=random, dtype=REAL)
        found = float((value.grad * way).sum())
        # A wrong gradient agrees with no length of difference; long ones are bent, short ones drown in rounding.
        lengths = [difference(at, name, way, h, scheme, **kind) for h in (1e-5, 3e-6)]
        assert any(found == pytest.approx(each, rel=1e-6, abs=1e-8) for each in lengths), (name, found, lengths)


def forces(at):
    state = start(at)
    return system(at).force(
        {name: q for name, (q, _) in state.sets.items()}, {name: u for name, (_, u) in state.sets.items()}, dt=0.01
    )


def test_forces_of_all_sets_and_their_gradients():
    at = inputs()
    found = forces(at)
    assert list(found) == ["rotors", "a", "b"]
    assert torch.allclose(found["rotors"], 4.0 * (at["q"][:, 1:2] - at["angle"]), rtol=1e-14)
    link = at["link"][:, None] * (at["q_b"][[1, 0]] - at["q"][[0, 2]])
    twist = torch.zeros_like(at["q"])
    twist[:, 1:2] = -found["rotors"]
    twist[[0, 2], 1] += at["lift"][[0, 2]]
    assert torch.allclose(found["a"], twist + torch.stack([link[0], torch.zeros(3, dtype=REAL), link[1]]), rtol=1e-13)
    # the spring within b and its damping are inner forces
    assert torch.allclose(found["b"].sum(dim=0), at["external_force"][0].sum(dim=0) - link.sum(dim=0), rtol=1e-12)
    leaves = {name: value.requires_grad_() for name, value in at.items() if not name.startswith(("mass", "inertia"))}

    def outputs(*values):
        return tuple(forces({**at, **dict(zip(leaves, values, strict=True))}).values())

    assert torch.autograd.gradcheck(outputs, tuple(leaves.values()), rtol=1e-6, atol=1e-8)


def test_a_term_on_some_nodes_leaves_the_others_alone():
    at = {name: value.requires_grad_() for name, value in inputs().items()}
    score(at, "semi_implicit").backward()
    assert at["lift"].grad[1] == 0.0
    assert (at["lift"].grad[[0, 2]] != 0.0).all()


def test_checkpoints_give_the_same_bits():
    found = []
    for gradient in (StoreAll(), Checkpointed(segment=2)):
        at = {name: value.requires_grad_() for name, value in inputs().items()}
        score(at, "leapfrog", gradient).backward()
        found.append(b"".join(value.grad.numpy().tobytes() for value in at.values()))
    assert found[0] == found[1]


def test_two_sets_move_as_one_would():
    at = inputs()
    zero, gravity = torch.tensor(0.0, dtype=REAL), torch.tensor([0.0, -9.81, 0.0], dtype=REAL)
    apart = Mechanics(
        {"a": particles(at["mass"], gravity), "b": particles(at["mass_b"], gravity)},
        (ElementTerm("link", {"a": np.array([[0], [2]], np.int32), "b": np.array([[1], [0]], np.int32)}, link_force,
                     link_force_adjoint, params=(("stiffness", at["link"]),), simd=False),),
    )  # fmt: skip
    whole = Mechanics(
        particles(torch.cat([at["mass"], at["mass_b"]]), gravity),
        (springs(np.array([[0, 4], [2, 3]], np.int32), at["link"], zero, zero),),
    )
    run = {"dt": 0.01, "steps": 20, "save": (20,), "gradient": StoreAll()}
    scheme = get_integrator("leapfrog")()
    a = scheme.rollout(apart, State({"a": at["q"], "b": at["q_b"]}, {"a": at["u"], "b": at["u_b"]}), **run)
    b = scheme.rollout(whole, State(torch.cat([at["q"], at["q_b"]]), torch.cat([at["u"], at["u_b"]])), **run)
    assert torch.allclose(torch.cat([a["a"].q, a["b"].q], dim=1), b.q, rtol=1e-12, atol=1e-12)


def test_node_sets_and_terms_that_do_not_fit_are_refused():
    at = inputs()
    gravity = torch.zeros(3, dtype=REAL)
    pair = {"a": particles(at["mass"], gravity), "b": particles(at["mass_b"], gravity)}
    flat = springs(np.array([[0, 1]], np.int32), at["stiffness"], at["gain"], at["gain"])
    with pytest.raises(InputError, match="'springs': got None for the node set it acts on; expected 'a' or 'b'"):
        Mechanics(pair, (flat,))
    with pytest.raises(InputError, match=r"'force': got shape \(3,\) for 2 nodes, expected \(2, ...\)"):
        Mechanics(pair, (NodeTerm("lift", lift, lift_adjoint, params=(("force", at["lift"]),), on="b"),))
    both = Mechanics(pair)
    with pytest.raises(InputError, match="got the node sets 'b', 'a'; expected 'a', 'b', in this order"):
        get_integrator("semi_implicit")().rollout(
            both, State({"b": at["q_b"], "a": at["q"]}, {"b": at["u_b"], "a": at["u"]}), dt=0.1, steps=1, save=(1,),
            gradient=StoreAll(),
        )  # fmt: skip
    state = State({"a": at["q"], "b": at["q_b"]}, {"a": at["u"], "b": at["u_b"]})
    with pytest.raises(InputError, match=r"there are several node sets, 'a', 'b'; take one by name"):
        _ = state.q
    with pytest.raises(InputError, match="no node set is called 'c'; there are: 'a', 'b'"):
        state["c"]
    with pytest.raises(InputError, match="force: got q and u of ''; expected those of the node sets 'a' and 'b'"):
        both.force(at["q"], at["u"])
    wrong = Mechanics(pair["a"], (TorchTerm("flat", lambda clock, q, u: torch.zeros(2, dtype=REAL)),))
    with pytest.raises(InputError, match=r"'flat': its force returned \(2,\) of torch.float64; expected \(3, 3\)"):
        wrong.force(at["q"], at["u"])
    short = NodeTerm("lift", lift, lift_adjoint, params=(("force", at["lift"]),), only=np.ones(2, bool))
    with pytest.raises(InputError, match=r"only has shape \(2,\); expected \(3,\) flags"):
        Mechanics(pair["a"], (short,))


def test_tensors_with_all_rows_are_not_copied():
    rows, one = torch.ones(3, requires_grad=True), torch.tensor(2.0, requires_grad=True)
    assert broadcast_read_only(rows, (3,)) is rows
    made = broadcast_read_only(one, (3,))
    assert made.tolist() == [2.0, 2.0, 2.0]
    made.sum().backward()
    assert one.grad == 3.0
