"""Learning through impacts: wide gradients, restitution against the closed form, and energy that never grows."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import InputError, NoGradient
from diffloom_geometry.rotations import rotation_matrices, symmetric_matrices
from diffloom_mechanics.contact import rebound
from diffloom_physics_rigid.model import RigidModel
from diffloom_testing import WideComparison, check_gradient, compare_wide

DOUBLE = torch.float64
G = 9.81


def agreement(model: RigidModel, duration: float, dt: float, names: tuple[str, ...]) -> WideComparison:
    """Compare adjoint and +-2 % differences of the distance from the motion with parameters 10 % larger."""
    steps = round(duration / dt)

    def run(**values: Tensor) -> Tensor:
        params = model.params(DOUBLE, **values)
        return simulate(model, params, dt=dt, steps=steps, save_every=max(1, steps // 60)).q

    base = {name: model.params(DOUBLE)[name] for name in names}
    with torch.no_grad():
        aim = run(**{name: 1.1 * value for name, value in base.items()})
    return compare_wide(lambda **values: (run(**values) - aim).square().mean(), base)


def tumbling_cube(seed: int) -> RigidModel:
    random = np.random.default_rng(seed)
    start = {"orientation": random.normal(size=4), "velocity": random.normal(size=3) * [0.7, 0.3, 0.7],
             "angular_velocity": 8.0 * random.normal(size=3)}  # fmt: skip
    cube = {"shape": "box", "size": [0.105] * 3, "mass": 0.37, "position": [0.0, 0.2, 0.0], "contact_stiffness": 1e4}
    contact = {"restitution": 0.15, "reference_speed": 1.5, "friction": 0.18}
    return RigidModel([{**cube, **contact, **{key: value.tolist() for key, value in start.items()}}])


def test_the_gradient_of_a_tumbling_cube_predicts_changes() -> None:
    names = ("contact_stiffness", "contact_dissipation", "friction")
    found = []
    for seed in range(6):
        model = tumbling_cube(seed)
        found.append(agreement(model, 0.8, model.suggested_dt(), names))
    print([str(each) for each in found])
    assert median(each.cosine for each in found) >= 0.95


@pytest.mark.parametrize(("toe", "part"), [(None, 0.25), (0.002, 1.0)])
def test_the_gradient_of_a_bouncing_ball_predicts_changes(toe: float | None, part: float) -> None:
    """A ball moves 2 mm in a suggested step; without a toe of that length it takes shorter steps."""
    ball = {"shape": "sphere", "radius": 0.1, "mass": 1.0, "position": [0.0, 1.1, 0.0], "velocity": [0.5, 0.0, 0.2]}
    model = RigidModel(
        [{**ball, "restitution": 0.8, "reference_speed": 3.0}], contact={"law": "hunt_crossley", "toe": toe}
    )
    dt = part * model.suggested_dt()
    height = simulate(model, model.params(DOUBLE), dt=dt, steps=round(2.5 / dt)).q[:, 0, 1]
    inside = height < 0.1
    assert int((inside[1:] & ~inside[:-1]).sum()) == 5
    found = agreement(model, 2.5, dt, ("contact_stiffness", "contact_dissipation", "friction", "gravity"))
    print(found)
    assert found.cosine >= 0.95
    assert found.agrees()


def real_tosses() -> tuple[ModuleType, Path]:
    folder = os.environ.get("DIFFLOOM_REAL_DATA")
    if not folder or not (Path(folder) / "cube_tosses.npz").is_file():
        pytest.skip("recorded tosses are not here: DIFFLOOM_REAL_DATA names the folder of cube_tosses.npz")
    source = Path(__file__).parents[3] / "benchmarks" / "real_tosses.py"
    spec = importlib.util.spec_from_file_location("real_tosses", source)
    assert spec is not None
    assert spec.loader is not None
    import sys

    module = sys.modules["real_tosses"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, Path(folder)


@pytest.mark.slow
def test_the_gradient_of_real_tosses_predicts_changes() -> None:
    tosses, folder = real_tosses()
    found = tosses.wide(folder, "hunt_crossley")
    print(found)
    assert found["all"][0] >= 0.95


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_a_sphere_rebounds_by_the_closed_form(speed: float) -> None:
    """Restitution holds at the suggested step for any moment of touch within a step."""
    ball = {"shape": "sphere", "radius": 0.1, "restitution": 0.6, "velocity": [0.0, -speed, 0.0]}
    model = RigidModel([{**ball, "position": [0.0, 0.1, 0.0]}])
    dt = model.suggested_dt()
    off = []
    for part in np.linspace(0.0, 1.0, 8, endpoint=False):
        place = [[0.0, 0.1 + part * speed * dt + 1e-12, 0.0]]
        params = model.params(DOUBLE, gravity=[0.0, 0.0, 0.0], position=place)
        after = simulate(model, params, dt=dt, steps=600, save=[600]).last
        assert float(after.q[0, 1]) > 0.1
        expected = rebound(float(params["contact_dissipation"]), speed)
        off.append(abs(float(after.u[0, 1]) / speed / expected - 1.0))
    print(f"restitution at {speed:g} m/s: at most {100.0 * max(off):.2g} % from the closed form")
    assert max(off) < 0.01


def dropped(shape: str, restitution: float, count: int, seed: int) -> RigidModel:
    """Many bodies of one kind beside each other, thrown at random."""
    random = np.random.default_rng(seed)

    def body(i: int) -> dict[str, Any]:
        return {
            "shape": shape, "scale": 0.1, "mass": float(np.exp(random.uniform(-2.0, 2.0))), "restitution": restitution,
            "position": [3.0 * i, float(random.uniform(0.15, 0.6)), 0.0], "orientation": random.normal(size=4).tolist(),
            "velocity": random.normal(size=3).tolist(), "angular_velocity": (5.0 * random.normal(size=3)).tolist(),
            "friction": float(random.uniform(0.0, 1.0)),
        }  # fmt: skip

    return RigidModel([body(i) for i in range(count)], collisions=False)


def check_energy(model: RigidModel) -> int:
    """Require that no body gains energy from flight to flight; return how many bodies flew more than once.

    Semi-implicit Euler keeps m (v^2 / 2 + g y - g dt v_y / 2) in free fall, to rounding.
    """
    params = model.params(DOUBLE)
    dt = model.suggested_dt(params)
    path = simulate(model, params, dt=dt, steps=round(1.0 / dt), save_every=4, gradient=NoGradient())
    q, u, mass = path.q, path.u, model.masses(params)
    turns = rotation_matrices(q[..., 3:].reshape(-1, 4)).reshape(*q.shape[:2], 3, 3)
    spinning = torch.einsum("tbji,tbj->tbi", turns, u[..., 3:])
    turning = 0.5 * torch.einsum("tbi,bij,tbj->tb", spinning, symmetric_matrices(model.inertias(params)), spinning)
    energy = mass * (0.5 * u[..., :3].square().sum(-1) + G * q[..., 1] - 0.5 * G * dt * u[..., 1]) + turning
    bounced = 0
    for i, body in enumerate(model.bodies):
        points = torch.einsum("tij,pj->tpi", turns[:, i], torch.tensor(body.points))
        flying = points[..., 1].amin(dim=1) + q[:, i, 1] > body.roundness
        flights = energy[flying, i]
        assert float((flights[1:] - flights[:-1]).max()) < 1e-12 * float(energy[0, i])
        bounced += int((flying[1:] & ~flying[:-1]).any())
    return bounced


def test_energy_never_grows() -> None:
    assert check_energy(dropped("box", 0.6, 60, seed=0)) > 30


@pytest.mark.slow
def test_energy_never_grows_in_500_drops() -> None:
    kinds = (("box", 0.3), ("box", 0.6), ("box", 0.9), ("sphere", 0.6), ("capsule", 0.8))
    bounced = sum(check_energy(dropped(*kind, 100, seed)) for seed, kind in enumerate(kinds, start=1))
    print(f"no body of 500 gained energy; {bounced} flew more than once")
    assert bounced > 300


def test_a_toe_and_stribeck_friction_have_exact_gradients() -> None:
    law = {"law": "hunt_crossley", "toe": 0.03, "friction": "stribeck"}
    bodies = [{"shape": "box", "size": [0.4, 0.4, 0.4], "mass": 2.0, "position": [0.0, 0.19, 0.0]},
              {"shape": "sphere", "radius": 0.2, "mass": 1.0, "position": [0.05, 0.57, 0.03]}]  # fmt: skip
    model = RigidModel(bodies, contact=law)
    values = {"friction_stiffness": 1e4, "stribeck_speed": 0.4, "static_friction": [0.9, 0.7], "friction": [0.3, 0.4],
              "contact_toe": [0.03, 0.005]}  # fmt: skip
    params = model.params(DOUBLE, **values)
    state = model.initial_state(params)
    u = torch.tensor([[0.2, -0.3, 0.1, 0.1, 0.2, -0.3], [-0.1, -0.6, 0.05, 0.2, 0.1, 0.2]], dtype=DOUBLE)

    def force(q: Tensor, u: Tensor, **given: Tensor) -> Tensor:
        from diffloom.interfaces import Control

        return model.dynamics(params.replace(**given), Control()).force(q, u, dt=1e-3)

    inputs = {"q": state.q, "u": u, **{name: params[name] for name in model.contact.names}}
    found = check_gradient(force, inputs, tolerance=1e-6, step=1e-5)
    assert all(abs(each.autograd) > 0.0 for each in found if each.name != "friction_stiffness")


@pytest.mark.parametrize(
    ("law", "table", "words"),
    [
        (
            "hunt_crossley",
            {"contact_damping": 5.0},
            ["contact_damping", "'linear'", "contact_dissipation", "restitution"],
        ),
        ("linear", {"contact_dissipation": 1.0}, ["contact_dissipation", "'hunt_crossley'", "contact_damping"]),
        ("hunt_crossley", {"restitution": 0.5, "contact_dissipation": 1.0}, ["restitution", "give one"]),
        ("hertz", {}, ["'hertz'", "hunt_crossley", "linear"]),
        ("vertices", {}, ["'vertices'", "table"]),
        ({"law": "hunt_crossley", "friction": "sticky"}, {}, ["'sticky'", "coulomb", "stribeck"]),
        ({"law": "linear", "toe": 1e-3}, {}, ["'linear'", "toe"]),
    ],
)
def test_parameters_of_another_law_are_refused(law: Any, table: dict[str, float], words: list[str]) -> None:
    with pytest.raises(InputError) as error:
        RigidModel([{"shape": "sphere", **table}], contact=law)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_restitution_as_a_parameter_stands_for_the_dissipation() -> None:
    model = RigidModel([{"shape": "sphere"}])
    with pytest.raises(InputError, match="restitution and contact_dissipation"):
        model.params(restitution=0.5, contact_dissipation=1.0)
    with pytest.raises(InputError, match=r"no parameter 'contact_damping': a damping in N s/m"):
        model.params(contact_damping=1.0)

    def used(restitution: Tensor, reference_speed: Tensor) -> Tensor:
        given = model.params(DOUBLE, restitution=restitution, reference_speed=reference_speed)
        return torch.as_tensor(model.contact.resolve(given)["contact_dissipation"])

    e, v = torch.tensor([0.4], dtype=DOUBLE), torch.tensor([1.7], dtype=DOUBLE)
    assert rebound(float(used(e, v)), 1.7) == pytest.approx(0.4, rel=1e-9)
    check_gradient(used, {"restitution": e, "reference_speed": v}, tolerance=1e-6)
