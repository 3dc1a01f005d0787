"""Links of articulated bodies that touch other bodies of a world: exact gradients, equal and opposite forces, bits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from diffloom import get_model, simulate
from diffloom.interfaces import Control, InputError, State
from diffloom_kernels import num_threads, set_num_threads
from diffloom_mechanics import Mechanics, SemiImplicitEuler
from diffloom_physics_world.model import World
from diffloom_testing.gradients import check_gradient

DOUBLE = torch.float64
PAIR = {"a_b.contact_stiffness": 300.0, "a_b.friction": 0.4, "a_b.friction_stiffness": 9.0}
OF_TREE = ("frame_position", "frame_orientation", "length", "contact_stiffness", "contact_dissipation", "friction")


def tree(height=0.0, *, ball_joint=True):
    """A floating box with a forearm that can be stretched, and a hand in a ball joint: three shapes that touch."""
    body = {
        "name": "body", "joint": "free", "start": [-0.07, 0.24 + height, 0.02],
        "start_orientation": [0.98, 0.05, 0.1, 0.05],
        "shapes": [{"shape": "box", "size": [0.12, 0.08, 0.1], "rounding": 0.01, "position": [0.01, 0.0, 0.0]}],
    }  # fmt: skip
    arm = {
        "name": "arm", "parent": "body", "axis": [0.1, 0.2, 1.0], "position": [0.05, 0.0, 0.01], "start": 0.1,
        "length": 0.2, "orientation": [0.99, 0.05, 0.1, 0.02],
        "shapes": [{"shape": "capsule", "radius": 0.03, "length": 0.1, "position": [0.0, -0.1, 0.0], "rides": True,
                    "orientation": [0.97, 0.1, 0.0, 0.2]}],
    }  # fmt: skip
    hand = {
        "name": "hand", "parent": "arm", "joint": "ball" if ball_joint else "fixed", "position": [0.0, -0.2, 0.0],
        "start_orientation": [0.95, 0.1, 0.1, 0.1] if ball_joint else [1.0, 0.0, 0.0, 0.0],
        "shapes": [{"shape": "sphere", "radius": 0.05, "position": [0.0, -0.03, 0.0], "subdivisions": 1}],
    }  # fmt: skip
    return get_model("articulated")([{"links": [body, arm, hand]}], touches=True)


def cases():
    """A tree and a body of each kind that touches it, with settings of their contact."""
    ball = {"shape": "sphere", "radius": 0.12, "position": [0.05, -0.1, 0.03], "mass": 0.4}
    yield "ball", get_model("rigid")([ball], ground=False), {}
    slab = {"shape": "box", "size": [0.5, 0.1, 0.4], "position": [0.0, -0.05, 0.0], "mass": 2.0}
    yield "box", get_model("rigid")([{**slab, "orientation": [1.0, 0.03, 0.1, 0.05]}], ground=False), {}
    yield "cloth", get_model("cloth")({"shape": "grid", "cells": [3, 3], "size": [0.4, 0.4]}), {"thickness": 0.02}
    block = get_model("fem")("box", size=(0.4, 0.1, 0.3), cells=(2, 1, 2), ground=False)
    yield "jelly", block, {"thickness": 0.01, "triangles": True}
    net = get_model("springs").chain(count=5, length=0.3, height=0.02, on_ground=False)
    yield "springs", net, {"thickness": 0.02}
    yield "tree", tree(-0.12, ball_joint=False), {}


# Compiled in the default suite for one of them; as plain Python for all, see below.
each_case = pytest.mark.parametrize(
    "other, settings",
    [pytest.param(*c[1:], id=c[0], marks=[] if c[0] == "ball" else pytest.mark.slow) for c in cases()],
)


def test_all_kinds_of_contact_pass_in_the_interpreter():
    """Gradients and forces of every kind of pair, by the same functions without compiling them."""
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "0", "-m", "slow or not slow", str(Path(__file__))]
    done = subprocess.run(
        [sys.executable, *words, "-k", "are_exact_while or equal_and_opposite"],
        env={**os.environ, "DIFFLOOM_INTERPRET": "1"}, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]
    assert "12 passed" in done.stdout


def touching(other, settings, given=PAIR):
    """Tree and other, and a state in which they move against each other."""
    world = World({"a": tree(), "b": other}, contacts=[{"between": ["a", "b"], **settings}])
    params = world.params(DOUBLE, **given)
    start = world.initial_state(params)
    random = torch.Generator().manual_seed(3)
    moving = {name: 0.3 * torch.randn(u.shape, generator=random, dtype=DOUBLE) for name, (_, u) in start.sets.items()}
    return world, params, State({name: q for name, (q, _) in start.sets.items()}, moving)


def contact_forces(world, params, state):
    system = world.dynamics(params, Control())
    alone = Mechanics(system.sets, tuple(term for term in system.terms if term.name.startswith("a_b.")))
    return alone.forces(state, dt=1e-3)


@each_case
def test_gradients_are_exact_while_links_touch(other, settings):
    """Gradients by both states, and by all parameters of link poses and contact."""
    soft = {"a.contact_stiffness": 400.0, "a.contact_dissipation": 0.8, "a.friction": 0.4, "a.friction_stiffness": 9.0}
    world, params, state = touching(other, settings, soft)
    values = {f"a.{name}": params[f"a.{name}"].clone() for name in OF_TREE}
    found = contact_forces(world, params, state)
    assert all(float(f.abs().max()) > 0.1 for f in found.values())
    sizes = [float(f.abs().max()) for f in found.values()]

    def forces(**given):
        told = {name: given.pop(name.replace(".", "__")) for name in values}
        q, u = ({n: given[f"{which}_{n}"] for n in state.sets} for which in "qu")
        each = contact_forces(world, params.replace(**told), State(q, u))
        return torch.cat([f.reshape(-1) / size for f, size in zip(each.values(), sizes, strict=True)])

    inputs = {f"q_{n}": q for n, (q, _) in state.sets.items()} | {f"u_{n}": u for n, (_, u) in state.sets.items()}
    check_gradient(forces, inputs | {n.replace(".", "__"): v for n, v in values.items()}, tolerance=1e-6, step=1e-6)


@each_case
def test_forces_are_equal_and_opposite(other, settings):
    """Force and moment on the tree as a whole, by the power of its forces in motions of all of it."""
    world, params, state = touching(other, settings)
    found = contact_forces(world, params, state)
    total, turn = on_whole_tree(state["a"].q[0], found["a"][0], balls=2)
    size = float(total.abs().max())
    assert size > 0.1
    if state["b"].q.shape[1] == 8:  # a ball and four scalars
        force, moment = on_whole_tree(state["b"].q[0], found["b"][0], balls=1)
    else:
        f, q = found["b"], state["b"].q
        force = f[:, :3].sum(dim=0)
        moment = torch.linalg.cross(q[:, :3], f[:, :3]).sum(dim=0) + (f[:, 3:].sum(dim=0) if f.shape[1] == 6 else 0.0)
    assert float((total + force).abs().max()) < 1e-13 * size
    assert float((turn + moment).abs().max()) < 1e-13 * size


def on_whole_tree(q, f, balls):
    """Force and moment about the origin on a tree with a free base: rates of the base alone move it as a whole."""
    w, x, y, z = q[:4]
    R = torch.stack([
        torch.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)]),
        torch.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)]),
        torch.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]),
    ])  # fmt: skip
    force = f[3 * balls : 3 * balls + 3]
    return force, R @ f[:3] + torch.linalg.cross(q[4 * balls : 4 * balls + 3], force)


def scene(contacts=({"between": ["arm", "net"], "thickness": 0.02},)):
    """A ball flies at a hand that presses on a net."""
    ball = {"shape": "sphere", "radius": 0.08, "position": [0.06, -0.075, 0.0], "velocity": [-0.6, 0.8, 0.0]}
    return World(
        {
            "arm": tree(),
            "ball": get_model("rigid")([ball], ground=False),
            "net": get_model("springs").chain(count=5, length=0.3, height=0.02, on_ground=False),
        },
        contacts=contacts,
    )


WHOLE = {
    "arm.mass": [0.5, 0.3, 0.2], "arm.centre_of_mass": None, "arm.inertia": None, "arm.length": None,
    "arm.frame_position": None, "arm.frame_orientation": None, "arm.joint_position": None,
    "arm.joint_orientation": None, "arm.joint_velocity": 0.4, "arm.contact_stiffness": 400.0, "arm.friction": 0.5,
    "arm.friction_stiffness": 9.0, "ball.mass": 0.3, "ball.velocity": None, "ball.contact_stiffness": 300.0,
    "net.mass": 0.05,
}  # fmt: skip


def ended(world, params):
    path = simulate(world, params, dt=5e-4, steps=24, save=(24,))
    return torch.cat([path[name].q.reshape(-1) for name in ("arm", "ball", "net")])


@pytest.mark.slow
def test_every_parameter_of_a_rollout_with_contact_has_an_exact_gradient():
    world = scene()
    params = world.params(DOUBLE, **{name: value for name, value in WHOLE.items() if value is not None})
    apart = ended(scene(contacts=False), scene(contacts=False).params(DOUBLE, **dict(params)))
    moved = (ended(world, params) - apart).abs()
    assert float(moved[:12].max()) > 1e-4 and float(moved[12:19].max()) > 1e-4 and float(moved[19:].max()) > 1e-4
    inputs = {name.replace(".", "__"): params[name].clone() for name in WHOLE}

    def end(**given):
        return ended(world, params.replace(**{name.replace("__", "."): value for name, value in given.items()}))

    check_gradient(end, inputs, tolerance=1e-6)


@pytest.mark.slow
def test_any_number_of_threads_gives_the_same_bits(monkeypatch):
    monkeypatch.setattr("diffloom_kernels.backends.threads._count_processors", lambda: 3)
    world = scene()
    found, before = [], num_threads()
    try:
        for count in (1, 2, 3):
            set_num_threads(count)
            mass = torch.tensor([0.5, 0.3, 0.2], dtype=DOUBLE, requires_grad=True)
            params = world.params(DOUBLE, **{"arm.mass": mass})
            integrator = SemiImplicitEuler(target="serial" if count == 1 else "parallel")
            path = simulate(world, params, dt=5e-4, steps=24, integrator=integrator)
            sum(path[name].q.square().sum() for name in ("arm", "ball", "net")).backward()
            found.append([*(path[name].q.detach() for name in ("arm", "ball", "net")), mass.grad])
    finally:
        set_num_threads(before)
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.slow
def test_a_step_that_follows_the_contact_is_suggested():
    world = World({"a": tree(1.0), "b": tree()})
    params = world.params(DOUBLE)
    stiff = world.params(DOUBLE, **{"a_b.contact_stiffness": 1e7, "a_b.friction_stiffness": 10.0})
    assert 1e-6 < world.suggested_dt(stiff) < world.suggested_dt(params) < 1e-2


def test_shapes_that_would_have_to_grow_are_refused():
    world = scene()
    with pytest.raises(InputError, match="link 'body': size"):
        simulate(world, world.params(DOUBLE, **{"arm.size": 1.1}), dt=1e-3, steps=1)
    limb = {"name": "limb", "length": 0.2, "shapes": [{"shape": "box", "size": 0.1, "position": [0.0, -0.1, 0.0]}]}
    arm = get_model("articulated")([{"links": [limb]}], touches=True)
    world = World({"arm": arm, "ball": scene().body("ball")})
    with pytest.raises(InputError, match="'limb': length.*rides = true"):
        simulate(world, world.params(DOUBLE, **{"arm.length": 0.3}), dt=1e-3, steps=1)


def test_links_without_touches_do_not_touch():
    arm = get_model("articulated")([{"builder": "pendulum", "length": 0.4}])
    with pytest.raises(InputError, match="body 'arm' has neither particles nor shapes to touch with"):
        World({"arm": arm, "ball": scene().body("ball")}, contacts=[{"between": ["arm", "ball"]}])
