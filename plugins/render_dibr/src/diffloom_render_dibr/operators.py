"""DIB-R on bare triangles: functions shaped like those of ``kaolin.render.mesh``, on CPU or CUDA, in either mode.

Corners lie on the plane [-1, 1]^2, x right and y up, whatever the shape of the picture; z is negative ahead of the
camera and larger is nearer. compat="kaolin" follows Kaolin in everything. By default features and depth are
perspective-correct, the nearest ``knum`` triangles count in the mask, and distances are isotropic: lengths on the
picture in units of half its shorter side, the same as on the plane when the picture is square.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.interfaces.errors import check_shape
from diffloom.shading.arrays import Room, plain

from .plan import Plan, Rules
from .raster import Mask, Raster, separate_corners

Compat = Literal["kaolin"] | None


def rasterize(
    height: int,
    width: int,
    face_vertices_z: Tensor,
    face_vertices_image: Tensor,
    face_features: Tensor | Sequence[Tensor],
    valid_faces: Tensor | None = None,
    *,
    multiplier: float = 1000.0,
    eps: float = 1e-8,
    compat: Compat = None,
) -> tuple[Tensor | tuple[Tensor, ...], Tensor]:
    """Features (batch, height, width, n), 0 where nothing is seen, and face indices (batch, height, width), -1 there.

    face_vertices_z: (batch, faces, 3). face_vertices_image: (batch, faces, 3, 2). face_features: (batch, faces, 3, n)
    or several such, then several come back. valid_faces: (batch, faces) bool, which to draw. multiplier, eps: scale
    and guard of Kaolin's weights.
    """
    features, shapes = _joined(face_features)
    rules = _rules(height, width, compat, None, multiplier, eps)
    planes, index = _draw(height, width, face_vertices_z, face_vertices_image, features, valid_faces, rules)
    return (planes if shapes is None else tuple(planes.split(shapes, dim=-1))), index


def soft_mask(
    face_vertices_image: Tensor,
    selected_face_idx: Tensor,
    sigmainv: float = 7000.0,
    boxlen: float = 0.02,
    knum: int = 30,
    multiplier: float = 1000.0,
    *,
    compat: Compat = None,
) -> Tensor:
    """The soft mask (batch, height, width): 1 where ``selected_face_idx`` is not -1, falling off outside.

    sigmainv: sharpness, boxlen: how far a face reaches, both in units of the plane. knum: faces that count at a pixel.
    """
    check_shape("selected_face_idx", selected_face_idx, ("batch", "height", "width"))
    height, width = (int(n) for n in selected_face_idx.shape[1:])
    rules = _rules(height, width, compat, (sigmainv, boxlen, knum), multiplier, 1e-8)
    z = face_vertices_image.new_full(face_vertices_image.shape[:3], -1.0)
    points = _points(z, face_vertices_image, height, width, rules)
    plan = _plan(height, width, face_vertices_image, None, rules)
    mask: Tensor = Mask.apply(plan, points, selected_face_idx >= 0)  # type: ignore[no-untyped-call]
    return mask


def dibr_rasterization(
    height: int,
    width: int,
    face_vertices_z: Tensor,
    face_vertices_image: Tensor,
    face_features: Tensor | Sequence[Tensor],
    face_normals_z: Tensor,
    sigmainv: float = 7000.0,
    boxlen: float = 0.02,
    knum: int = 30,
    *,
    multiplier: float = 1000.0,
    eps: float = 1e-8,
    compat: Compat = None,
) -> tuple[Tensor | tuple[Tensor, ...], Tensor, Tensor]:
    """Features, soft mask and face indices; faces whose ``face_normals_z`` (batch, faces) is negative are not drawn.

    As in Kaolin they take part in the mask all the same, but only with compat="kaolin".
    """
    features, shapes = _joined(face_features)
    rules = _rules(height, width, compat, (sigmainv, boxlen, knum), multiplier, eps)
    valid = face_normals_z >= 0
    planes, index = _draw(height, width, face_vertices_z, face_vertices_image, features, valid, rules)
    image, mask = planes[..., :-1], planes[..., -1]
    return (image if shapes is None else tuple(image.split(shapes, dim=-1))), mask, index


def _joined(features: Tensor | Sequence[Tensor]) -> tuple[Tensor, list[int] | None]:
    if isinstance(features, Tensor):
        return check_shape("face_features", features, ("batch", "faces", 3, "channels")), None
    if not features:
        raise InputError("face_features: got an empty list; expected at least one tensor")
    return torch.cat(list(features), dim=-1), [int(f.shape[-1]) for f in features]


def _rules(
    height: int, width: int, compat: Compat, mask: tuple[float, float, int] | None, multiplier: float, eps: float
) -> Rules:
    if compat not in (None, "kaolin"):
        raise InputError(f"compat: got {compat!r}; expected 'kaolin' or None")
    sigmainv, boxlen, knum = mask or (1.0, 0.0, 1)
    unit = 1.0 if compat else 0.5 * min(height, width)
    return Rules(
        kaolin=compat is not None, soft=mask is not None, sharpness=sigmainv / unit**2, reach=boxlen * unit, knum=knum,
        multiplier=multiplier, eps=eps,
    )  # fmt: skip


def _plan(height: int, width: int, image: Tensor, valid: Tensor | None, rules: Rules) -> Plan:
    """Every triangle has three points of its own."""
    batch, faces = int(image.shape[0]), int(image.shape[1])
    room = Room(image.device, image.dtype)
    start = torch.arange(batch + 1, dtype=torch.int32, device=image.device) * faces
    flags = room.flags(0) if valid is None else plain(valid.reshape(-1))
    # Kaolin lets invalid faces take part in the mask; otherwise they are nowhere.
    drawn, shown = (room.flags(0), flags) if rules.kaolin else (flags, room.flags(0))
    return Plan(
        room, rules, batch, 3 * faces, separate_corners(batch * faces, str(image.device)), True, plain(start),
        height, width, drawn, shown, room.ints(0),
    )  # fmt: skip


def _points(z: Tensor, image: Tensor, height: int, width: int, rules: Rules) -> Tensor:
    """(points, 3) x, y and depth as the rules want them."""
    check_shape("face_vertices_image", image, ("batch", "faces", 3, 2))
    check_shape("face_vertices_z", z, (image.shape[0], image.shape[1], 3))
    if not rules.kaolin:
        image = image * image.new_tensor([0.5 * width, -0.5 * height])
        z = -z
    return torch.cat([image, z[..., None]], dim=-1).reshape(-1, 3)


def _draw(
    height: int, width: int, z: Tensor, image: Tensor, features: Tensor, valid: Tensor | None, rules: Rules
) -> tuple[Tensor, Tensor]:
    """Planes (batch, height, width, channels and mask), and indices of faces within a mesh, int64."""
    points = _points(z, image, height, width, rules)
    check_shape("face_features", features, (image.shape[0], image.shape[1], 3, "channels"))
    if valid is not None:
        check_shape("valid faces", valid, (image.shape[0], image.shape[1]))
    plan = _plan(height, width, image, valid, rules)
    planes, index = Raster.apply(plan, points, features.reshape(-1, features.shape[-1]))  # type: ignore[no-untyped-call]
    return planes, torch.where(index >= 0, index % max(int(image.shape[1]), 1), -1).long()
