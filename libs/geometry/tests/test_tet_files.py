from pathlib import Path

import numpy as np
import pytest

from diffloom.interfaces import InputError
from diffloom_geometry import TetMesh, TextureMap, box, check_tetmesh, extract_surface, read_solid, write_tet

POINTS = ["0 0 0", "1 0 0", "0 1 0", "0 0 1", "1 1 1"]
MSH2 = """$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
2
2 7 "clamped side"
3 8 "muscle"
$EndPhysicalNames
$Nodes
5
10 0 0 0
11 1 0 0
12 0 1 0
13 0 0 1
14 1 1 1
$EndNodes
$Elements
3
1 2 2 7 1 10 11 12
2 4 2 8 1 10 11 12 13
3 4 2 9 1 11 12 13 14
$EndElements
"""
MSH41 = """$MeshFormat
4.1 0 8
$EndMeshFormat
$PhysicalNames
2
2 7 "clamped side"
3 8 "muscle"
$EndPhysicalNames
$Entities
1 0 1 2
1 0 0 0 0
1 0 0 0 1 1 0 1 7 0
1 0 0 0 1 1 1 1 8 0
2 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
2 5 10 14
2 1 0 3
10
11
12
0 0 0
1 0 0
0 1 0
3 1 0 2
13
14
0 0 1
1 1 1
$EndNodes
$Elements
3 3 1 3
2 1 2 1
1 10 11 12
3 1 4 1
2 10 11 12 13
3 2 4 1
3 11 12 13 14
$EndElements
"""
MSH40 = """$MeshFormat
4 0 8
$EndMeshFormat
$Entities
0 0 1 1
1 0 0 0 1 1 0 1 7 0
1 0 0 0 1 1 1 1 8 0
$EndEntities
$Nodes
1 5
1 3 0 5
10 0 0 0
11 1 0 0
12 0 1 0
13 0 0 1
14 1 1 1
$EndNodes
$Elements
2 3
1 2 2 1
1 10 11 12
1 3 4 2
2 10 11 12 13
3 11 12 13 14
$EndElements
"""


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def assert_two_tets(mesh: TetMesh) -> None:
    check_tetmesh(mesh)
    assert mesh.vertices.tolist() == [[float(c) for c in row.split()] for row in POINTS]
    assert mesh.tets.tolist() == [[0, 1, 2, 3], [1, 2, 3, 4]]


def test_tet_text(tmp_path: Path) -> None:
    text = "# two\n" + "".join(f"v {p}\n" for p in POINTS) + "t 0 1 2 3\ng muscle\nt 1 2 3 4  # the second\n"
    mesh = read_solid(written(tmp_path, "two.tet", text))
    assert_two_tets(mesh)
    assert mesh.tet_groups["muscle"].tolist() == [1]


def test_msh_version_2(tmp_path: Path) -> None:
    mesh = read_solid(written(tmp_path, "two.msh", MSH2))
    assert_two_tets(mesh)
    assert mesh.vertex_groups["clamped side"].tolist() == [0, 1, 2]
    assert mesh.tet_groups["muscle"].tolist() == [0]
    assert mesh.tet_groups["physical_9"].tolist() == [1]


@pytest.mark.parametrize("text", [MSH41, MSH40], ids=["4.1", "4.0"])
def test_msh_version_4(tmp_path: Path, text: str) -> None:
    mesh = read_solid(written(tmp_path, "two.msh", text))
    assert_two_tets(mesh)
    assert next(iter(mesh.vertex_groups.values())).tolist() == [0, 1, 2]
    assert 0 in next(iter(mesh.tet_groups.values()))


@pytest.mark.parametrize("first", [0, 1])
def test_node_ele(tmp_path: Path, first: int) -> None:
    node = "5 3 0 1 # header\n" + "".join(f"{i + first} {p} {i % 2}\n" for i, p in enumerate(POINTS))
    cells = [(0, 1, 2, 3), (1, 2, 3, 4)]
    ele = "2 4 1\n" + "".join(
        f"{i + first} {' '.join(str(v + first) for v in c)} {i + 4}\n" for i, c in enumerate(cells)
    )
    written(tmp_path, "two.node", node)
    mesh = read_solid(written(tmp_path, "two.ele", ele))
    assert_two_tets(mesh)
    assert mesh.vertex_groups["marker_1"].tolist() == [1, 3]
    assert mesh.tet_groups["region_5"].tolist() == [1]
    assert_two_tets(read_solid(tmp_path / "two.node"))


def test_writing_and_reading_again_changes_nothing(tmp_path: Path) -> None:
    mesh = box((0.1, 0.3, 0.7), (2, 1, 3))
    rng = np.random.default_rng(0)
    surface = extract_surface(mesh)
    faces = surface.vertices[surface.faces]
    corners = np.arange(3 * len(faces)).reshape(-1, 3)
    mesh = TetMesh(
        mesh.vertices, mesh.tets, tet_groups={"a": np.array([0, 1, 7]), "b": np.array([3])},
        texture=TextureMap(rng.random((3 * len(faces), 2)), faces[:, [2, 0, 1]], corners),
    )  # fmt: skip
    write_tet(mesh, tmp_path / "again.tet")
    again = read_solid(tmp_path / "again.tet")
    assert np.array_equal(again.vertices, mesh.vertices)
    assert np.array_equal(again.tets, mesh.tets)
    assert {k: v.tolist() for k, v in again.tet_groups.items()} == {"a": [0, 1, 7], "b": [3]}
    shown = extract_surface(again)
    assert shown.uv is not None
    assert shown.uv_faces is not None
    assert mesh.texture is not None
    # The corner that sits on a vertex keeps its texture point although the file lists the face rotated.
    assert np.array_equal(shown.uv[shown.uv_faces], mesh.texture.uv[corners[:, [1, 2, 0]]])


def test_texture_points_per_vertex(tmp_path: Path) -> None:
    text = "".join(f"v {p}\nvt {p[:3]}\n" for p in POINTS) + "t 0 1 2 3\nt 1 2 3 4\n"
    surface = extract_surface(read_solid(written(tmp_path, "uv.tet", text)))
    assert surface.uv is not None
    assert surface.uv.tolist() == [[0, 0], [1, 0], [0, 1], [0, 0], [1, 1]]
    assert surface.uv_faces is None


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("bad.tet", "v 0 0\n", "line 1: 'v 0 0' cannot be read: got 2 entries; expected 3"),
        ("bad.tet", "v 0 0 0\nt 0 1 2 x\n", "line 2"),
        ("bad.tet", "q 1\n", "unknown word 'q'"),
        ("bad.tet", "v 0 0 0\nvt 0 0\nvt 1 1\n", "2 vt lines for 1 vertices"),
        ("bad.tet", "v 0 0 0\nvt 0 0\nf 0/0 1/0 2/7\n", "outside 0 to 0"),
        ("bad.msh", "$MeshFormat\n2.2 1 8\n$EndMeshFormat\n", "binary; export it as ASCII"),
        ("bad.msh", "$MeshFormat\n3.0 0 8\n$EndMeshFormat\n", "version 3.0 is not known"),
        ("bad.msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n", "'Nodes' is missing"),
        ("bad.msh", MSH2.replace("3 4 2 9 1 11 12 13 14", "3 11 2 9 1 10 11 12 13 14 10 11 12 13 14"), "first order"),
        ("bad.msh", MSH2.replace("12 13 14", "12 13 15"), "15 is missing or not defined"),
        ("bad.ele", "1 4 0\n0 0 1 2 3\n", "bad.node is missing"),
    ],
)
def test_unreadable_files_are_explained(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_solid(written(tmp_path, name, text))


def test_a_missing_file_is_named() -> None:
    with pytest.raises(InputError, match=r"'no/such\.tet' does not exist"):
        read_solid("no/such.tet")
