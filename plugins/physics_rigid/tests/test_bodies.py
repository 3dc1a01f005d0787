"""Bodies from tables: masses, starts, and refusals."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh

from diffloom.interfaces import InputError
from diffloom_physics_rigid.model import RigidModel


def test_mass_and_inertia_of_a_box() -> None:
    model = RigidModel([{"shape": "box", "size": [1.0, 2.0, 4.0], "density": 3.0}])
    params = model.params(torch.float64)
    assert model.masses(params).item() == pytest.approx(24.0)
    expected = [24.0 / 12 * (4 + 16), 24.0 / 12 * (1 + 16), 24.0 / 12 * (1 + 4), 0.0, 0.0, 0.0]
    np.testing.assert_allclose(model.inertias(params)[0].numpy(), expected, atol=1e-12)


def test_inertia_follows_mass_and_density_unless_given() -> None:
    model = RigidModel([{"shape": "star", "mass": 2.0}])
    base = model.inertias(model.params(torch.float64))
    heavy = model.inertias(model.params(torch.float64, mass=6.0))
    torch.testing.assert_close(heavy, 3.0 * base)
    dense = model.params(torch.float64, density=2.0 / model.bodies[0].volume)
    torch.testing.assert_close(model.inertias(dense), base)
    free = model.params(torch.float64, mass=6.0, inertia=[[1.0, 2.0, 2.5, 0.1, 0.0, 0.2]])
    assert model.inertias(free)[0].tolist() == [1.0, 2.0, 2.5, 0.1, 0.0, 0.2]


def test_inertia_in_one_table_keeps_the_others_tied_values() -> None:
    tables = [{"shape": "box", "mass": 6.0}, {"shape": "box", "inertia": [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]}]
    model = RigidModel(tables)
    params = model.params(torch.float64)
    np.testing.assert_allclose(model.inertias(params).numpy(), [[1, 1, 1, 0, 0, 0]] * 2, atol=1e-12)


def test_the_frame_sits_in_the_centre_of_mass() -> None:
    cone = RigidModel([{"shape": "cone", "height": 1.0}]).bodies[0]
    assert cone.vertices[:, 1].min() == pytest.approx(-0.25)
    np.testing.assert_allclose(cone.shape.solid.centre, 0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["obj", "stl"])
def test_mesh_files_with_scale(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"bone.{kind}"
    trimesh.creation.capsule(height=1.0, radius=0.2, count=[8, 8]).export(path)
    body = RigidModel([{"mesh": str(path), "scale": [1.0, 2.0, 0.5], "density": 7.0}]).bodies[0]
    mesh = trimesh.load_mesh(path)
    mesh.apply_scale([1.0, 2.0, 0.5])
    assert body.volume == pytest.approx(mesh.volume, rel=1e-6)
    np.testing.assert_allclose(body.inertia, mesh.moment_inertia, rtol=1e-5, atol=1e-7)
    assert body.start["mass"] == pytest.approx(7.0 * mesh.volume, rel=1e-6)


def test_arrays_as_a_body() -> None:
    mesh = trimesh.creation.box(extents=(1.0, 1.0, 2.0))
    model = RigidModel([{"vertices": mesh.vertices, "faces": mesh.faces, "density": 1.0}])
    assert model.masses(model.params(torch.float64)).item() == pytest.approx(2.0)


def test_start_pose_is_normalised_and_differentiable() -> None:
    model = RigidModel([{"shape": "box", "orientation": [2.0, 0.0, 0.0, 2.0], "angular_velocity": [0.0, 1.0, 0.0]}])
    orientation = model.params(torch.float64)["orientation"].clone().requires_grad_()
    state = model.initial_state(model.params(torch.float64, orientation=orientation))
    np.testing.assert_allclose(state.q[0, 3:].detach().numpy(), [0.5**0.5, 0.0, 0.0, 0.5**0.5])
    state.q[0, 3].backward()
    assert orientation.grad is not None
    assert abs(float((orientation.grad * orientation.detach()).sum())) < 1e-15


def test_surface_moves_rigidly() -> None:
    from diffloom.interfaces import Trajectory

    model = RigidModel.example()
    params = model.params(torch.float64)
    state = model.initial_state(params)
    surface = model.surface(Trajectory(state.q[None], state.u[None], torch.zeros(1)), params)
    start = 0
    for body, q in zip(model.bodies, state.q, strict=True):
        world = surface.vertices[0, start : start + len(body.vertices)]
        start += len(body.vertices)
        np.testing.assert_allclose(torch.pdist(world), torch.pdist(torch.tensor(body.vertices)), atol=1e-12)
        away = np.linalg.norm(body.vertices, axis=1)
        np.testing.assert_allclose((world - q[:3]).norm(dim=1).numpy(), away, atol=1e-12)
    assert surface.colours is not None
    assert surface.colours.shape == (start, 3)


def test_a_model_can_be_pickled() -> None:
    model = RigidModel.example()
    again = pickle.loads(pickle.dumps(model))
    assert [b.name for b in again.bodies] == [b.name for b in model.bodies]
    assert torch.equal(again.params()["mass"], model.params()["mass"])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"shape": "box", "mesh": "x.obj"}, "got shape and mesh; expected exactly one"),
        ({"size": [1, 1, 1]}, "neither shape nor mesh"),
        ({"shape": "box", "mass": 1.0, "density": 1.0}, "give one of them"),
        ({"shape": "box", "mass": 0.0}, "expected a positive number"),
        ({"shape": "box", "friction": -0.1}, "expected a non-negative number"),
        ({"shape": "box", "scale": [1.0, -1.0, 1.0]}, "a mirrored body would be inside out"),
        ({"shape": "box", "position": [1.0, 2.0]}, r"position: got \[1.0, 2.0\]; expected 3 numbers"),
        ({"shape": "box", "positon": [1.0, 2.0, 0.0]}, "positon="),
        ({"shape": "box", "contact": "round"}, "only a sphere or a capsule"),
        ({"shape": "box", "orientation": [0, 0, 0, 0]}, "length 0"),
        ({"shape": "sphere", "restitution": 1.5}, "at most 1"),
        ({"shape": "sphere", "grid": 1}, "whole number of cells"),
        ({"mesh": "nowhere.obj"}, "no such file"),
        ({"mesh": "nowhere.obj", "radius": 1.0}, "unknown key 'radius'"),
    ],
)
def test_refused_tables(table: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        RigidModel([{"shape": "box"}, table])
    assert "bodies[1]" in str(caught.value)


def test_refused_values() -> None:
    model = RigidModel([{"shape": "box", "mass": 1.0}])
    with pytest.raises(InputError, match="got both mass and density"):
        model.masses(model.params(mass=2.0, density=3.0))
    with pytest.raises(InputError, match="at least one table"):
        RigidModel([])
    from diffloom.interfaces import Control

    with pytest.raises(InputError, match=r"principal moment of -1.*positive definite"):
        model.dynamics(model.params(inertia=[[1.0, 1.0, -1.0, 0.0, 0.0, 0.0]]), Control())
    with pytest.raises(InputError, match=r"body 0 has 0 kg.*fixed = true"):
        model.dynamics(model.params(mass=0.0), Control())
