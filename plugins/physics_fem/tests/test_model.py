"""Interface of the model: meshes, parameters and their alternatives, regions, mass, surface."""

import logging
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch

from diffloom.interfaces import Control, InputError, Trajectory
from diffloom.plugins import get_model
from diffloom_geometry import TetMesh, TextureMap, ball, box, write_tet
from diffloom_physics_fem.elasticity import neo_hookean_moduli, small_strain_moduli
from diffloom_physics_fem.model import FemModel

DOUBLE = torch.float64


def test_the_registry_knows_it() -> None:
    assert get_model("fem") is FemModel


@pytest.mark.parametrize(
    ("arguments", "tets"),
    [
        ({}, 40),
        ({"mesh": "box", "size": [1, 2, 3], "cells": [1, 2, 3], "split": 6}, 36),
        ({"mesh": "beam", "size": [2.0, 0.2, 0.1], "cells": [8, 2, 1]}, 80),
        ({"mesh": "ball", "radius": 0.3, "layers": 2}, 160),
        ({"mesh": ball(1.0, 1)}, 20),
    ],
)
def test_meshes_by_name(arguments: dict[str, object], tets: int) -> None:
    model = FemModel(**arguments)
    assert model.axes["tets"] == tets
    assert len(model.initial_state(model.params()).q) == model.axes["particles"]


def test_a_mesh_file_is_scaled_and_mended(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mesh = box()
    tets = mesh.tets.copy()
    tets[3] = tets[3][[1, 0, 2, 3]]
    write_tet(TetMesh(mesh.vertices, tets), tmp_path / "solid.tet")
    with pytest.raises(InputError, match=r"solid.tet cannot be simulated: tet 3 are inverted.*repair=True"):
        FemModel(tmp_path / "solid.tet")
    with caplog.at_level(logging.WARNING):
        model = FemModel(str(tmp_path / "solid.tet"), repair=True, scale=0.5)
    assert "turned tet 3 round" in caplog.text
    assert model.mesh.volumes.sum() == pytest.approx(0.125)


@pytest.mark.parametrize("shape", [{"mesh": "ball", "layers": 3}, {"mesh": "box", "cells": [3, 4, 5]}])
def test_mass_is_density_times_volume(shape: dict[str, object]) -> None:
    model = FemModel(**shape)
    mass = model.masses(model.params(DOUBLE, density=123.0))
    assert float(mass.sum()) == pytest.approx(123.0 * model.mesh.volumes.sum(), rel=1e-12)
    per_tet = torch.linspace(1.0, 2.0, model.axes["tets"], dtype=DOUBLE)
    mass = model.masses(model.params(DOUBLE, density=per_tet))
    assert float(mass.sum()) == pytest.approx(float((per_tet.numpy() * model.mesh.volumes).sum()), rel=1e-12)


def test_moduli_round_trip() -> None:
    E, nu = torch.tensor([1e5, 2e6], dtype=DOUBLE), torch.tensor([0.1, 0.45], dtype=DOUBLE)
    again = small_strain_moduli(*neo_hookean_moduli(E, nu))
    assert torch.allclose(again[0], E, rtol=1e-12)
    assert torch.allclose(again[1], nu, rtol=1e-12)


def test_alternatives_exclude_each_other() -> None:
    model = FemModel(shared={"left": ["youngs_modulus", "shear_modulus"]})
    assert "shear_modulus" not in model.params(youngs_modulus=1e5)
    assert float(model.params(youngs_modulus=1e5)["poisson_ratio"]) == pytest.approx(0.3)
    assert "density" not in model.params(mass=0.1)
    assert "youngs_modulus" not in model.params()
    with pytest.raises(InputError, match="got youngs_modulus and lame_modulus; give either"):
        model.params(youngs_modulus=1e5, lame_modulus=1e5)
    with pytest.raises(InputError, match="got mass and density"):
        model.params(mass=1.0, density=1.0)
    with pytest.raises(InputError, match="poisson_ratio without youngs_modulus"):
        model.params(poisson_ratio=0.3)
    with pytest.raises(InputError, match="got youngs_modulus_left and shear_modulus"):
        model.params(youngs_modulus_left=1.0, shear_modulus=1.0)


def test_regions_by_every_description() -> None:
    model = FemModel(
        cells=(4, 2, 2),
        regions={
            "half": {"box": [[0.0, -1, -1], [1, 1, 1]]},
            "core": {"centre": [0, 0, 0], "radius": 0.3},
            "some": {"tets": [0, 1, 5]},
            "rows": {"vertices": [0, 1, 2]},
        },
        fixed=["left", 20],
    )
    assert model.regions["half"].tets.sum() == 40
    assert model.regions["half"].vertices.sum() == 27
    assert 0 < model.regions["core"].vertices.sum() < 20
    assert model.regions["some"].tets.nonzero()[0].tolist() == [0, 1, 5]
    assert model.regions["rows"].vertices.sum() == 3
    assert model.fixed.sum() == 10


def test_fixed_vertices_stay_and_start_at_rest() -> None:
    from diffloom import simulate

    model = FemModel("beam", cells=(4, 1, 1), fixed=["left"])
    params = model.params(DOUBLE, velocity=(0.0, 1.0, 0.0), position=(0.0, 1.0, 0.0))
    trajectory = simulate(model, params, dt=1e-4, steps=20)
    held = torch.from_numpy(model.fixed)
    assert torch.equal(trajectory.q[-1][held], trajectory.q[0][held])
    assert (trajectory.u[:, held] == 0).all()
    assert (trajectory.q[-1][~held] != trajectory.q[0][~held]).any()


def test_a_region_with_parameters_of_its_own() -> None:
    model = FemModel(
        regions={"up": {"box": [[-1, 0, -1], [1, 1, 1]]}}, shared={"up": ["shear_modulus", "activation", "density"]}
    )
    inside = torch.from_numpy(model.regions["up"].tets)
    params = model.params(DOUBLE, shear_modulus_up=7.0, activation_up=0.5, density_up=2000.0)
    mu, lam = model.moduli(params)
    assert (mu[inside] == 7.0).all()
    assert (mu[~inside] == 1e5).all()
    assert (lam == 1e5).all()
    assert torch.equal(model.activation(params, Control())[0] == 0.5, inside)
    assert float(model.masses(params).sum()) == pytest.approx(1500.0)
    waves = torch.arange(3.0, dtype=DOUBLE)
    rows = model.activation(params, Control({"activation_up": waves}))
    assert rows.shape == (3, 40)
    assert torch.equal(rows[:, inside], waves[:, None].expand(3, int(inside.sum())))
    assert (rows[:, ~inside] == 0).all()
    assert {s.name for s in model.specs if s.per_step} == {"activation", "activation_up"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mesh": "bal"}, "'bal' does not exist"),
        ({"mesh": "ball", "cells": [1, 1, 1]}, "mesh 'ball' takes radius, layers"),
        ({"mesh": box(), "size": [1, 1, 1]}, "takes no shape arguments"),
        ({"mesh": "beam", "size": [1, 1]}, r"\[length, height, width\]"),
        ({"fixed": ["lefft"]}, "no region 'lefft'; did you mean 'left'"),
        ({"fixed": [99]}, "index 99; the mesh has vertices 0 to 26"),
        ({"regions": {"a b": {"tets": [0]}}}, "letters, digits and _"),
        ({"regions": {"a": {"tetz": [0]}}}, "did you mean 'tets'"),
        ({"regions": {"a": {"centre": [0, 0, 0]}}}, "centre and radius"),
        ({"regions": {"a": {"box": [[5, 5, 5], [6, 6, 6]]}}}, "holds no vertex"),
        ({"regions": {"a": {"box": [5, 6]}}}, "expected numbers of shape"),
        ({"regions": {"a": {"tets": [0.5]}}}, "whole numbers"),
        ({"shared": {"left": ["gravity"]}}, "got 'gravity'; expected one of"),
        ({"shared": {"nowhere": ["density"]}}, "no region 'nowhere'"),
        ({"scale": -1.0}, "positive number"),
    ],
)
def test_bad_arguments_are_explained(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        FemModel(**arguments)


def test_bad_values_are_explained() -> None:
    model = FemModel()
    turned = np.array(model.mesh.vertices) * [1, -1, 1]
    with pytest.raises(InputError, match="rest_shape: tet 0 has volume"):
        model.dynamics(model.params(rest_shape=turned), Control())
    with pytest.raises(InputError, match="quaternion of length 0"):
        model.initial_state(model.params(orientation=(0, 0, 0, 0)))
    with pytest.raises(InputError, match=r"expected \(tets\)"):
        model.params(shear_modulus=[1.0, 2.0])


def test_the_start_is_turned_moved_and_spun() -> None:
    model = FemModel()
    quarter = (np.cos(np.pi / 4), 0.0, np.sin(np.pi / 4), 0.0)
    state = model.initial_state(
        model.params(DOUBLE, orientation=quarter, position=(1, 2, 3), velocity=(0, 0, 5), angular_velocity=(0, 2, 0))
    )
    x, y, z = model.mesh.vertices.T
    expected = np.stack([z + 1.0, y + 2.0, -x + 3.0], axis=1)
    assert np.allclose(state.q.numpy(), expected, atol=1e-12)
    arm = expected - [1, 2, 3]
    assert np.allclose(state.u.numpy(), np.cross([0, 2, 0], arm) + [0, 0, 5], atol=1e-12)


def test_the_surface_is_closed_and_follows_the_motion() -> None:
    model = FemModel("ball", layers=3)
    state = model.initial_state(model.params(position=(0.0, 1.0, 0.0)))
    q = torch.stack([state.q, state.q + 1.0]).requires_grad_()
    surface = model.surface(Trajectory(q, q, torch.zeros(2)), model.params())
    assert surface.vertices.shape == (2, 92, 3)
    assert surface.faces.shape == (180, 3)
    surface.vertices.sum().backward()
    assert (q.grad.sum(dim=(0, 2)) > 0).sum() == 92


def test_texture_coordinates_reach_the_surface() -> None:
    mesh = box()
    flat = TetMesh(mesh.vertices, mesh.tets, texture=TextureMap(mesh.vertices[:, :2] + 0.5))
    texture = FemModel(flat).texture(torch.rand(4, 4, 3))
    assert texture.uv.shape == (26, 2)
    with pytest.raises(InputError, match="no texture coordinates"):
        FemModel(mesh).texture(torch.rand(4, 4, 3))


def test_the_model_can_be_pickled() -> None:
    model = FemModel.example()
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.mesh.tets, model.mesh.tets)
    assert again.specs == model.specs


def test_memory_of_a_step_at_ten_thousand_tets() -> None:
    """Position and velocity in float32: at most 64 KB a step."""
    model = FemModel("box", cells=(20, 10, 10))
    state = model.initial_state(model.params())
    assert model.axes["tets"] == 10_000
    assert (state.q.numel() + state.u.numel()) * 4 <= 64_000


def test_masses_follow_from_densities():
    model = FemModel.example()
    params = model.params(DOUBLE, density=321.0)
    assert torch.equal(model.derived(params)["mass"], model.masses(params))
