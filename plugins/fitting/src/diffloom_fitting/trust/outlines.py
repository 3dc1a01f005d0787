"""Errors of outlines: of those that were cut out of a video, and of those that a renderer draws."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import InputError, Renderer, SimulationError
from diffloom.plugins import get_renderer, renderers
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.trust.directions import split
from diffloom_fitting.trust.linearised import Linearised, linearise
from diffloom_fitting.unknowns import Unknown, UnknownLayout, resolve

OUTLINE = 0.25  # uncertainty of a segmented outline [px]
SIZE = "appearance.size"
STEP = 1e-3  # relative step of the size in a central difference
EXACT = "coverage"  # renderer of exact coverage, the reference for every renderer


def outline_shift(objective: Objective, end: Linearised, inverse: Tensor) -> Tensor:
    """Shift of the estimate, in scaled coordinates, if all outlines lay a quarter of a pixel farther out.

    The place where an object ends in a video depends on its encoding, on sharpening and on the segmenter, alike in all
    frames, so no residual shows an error of it: it is the error of a ruler.

    The change of the residuals is the slope of the drawn images by the object's size, times the share of the size that
    moves the outline of a frame by so much. It is taken from the renderer like all other slopes, so a renderer that
    draws hard edges, whose slopes are large in a few pixels, is answered as one that draws soft ones.

    Args:
        objective: The problem of the last stage.
        end: The fit's end, linearised.
        inverse: (n, n) from J r to a step, in scaled coordinates.

    Returns:
        (n,), zero where no masks were made.
    """
    targets = objective.target.by_view()
    if all(target.confidence is None for target in targets.values()) or not objective.loss.outputs:
        return torch.zeros_like(end.size)
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    slopes = _slopes_by_size(objective, end.z) if "silhouette" in objective.loss.outputs else None
    changes = []
    for number, (label, target) in enumerate(targets.items()):
        field = end.fields[number]
        change = torch.zeros_like(field)
        if target.confidence is not None and objective.loss.outputs == ("outline",):
            change = _of_tracks(objective, views[label], target, field)
        elif target.confidence is not None and slopes is not None:
            change = slopes[number] * _shares(views[label], field)
        changes.append(change.reshape(-1))
    change = torch.cat([each.to(end.residuals.dtype) for each in changes])
    return torch.as_tensor((inverse @ (end.unit @ change)).abs())


def _of_tracks(objective: Objective, view: View, target: Target, field: Tensor) -> Tensor:
    """Change of a field of residuals if the target's radii were smaller by the outline's error."""
    if target.tracks is None:
        return torch.zeros_like(field)
    smaller = target.tracks - torch.tensor([0.0, 0.0, OUTLINE, 0.0], dtype=target.tracks.dtype)
    exact = objective.loss.residuals(view, target)
    wider = objective.loss.residuals(view, replace(target, tracks=smaller))
    assert exact is not None
    assert wider is not None
    return wider - exact


def _slopes_by_size(objective: Objective, z: Tensor) -> list[Tensor] | None:
    """Derivative of each view's residuals by the logarithm of the drawn size."""
    ahead, behind = (_fields_at_size(objective, z, factor) for factor in (1.0 + STEP, 1.0 - STEP))
    return [(a - b) / (2.0 * STEP) for a, b in zip(ahead, behind, strict=True)]


def _fields_at_size(objective: Objective, z: Tensor, factor: float) -> list[Tensor]:
    """Residuals of each view with everything drawn ``factor`` times as large."""
    whole = z if objective.tie is None else objective.tie.expand(z)
    values = objective.layout.sought(whole)
    slot = resolve([Unknown(SIZE)], objective.scene).slots[0]
    size = factor * values.get(SIZE, slot.start.to(z.dtype))
    kept = [k for k, each in enumerate(objective.layout.slots) if each.name != SIZE]
    parts = objective.layout.split(whole)
    layout = UnknownLayout((*[objective.layout.slots[k] for k in kept], slot), objective.layout.dtype)
    there = torch.cat([*[parts[k] for k in kept], slot.space.encode(size.reshape(-1), SIZE).to(z.dtype)])
    changed = replace(objective, layout=layout, tie=None, gaussian=None)
    return changed.residual_fields(there)


def _shares(view: View, field: Tensor) -> Tensor:
    """Share of the object's size, in each frame, that moves its outline by `OUTLINE`; of the shape of ``field`` with
    axes of length 1 behind the first."""
    assert view.image is not None
    alpha = view.image.alpha
    across = 0.5 * (alpha.roll(-1, dims=2) - alpha.roll(1, dims=2))
    down = 0.5 * (alpha.roll(-1, dims=1) - alpha.roll(1, dims=1))
    outline = (across.square() + down.square()).sqrt().sum(dim=(1, 2))  # its length [px]
    share = OUTLINE * outline / (2.0 * alpha.sum(dim=(1, 2))).clamp(min=1e-6)
    share = torch.where(alpha.sum(dim=(1, 2)) > 0.5, share, torch.zeros_like(share))
    if field.shape[0] != len(share):
        return share.mean()
    return share.reshape(-1, *(1,) * (field.dim() - 1))


@dataclass(frozen=True)
class LensBias:
    """Difference between the images of a fit's renderer and those of exact coverage.

    Args:
        shift: (n,) how far the estimate would move, in scaled coordinates.
        area: Drawn area over the exact one, of all frames together.
        missing: True if the difference is not known, because the renderer of exact coverage is not installed.
    """

    shift: Tensor
    area: float = 1.0
    missing: bool = False


def lens_bias(objective: Objective, end: Linearised) -> LensBias:
    """Compare what the renderer draws at the end of a fit with the exact coverage of the same scene.

    A renderer that softens outlines draws objects larger or smaller than a camera sees them, alike in all frames, so
    no residual shows it. The shift is the Gauss-Newton step from the fit's end with exact coverage in place of the
    renderer's images: where residuals and slopes are exact, the fit would go on. A synthesised video is exempt, since
    a renderer drew it.

    Args:
        objective: The problem of the last stage.
        end: The fit's end, linearised.

    Returns:
        The bias; zero where nothing is drawn, or where the renderer is that of exact coverage.
    """
    none = LensBias(torch.zeros_like(end.size))
    targets = objective.target.by_view()
    images = objective.loss.outputs not in ((), ("outline",))
    if not images or any(target.synthetic for target in targets.values()):
        return none
    if is_exact(objective.scene.renderer):
        return none
    if EXACT not in renderers():
        return replace(none, missing=True)
    exact: Renderer = get_renderer(EXACT)(background=tuple(objective.scene.renderer.background))
    other = replace(objective, scene=objective.scene.with_renderer(exact))
    try:
        there = linearise(other, end.z)
        areas = [_area(each, end.z) for each in (objective, other)]
    except (InputError, SimulationError):  # it cannot draw this scene
        return replace(none, missing=True)
    curvature = there.unit @ there.unit.T + there.prior
    parted = split(curvature, there.visible | (there.prior.diagonal() > 0.0), there.rounding)
    inner = parted.kept.T @ curvature @ parted.kept
    step = parted.kept @ torch.linalg.solve(inner, parted.kept.T @ there.half)
    area = areas[0] / areas[1] if areas[1] > 0.0 else math.inf
    return LensBias((step / there.size * end.size).abs(), area)


def is_exact(renderer: Renderer) -> bool:
    """Return whether a renderer draws exact coverage.

    Args:
        renderer: Any renderer.

    Returns:
        True for the renderer "coverage", and for one that declares itself ``unbiased``.
    """
    if getattr(renderer, "unbiased", False):
        return True
    return EXACT in renderers() and type(renderer) is get_renderer(EXACT)


def _area(objective: Objective, z: Tensor) -> float:
    """Drawn area of all frames of all views [px^2]."""
    with torch.no_grad():
        views: Mapping[str, View] = objective.views(z, gradient=False)
    return sum(float(view.image.alpha.sum()) for view in views.values() if view.image is not None)
