"""Fits of measured motion: Gauss-Newton with a growing horizon, intervals over clips, and clips kept aside."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_motion.clips import Array
from diffloom_motion.gauss_newton import Setting, linearised, loss_at, step_of, with_fixed
from diffloom_motion.problem import MotionProblem
from diffloom_motion.scoring import Score, score
from diffloom_motion.unknowns import Shared, split, start_vector, values_at

TRIES = 8  # dampings of a step before a stage ends
SETTLING = 8  # most steps of a start that follows the flight


@dataclass(frozen=True)
class MotionStage:
    """Frames of each clip that count (None: all), at most so many steps, and when to stop: two relative changes of the
    loss in a row below ``change``. fixed: shared unknowns that stay as they are. width: of the Jacobian's differences,
    see Setting. flight: only frames before the first contact count. threshold: of the loss [m], not that of the fit."""

    frames: int | None = None
    iterations: int = 20
    change: float = 1e-3
    fixed: tuple[str, ...] = ()
    width: float = 1e-5
    flight: bool = False
    threshold: float | None = None

    def waiting(self, shared: Sequence[Shared]) -> NDArray[np.bool_]:
        """Which numbers of the searched space wait."""
        unknown = sorted(set(self.fixed) - {each.name for each in shared})
        if unknown:
            raise InputError(f"stages.fixed: nothing called {unknown[0]!r} is sought; expected some of "
                             f"{', '.join(each.name for each in shared)}")  # fmt: skip
        parts = [np.full(len(each.numbers), each.name in self.fixed) for each in shared]
        return np.concatenate([np.zeros(0, dtype=bool), *parts])


@dataclass(frozen=True)
class MotionEstimate:
    """What was found of one shared unknown, number by number, with standard deviations over clips."""

    name: str
    start: tuple[float, ...]
    found: tuple[float, ...]
    deviation: tuple[float, ...]


@dataclass(frozen=True)
class MotionResult:
    """A fit: its loss [m^2] at start and end over whole clips, the estimates, scores of the clips of the fit
    and of those kept aside, the corrections of each clip's start (clips, own), and the score of the clips kept aside
    with the values that the unknowns started from."""

    start_loss: float
    loss: float
    estimates: tuple[MotionEstimate, ...]
    fitted: Score
    holdout: Score | None
    own: Array
    iterations: int
    seconds: float
    processor_seconds: float
    before: Score | None = None


Watch = Callable[[int, int, float, dict[str, tuple[float, ...]]], None]


def fit_motion(
    problem: MotionProblem, shared: Sequence[Shared], stages: Sequence[MotionStage] = (MotionStage(),), *,
    loss: str = "squares", threshold: float = 1.0, holdout: MotionProblem | None = None, watch: Watch | None = None,
) -> MotionResult:  # fmt: skip
    """Find the shared unknowns, and each clip's own where the problem's rules free them.

    loss: "squares", or "huber" or "cauchy" with a threshold [m] for a frame's error. holdout: clips kept aside, which
    are scored from their own starts. watch: called after each step with stage, step, loss and values.
    """
    if loss not in ("squares", "huber", "cauchy") or threshold <= 0.0:
        raise InputError(f"loss: got {loss!r} with threshold {threshold:g}; expected squares, huber or cauchy and a "
                         "positive length")  # fmt: skip
    if not shared:
        raise InputError("unknowns: nothing is unknown; name at least one, such as friction")
    begin, clock = time.perf_counter(), time.process_time()
    own = 0 if problem.rules.own is None else problem.rules.own.size
    z, y = start_vector(shared), settled(problem, values_at(shared, torch.tensor(start_vector(shared))))
    whole = Setting(tuple(shared), loss, threshold)
    start_loss, steps, deviation = loss_at(problem, whole, z, y), 0, np.full(len(z), np.nan)
    for number, stage in enumerate(stages):
        setting = replace(
            whole, frames=stage.frames, width=stage.width, flight=stage.flight, threshold=stage.threshold or threshold
        )

        def told(step: int, value: float, z: Array, number: int = number) -> None:
            if watch is not None:
                watch(number, step, value, _shown(shared, z))

        z, y, taken = descend(problem, setting, z, y, stage, told)
        steps += taken
        free = ~stage.waiting(shared)
        # What a later stage frees again gets its deviation there.
        later = [~after.waiting(shared) for after in stages[number + 1 :]]
        if bool((free & ~np.logical_or.reduce(later, axis=0, initial=False)).any()):
            deviation[free] = deviations(problem, setting, z, y, free)
    values = values_at(shared, torch.tensor(z))
    return MotionResult(
        start_loss, loss_at(problem, whole, z, y), estimates(shared, z, deviation),
        score(problem, values, torch.tensor(y) if own else None),
        None if holdout is None else judged(holdout, values), y, steps, time.perf_counter() - begin,
        time.process_time() - clock,
        None if holdout is None else judged(holdout, values_at(shared, torch.tensor(start_vector(shared)))),
    )  # fmt: skip


def descend(
    problem: MotionProblem, setting: Setting, z: Array, y: Array, stage: MotionStage,
    watch: Callable[[int, float, Array], None],
) -> tuple[Array, Array, int]:  # fmt: skip
    """Levenberg-Marquardt: shared and own unknowns at the end, and how many steps were taken."""
    damping, calm, waiting = 1e-3, 0, stage.waiting(setting.shared)
    for step in range(stage.iterations):
        at = with_fixed(linearised(problem, setting, z, y), waiting)
        for _ in range(TRIES):
            dz, dy = step_of(at, damping)
            after = tried(problem, setting, z + dz, y + dy)
            if np.isfinite(after) and after < at.loss:
                break
            damping *= 6.0
        else:
            return z, y, step
        z, y, damping = z + dz, y + dy, max(damping / 4.0, 1e-9)
        watch(step, after, z)
        calm = calm + 1 if at.loss - after < stage.change * at.loss else 0
        if calm == 2:
            return z, y, step + 1
    return z, y, stage.iterations


def tried(problem: MotionProblem, setting: Setting, z: Array, y: Array) -> float:
    """The loss, infinite where a step left what a model can be, such as inertias of no body."""
    try:
        return loss_at(problem, setting, z, y)
    except (InputError, SimulationError):
        return float("inf")


def settled(problem: MotionProblem, values: Mapping[str, Tensor]) -> Array:
    """(clips, own) corrections of each clip's start that follow its flight best, shared unknowns at ``values``; zeros
    unless the rule of the starts is "fitted"."""
    own = 0 if problem.rules.own is None else problem.rules.own.size
    y = np.zeros((len(problem.clips), own))
    if problem.rules.start != "fitted" or not own:
        return y
    # Hands let go in the first frames of some clips: what does not fit counts less.
    threshold = 2.0 * (1.0 if problem.rules.own is None else problem.rules.own.noise)
    setting = Setting((), "huber", threshold, flight=True, width=1e-3, known=values)
    stage = MotionStage(iterations=SETTLING, change=1e-4)
    return descend(problem, setting, np.zeros(0), y, stage, lambda step, loss, z: None)[1]


def judged(problem: MotionProblem, values: Mapping[str, Tensor]) -> Score:
    """Clips simulated as a whole from starts that only the frames before their first contact have told."""
    y = settled(problem, values)
    return score(problem, values, torch.tensor(y) if y.shape[1] and problem.rules.start == "fitted" else None)


def deviations(problem: MotionProblem, setting: Setting, z: Array, y: Array, free: NDArray[np.bool_]) -> Array:
    """Standard deviations of the free numbers that hold whatever the clips' errors look like, as long as clips are
    independent of each other: H^-1 (sum g_c g_c^T) H^-1 with the gradient g_c of each clip's loss. NaN where there are
    no more clips than numbers, which pull nothing apart then."""
    if len(problem.clips) <= int(free.sum()):
        return np.full(int(free.sum()), np.nan)
    at = linearised(problem, setting, z, y)
    H, g = at.A, at.each
    if y.shape[1]:
        BD = np.linalg.solve(at.D, np.swapaxes(at.B, 1, 2))
        H = H - np.einsum("cmo,con->mn", at.B, BD)
        g = g - np.einsum("com,co->cm", BD, at.d)
    inverse, g = np.linalg.pinv(H[np.ix_(free, free)]), g[:, free]
    few = len(g) / (len(g) - int(free.sum()))
    return np.asarray(np.sqrt(np.diag(inverse @ (g.T @ g) @ inverse) * few))


def estimates(shared: Sequence[Shared], z: Array, deviation: Array) -> tuple[MotionEstimate, ...]:
    """What was found of each unknown, and the deviations of the last stage in which it was free."""
    parts = zip(shared, split(shared, z), split(shared, deviation), strict=True)
    return tuple(
        MotionEstimate(
            unknown.name, tuple(unknown.numbers.tolist()), tuple(unknown.shown(own).tolist()),
            tuple(unknown.deviation(own, off).tolist()),
        )
        for unknown, own, off in parts
    )  # fmt: skip


def _shown(shared: Sequence[Shared], z: Array) -> dict[str, tuple[float, ...]]:
    parts = zip(shared, split(shared, z), strict=True)
    return {unknown.name: tuple(unknown.shown(part).tolist()) for unknown, part in parts}
