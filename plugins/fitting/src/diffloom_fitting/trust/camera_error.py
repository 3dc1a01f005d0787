"""What a camera and its codec do that no unknown stands for: soften, brighten, and show a trace of the frame before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, pad

from diffloom.interfaces import Image
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.trust.linearised import Linearised

STEP = 0.01  # of full brightness
OUTLINE = 0.25  # [px]: as well as an outline that was cut out of a video is known


def camera_shift(objective: Objective, end: Linearised, kept: Tensor) -> Tensor:
    """(n,): how far the estimate, in scaled coordinates, would move if the camera's errors were fitted beside it.

    One Gauss-Newton step with a column for each error and video. Zero where no video was recorded (grey levels of no
    size) or its loss compares no images. kept: (n, k), the directions that are determined.
    """
    columns = list(_columns(objective, end))
    if not columns or kept.shape[1] == 0:
        return torch.zeros_like(end.size)
    errors = torch.stack(columns)
    errors = errors / errors.norm(dim=1, keepdim=True)
    joint = torch.cat([kept.T @ end.unit, errors])
    curvature = joint @ joint.T
    k = kept.shape[1]
    curvature[:k, :k] += kept.T @ end.prior @ kept
    slope = torch.cat([kept.T @ end.half, errors @ end.residuals])
    # Errors that look alike, as blur and lag of a still object do, share what they explain.
    moved = torch.linalg.lstsq(curvature, slope[:, None], driver="gelsd").solution[:k, 0]
    alone = torch.linalg.solve(curvature[:k, :k], slope[:k])
    return torch.as_tensor((kept @ (moved - alone)).abs())


def outline_shift(objective: Objective, end: Linearised, inverse: Tensor) -> Tensor:
    """(n,): how far the estimate, in scaled coordinates, moves when all outlines lie a quarter of a pixel farther out.

    Where an object ends in a video is a matter of its encoding, of sharpening and of the segmenter, the same in all
    frames, so no residual tells: it is the error of a ruler. Zero where no masks were made. inverse: (n, n).
    """
    targets = objective.target.by_view()
    if all(target.confidence is None for target in targets.values()):
        return torch.zeros_like(end.size)
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    changes = []
    for (label, target), field in zip(targets.items(), end.fields, strict=True):
        exact = objective.loss.residuals(views[label], target)
        wider = None if target.confidence is None else objective.loss.residuals(*_wider(views[label], target))
        same = wider is None or exact is None or wider.numel() != field.numel()
        changes.append(torch.zeros(field.numel()) if same else (wider - exact).reshape(-1))  # type: ignore[operator]
    change = torch.cat([each.to(end.residuals.dtype) for each in changes])
    return torch.as_tensor((inverse @ (end.unit @ change)).abs())


def _wider(view: View, target: Target) -> tuple[View, Target]:
    """What is drawn with its outline farther out; and tracks, which are not drawn, farther in."""
    image, tracks = view.image, target.tracks
    if image is not None and image.silhouette is not None:
        mask = image.silhouette
        across = 0.5 * (mask.roll(-1, dims=2) - mask.roll(1, dims=2))
        down = 0.5 * (mask.roll(-1, dims=1) - mask.roll(1, dims=1))
        image = replace(image, silhouette=mask + OUTLINE * (across.square() + down.square()).sqrt())
    if tracks is not None:
        tracks = tracks - torch.tensor([0.0, 0.0, OUTLINE, 0.0], dtype=tracks.dtype)
    return replace(view, image=image), replace(target, tracks=tracks)


def _columns(objective: Objective, end: Linearised) -> Iterator[Tensor]:
    """(N,) each: the residuals' change with one error of one recorded video."""
    targets = objective.target.by_view()
    if not objective.loss.outputs or not any(target.step > 0.0 for target in targets.values()):
        return
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    begins = 0
    for (label, target), field in zip(targets.items(), end.fields, strict=True):
        here, view = slice(begins, begins + field.numel()), views[label]
        begins += field.numel()
        exact = objective.loss.residuals(view, target)
        if target.step == 0.0 or view.image is None or exact is None:
            continue
        for image in _recorded(view.image):
            seen = objective.loss.residuals(replace(view, image=image), target)
            assert seen is not None
            change = (seen - exact).reshape(-1).to(end.residuals.dtype)
            if bool(change.any()):
                column = torch.zeros_like(end.residuals)
                column[here] = change
                yield column


def _recorded(image: Image) -> Iterator[Image]:
    """The images as a camera might have them: blurred, brighter, with more contrast, late."""
    for change in (_blurred, _brighter, _contrasted, _late):
        rgba = None if image.rgba is None else change(image.rgba)
        mask = None if image.silhouette is None else change(image.silhouette[..., None])[..., 0]
        yield replace(image, rgba=rgba, silhouette=mask)


def _blurred(frames: Tensor) -> Tensor:
    """Each pixel the mean of the nine around it; frames: (frames, height, width, channels)."""
    edged = pad(frames.permute(0, 3, 1, 2), (1, 1, 1, 1), mode="replicate")
    return avg_pool2d(edged, 3, stride=1).permute(0, 2, 3, 1)


def _brighter(frames: Tensor) -> Tensor:
    return frames + STEP


def _contrasted(frames: Tensor) -> Tensor:
    return frames * (1.0 + STEP)


def _late(frames: Tensor) -> Tensor:
    return torch.cat([frames[:1], frames[:-1]])
