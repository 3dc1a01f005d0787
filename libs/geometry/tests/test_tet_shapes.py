import numpy as np
import pytest

from diffloom.interfaces import InputError
from diffloom_geometry import TetMesh, ball, beam, box, check_tetmesh, extract_surface, gear
from diffloom_geometry.tetmesh import compute_enclosed_volume, compute_vertex_normals, find_boundary_faces, tet_quality

SHAPES = {
    "box5": lambda: box((1.0, 0.5, 2.0), (3, 2, 5)),
    "box6": lambda: box((1.0, 0.5, 2.0), (3, 2, 5), split=6),
    "one cell": lambda: box((0.3, 0.3, 0.3), (1, 1, 1)),
    "beam": lambda: beam(2.0, 0.2, 0.3, (8, 2, 2)),
    "ball1": lambda: ball(0.7, 1),
    "ball2": lambda: ball(0.7, 2),
    "ball5": lambda: ball(0.7, 5),
}


@pytest.mark.parametrize("name", SHAPES)
def test_every_built_in_shape_is_sound_and_closed(name: str) -> None:
    mesh = SHAPES[name]()
    same, done = check_tetmesh(mesh)
    assert same is mesh
    assert done == ()
    assert tet_quality(mesh.vertices, mesh.tets).min() > 0.6
    faces = find_boundary_faces(mesh.tets)
    assert compute_enclosed_volume(mesh.vertices, faces) == pytest.approx(mesh.volumes.sum(), rel=1e-12)
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all(), "each edge of the surface has two faces"


def test_a_gear_is_sound_and_has_teeth_and_a_hole() -> None:
    mesh = gear()
    assert len(mesh.tets) == 1152
    assert check_tetmesh(mesh)[1] == ()
    faces = find_boundary_faces(mesh.tets)
    assert compute_enclosed_volume(mesh.vertices, faces) == pytest.approx(mesh.volumes.sum(), rel=1e-12)
    edges = np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    pairs, counts = np.unique(edges, axis=0, return_counts=True)
    assert (counts == 2).all()
    assert len(np.unique(faces)) - len(pairs) + len(faces) == 0, "a ring has one hole"
    assert np.linalg.norm(mesh.vertices[mesh.vertex_groups["tips"], :2], axis=1) == pytest.approx(1.0)
    assert np.linalg.norm(mesh.vertices[mesh.vertex_groups["hole"], :2], axis=1) == pytest.approx(0.4)
    assert len(mesh.tet_groups["teeth"]) == 12 * 2 * 2 * 6
    assert len(gear(0.5, 0.2, 5, 1).tets) == 5 * 48
    places, count = mesh.vertices, len(mesh.vertices)
    mirrored = np.lexsort(np.round(places * [1.0, 1.0, -1.0], 9).T)[np.argsort(np.lexsort(np.round(places, 9).T))]
    assert sorted(mirrored) == list(range(count))
    assert {frozenset(t) for t in mirrored[mesh.tets]} == {frozenset(t) for t in mesh.tets}
    with pytest.raises(InputError, match="gear: got teeth 2"):
        gear(teeth=2)


def test_box_volume_and_sides() -> None:
    mesh = box((1.0, 2.0, 3.0), (2, 3, 4))
    assert mesh.volumes.sum() == pytest.approx(6.0, rel=1e-14)
    assert len(mesh.tets) == 5 * 24
    assert len(box(cells=(2, 3, 4), split=6).tets) == 6 * 24
    assert (mesh.vertices[mesh.vertex_groups["left"], 0] == -0.5).all()
    assert len(mesh.vertex_groups["top"]) == 3 * 5
    assert np.allclose(mesh.vertices.mean(axis=0), 0.0)


def test_beam_starts_at_the_origin() -> None:
    mesh = beam(2.0, 0.2, 0.3, (8, 2, 2))
    assert mesh.vertices[:, 0].min() == 0.0
    assert mesh.vertices[:, 0].max() == 2.0
    assert np.ptp(mesh.vertices[:, 1]) == pytest.approx(0.3)
    assert np.ptp(mesh.vertices[:, 2]) == pytest.approx(0.2)


def test_ball_approaches_the_sphere_with_second_order() -> None:
    exact = 4.0 / 3.0 * np.pi
    errors = [1.0 - ball(1.0, n).volumes.sum() / exact for n in (3, 6, 12)]
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert 3.5 < errors[1] / errors[2] < 4.5
    assert tet_quality(ball(1.0, 6).vertices, ball(1.0, 6).tets).mean() > 0.88
    assert len(ball(1.0, 4).tets) == 20 * 4**3


def test_normals_of_a_ball_point_outwards() -> None:
    mesh = ball(0.5, 4)
    surface = extract_surface(mesh)
    points = mesh.vertices[surface.vertices]
    normals = compute_vertex_normals(points, surface.faces)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1.0)
    assert (np.einsum("ij,ij->i", normals, points / 0.5) > 0.99).all()
    assert np.array_equal(surface.vertices, np.sort(mesh.vertex_groups["surface"]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: box((1.0, -1.0, 1.0)), "three positive lengths"),
        (lambda: box(cells=(1, 0, 1)), "three whole numbers"),
        (lambda: box(cells=(1.5, 1, 1)), "three whole numbers"),
        (lambda: box(split=4), "expected 5 or 6"),
        (lambda: ball(layers=0), "1 or more"),
        (lambda: ball(radius=0.0), "positive length"),
        (lambda: TetMesh(np.zeros((4, 2)), np.zeros((1, 4), int)), "expected \\(vertices, 3\\)"),
        (lambda: TetMesh(np.zeros((4, 3)), np.zeros((1, 4))), "whole numbers"),
        (lambda: box().scale_lengths(0.0), "positive number"),
    ],
)
def test_bad_arguments_are_explained(make, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InputError, match=words):
        make()
