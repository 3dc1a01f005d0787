"""Contact between bodies of every kind: exact gradients while it acts, equal and opposite forces, the law itself."""

import pytest
import torch

from diffloom import get_model
from diffloom.interfaces import Control, State
from diffloom_mechanics import Mechanics
from diffloom_physics_world.model import World
from diffloom_testing.gradients import check_gradient

DOUBLE = torch.float64
NAMES = ["a_b.contact_stiffness", "a_b.contact_dissipation", "a_b.friction", "a_b.friction_stiffness"]
TILTED = [0.9, 0.2, -0.3, 0.1]


def rigid(shape, position, **more):
    return get_model("rigid")([{"shape": shape, "position": position, "mass": 0.4, **more}], ground=False)


def cloth(**mesh):
    return get_model("cloth")({"shape": "grid", "cells": [3, 3], "size": [0.4, 0.4], **mesh})


def jelly():
    return get_model("fem")("box", size=(0.2, 0.1, 0.2), cells=(1, 1, 1), ground=False)


def pairs():
    """Two bodies of each kind that touch, and which values each starts from."""
    yield "sphere-cloth", {"a": rigid("sphere", [0.03, 0.05, 0.01], radius=0.1), "b": cloth()}, {}
    box = rigid("box", [0.06, 0.045, 0.01], size=[0.25, 0.1, 0.3], orientation=TILTED)
    yield "box-jelly", {"a": box, "b": jelly()}, {}
    lying = {"radius": 0.08, "length": 0.2, "orientation": [1, 0.1, 0, 1]}
    yield "capsule-cloth", {"a": rigid("capsule", [0.02, 0.03, 0.05], **lying), "b": cloth()}, {}
    star = rigid("star", [0.03, 0.02, 0.0], scale=0.7, orientation=TILTED)
    yield "star-jelly", {"a": star, "b": jelly()}, {}
    other = rigid("box", [0.0213, -0.0377, 0.0319], size=[0.2, 0.1, 0.2])
    yield "box-box", {"a": box, "b": other}, {}
    yield "sphere-box", {"a": rigid("sphere", [0.03, 0.1, 0.0], radius=0.1), "b": other}, {}
    yield "star-capsule", {"a": star, "b": rigid("capsule", [0.02, -0.15, 0.06], **lying)}, {}
    yield "jelly-cloth", {"a": jelly(), "b": cloth(position=[0.01, -0.055, 0.02])}, {"thickness": 0.03}
    # A corner in the middle of a cell, too small to meet a vertex.
    corner = rigid("box", [0.043, 0.046, 0.029], size=[0.05, 0.05, 0.05], orientation=[0.7, 0.5, 0.1, 0.45])
    yield "corner-cloth", {"a": corner, "b": cloth()}, {"thickness": 0.015}
    round_box = rigid("box", [0.043, 0.049, 0.029], size=[0.06, 0.05, 0.05], rounding=0.012, orientation=TILTED)
    yield "rounded-jelly", {"a": round_box, "b": jelly()}, {"thickness": 0.03, "triangles": True}
    other = cloth(position=[0.031, 0.012, 0.017], cells=[4, 4], size=[0.35, 0.35])
    yield "cloth-cloth", {"a": other, "b": cloth()}, {"thickness": 0.03}


CASES = list(pairs())
SMOOTH = {"law": "hunt_crossley", "friction": "smooth"}


def touching(bodies, settings):
    """The contact alone, and a state in which the bodies move against each other."""
    world = World(bodies, contacts=[{"between": ["a", "b"], **settings}])
    params = world.params(
        DOUBLE, **{"a_b.contact_stiffness": 300.0, "a_b.friction": 0.4, "a_b.friction_stiffness": 9.0}
    )
    start = world.initial_state(params)
    random = torch.Generator().manual_seed(3)
    moving = {
        name: 0.3 * torch.randn(u.shape, generator=random, dtype=DOUBLE) - 0.5 * (name == "a")
        for name, (_, u) in start.sets.items()
    }
    return world, params, State({name: q for name, (q, _) in start.sets.items()}, moving)


def contact_forces(world, params, state):
    system = world.dynamics(params, Control())
    alone = Mechanics(system.sets, tuple(term for term in system.terms if term.name.startswith("a_b.")))
    return alone.forces(state, dt=1e-3)


def check_pair(world, params, state, names, step=1e-6):
    """Gradients by both states and the named parameters, while the bodies touch."""
    found = contact_forces(world, params, state)
    assert all(float(f.abs().max()) > 0.1 for f in found.values())

    def forces(**given):
        values = {name: given.pop(name.replace(".", "__")) for name in names}
        q, u = ({n: given[f"{which}_{n}"] for n in state.sets} for which in "qu")
        each = contact_forces(world, params.replace(**values), State(q, u))
        return torch.cat([f.reshape(-1) for f in each.values()]) + 0.0 * sum(v.sum() for v in values.values())

    inputs = {f"q_{n}": q for n, (q, _) in state.sets.items()} | {f"u_{n}": u for n, (_, u) in state.sets.items()}
    values = {n: params.get(n, torch.tensor(0.8, dtype=DOUBLE)) for n in names}
    inputs |= {name.replace(".", "__"): value.clone() for name, value in values.items()}
    return check_gradient(forces, inputs, tolerance=1e-6, step=step)


@pytest.mark.parametrize("bodies, settings", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_gradients_are_exact_while_bodies_touch(bodies, settings):
    check_pair(*touching(bodies, settings), NAMES)


#: One of each kind of pair: rigid body and particles, corner and triangles, rigid bodies, two skins.
QUICK = ("box-box",)
KINDS = (*QUICK, "sphere-cloth", "corner-cloth", "jelly-cloth")


@pytest.mark.parametrize(
    "bodies, settings",
    [pytest.param(*c[1:], id=c[0], marks=() if c[0] in QUICK else pytest.mark.slow) for c in CASES if c[0] in KINDS],
)
@pytest.mark.parametrize("smoothing", [0.5, 0.2])
def test_gradients_of_smooth_friction_are_exact(bodies, settings, smoothing):
    """Gradients include that of the smoothing; sticking and sliding depend on friction and its stiffness."""
    world, params, state = touching(bodies, {**settings, "law": SMOOTH})
    params = params.replace(**{"a_b.friction_smoothing": torch.tensor(smoothing, dtype=DOUBLE)})
    # Shorter differences are rounding for two skins, whose forces nearly cancel along the direction that is tried.
    check_pair(world, params, state, NAMES[:2], step=3e-6)

    def forces(**given):
        values = {f"a_b.{name}": value for name, value in given.items()}
        return torch.cat([f.reshape(-1) for f in contact_forces(world, params.replace(**values), state).values()])

    # Forces are smooth in these, and some hardly change: a short difference would be rounding.
    rough = {name: params[f"a_b.{name}"] for name in ("friction", "friction_stiffness", "friction_smoothing")}
    found = check_gradient(forces, rough, tolerance=1e-6, step=1e-4)
    assert all(abs(one.autograd) > 1e-6 for one in found), found


@pytest.mark.parametrize("bodies, settings", [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_forces_are_equal_and_opposite(bodies, settings):
    world, params, state = touching(bodies, settings)
    found = contact_forces(world, params, state)
    total, turn, largest = torch.zeros(3, dtype=DOUBLE), torch.zeros(3, dtype=DOUBLE), 0.0
    for name, f in found.items():
        q = state[name].q
        total += f[:, :3].sum(dim=0)
        turn += torch.linalg.cross(q[:, :3], f[:, :3]).sum(dim=0)
        turn += f[:, 3:].sum(dim=0) if f.shape[1] == 6 else 0.0
        largest = max(largest, float(f[:, :3].abs().max()))
    assert largest > 0.1
    assert float(total.abs().max()) < 1e-14 * len(state["b"].q) * largest
    assert float(turn.abs().max()) < 1e-14 * len(state["b"].q) * largest
