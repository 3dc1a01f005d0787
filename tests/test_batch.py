"""Many scenes at once: every scene has the very numbers of its own run, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from diffloom import Camera, Checkpointed, Control, State, batch_surface, get_model, get_renderer, simulate
from diffloom.interfaces import BatchError, InputError, SimulationError
from diffloom.plugins import models
from diffloom_kernels import num_threads, set_num_threads, threads
from diffloom_mechanics import WithTerms, get_term, lanes

DOUBLE = torch.float64
#: Tables and pairs are shown scene by scene, by a program of its own that takes long to compile.
LONG = ("cloth", "rigid", "world")
#: These run one scene after the other.
ALONE = ("smoke",)


def each(values, batch, step=0.01):
    """Values that differ a little from scene to scene."""
    factor = 1.0 + step * torch.arange(batch, dtype=values.dtype)
    return (factor.reshape(-1, *[1] * values.dim()) * values).detach().requires_grad_()


def in_full(model, name, value):
    """(batch, ...) with as many axes as the parameter and one more."""
    axes = len(model.spec(name).shape) + 1
    return value.reshape(value.shape[0], *[1] * (axes - value.dim()), *value.shape[1:])


def flat(path):
    return [x for pair in path.sets.values() for x in pair]


def backward(parts, weights):
    sum((x * w).sum() for x, w in zip(parts, weights, strict=True)).backward()


def compare(model, given, batch, dtype=DOUBLE, **how):
    """Every parameter differs in every scene; states and gradients of the batch are those of single runs. Returns
    how many gradients that are not zero were compared."""
    start = model.params(dtype, **given)
    differ = {k: each(v, batch) for k, v in start.items() if model.spec(k).differentiable}
    same = {k: v for k, v in given.items() if k not in differ}
    many = model.params(dtype, batch=batch, **{k: in_full(model, k, v) for k, v in differ.items()}, **same)
    path = simulate(model, many, **how)
    parts = flat(path)
    weights = [torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype) for x in parts]
    backward(parts, weights)
    compared = 0
    for b in range(batch):
        own = {k: v[b].detach().clone().requires_grad_() for k, v in differ.items()}
        single = flat(simulate(model, model.params(dtype, **own, **same), **how))
        assert all(torch.equal(x[b], y) for x, y in zip(parts, single, strict=True)), f"states of scene {b}"
        backward(single, [w[b] for w in weights])
        for name, leaf in own.items():
            if leaf.grad is None:
                assert differ[name].grad is None
                continue
            assert torch.equal(differ[name].grad[b], leaf.grad), f"gradient of {name} in scene {b}"
            compared += int(bool(leaf.grad.any()))
    return compared


def examples():
    for name in models():
        model = get_model(name)
        if isinstance(model, type) and model.example_settings is not None and name not in ALONE:
            yield pytest.param(name, marks=pytest.mark.slow if name in LONG else ())


@pytest.mark.parametrize("name", list(examples()))
def test_scenes_equal_their_own_runs(name):
    model, settings = get_model(name).example(), get_model(name).example_settings
    steps = settings.steps
    found = compare(model, dict(settings.values), 3, dt=settings.dt, steps=steps, save=(steps // 2, steps))
    assert found >= 9


@pytest.mark.parametrize("name", ALONE)
def test_models_without_batches_raise_batch_error(name):
    model, settings = get_model(name).example(), get_model(name).example_settings
    with pytest.raises(BatchError, match="one by one"):
        simulate(model, model.params(DOUBLE, batch=2), dt=settings.dt, steps=1)


def test_a_body_touches_the_ground_of_its_own_scene():
    model = get_model("rigid")([{"shape": "box", "position": [0, 0.499, 0], "velocity": [1.0, -0.5, 0.2]}])
    assert compare(model, {"friction": 0.2}, 5, torch.float32, dt=1e-3, steps=60, save=(60,)) >= 5 * 5
    assert compare(model, {"friction": 0.2}, 1, torch.float32, dt=1e-3, steps=60, save=(60,)) >= 5


@pytest.mark.parametrize("shape", [(1, 3), (3, 1), (2, 2)])
def test_batches_of_batches_touch_the_ground(shape):
    model = get_model("rigid")([{"shape": "box", "position": [0, 0.499, 0], "velocity": [1.0, -0.5, 0.2]}])

    def end(mass):
        return simulate(model, model.params(mass=mass), dt=1e-3, steps=60, save=(60,)).q

    masses = 1.0 + torch.arange(float(shape[0] * shape[1]))
    nested = torch.vmap(torch.vmap(end))(masses.view(shape))
    assert torch.equal(nested.flatten(0, 1), torch.stack([end(mass) for mass in masses]))


@pytest.mark.slow
def test_copies_at_one_place_do_not_touch():
    """All scenes lie in the same space: if they saw each other they would fly apart."""
    tables = [
        {"shape": "sphere", "radius": 0.2, "position": [0, 1, 0], "velocity": [1.0, 0, 0]},
        {"shape": "sphere", "radius": 0.2, "position": [0.45, 1, 0]},
    ]
    model = get_model("rigid")(tables, ground=False)
    path = simulate(model, model.params(batch=4), dt=1e-3, steps=200, save=(200,))
    one = simulate(model, model.params(), dt=1e-3, steps=200, save=(200,))
    assert float(one.u[0, 1, 0]) > 0.5, "the balls of one scene hit each other"
    assert all(torch.equal(path.q[b], one.q) for b in range(4))


def crowd(**settings):
    """Bodies of every kind that touch each other and themselves, held, driven and pushed."""
    ball = {
        "shape": "sphere",
        "radius": 0.1,
        "mass": 0.3,
        "position": [0.03, 0.095, 0.01],
        "velocity": [0.4, -0.5, 0.1],
    }
    box = {
        "shape": "box",
        "size": [0.1, 0.05, 0.08],
        "mass": 0.2,
        "position": [0.12, 0.03, 0.1],
        "orientation": [1, 0.2, 0, 0.1],
    }
    bodies = {
        "stones": get_model("rigid")(
            [ball, box], ground=False, pushes=[{"body": 1, "force": [0.1, -0.5, 0.0], "end": 1.0}]
        ),
        "brick": get_model("rigid")(
            [{"shape": "box", "size": [0.2, 0.1, 0.2], "position": [0.0, 0.235, 0.0]}], ground=False
        ),
        "sheet": get_model("cloth")({"shape": "grid", "cells": [4, 4], "size": [0.5, 0.5]}, pins=["left"]),
        "jelly": get_model("fem")("box", size=(0.2, 0.1, 0.2), cells=(1, 1, 1), ground=False),
    }
    attachments = [
        {"name": "string", "kind": "spring", "between": ["sheet", "brick"], "points": [24, [0.05, 0.0, 0.0]]},
        {"name": "glue", "between": ["jelly", "sheet"], "points": [0, 12]},
        {"name": "hand", "kind": "path", "body": "brick"},
        {"name": "wind", "kind": "force", "body": "sheet", "point": 20},
        {"name": "tour", "kind": "path", "body": "jelly", "times": [0.0, 0.1], "places": [[0, 0, 0], [0.1, 0, 0]]},
    ]
    jelly = {"jelly.position": [0.02, -0.056, 0.01], "jelly.density": 200.0, "jelly.shear_modulus": 5e3}
    soft = {
        "sheet_jelly.contact_stiffness": 20.0,
        "sheet_jelly.friction_stiffness": 0.1,
        "brick_sheet.restitution": 0.5,
    }
    return get_model("world")(bodies, attachments=attachments, **settings), {**jelly, **soft}


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_bodies_of_a_world_touch_those_of_their_own_scene():
    world, given = crowd()
    how = {"dt": 1e-4, "steps": 20}
    path = simulate(world, world.params(DOUBLE, **given), **how, save=(20,))
    alone, _ = crowd(contacts=False)
    own = {key: value for key, value in given.items() if "_" not in key.partition(".")[0]}
    free = simulate(alone, alone.params(DOUBLE, **own), **how, save=(20,))
    assert all(not torch.equal(path[name].u, free[name].u) for name in path.names), "every body is touched"
    assert compare(world, given, 3, **how, save=(10, 20)) >= 3 * 40


def run_world(batch, first=0):
    world = get_model("world").example()
    mass = torch.linspace(0.1, 0.5, 6, dtype=DOUBLE)[first : first + batch].reshape(-1, 1).requires_grad_()
    path = simulate(world, world.params(DOUBLE, batch=batch, **{"ball.mass": mass}), dt=2.5e-4, steps=80, save=(80,))
    sum(q.square().sum() + u.sum() for q, u in path.sets.values()).backward()
    return path["net"].q.detach(), mass.grad


@pytest.mark.slow
def test_bits_of_a_world_do_not_depend_on_batch_size_or_threads():
    q, grad = run_world(6)
    assert float(grad.abs().min()) > 0.0 and not torch.equal(q[0], q[1]), "the ball moves the net"
    before = num_threads()
    try:
        for count in range(1, 1 + min(2, threads().available)):
            set_num_threads(count)
            for first, batch in ((0, 1), (1, 2), (2, 4)):
                part = run_world(batch, first)
                assert torch.equal(part[0], q[first : first + batch])
                assert torch.equal(part[1], grad[first : first + batch])
    finally:
        set_num_threads(before)


def test_worlds_take_states_and_controls_of_each_scene():
    world = get_model("world").example()
    usual = world.initial_state(world.params(DOUBLE))
    force = torch.randn(3, 20, 9, 3, generator=torch.Generator().manual_seed(2), dtype=DOUBLE)
    shift = 0.01 * torch.arange(3.0, dtype=DOUBLE).reshape(3, 1, 1)
    start = State(
        {k: q + shift for k, (q, _) in usual.sets.items()},
        {k: u.expand(3, -1, -1) for k, (_, u) in usual.sets.items()},
    )
    how = {"dt": 2.5e-4, "steps": 20, "save": (20,)}
    path = simulate(world, world.params(DOUBLE, batch=3), control=Control({"net.force": force}), state=start, **how)
    for b in range(3):
        own = State({k: q[b] for k, (q, _) in start.sets.items()}, {k: u[b] for k, (_, u) in start.sets.items()})
        one = simulate(world, world.params(DOUBLE), control=Control({"net.force": force[b]}), state=own, **how)
        assert all(torch.equal(path[name].q[b], one[name].q) for name in one.names)
    assert not torch.equal(path["net"].q[0], path["net"].q[1])


def chain():
    return get_model("springs").chain(count=5, height=0.02)


def run_chain(batch, first=0):
    model = chain()
    stiffness = torch.linspace(50.0, 150.0, 7)[first : first + batch].reshape(-1, 1).requires_grad_()
    path = simulate(model, model.params(batch=batch, stiffness=stiffness), dt=1e-3, steps=80, save=(40, 80))
    (path.q.square().sum() + path.u.sum()).backward()
    return path.q.detach(), stiffness.grad


def test_bits_do_not_depend_on_batch_size_or_threads():
    q, grad = run_chain(7)
    before = num_threads()
    try:
        for count in (1, 2):
            if count <= threads().available:
                set_num_threads(count)
                for first, batch in ((0, 1), (1, 2), (2, 5), (0, 7)):
                    part = run_chain(batch, first)
                    assert torch.equal(part[0], q[first : first + batch])
                    assert torch.equal(part[1], grad[first : first + batch])
    finally:
        set_num_threads(before)


def test_a_shared_parameter_gets_the_sum_of_all_scenes():
    model = chain()
    mass = torch.tensor(0.2, requires_grad=True)
    stiffness = torch.tensor([[50.0], [80.0]])
    how = {"dt": 1e-3, "steps": 40, "save": (40,)}
    many = simulate(model, model.params(batch=2, mass=mass, stiffness=stiffness, rest_length=0.1), **how)
    many.q.square().sum().backward()
    parts = []
    for row in stiffness:
        own = torch.tensor(0.2, requires_grad=True)
        simulate(model, model.params(mass=own, stiffness=row, rest_length=0.1), **how).q.square().sum().backward()
        parts.append(own.grad)
    assert float(parts[0]) != 0.0
    assert torch.equal(mass.grad, parts[0] + parts[1])


def test_vmap_takes_the_same_path():
    model = chain()

    def end(stiffness, velocity):
        return simulate(model, model.params(stiffness=stiffness, velocity=velocity), dt=1e-3, steps=50, save=(50,)).q

    stiffness, velocity = torch.linspace(50.0, 150.0, 6), torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    rows = torch.stack([end(k, v) for k, v in zip(stiffness, velocity, strict=True)])
    assert torch.equal(torch.vmap(end)(stiffness, velocity), rows)
    assert torch.equal(torch.vmap(end, in_dims=(0, None))(stiffness, velocity[0])[0], rows[0])
    nested = torch.vmap(torch.vmap(end))(stiffness.view(2, 3), velocity.view(2, 3, 3))
    assert torch.equal(nested.flatten(0, 1), rows)
    path = simulate(model, model.params(batch=6, stiffness=stiffness[:, None], velocity=velocity[:, None]), dt=1e-3,
                    steps=50, save=(50,))  # fmt: skip
    assert torch.equal(path.q, rows)


def _dual(end):
    def run(k):
        with forward_ad.dual_level():
            return end(forward_ad.make_dual(k, torch.ones_like(k)))

    return run


def _along(end):
    return lambda k: torch.func.jvp(end, (k,), (torch.ones_like(k),))


def _many(end):
    def run(k):
        leaf = k.clone().requires_grad_()
        both = torch.stack([end(leaf), 2.0 * end(leaf)])
        return torch.autograd.grad(both, leaf, torch.eye(2), is_grads_batched=True)

    return run


ONLY_VMAP, FORWARD, TWICE, AT_ONCE = (
    r"under torch.func.vmap.*backward\(\)",
    "float32.*in forward mode; expected float64",
    "gradient of a gradient",
    "several outputs",
)
REFUSED = {
    "grad": (torch.func.grad, ONLY_VMAP), "jacrev": (torch.func.jacrev, ONLY_VMAP), "jvp": (_along, FORWARD),
    "jacfwd": (torch.func.jacfwd, FORWARD), "hessian": (torch.func.hessian, ONLY_VMAP), "dual": (_dual, FORWARD),
    "grad of grad": (lambda end: torch.func.grad(torch.func.grad(end)), ONLY_VMAP),
    "vmap of grad": (lambda end: lambda k: torch.vmap(torch.func.grad(end))(k.repeat(2)), ONLY_VMAP),
    "vmap of jvp": (lambda end: lambda k: torch.vmap(_along(end))(k.repeat(2)), FORWARD),
    "jvp of vmap": (lambda end: lambda k: _along(lambda x: torch.vmap(end)(x).sum())(k.repeat(2)), FORWARD),
    "functionalize": (torch.func.functionalize, ONLY_VMAP), "gradients at once": (_many, AT_ONCE),
    "two gradients": (lambda end: lambda k: torch.autograd.functional.hessian(end, k), TWICE),
    "tangent by two gradients": (lambda end: lambda k: torch.autograd.functional.jvp(end, k), TWICE),
}  # fmt: skip


@pytest.mark.parametrize("transform", list(REFUSED))
@pytest.mark.parametrize("power", [1, 2])
def test_other_transforms_say_what_to_do(transform, power):
    """None of them ends in a slope of zero: of a linear loss neither, whose cotangents are constant."""
    model = chain()

    def end(stiffness):
        return (simulate(model, model.params(stiffness=stiffness), dt=1e-3, steps=5, save=(5,)).q ** power).sum()

    run, told = REFUSED[transform]
    with pytest.raises(InputError, match=told):
        run(end)(torch.tensor(100.0))


def test_create_graph_without_a_second_derivative_is_allowed():
    model = chain()
    velocity = torch.tensor([1.0, 0.0, 0.0], requires_grad=True)

    def gradient(**how):
        path = simulate(model, model.params(velocity=velocity), dt=1e-3, steps=5, save=(5,))
        return torch.autograd.grad(path.q.sum(), velocity, **how)[0]

    assert torch.equal(gradient(create_graph=True).detach(), gradient())
    assert bool(gradient().any())


@pytest.mark.parametrize("reentrant", [True, False])
def test_both_kinds_of_checkpoint(reentrant):
    """The one that is not reentrant hands out saved tensors once."""
    model = chain()

    def end(velocity):
        return simulate(model, model.params(velocity=velocity), dt=1e-3, steps=5, save=(5,)).q.square().sum()

    leaf, other = (torch.tensor([1.0, 0.0, 0.0], requires_grad=True) for _ in range(2))
    checkpoint(end, leaf, use_reentrant=reentrant).backward()
    end(other).backward()
    assert torch.equal(leaf.grad, other.grad)
    assert bool(leaf.grad.any())


def test_scenes_may_have_a_restitution_each():
    model = chain()
    bouncing = torch.tensor([0.3, 0.6], requires_grad=True)
    how = {"dt": 1e-3, "steps": 40, "save": (40,)}
    fall = {"velocity": torch.tensor([0.0, -3.0, 0.0]), "reference_speed": 2.0}
    path = simulate(model, model.params(batch=2, restitution=bouncing, **fall), **how)
    path.q.square().sum().backward()
    for b, each in enumerate((0.3, 0.6)):
        own = torch.tensor(each, requires_grad=True)
        alone = simulate(model, model.params(restitution=own, **fall), **how)
        alone.q.square().sum().backward()
        assert torch.equal(alone.q, path.q[b])
        assert torch.equal(own.grad, bouncing.grad[b])
        assert float(own.grad) != 0.0


def test_states_and_controls_may_lead_with_scenes():
    model = chain()
    generator = torch.Generator().manual_seed(3)
    force = torch.randn(4, 20, 5, 3, generator=generator).requires_grad_()
    usual = model.initial_state(model.params())
    start = State(usual.q + 0.01 * torch.randn(4, 5, 3, generator=generator), usual.u.expand(4, 5, 3))
    how = {"dt": 1e-3, "steps": 20, "save": (20,)}
    path = simulate(model, model.params(batch=4), control=Control({"force": force}), state=start, **how)
    path.q[2].sum().backward()
    assert bool(force.grad[2].any()) and not bool(force.grad[[0, 1, 3]].any())
    for b in range(4):
        one = simulate(model, control=Control({"force": force[b]}), state=State(start.q[b], start.u[b]), **how)
        assert torch.equal(path.scene(b).q, one.q)
    shared = simulate(model, model.params(batch=4), control=Control({"force": force[1]}), state=usual, **how)
    assert torch.equal(shared.q[3], simulate(model, control=Control({"force": force[1]}), **how).q)


def test_unequal_lengths_are_padded_and_masked():
    model = chain()
    stiffness = torch.tensor([[50.0], [80.0], [110.0]], requires_grad=True)
    params = model.params(batch=3, stiffness=stiffness, rest_length=0.1)
    path = simulate(model, params, dt=1e-3, steps=[20, 40, 30], save_every=10)
    assert path.mask.tolist() == [[True] * 3 + [False] * 2, [True] * 5, [True] * 4 + [False]]
    assert torch.equal(path.q[0, 3], path.q[0, 2]) and torch.equal(path.q[0, 4], path.q[0, 2])
    one = simulate(model, params.scene(2), dt=1e-3, steps=30, save_every=10)
    assert torch.equal(path.q[2, :4], one.q)
    (grad,) = torch.autograd.grad(path.q[:, 3:].square().sum(), stiffness)
    assert not bool(grad[0].any()) and bool(grad[1].any()), "padding has no gradient"
    late = State(one.q[0].detach(), one.u[0].detach(), 5.0)
    moved = simulate(model, params, dt=1e-3, steps=[2, 4, 4], state=late)
    assert moved.mask.sum(dim=1).tolist() == [3, 5, 5]
    with pytest.raises(InputError, match="steps: got 2 numbers for a batch of 3"):
        simulate(model, params, dt=1e-3, steps=[1, 2])


def test_a_renderer_draws_the_batch_in_one_call():
    model = chain()
    params = model.params(batch=3, velocity=torch.tensor([[[0.0, 1.0, 0]], [[1.0, 0.0, 0]], [[0.0, 0.0, 0]]]))
    path = simulate(model, params, dt=1e-3, steps=40, save=(0, 40))
    camera = Camera.look_at((0.5, 0.2, 2.0), (0.5, 0.0, 0.0), size=(24, 32))
    renderer = get_renderer("softras")()
    images = renderer.render(batch_surface(model, path, params), camera).rgba.unflatten(0, (3, 2))
    for b in range(3):
        one = renderer.render(model.surface(path.scene(b), params.scene(b)), camera).rgba
        assert torch.equal(images[b], one)
    assert not torch.equal(images[0, 1], images[1, 1])


@pytest.mark.parametrize("how", [{"integrator": "backward_euler"}, {"integrator": "leapfrog"}, {"integrator": "rk4"}])
def test_every_integrator_runs_batches(how):
    assert compare(chain(), {}, 2, dt=1e-3, steps=6, save=(6,), **how) >= 8


def test_third_party_terms_run_in_batches():
    ball = WithTerms(chain(), {"ball": get_term("sphere")(radius=0.2, position=(0.45, -0.15, 0.0))})
    assert compare(ball, {}, 2, dt=1e-3, steps=20, save=(20,)) >= 10


def test_errors_name_the_scene_and_the_expected_shape():
    model = chain()
    with pytest.raises(InputError, match=r"\(4,\) for a batch of 4, which may be one value a scene or one scene's"):
        model.params(batch=4, stiffness=torch.ones(4))
    with pytest.raises(InputError, match="batch: got 0"):
        model.params(batch=0)
    with pytest.raises(InputError, match="expected at least 0"):
        model.params(batch=2, stiffness=torch.tensor([[1.0], [-1.0]]))
    params = model.params(batch=3, stiffness=torch.tensor([[1.0], [1e9], [1.0]]), rest_length=0.1)
    with pytest.raises(SimulationError, match="scene 1: the simulation blew up in step"):
        simulate(model, params, dt=1e-2, steps=100)
    with pytest.raises(InputError, match="for a batch of 3; expected"):
        simulate(model, params, dt=1e-3, steps=2, state=State(torch.zeros(2, 5, 3), torch.zeros(2, 5, 3)))


def test_a_model_that_reads_one_scene_raises_batch_error():
    """Host code that asks for a number of one scene cannot be asked for many; the message says what to do."""
    from diffloom_testing.systems import ToyChain

    class Peeking(ToyChain):  # type: ignore[misc]
        def initial_state(self, params):
            assert float(params["mass"].sum()) > 0.0
            return super().initial_state(params)

    model = Peeking()
    with pytest.raises(BatchError, match=r"Peeking does not support a batch of scenes.*unwrap_values"):
        simulate(model, model.params(batch=2, mass=torch.tensor([[1.0], [2.0]])), dt=1e-3, steps=2)


@pytest.fixture
def taken(monkeypatch):
    """Count the steppers of scenes side by side."""
    made = []
    whole = lanes.LaneStepper.__init__

    def told(self, *args, **kwargs):
        made.append(self)
        whole(self, *args, **kwargs)

    monkeypatch.setattr(lanes.LaneStepper, "__init__", told)
    return made


def struck_box():
    push = {"vertex": 3, "impulse": [0.2, 0.0, -0.3], "start": 0.01, "end": 0.03}
    box = {"shape": "box", "position": [0, 0.499, 0], "velocity": [1.0, -0.5, 0.2]}
    return get_model("rigid")([box], pushes=[push])


def test_bodies_touch_the_ground_and_are_pushed(taken):
    """Two blocks, the second not full; some scenes touch, the rest do not."""
    found = compare(struck_box(), {"friction": 0.2}, 11, torch.float32, dt=1e-3, steps=60, save=(20, 60))
    assert found >= 11 * 6
    assert len(taken) == 1


def test_trees_of_every_joint(taken):
    example = get_model("articulated").example_settings
    model = get_model("articulated").example()
    found = compare(model, dict(example.values), 6, dt=example.dt, steps=example.steps, save=(1, example.steps))
    assert found >= 6 * 10
    assert len(taken) == 1


@pytest.mark.slow
def test_lanes_run_schemes_of_several_moves(taken):
    pendulum = get_model("articulated")([{"builder": "double_pendulum"}])
    assert compare(pendulum, {}, 5, dt=2e-3, steps=30, save=(30,), integrator="leapfrog") >= 5
    assert taken


def masses(count):
    return torch.linspace(0.5, 2.0, 40)[:count].reshape(-1, 1)


def slide(count, **how):
    mass = masses(count).requires_grad_()
    box = struck_box()
    path = simulate(box, box.params(batch=count, mass=mass), dt=1e-3, steps=60, save=(30, 60), **how)
    (path.q.square().sum() + path.u.sum()).backward()
    return path.q.detach(), mass.grad


def test_bits_do_not_depend_on_threads_batch_size_or_memory(taken):
    q, grad = slide(40)
    before = num_threads()
    try:
        for count in range(1, 1 + min(2, threads().available)):
            set_num_threads(count)
            for part in (slide(17), slide(4), slide(3), slide(9, gradient=Checkpointed(segment=7))):
                assert torch.equal(part[0], q[: len(part[0])])
                assert torch.equal(part[1], grad[: len(part[1])])
    finally:
        set_num_threads(before)
    assert 0 < len(taken) <= 1 + 2 * 3, "three scenes are too few for lanes"


def test_a_scene_that_blows_up_is_named(taken):
    box = struck_box()
    mass, stiff = masses(6).clone(), torch.full((6, 1), 2500.0)
    mass[4], stiff[4] = 1e-4, 3e38
    with pytest.raises(SimulationError, match="scene 4: the simulation blew up"):
        simulate(box, box.params(batch=6, mass=mass, contact_stiffness=stiff), dt=1e-3, steps=60, save=(60,))
    assert taken
