"""Displacement of the object in the video from the drawn one, frame by frame: it shows errors of the model's motion."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn.functional import max_pool2d

from diffloom.interfaces import Image
from diffloom_fitting.losses.loss import Loss
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.trust.correlated_noise import CorrelatedNoise, local_size
from diffloom_fitting.trust.linearised import Linearised
from diffloom_fitting.trust.outlines import OUTLINE

LEAST = 4  # smallest number of frames
EXACT = 0.01  # smallest displacement that counts [px]; less is rounding or an unfinished fit
PLACE = 0.1  # uncertainty of the place of an object that was cut out of a recorded frame [px]
ACROSS = 2  # number of ways to move an image: right and down


@dataclass(frozen=True)
class Displacement:
    """Distance of the video's object from the drawn one.

    Args:
        pixels: Root mean square distance over frames [px].
        times: Distance in multiples of that allowed by noise, and in segmented videos by the uncertainty of a place:
            the Birge ratio, 1 for these alone.
        shift: (n,), shift of the estimate, in scaled coordinates, by a displacement of that size in segmented videos
            that varies over time so that it shifts the estimate most; None where it was not measured.
    """

    pixels: float = 0.0
    times: float = 1.0
    shift: Tensor | None = None


def displacement(
    objective: Objective, end: Linearised, left: Tensor | None = None, inverse: Tensor | None = None
) -> Displacement:
    """Measure the displacement; the largest of all views counts.

    In each frame the drawn image may move right and down and grow, to fit its residuals best. The covariance of these
    three, for noise correlated like the residuals, says how far noise alone would move them.

    Where an object was cut out of a recorded video, shadows, shading, coded colours and motion blur move its outline by
    different amounts on its sides, and slowly over time, which noise does not explain. A displacement of `PLACE` is no
    evidence against the model. Its effect on the estimate is `Displacement.shift`: a displacement as large as the one
    that remains may have gone into the unknowns.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        left: (N,), residuals that remain if numbers taken as known change within their tolerances; None for those at
            the end of the fit.
        inverse: (n, n) from J r to a step, in scaled coordinates; None to leave `Displacement.shift` out.

    Returns:
        The displacement; none if the loss compares no images or the video has fewer than four frames.
    """
    if not {"rgba", "silhouette"} & set(objective.loss.outputs):
        return Displacement()
    change = [None] * len(end.fields) if left is None else (left - end.residuals).split([f.numel() for f in end.fields])
    effects = end.parts() if inverse is None else [inverse @ part for part in end.parts()]
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
        found = [
            _of_view(objective.loss, views[label], target, part, None if inverse is None else effect)
            for (label, target), part, effect in zip(objective.target.by_view().items(), change, effects, strict=True)
            if len(target) >= LEAST
        ]
    shifts = [each.shift.square() for each in found if each.shift is not None]
    largest = max(found, key=lambda each: each.times, default=Displacement())
    return replace(largest, shift=torch.stack(shifts).sum(dim=0).sqrt() if shifts else None)


def _of_view(loss: Loss, view: View, target: Target, change: Tensor | None, effects: Tensor | None) -> Displacement:
    """Measure the displacement of one view; effects: (n, N), step of the estimate by each residual."""
    exact = loss.residuals(view, target)
    if exact is None or view.image is None or exact.dim() not in (3, 4):
        return Displacement()
    residuals = _channels(exact if change is None else exact + change.reshape(exact.shape))
    ways = _list_ways(loss, view, target, exact)
    normal = torch.einsum("ifhwc,jfhwc->fij", ways, ways)
    seen = normal.diagonal(dim1=1, dim2=2).amin(dim=1) > 1e-12 * normal.amax()
    if int(seen.sum()) < LEAST:
        return Displacement()
    residuals, ways, normal = residuals[seen], ways[:, seen], normal[seen]
    slope = torch.einsum("ifhwc,fhwc->fi", ways, residuals)
    steps = torch.linalg.lstsq(normal, -slope[..., None], driver="gelsd").solution[..., 0]
    pixels = math.sqrt(float(steps[:, :ACROSS].square().sum(dim=1).mean()))
    if pixels < EXACT:
        return Displacement(pixels)
    cut_out = target.confidence is not None and not target.synthetic
    shift = None
    if cut_out and effects is not None:
        one = _channels(effects.reshape(len(effects) * len(exact), *exact.shape[1:])).unflatten(0, (-1, len(exact)))
        shift = pixels * _largest_shift(one[:, seen], ways[:ACROSS])
    rest = residuals + torch.einsum("ifhwc,fi->fhwc", ways, steps)
    scatter = torch.maximum(*(_scatter(ways, rest, local).diagonal(dim1=1, dim2=2) for local in (False, True)))
    # `slope` is the change of J r by a step, and `scatter` its variance by noise alone.
    if cut_out:
        place = torch.tensor([PLACE / math.sqrt(ACROSS)] * ACROSS + [OUTLINE], dtype=normal.dtype)
        scatter = scatter + torch.einsum("fij,j->fi", normal.square(), place.square())
    share = slope.square() / scatter.clamp(min=1e-30)
    return Displacement(pixels, max(1.0, math.sqrt(float(share.mean()))), shift)


def _list_ways(loss: Loss, view: View, target: Target, exact: Tensor, shapes: bool = False) -> Tensor:
    """Return the change of the residuals by a pixel to the right, down and in radius: central differences.

    The shape is (3, frames, height, width, channels), or (5, ...) with the two changes of shape.
    """
    assert view.image is not None
    changes = [
        _channels(_collect_targets(loss, replace(view, image=image), target) - exact)
        for image in _displace(view.image, shapes)
    ]
    return torch.stack([0.5 * (ahead - behind) for ahead, behind in zip(changes[::2], changes[1::2], strict=True)])


def discount_places(objective: Objective, end: Linearised, rows: Tensor, noise: float) -> Tensor:
    """Return rows whose products leave out what the uncertainty of places explains.

    With W the change of the residuals by displacements, growth and stretching of the object in each frame, D the
    variance of these for mattes of a recorded video (`PLACE`, and that of outlines), which lasts over the frames, and s
    the noise, products are by the inverse of the covariance of the residuals, in units of the noise:
    a' (I + W D W' / s^2)^-1 b.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        rows: (k, N), rows in the space of the residuals.
        noise: Standard deviation of a residual.

    Returns:
        (k, N), the rows times that inverse; ``rows`` where nothing was cut out of a recorded video.
    """
    targets = objective.target.by_view()
    cut_out = any(one.confidence is not None and not one.synthetic for one in targets.values())
    if not cut_out or "silhouette" not in objective.loss.outputs:
        return rows
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    parts = []
    for (label, target), field, part in zip(
        targets.items(), end.fields, rows.split([f.numel() for f in end.fields], dim=1), strict=True
    ):
        exact = objective.loss.residuals(views[label], target)
        if target.confidence is None or target.synthetic or exact is None or views[label].image is None:
            parts.append(part)
            continue
        ways = _list_ways(objective.loss, views[label], target, exact, shapes=True).flatten(2)
        place = torch.tensor([PLACE / math.sqrt(ACROSS)] * ACROSS + [OUTLINE] * 3, dtype=ways.dtype)
        known = torch.diag(noise**2 / (len(field) * place.square()))
        within = torch.einsum("ifp,jfp->fij", ways, ways) + known
        each = part.reshape(len(part), len(field), -1)
        found = torch.linalg.solve(within, torch.einsum("ifp,kfp->fik", ways, each))
        parts.append((each - torch.einsum("ifp,fik->kfp", ways, found)).reshape(part.shape))
    return torch.cat(parts, dim=1)


def _largest_shift(effects: Tensor, ways: Tensor) -> Tensor:
    """Return the largest shift (n,) of the estimate by displacements of 1 px, root mean square over frames.

    Args:
        effects: (n, frames, height, width, channels), step of the estimate by each residual.
        ways: (2, frames, height, width, channels), change of the residuals by a pixel to the right and down.
    """
    by_frame = torch.einsum("nfhwc,ifhwc->nif", effects, ways)
    # Cauchy and Schwarz: the sum over frames and directions is largest for displacements proportional to its terms.
    return by_frame.square().sum(dim=(1, 2)).sqrt() * math.sqrt(by_frame.shape[2])


def _scatter(ways: Tensor, rest: Tensor, local: bool) -> Tensor:
    """Return the covariance (frames, 3, 3) of J r of each frame, for noise like ``rest``."""
    size = local_size(rest).clamp(min=1e-12) if local else torch.ones_like(rest[..., :1])
    noise = CorrelatedNoise.of(rest / size)
    alone = replace(noise, in_time=noise.in_time[:1])
    return torch.stack([alone.scatter(ways[:, f : f + 1] * size[f]) for f in range(len(rest))])


def _collect_targets(loss: Loss, view: View, target: Target) -> Tensor:
    found = loss.residuals(view, target)
    assert found is not None
    return found


def _channels(residuals: Tensor) -> Tensor:
    """Return residuals as (frames, height, width, channels)."""
    return residuals[..., None] if residuals.dim() == 3 else residuals


def _displace(image: Image, shapes: bool = False) -> Iterator[Image]:
    """Yield the drawn object one pixel to the right, left, down and up, and one pixel larger and smaller in radius.

    Args:
        image: The images as drawn.
        shapes: True to add it one pixel longer and shorter across the image, and along its diagonals.
    """
    alpha = image.alpha
    near = max_pool2d((alpha[:, None] > 1e-3).to(alpha.dtype), 5, stride=1, padding=2)[:, 0, :, :, None]
    for way in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        yield _change_nearby(image, near, lambda frames, way=way: frames.roll(way, dims=(1, 2)))
    across, down = _outward(alpha)
    for right, below in ((across, down), (across, -down), (down, across))[: 3 if shapes else 1]:
        for sign in (1.0, -1.0):

            def move(frames: Tensor, right: Tensor = sign * right, below: Tensor = sign * below) -> Tensor:
                along = 0.5 * (frames.roll(-1, dims=2) - frames.roll(1, dims=2))
                downwards = 0.5 * (frames.roll(-1, dims=1) - frames.roll(1, dims=1))
                return frames - (right * along + below * downwards)

            yield _change_nearby(image, near, move)


def _change_nearby(image: Image, near: Tensor, change: object) -> Image:
    """Return the image with colours and coverage changed near the object."""
    assert callable(change)

    def mix(frames: Tensor) -> Tensor:
        return torch.as_tensor(frames + near * (change(frames) - frames))

    rgba = None if image.rgba is None else mix(image.rgba)
    mask = None if image.silhouette is None else mix(image.silhouette[..., None])[..., 0]
    return replace(image, rgba=rgba, silhouette=mask)


def _outward(alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Return the vector from the object's centre, in its radii: right and down parts (frames, height, width, 1)."""
    rows = torch.arange(alpha.shape[1], dtype=alpha.dtype)[:, None]
    columns = torch.arange(alpha.shape[2], dtype=alpha.dtype)[None, :]
    total = alpha.sum(dim=(1, 2), keepdim=True).clamp(min=1e-12)
    radius = (total / math.pi).sqrt().clamp(min=1.0)
    across = (columns - (alpha * columns).sum(dim=(1, 2), keepdim=True) / total) / radius
    down = (rows - (alpha * rows).sum(dim=(1, 2), keepdim=True) / total) / radius
    return across[..., None], down[..., None]
