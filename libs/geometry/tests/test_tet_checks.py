from dataclasses import replace

import numpy as np
import pytest

from diffloom.interfaces import InputError
from diffloom_geometry import TetMesh, TextureMap, box, check_tetmesh, extract_surface


def broken() -> TetMesh:
    """A box with an inverted tet (3), a flat one (40), a repeat of tet 5 (41) and a loose, non-finite vertex (27)."""
    mesh = box()
    tets = mesh.tets.copy()
    tets[3, [0, 1]] = tets[3, [1, 0]]
    tets = np.concatenate([tets, [[0, 1, 2, 3]], [tets[5][[1, 0, 3, 2]]]])
    vertices = np.concatenate([mesh.vertices, [[np.nan, 0.0, 0.0]]])
    groups = {"all": np.arange(42), "late": np.array([39, 40, 41])}
    return replace(mesh, vertices=vertices, tets=tets, tet_groups=groups, name="broken.tet")


def test_every_flaw_is_named() -> None:
    with pytest.raises(InputError) as caught:
        check_tetmesh(broken())
    text = str(caught.value)
    for words in (
        "broken.tet cannot be simulated", "tet 40 have no volume", "tet 3 are inverted", "tet 41 repeat",
        "vertex 27 belong to no tetrahedron", "repair=True mends this",
    ):  # fmt: skip
        assert words in text


def test_repair_mends_and_says_what_it_did() -> None:
    mesh, done = check_tetmesh(broken(), repair=True)
    assert done == (
        "removed tets 40, 41 (flat or repeated)",
        "turned tet 3 round (inverted)",
        "removed vertex 27 (in no tetrahedron)",
    )
    assert mesh.volumes.min() > 0.0
    assert mesh.volumes.sum() == pytest.approx(1.0, rel=1e-14)
    assert mesh.tet_groups["late"].tolist() == [39]
    assert len(mesh.tet_groups["all"]) == 40
    assert len(mesh.vertex_groups["left"]) == 9


def test_flaws_beyond_repair_are_errors() -> None:
    mesh = box()
    tets = mesh.tets.copy()
    tets[7, 2] = 99
    with pytest.raises(InputError, match="tet 7 refer to vertices outside 0 to 26"):
        check_tetmesh(replace(mesh, tets=tets), repair=True)
    vertices = mesh.vertices.copy()
    vertices[[4, 6]] = np.inf
    with pytest.raises(InputError, match="vertices 4, 6 have a coordinate that is not finite"):
        check_tetmesh(replace(mesh, vertices=vertices), repair=True)
    with pytest.raises(InputError, match="no tetrahedra"):
        check_tetmesh(replace(mesh, tets=np.zeros((0, 4), int)))


def test_overlapping_tets_are_refused() -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 2], [0.1, 0.1, 3]], float)
    with pytest.raises(InputError, match="more than two tetrahedra"):
        check_tetmesh(TetMesh(points, np.array([[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]])))


def test_long_lists_of_flaws_are_counted() -> None:
    mesh = box()
    with pytest.raises(InputError, match="tets 0, 1, 2, 3, 4 and 35 more are inverted"):
        check_tetmesh(replace(mesh, tets=mesh.tets[:, [1, 0, 2, 3]]))


def test_texture_follows_a_repair() -> None:
    mesh = broken()
    per_vertex = replace(mesh, texture=TextureMap(np.arange(56.0).reshape(28, 2)))
    mended, _ = check_tetmesh(per_vertex, repair=True)
    surface = extract_surface(mended)
    assert surface.uv is not None
    assert np.array_equal(surface.uv[:, 0], 2.0 * surface.vertices)
