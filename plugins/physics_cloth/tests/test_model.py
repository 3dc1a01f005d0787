"""The cloth model as a whole: gradients of rollouts, controls, ties, and what it says to wrong input."""

import pickle

import numpy as np
import pytest
import torch
from torch import Tensor

from diffloom import simulate
from diffloom.interfaces import Control, InputError
from diffloom.plugins import get_model
from diffloom_physics_cloth.meshes import grid, irregular_grid
from diffloom_physics_cloth.model import ClothModel
from diffloom_physics_cloth.rest_shape import sheet_moduli
from diffloom_testing.gradients import check_gradient

SHEET = irregular_grid((4, 3), (0.4, 0.3), jitter=0.25, seed=2)
THICK = 0.02


def f64(value: object) -> Tensor:
    return torch.tensor(value, dtype=torch.float64)


def folded() -> Tensor:
    """The sheet turned over on itself 1 cm apart, a little crumpled, low over the ground."""
    noise = torch.randn(SHEET.vertices.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    x = torch.tensor(SHEET.vertices) + 2e-3 * noise
    over = x * f64([-1.0, 1.0, 1.0]) + f64([0.013, 0.012, 0.004])
    return torch.where(x[:, :1] > 0.04, over, x) + f64([0.0, 0.004, 0.0])


def run(model: ClothModel, steps: int = 40, control: Control | None = None, **values: object) -> Tensor:
    params = model.params(torch.float64, **values)
    return simulate(model, params, dt=2e-4, steps=steps, save=[steps // 2, steps], control=control).q


FULL = ClothModel(SHEET, pins=[0], anchors=[4], springs=[[1, 7], [2, 9]], ground=True, self_collision=THICK)


def scenario() -> dict[str, Tensor]:
    faces, hinges = len(SHEET.faces), len(SHEET.edges.hinges)
    return {
        "start_shape": folded(),
        # Not the same for all: layers that move rigidly sit on the kink of the damping of contact, min(rate, 0).
        "velocity": f64([0.3, -1.5, 0.2])
        + 0.1 * torch.cos(torch.arange(3.0 * len(SHEET.vertices)).double()).view(-1, 3),
        "angular_velocity": f64([0.5, 0.3, -0.4]),
        "orientation": f64([1.0, 0.02, -0.01, 0.03]),
        "position": f64([0.01, 0.001, -0.02]),
        "rest_shape": torch.tensor(SHEET.vertices),
        "density": f64(0.25).expand(faces).clone(),
        "gravity": f64([0.1, -9.81, 0.2]),
        "shear_modulus": f64(200.0).expand(faces).clone(),
        "lame_modulus": f64(150.0),
        "damping": f64(0.05),
        "activation": f64(0.02).expand(faces).clone(),
        "drag": f64(0.8),
        "lift": f64(0.6).expand(faces).clone(),
        "wind": f64([1.0, 0.3, -0.5]),
        "bending_stiffness": f64(1e-4),
        "bending_damping": f64(1e-6),
        "rest_angle": f64(0.1).expand(hinges).clone(),
        "bending_activation": f64(0.05).expand(hinges).clone(),
        "anchor_stiffness": f64(300.0),
        "anchor_damping": f64(0.2),
        "anchor_place": f64([[0.2, 0.03, -0.14]]),
        "spring_stiffness": f64(50.0),
        "spring_damping": f64(0.1),
        "spring_length": f64([0.2, 0.25]),
        "contact_stiffness": f64(800.0),
        "contact_dissipation": f64(0.4),
        "friction_stiffness": f64(0.4),
        "friction": f64(0.4),
        "ground_height": f64(0.001),
        "ground_normal": f64([0.02, 1.0, -0.03]),
        "collision_stiffness": f64(300.0),
        "collision_dissipation": f64(0.5),
    }


def test_every_parameter_of_a_rollout_has_the_right_gradient():
    """Ground contact and contact with itself are active, as their own gradients show."""
    values = scenario()
    instead = {"mass", "restitution", "reference_speed"}
    assert {*instead, *values} == {s.name for s in FULL.specs}, "density stands for mass, which has a test of its own"
    moving = (
        "start_shape", "rest_shape", "orientation", "position", "velocity", "angular_velocity", "ground_normal",
    )  # fmt: skip
    motion = {name: values.pop(name) for name in moving}

    def rollout(**changed: Tensor) -> Tensor:
        return run(FULL, **{**values, **motion, **changed})

    results = check_gradient(rollout, values, tolerance=1e-5, step=1e-5, directions=1)
    # Where things are decides which of them touch; a small step keeps to the branch.
    results += check_gradient(rollout, motion, tolerance=1e-5, step=1e-6)
    found = {r.name: abs(r.autograd) for r in results}
    for name in (
        "contact_stiffness",
        "contact_dissipation",
        "friction",
        "collision_stiffness",
        "collision_dissipation",
    ):
        assert found[name] > 0, f"{name} must matter here"
    assert all(value > 0 for value in found.values())


def test_mass_per_particle_has_the_right_gradient():
    values = {"start_shape": folded(), "mass": f64(5e-4).expand(len(SHEET.vertices)).clone()}
    check_gradient(lambda **v: run(FULL, **v), values, tolerance=1e-5, step=1e-6)


@pytest.mark.parametrize("name", ["activation", "bending_activation", "wind"])
def test_controls_act_step_by_step(name):
    """One value per step has the right gradient, and a constant one moves the sheet as the parameter does."""
    shape = FULL.spec(name).full_shape(FULL.axes)
    random = torch.Generator().manual_seed(1)
    values = 0.3 * torch.randn((10, *shape), dtype=torch.float64, generator=random)
    start = {"start_shape": folded(), "drag": 0.8}
    check_gradient(
        lambda control: run(FULL, 10, Control({name: control}), **start), {"control": values}, tolerance=1e-5, step=1e-4
    )
    row = values[0]
    constant = run(FULL, 10, Control({name: row.expand(10, *shape).contiguous()}), **start)
    assert torch.equal(constant, run(FULL, 10, **start, **{name: row}))


def test_the_walker_moves_by_its_muscles():
    model = ClothModel("walker", planar=True, ground=True)
    assert model.axes["faces"] == 104
    legs = model.sheet.select_faces("legs", ["hind_leg", "front_leg"])
    drive = torch.zeros(60, 104, dtype=torch.float64)
    drive[:, legs] = 0.3
    still = simulate(model, model.params(torch.float64), dt=1 / 1920, steps=60, save=[60]).q
    driven = simulate(
        model, model.params(torch.float64), dt=1 / 1920, steps=60, save=[60], control=Control({"activation": drive})
    ).q
    assert float((driven - still)[:, model.sheet.groups["body"], 1].mean()) > 1e-4, "longer legs lift the body"
    assert float(driven[:, :, 2].abs().max()) == 0.0

    def rollout(activation: Tensor) -> Tensor:
        params = model.params(torch.float64)
        return simulate(model, params, dt=1 / 1920, steps=60, save=[60], control=Control({"activation": activation})).q

    check_gradient(rollout, {"activation": drive}, tolerance=1e-5)


def test_pins_hold_and_anchors_pull():
    model = ClothModel(SHEET, pins=["left"], anchors=["top_right"])
    start = torch.tensor(SHEET.vertices)
    q = run(model, 200, velocity=(0.0, 1.0, 0.0))[-1]
    assert torch.equal(q[model.pins], start[model.pins])
    loose = run(model, 200, velocity=(0.0, 1.0, 0.0), anchor_stiffness=0.0, anchor_damping=0.0)[-1]
    tie = int(model.anchors[0])
    assert float((q[tie] - start[tie]).norm()) < 0.5 * float((loose[tie] - start[tie]).norm())


def test_self_collision_keeps_layers_apart():
    """Two halves fold onto each other: without it they pass through, with it they stay on their own sides."""
    sheet = grid((8, 4), (0.4, 0.2))
    x = torch.tensor(sheet.vertices)
    over = x * f64([-1.0, 1.0, 1.0]) + f64([0.025, 0.03, 0.012])
    moved = x[:, :1] > 0.02
    start = torch.where(moved, over, x)
    velocity = torch.where(moved, f64([0.0, -1.0, 0.0]), f64([0.0, 0.0, 0.0])).expand_as(x)
    heights = {}
    for thickness in (None, 0.015):
        model = ClothModel(sheet, pins=["left"], self_collision=thickness)
        heights[thickness] = run(
            model, 300, start_shape=start, velocity=velocity, gravity=(0.0, 0.0, 0.0), bending_stiffness=0.0
        )[-1][:, 1]
    top = sheet.groups["right"]
    assert float(heights[None][top].max()) < -0.01
    assert float(heights[0.015][top].min()) > 0.0


def test_single_precision_runs_by_default():
    model = ClothModel.example()
    path = simulate(model, dt=model.example_settings.dt, steps=model.example_settings.steps, save_every=20)
    assert path.q.dtype == torch.float32
    assert path.q.shape == (4, 25, 3)
    surface = model.surface(path, model.params())
    assert len(surface) == 4
    assert surface.faces.shape == (32, 3)
    texture = model.texture(torch.rand(8, 8, 3))
    assert texture.uv.shape == (25, 2)


def test_models_come_by_name_and_survive_pickling():
    model = get_model("cloth")(
        {"shape": "grid", "cells": [3, 3], "size": [0.3, 0.3]}, pins=["top"], ground=True, self_collision=0.02
    )
    copy = pickle.loads(pickle.dumps(model))
    options = {"dt": 1e-3, "steps": 10, "save": [10]}
    assert torch.equal(simulate(model, **options).q, simulate(copy, **options).q)


def test_masses_add_up_to_the_density_times_the_area():
    model = ClothModel(SHEET)
    mass = model.mass(model.params(torch.float64, density=0.5))
    assert float(mass.sum()) == pytest.approx(0.5 * 0.4 * 0.3, rel=1e-12)


def test_solid_constants_become_those_of_a_sheet():
    found = sheet_moduli(1e6, 0.3, 1e-3)
    assert found["bending_stiffness"] == pytest.approx(1e6 * 1e-9 / (12 * 0.91))
    assert found["shear_modulus"] == pytest.approx(1.5 * 1e3 / 2.6)
    assert found["lame_modulus"] == pytest.approx(1e3 * 0.3 / 0.91 + 1e3 / 2.6 / 1.5)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ClothModel(SHEET, pins=["topp"]), "no group 'topp'"),
        (lambda: ClothModel(SHEET, anchors=[99]), "got index 99"),
        (lambda: ClothModel(SHEET, springs=[[1, 1]]), r"spring 0 joins \[1, 1\]"),
        (lambda: ClothModel(SHEET, springs=[[1, 99]]), r"spring 0 joins \[1, 99\]"),
        (lambda: ClothModel(SHEET, springs=[1, 2]), "list of pairs"),
        (lambda: ClothModel(SHEET, self_collision=0.0), "above 0"),
        (lambda: ClothModel(SHEET, self_collision=0.3), "choose a thickness below"),
        (lambda: ClothModel("grid").params(shear_modulus=-1.0), "expected at least 0"),
        (lambda: ClothModel("grid").params(bending=1.0), "has no parameter 'bending'"),
        (lambda: ClothModel("walker", planar=True).params(drag=1.0), "has no parameter 'drag'"),
        (
            lambda: ClothModel.example().initial_state(ClothModel.example().params(orientation=(0.0, 0, 0, 0))),
            "0, 0, 0",
        ),
    ],
)
def test_wrong_input_is_refused_in_plain_words(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_a_bent_mesh_cannot_be_planar():
    sheet = grid((2, 2))
    bent = sheet.vertices + np.array([0, 1, 0]) * (sheet.vertices[:, :1] > 0.1) * 0.2
    with pytest.raises(InputError, match="planar=True needs a flat mesh; vertex"):
        ClothModel(type(sheet)(bent, sheet.faces), planar=True)
    with pytest.raises(InputError, match="all look the same way"):
        ClothModel(type(sheet)(sheet.vertices, np.vstack([sheet.faces[:1, ::-1], sheet.faces[1:]])), planar=True)
