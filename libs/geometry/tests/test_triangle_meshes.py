"""Checks and edges of triangle meshes."""

import numpy as np
import pytest

from diffloom.errors import InputError
from diffloom_geometry import check_triangles, find_edges

SQUARE = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
TWO = np.array([[0, 1, 2], [0, 2, 3]])


def test_a_clean_mesh_comes_back_unchanged():
    vertices, faces = check_triangles("square", SQUARE, TWO)
    assert np.array_equal(vertices, SQUARE)
    assert np.array_equal(faces, TWO)
    assert vertices.dtype == np.float64
    assert faces.dtype == np.int64


@pytest.mark.parametrize(
    ("vertices", "faces", "said"),
    [
        (SQUARE[:, :2], TWO, r"shape \(4, 2\)"),
        (SQUARE, TWO[:, :2], r"shape \(2, 2\)"),
        (SQUARE, np.zeros((0, 3), int), "at least one face"),
        (SQUARE, TWO.astype(float), "whole numbers"),
        (np.where(np.arange(4)[:, None] == 2, np.nan, SQUARE), TWO, "vertices 2 are not finite"),
        (SQUARE, [[0, 1, 2], [0, 2, 4]], "faces 1 name vertices that do not exist"),
        (SQUARE, [[0, 1, 2], [0, 2, -1]], "faces 1 name vertices that do not exist"),
        (SQUARE, [[0, 1, 2], [0, 3, 3]], "faces 1 name a vertex twice"),
        (np.vstack([SQUARE, [[2, 2, 0]]]), [[0, 1, 2], [0, 2, 4]], "faces 1 are degenerate"),
        (SQUARE, [[0, 1, 2], [0, 2, 3], [2, 1, 0]], "faces 0 and 2 join the same three vertices"),
        (np.vstack([SQUARE, [[2, 2, 0]]]), TWO, "vertices 4 belong to no face"),
    ],
)
def test_a_broken_mesh_is_refused_by_name(vertices, faces, said):
    with pytest.raises(InputError, match=said):
        check_triangles("square", vertices, faces)


def test_long_lists_are_cut_short():
    with pytest.raises(InputError, match="0, 1, 2, 3, 4 and 3 more"):
        check_triangles("sheet", np.full((8, 3), np.nan), [[0, 1, 2]])


def test_a_square_has_one_hinge_and_four_boundary_edges():
    edges = find_edges("square", TWO)
    assert edges.hinges.tolist() == [[2, 0, 1, 3]]
    assert edges.hinge_faces.tolist() == [[0, 1]]
    assert sorted(map(sorted, edges.boundary.tolist())) == [[0, 1], [0, 3], [1, 2], [2, 3]]
    assert len(edges.flipped) == 0
    assert edges.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]


def test_faces_with_opposite_fronts_are_noticed():
    assert find_edges("square", np.array([[0, 1, 2], [0, 3, 2]])).flipped.tolist() == [0]


def test_an_edge_of_three_faces_is_named():
    with pytest.raises(InputError, match=r"edge 0-1 \(faces 0, 1, 2\) shared by more than two faces"):
        find_edges("fan", np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4]]))


def test_a_closed_mesh_obeys_euler():
    tetrahedron = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    edges = find_edges("tetrahedron", tetrahedron)
    assert len(edges.boundary) == 0
    assert 4 - len(edges.pairs) + len(tetrahedron) == 2
