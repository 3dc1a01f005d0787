import pytest
import torch

from diffloom.interfaces import InputError, Texture
from diffloom_raster import sample_texture

D = torch.float64
UV = torch.zeros((1, 2))


def an_image(height=4, width=5):
    return torch.rand((height, width, 3), generator=torch.Generator().manual_seed(0), dtype=D)


@pytest.mark.parametrize("corners", [True, False])
@pytest.mark.parametrize("filter", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(4, 5), (1, 5), (4, 1), (1, 1)])
def test_agrees_with_grid_sample(corners, filter, size):
    uv = torch.rand((50, 2), generator=torch.Generator().manual_seed(1), dtype=D) * 1.4 - 0.2
    image = an_image(*size)
    got = sample_texture(Texture(image, UV, filter=filter, corners=corners), uv)
    grid = torch.stack([2 * uv[:, 0] - 1, 1 - 2 * uv[:, 1]], dim=-1)[None, None]
    want = torch.nn.functional.grid_sample(
        image.permute(2, 0, 1)[None], grid, mode=filter, padding_mode="border", align_corners=corners
    )[0, :, 0].T
    assert torch.allclose(got, want, atol=1e-12)


def test_v_points_up():
    image = torch.tensor([[[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]]], dtype=D)
    top = sample_texture(Texture(image, UV), torch.tensor([[0.5, 1.0]], dtype=D))
    assert top.tolist() == [[1.0, 0.0, 0.0]]


@pytest.mark.parametrize("corners", [True, False])
def test_gradients(corners):
    uv = (torch.rand((6, 2), generator=torch.Generator().manual_seed(2), dtype=D) * 0.9 + 0.05).requires_grad_()
    image = an_image().requires_grad_()
    assert torch.autograd.gradcheck(lambda i, u: sample_texture(Texture(i, UV, corners=corners), u), (image, uv))


def test_nearest_has_gradients_of_the_image():
    image = an_image().requires_grad_()
    uv = torch.tensor([[0.3, 0.4], [0.31, 0.41]], dtype=D)
    assert torch.autograd.gradcheck(lambda i: sample_texture(Texture(i, UV, filter="nearest"), uv), (image,))


def test_a_texture_without_texels_is_refused():
    for size in ((0, 4), (4, 0)):
        with pytest.raises(InputError, match=r"Texture.image: got .*expected at least one row and one column"):
            sample_texture(Texture(torch.zeros((*size, 3), dtype=D), UV), UV.to(D))


def test_each_frame_reads_its_own_image():
    draw = torch.Generator().manual_seed(4)
    images = torch.rand((3, 4, 5, 3), generator=draw, dtype=D)
    uv = torch.rand((40, 2), generator=draw, dtype=D) * 1.2 - 0.1
    frame = torch.randint(0, 3, (40,), generator=draw)
    got = sample_texture(Texture(images, UV), uv, frame)
    want = torch.stack([sample_texture(Texture(images[frame[k]], UV), uv[k]) for k in range(40)])
    assert torch.equal(got, want)


def test_gradients_of_images_over_time():
    draw = torch.Generator().manual_seed(5)
    images = torch.rand((3, 2, 3, 3), generator=draw, dtype=D).requires_grad_()
    uv = (torch.rand((8, 2), generator=draw, dtype=D) * 0.9 + 0.05).requires_grad_()
    frame = torch.arange(8) % 3
    assert torch.autograd.gradcheck(lambda i, u: sample_texture(Texture(i, UV), u, frame), (images, uv))


def test_points_must_say_which_image_they_read():
    moving = Texture(torch.zeros((3, 2, 2, 3), dtype=D), UV)
    with pytest.raises(InputError, match=r"the texture has 3 images; give frame="):
        sample_texture(moving, torch.zeros((4, 2), dtype=D))
    with pytest.raises(InputError, match=r"frame: numbers run from 0 to 3; expected 0 to 2"):
        sample_texture(moving, torch.zeros((4, 2), dtype=D), torch.arange(4))
    with pytest.raises(InputError, match=r"frame: got shape \(2,\); expected \(4\)"):
        sample_texture(moving, torch.zeros((4, 2), dtype=D), torch.arange(2))
