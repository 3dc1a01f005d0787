"""Statistics of what each camera shows: coverage of the object, and the share of the video that the fit reproduces."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from diffloom.interfaces import Image
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import Scene, sample_times
from diffloom_fitting.targets import Target

MEDIAN = 0.789  # median of chi-squared with three degrees of freedom, over three
COVERED = 0.02  # coverage from which on a pixel shows the object
FAITHFUL = 1e-3  # residual, relative to the contrast, below which the rest is rounding or an unfinished fit


@dataclass(frozen=True)
class ViewStatistics:
    """Statistics of one camera's video and of the fitted images.

    Args:
        label: Name of the view; "" for a single one.
        frames: Number of frames.
        covered: (frames,), pixels that the fitted object covers.
        change: Root mean square change of the video's pixels over time, where any changes.
        contrast: Root mean square difference of the video from its background, where either shows the object.
        level: Size of a grey level or of the noise; smaller differences are invisible.
        explained: Share, up to 1, of the contrast that the fit reproduces, not counting noise.
        misfit: Ratio of the residuals on the object to those elsewhere, which are noise; 0 where noise is not uniform,
            such as in recorded videos.
    """

    label: str
    frames: int
    covered: Tensor
    change: float
    contrast: float
    level: float
    explained: float
    misfit: float = 0.0

    @property
    def constant(self) -> bool:
        """True if all frames are alike."""
        return self.change <= 2.0 * self.level

    @property
    def blank(self) -> bool:
        """True if the video shows only its background."""
        return self.contrast <= 2.0 * self.level


def measure_views(objective: Objective, z: Tensor) -> list[ViewStatistics]:
    """Measure the statistics of each view; an empty list if the loss compares no images."""
    if not objective.loss.outputs:
        return []
    values = {name: value.detach() for name, value in objective.values(z).items()}
    found = []
    for label, target in objective.target.by_view().items():
        scene = objective.scene.select_view(label)
        colours, covered = "rgba" in objective.loss.outputs, target.masks is not None
        covered |= target.frames is not None and target.frames.shape[-1] == 4
        # Colours if the loss compares them; else coverage if the target has it.
        outputs = ("rgba",) if target.frames is not None and (colours or not covered) else ("silhouette",)
        with torch.no_grad():
            image = _image(objective, scene, target, values, outputs)
        found.append(_sight(label, scene, target, image))
    return found


def measure_followed(objective: Objective, z: Tensor) -> float | None:
    """Measure the share, up to 1, of the motion of measured states that the fit reproduces.

    Args:
        objective: Objective of the fit.
        z: (n,), the end of the fit.

    Returns:
        The smallest of all views; None if images are compared, or no states, and 0 for states that do not change.
    """
    targets = objective.target.by_view()
    if objective.loss.outputs or any(target.q is None for target in targets.values()):
        return None
    with torch.no_grad():
        views, found = objective.views(z, gradient=False), list[float]()
        for label, target in targets.items():
            view = views[label]
            if target.q is None or target.q.shape != view.q.shape or len(target) < 2:
                return None
            ends = (view, replace(view, q=target.q[:1].expand_as(target.q)))
            left, moved = (objective.loss.residuals(one, target) for one in ends)
            if left is None or moved is None:
                return None
            whole = float(moved.square().sum())
            found.append(1.0 - float(left.square().sum()) / whole if whole > 0.0 else 0.0)
    return min(found)


def _image(
    objective: Objective, scene: Scene, target: Target, values: dict[str, Tensor], outputs: tuple[str, ...]
) -> Image:
    times = scene.get_exposure_times(target.times + scene.viewpoint.time_offset, values)
    sampling = sample_times(times, scene.dt, scene.steps)
    made = objective.rollouts.without_gradient(scene, values, sampling.save)
    return scene.draw(made.trajectory, made.params, values, outputs, sampling)[0]


def _sight(label: str, scene: Scene, target: Target, image: Image) -> ViewStatistics:
    alpha, colours = image.alpha, image.rgba is not None
    if colours:
        assert target.frames is not None
        assert image.rgba is not None
        video, shown, behind = target.frames[..., :3], image.rgba[..., :3], scene.behind
    else:
        video, shown = target.coverage()[..., None], alpha[..., None]
        behind = torch.zeros(1, dtype=video.dtype)
    left = (shown - video).square().mean(dim=-1)
    apart = (video - behind).square().mean(dim=-1)
    noise = _noise(left, alpha)
    level = max(target.step, 1e-6, noise**0.5)
    anywhere = (alpha > COVERED) | (apart > (3.0 * level) ** 2)
    contrast, rest, change = 0.0, 0.0, 0.0
    if bool(anywhere.any()):
        contrast = max(float(apart[anywhere].mean()) - noise, 0.0)
        rest = max(float(left[anywhere].mean()) - noise, 0.0)
    if len(video) > 1:
        moves = (video - video.mean(dim=0)).square().mean(dim=(0, -1))
        lively = moves > max(float(moves.max()) * 0.1, 0.0)
        change = float(moves[lively].mean()) if bool(lively.any()) else 0.0
        change = max(change - noise, 0.0)
    explained = 1.0 - rest / contrast if contrast > 0.0 else 0.0
    rest_times = misfit(target, left, alpha, FAITHFUL**2 * contrast)
    return ViewStatistics(
        label, len(video), alpha.sum(dim=(1, 2)), change**0.5, contrast**0.5, level, explained, rest_times
    )


def misfit(target: Target, left: Tensor, alpha: Tensor, faithful: float) -> float:
    """Return the rms of the residuals on the object over that elsewhere; 0 where the two need not be equal.

    Args:
        target: The video.
        left: (frames, height, width), mean squared residuals.
        alpha: (frames, height, width), coverage of the fitted object.
        faithful: Mean square below which a residual is too small to matter.
    """
    away, covered = _away(left, alpha), alpha > COVERED
    if not target.synthetic or target.chroma > 1 or not bool(away.any() and covered.any()):
        return 0.0
    # The median is robust against pixels in which the video's object is where the fitted one never is.
    elsewhere = float(left.mean(dim=0)[away[0]].median())
    floor = max(elsewhere, target.step**2 / 3.0, faithful, 1e-20)
    return math.sqrt(float(left[covered].mean()) / floor)


def _away(left: Tensor, alpha: Tensor) -> Tensor:
    """Return the pixels that the fitted object never covers; none if they are too few to measure noise."""
    away = (alpha.amax(dim=0) < 1e-6).expand_as(left)
    return away if int(away.sum()) >= 100 else torch.zeros_like(away)


def _noise(left: Tensor, alpha: Tensor) -> float:
    """Return the mean squared residual where the fitted object never is; 0 if it is everywhere.

    It is derived from the median, because the video's object may be there.
    """
    away = _away(left, alpha)
    return float(left[away].median()) / MEDIAN if bool(away.any()) else 0.0
