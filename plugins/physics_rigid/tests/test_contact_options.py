"""Options of contact: friction by direction, torsional and rolling friction, round edges, points on edges and
faces, a centre of mass beside the shape's, a static sag. And energy over many random drops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, InputError
from diffloom_geometry.rotations import rotation_matrices
from diffloom_mechanics.contact import rebound
from diffloom_physics_rigid.contact_defaults import find_sides
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import check_gradient

G = 9.81
DOUBLE = torch.float64
EVERYTHING = {"law": "hunt_crossley", "friction": {"law": "anisotropic", "turning": True}}
BRICK = {"shape": "box", "size": [0.3, 0.4, 0.5], "mass": 2.0, "rounding": 0.02, "contact": "surface"}


@pytest.mark.parametrize("sliding", [0.01, 3.0])
def test_forces_of_every_option_and_their_adjoints(sliding: float) -> None:
    body = {**BRICK, "orientation": [0.8, 0.3, -0.2, 0.4], "centre_of_mass": [0.01, 0.02, -0.03]}
    model = RigidModel([body], contact=EVERYTHING)
    values = {"friction_x": 1.4, "friction_y": 0.8, "friction_z": 0.7, "torsional_radius": 0.2, "rolling_radius": 0.3}
    base = model.params(DOUBLE, ground_normal=[0.1, 1.5, -0.2], ground_height=-0.29, **values)
    u = torch.tensor([[sliding, -0.3, 0.4 * sliding, 5.0 * sliding, 4.0 * sliding, -3.0 * sliding]], dtype=DOUBLE)
    q = model.initial_state(base).q

    def force(q: Tensor, u: Tensor, **given: Tensor) -> Tensor:
        return model.dynamics(base.replace(**given), Control()).force(q, u, dt=1e-3) / 1e3

    names = (*model.contact.names, "ground_height", "ground_normal", "centre_of_mass")
    found = check_gradient(force, {"q": q, "u": u, **{n: base[n] for n in names}}, tolerance=1e-6, step=1e-5)
    # Sliding forgets the friction stiffness, sticking the coefficient.
    forgotten = ("friction_stiffness",) if sliding > 1.0 else ("friction",)
    assert {each.name for each in found if abs(each.autograd) > 0.0} >= {"q", "u", *names} - set(forgotten)


@pytest.mark.parametrize("smoothing", [0.5, 0.3])
def test_a_rounded_corner_shows_stiffness_and_coefficient_of_every_point(smoothing: float) -> None:
    """One body sticks and one slides; at 0 it is Coulomb's law to the bit."""
    bodies = [{"shape": "box", "size": [0.4] * 3, "mass": 2.0, "position": [0.0, 0.19, 0.0]},
              {"shape": "box", "size": [0.2] * 3, "mass": 1.0, "position": [2.0, 0.09, 0.0]}]  # fmt: skip
    model = RigidModel(bodies, contact={"friction": "smooth"}, collisions=False)
    values = {"friction_stiffness": [80.0, 300.0], "friction": [0.3, 0.4], "friction_smoothing": smoothing}
    base = model.params(DOUBLE, **values)
    u = torch.tensor([[0.2, -0.3, 0.1, 0.1, 0.2, -0.3], [-3.0, -0.6, 0.5, 0.2, 0.1, 0.2]], dtype=DOUBLE)
    q = model.initial_state(base).q

    def force(q: Tensor, u: Tensor, **given: Tensor) -> Tensor:
        return model.dynamics(base.replace(**given), Control()).force(q, u, dt=1e-3)

    inputs = {"q": q, "u": u, **{name: base[name] for name in model.contact.names}}
    found = check_gradient(force, inputs, tolerance=1e-6, step=1e-5)
    assert all(abs(each.autograd) > 0.0 for each in found)
    sharp = RigidModel(bodies, collisions=False)
    given = {"friction_stiffness": [80.0, 300.0], "friction": [0.3, 0.4]}
    there = sharp.dynamics(sharp.params(DOUBLE, **given), Control()).force(q, u, dt=1e-3)
    assert torch.equal(force(q, u, friction_smoothing=torch.zeros(2, dtype=DOUBLE)), there)
    # Never more than Coulomb's.
    assert bool((force(q, u)[:, :3:2].norm(dim=1) < there[:, :3:2].norm(dim=1)).all())


def test_friction_along_the_axes_and_against_turning_is_that_of_the_closed_forms() -> None:
    box = {"shape": "box", "size": [1.0, 0.4, 1.0], "friction": 0.4, "position": [0.0, 0.19975, 0.0]}
    ball = {"shape": "sphere", "radius": 0.2, "position": [0.0, 0.1999, 0.0], "friction": 0.4}
    bodies = [{**box, "velocity": [3.0, 0.0, 0.0]}, {**box, "velocity": [0.0, 0.0, 3.0]},
              {**ball, "angular_velocity": [0.0, 20.0, 0.0]},
              {**ball, "velocity": [1.0, 0.0, 0.0], "angular_velocity": [0.0, 0.0, -5.0]}]  # fmt: skip
    model = RigidModel(bodies, contact=EVERYTHING, collisions=False)
    radii = {"torsional_radius": [0.0, 0.0, 0.02, 0.0], "rolling_radius": [0.0, 0.0, 0.0, 0.01]}
    params = model.params(DOUBLE, friction_x=1.5, friction_z=0.5, friction_stiffness=1e5, **radii)
    path = simulate(model, params, dt=1e-4, steps=2000, save=[2000])
    t = 0.2
    assert float(path.u[-1, 0, 0]) == pytest.approx(3.0 - 1.5 * 0.4 * G * t, rel=0.01)
    assert float(path.u[-1, 1, 2]) == pytest.approx(3.0 - 0.5 * 0.4 * G * t, rel=0.01)
    inertia = 0.4 * 0.2**2
    assert float(path.u[-1, 2, 4]) == pytest.approx(20.0 - 0.4 * G * 0.02 / inertia * t, rel=0.01)
    # A rolling ball: the torque mu m g l slows m (1 + 2/5) r^2 turning about the point of contact.
    assert float(path.u[-1, 3, 0]) == pytest.approx(1.0 - 0.4 * G * 0.01 / (1.4 * 0.2) * t, rel=0.01)


def test_round_edges_and_points_on_edges_and_faces() -> None:
    (sharp,) = RigidModel([{"shape": "box", "size": [0.2] * 3}]).bodies
    (dense,) = RigidModel([{"shape": "box", "size": [0.2] * 3, "contact": "surface"}]).bodies
    (soft,) = RigidModel([{"shape": "box", "size": [0.2] * 3, "rounding": 0.02}]).bodies
    assert (len(sharp.points), len(dense.points), len(soft.points)) == (8, 98, 8)
    np.testing.assert_allclose(np.abs(dense.points).max(axis=1), 0.1)
    assert soft.roundness == 0.02
    assert soft.reach == pytest.approx(math.sqrt(3) * 0.08 + 0.02)
    # It stands as high as a sharp box on a face, and lower on a corner.
    side = max(find_sides(soft.points, soft.roundness), key=lambda points: float(points[:, 1].min()))
    np.testing.assert_allclose(side[:, 1], 0.1)
    with pytest.raises(InputError, match=r"rounding: got 0\.2; expected a radius"):
        RigidModel([{"shape": "box", "size": [0.2] * 3, "rounding": 0.2}])
    with pytest.raises(InputError, match="expected it for a box alone"):
        RigidModel([{"shape": "torus", "rounding": 0.01}])


def test_a_static_sag_stands_for_the_stiffness() -> None:
    model = RigidModel([{"shape": "box", "size": [0.3, 0.2, 0.3], "mass": 2.0, "position": [0.0, 0.1, 0.0]}])
    params = model.params(DOUBLE, static_sag=2e-3, contact_dissipation=20.0)
    dt = model.suggested_dt(params)
    steps = round(3.0 / dt)
    height = simulate(model, params, dt=dt, steps=steps, save=[steps]).q[0, 0, 1]
    assert float(height) == pytest.approx(0.1 - 2e-3, abs=2e-6)
    (body,) = RigidModel([{"shape": "box", "size": [0.3, 0.2, 0.3], "mass": 2.0, "static_sag": 2e-3}]).bodies
    given = RigidModel([{"shape": "box", "mass": 2.0, "static_sag": 2e-3}]).params(DOUBLE)
    assert body.start["static_sag"] == 2e-3
    assert float(given["contact_stiffness"]) == pytest.approx(2.0 * G / (4 * 2e-3))
    with pytest.raises(InputError, match="static_sag and contact_stiffness"):
        RigidModel([{"shape": "box", "static_sag": 1e-3, "contact_stiffness": 1e4}])


def test_a_centre_of_mass_beside_the_middle() -> None:
    cube: dict[str, Any] = {"shape": "box", "size": [0.2] * 3, "mass": 0.4, "position": [0.0, 0.1, 0.0]}
    model = RigidModel([cube])
    # Level, and the centre of mass 3 cm aside: the two near corners carry (1/2 + 0.03/0.2) of the weight.
    params = model.params(DOUBLE, centre_of_mass=[0.03, 0.0, 0.0], position=[0.03, 0.1 - 1e-4, 0.0])
    state = model.initial_state(params)
    lifted = model.dynamics(params, Control()).force(state.q, state.u)[0]
    assert float(lifted[1]) > 0.0
    np.testing.assert_allclose(float(lifted[5]), -0.03 * float(lifted[1]), rtol=1e-9)
    # The surface stays at the shape.
    seen = model.surface(simulate(model, params, dt=1e-4, steps=1), params).vertices[0]
    np.testing.assert_allclose(seen.mean(dim=0).numpy(), [0.0, 0.1 - 1e-4, 0.0], atol=1e-12)

    def end(centre_of_mass: Tensor) -> Tensor:
        turned = {"orientation": [0.9, 0.2, 0.1, 0.3], "position": [0.0, 0.18, 0.0], "velocity": [0.5, -1.0, 0.0]}
        given = model.params(DOUBLE, centre_of_mass=centre_of_mass, **turned)
        return simulate(model, given, dt=4e-4, steps=300, save=[300]).q[0]

    place = torch.tensor([[0.01, -0.02, 0.015]], dtype=DOUBLE)
    assert float((end(place) - end(0.0 * place)).abs().max()) > 1e-2
    check_gradient(end, {"centre_of_mass": place}, tolerance=1e-5, step=1e-6)
    with pytest.raises(InputError, match="only contact with the ground takes it into"):
        RigidModel([cube, cube]).dynamics(RigidModel([cube, cube]).params(centre_of_mass=[0.0] * 3), Control())


def energy(model: RigidModel, q: Tensor, u: Tensor, params: Any, dt: float) -> Tensor:
    """(frames, bodies) of free bodies, as semi-implicit Euler keeps it: m (v^2/2 + g y - g dt v_y / 2) + w.I w / 2."""
    masses, inertia = model.masses(params), model.inertias(params)[:, :3]
    own = torch.einsum("fbji,fbj->fbi", rotation_matrices(q[..., 3:]), u[..., 3:])
    fall = 0.5 * u[..., :3].square().sum(-1) + G * q[..., 1] - 0.5 * G * dt * u[..., 1]
    return masses * fall + 0.5 * (inertia * own.square()).sum(-1)


def test_contact_never_adds_energy_in_five_hundred_random_drops() -> None:
    random = np.random.default_rng(17)
    bodies = [
        {"shape": "box", "size": random.uniform(0.2, 0.4, 3).tolist(), "density": 10.0 ** random.uniform(1.0, 4.0),
         "position": [0.0, 0.6, 0.0], "orientation": random.normal(size=4), "velocity": random.normal(size=3),
         "angular_velocity": random.normal(0.0, 5.0, 3), "restitution": random.uniform(0.05, 1.0),
         "friction": random.uniform(0.0, 1.0)}
        for _ in range(500)
    ]  # fmt: skip
    model = RigidModel(bodies, collisions=False)
    params = model.params(DOUBLE)
    dt = model.suggested_dt(params)
    path = simulate(model, params, dt=dt, steps=round(0.8 / dt), save_every=10)
    found = energy(model, path.q, path.u, params, dt)
    bottom = (path.q[..., 1] - torch.tensor([body.reach for body in model.bodies])).min(dim=0).values
    assert bool((bottom < 0.0).all())
    growth = (found / found[0]).max(dim=0).values - 1.0
    assert float(growth.max()) < 1e-3, growth.max()
    assert float((found[-1] / found[0]).median()) < 0.7


def test_restitution_at_five_speeds_is_that_of_the_closed_form_at_the_suggested_step() -> None:
    speeds = (0.5, 1.0, 2.0, 4.0, 8.0)
    ball = {"shape": "sphere", "radius": 0.05, "position": [0.0, 0.0501, 0.0], "restitution": 0.6}
    for v in speeds:
        model = RigidModel([{**ball, "reference_speed": 2.0, "velocity": [0.0, -v, 0.0]}])
        params = model.params(DOUBLE, gravity=[0.0, 0.0, 0.0])
        dt = model.suggested_dt(params)
        after = simulate(model, params, dt=dt, steps=round(0.2 / v**0.5 / dt)).u[-1, 0, 1]
        assert float(after) / v == pytest.approx(rebound(float(params["contact_dissipation"]), v), rel=0.01), v
