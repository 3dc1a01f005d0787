"""Properties that images of any scene must have."""

import dataclasses

import numpy as np
import pytest
import torch

from diffloom.interfaces import Camera, Material, Surface, Texture
from diffloom_kernels import set_num_threads
from diffloom_kernels.backends.threads import _chosen
from diffloom_render_softras.renderer import SoftRasRenderer

ALL = ("rgba", "silhouette", "depth", "face_index")
D = torch.float64


@pytest.fixture
def threads():
    yield set_num_threads
    _chosen.clear()


def ball(sphere, frames=1, level=2, dtype=D, **appearance):
    vertices, faces = sphere(level)
    moved = [0.7 * vertices + 0.1 * k for k in range(frames)]
    return Surface(torch.stack(moved).to(dtype), faces, material=Material("phong"), **appearance)


def test_the_image_of_a_ball(sphere, camera):
    image = SoftRasRenderer(sigma=1e-5, background=(0.1, 0.2, 0.3)).render(ball(sphere), camera(size=(40, 56)), (), ALL)
    assert image.rgba.shape == (1, 40, 56, 4)
    assert image.depth.shape == image.silhouette.shape == image.face_index.shape == (1, 40, 56)
    assert image.face_index.dtype == torch.int64
    assert torch.equal(image.rgba[..., 3], image.silhouette)
    covered = image.face_index >= 0
    # About pi r^2 with r = f tan(asin(0.7 / distance)) for the two focal lengths, a little less as the ball is faceted.
    radius = float(camera().eye.norm() ** 2 / 0.49 - 1.0) ** -0.5
    disc = torch.pi * radius**2 * float(camera(size=(40, 56)).focal.prod())
    assert 0.93 * disc < covered.sum() < 1.01 * disc
    assert (image.silhouette[covered] > 0.49).all()
    assert image.silhouette.min() >= 0
    assert image.silhouette.max() <= 1
    corner = image.rgba[0, 0, 0]
    assert torch.allclose(corner, corner.new_tensor([0.1, 0.2, 0.3, 0.0]))
    assert image.depth[0, 0, 0] == 8.0
    distance = float(camera().eye.norm())
    assert abs(float(image.depth.min()) - (distance - 0.7)) < 0.03


def test_only_wanted_outputs_are_made(sphere, camera):
    surface = ball(sphere)
    for name in ALL:
        image = SoftRasRenderer().render(surface, camera(), outputs=(name,))
        assert [field for field in ALL if getattr(image, field) is not None] == [name]


def test_outputs_do_not_depend_on_each_other(sphere, camera):
    surface, seen, renderer = ball(sphere), camera(), SoftRasRenderer(faces_per_pixel=6)
    together = renderer.render(surface, seen, outputs=ALL)
    for name in ALL:
        alone = getattr(renderer.render(surface, seen, outputs=(name,)), name)
        assert torch.allclose(alone.double(), getattr(together, name).double(), atol=1e-14), name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("most", [None, 5])
def test_the_order_of_faces_does_not_matter(sphere, camera, dtype, most):
    """Not with a limit either: faces as deep as the last that counts, as where several meet in a corner, count too."""
    surface = ball(sphere, dtype=dtype)
    surface = surface.replace_appearance(colours=torch.rand(surface.vertices.shape[1:], dtype=dtype))
    order = torch.randperm(len(surface.faces), generator=torch.Generator().manual_seed(3))
    shuffled = dataclasses.replace(surface, faces=surface.faces[order].roll(1, dims=1))
    renderer = SoftRasRenderer(faces_per_pixel=most)
    one, two = (renderer.render(s, camera(dtype=dtype), outputs=("rgba", "depth")) for s in (surface, shuffled))
    difference = torch.cat([(one.rgba - two.rgba).abs(), (one.depth - two.depth).abs()[..., None]], dim=-1).amax(-1)
    assert difference.max() < (3e-5 if dtype == torch.float32 else 1e-12)


def test_frames_together_are_frames_one_by_one(sphere, camera):
    surface, seen = ball(sphere, 3, colours=torch.tensor([0.2, 0.5, 0.8], dtype=D)), camera(3)
    renderer = SoftRasRenderer()
    vertices = surface.vertices.clone().requires_grad_()
    whole = renderer.render(dataclasses.replace(surface, vertices=vertices), seen, outputs=ALL)
    (whole.rgba.square().sum() + whole.depth.sum()).backward()
    for k in range(3):
        alone = surface.vertices[k : k + 1].clone().requires_grad_()
        one = dataclasses.replace(seen, rotation=seen.rotation[k], eye=seen.eye[k])
        image = renderer.render(dataclasses.replace(surface, vertices=alone), one, outputs=ALL)
        (image.rgba.square().sum() + image.depth.sum()).backward()
        for name in ALL:
            assert torch.equal(getattr(image, name)[0], getattr(whole, name)[k]), name
        assert torch.equal(alone.grad[0], vertices.grad[k])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_threads_do_not_change_a_bit(sphere, camera, threads, dtype):
    appearance = Texture(torch.rand((16, 16, 3), dtype=dtype), torch.rand((66, 2), dtype=dtype))
    surface, seen = ball(sphere, 2, dtype=dtype, texture=appearance), camera(2, dtype, size=(40, 56))

    def run(target):
        renderer = SoftRasRenderer(target=target, faces_per_pixel=12)
        inputs = [surface.vertices, appearance.image, appearance.uv, seen.rotation, seen.eye, seen.focal]
        inputs = [t.clone().requires_grad_() for t in inputs]
        moved = dataclasses.replace(
            surface, vertices=inputs[0], texture=dataclasses.replace(appearance, image=inputs[1], uv=inputs[2])
        )
        view = dataclasses.replace(seen, rotation=inputs[3], eye=inputs[4], focal=inputs[5])
        image = renderer.render(moved, view, outputs=ALL)
        (image.rgba.square().sum() + image.depth.sum()).backward()
        images = [image.rgba, image.silhouette, image.depth, image.face_index]
        return [t.detach().numpy().tobytes() for t in (*images, *(t.grad for t in inputs))]

    reference = run("serial")
    for count in (1, 2):
        threads(count)
        for _ in range(3):
            assert run("parallel") == reference


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("most", [1, 4, 9])
def test_the_nearest_faces_are_those_found_by_sorting(dtype, most):
    """Parallel sheets at known depths, in a shuffled order: the limit keeps the nearest and equals of the last."""
    depths = torch.tensor([3.0, 1.5, 2.5, 2.0, 1.5, 2.0, 1.0, 2.75], dtype=dtype)
    corners = torch.tensor([[-9.0, -9.0], [9.0, -9.0], [0.0, 9.0]], dtype=dtype)
    vertices = torch.cat([torch.cat([corners * d, -d.expand(3, 1)], dim=1) for d in depths])
    faces = torch.arange(len(vertices)).reshape(-1, 3)
    shades = torch.linspace(0.1, 0.9, len(depths), dtype=dtype)
    surface = Surface(vertices[None], faces, shades[:, None].expand(-1, 3).contiguous(), "face")
    camera = Camera.intrinsics(
        torch.eye(3, dtype=dtype),
        torch.zeros(3, dtype=dtype),
        focal=(8.0, 8.0),
        centre=(4.0, 4.0),
        size=(8, 8),
        near=0.5,
    )
    image = SoftRasRenderer(faces_per_pixel=most, gamma=1e4).render(surface, camera)
    kept = np.flatnonzero(depths.numpy() <= np.sort(depths.numpy())[: most or None][-1])
    # A huge gamma weighs all kept faces alike, and the background as much.
    want = float(shades[kept.copy()].sum() / (len(kept) + 1))
    assert torch.allclose(image.rgb[0, 3:5, 3:5], torch.full((2, 2, 3), want, dtype=dtype), atol=1e-4)


def test_sigma_in_pixels_is_the_same_blur(sphere, camera):
    seen = camera(size=(40, 60))
    one = SoftRasRenderer(sigma=(0.8 / 20.0) ** 2).render(ball(sphere), seen, outputs=("silhouette",))
    two = SoftRasRenderer(sigma_pixels=0.8).render(ball(sphere), seen, outputs=("silhouette",))
    assert torch.allclose(one.silhouette, two.silhouette, atol=1e-12)


def test_a_smaller_sigma_is_sharper(sphere, camera):
    def soft(sigma):
        alpha = SoftRasRenderer(sigma=sigma).render(ball(sphere), camera(size=(48, 48)), outputs=("silhouette",)).alpha
        return float((alpha * (1 - alpha)).sum())

    widths = [soft(sigma) for sigma in (1e-2, 1e-3, 1e-4, 1e-5)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 10 * widths[-1]


def test_back_faces_alone_are_culled_to_nothing(sphere, camera):
    surface = ball(sphere)
    inside_out = dataclasses.replace(surface, faces=surface.faces.flip(1))
    culled = SoftRasRenderer(cull_backfaces=True, sigma=1e-6)
    front = culled.render(surface, camera(), outputs=("depth",)).depth.min()
    back = culled.render(inside_out, camera(), outputs=("depth",)).depth.min()
    distance = float(camera().eye.norm())
    assert float(front) < distance - 0.6
    assert float(back) > distance - 0.4


def test_the_inner_edge_of_a_cut_face_does_not_show():
    """A floor that reaches behind the camera: cut to a quadrilateral, its diagonal must not be seen."""
    vertices = torch.tensor([[[-40.0, -1, -30], [40, -1, -30], [0, -1, 25]]], dtype=D)
    camera = Camera.look_at((0.0, 0.0, 2.0), (0.0, -0.4, 0.0), size=(64, 64), near=0.2, dtype=D)
    image = SoftRasRenderer(sigma=1e-3).render(
        Surface(vertices, torch.tensor([[0, 1, 2]])), camera, outputs=("silhouette",)
    )
    below = image.silhouette[0, 44:, :]
    assert below.min() > 0.999
    assert image.silhouette[0, 0].max() < 1e-3


def test_everything_behind_the_camera_is_an_empty_image(sphere, camera):
    surface = ball(sphere)
    behind = dataclasses.replace(surface, vertices=(surface.vertices + 20.0).requires_grad_())
    image = SoftRasRenderer(background=(1.0, 1.0, 1.0)).render(behind, camera(), outputs=ALL)
    assert (image.rgb == 1).all()
    assert (image.silhouette == 0).all()
    assert (image.face_index == -1).all()
    assert (image.depth == 8.0).all()
    image.rgba.sum().backward()
    assert (behind.vertices.grad == 0).all()


def test_out_of_the_image_is_an_empty_image(sphere, camera):
    surface = ball(sphere)
    image = SoftRasRenderer().render(
        dataclasses.replace(surface, vertices=surface.vertices + 50.0 * camera().rotation[0]), camera()
    )
    assert (image.rgba == 0).all()


def test_degenerate_faces_are_skipped(sphere, camera):
    vertices, faces = sphere(1)
    flat = torch.tensor([[0, 0, 1], [2, 2, 2], [0, 1, 0]])
    plain, with_flat = (
        SoftRasRenderer().render(Surface(0.7 * vertices[None], f), camera(), outputs=("rgba", "depth"))
        for f in (faces, torch.cat([faces, flat]))
    )
    assert torch.equal(plain.rgba, with_flat.rgba)
    assert torch.equal(plain.depth, with_flat.depth)


def test_a_static_camera_sees_one_mesh_from_many_places(sphere, camera):
    surface = ball(sphere)
    image = SoftRasRenderer().render(surface, camera(3))
    assert image.rgba.shape[0] == 3
    assert not torch.equal(image.rgba[0], image.rgba[1])
