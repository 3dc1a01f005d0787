"""Errors of a camera and its codec that no unknown stands for: blur, brightness, contrast and frame mixing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad

from diffloom.interfaces import Image
from diffloom_fitting.losses.chroma import brightness
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.trust.linearised import Linearised

STEP = 0.01  # change of brightness or contrast, relative to full brightness


def camera_shift(objective: Objective, end: Linearised, kept: Tensor, noise: float) -> tuple[Tensor, Tensor]:
    """Return the shift of the estimate if the camera's errors were fitted with the unknowns.

    One Gauss-Newton step with a column for each error of each video, and one for its drift, because codecs lose more
    detail from frame to frame. The shift by noise alone allows Hausman's test (1978).

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        kept: (n, k), the directions that are determined.
        noise: Standard deviation of independent pixels.

    Returns:
        (n,) the shift and (n,) its part by noise alone, in scaled coordinates. Both are zero if no video was recorded
        or if its loss compares no images.
    """
    cross, own, slopes = list_camera_changes(objective, end, end.unit)
    if not len(own) or kept.shape[1] == 0:
        return torch.zeros_like(end.size), torch.zeros_like(end.size)
    inner = kept.T @ (end.unit @ end.unit.T + end.prior) @ kept
    beside = kept.T @ cross
    joint = torch.cat([torch.cat([inner, beside], dim=1), torch.cat([beside.T, own], dim=1)])
    slope = torch.cat([kept.T @ end.half, slopes])
    # The pseudoinverse shares the residual among errors that look alike, such as blur and lag of a still object.
    both, alone, k = torch.linalg.pinv(joint, hermitian=True), torch.linalg.inv(inner), len(inner)
    moved = kept @ (both[:k] @ slope - alone @ slope[:k])
    freed = (kept @ (both[:k, :k] - alone) @ kept.T).diagonal().clamp(min=0.0)
    return moved.abs(), noise * freed.sqrt()


def list_camera_changes(objective: Objective, end: Linearised, rows: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the products of all errors of the cameras with slopes, with each other, and with the residuals.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        rows: (n, N), slopes of the residuals.

    Returns:
        (n, C), (C, C) and (C,), for C errors with slopes of unit length; C is 0 if no video was recorded.
    """
    errors = list(_errors(objective, end, rows))
    if not errors:
        return rows.new_zeros(len(rows), 0), rows.new_zeros(0, 0), rows.new_zeros(0)
    cross, own, slopes = (list(parts) for parts in zip(*errors, strict=True))
    return torch.cat(cross, dim=1), torch.block_diag(*own), torch.cat(slopes)


def _errors(objective: Objective, end: Linearised, rows: Tensor) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield the three products for each recorded video."""
    targets = objective.target.by_view()
    if not objective.loss.outputs or not any(target.step > 0.0 for target in targets.values()):
        return
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    ends, parts = 0, torch.split(rows, [field.numel() for field in end.fields], dim=1)
    for (label, target), field, part in zip(targets.items(), end.fields, parts, strict=True):
        residuals = end.residuals[ends : ends + field.numel()]
        ends += field.numel()
        changes = _changes(objective.loss, views[label], target) if target.step > 0.0 else []
        if changes:
            frames = len(field) if field.dim() > 1 and len(field) == len(target) else 1
            yield _normal(torch.cat([part, residuals[None]]), torch.stack(changes).to(part.dtype), frames)


def _normal(rows: Tensor, changes: Tensor, frames: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (J'E, E'E, E'r) for changes (c, N) that are constant, and that grow over the frames.

    The sums run frame by frame, because all columns of a long video would not fit into memory.

    Args:
        rows: (n + 1, N), slopes and residuals.
        changes: (c, N), changes of the residuals.
        frames: Number of frames in N.
    """
    count = 2 * len(changes)
    cross, own = rows.new_zeros(len(rows), count), rows.new_zeros(count, count)
    drift = torch.linspace(-1.0, 1.0, frames, dtype=rows.dtype) if frames > 1 else rows.new_zeros(1)
    parts = zip(drift, rows.chunk(frames, dim=1), changes.chunk(frames, dim=1), strict=True)
    for time, row, change in parts:
        columns = torch.cat([change, time * change])
        cross += row @ columns.T
        own += columns @ columns.T
    some = own.diagonal() > 0.0
    length = own.diagonal()[some].sqrt()
    cross, own = cross[:, some] / length, own[some][:, some] / torch.outer(length, length)
    return cross[:-1], own, cross[-1]


def _changes(loss: Loss, view: View, target: Target) -> list[Tensor]:
    """Return the change of the residuals (N,) for each error of a recorded video that is visible."""
    exact = loss.residuals(view, target)
    if view.image is None or exact is None:
        return []
    seen = [
        loss.residuals(replace(view, image=image), target) for image in _vary_recording(view.image, target.chroma > 1)
    ]
    changes = [(each - exact).reshape(-1) for each in seen if each is not None]
    return [change for change in changes if bool(change.any())]


def _vary_recording(image: Image, coded: bool) -> Iterator[Image]:
    """Yield the images with one error each: blurred, brighter, with more contrast, late, early.

    Args:
        image: The images as drawn.
        coded: True to change brightness and colour separately, because codecs store colour at lower resolution.
    """
    for change in (_blur, _brighter, _raise_contrast, _late, _early):
        rgba = None if image.rgba is None else change(image.rgba)
        mask = None if image.silhouette is None else change(image.silhouette[..., None])[..., 0]
        if not coded or rgba is None or image.rgba is None:
            yield replace(image, rgba=rgba, silhouette=mask)
            continue
        grey = torch.cat([brightness(rgba - image.rgba).expand_as(rgba[..., :3]), (rgba - image.rgba)[..., 3:]], dim=-1)
        yield replace(image, rgba=image.rgba + grey, silhouette=mask)
        yield replace(image, rgba=rgba - grey)


def _blur(frames: Tensor) -> Tensor:
    """Replace each pixel by the mean of its 3 x 3 neighbourhood; frames: (frames, height, width, channels)."""
    edged = pad(frames.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="replicate")
    return avg_pool2d(edged, 3, stride=1).permute(0, 2, 3, 1)


def _brighter(frames: Tensor) -> Tensor:
    return frames + STEP


def _raise_contrast(frames: Tensor) -> Tensor:
    return frames * (1.0 + STEP)


def _late(frames: Tensor) -> Tensor:
    return torch.cat([frames[:1], frames[:-1]])


def _early(frames: Tensor) -> Tensor:
    """Mix in the next frame, as codecs with bidirectional prediction do."""
    return torch.cat([frames[1:], frames[-1:]])
