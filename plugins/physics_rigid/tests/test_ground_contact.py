"""Contact with the ground against closed forms: sliding, rolling, bouncing, resting."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, State
from diffloom_mechanics.contact import cluster_points, damping_ratio, linear_rebound
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient

G = 9.81


def test_a_sliding_box_stops_after_the_closed_form_distance() -> None:
    speed, mu = 3.0, 0.4
    box = {"shape": "box", "size": [1.0, 0.4, 1.0], "friction": mu, "velocity": [speed, 0.0, 0.0]}
    model = RigidModel([{**box, "position": [0.0, 0.19975, 0.0]}])
    params = model.params(torch.float64, friction_stiffness=1e5)
    result = simulate(model, params, dt=2e-4, steps=6000, save=[6000])
    assert float(result.q[-1, 0, 0]) == pytest.approx(speed**2 / (2 * mu * G), rel=0.01)
    assert float(result.u[-1, 0].norm()) < 1e-3


@pytest.mark.parametrize("angle", [0.1, 0.3])
def test_a_ball_rolls_down_an_incline_by_the_two_sevenths_rule(angle: float) -> None:
    radius, time = 0.25, 1.0
    tilted = [G * math.sin(angle), -G * math.cos(angle), 0.0]
    model = RigidModel(
        [{"shape": "sphere", "radius": radius, "position": [0.0, radius * 0.9995, 0.0], "friction": 0.9}]
    )
    dt = 2.5e-4
    result = simulate(model, model.params(torch.float64, gravity=tilted), dt=dt, steps=round(time / dt), save_every=400)
    # Friction takes two sevenths of the pull: the centre gains 5/7 g sin(angle), and the ball turns without slipping.
    assert float(result.q[-1, 0, 0]) == pytest.approx(0.5 * 5 / 7 * G * math.sin(angle) * time**2, rel=0.01)
    assert float(result.u[-1, 0, 0]) == pytest.approx(-radius * float(result.u[-1, 0, 5]), rel=0.01)


def test_a_ball_without_friction_slides_and_does_not_turn() -> None:
    model = RigidModel([{"shape": "sphere", "position": [0.0, 0.4995, 0.0], "friction": 0.0}])
    result = simulate(model, model.params(torch.float64, gravity=[1.0, -9.81, 0.0]), dt=1e-3, steps=1000)
    assert float(result.u[-1, 0, 0]) == pytest.approx(1.0, rel=1e-9)
    assert float(result.u[-1, 0, 3:].abs().max()) < 1e-12


@pytest.mark.parametrize("restitution", [0.9, 0.6, 0.3])
@pytest.mark.parametrize("law", ["hunt_crossley", "linear"])
def test_bounce_height_follows_the_restitution(law: str, restitution: float) -> None:
    height, radius = 2.0, 0.25
    ball = {"shape": "sphere", "radius": radius, "position": [0.0, height + radius, 0.0], "restitution": restitution}
    speed = {"reference_speed": math.sqrt(2.0 * G * height)}
    model = RigidModel([{**ball, **speed, "mass": 1.0, "contact_stiffness": 4e6}], contact=law)
    params = model.params(torch.float64)
    fall = math.sqrt(2 * height / G)
    dt = 2e-5
    steps = round((fall + restitution * fall * 1.2) / dt)
    result = simulate(model, params, dt=dt, steps=steps)
    hit = int((result.q[:, 0, 1] < radius).nonzero()[0])
    top = float(result.q[hit:, 0, 1].max()) - radius
    assert top == pytest.approx(restitution**2 * height, rel=0.01)


def test_restitution_and_damping_ratio_are_inverse() -> None:
    for e in (1.0, 0.99, 0.6, math.exp(-1), 0.2, 0.05):
        assert linear_rebound(damping_ratio(e)) == pytest.approx(e, rel=1e-6)
    assert damping_ratio(1.0) < 1e-12


@pytest.mark.parametrize("shape", ["box", "sphere", "capsule", "torus", "chair"])
def test_a_body_at_rest_carries_its_weight(shape: str) -> None:
    model = RigidModel([{"shape": shape, "position": [0.0, 0.7, 0.0], "orientation": [0.9, 0.3, 0.2, 0.1]}])
    params = model.params(torch.float64)
    steps = round(4.0 / model.suggested_dt())
    last = simulate(model, params, dt=model.suggested_dt(), steps=steps, save=[steps]).last
    force = model.dynamics(params, Control()).force(last.q, last.u)
    weight = float(params["mass"]) * G
    np.testing.assert_allclose(force[0, :3].numpy(), [0.0, weight, 0.0], atol=2e-2 * weight)
    assert float(last.u[0, 1].abs()) < 1e-3


def test_clusters_leave_no_point_out() -> None:
    model = RigidModel([{"shape": name} for name in ("box", "torus", "banana", "sphere", "chair")])
    found = cluster_points([body.vertices for body in model.bodies], [body.roundness for body in model.bodies])
    for i, body in enumerate(model.bodies):
        clusters = range(found.cluster_starts[i], found.cluster_starts[i + 1])
        rows = [found.points[found.point_starts[c] : found.point_starts[c + 1]] for c in clusters]
        assert all(len(r) <= 8 for r in rows)
        for c, r in zip(clusters, rows, strict=True):
            assert (np.linalg.norm(r - found.cluster_centre[c], axis=1) <= found.cluster_radius[c]).all()
        np.testing.assert_array_equal(np.unique(np.concatenate(rows), axis=0), np.unique(body.vertices, axis=0))


def pressed(gap: Tensor, speed: Tensor, params: dict[str, Tensor]) -> Tensor:
    """The normal force of either law, by the damping among its parameters."""
    elastic = -params["contact_stiffness"] * gap
    if "contact_damping" in params:
        return elastic - params["contact_damping"] * speed.clamp(max=0.0)
    return elastic * (1.0 - params["contact_dissipation"] * speed).clamp(min=0.0)


def direct_force(model: RigidModel, state: State, params: dict[str, Tensor]) -> Tensor:
    """Ground contact of the first body written out in PyTorch, point by point."""
    from diffloom_geometry.rotations import rotation_matrices

    n = torch.nn.functional.normalize(params["ground_normal"], dim=0)
    body, q, u = model.bodies[0], state.q[0], state.u[0]
    arm = torch.tensor(body.points) @ rotation_matrices(q[3:]).T - body.roundness * n
    speed = u[:3] + torch.linalg.cross(u[3:].expand_as(arm), arm)
    gap = (q[:3] + arm) @ n - params["ground_height"]
    normal_speed = speed @ n
    slide = speed - normal_speed[:, None] * n
    press = pressed(gap, normal_speed, params)
    length = slide.norm(dim=1)
    drag = torch.minimum(params["friction"] * press, params["friction_stiffness"] * length) / length
    force = torch.where((gap < 0.0)[:, None], press[:, None] * n - drag[:, None] * slide, torch.zeros(3).double())
    return torch.cat([force.sum(0), torch.linalg.cross(arm, force).sum(0)])


def world_heights(model: RigidModel, state: State) -> Tensor:
    """Heights of the first body's contact points above the plane through the origin that the next test tilts."""
    from diffloom_geometry.rotations import rotation_matrices

    n = torch.nn.functional.normalize(torch.tensor([0.1, 1.5, -0.2], dtype=torch.float64), dim=0)
    body = model.bodies[0]
    return torch.tensor(body.points) @ rotation_matrices(state.q[0, 3:]).T @ n - body.roundness


@pytest.mark.parametrize("shape", ["box", "torus", "sphere", "capsule", "goblet"])
@pytest.mark.parametrize("sliding", [0.01, 3.0])
@pytest.mark.parametrize("law", ["hunt_crossley", "linear"])
def test_force_and_its_adjoint(shape: str, sliding: float, law: str) -> None:
    model = RigidModel([{"shape": shape, "mass": 2.0, "orientation": [0.8, 0.3, -0.2, 0.4]}], contact=law)
    state = model.initial_state(model.params(torch.float64))
    lowest = world_heights(model, state).min() + 0.05
    names = (*model.contact.names, "ground_height", "ground_normal")
    base = model.params(torch.float64, ground_height=lowest, ground_normal=[0.1, 1.5, -0.2])
    u = torch.tensor([[sliding, -0.3, 0.4 * sliding, 0.1, 0.2, -0.3]], dtype=torch.float64)

    def force(q: Tensor, u: Tensor, **values: Tensor) -> Tensor:
        return model.dynamics(base.replace(**values), Control()).force(q, u, dt=1e-3)

    found = force(state.q, u)
    assert float(found.abs().max()) > 0.0
    expected = direct_force(model, State(state.q, u), dict(base))
    np.testing.assert_allclose(found[0].numpy(), expected.numpy(), rtol=1e-12, atol=1e-9)
    check_gradient(force, {"q": state.q, "u": u, **{name: base[name] for name in names}}, tolerance=1e-6, step=1e-6)
