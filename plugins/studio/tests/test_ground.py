"""Videos for people: a ground below the surface, with its shadow where the sun is behind it."""

import pytest
import torch
import trimesh

import diffloom_fitting as fitting
from diffloom import get_renderer
from diffloom.interfaces import InputError, Surface
from diffloom_studio import draw_surface_on_ground
from diffloom_studio.ground import _split_creases


def box(height: float) -> Surface:
    """Two frames of a cube that has a vertex per corner; in the second it is 0.5 m higher."""
    mesh = trimesh.creation.box((0.4, 0.4, 0.4))
    vertices = torch.tensor(mesh.vertices + [0.0, height, 0.0]).float()
    moved = torch.stack([vertices, vertices + torch.tensor([0.0, 0.5, 0.0])])
    return Surface(moved, torch.tensor(mesh.faces), colours=0.5 + vertices - vertices.mean(0))


def test_a_ground_has_the_shadow_of_what_is_above_it():
    view = fitting.Orbit(distance=2.5, elevation=40, target=(0.0, 0.3, 0.0), size=(96, 96)).camera(torch.float32)
    renderer = get_renderer("dibr")(sigmainv=1e5)
    frames = draw_surface_on_ground(renderer, box(0.7), view)
    empty = draw_surface_on_ground(renderer, box(60.0), view)[0]
    assert frames.shape == (2, 96, 96, 3)
    assert bool(torch.isfinite(frames).all()) and float(frames.min()) >= 0.0 and float(frames.max()) <= 1.0
    darker = (empty - frames).mean(dim=-1)
    # The sun stands at the right and before the box, so its shadow lies at the left and behind it.
    beside = renderer.render(box(0.7), view, (), ("silhouette",)).silhouette[0] < 0.01
    rows, columns = torch.nonzero((darker[0] > 0.1) & beside, as_tuple=True)
    assert len(rows) > 20
    assert float(columns.float().mean()) < 48.0
    assert float((frames[:, -8:, -8:] - empty[-8:, -8:]).abs().max()) < 0.02  # far from the shadow


def test_edges_of_a_box_are_split_and_a_smooth_ball_stays():
    cube = _split_creases(box(0.5))
    assert cube.vertices.shape == (2, 24, 3)
    assert torch.equal(cube.vertices[:, cube.faces], box(0.5).vertices[:, box(0.5).faces])
    assert torch.equal(cube.colours[cube.faces], box(0.5).colours[box(0.5).faces])
    ball = trimesh.creation.icosphere(2)
    smooth = Surface(torch.tensor(ball.vertices)[None], torch.tensor(ball.faces))
    assert _split_creases(smooth) is smooth


def test_a_renderer_without_colours_is_refused():
    from diffloom.interfaces import Capabilities
    from diffloom_render_dibr.renderer import DibrRenderer

    class Bare(DibrRenderer):
        @property
        def capabilities(self):
            return Capabilities(frozenset({"silhouette"}), frozenset(), frozenset({torch.float32}))

    view = fitting.Orbit(distance=2.5, size=(16, 16)).camera(torch.float32)
    with pytest.raises(InputError, match="draws no colours"):
        draw_surface_on_ground(Bare(), box(0.5), view)
