"""Uncertainty of a fit: standard deviations from the curvature of the loss at its end and from the noise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom.validation import check_choice
from diffloom_fitting.objective import Objective
from diffloom_fitting.trust.blocks import block_covariance, student_factor, widen_by_student
from diffloom_fitting.trust.camera_error import camera_shift
from diffloom_fitting.trust.coarse_misfit import measure_coarse_misfit
from diffloom_fitting.trust.correlated_noise import CorrelatedNoise, local_size
from diffloom_fitting.trust.directions import describe, find_touched, in_natural_changes, reduce_to_echelon, split, weak
from diffloom_fitting.trust.displacement import displacement
from diffloom_fitting.trust.ledger import Ledger, Priced, build_ledger, price
from diffloom_fitting.trust.linearised import Linearised, linearise, natural_width, probe_curvature
from diffloom_fitting.trust.outlines import lens_bias, outline_shift
from diffloom_fitting.trust.posterior import Posterior, sample_posterior
from diffloom_fitting.trust.time_step import compute_half_step_residuals
from diffloom_fitting.trust.valley import measure_valley
from diffloom_fitting.unknowns import UnknownLayout

LIMIT = 32  # largest number of unknowns
OPEN = 1.0  # deviation, in natural changes, from which on an unknown is not determined
RESOLVED = 2.0  # smallest deviation, in roundings of the searched vector
FINE = 1e-4  # smallest difference that matters, in natural changes
EXACT = 1e-6  # residuals below are rounding and have no posterior
BLURS = (".lens_blur", ".exposure")  # unknowns of a camera that stand for blur
SEVERAL = 2.0  # ratio from which on a disagreement is more than noise

Method = Literal["laplace", "blocks", "posterior"]


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of the unknowns, in their units, and the quantities that they rest on.

    Args:
        deviation: Standard deviation of each unknown, of its slot's shape; NaN where the pixels leave it open.
        noise: Standard deviation of a residual that was assumed.
        condition: Largest over smallest eigenvalue of the curvature, scaled to a unit diagonal; large if unknowns trade
            off.
        correlation: (n, n), between the entries of the vector.
        inflation: Largest factor by which correlated noise widens a deviation.
        unrest: Largest change of an unknown by the next Gauss-Newton step, in its deviations by noise and by what the
            fit takes as known.
        relative_step: The same change in natural changes (a factor e for positive quantities).
        windows: Ratio of the disagreement between windows of time to that allowed by noise, of unknowns other than
            blur; 0 with too few frames.
        open: Sentences on what the pixels leave open.
        undetermined: Labels of the entries concerned.
        by_prior: Labels of entries that only the prior determines.
        images: True if the residuals are images, whose correlation is measured.
        method: "laplace", "blocks" or "posterior".
        step_bias: Change of an unknown by a shorter physics step, in its deviations; 0 for synthesised videos.
        camera_bias: Change of an unknown if blur, brightness and lag of the camera were sought too, in its deviations.
        displaced: Root mean square distance of the video's object from the drawn one [px].
        displaced_times: That distance in multiples of the one allowed by noise.
        posterior: Samples, if they were asked for.
        meaning: Meaning of ± in a sentence, if no pixels were compared.
        lens_bias: Change of an unknown if exact coverage were drawn in place of the renderer's images, in its
            deviations; 0 for synthesised videos.
        lens_area: The drawn area over the exact one.
        lens_unknown: True if these are not known, because the renderer of exact coverage is not installed.
        ledger: What the fit took as known, and how much of ± comes from it.
        coarse_misfit: Ratio of mean residuals over squares of pixels on the object to those elsewhere, if numbers taken
            as known change within their tolerances; 0 unless colours of a recorded video were compared.
    """

    deviation: dict[str, Tensor]
    noise: float
    condition: float
    correlation: Tensor
    inflation: float = 1.0
    unrest: float = 0.0
    relative_step: float = 0.0
    windows: float = 0.0
    open: tuple[str, ...] = ()
    undetermined: tuple[str, ...] = ()
    by_prior: tuple[str, ...] = ()
    images: bool = True
    method: Method = "laplace"
    step_bias: float = 0.0
    camera_bias: float = 0.0
    displaced: float = 0.0
    displaced_times: float = 1.0
    posterior: Posterior | None = None
    meaning: str = ""
    lens_bias: float = 0.0
    lens_area: float = 1.0
    lens_unknown: bool = False
    ledger: Ledger = dataclasses.field(default_factory=Ledger)
    coarse_misfit: float = 0.0


def check_method(method: str) -> None:
    """Raise unless ``method`` is a way to estimate uncertainties."""
    check_choice("uncertainty", method, get_args(Method))


def estimate_uncertainty(
    objective: Objective, z: Tensor, method: Method = "laplace", assumed: Mapping[str, float | str] | None = None
) -> Uncertainty | str:
    """Estimate the uncertainty at ``z``.

    With J the slopes of the residuals r in the searched space and P the precision of a Gaussian prior, A = J'J + P.
    Noise of covariance R gives the estimate the covariance A^-1 (J'R J + P) A^-1. R is the largest of three:
    independent pixels, with the mean square of the nonzero residuals, at least that of the grey levels;
    `CorrelatedNoise` measured on the residuals, uniform; and the same with the local size of the residuals. Directions
    in which A is rounding are left out and named.

    Added in squares are rounding and jumps one deviation away, the step that is left to go, for recorded videos errors
    of the physics step, the camera, the outlines and the renderer (`lens_bias`), and one deviation of each value in
    ``assumed``. If the object is farther from the drawn one than noise allows, the deviations grow by that factor.

    Args:
        objective: Objective of the fit.
        z: (n,), the end of the fit.
        method: "laplace": the curvature, or the block jackknife where that is several times larger. "blocks": at least
            the block jackknife over windows of time, which includes errors of the model. "posterior": the spread of
            samples from the posterior.
        assumed: Standard deviation of values that are assumed to be known, by name, in their units.

    Returns:
        The uncertainty, or the reason for having none.
    """
    if z.numel() > LIMIT:
        return f"not computed for {z.numel()} unknowns (at most {LIMIT}); seek fewer"
    try:
        end = linearise(objective, z)
    except (InputError, SimulationError) as error:
        return str(error)
    bend = end.unit @ end.unit.T
    curvature = bend + end.prior
    parted = split(curvature, end.visible | (end.prior.diagonal() > 0.0), end.rounding)
    noises = _noises(objective, end.fields, z.numel())
    inverse = _inverse(curvature, parted.kept)
    covariances = [inverse @ scatter @ inverse for scatter in _scatters(end, noises)]
    single = _root(covariances[0])
    larger = torch.stack([_root(each) for each in covariances]).max(dim=0).values
    seen = (parted.kept.abs().sum(dim=1) > 0.0).to(z.dtype)
    sigma = torch.maximum(larger, RESOLVED * torch.finfo(z.dtype).eps * z.abs().clamp(min=1.0) * end.size * seen)
    covariance = _with_diagonal(max(covariances, key=lambda each: float(each.trace())), sigma)
    step = (inverse @ end.half).abs()
    extra = probe_curvature(objective, end, _factor(covariance, parted.kept), inverse)
    local = (sigma.square() + extra.square()).sqrt()
    sigma = sigma * measure_valley(objective, end, inverse, _overall(noises))
    base = (sigma.square() + extra.square()).sqrt()
    bias = _step_bias(objective, end, inverse)
    blocks = block_covariance(end, curvature, parted.kept)
    inflation = max(1.0, _largest(_divide_or_zero(larger, single)))
    priced = price(objective, end, parted.kept, inflation * _overall(noises), assumed or {})
    # Windows, steps and cameras may disagree by as much as the assumptions allow.
    moved = displacement(objective, end, priced.left, inverse)
    place = torch.zeros_like(base) if moved.shift is None else moved.shift
    known = (base.square() + priced.added_variance + place.square()).sqrt()
    windows = 0.0 if blocks is None else _ratio(_root(blocks), known, end)
    # A codec's blur varies from frame to frame, so a sought blur differs between windows where motions do not.
    moving = _list_moving(objective.layout).to(z.dtype)
    disagreement = 0.0 if blocks is None else _ratio(moving * _root(blocks), known, end)
    # A step beyond the noise is not added to ±: the fit has not converged, and the verdict says so.
    reach = (local.square() + priced.added_variance + place.square()).sqrt()
    near = (step <= reach) | (step <= FINE * end.size * end.width)
    left = torch.where(near, step, torch.zeros_like(step))
    shift, by_noise = camera_shift(objective, end, parted.kept, _overall(noises))
    beyond = (known.square() + by_noise.square()).sqrt()
    shift = (shift.square() - by_noise.square()).clamp(min=0.0).sqrt()
    total = (base.square() + left.square() + bias.square() + shift.square()).sqrt()
    if blocks is not None and (method == "blocks" or windows > SEVERAL):
        total = torch.maximum(total, widen_by_student(end.fields) * _root(blocks))
    outline = outline_shift(objective, end, inverse)
    ruler = outline.square() + place.square() + priced.variance
    total = (total.square() + ruler).sqrt()
    lens = lens_bias(objective, end)
    lens_times = _ratio(lens.shift, total, end)
    total = (total.square() + lens.shift.square()).sqrt()
    layout, blind = objective.layout, ~end.visible & (end.prior.diagonal() == 0.0)
    open_, undetermined = left_open(layout, end.size * end.width, blind, parted.lost, _with_diagonal(covariance, total))
    deviation = _in_units(layout, z, total * moved.times / end.size, undetermined)
    scale = _slopes(layout, z).abs() / end.size
    settled = (total.square() - priced.variance + priced.added_variance).clamp(min=0.0).sqrt()
    ledger = build_ledger(
        priced,
        layout.labels(),
        scale,
        known,
        settled,
        _list_measured(objective, bias, shift, outline, place, lens.shift) | _name_correction(priced),
    )
    drawn = None
    if method == "posterior" and _overall(noises) > EXACT:
        root = _factor(covariance, parted.kept) / end.size[:, None]
        drawn = sample_posterior(objective, z, root, inflation * _overall(noises), end.residuals.numel(), seed=0)
        others = bias.square() + shift.square() + ruler + lens.shift.square()
        beside = _in_units(layout, z, others.sqrt() / end.size, undetermined)
        deviation = {name: _deviation(drawn.values[name], beside[name]) for name in deviation}
    return Uncertainty(
        deviation, _overall(noises), _condition(bend), _correlation(inverse), inflation,
        _largest(_divide_or_zero(step, reach)), _largest(step / (end.size * end.width)), disagreement, open_,
        tuple(objective.layout.labels()[i] for i in undetermined), _by_prior(objective, end),
        all(field.dim() in (3, 4) for field in end.fields), method, _ratio(bias, known, end),
        _ratio(moving * shift, beyond, end), moved.pixels, moved.times, drawn, lens_bias=lens_times,
        lens_area=lens.area, lens_unknown=lens.missing, ledger=ledger,
        coarse_misfit=measure_coarse_misfit(objective, end, priced.left),
    )  # fmt: skip


def _list_moving(layout: UnknownLayout) -> Tensor:
    """Return (n,): true for all entries except those of blur, which the test of a codec's blur is about."""
    counts = [torch.full((slot.size,), not slot.name.endswith(BLURS), dtype=torch.bool) for slot in layout.slots]
    return torch.cat(counts)


def _list_measured(
    objective: Objective, bias: Tensor, shift: Tensor, outline: Tensor, place: Tensor, lens: Tensor
) -> dict[str, tuple[float | str, Tensor]]:
    """Return what has a test of its own, for the ledger; nothing for synthetic videos."""
    scene, targets = objective.scene, objective.target.by_view().values()
    if all(target.synthetic for target in targets):
        return {}
    integrator = "the model's own" if scene.integrator is None else scene.integrator
    name = integrator if isinstance(integrator, str) else type(integrator).__name__
    found: dict[str, tuple[float | str, Tensor]] = {
        "time.dt": (scene.dt, bias),
        "integrator": (name, torch.zeros_like(bias)),
        "model and law of contact": (type(scene.model).__name__, torch.zeros_like(bias)),
        "renderer": (type(scene.renderer).__name__, lens),
        "blur, light and lag of the camera": ("none", shift),
    }
    if any(target.confidence is not None for target in targets):
        found["segmentation"] = ("outlines 0.25 px farther out", outline)
    if bool(place.any()):
        found["place in frames"] = ("drawn beside the video", place)
    return found


def _name_correction(priced: Priced) -> dict[str, tuple[float | str, Tensor]]:
    """Return the part of ± by correcting what the pixels contradict; nothing without a contradiction."""
    part = priced.larger_shift
    best = int(priced.alone[:, 2].argmax()) if len(priced.found) else 0
    return {"what the pixels contradict": (priced.found[best].name, part)} if bool(part.any()) else {}


def _deviation(draws: Tensor, beside: Tensor) -> Tensor:
    """Return the deviation of samples (count, *shape) combined with that of other errors; NaN stays."""
    return (draws.var(dim=0) + beside.square()).sqrt()


def _step_bias(objective: Objective, end: Linearised, inverse: Tensor) -> Tensor:
    """Return the shift (n,) of the estimate by the physics step: twice that of halving it, to first order."""
    finer = compute_half_step_residuals(objective, end.z)
    if finer is None or finer.shape != end.residuals.shape:
        return torch.zeros_like(end.size)
    return 2.0 * (inverse @ (end.unit @ (finer - end.residuals))).abs()


def _inverse(curvature: Tensor, kept: Tensor) -> Tensor:
    """Return the inverse (n, n) within the directions that are determined."""
    if kept.shape[1] == 0:
        return torch.zeros_like(curvature)
    inner: Tensor = torch.linalg.inv(kept.T @ curvature @ kept)
    return kept @ inner @ kept.T


def _scatters(end: Linearised, noises: list[float]) -> list[Tensor]:
    """Return the covariance (n, n) of J r for each kind of noise: independent, uniform and local; prior included."""
    pairs = list(zip(end.parts(), end.fields, strict=True))
    alone = sum_matrices([level * level * (part @ part.T) for level, (part, _) in zip(noises, pairs, strict=True)])
    together = [
        sum_matrices([correlated_scatter(part, field, local) for part, field in pairs]) for local in (False, True)
    ]
    return [scatter + end.weight * end.prior for scatter in (alone, *together)]


def _root(covariance: Tensor) -> Tensor:
    return covariance.diagonal().clamp(min=0.0).sqrt()


def _with_diagonal(covariance: Tensor, deviation: Tensor) -> Tensor:
    """Return the covariance with these deviations and its own correlations."""
    factor = _divide_or_zero(deviation, _root(covariance))
    scaled = covariance * torch.outer(factor, factor)
    return scaled - torch.diag(scaled.diagonal()) + torch.diag(deviation.square())


def _factor(covariance: Tensor, kept: Tensor) -> Tensor:
    """Return a root (n, k) of the covariance within the directions that are determined."""
    inner = kept.T @ covariance @ kept
    values, vectors = torch.linalg.eigh(0.5 * (inner + inner.T))
    root: Tensor = vectors * values.clamp(min=0.0).sqrt()
    return kept @ root


def _ratio(blocks: Tensor, base: Tensor, end: Linearised) -> float:
    """Return the largest ratio of two deviations, where they are large enough to matter."""
    matters = blocks > FINE * end.size * end.width
    return _largest(torch.where(matters, _divide_or_zero(blocks, base), torch.zeros_like(blocks)))


def _divide_or_zero(part: Tensor, whole: Tensor) -> Tensor:
    """Return part / whole, and 0 where the whole is 0."""
    some = whole > 0.0
    return torch.where(some, part / torch.where(some, whole, torch.ones_like(whole)), torch.zeros_like(part))


def _largest(values: Tensor) -> float:
    return float(values.max()) if values.numel() else 0.0


def left_open(
    layout: UnknownLayout, natural: Tensor, blind: Tensor, lost: Tensor, covariance: Tensor, data: str = "the images"
) -> tuple[tuple[str, ...], list[int]]:
    """Describe the directions that are not determined, and find the entries concerned.

    Args:
        layout: Positions of the unknowns in the vector.
        natural: (n,), natural changes of the entries, in scaled coordinates.
        blind: (n,), entries that the residuals do not depend on.
        lost: (n, k), directions that are not determined, in scaled coordinates.
        covariance: (n, n), in scaled coordinates.
        data: Name of the compared data in sentences.

    Returns:
        Sentences, and the sorted entries.
    """
    labels = layout.labels()
    told = [f"{data} do not depend on {labels[i]}" for i in range(len(blind)) if bool(blind[i])]
    concerned = {i for i in range(len(blind)) if bool(blind[i])}
    rows = [in_natural_changes(way, natural) for way in lost.T]
    ways = reduce_to_echelon(torch.stack(rows), blind) if rows else []
    for way in ways:
        told.append(describe(layout, way))
        concerned |= set(find_touched(way))
    loose = covariance / torch.outer(natural, natural)
    for way in weak(loose, OPEN).T:
        told.append(f"given the noise, {describe(layout, way)}")
        # Unlike an exact trade-off, noise leaves small components with a deviation of their own.
        concerned |= {i for i in find_touched(way) if float(loose[i, i]) > (0.5 * OPEN) ** 2}
    return tuple(dict.fromkeys(told)), sorted(concerned)


def clustered_uncertainty(
    layout: UnknownLayout, z: Tensor, curvature: Tensor, pulls: Tensor, noise: float, data: str, meaning: str
) -> Uncertainty | str:
    """Estimate the uncertainty if residuals come in independent groups: the sandwich estimator (Liang and Zeger 1986).

    With H the curvature and g the gradient of each group's part of the loss, the covariance is H^-1 (sum of g g') H^-1,
    times groups / (groups - unknowns). Deviations are widened by `student_factor`, because few groups tell their own
    scatter badly.

    Args:
        layout: Positions of the unknowns in the vector.
        z: (n,), the end of the fit.
        curvature: (n, n), H, half the curvature of the loss.
        pulls: (groups, n), half the gradient of each group's part of the loss.
        noise: Root of the mean squared residual.
        data: Name of the compared data in sentences, such as "the clips".
        meaning: Meaning of ± in a sentence.

    Returns:
        The uncertainty, or the reason for having none: it needs more groups than unknowns.
    """
    groups, n = pulls.shape
    if groups <= n:
        noun = data.removeprefix("the ")
        return f"{groups} {noun} are fitted to {n} numbers; ± needs more {noun} than unknown numbers: add {noun}"
    size = curvature.diagonal().clamp(min=0.0).sqrt()
    blind = size == 0.0
    size = torch.where(blind, torch.ones_like(size), size)
    bend, pulls = curvature / torch.outer(size, size), pulls / size
    parted = split(bend, ~blind, torch.zeros_like(size))
    inverse = _inverse(bend, parted.kept)
    covariance = inverse @ (pulls.T @ pulls) @ inverse * (student_factor(groups - n) ** 2 * groups / (groups - n))
    sigma, step, natural = _root(covariance), (inverse @ pulls.sum(dim=0)).abs(), size * natural_width(layout, z)
    open_, undetermined = left_open(layout, natural, blind, parted.lost, covariance, data)
    step = _determined_step(bend, pulls.sum(dim=0), step, undetermined)
    return Uncertainty(
        _in_units(layout, z, sigma / size, undetermined), noise, _condition(bend),
        _correlation(inverse), 1.0, _largest(_divide_or_zero(step, sigma)), _largest(step / natural), 0.0, open_,
        tuple(layout.labels()[i] for i in undetermined), (), False, meaning=meaning,
    )  # fmt: skip


def _determined_step(bend: Tensor, pull: Tensor, step: Tensor, undetermined: list[int]) -> Tensor:
    """Return the next step (n,) with undetermined entries held: a positive one may fall towards 0 for ever."""
    if not undetermined:
        return step
    kept = torch.ones(len(step), dtype=torch.bool)
    kept[undetermined] = False
    found = torch.zeros_like(step)
    if bool(kept.any()):
        found[kept] = (torch.linalg.pinv(bend[kept][:, kept], hermitian=True) @ pull[kept]).abs()
    return found


def _by_prior(objective: Objective, end: Linearised) -> tuple[str, ...]:
    labels = objective.layout.labels()
    alone = ~end.visible & (end.prior.diagonal() > 0.0)
    return tuple(labels[i] for i in range(len(alone)) if bool(alone[i]))


def _in_units(layout: UnknownLayout, z: Tensor, deviation: Tensor, undetermined: list[int]) -> dict[str, Tensor]:
    """Convert deviations in the searched space to the unknowns' units; NaN for undetermined entries."""
    carried = deviation * _slopes(layout, z).abs()
    carried[undetermined] = math.nan
    return {s.name: p.reshape(s.shape) for s, p in zip(layout.slots, layout.split(carried), strict=True)}


def _condition(bend: Tensor) -> float:
    values = torch.linalg.eigvalsh(bend)
    return float(values[-1] / values[0]) if float(values[0]) > 0.0 else math.inf


def _correlation(inverse: Tensor) -> Tensor:
    root = _root(inverse)
    return _divide_or_zero(inverse, torch.outer(root, root))


def _overall(noises: list[float]) -> float:
    return math.sqrt(sum(level * level for level in noises) / len(noises))


def _noises(objective: Objective, fields: list[Tensor], unknowns: int) -> list[float]:
    """Return the standard deviation of the residuals in each view, at least that of its grey levels."""
    total, found = sum(field.numel() for field in fields), []
    for field, target in zip(fields, objective.target.by_view().values(), strict=True):
        share = field.numel() / total
        freedom = max(1.0, int((field != 0.0).sum()) - unknowns * share)
        level = target.step / math.sqrt(12.0) / math.sqrt(share * len(fields))
        found.append(math.sqrt(max(float(field.square().sum()) / freedom, level * level)))
    return found


def sum_matrices(matrices: list[Tensor]) -> Tensor:
    """Return the sum of matrices of one shape."""
    return matrices[0] if len(matrices) == 1 else torch.stack(matrices).sum(0)


def correlated_scatter(slopes: Tensor, field: Tensor, local: bool = False) -> Tensor:
    """Return the covariance (n, n) of J r for noise correlated like the residuals.

    Args:
        slopes: (n, N), slopes of the residuals.
        field: (frames, height, width), with or without channels; other residuals give zero.
        local: True to scale the noise by the residuals around each pixel, as in compressed videos, which err at
            outlines; False for uniform noise.
    """
    if field.dim() not in (3, 4) or not bool(field.any()) or not bool(slopes.any()):
        return slopes.new_zeros((len(slopes), len(slopes)))
    video = field[..., None] if field.dim() == 3 else field
    rows = slopes.to(video.dtype).reshape(len(slopes), *video.shape)
    if not local:
        return CorrelatedNoise.of(video).scatter(rows)
    size = local_size(video)
    even = _divide_or_zero(video, size.expand_as(video))
    return CorrelatedNoise.of(even).scatter(rows * size)


def _slopes(layout: UnknownLayout, z: Tensor) -> Tensor:
    """Return d unknown / d z (n,), entry by entry."""
    point = z.detach().clone().requires_grad_(True)
    total = torch.stack([value.sum() for value in layout.sought(point).values()]).sum()
    (slope,) = torch.autograd.grad(total, point)
    return slope
