"""Built-in sheets, sheets from files, groups and texture coordinates."""

import numpy as np
import pytest
import trimesh

from diffloom.errors import InputError
from diffloom_physics_cloth.meshes import (
    Sheet,
    convert_trimesh,
    disc,
    grid,
    irregular_grid,
    load_sheet,
    make_sheet,
    staggered_grid,
    walker,
)


def areas(sheet: Sheet) -> np.ndarray:
    a, b, c = (sheet.vertices[sheet.faces[:, k]] for k in range(3))
    return 0.5 * np.cross(b - a, c - a)


def euler(sheet: Sheet) -> int:
    return len(sheet.vertices) - len(sheet.edges.pairs) + len(sheet.faces)


@pytest.mark.parametrize(
    ("sheet", "triangles", "area"),
    [
        (grid((6, 4), (3.0, 1.0)), 48, 3.0),
        (grid((6, 4), (3.0, 1.0), pattern="uniform"), 48, 3.0),
        (irregular_grid((7, 5), (2.0, 1.0), jitter=0.3, seed=3), 70, 2.0),
        (staggered_grid((5, 4), (2.0, 1.0)), 44, 2.0),
        (staggered_grid((1, 1), (2.0, 1.0)), 3, 2.0),
        (disc(5, 0.7), 150, None),
        (walker(0.2), 104, 52 * 0.04),
    ],
    ids=lambda x: x.name if isinstance(x, Sheet) else None,
)
def test_built_in_sheets_are_flat_and_face_one_way(sheet, triangles, area):
    assert len(sheet.faces) == triangles
    normals = areas(sheet)
    direction = normals.sum(axis=0)
    assert (normals @ direction > 0).all(), "every face looks the way the whole sheet does"
    assert np.linalg.norm(np.cross(normals, direction), axis=1).max() < 1e-14
    assert len(sheet.edges.flipped) == 0
    assert euler(sheet) == 1
    if area is not None:
        assert np.linalg.norm(normals, axis=1).sum() == pytest.approx(area, rel=1e-12)
    assert ((sheet.uv >= 0) & (sheet.uv <= 1)).all()


def test_a_disc_tends_to_a_circle():
    coarse, fine = (np.linalg.norm(areas(disc(n, 1.0)), axis=1).sum() for n in (8, 16))
    assert np.pi - coarse > 0
    assert (np.pi - coarse) / (np.pi - fine) == pytest.approx(4, rel=0.05)


@pytest.mark.parametrize(("plane", "normal"), [("xz", (0, 1, 0)), ("xy", (0, 0, 1)), ("zy", (1, 0, 0))])
def test_planes_face_their_normal(plane, normal):
    for sheet in (grid((2, 2), plane=plane), disc(2, plane=plane)):
        direction = areas(sheet).sum(axis=0)
        assert direction / np.linalg.norm(direction) == pytest.approx(normal, abs=1e-14)


def test_alternating_diagonals_mirror_each_other():
    sheet = grid((4, 4))
    mirrored = np.sort(sheet.vertices[sheet.faces][:, :, 0].sum(axis=1))
    assert mirrored == pytest.approx(-mirrored[::-1], abs=1e-14)


def test_staggered_grids_are_equilateral_and_know_their_sides():
    sheet = staggered_grid((6, 4), (6.0, 4 * 0.75**0.5), plane="xy")
    lengths = np.linalg.norm(np.diff(sheet.vertices[sheet.edges.pairs], axis=1), axis=2).ravel()
    inner = np.abs(sheet.vertices[sheet.edges.pairs][:, :, 0]).max(axis=1) < 3.0
    assert lengths[inner] == pytest.approx(1.0, rel=1e-12)
    assert sheet.vertices[sheet.groups["left"], 0] == pytest.approx(-3.0)
    assert len(sheet.groups["left"]) == 5
    assert sheet.vertices[sheet.groups["top_right"]].tolist() == [[3.0, pytest.approx(2 * 0.75**0.5), 0.0]]


def test_irregular_grids_are_reproducible_and_differ_by_seed():
    one, same, other = (irregular_grid((5, 5), seed=s) for s in (1, 1, 2))
    assert np.array_equal(one.vertices, same.vertices)
    assert np.array_equal(one.faces, same.faces)
    assert not np.array_equal(one.vertices, other.vertices)


def test_groups_name_vertices():
    sheet = grid((3, 2), (3.0, 2.0), plane="xy")
    assert sheet.vertices[sheet.select("pins", "top"), 1] == pytest.approx(1.0)
    assert sheet.select("pins", ["top_left", "top_right", 0]).tolist() == [0, 8, 11]
    assert sheet.select("pins", 5).tolist() == [5]
    with pytest.raises(InputError, match="no group 'topp'; did you mean 'top'"):
        sheet.select("pins", "topp")
    with pytest.raises(InputError, match="got index 12; expected 0 to 11"):
        sheet.select("pins", [12])


def test_the_walker_knows_its_parts_and_stands_on_its_soles():
    sheet = walker(0.2, (1.0, 0.0, 0.0))
    assert sum(len(f) for f in sheet.face_groups.values()) == 104
    assert sheet.vertices[sheet.groups["soles"], 1] == pytest.approx(0.0)
    assert len(sheet.select_faces("legs", ["hind_leg", "front_leg"])) == 32
    assert np.allclose(sheet.vertices[:, 2], 0)


def test_any_trimesh_surface_becomes_a_sheet(tmp_path):
    ball = trimesh.creation.icosphere(subdivisions=1)
    sheet = convert_trimesh(ball)
    assert euler(sheet) == 2
    assert len(sheet.groups["rim"]) == 0
    file = tmp_path / "ball.obj"
    ball.export(file)
    assert np.allclose(np.sort(load_sheet(file).vertices, axis=0), np.sort(ball.vertices, axis=0), atol=1e-7)
    moved = make_sheet({"file": str(file), "scale": 2.0, "position": [0, 1, 0]})
    assert moved.vertices[:, 1].max() == pytest.approx(3.0, abs=1e-6)


def test_a_seam_of_the_texture_does_not_cut_the_cloth(tmp_path):
    file = tmp_path / "square.obj"
    corners = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\n"
    texture = "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 0.5\nvt 0.5 1\nvt 0 1\n"
    file.write_text(corners + texture + "f 1/1 2/2 3/3\nf 1/4 3/5 4/6\n")
    sheet = load_sheet(file)
    assert len(sheet.vertices) == 4
    assert len(sheet.edges.hinges) == 1
    expected = [[[0, 0], [1, 0], [1, 1]], [[0, 0.5], [0.5, 1], [0, 1]]]
    assert np.allclose(sheet.uv[sheet.uv_faces], expected)


def test_tables_make_sheets():
    assert len(make_sheet({"shape": "grid", "cells": [4, 2], "size": [2, 1]}).faces) == 16
    assert make_sheet("walker").name == "walker"
    with pytest.raises(InputError, match="expected one of disc, grid"):
        make_sheet({"shape": "gird"})
    with pytest.raises(InputError, match="unexpected keyword argument 'cell'"):
        make_sheet({"shape": "grid", "cell": 3})
    with pytest.raises(InputError, match="does not exist"):
        make_sheet("nowhere.obj")
    with pytest.raises(InputError, match="either 'shape' or 'file'"):
        make_sheet({"cells": [1, 2]})


@pytest.mark.parametrize(
    "make",
    [
        lambda: grid((0, 3)),
        lambda: grid((2, 2), (1.0, -1.0)),
        lambda: grid((2, 2), plane="yz"),
        lambda: irregular_grid(jitter=0.5),
        lambda: disc(0),
        lambda: walker(0.0),
        lambda: Sheet(grid((1, 1)).vertices, grid((1, 1)).faces, groups={"a": np.array([4])}),
        lambda: Sheet(grid((1, 1)).vertices, grid((1, 1)).faces, uv=np.zeros((3, 2))),
    ],
)
def test_wrong_arguments_are_refused(make):
    with pytest.raises(InputError):
        make()
