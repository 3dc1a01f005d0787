"""Faces that reach behind the camera's near plane."""

from __future__ import annotations

import torch

from diffloom.interfaces import Camera, Surface, Texture
from diffloom_raster import project, to_camera_axes
from diffloom_render_dibr.renderer import DibrRenderer
from diffloom_testing.gradients import check_gradient

FLOOR = torch.tensor([[-3.0, -0.5, 6.0], [3.0, -0.5, 6.0], [3.0, -0.5, -6.0], [-3.0, -0.5, -6.0]], dtype=torch.float64)
FACES = torch.tensor([[0, 1, 2], [0, 2, 3]])
OUTPUTS = ("rgba", "silhouette", "depth", "face_index")


def view(size=(40, 40)):
    return Camera.look_at((0.1, 0.2, 2.0), (0.0, 0.0, -2.0), fov=60.0, size=size, near=0.3, dtype=torch.float64)


def test_a_floor_under_the_camera_is_whole():
    image = DibrRenderer().render(Surface(FLOOR[None], FACES), view(), outputs=OUTPUTS)
    below = image.face_index[0, 30:]
    assert bool((below >= 0).all())
    # the floor lies 0.7 m below the eye: depth follows from the row alone but for the camera's tilt
    assert bool((image.depth[0, 30:] > 0.3).all())
    assert bool((image.depth[0, 39] < image.depth[0, 30]).all())


def test_cut_floor_equals_one_cut_by_hand():
    """A floor that ends between the camera and the image's lower edge's sight, needs no cutting."""
    short = FLOOR.clone()
    short[:2, 2] = 1.4
    full = DibrRenderer().render(Surface(FLOOR[None], FACES), view(), outputs=OUTPUTS)
    hand = DibrRenderer().render(Surface(short[None], FACES), view(), outputs=OUTPUTS)
    assert torch.equal(full.face_index >= 0, hand.face_index >= 0)
    torch.testing.assert_close(full.depth, hand.depth, rtol=1e-9, atol=1e-9)


def test_gradients_through_the_cut():
    torch.manual_seed(0)
    uv = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=torch.float64)
    texture = torch.rand((5, 5, 3), dtype=torch.float64)

    def draw(vertices, eye):
        camera = view()
        camera = Camera.intrinsics(
            camera.rotation, eye, focal=camera.focal, centre=camera.centre, size=(40, 40), near=0.3
        )
        surface = Surface(vertices, FACES, texture=Texture(texture, uv))
        image = DibrRenderer(sigmainv=100.0).render(surface, camera, outputs=("rgba", "depth"))
        return torch.cat([image.rgba, image.depth[..., None]], dim=-1)

    results = check_gradient(
        draw, {"vertices": FLOOR[None].clone(), "eye": view().eye}, step=1e-7, tolerance=1e-5, directions=3
    )
    assert all(abs(r.autograd) > 1e-3 for r in results)


def test_halves_of_a_cut_face_count_once():
    """A face cut into two halves is as soft as the quadrilateral that is left of it."""
    a, b, behind = torch.tensor([[-0.5, 0.1, -2.0], [0.6, 0.0, -2.0], [0.1, -0.3, 3.0]], dtype=torch.float64)
    camera = view((32, 32))
    renderer = DibrRenderer(sigmainv=60.0)
    image = renderer.render(
        Surface(torch.stack([a, b, behind])[None], torch.tensor([[0, 1, 2]])), camera,
        outputs=("silhouette", "face_index"),
    )  # fmt: skip

    def cut(point):
        near, far = (-to_camera_axes(x[None, None], camera)[0, 0, 2] for x in (behind, point))
        return torch.lerp(point, behind, (far - 0.3) / (far - near) * (1.0 - 1e-12))

    corners = project(torch.stack([a, b, cut(b), cut(a)])[None], camera)[0, :, :2]
    i, j = torch.meshgrid(torch.arange(32), torch.arange(32), indexing="ij")
    p = torch.stack([j - 15.5, i - 15.5], dim=-1).double()
    squares = []
    for start, end in zip(corners, corners.roll(-1, 0), strict=True):
        along = end - start
        t = (((p - start) * along).sum(-1) / along.dot(along)).clamp(0.0, 1.0)
        squares.append(((start + t[..., None] * along - p) ** 2).sum(-1))
    d2 = torch.stack(squares).min(0).values / 16.0**2
    wanted = torch.where(d2 <= renderer.reach**2, torch.exp(-60.0 * d2), 0.0)
    wanted = torch.where(image.face_index[0] >= 0, 1.0, wanted)
    assert int(((wanted > 0.1) & (wanted < 0.9)).sum()) > 10
    torch.testing.assert_close(image.silhouette[0], wanted, rtol=0.0, atol=2e-6)


def test_kaolin_leaves_such_faces_out():
    image = DibrRenderer(compat="kaolin").render(Surface(FLOOR[None], FACES), view(), outputs=OUTPUTS)
    assert bool((image.face_index == -1).all())
