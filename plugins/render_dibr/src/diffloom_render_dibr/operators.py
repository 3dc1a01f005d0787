"""DIB-R on bare triangles: functions shaped like those of ``kaolin.render.mesh``, on CPU or CUDA, in either mode.

Corners lie on the plane [-1, 1]^2, x right and y up, whatever the shape of the image; z is negative ahead of the
camera and larger is nearer. compat="kaolin" follows Kaolin in everything. By default features and depth are
perspective-correct, the nearest ``knum`` triangles count in the mask, and distances are isotropic: lengths on the
image in units of half its shorter side, the same as on the plane when the image is square.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.interfaces import InputError
from diffloom.validation import check_shape
from diffloom_kernels import Arena, as_array
from diffloom_raster import ImageLayout
from diffloom_raster.records import Cameras, Corners, Lights, Texels

from .drawing import DibrPlan, Extras, Settings, crop, draw_adjoint, features_of, find_plan, padded, rasterise, shade
from .records import DibrSource, DibrSurfacing, Pixels, Shaded, Values

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
    """Features (batch, height, width, n), 0 where nothing is shown, and face indices (batch, height, width), -1 there.

    face_vertices_z: (batch, faces, 3). face_vertices_image: (batch, faces, 3, 2). face_features: (batch, faces, 3, n)
    or several such, then several come back. valid_faces: (batch, faces) bool, which to draw. multiplier, eps: scale
    and guard of Kaolin's weights.
    """
    features, shapes = _joined(face_features)
    settings = _settings(height, width, compat, None, multiplier, eps)
    planes, index = _draw(height, width, face_vertices_z, face_vertices_image, features, valid_faces, settings)
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
    settings = _settings(height, width, compat, (sigmainv, boxlen, knum), multiplier, 1e-8)
    z = face_vertices_image.new_full(face_vertices_image.shape[:3], -1.0)
    points = _points(z, face_vertices_image, height, width, settings)
    plan = _plan(height, width, face_vertices_image, settings)
    mask: Tensor = SoftMask.apply(plan, points, selected_face_idx >= 0)  # type: ignore[no-untyped-call]
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
    settings = _settings(height, width, compat, (sigmainv, boxlen, knum), multiplier, eps)
    valid = face_normals_z >= 0
    planes, index = _draw(height, width, face_vertices_z, face_vertices_image, features, valid, settings)
    image, mask = planes[..., :-1], planes[..., -1]
    return (image if shapes is None else tuple(image.split(shapes, dim=-1))), mask, index


def _joined(features: Tensor | Sequence[Tensor]) -> tuple[Tensor, list[int] | None]:
    if isinstance(features, Tensor):
        return check_shape("face_features", features, ("batch", "faces", 3, "channels")), None
    if not features:
        raise InputError("face_features: got an empty list; expected at least one tensor")
    return torch.cat(list(features), dim=-1), [int(f.shape[-1]) for f in features]


def _settings(
    height: int, width: int, compat: Compat, mask: tuple[float, float, int] | None, multiplier: float, eps: float
) -> Settings:
    if compat not in (None, "kaolin"):
        raise InputError(f"compat: got {compat!r}; expected 'kaolin' or None")
    sigmainv, boxlen, knum = mask or (1.0, 0.0, 1)
    unit = 1.0 if compat else 0.5 * min(height, width)
    return Settings(
        kaolin=compat is not None, soft=mask is not None, sharpness=sigmainv / unit**2, reach=boxlen * unit, most=knum,
        multiplier=multiplier, eps=eps,
    )  # fmt: skip


def _plan(height: int, width: int, image: Tensor, settings: Settings) -> DibrPlan:
    """Triangles that share no points, those of all frames as one topology."""
    check_shape("face_vertices_image", image, ("batch", "faces", 3, 2))
    batch, faces = int(image.shape[0]), int(image.shape[1])
    arena = Arena.of(image)
    start = torch.arange(batch + 1, dtype=torch.int32, device=image.device) * faces
    layout = ImageLayout(
        arena, separate_corners(batch * faces, str(image.device)), batch, 3 * faces, True, as_array(start),
        arena.ints(0), height, width, unit_plane=settings.kaolin,
    )  # fmt: skip
    return find_plan(layout, settings)


def _points(z: Tensor, image: Tensor, height: int, width: int, settings: Settings) -> Tensor:
    """(points, 3) x, y and depth as the settings want them."""
    check_shape("face_vertices_image", image, ("batch", "faces", 3, 2))
    check_shape("face_vertices_z", z, (image.shape[0], image.shape[1], 3))
    if not settings.kaolin:
        image = image * image.new_tensor([0.5 * width, -0.5 * height])
        z = -z
    return torch.cat([image, z[..., None]], dim=-1).reshape(-1, 3)


def _draw(
    height: int, width: int, z: Tensor, image: Tensor, features: Tensor, valid: Tensor | None, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Planes (batch, height, width, channels and mask), and indices of faces within a mesh, int64."""
    points = _points(z, image, height, width, settings)
    check_shape("face_features", features, (image.shape[0], image.shape[1], 3, "channels"))
    if valid is not None:
        check_shape("valid faces", valid, (image.shape[0], image.shape[1]))
    plan = _plan(height, width, image, settings)
    # Kaolin lets invalid faces take part in the mask; otherwise they are nowhere.
    flags = plan.arena.flags(0) if valid is None else as_array(valid.reshape(-1))
    planes, index = Rasterise.apply(plan, flags, points, features.reshape(-1, features.shape[-1]))  # type: ignore[no-untyped-call]
    return planes, torch.where(index >= 0, index % max(int(image.shape[1]), 1), -1).long()


@functools.lru_cache(maxsize=8)
def separate_corners(triangles: int, device: str) -> Corners:
    """Triangles that share no points: 0 1 2, 3 4 5, ..."""
    count = as_array(torch.arange(3 * triangles + 1, dtype=torch.int32, device=device))
    return Corners(count[:-1].reshape(-1, 3), count, count[:-1])


def given_points(points: Tensor, valid: Any, arena: Arena) -> DibrSource:
    """Points that are in place already."""
    none, two = arena.floats(0, 3), arena.floats(2)
    return DibrSource(0, Cameras(arena.floats(0, 3, 3), none, two, two), none, as_array(points), valid)


def unshaded(arena: Arena) -> DibrSurfacing:
    """Values stay what they are."""
    kinds = arena.ints(0)
    lights = Lights(arena.floats(1, 3), kinds, arena.floats(1, 0, 9), arena.floats(1, 0, 3), arena.floats(1, 1))
    texels = Texels(1, 1, 1, 0, arena.floats(1, 1, 3))
    return DibrSurfacing(0, 0, 0, texels, arena.floats(1, 3), kinds, kinds, kinds, lights)


class Rasterise(torch.autograd.Function):
    """(plan, valid, points (points, 3), features (points, n)) -> planes (frames, height, width, n and mask if soft), 0
    where nothing is shown; triangles (frames, height, width) int32, -1 for none."""

    @staticmethod
    def forward(ctx: Any, plan: DibrPlan, valid: Any, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        source, arena = given_points(points, valid, plan.arena), plan.arena
        drawn = rasterise(plan, source)
        carried = features_of(arena.floats(int(points.shape[0]), 0), as_array(features), plan.layout.corners)
        shaded, planes = shade(plan, source, drawn, carried, unshaded(arena), (), None)
        ctx.plan, ctx.source, ctx.drawn, ctx.shaded = plan, source, drawn, shaded
        ctx.save_for_backward(points, features)
        index = plan.layout.crop(drawn.coverage.face_index)
        ctx.mark_non_differentiable(index)
        return crop(plan, planes.colour), index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, _: Any) -> tuple[Any, ...]:
        plan: DibrPlan = ctx.plan
        _, features = ctx.saved_tensors  # asking for them makes sure that nobody changed them meanwhile
        found = draw_adjoint(
            plan, ctx.source, ctx.drawn, ctx.shaded, plan.layout.corners, Extras(), padded(plan, adj_planes), None,
            soft=plan.settings.soft,
        )  # fmt: skip
        made = found.cotangents
        own = plan.arena.tensor(made.own).reshape(features.shape)
        return None, None, plan.arena.tensor(made.screen), own


class SoftMask(torch.autograd.Function):
    """(plan, points (points, 3), covered (frames, height, width) bool) -> the soft mask (frames, height, width)."""

    @staticmethod
    def forward(ctx: Any, plan: DibrPlan, points: Tensor, covered: Tensor) -> Tensor:
        layout, arena = plan.layout, plan.arena
        flags = arena.flags(*layout.padded, fill=False)
        flags[:, : layout.height, : layout.width] = as_array(covered)
        ctx.plan, ctx.source = plan, given_points(points, arena.flags(0), arena)
        ctx.drawn = rasterise(plan, ctx.source, flags)
        ctx.save_for_backward(points)
        return 1.0 - layout.crop(ctx.drawn.mask.miss)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_mask: Tensor) -> tuple[Any, ...]:
        plan, arena = ctx.plan, ctx.plan.arena
        (points,) = ctx.saved_tensors
        none, flat, rows = arena.ints(0), arena.floats(0), arena.floats(int(points.shape[0]), 0)
        pixels = Pixels(ctx.drawn.counts, none, flat, flat, none)
        values = Values(arena.floats(3, 0), arena.floats(0, 0), arena.floats(1, 0))
        shaded = Shaded(pixels, features_of(rows, rows, plan.layout.corners), values, unshaded(arena))
        found = draw_adjoint(
            plan, ctx.source, ctx.drawn, shaded, plan.layout.corners, Extras(), padded(plan, adj_mask[..., None]), None,
            soft=True,
        )  # fmt: skip
        return None, arena.tensor(found.cotangents.screen), None
