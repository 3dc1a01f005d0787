"""DIB-R on bare triangles: functions shaped like those of ``kaolin.render.mesh``, on CPU or CUDA, in either mode.

Corners lie on the plane [-1, 1]^2, x right and y up, for any shape of the image; z is negative ahead of the camera and
larger is nearer. compat="kaolin" follows Kaolin in everything. By default features and depth are perspective-correct,
the nearest ``knum`` triangles count in the mask, and distances are isotropic: lengths on the image in units of half its
shorter side, the same as on the plane when the image is square.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import once_differentiable
from diffloom.validation import check_shape
from diffloom_kernels import Arena, as_array
from diffloom_raster import ImageLayout
from diffloom_raster.records import Cameras, Corners, Lights, Texels

from .drawing import DibrPlan, Extras, Settings, collect_features, crop, draw_adjoint, find_plan, pad, rasterise, shade
from .operator_input import check_triangles, read_count, read_number
from .records import DibrSource, DibrSurfacing, Pixels, ShadingRecord, Values

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
    """Draw features of triangles.

    Args:
        height: Height of the image [px].
        width: Width of the image [px].
        face_vertices_z: (batch, faces, 3) heights, negative ahead of the camera. Differentiable unless compat.
        face_vertices_image: (batch, faces, 3, 2) on the plane. Differentiable.
        face_features: (batch, faces, 3, n), or several tensors, for each of which an image is returned. Differentiable.
        valid_faces: (batch, faces) bool, True for those to draw; None for all.
        multiplier: Scale of Kaolin's weights.
        eps: Guard of Kaolin's weights.
        compat: "kaolin" to follow Kaolin's rules.

    Returns:
        Features (batch, height, width, n), 0 where nothing is shown, and face indices (batch, height, width), -1 there.
    """
    features, shapes = _join(face_features)
    settings = _make_settings(height, width, compat, None, multiplier, eps)
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
    """Draw the soft mask: 1 where ``selected_face_idx`` is not -1, falling off outside.

    Args:
        face_vertices_image: (batch, faces, 3, 2) on the plane. Differentiable.
        selected_face_idx: (batch, height, width) faces shown, -1 for none.
        sigmainv: Sharpness, in units of the plane.
        boxlen: Distance up to which a face reaches, in units of the plane.
        knum: Number of faces that count at a pixel.
        multiplier: Scale of Kaolin's distances.
        compat: "kaolin" to follow Kaolin's rules.

    Returns:
        (batch, height, width) in 0..1.
    """
    check_shape("selected_face_idx", selected_face_idx, ("batch", "height", "width"))
    height, width = (int(n) for n in selected_face_idx.shape[1:])
    settings = _make_settings(height, width, compat, (sigmainv, boxlen, knum), multiplier, 1e-8)
    z = face_vertices_image.new_full(face_vertices_image.shape[:3], -1.0)
    points = _make_points(z, face_vertices_image, height, width, settings)
    plan = _find_plan(height, width, face_vertices_image, settings)
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
    """Draw features and the soft mask; faces whose ``face_normals_z`` (batch, faces) is negative are not drawn.

    With compat="kaolin" these faces take part in the mask, as in Kaolin. The other parameters are those of
    ``rasterize`` and ``soft_mask``.

    Returns:
        Features, soft mask and face indices.
    """
    features, shapes = _join(face_features)
    settings = _make_settings(height, width, compat, (sigmainv, boxlen, knum), multiplier, eps)
    valid = face_normals_z >= 0
    planes, index = _draw(height, width, face_vertices_z, face_vertices_image, features, valid, settings)
    image, mask = planes[..., :-1], planes[..., -1]
    return (image if shapes is None else tuple(image.split(shapes, dim=-1))), mask, index


def _join(features: Tensor | Sequence[Tensor]) -> tuple[Tensor, list[int] | None]:
    """Return features as one tensor, and their widths if several were given."""
    if isinstance(features, Tensor):
        return check_shape("face_features", features, ("batch", "faces", 3, "channels")), None
    if not features:
        raise InputError("face_features: got an empty list; expected at least one tensor")
    return torch.cat(list(features), dim=-1), [int(f.shape[-1]) for f in features]


def _make_settings(
    height: int, width: int, compat: Compat, mask: tuple[float, float, int] | None, multiplier: float, eps: float
) -> Settings:
    """Return the settings of a call, after a check of ``compat``."""
    if compat not in (None, "kaolin"):
        raise InputError(f"compat: got {compat!r}; expected 'kaolin' or None")
    least = min(read_count("height", height), read_count("width", width))
    sigmainv, boxlen, knum = mask or (1.0, 0.0, 1)
    unit = 1.0 if compat else 0.5 * least
    return Settings(
        kaolin=compat is not None, soft=mask is not None,
        sharpness=read_number("sigmainv", sigmainv, 0.0, open_=True) / unit**2,
        reach=read_number("boxlen", boxlen, 0.0) * unit, most=read_count("knum", knum),
        multiplier=read_number("multiplier", multiplier, 0.0, open_=True), eps=read_number("eps", eps, 0.0),
    )  # fmt: skip


def _find_plan(height: int, width: int, image: Tensor, settings: Settings) -> DibrPlan:
    """Return the plan of triangles that share no points, those of all frames as one topology."""
    check_shape("face_vertices_image", image, ("batch", "faces", 3, 2))
    batch, faces = int(image.shape[0]), int(image.shape[1])
    arena = Arena.of(image)
    start = torch.arange(batch + 1, dtype=torch.int32, device=image.device) * faces
    layout = ImageLayout(
        arena, separate_corners(batch * faces, str(image.device)), batch, 3 * faces, True, as_array(start),
        arena.ints(0), height, width, unit_plane=settings.kaolin,
    )  # fmt: skip
    return find_plan(layout, settings)


def _make_points(z: Tensor, image: Tensor, height: int, width: int, settings: Settings) -> Tensor:
    """Return points (points, 3) x, y and depth in the units of the settings."""
    check_shape("face_vertices_image", image, ("batch", "faces", 3, 2))
    check_shape("face_vertices_z", z, (image.shape[0], image.shape[1], 3))
    check_triangles({"face_vertices_image": image, "face_vertices_z": z})
    if not settings.kaolin:
        image = image * image.new_tensor([0.5 * width, -0.5 * height])
        z = -z
    return torch.cat([image, z[..., None]], dim=-1).reshape(-1, 3)


def _draw(
    height: int, width: int, z: Tensor, image: Tensor, features: Tensor, valid: Tensor | None, settings: Settings
) -> tuple[Tensor, Tensor]:
    """Return planes (batch, height, width, channels and mask), and indices of faces within a mesh, int64."""
    points = _make_points(z, image, height, width, settings)
    check_shape("face_features", features, (image.shape[0], image.shape[1], 3, "channels"))
    check_triangles({"face_vertices_image": image, "face_features": features})
    if valid is not None:
        check_shape("valid faces", valid, (image.shape[0], image.shape[1]))
        if valid.dtype != torch.bool:
            raise InputError(f"valid faces: got {valid.dtype}; expected bool: True for faces to draw")
    plan = _find_plan(height, width, image, settings)
    # Kaolin lets invalid faces take part in the mask; our rules leave them out.
    flags = plan.arena.flags(0) if valid is None else as_array(valid.reshape(-1))
    planes, index = Rasterise.apply(plan, flags, points, features.reshape(-1, features.shape[-1]))  # type: ignore[no-untyped-call]
    return planes, torch.where(index >= 0, index % max(int(image.shape[1]), 1), -1).long()


@functools.lru_cache(maxsize=8)
def separate_corners(triangles: int, device: str) -> Corners:
    """Return corners of triangles that share no points: 0 1 2, 3 4 5, ..."""
    count = as_array(torch.arange(3 * triangles + 1, dtype=torch.int32, device=device))
    return Corners(count[:-1].reshape(-1, 3), count, count[:-1])


def wrap_points(points: Tensor, valid: Any, arena: Arena) -> DibrSource:
    """Return a source of points that are on the screen already."""
    none, two = arena.floats(0, 3), arena.floats(2)
    return DibrSource(0, Cameras(arena.floats(0, 3, 3), none, two, two), none, as_array(points), valid)


def make_unshaded(arena: Arena) -> DibrSurfacing:
    """Return rules that leave values unchanged."""
    kinds = arena.ints(0)
    lights = Lights(arena.floats(1, 3), kinds, arena.floats(1, 0, 9), arena.floats(1, 0, 3), arena.floats(1, 1))
    texels = Texels(1, 1, 1, 0, arena.floats(1, 1, 3))
    return DibrSurfacing(0, 0, 0, texels, arena.floats(1, 3), kinds, kinds, kinds, lights)


class Rasterise(torch.autograd.Function):
    """Autograd function (plan, valid, points (points, 3), features (points, n)) -> planes, triangles.

    planes: (frames, height, width, n and mask if soft), 0 where nothing is shown. triangles: (frames, height, width)
    int32, -1 for none.
    """

    @staticmethod
    def forward(ctx: Any, plan: DibrPlan, valid: Any, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
        source, arena = wrap_points(points, valid, plan.arena), plan.arena
        drawn = rasterise(plan, source)
        carried = collect_features(arena.floats(int(points.shape[0]), 0), as_array(features), plan.layout.corners)
        shaded, planes = shade(plan, source, drawn, carried, make_unshaded(arena), (), None)
        ctx.plan, ctx.source, ctx.drawn, ctx.shaded = plan, source, drawn, shaded
        ctx.save_for_backward(points, features)
        index = plan.layout.crop(drawn.coverage.face_index)
        ctx.mark_non_differentiable(index)
        return crop(plan, planes.colour), index

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_planes: Tensor, _: Any) -> tuple[Any, ...]:
        plan: DibrPlan = ctx.plan
        _, features = ctx.saved_tensors  # reading them checks that they were not changed
        found = draw_adjoint(
            plan, ctx.source, ctx.drawn, ctx.shaded, plan.layout.corners, Extras(), pad(plan, adj_planes), None,
            soft=plan.settings.soft,
        )  # fmt: skip
        made = found.cotangents
        own = plan.arena.tensor(made.own).reshape(features.shape)
        return None, None, plan.arena.tensor(made.screen), own


class SoftMask(torch.autograd.Function):
    """Autograd function (plan, points (points, 3), covered (frames, height, width) bool) -> mask (frames, height,
    width).
    """

    @staticmethod
    def forward(ctx: Any, plan: DibrPlan, points: Tensor, covered: Tensor) -> Tensor:
        layout, arena = plan.layout, plan.arena
        flags = arena.flags(*layout.padded, fill=False)
        flags[:, : layout.height, : layout.width] = as_array(covered)
        ctx.plan, ctx.source = plan, wrap_points(points, arena.flags(0), arena)
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
        shaded = ShadingRecord(pixels, collect_features(rows, rows, plan.layout.corners), values, make_unshaded(arena))
        found = draw_adjoint(
            plan, ctx.source, ctx.drawn, shaded, plan.layout.corners, Extras(), pad(plan, adj_mask[..., None]), None,
            soft=True,
        )  # fmt: skip
        return None, arena.tensor(found.cotangents.screen), None
