"""Exact volume integrals, and clear words for meshes that enclose nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh

from diffloom.interfaces import InputError
from diffloom_geometry import check_closed, compute_winding_numbers, find_edges, integrate_volume, read_closed_mesh
from diffloom_geometry.closed_meshes import find_face_parts


def box(size: tuple[float, float, float], centre: tuple[float, float, float] = (0.0, 0.0, 0.0)):
    mesh = trimesh.creation.box(extents=size)
    return np.array(mesh.vertices) + np.array(centre), np.array(mesh.faces)


def test_a_box_far_away_has_the_textbook_inertia() -> None:
    a, b, c = 0.3, 1.1, 2.0
    where = (1e4, -2e4, 3e3)
    vertices, faces = box((a, b, c), where)
    body = integrate_volume(vertices, faces)
    assert body.volume == pytest.approx(a * b * c, rel=1e-9)
    np.testing.assert_allclose(body.centre, where, rtol=1e-12)
    expected = body.volume / 12.0 * np.diag([b * b + c * c, a * a + c * c, a * a + b * b])
    np.testing.assert_allclose(body.inertia, expected, rtol=1e-8, atol=1e-9)


def test_agrees_with_trimesh_on_a_mesh_without_symmetry() -> None:
    rng = np.random.default_rng(3)
    mesh = trimesh.convex.convex_hull(rng.normal(size=(60, 3)) * [1.0, 0.4, 2.0] + [0.3, 0.2, 0.1])
    body = integrate_volume(np.array(mesh.vertices), np.array(mesh.faces))
    assert body.volume == pytest.approx(mesh.volume, rel=1e-12)
    np.testing.assert_allclose(body.centre, mesh.center_mass, rtol=1e-10)
    np.testing.assert_allclose(body.inertia, mesh.moment_inertia, rtol=1e-9, atol=1e-12)


def test_integrals_follow_a_linear_map() -> None:
    rng = np.random.default_rng(5)
    mesh = trimesh.convex.convex_hull(rng.normal(size=(30, 3)))
    linear = np.array([[2.0, 0.3, 0.0], [0.0, 0.5, 0.1], [0.2, 0.0, 1.5]])
    map_linearly = integrate_volume(np.array(mesh.vertices), np.array(mesh.faces)).map_linearly(linear)
    direct = integrate_volume(np.array(mesh.vertices) @ linear.T, np.array(mesh.faces))
    assert map_linearly.volume == pytest.approx(direct.volume, rel=1e-12)
    np.testing.assert_allclose(map_linearly.centre, direct.centre, atol=1e-12)
    np.testing.assert_allclose(map_linearly.moment, direct.moment, rtol=1e-10, atol=1e-12)


def test_winding_number_tells_inside_from_outside() -> None:
    vertices, faces = box((2.0, 2.0, 2.0))
    found = compute_winding_numbers(np.array([[0.1, 0.2, -0.3], [0.9, 0.9, 0.9], [1.1, 0.0, 0.0]]), vertices, faces)
    np.testing.assert_allclose(found, [1.0, 1.0, 0.0], atol=1e-12)


def test_open_mesh_is_refused_with_its_edges() -> None:
    vertices, faces = box((1.0, 1.0, 1.0))
    with pytest.raises(InputError, match=r"lid: the mesh is open: edges \d+-\d+.*fill_holes"):
        check_closed("lid", vertices, faces[:-1])


def test_inside_out_mesh_is_refused() -> None:
    vertices, faces = box((1.0, 1.0, 1.0))
    with pytest.raises(InputError, match=r"inside out.*mesh.invert"):
        check_closed("glove", vertices, faces[:, ::-1])


def test_mixed_winding_is_refused() -> None:
    vertices, faces = box((1.0, 1.0, 1.0))
    faces[4] = faces[4, ::-1]
    with pytest.raises(InputError, match=r"look to opposite sides.*fix_normals"):
        check_closed("mix", vertices, faces)


def test_flat_mesh_is_refused() -> None:
    vertices, faces = box((1.0, 1.0, 1.0))
    two_sides = np.concatenate([faces, faces[:, ::-1] + len(vertices)])
    with pytest.raises(InputError, match="encloses no volume"):
        check_closed("sheet", np.concatenate([vertices, vertices]), two_sides)


def test_a_hollow_is_allowed_and_an_inverted_part_is_not() -> None:
    outer, faces = box((2.0, 2.0, 2.0))
    inner, _ = box((1.0, 1.0, 1.0))
    away, _ = box((1.0, 1.0, 1.0), (5.0, 0.0, 0.0))
    both = np.concatenate([faces, faces[:, ::-1] + len(outer)])
    hollow = np.concatenate([outer, inner])
    assert integrate_volume(*check_closed("shell", hollow, both)).volume == pytest.approx(7.0)
    assert find_face_parts(len(both), find_edges("shell", both)).max() == 1
    with pytest.raises(InputError, match=r"part 1 of the mesh.*inside out"):
        check_closed("pair", np.concatenate([outer, away]), both)


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "off", "glb"])
def test_files_of_every_kind(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"ball.{kind}"
    ball = trimesh.creation.icosphere(subdivisions=1)
    ball.export(path)
    vertices, faces = read_closed_mesh(path)
    assert len(vertices) == len(ball.vertices)
    assert integrate_volume(vertices, faces).volume == pytest.approx(ball.volume, rel=1e-6)


def test_missing_and_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_closed_mesh(tmp_path / "none.obj")
    text = tmp_path / "note.xyz7"
    text.write_text("hello")
    with pytest.raises(InputError, match="expected one of .obj"):
        read_closed_mesh(text)
    text = text.rename(tmp_path / "note.obj")
    with pytest.raises(InputError, match="cannot read it|no triangles"):
        read_closed_mesh(text)
