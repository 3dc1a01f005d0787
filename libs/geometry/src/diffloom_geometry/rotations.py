"""Rotations on the host: quaternions (w, x, y, z), rotation vectors and matrices, as tensors with gradients.

Symmetric matrices, such as the inertias of turning bodies, are written as six numbers xx, yy, zz, xy, xz, yz.

Device functions of the same kind are in ``diffloom_kernels`` (``quat_mul``, ``quat_rotate``, ``quat_matrix``) and
``diffloom_mechanics.kernels`` (``quat_exp``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.errors import InputError
from diffloom.transforms import unwrap_values

__all__ = [
    "array_rotation_matrix",
    "invert_quaternions",
    "multiply_quaternions",
    "quaternions_from_vectors",
    "rotate_vectors",
    "rotation_matrices",
    "rotation_matrix",
    "rotation_vectors",
    "rotation_vectors_between",
    "symmetric_entries",
    "symmetric_matrices",
    "unit_quaternions",
]  # fmt: skip

#: Added in quadrature to the length of rotation vectors, so that gradients exist at no rotation.
SMALL = 1e-12


def unit_quaternions(quaternions: Tensor) -> Tensor:
    """Return quaternions scaled to length 1.

    Args:
        quaternions: Quaternions (..., 4) of any length but 0.

    Returns:
        Unit quaternions (..., 4).
    """
    return torch.nn.functional.normalize(quaternions, dim=-1)


def multiply_quaternions(a: Tensor, b: Tensor) -> Tensor:
    """Return the products a b, which rotate by b first and then by a.

    Args:
        a: Quaternions (..., 4).
        b: Quaternions (..., 4).

    Returns:
        Products (..., 4).
    """
    w, x, y, z = a.unbind(-1)
    s, i, j, k = b.unbind(-1)
    parts = (
        w * s - x * i - y * j - z * k,
        w * i + x * s + y * k - z * j,
        w * j - x * k + y * s + z * i,
        w * k + x * j - y * i + z * s,
    )
    return torch.stack(parts, dim=-1)


def invert_quaternions(quaternions: Tensor) -> Tensor:
    """Return the inverses of unit quaternions.

    Args:
        quaternions: Unit quaternions (..., 4).

    Returns:
        Inverses (..., 4).
    """
    return quaternions * quaternions.new_tensor([1.0, -1.0, -1.0, -1.0])


def rotate_vectors(quaternions: Tensor, vectors: Tensor) -> Tensor:
    """Return rotated vectors.

    Args:
        quaternions: Unit quaternions (..., 4).
        vectors: Vectors (..., 3).

    Returns:
        Vectors (..., 3).
    """
    axis, w = quaternions[..., 1:], quaternions[..., :1]
    axis, vectors = torch.broadcast_tensors(axis, vectors)
    once = torch.linalg.cross(axis, vectors)
    rotated: Tensor = vectors + 2.0 * (w * once + torch.linalg.cross(axis, once))
    return rotated


def quaternions_from_vectors(vectors: Tensor) -> Tensor:
    """Return the unit quaternions of rotation vectors.

    Args:
        vectors: Rotation vectors (..., 3): axis times angle [rad].

    Returns:
        Unit quaternions (..., 4).
    """
    half = 0.5 * (vectors.square().sum(dim=-1, keepdim=True) + SMALL**2).sqrt()
    return torch.cat([half.cos(), 0.5 * vectors * torch.sinc(half / torch.pi)], dim=-1)


def rotation_vectors(quaternions: Tensor) -> Tensor:
    """Return the rotation vectors of unit quaternions; q and -q have the same one.

    Args:
        quaternions: Unit quaternions (..., 4).

    Returns:
        Rotation vectors (..., 3) [rad], at most pi long.
    """
    quaternions = torch.where(quaternions[..., :1] < 0.0, -quaternions, quaternions)
    axis, w = quaternions[..., 1:], quaternions[..., :1]
    sine = (axis.square().sum(dim=-1, keepdim=True) + SMALL**2).sqrt()
    return axis * (2.0 * torch.atan2(sine, w) / sine)


def rotation_vectors_between(found: Tensor, wanted: Tensor) -> Tensor:
    """Return the rotations from the orientations ``wanted`` to the orientations ``found``, in world axes.

    Args:
        found: Unit quaternions (..., 4).
        wanted: Unit quaternions (..., 4).

    Returns:
        Rotation vectors (..., 3) [rad].
    """
    return rotation_vectors(multiply_quaternions(found, invert_quaternions(wanted)))


def rotation_matrices(quaternions: Tensor) -> Tensor:
    """Return the rotation matrices of unit quaternions.

    Args:
        quaternions: Unit quaternions (..., 4).

    Returns:
        Matrices (..., 3, 3).
    """
    w, x, y, z = quaternions.unbind(-1)
    rows = (
        (w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        (2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)),
        (2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z),
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def rotation_matrix(quaternion: Tensor) -> Tensor:
    """Return the rotation matrix of one quaternion of any length but 0.

    Args:
        quaternion: Quaternion (4,).

    Returns:
        Matrix (3, 3).

    Raises:
        InputError: The quaternion has the length 0.
    """
    length = quaternion.norm()
    if bool((unwrap_values(length) == 0.0).any()):
        raise InputError("orientation: got a quaternion of length 0; expected w x y z such as (1, 0, 0, 0)")
    return torch.stack([torch.stack(row) for row in _matrix_rows(*(quaternion / length))])


def array_rotation_matrix(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation matrix of one quaternion of any length but 0, as a NumPy array.

    Args:
        quaternion: Quaternion (4,).

    Returns:
        Matrix (3, 3).
    """
    return np.array(_matrix_rows(*(quaternion / np.linalg.norm(quaternion))))


def symmetric_entries(matrices: Tensor) -> Tensor:
    """Return the six entries of symmetric matrices.

    Args:
        matrices: Symmetric matrices (..., 3, 3).

    Returns:
        Entries (..., 6): xx, yy, zz, xy, xz, yz.
    """
    order = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return torch.stack([matrices[..., a, b] for a, b in order], dim=-1)


def symmetric_matrices(entries: Tensor) -> Tensor:
    """Return symmetric matrices from their six entries.

    Args:
        entries: Entries (..., 6): xx, yy, zz, xy, xz, yz.

    Returns:
        Matrices (..., 3, 3).
    """
    xx, yy, zz, xy, xz, yz = entries.unbind(-1)
    rows = [torch.stack(row, dim=-1) for row in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))]
    return torch.stack(rows, dim=-2)


def _matrix_rows(w: Any, x: Any, y: Any, z: Any) -> tuple[tuple[Any, Any, Any], ...]:
    """Return the rows of the rotation matrix of a unit quaternion."""
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
