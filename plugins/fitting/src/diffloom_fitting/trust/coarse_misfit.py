"""Misfit of recorded videos: means of residuals over squares of pixels, on the object against elsewhere.

A codec blurs outlines and colours within a few pixels. Means over squares hide that, and not an error of the motion.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d, max_pool2d

from diffloom_fitting.losses.chroma import brightness
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target
from diffloom_fitting.trust.linearised import Linearised
from diffloom_fitting.trust.sight import COVERED

SIDE = 4  # side of the squares [px]
LEAST = 12  # smallest number of squares that the object never covers
FAITHFUL = 0.02  # mean residual, as a part of the contrast, below which looks are not told apart


def measure_coarse_misfit(objective: Objective, end: Linearised, left: Tensor | None = None) -> float:
    """Measure how much larger mean residuals are on the object than elsewhere; the largest of all views counts.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        left: (N,), residuals that remain if numbers taken as known change within their tolerances; None for those at
            the end of the fit.

    Returns:
        The ratio; 0 without a recorded video whose colours are compared.
    """
    targets = objective.target.by_view()
    if "rgba" not in objective.loss.outputs or all(target.synthetic for target in targets.values()):
        return 0.0
    with torch.no_grad():
        views = objective.views(end.z, gradient=False)
    rest = (end.residuals if left is None else left).split([field.numel() for field in end.fields])
    behind = objective.scene.behind
    found = [
        _of_view(views[label], target, part.reshape(field.shape), behind)
        for (label, target), field, part in zip(targets.items(), end.fields, rest, strict=True)
        if not target.synthetic and field.dim() == 4 and field.shape[-1] >= 3
    ]
    return max(found, default=0.0)


def _of_view(view: View, target: Target, residuals: Tensor, behind: Tensor) -> float:
    if view.image is None or target.frames is None or target.frames.shape[:3] != residuals.shape[:3]:
        return 0.0
    means = avg_pool2d(brightness(residuals)[..., 0][:, None], SIDE)[:, 0].square()
    covered = max_pool2d(view.image.alpha[:, None], SIDE)[:, 0]
    away, shown = covered.amax(dim=0) < 1e-6, covered > COVERED
    if int(away.sum()) < LEAST or not bool(shown.any()):
        return 0.0
    apart = brightness(target.frames[..., :3] - behind)[..., 0].square()
    contrast = float(apart[view.image.alpha > COVERED].mean())
    # The median is robust against squares in which the video's object is where the fitted one never is.
    elsewhere = float(means.mean(dim=0)[away].median())
    floor = max(elsewhere, target.step**2 / 12.0, FAITHFUL**2 * contrast, 1e-20)
    return math.sqrt(float(means[shown].mean()) / floor)
