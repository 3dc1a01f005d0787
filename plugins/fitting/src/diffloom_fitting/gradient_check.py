"""Check of an experiment's gradient against finite differences: small ones, and as large as an optimiser's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from torch import Tensor

from diffloom_fitting.experiment import AbstractExperiment
from diffloom_fitting.optimisers.optimiser import not_finite
from diffloom_fitting.problem import Problem
from diffloom_fitting.trust.verdict import Verdict, VerdictPart
from diffloom_fitting.validation import check_real, check_whole
from diffloom_testing.wide_differences import WIDTH, WideComparison

__all__ = [
    "CheckedDirection",
    "GradientCheck",
    "advise_on_gradient",
    "check_gradient",
    "check_wide_gradient",
    "doubt_verdict",
]

#: Steps of the differences: the first suits a smooth loss, the second one that jumps at contacts.
STEPS = {torch.float64: (1e-5, 1e-8, 1e-6, 1e-7, 1e-3), torch.float32: (3e-2, 1e-2, 3e-3)}
SMOOTH = 0.05  # roughness, relative to the tolerance, below which no further step is tried


@dataclass(frozen=True)
class CheckedDirection:
    """Comparison along one direction.

    Args:
        label: Name of the direction.
        adjoint: Derivative by the adjoint.
        difference: Derivative by finite differences.
        error: Their difference relative to the norm of the gradient.
        roughness: Difference between two step sizes, relative to the norm; large if the loss is not smooth.
    """

    label: str
    adjoint: float
    difference: float
    error: float
    roughness: float


@dataclass(frozen=True)
class GradientCheck:
    """Result of a gradient check.

    Args:
        rows: One comparison for each direction.
        tolerance: Largest error that passes.
        drawn_by: Renderer and back end that drew the images, if not native code, such as
            'SoftRasRenderer(backend="pytorch3d")'.
    """

    rows: tuple[CheckedDirection, ...]
    tolerance: float
    drawn_by: str = ""

    @property
    def worst(self) -> float:
        """The largest relative error."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def passed(self) -> bool:
        """True if every direction agrees."""
        return self.worst <= self.tolerance


def check_gradient(
    objective: Problem, z: Tensor, *, tolerance: float | None = None, step: float | None = None, entries: int = 12,
    seed: int = 0, together: bool = False,
) -> GradientCheck:  # fmt: skip
    """Compare d loss / d z at ``z`` with Richardson-extrapolated central differences.

    A direction's error is relative to the gradient's norm, so directions without effect do not count.

    Example:
        check = check_gradient(experiment.objective(), experiment.start())
        print(check.passed, check.worst)

    Args:
        objective: The problem.
        z: (n,), point in the searched space.
        tolerance: Largest error that passes; None for 1e-4 in double and 2e-2 in single precision.
        step: Step of the differences; None tries several and takes the one whose two differences agree best.
        entries: Number of unknowns up to which each is checked alone; with more, that many random directions.
        seed: Seed of the directions.
        together: True to simulate the points of a difference as a batch, with the same bits; this may compile a
            program.

    Returns:
        The comparison.

    Raises:
        FitError: The loss is not finite.
    """
    entries = check_whole("check_gradient: entries", entries, 1)
    step = None if step is None else check_real("check_gradient: step", step, above=0.0)
    tolerance = None if tolerance is None else check_real("check_gradient: tolerance", tolerance, above=0.0)
    double = z.dtype == torch.float64
    steps = (step,) if step is not None else STEPS[z.dtype]
    limit = tolerance if tolerance is not None else 1e-4 if double else 2e-2
    seen = objective.evaluate(z)
    if not seen.finite or seen.gradient is None:
        raise not_finite("where the gradient is checked", z, seen.trouble)
    scale = max(float(seen.gradient.norm()), 1e-300)
    rows = []
    for label, way in _directions(objective, z, entries, seed):
        difference, roughness = _smoothest(partial(losses, objective, together), z, way, steps, SMOOTH * limit * scale)
        adjoint = float(seen.gradient @ way)
        rows.append(CheckedDirection(label, adjoint, difference, abs(adjoint - difference) / scale, roughness / scale))
    return GradientCheck(tuple(rows), limit, _name_back_end(objective))


def _name_back_end(objective: Problem) -> str:
    """Return the renderer and its back end, or "" where diffloom's own code draws."""
    renderer = getattr(getattr(objective, "scene", None), "renderer", None)
    backend = getattr(renderer, "backend", "native")
    return "" if backend == "native" else f'{type(renderer).__name__}(backend="{backend}")'


def _advise_small(check: GradientCheck) -> str:
    if check.drawn_by:
        return (
            f"the images are drawn by {check.drawn_by}, whose gradients come from another library; use backend = "
            '"native", which draws the same'
        )
    return (
        "a kink or a jump lies at the start, such as contact that just begins, or a plugin's adjoint is wrong: "
        "diffloom check-gradient shows each unknown from another start"
    )


def doubt_verdict(verdict: Verdict, check: GradientCheck | str) -> Verdict:
    """Return a verdict that is not green if the gradient check failed: the fit followed that gradient.

    Args:
        verdict: Verdict on the end of the fit.
        check: The gradient check at the start, or the reason for having none.

    Returns:
        The same verdict, or one whose part "converged" is amber.
    """
    if not isinstance(check, GradientCheck) or check.passed or verdict.converged.level != "green":
        return verdict
    told = (
        f"in part: the gradient at the start DOES NOT AGREE with finite differences (worst error {check.worst:.1e}, "
        f"allowed {check.tolerance:.0e}), and the fit followed such gradients; {_advise_small(check)}"
    )
    return replace(verdict, converged=VerdictPart("amber", told))


def losses(objective: Problem, together: bool, z: Tensor, places: Sequence[Tensor]) -> list[float]:
    """Return the losses at points near ``z``; FitError where one is not finite."""
    seen = objective.values_at(places) if together else [objective.value(place) for place in places]
    for side in seen:
        if not side.finite:
            raise not_finite("near the point where the gradient is checked", z, side.trouble)
    return [side.value for side in seen]


def _smoothest(
    losses: Callable[[Tensor, Sequence[Tensor]], list[float]], z: Tensor, way: Tensor, steps: Sequence[float],
    enough: float,
) -> tuple[float, float]:  # fmt: skip
    """Return the extrapolated difference and its roughness, of the first good step or of the best one."""
    found: list[tuple[float, float]] = []
    for h in steps:
        ends = losses(z, [z + s * way for s in (h, -h, 0.5 * h, -0.5 * h)])
        wide, narrow = (ends[0] - ends[1]) / (2.0 * h), (ends[2] - ends[3]) / h
        found.append(((4.0 * narrow - wide) / 3.0, abs(narrow - wide)))
        if found[-1][1] <= enough:
            break
    return min(found, key=lambda pair: pair[1])


def _directions(objective: Problem, z: Tensor, entries: int, seed: int) -> Sequence[tuple[str, Tensor]]:
    if z.numel() <= entries:
        labels = objective.layout.labels()
        return [(labels[i], torch.eye(z.numel(), dtype=z.dtype)[i]) for i in range(z.numel())]
    generator = torch.Generator().manual_seed(seed)
    ways = torch.randn(entries, z.numel(), generator=generator, dtype=torch.float64).to(z.dtype)
    return [(f"direction {k + 1}", way / way.norm()) for k, way in enumerate(ways)]


def advise_on_gradient(experiment: AbstractExperiment | None, check: GradientCheck | str = "not asked for") -> str:
    """Return what can help where the gradient does not predict the effect of wide changes.

    Args:
        experiment: The experiment; None if it is not known, such as for results of files.
        check: The check against small differences, or the reason for having none.

    Returns:
        Half a sentence that names only what the experiment does not have yet.
    """
    if isinstance(check, GradientCheck) and not check.passed:
        return _advise_small(check)
    scene, found = getattr(experiment, "scene", None), []
    if scene is not None and not scene.renderer.edge_gradients:
        found.append('renderer = "coverage", because these colours jump where outlines move')
    if type(getattr(getattr(scene, "model", None), "contact", None)).__name__ == "LinearContact":
        found.append("contact = 'hunt_crossley', because impacts with contact = 'linear' make the loss jump")
    if experiment is None or all(stage.horizon.first >= 1.0 for stage in experiment.stages):
        found.append("a shorter horizon that grows from stage to stage")
    found.append("several starts (starts.count)" if experiment is None or not experiment.starts else "nearer starts")
    return f"try {', or '.join(found)}"


def check_wide_gradient(
    objective: Problem, z: Tensor, *, width: float = WIDTH, entries: int = 12, together: bool = False
) -> WideComparison:
    """Compare d loss / d z at ``z`` with differences over +-``width`` of the value of each unknown.

    Args:
        objective: The problem.
        z: (n,), point in the searched space.
        width: Relative change of a value; a value of 0 changes by this part of the largest one of its unknown, or of 1.
        entries: Number of unknowns up to which each number changes alone; with more, each unknown as a whole.
        together: True to simulate all changes as a batch, with the same bits.

    Returns:
        The comparison.

    Raises:
        FitError: The loss is not finite.
    """
    seen = objective.evaluate(z)
    if not seen.finite or seen.gradient is None:
        raise not_finite("where the gradient is checked", z, seen.trouble)
    labels, ways = zip(*_ways(objective, z, entries), strict=True)
    ends = losses(objective, together, z, [z + s * width * way for s in (1.0, -1.0) for way in ways])
    adjoint = tuple(float(seen.gradient @ way) for way in ways)
    sides = zip(ends[: len(ways)], ends[len(ways) :], strict=True)
    return WideComparison(labels, adjoint, tuple((ahead - behind) / (2.0 * width) for ahead, behind in sides), width)


def _ways(objective: Problem, z: Tensor, entries: int) -> Iterator[tuple[str, Tensor]]:
    """Yield directions in the searched space: the relative change of a number, or of all numbers of an unknown."""
    layout = objective.layout
    relative = torch.cat([_relative(part) for part in _values(objective, z)]) if layout.slots else z
    if z.numel() <= entries:
        for i, label in enumerate(layout.labels()):
            yield label, torch.eye(z.numel(), dtype=z.dtype)[i] * relative
        return
    first = 0
    for slot in layout.slots:
        way = torch.zeros_like(z)
        way[first : first + slot.size] = relative[first : first + slot.size]
        first += slot.size
        yield slot.name, way


def _values(objective: Problem, z: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the numbers of each unknown and their derivatives by the searched space."""
    layout = objective.layout
    for slot, part in zip(layout.slots, layout.split(z), strict=True):
        at = part.detach().clone().requires_grad_()
        value = slot.space.decode(at.reshape(slot.shape)).reshape(-1)
        (slope,) = torch.autograd.grad(value.sum(), at)
        yield value.detach(), slope


def _relative(part: tuple[Tensor, Tensor]) -> Tensor:
    value, slope = part
    size = float(value.abs().max()) or 1.0
    return torch.where(value == 0.0, torch.full_like(value, size), value.abs()) / slope
