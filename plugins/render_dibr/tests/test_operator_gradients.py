"""The operators on bare triangles, against differences in float64."""

from __future__ import annotations

import pytest
import torch

from diffloom_render_dibr.operators import dibr_rasterization, soft_mask
from diffloom_testing.gradients import check_gradient


def triangles(seed: int = 0):
    random = torch.Generator().manual_seed(seed)
    centres = torch.rand((2, 14, 1, 2), dtype=torch.float64, generator=random) * 1.6 - 0.8
    image = centres + 0.25 * torch.randn((2, 14, 3, 2), dtype=torch.float64, generator=random)
    z = -(1.0 + 2.0 * torch.rand((2, 14, 3), dtype=torch.float64, generator=random))
    features = torch.rand((2, 14, 3, 5), dtype=torch.float64, generator=random)
    return image, z, features


@pytest.mark.parametrize("knum", [30, 3])
@pytest.mark.parametrize("compat", [None, "kaolin"])
@pytest.mark.parametrize("part", ["features", "mask"])
def test_rasterisation(compat, knum, part):
    image, z, features = triangles()
    facing = torch.ones((2, 14))

    def draw(image, z, features):
        value, mask, index = dibr_rasterization(
            24, 37, z, image, features, facing, sigmainv=70.0, boxlen=0.3, knum=knum, compat=compat
        )
        assert 200 < int((index >= 0).sum()) < index.numel() - 200
        return value if part == "features" else mask

    given = {"image": image, "z": z, "features": features}
    if part == "mask":
        given = {"image": image}
        results = check_gradient(lambda image: draw(image, z, features), given, step=1e-7, tolerance=_gate(compat))
    else:
        if compat:
            del given["z"]  # only decides the order in depth: Kaolin gives it no gradient
        results = check_gradient(lambda image, features, z=z: draw(image, z, features), given, step=1e-7,
                                 tolerance=_gate(compat))  # fmt: skip
    assert all(abs(r.autograd) > 1e-3 for r in results)


def _gate(compat):
    # Kaolin guards areas with 1e-8 and probabilities with 1e-7, and differentiates neither guard.
    return 1e-6 if compat is None else 3e-4


def test_culled_faces_in_the_mask():
    """Invalid faces take part in the mask with compat, and are left out otherwise."""
    image, z, features = triangles(1)
    facing = torch.ones((2, 14))
    facing[:, ::2] = -1.0
    masks = {}
    for compat in (None, "kaolin"):
        _, masks[compat], index = dibr_rasterization(24, 24, z, image, features, facing, 70.0, 0.3, compat=compat)
        assert bool((index[index >= 0] % 2 == 1).all())
    odd = soft_mask(image[:, 1::2], index, 70.0, 0.3)
    torch.testing.assert_close(masks[None], odd)
    assert float((masks["kaolin"] - odd).abs().max()) > 0.1


def test_several_features_at_once():
    image, z, features = triangles(2)
    parts, mask, _ = dibr_rasterization(16, 16, z, image, [features[..., :1], features[..., 1:]], torch.ones((2, 14)))
    whole, _, _ = dibr_rasterization(16, 16, z, image, features, torch.ones((2, 14)))
    assert torch.equal(torch.cat(parts, dim=-1), whole)
    assert mask.shape == (2, 16, 16)
