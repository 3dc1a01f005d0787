"""Kaolin's own numbers, reproduced."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diffloom_render_dibr.operators import dibr_rasterization, rasterize, soft_mask

GATES = {torch.float64: 1e-4, torch.float32: 1e-3}
KINDS = pytest.mark.parametrize("dtype", GATES, ids=str)


def relative(found: torch.Tensor, wanted: np.ndarray) -> float:
    return float(np.linalg.norm(found.double().numpy() - wanted) / np.linalg.norm(wanted))


@KINDS
def test_hard_rasterisation(oracle, dtype):
    truth = oracle("kaolin_raster_sphere.npz")
    image = torch.tensor(truth["face_vertices_image"], dtype=dtype, requires_grad=True)
    z = torch.tensor(truth["face_vertices_z"], dtype=dtype)
    uv = torch.tensor(truth["face_uvs"], dtype=dtype).repeat(3, 1, 1, 1).requires_grad_()
    height, width, eps = int(truth["height"]), int(truth["width"]), float(truth["eps"])
    found, index = rasterize(height, width, z, image, uv, eps=eps, compat="kaolin")
    assert np.array_equal(index.numpy(), truth["face_idx"])
    assert (index >= 0).sum() > 400
    np.testing.assert_allclose(found.detach().numpy(), truth["features"], atol=1e-5)
    found.backward(torch.tensor(truth["grad_out"], dtype=dtype))
    assert relative(image.grad, truth["grad_face_vertices_image"]) < GATES[dtype]
    assert relative(uv.grad, truth["grad_face_uvs"]) < GATES[dtype]


@KINDS
@pytest.mark.parametrize("name", ["kaolin_dibr_simple.npz", "kaolin_dibr_sphere.npz"])
def test_soft_mask(oracle, dtype, name):
    """Every case of the file, named by its sigmainv and boxlen."""
    truth = oracle(name)
    cases = [key.removeprefix("soft_mask") for key in truth if key.startswith("soft_mask_")]
    assert cases
    for case in cases:
        error = check_case(truth, case, dtype)
        print(f"{name} {case[1:]} {dtype}: gradient {error:.1e}")
        assert error < GATES[dtype]


def check_case(truth: dict[str, np.ndarray], case: str, dtype: torch.dtype) -> float:
    """Compare faces, mask and loss; the error of the gradient."""
    sigmainv, boxlen = (float(number) for number in case[1:].split("_"))
    image = torch.tensor(truth["face_vertices_image"], dtype=dtype, requires_grad=True)
    z = torch.tensor(truth["face_vertices_z"], dtype=dtype)
    height, width, knum = (int(truth[key]) for key in ("height", "width", "knum_stored"))
    features = torch.zeros((*z.shape, 1), dtype=dtype)
    mask_settings = (sigmainv, boxlen, knum)
    _, mask, index = dibr_rasterization(
        height, width, z, image, features, torch.ones(z.shape[:2]), *mask_settings, compat="kaolin"
    )
    assert np.array_equal(index.numpy(), truth["face_idx"])
    np.testing.assert_allclose(mask.detach().numpy(), truth[f"soft_mask{case}"], atol=1e-5)
    target = torch.tensor(truth["target_mask"], dtype=dtype)
    both, either = (mask * target).sum((1, 2)), (mask + target - mask * target).sum((1, 2))
    loss = 1.0 - (both / (either + 1e-10)).mean()
    loss.backward()
    assert abs(float(loss.detach()) - float(truth[f"loss{case}"])) < 1e-5
    alone = soft_mask(image.detach(), torch.tensor(truth["face_idx"].astype(np.int64)), *mask_settings, compat="kaolin")
    assert torch.equal(alone, mask.detach())
    return relative(image.grad, truth[f"grad_face_vertices_image{case}"])
