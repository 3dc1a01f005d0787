"""Surfaces, states, trajectories and images refuse what does not fit."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import Image, InputError, Material, State, Surface, Texture, Trajectory, join_surfaces

POINTS = torch.rand(2, 4, 3)
FACES = torch.tensor([[0, 1, 2], [0, 2, 3]])


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Surface(POINTS[0], FACES), r"expected \(frames, vertices, 3\)"),
        (lambda: Surface(POINTS, FACES.int()), "expected int64"),
        (lambda: Surface(POINTS, FACES + 2), "from 2 to 5; expected 0 to 3"),
        (lambda: Surface(POINTS, FACES, colours=torch.rand(2, 3)), r"per vertex.*expected \(3\) or \(4, 3\)"),
        (lambda: Surface(POINTS, FACES, colours=torch.rand(3, 3), colour_per="face"), r"per face"),
        (lambda: Surface(POINTS, FACES, colour_per="corner"), "expected one of face, vertex"),
        (lambda: Surface(POINTS, FACES, colours=torch.rand(2, 3, 3)), r"\(3\) or \(4, 3\) or \(frames, 4, 3\)"),
        (lambda: Surface(POINTS, FACES, colours=torch.rand(3, 4, 3)), "vertices has 2 frames, Surface.colours has 3"),
        (
            lambda: Surface(POINTS, FACES, texture=Texture(torch.rand(3, 4, 4, 3), torch.rand(4, 2))),
            "vertices has 2 frames, Texture.image has 3 frames; expected one number for all, or 1",
        ),
        (lambda: Texture(torch.rand(1, 2, 4, 4, 3), torch.rand(4, 2)), r"or \(frames, height, width, 3\)"),
        (lambda: Material(shading="fong"), "did you mean 'phong'"),
        (lambda: Texture(torch.rand(4, 4), torch.rand(4, 2)), r"\(height, width, 3\)"),
        (lambda: State(torch.rand(3, 3), torch.rand(2, 3)), "expected \\(nodes, ...\\) in both"),
        (lambda: State(torch.rand(3, 3), torch.rand(3, 3).double()), "one dtype"),
        (lambda: Trajectory(POINTS, POINTS, torch.zeros(3)), "same number"),
        (lambda: join_surfaces([]), "at least one"),
    ],
)
def test_bad_input(make, said):
    with pytest.raises(InputError, match=said):
        make()


def test_joined_surfaces_keep_their_faces_and_colours():
    red = torch.tensor([1.0, 0.0, 0.0])
    both = join_surfaces([Surface(POINTS, FACES, colours=red), Surface(POINTS + 1, FACES)])
    assert both.faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]
    assert both.colours is not None
    assert both.colours[0].tolist() == [1.0, 0.0, 0.0]
    assert both.colours[7].tolist() == [0.5, 0.5, 0.5]
    assert len(both.frames([0])) == 1


def test_joined_colours_change_as_soon_as_one_does():
    moving = torch.rand(2, 4, 3)
    both = join_surfaces([Surface(POINTS, FACES, colours=moving), Surface(POINTS + 1, FACES)])
    assert both.colours is not None
    assert torch.equal(both.colours[:, :4], moving)
    assert both.colours[1, 7].tolist() == [0.5, 0.5, 0.5]


def test_frames_are_those_of_whatever_changes():
    colours, images = torch.rand(3, 4, 3), torch.rand(3, 2, 2, 3)
    still = Surface(POINTS[:1], FACES, colours=colours)
    assert len(still) == 3
    assert torch.equal(still.frames([2, 0]).colours, colours[[2, 0]])
    assert still.frames([2, 0]).vertices.shape == (2, 4, 3)
    textured = Surface(POINTS[:1], FACES, texture=Texture(images, torch.rand(4, 2)))
    assert torch.equal(textured.frames(slice(1, 3)).texture.image, images[1:])
    assert torch.equal(Surface(POINTS, FACES, colours=colours[:1]).frames([1]).colours, colours[:1])


def test_images_say_what_was_not_asked_for():
    image = Image(rgba=torch.full((1, 2, 2, 4), 0.5))
    assert image.rgb.shape == (1, 2, 2, 3)
    assert image.bytes().unique().tolist() == [128]
    with pytest.raises(AttributeError, match="outputs="):
        _ = Image(silhouette=torch.zeros(1, 2, 2)).rgb


def test_trajectories_are_states_in_a_row():
    path = Trajectory(POINTS, POINTS, torch.tensor([0.0, 0.5]))
    assert len(path) == 2
    assert path.last.time == 0.5
    assert torch.equal(path.select([1]).q[0], POINTS[1])
