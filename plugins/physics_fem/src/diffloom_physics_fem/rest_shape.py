"""What a tetrahedron keeps of its rest shape, as differentiable tensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import concrete
from diffloom_geometry import take


@dataclass(frozen=True)
class RestShape:
    """Per element: metric (tets, 6) [m], the entries 00 01 02 11 12 22 of V B B^T; inv_det (tets,) = 1/(6 V) [1/m^3];
    volume (tets,) [m^3]. B is the inverse of the matrix of edge vectors."""

    metric: Tensor
    inv_det: Tensor
    volume: Tensor


def rest_shape(points: Tensor, tets: NDArray[np.int64]) -> RestShape:
    """From rest positions (vertices, 3) [m]; InputError where a tetrahedron has no positive volume."""
    x = take(points, tets)
    d1, d2, d3 = (x[:, a] - x[:, 0] for a in (1, 2, 3))
    c1, c2, c3 = torch.linalg.cross(d2, d3), torch.linalg.cross(d3, d1), torch.linalg.cross(d1, d2)
    det = (d1 * c1).sum(dim=1)
    found = concrete(det)
    bad = (found <= 0.0).nonzero().tolist()
    if bad:
        raise InputError(
            f"rest_shape: tet {bad[0][-1]} has volume {float(found[tuple(bad[0])]) / 6.0:.3g} m^3 ({len(bad)} such); "
            "expected positive volumes: move its vertices apart"
        )
    # B has the rows c/det, so V B B^T has the entries c_a.c_b/(6 det).
    pairs = ((c1, c1), (c1, c2), (c1, c3), (c2, c2), (c2, c3), (c3, c3))
    products = torch.stack([(a * b).sum(dim=1) for a, b in pairs], dim=1)
    return RestShape(products / (6.0 * det[:, None]), 1.0 / det, det / 6.0)
