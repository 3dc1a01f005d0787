"""Properties of images of any scene."""

from __future__ import annotations

import pytest
import torch

from diffloom.interfaces import Camera, Surface
from diffloom_raster import to_camera_axes
from diffloom_render_dibr.operators import rasterize, soft_mask
from diffloom_render_dibr.renderer import DibrRenderer

OUTPUTS = ("rgba", "silhouette", "depth", "face_index")


def test_order_of_faces_does_not_matter(ball, camera):
    surface = ball(level=2, dtype=torch.float32)
    order = torch.randperm(len(surface.faces), generator=torch.Generator().manual_seed(0))
    other = Surface(surface.vertices, surface.faces[order])
    renderer, view = DibrRenderer(sigmainv=200.0, knum=4), camera((40, 40), dtype=torch.float32)
    one, two = (renderer.render(s, view, outputs=OUTPUTS) for s in (surface, other))
    covered = one.face_index >= 0
    assert torch.equal(covered, two.face_index >= 0)
    same = (order[two.face_index.clamp_min(0)] == one.face_index)[covered]
    assert bool(same.all())
    torch.testing.assert_close(one.silhouette, two.silhouette, rtol=0.0, atol=1e-6)


def test_no_holes_between_neighbours():
    """A fan of slivers around a pixel's centre, in float32, covers its square without a gap."""
    torch.manual_seed(0)
    for trial in range(20):
        count = 37
        angle = torch.linspace(0.0, 2.0 * torch.pi, count + 1)[:-1] + 0.01 * trial
        rim = torch.stack([angle.cos(), angle.sin(), torch.zeros(count)], dim=-1)
        hub = torch.tensor([[0.5 / 64 * (trial % 3), 0.0, 0.0]])
        faces = torch.stack(
            [torch.zeros(count).long(), torch.arange(count) + 1, (torch.arange(count) + 1) % count + 1], dim=-1
        )
        surface = Surface(torch.cat([hub, rim])[None], faces)
        view = Camera.look_at((0.0, 0.0, 2.0), fov=30.0, size=(64, 64))
        index = DibrRenderer().render(surface, view, outputs=("face_index",)).face_index
        assert bool((index >= 0).all())


def test_mask_measures_alike_along_both_axes():
    """A square card in a wide image: as soft above as beside; with compat it is not."""
    card = torch.tensor([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]]).double()
    faces = torch.tensor([[0, 1, 2], [0, 2, 3]])
    view = Camera.look_at((0.0, 0.0, 4.0), fov=53.0, size=(40, 80), dtype=torch.float64)
    for compat, alike in ((None, True), ("kaolin", False)):
        renderer = DibrRenderer(sigmainv=60.0, boxlen=0.4, compat=compat)
        mask = renderer.render(Surface(card[None], faces), view, outputs=("silhouette",)).silhouette[0]
        above, beside = mask[:20, 40], mask[20, 20:40]
        assert torch.allclose(above, beside, atol=1e-9) == alike
        assert int(((above > 0.01) & (above < 0.99)).sum()) >= 2


def test_nearest_faces_count_not_the_first(ball, camera):
    """The nearest face decides with knum=1, wherever it stands in the list; Kaolin takes the first."""
    near = torch.tensor([[[0.0, 0.0], [0.2, 0.0], [0.0, 0.2]]])
    far = torch.tensor([[[0.7, 0.7], [0.9, 0.7], [0.7, 0.9]]])
    nothing = -torch.ones((1, 32, 32), dtype=torch.int64)
    both = [torch.stack([a, b], dim=1) for a, b in ((near, far), (far, near))]
    settings = {"sigmainv": 5.0, "boxlen": 2.0, "knum": 1}
    ours = [soft_mask(faces, nothing, **settings) for faces in both]
    theirs = [soft_mask(faces, nothing, **settings, compat="kaolin") for faces in both]
    torch.testing.assert_close(ours[0], ours[1])
    assert float((theirs[0] - theirs[1]).abs().max()) > 0.3


def test_perspective_correction():
    """A floor that runs away from the camera: a feature that counts metres must read the depth; affine does not."""
    z = -torch.tensor([[[1.0, 1.0, 10.0]]], dtype=torch.float64)
    image = torch.tensor([[[[-0.9, -0.9], [0.9, -0.9], [0.0, 0.9]]]], dtype=torch.float64)
    features = -z[..., None]
    for compat, exact in ((None, True), ("kaolin", False)):
        value, index = rasterize(33, 33, z, image, features, compat=compat)
        middle = float(value[0, 16, 16, 0])
        assert int(index[0, 16, 16]) == 0
        # halfway up in the image 1 / depth is halfway between 1 and 1 / 10
        assert (abs(middle - 1.0 / 0.55) < 1e-9) == exact
        assert (abs(middle - 5.5) < 1e-6) != exact


def test_depth_is_metres_ahead_in_either_mode(ball, camera):
    """Affine depth lies between the depths of a face's corners, as the right one does; both count away from the eye."""
    surface, view = ball(level=2), camera()
    depth = -to_camera_axes(surface.vertices, view)[0, :, 2][surface.faces]
    for compat in (None, "kaolin"):
        image = DibrRenderer(compat=compat).render(surface, view, outputs=("depth", "face_index"))
        shown = image.face_index >= 0
        corners = depth[image.face_index[shown]]
        assert int(shown.sum()) > 100
        assert bool((image.depth[shown] >= corners.amin(-1) - 1e-9).all())
        assert bool((image.depth[shown] <= corners.amax(-1) + 1e-9).all())


def test_culling_by_the_side_that_is_seen(ball, camera):
    surface = ball(level=2)
    inside_out = Surface(surface.vertices, surface.faces.flip(1))
    view = camera()
    plain = DibrRenderer().render(surface, view, outputs=OUTPUTS)
    culled = DibrRenderer(cull_backfaces=True).render(surface, view, outputs=OUTPUTS)
    assert torch.equal(plain.face_index, culled.face_index)
    torch.testing.assert_close(plain.depth, culled.depth)
    back = DibrRenderer(cull_backfaces=True).render(inside_out, view, outputs=OUTPUTS)
    shown = back.face_index >= 0
    assert bool((back.depth[shown] >= plain.depth[shown]).all())
    assert bool((back.face_index != plain.face_index)[shown].all())


@pytest.mark.parametrize("compat", [None, "kaolin"])
def test_background_and_far(ball, camera, compat):
    renderer = DibrRenderer(background=(0.2, 0.4, 0.6), compat=compat)
    image = renderer.render(ball(), camera(far=77.0), outputs=OUTPUTS)
    empty = image.face_index < 0
    assert bool(empty.any())
    assert torch.equal(image.rgba[empty][:, :3].unique(dim=0), torch.tensor([[0.2, 0.4, 0.6]], dtype=torch.float64))
    assert bool((image.depth[empty] == 77.0).all())
    assert bool((image.silhouette[~empty] == 1.0).all())
    assert 0.0 <= float(image.silhouette.min()) <= float(image.silhouette.max()) <= 1.0


def test_nothing_in_sight(ball):
    view = Camera.look_at((0.0, 0.0, 3.0), (0.0, 0.0, 9.0), size=(16, 16), dtype=torch.float64)
    surface = ball()
    vertices = surface.vertices.clone().requires_grad_()
    image = DibrRenderer().render(Surface(vertices, surface.faces), view, outputs=OUTPUTS)
    assert bool((image.face_index == -1).all())
    assert float(image.silhouette.abs().max()) == 0.0
    (image.rgba.sum() + image.depth.sum()).backward()
    assert float(vertices.grad.abs().max()) == 0.0
