from pathlib import Path

import numpy as np
import pytest
import trimesh

from diffloom.interfaces import InputError
from diffloom_geometry import TetMesh, ball, check_tetmesh, extract_surface, read_solid
from diffloom_geometry.lattice_fill import fill_with_lattice
from diffloom_geometry.tet_fill import carry_texture, find_nearest_triangle
from diffloom_geometry.tetmesh import find_boundary_faces, tet_quality


def textured_sphere() -> trimesh.Trimesh:
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=0.3)
    mesh.visual = trimesh.visual.TextureVisuals(uv=np.asarray(mesh.vertices)[:, :2] + 0.5)
    return mesh


def test_nearest_triangle_is_exact() -> None:
    rng = np.random.default_rng(1)
    triangles = rng.normal(size=(60, 1, 3)) + rng.normal(size=(60, 3, 3)) * rng.random((60, 1, 1))
    points = rng.normal(size=(40, 3))
    found = find_nearest_triangle(triangles, points)
    for point, index in zip(points, found, strict=True):
        feet = trimesh.triangles.closest_point(triangles, np.broadcast_to(point, (60, 3)))
        assert index == np.argmin(np.linalg.norm(feet - point, axis=1))


def test_texture_is_carried_to_the_new_surface() -> None:
    source = textured_sphere()
    mesh = ball(0.3, 3)
    faces = find_boundary_faces(mesh.tets)
    carried = carry_texture(source, np.asarray(source.visual.uv), mesh.vertices, faces)
    assert carried.faces is not None
    assert carried.corners is not None
    expected = mesh.vertices[carried.faces][..., :2] + 0.5
    assert np.abs(carried.uv[carried.corners] - expected).max() < 0.01


def test_no_face_spans_a_seam_of_the_texture() -> None:
    source = trimesh.creation.uv_sphere(radius=0.3, count=[16, 16])
    angle = np.arctan2(source.vertices[:, 0], source.vertices[:, 2])
    triangle_angle = angle[source.faces]
    triangle_angle = (
        np.where((np.ptp(triangle_angle, axis=1) > np.pi)[:, None] & (triangle_angle < 0), 2 * np.pi, 0)
        + triangle_angle
    )
    flat = trimesh.Trimesh(
        source.triangles.reshape(-1, 3), np.arange(3 * len(source.faces)).reshape(-1, 3), process=False
    )
    uv = np.stack([triangle_angle.ravel() / (2 * np.pi) + 0.5, np.asarray(flat.vertices)[:, 1]], axis=1)
    mesh = ball(0.3, 5)
    carried = carry_texture(flat, uv, mesh.vertices, find_boundary_faces(mesh.tets))
    assert carried.faces is not None
    assert carried.corners is not None
    away = np.abs(mesh.vertices[carried.faces][..., 1]).max(axis=1) < 0.2
    widths = np.ptp(carried.uv[carried.corners][away, :, 0], axis=1)
    assert away.sum() > 100
    assert widths.max() < 0.2, "a face that spans the seam would be almost 1 wide"


def test_a_surface_is_filled(tmp_path: Path) -> None:
    source = textured_sphere()
    source.export(tmp_path / "ball.obj")
    mesh, _ = check_tetmesh(read_solid(tmp_path / "ball.obj", edge_length=0.2))
    assert mesh.volumes.sum() == pytest.approx(source.volume, rel=0.01)
    assert extract_surface(mesh).uv is not None


def test_an_open_surface_is_refused(tmp_path: Path) -> None:
    source = textured_sphere()
    source.update_faces(np.arange(len(source.faces)) > 0)
    source.export(tmp_path / "open.obj")
    with pytest.raises(InputError, match="not closed, 3 edges"):
        read_solid(tmp_path / "open.obj")


def test_a_surface_thinner_than_the_tetrahedra_is_refused(tmp_path: Path) -> None:
    trimesh.creation.torus(1.0, 0.2).export(tmp_path / "ring.obj")
    with pytest.raises(InputError, match=r"edge_length of 0.3 .* give a smaller one, such as 0.075"):
        read_solid(tmp_path / "ring.obj", edge_length=0.3)


def test_without_an_edge_length_tetrahedra_shrink_until_they_fit() -> None:
    thin = trimesh.creation.torus(1.0, 0.06)  # at 0.05 a quarter of it stays empty
    with pytest.raises(InputError, match=r"edge_length of 0.1 .* do not fit"):
        read_solid(thin, edge_length=0.1)
    mesh, _ = check_tetmesh(read_solid(thin))
    assert mesh.volumes.sum() == pytest.approx(thin.volume, rel=0.01)


SURFACES = {
    "ball": trimesh.creation.icosphere(subdivisions=3),
    "box": trimesh.creation.box((1.0, 0.7, 0.4)),
    "ring": trimesh.creation.torus(1.0, 0.35),
    "rod": trimesh.creation.capsule(1.0, 0.4),
}


@pytest.mark.parametrize("name", SURFACES)
def test_tetrahedra_of_a_lattice_have_the_volume_the_holes_and_good_angles(name: str) -> None:
    source = SURFACES[name]
    shell = np.asarray(source.vertices, np.float64), np.asarray(source.faces, np.int64)
    edge = 0.1 * np.linalg.norm(np.ptp(shell[0], axis=0))
    points, tets = fill_with_lattice(*shell, edge)
    mesh, _ = check_tetmesh(TetMesh(points, tets))
    assert mesh.volumes.sum() == pytest.approx(source.volume, rel=1e-3)
    skin = trimesh.Trimesh(points, find_boundary_faces(tets), process=False)
    assert skin.is_watertight
    assert skin.euler_number == source.euler_number
    assert tet_quality(points, tets).min() > 0.3
    places = points[np.unique(skin.faces)]
    nearest = source.triangles[find_nearest_triangle(np.asarray(source.triangles), places)]
    assert np.linalg.norm(trimesh.triangles.closest_point(nearest, places) - places, axis=1).max() < 0.4 * edge
    again = fill_with_lattice(*shell, edge)
    assert np.array_equal(again[0], points)
    assert np.array_equal(again[1], tets)
