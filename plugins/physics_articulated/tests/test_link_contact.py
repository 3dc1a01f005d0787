"""Contact of links with the ground and with obstacles: forces, energy and gradients."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import Control, InputError, Model
from diffloom_mechanics import Mechanics, WithTerms, get_term
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient

sys.path.insert(0, str(Path(__file__).parent))
from energies import totals

STEP, STEPS = 5e-4, 60
PARAMETERS = (
    "mass", "centre_of_mass", "inertia", "length", "frame_position", "frame_orientation", "gravity", "damping",
    "joint_position", "joint_orientation", "joint_velocity", "contact_stiffness", "contact_dissipation",
    "friction_stiffness", "friction", "ground_height", "ground_normal", "size",
)  # fmt: skip


def walker(ground: bool = True, height: float = 0.06, **given: object) -> ArticulatedModel:
    """A box with round edges, an arm and a hand in a ball joint; the box touches the ground at the start."""
    body = {
        "name": "body", "joint": "free", "start": [0.0, height, 0.0], "start_orientation": [0.9, 0.05, 0.1, 0.03],
        "velocity": [0.5, -1.0, 0.2, 1.0, -0.7, 0.4], "centre_of_mass": [0.01, 0.005, -0.01],
        "shapes": [
            {"shape": "box", "size": [0.2, 0.1, 0.15], "rounding": 0.01, "contact": "surface", "spacing": 0.1}
        ],
        "contact": {"friction": 0.4},
    }  # fmt: skip
    arm = {
        "name": "arm", "parent": "body", "axis": [0.0, 0.3, 1.0], "position": [0.1, 0.02, 0.01], "start": 1.3,
        "orientation": [0.95, 0.1, 0.2, 0.1], "velocity": -2.0, "length": 0.3, "slender": True, "damping": 0.01,
        "shapes": [{"shape": "capsule", "radius": 0.03, "length": 0.2, "position": [0.0, -0.13, 0.0]}],
    }  # fmt: skip
    hand = {
        "name": "hand", "parent": "arm", "joint": "ball", "position": [0.0, -0.3, 0.0], "velocity": [0.5, 1.0, -0.8],
        "shapes": [{"shape": "sphere", "radius": 0.04, "position": [0.0, -0.05, 0.0], "subdivisions": 1}],
    }  # fmt: skip
    return ArticulatedModel([{"links": [body, arm, hand]}], ground=ground, touches=True, **given)  # type: ignore[arg-type]


def ended(model: Model, **values: torch.Tensor) -> torch.Tensor:
    path = simulate(model, model.params(torch.float64, **values), dt=STEP, steps=STEPS)
    return torch.cat([path.q[-1], path.u[-1]], dim=1)


def test_links_touch_in_the_gradient_tests() -> None:
    """The body and the hand are pressed by the ground while these run."""
    model = walker()
    free = walker(ground=False)
    assert float((ended(model) - ended(free)).abs().max()) > 0.1
    state = model.initial_state(model.params(torch.float64))
    lowest = model.surface(simulate(model, model.params(torch.float64), dt=STEP, steps=STEPS), model.params(
        torch.float64)).vertices[..., 1].amin()  # fmt: skip
    assert float(lowest) < 0.0 and state.q.shape == (1, 12)


@pytest.mark.parametrize("name", PARAMETERS)
def test_gradients_through_contact(name: str) -> None:
    model = walker()
    value = model.params(torch.float64)[name].expand(model.spec(name).full_shape(model.axes)).clone()
    if model.spec(name).bounds[0] == 0.0:
        value = value.clamp(min=0.01)
    check_gradient(lambda x: ended(model, **{name: x}), {"x": value})


@pytest.mark.slow  # compiles for each law
@pytest.mark.parametrize("contact", [{"toe": 1e-3}, {"friction": {"law": "anisotropic", "turning": True}}])
def test_gradients_of_other_laws(contact: dict[str, object]) -> None:
    model = walker(contact=contact)
    turning = {"torsional_radius": 0.03, "rolling_radius": 0.02, "friction_x": 1.3} if "friction" in contact else {}
    values = {
        name: torch.full((3,), value, dtype=torch.float64)
        for name, value in ({"friction": 0.4} | turning | ({} if turning else {"contact_toe": 1e-3})).items()
    }
    check_gradient(lambda **x: ended(model, **x), values)


def test_one_free_link_is_pressed_as_a_rigid_body() -> None:
    """Force and torque of the ground on a box that stands on two corners, and with points on edges and faces."""
    box = {"shape": "box", "size": [0.2, 0.1, 0.15], "contact": "surface", "spacing": 0.06, "rounding": 0.01}
    law = {"contact_stiffness": 900.0, "contact_dissipation": 0.7, "friction_stiffness": 12.0, "friction": 0.3}
    start = {"position": [0.1, 0.05, 0.2], "velocity": [0.3, -0.4, 0.2]}
    turn, spin = [0.9, 0.1, 0.05, 0.2], [0.5, -1.0, 2.0]
    rigid = RigidModel([{**box, **law, **start, "mass": 1.0, "orientation": turn, "angular_velocity": spin}])
    state = rigid.initial_state(rigid.params(torch.float64))
    R = rotation(state.q[0, 3:])
    link = {
        "joint": "free", "start": start["position"], "start_orientation": turn, "mass": 1.0, "shapes": [box],
        "velocity": [*start["velocity"], *(R.T @ torch.tensor(spin, dtype=torch.float64)).tolist()], "contact": law,
    }  # fmt: skip
    tree = ArticulatedModel([{"links": [link]}], ground=True)
    on_body, on_tree = ground_force(rigid)[0], ground_force(tree)[0]
    assert float(on_body.abs().max()) > 1.0
    # A tree's numbers are the ball's first: the torque in the link's axes, then the force.
    assert torch.allclose(on_tree[3:], on_body[:3], rtol=1e-12, atol=1e-12)
    assert torch.allclose(R @ on_tree[:3], on_body[3:], rtol=1e-11, atol=1e-12)


def ground_force(model: Model) -> torch.Tensor:
    params = model.params(torch.float64)
    system = model.dynamics(params, Control())
    assert isinstance(system, Mechanics)
    state = model.initial_state(params)
    alone = Mechanics(system.nodes, tuple(term for term in system.terms if term.name == "ground"))
    return alone.force(state.q, state.u)


def rotation(q: torch.Tensor) -> torch.Tensor:
    w, v = q[0], q[1:]
    K = torch.zeros((3, 3), dtype=q.dtype)
    K[0, 1], K[0, 2], K[1, 2] = -v[2], v[1], -v[0]
    K = K - K.T
    return torch.eye(3, dtype=q.dtype) + 2.0 * (w * K + K @ K)


def test_energy_does_not_grow() -> None:
    """Energy falls from bounce to bounce; the energy stored in contact is small at these times."""
    model = walker(height=0.3)
    path = simulate(model, model.params(torch.float64), dt=1e-4, steps=6000, save_every=500)
    gravity = torch.tensor([0.0, -9.81, 0.0], dtype=torch.float64)
    found = [float(totals(model, q, u, gravity)[0]) for q, u in zip(path.q, path.u, strict=True)]
    assert found[-1] < 0.6 * found[0]
    assert max(np.diff(found)) < 2e-3 * found[0]


def test_a_standing_arm_presses_by_its_weight() -> None:
    """The ground carries the weight of all links at rest."""
    model = walker()
    params = model.params(torch.float64)
    path = simulate(model, params, dt=5e-4, steps=8000, save_every=8000)
    system = model.dynamics(params, Control())
    alone = Mechanics(system.nodes, tuple(term for term in system.terms if term.name == "ground"))
    force = alone.force(path.q[-1], path.u[-1])[0]
    scalar = 3 * model.layout.balls
    weight = 9.81 * float(params["mass"].sum())
    assert abs(float(force[scalar + 1]) - weight) < 0.02 * weight


def test_obstacles_are_touched() -> None:
    """A ball under the hand takes part like the ground, with gradients by its place, radius and contact."""
    model = walker(ground=False)
    ball = get_term("sphere")(radius=0.5, position=(0.0, -0.49, 0.05), friction=0.2)
    scene = WithTerms(model, {"ball": ball})
    assert float((ended(scene) - ended(model)).abs().max()) > 0.05
    values = {
        "ball.radius": torch.tensor(0.5, dtype=torch.float64),
        "ball.position": torch.tensor([0.0, -0.49, 0.05], dtype=torch.float64),
        "ball.friction": torch.tensor([0.2], dtype=torch.float64),
        "contact_stiffness": model.params(torch.float64)["contact_stiffness"],
        "size": torch.ones(3, dtype=torch.float64),
    }

    def moved(*numbers: torch.Tensor) -> torch.Tensor:
        return ended(scene, **dict(zip(values, numbers, strict=True)))

    check_gradient(lambda a, b, c, d, e: moved(a, b, c, d, e), dict(zip("abcde", values.values(), strict=True)))


@pytest.mark.slow  # compiles for scenes side by side
def test_many_scenes_at_once_have_the_same_bits() -> None:
    model = walker()
    heights = torch.tensor([0.0, 0.01, -0.02], dtype=torch.float64)

    def at(height: torch.Tensor) -> torch.Tensor:
        return ended(model, ground_height=height)

    assert torch.equal(torch.func.vmap(at)(heights), torch.stack([at(h) for h in heights]))


def test_bad_contact_is_refused() -> None:
    with pytest.raises(InputError, match="no link has a shape that touches"):
        ArticulatedModel([{"links": [{"mass": 1.0, "inertia": [1.0] * 6}]}], ground=True)
    link = {"mass": 1.0, "shapes": [{"shape": "box", "size": 0.1}]}
    with pytest.raises(InputError, match="unknown key 'frictoin'.*friction"):
        ArticulatedModel([{"links": [{**link, "contact": {"frictoin": 0.3}}]}], ground=True)
    with pytest.raises(InputError, match="only a sphere or a capsule is round"):
        ArticulatedModel([{"links": [{"shapes": [{"shape": "box", "contact": "round"}]}]}])
    with pytest.raises(InputError, match="links that touch"):
        WithTerms(ArticulatedModel([{"builder": "pendulum"}]), {"ball": get_term("sphere")()})
