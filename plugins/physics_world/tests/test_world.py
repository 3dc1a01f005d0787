"""Worlds as models: names, files, surfaces, attachments, threads, steps."""

import itertools

import pytest
import torch

from diffloom import get_integrator, get_model, simulate
from diffloom.interfaces import Control, InputError, NoGradient, State, Trajectory
from diffloom_kernels import num_threads, set_num_threads
from diffloom_mechanics import Mechanics
from diffloom_physics_world.model import World
from diffloom_testing.gradients import check_gradient

DOUBLE = torch.float64


def ball(**more):
    return get_model("rigid")([{"shape": "sphere", "radius": 0.1, "mass": 0.3, **more}], ground=False)


def net():
    return get_model("springs").chain(count=3, length=0.3, height=0.0, on_ground=False)


def test_parameters_controls_and_node_sets_go_by_the_names_of_bodies():
    world = World({"ball": ball(), "net": net()})
    names = [spec.name for spec in world.specs]
    assert {"ball.mass", "net.stiffness", "ball_net.friction", "gravity"} <= set(names)
    params = world.params(DOUBLE, **{"ball.mass": [0.7], "gravity": [0.0, -1.0, 0.0]})
    assert float(params["ball.mass"]) == 0.7 and "ball_net.friction" not in params
    system = world.dynamics(params, Control())
    assert list(system.sets) == ["ball", "net"]
    assert all(float(dict(nodes.arrays)["gravity"][-1, 1]) == -1.0 for nodes in system.sets.values())


def test_errors_name_the_keys_of_the_user():
    bodies = {"ball": ball(), "net": net()}
    for settings, words in (
        ({"contacts": [{"between": ["ball", "nett"]}]}, "two of the bodies ball, net"),
        ({"contacts": [{"between": ["ball", "net"], "fricton": 0.1}]}, "fricton"),
        ({"attachments": [{"between": ["ball", "net"], "points": [[0, 0, 0], 3]}]}, "a particle, 0 to 2"),
        ({"attachments": [{"kind": "path", "body": "net", "times": [0, 0], "places": [[0, 0, 0]] * 2}]}, "rising"),
        ({"attachments": [{"kind": "glue"}]}, "spring, hold, path, force"),
    ):
        with pytest.raises(InputError, match=words):
            World(bodies, **settings)
    with pytest.raises(InputError, match="triangles"):
        World(bodies, contacts=[{"between": ["ball", "net"], "triangles": "some"}])
    with pytest.raises(InputError, match="'ball.mass'"):
        World(bodies).params(**{"ball.mass": -1.0})
    with pytest.raises(InputError, match="two are called 'a'"):
        World([{"name": "a", "model": net()}, {"name": "a", "model": net()}])


def test_contacts_can_be_switched_off():
    bodies = {"ball": ball(), "net": net()}
    for contacts in (False, [{"between": ["net", "ball"], "touch": False}]):
        world = World(bodies, contacts=contacts)
        assert not any(spec.name.startswith("ball_net.") for spec in world.specs)
        assert not any(term.name.startswith("ball_net.") for term in world.dynamics(world.params(), Control()).terms)


def test_a_value_of_a_pair_replaces_those_of_the_bodies():
    # One particle, deep in the ball and at rest: the force is the pair's stiffness times the depth.
    place = [[0.0, 0.08, 0.0], [0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]
    point = get_model("springs")(place, [(0, 1)], on_ground=False)
    world = World({"ball": ball(position=[0.0, 0.0, 0.0]), "net": point})
    params = world.params(DOUBLE, **{"ball_net.contact_stiffness": 250.0})
    system = world.dynamics(params, Control())
    alone = Mechanics(system.sets, tuple(term for term in system.terms if term.name.startswith("ball_net.")))
    found = alone.forces(world.initial_state(params))
    assert float(found["net"][0, 1]) == pytest.approx(250.0 * 0.02, rel=1e-12)
    assert float(found["ball"][0, 1]) == pytest.approx(-250.0 * 0.02, rel=1e-12)


def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("diffloom_kernels.backends.threads._count_processors", lambda: 3)
    world = World.example()
    leaf = torch.tensor([0.3], dtype=DOUBLE, requires_grad=True)
    params = world.params(DOUBLE, **{"ball.mass": leaf})
    found, before = [], num_threads()
    try:
        for target, count in (("serial", 1), ("parallel", 1), ("parallel", 2), ("parallel", 3)):
            set_num_threads(count)
            path = simulate(
                world, params, dt=1e-3, steps=40, save=(40,), integrator=get_integrator("semi_implicit")(target=target)
            )
            total = path["net"].q.square().sum() + path["ball"].q.square().sum()
            found.append((path["net"].q.detach(), path["ball"].u.detach(), torch.autograd.grad(total, leaf)[0]))
    finally:
        set_num_threads(before)
    assert float(found[0][2]) != 0.0
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


def test_halving_the_step_halves_the_error_through_contact():
    world = World.example()
    params = world.params(DOUBLE)
    slippery = params.replace(**{"ball.contact_stiffness": 0.0 * params["ball.contact_stiffness"]})

    def end(dt, params=params):
        path = simulate(world, params, dt=dt, steps=round(0.04 / dt), save=(round(0.04 / dt),), gradient=NoGradient())
        return torch.cat([q.reshape(-1) for q, _ in path.sets.values()])

    exact = end(1e-3 / 1024)
    errors = [float((end(1e-3 / n) - exact).norm()) for n in (8, 16, 32)]
    assert float((end(1e-3, slippery) - exact).abs().max()) > 1e-3  # the contact matters
    assert all(1.7 < a / b < 2.4 for a, b in itertools.pairwise(errors)), errors


def test_the_suggested_step_is_half_of_what_the_stiffest_springs_allow():
    world = World.example()
    params = world.params(DOUBLE, **{"net.stiffness": 1e6, "net.damping": 0.0})
    system, start = world.dynamics(params, Control()), world.initial_state(params)
    columns = []
    for k in range(27):
        nudge = torch.zeros(27, dtype=DOUBLE)
        nudge[k] = 1e-6
        moved = [State({**{n: q for n, (q, _) in start.sets.items()}, "net": start["net"].q + s * nudge.reshape(9, 3)},
                       {n: u for n, (_, u) in start.sets.items()}) for s in (1.0, -1.0)]  # fmt: skip
        ahead, behind = (system.forces(state)["net"].reshape(-1) for state in moved)
        columns.append((behind - ahead) / 2e-6)
    stiffness = torch.stack(columns)
    fastest = float(torch.linalg.eigvalsh(0.5 * (stiffness + stiffness.T))[-1] / params["net.mass"].max()) ** 0.5
    assert world.suggested_dt(params) == pytest.approx(1.0 / fastest, rel=0.03)


ATTACHED = (
    {"name": "tie", "kind": "spring", "between": ["ball", "net"], "points": [[0.05, 0.02, 0.0], 1], "length": 0.05},
    {"name": "grip", "kind": "hold", "between": ["net", "ball"], "points": [2, [0.0, 0.08, 0.01]]},
    {"name": "hand", "kind": "path", "body": "ball", "point": [0.0, -0.05, 0.02]},
    {"name": "pull", "kind": "path", "body": "net", "point": 0},
    {"name": "tour", "kind": "path", "body": "ball", "point": [0.0, 0.1, 0.0], "stiffness": 40.0, "damping": 2.0,
     "times": [-0.5, -0.1, 0.3], "places": [[1, 0, 0], [0.1, 0.2, 0.0], [0.5, 0.4, -0.3]]},
    {"name": "jet", "kind": "force", "body": "ball", "point": [0.03, 0.0, 0.1], "force": [0.4, 1.2, -0.7]},
    {"name": "tug", "kind": "force", "body": "net", "point": 1, "force": [0.0, 0.1, 0.2]},
)  # fmt: skip


def test_attachments_pull_both_ends_with_exact_gradients():
    world = World({"ball": ball(position=[0.1, 0.3, 0.0]), "net": net()}, contacts=False, attachments=ATTACHED)
    given = {"hand.place": [0.2, 0.1, 0.1], "pull.place": [0.0, 0.3, 0.1], "hand.damping": 2.0, "tie.damping": 0.7}
    params = world.params(DOUBLE, **given)
    start = world.initial_state(params)
    random = torch.Generator().manual_seed(5)
    u = {name: torch.randn(v.shape, generator=random, dtype=DOUBLE) for name, (_, v) in start.sets.items()}
    names = [f"{name}.{what}" for name in ("tie", "grip", "hand") for what in ("stiffness", "damping")]
    names += ["tie.length", "hand.place", "tour.places", "tour.damping", "jet.force", "tug.force"]

    def forces(**at):
        values = {name: at[name.replace(".", "__")] for name in names}
        changed = params.replace(**values)
        system = world.dynamics(changed, Control())
        kept = tuple(term for term in system.terms if "." not in term.name)
        state = State({n: at[f"q_{n}"] for n in u}, {n: at[f"u_{n}"] for n in u})
        return torch.cat([f.reshape(-1) for f in Mechanics(system.sets, kept).forces(state, dt=1e-3).values()])

    inputs = {f"q_{n}": start[n].q for n in u} | {f"u_{n}": u[n] for n in u}
    inputs |= {name.replace(".", "__"): params[name].clone() for name in names}
    assert float(forces(**inputs).abs().max()) > 1.0
    check_gradient(forces, inputs, tolerance=1e-6)


def test_a_body_follows_its_path():
    steps, dt = 400, 1e-3
    world = World({"ball": ball(position=[0.0, 0.0, 0.0]), "net": net()}, contacts=False, attachments=ATTACHED[2:3])
    way = torch.linspace(0.0, 0.2, steps, dtype=DOUBLE)
    place = torch.stack([way, torch.zeros_like(way) - 0.05, torch.zeros_like(way) + 0.02], dim=1)
    params = world.params(DOUBLE, **{"gravity": [0.0, 0.0, 0.0], "hand.stiffness": 3000.0, "hand.damping": 30.0})
    path = simulate(world, params, dt=dt, steps=steps, save=(steps,), control=Control({"hand.place": place}))
    sets = world.dynamics(params, Control({"hand.place": place})).sets
    held = world.attachments[0].ends[0].place(path[0], sets)
    assert held.tolist() == pytest.approx(place[-1].tolist(), abs=2e-3)


def stress_at_start(bodies, **values):
    world = World(bodies, contacts=False)
    params = world.params(DOUBLE, **values)
    start = world.initial_state(params)
    q, u = ({name: pair[k][None] for name, pair in start.sets.items()} for k in (0, 1))
    path = Trajectory(q, u, torch.zeros(1, dtype=DOUBLE))
    return world.stress(path, params), world.surface(path, params).vertices.shape[1]


def test_stress_is_that_of_the_bodies_which_have_one():
    sheet = get_model("cloth")({"shape": "grid", "cells": [2, 2], "size": [0.4, 0.4]})
    solid = get_model("fem")("box", size=(0.2, 0.2, 0.2), cells=(1, 1, 1))
    wide = {"sheet.start_shape": 1.2 * torch.from_numpy(sheet.sheet.vertices)}
    found, count = stress_at_start({"ball": ball(), "sheet": sheet}, **wide)
    assert found.unit == "N/m"
    assert found.values.shape == (1, count)
    assert int(found.values.isnan().sum()) == count - 9
    assert float(found.values[found.values.isfinite()].min()) > 1.0
    # Beside a solid, whose stress is a pressure, a sheet of unknown thickness cannot be compared.
    found, count = stress_at_start({"sheet": sheet, "solid": solid}, **wide)
    assert found.unit == "Pa"
    assert int(found.values.isnan().sum()) == 9
    assert stress_at_start({"ball": ball()})[0] is None
