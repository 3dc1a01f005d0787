"""Conformance checks of an optimiser."""

from __future__ import annotations

import copy
import io
import math
from collections.abc import Generator, Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from diffloom.regular_files import load_tensors
from diffloom_fitting.checkpoints import decode_state, encode_state
from diffloom_fitting.driver import pose, run_search, run_searches
from diffloom_fitting.objective import Objective
from diffloom_fitting.optimisers import FitError, Optimiser, Progress
from diffloom_fitting.problem import Question, Search
from diffloom_fitting.testing.subjects import OptimiserSubject, optimiser_subject
from diffloom_fitting.testing.valley import START, shorter, start, valley
from diffloom_testing import Check, Failure, Suite, check, count_comparisons, require
from diffloom_testing.comparisons import require_equal_copies, require_frozen, require_same_bits

SEED = 3
STEPS = 12


class Unanswering(Objective):
    """Objective that only the driver can evaluate."""

    def evaluate_batch(self, questions: Sequence[Question]) -> list[list[Any] | Exception]:
        raise Failure("it evaluates the problem itself; expected a request: answers = yield Evaluate(points, want)")


def run_progress(objective: Objective, search: Search[Progress]) -> Progress:
    """Run a search for a Progress."""
    require(isinstance(search, Generator), f"got {type(search).__name__}; expected a generator that yields Evaluate")
    return run_search(objective, search)


def begin_search(subject: OptimiserSubject, objective: Objective) -> Progress:
    """Return the state of the optimiser at the start."""
    return run_progress(objective, subject.optimiser.begin(objective, start(objective), SEED))


def advance(subject: OptimiserSubject, objective: Objective, here: Progress, steps: int) -> Progress:
    """Run some steps, fewer if the optimiser ends."""
    for _ in range(steps):
        if here.done is not None:
            break
        here = run_progress(objective, subject.optimiser.step(objective, here, 1.0))
    return here


def same_progress(what: str, a: Progress, b: Progress) -> None:
    """Raise Failure unless two states agree bit for bit."""
    require_same_bits(f"the place {what}", a.z, b.z)
    require(a.value == b.value, f"the loss {what} is {a.value!r} and {b.value!r}; expected the same bits")
    if a.gradient is not None and b.gradient is not None:
        require_same_bits(f"the gradient {what}", a.gradient, b.gradient)


@check("interface")
def settings(subject: OptimiserSubject) -> None:
    """The optimiser is a frozen dataclass that derives from Optimiser and needs no arguments."""
    require_frozen(subject.optimiser, Optimiser)


@check("interface")
def begin(subject: OptimiserSubject) -> None:
    """The search begins at the given point with its loss, and does not change the given vector."""
    objective = valley()
    z = start(objective)
    kept = z.clone()
    here = run_progress(objective, subject.optimiser.begin(objective, z, SEED))
    require(isinstance(here, Progress), f"begin returns {type(here).__name__}; expected Progress")
    require_same_bits("the place where it begins", here.z, kept)
    require_same_bits("the vector given, before and after", z, kept)
    wanted = objective.value(kept).value
    require(math.isclose(here.value, wanted, rel_tol=1e-9), f"the first loss is {here.value:g}; expected {wanted:g}")
    require(here.evaluations >= 1, f"it has evaluated the start and counts {here.evaluations} evaluations")


@check("interface")
def asks(subject: OptimiserSubject) -> None:
    """``begin``, ``step`` and ``renew`` are generators that yield requests and evaluate nothing themselves."""
    objective, optimiser = valley(), subject.optimiser
    told = Unanswering(**{each.name: getattr(objective, each.name) for each in fields(objective)})
    here = run_progress(objective, optimiser.begin(told, start(objective), SEED))
    here = run_progress(objective, optimiser.step(told, here, 1.0))
    require(isinstance(here, Progress), f"step returns {type(here).__name__}; expected Progress")
    run_progress(objective, optimiser.renew(told, here))


@check("descent")
def lower(subject: OptimiserSubject) -> str:
    """The loss falls within a few steps, in a valley with one minimum."""
    objective = valley()
    here = begin_search(subject, objective)
    there = advance(subject, objective, here, STEPS)
    require(there.value < here.value, f"after {STEPS} steps the loss is {there.value:g}; it began at {here.value:g}")
    require(there.evaluations > here.evaluations, "it has moved and counts no evaluation for it")
    return f"to {there.value / here.value:.1e} of the first"


@check("descent")
def honest(subject: OptimiserSubject) -> str:
    """Value and gradient of each step are those at its point."""
    objective = valley()
    here = begin_search(subject, objective)
    for number in range(1, 5):
        here = advance(subject, objective, here, 1)
        seen = objective.evaluate(here.z)
        right = math.isclose(here.value, seen.value, rel_tol=1e-9, abs_tol=1e-15)
        require(right, f"step {number} reports the loss {here.value:g}; at its place it is {seen.value:g}")
        if here.gradient is not None and seen.gradient is not None:
            apart = float((here.gradient - seen.gradient).norm() / (seen.gradient.norm() + 1e-30))
            require(apart <= 1e-6, f"step {number} reports a gradient that is off by {apart:.3g}, relative")
    return "value alone" if here.gradient is None else "value and gradient"


@check("descent")
def schedule(subject: OptimiserSubject) -> None:
    """A changed objective makes ``renew`` stay at the point and report the new loss there."""
    objective = valley()
    here = advance(subject, objective, begin_search(subject, objective), 2)
    changed = shorter(objective)
    renewed = run_progress(changed, subject.optimiser.renew(changed, here))
    require_same_bits("the place before and after", renewed.z, here.z)
    wanted = changed.value(here.z).value
    require(math.isclose(renewed.value, wanted, rel_tol=1e-9), f"it reports {renewed.value:g}; expected {wanted:g}")
    advance(subject, changed, renewed, 1)


@check("resuming")
def checkpoint(subject: OptimiserSubject) -> None:
    """The memory can be stored in a checkpoint, and continues from there to the same bits."""
    objective = valley()
    half = advance(subject, objective, begin_search(subject, objective), 3)
    try:
        kept = encode_state(half)
    except TypeError as error:
        raise Failure(f"Progress.memory: {error}; keep numbers, texts, tensors, lists and dicts of these") from error
    buffer = io.BytesIO()
    torch.save(kept, buffer)
    buffer.seek(0)
    resumed = decode_state(load_tensors(buffer.getvalue(), 2**31))
    whole = advance(subject, objective, half, 3)
    same_progress("with and without a pause", whole, advance(subject, objective, resumed, 3))


@check("determinism")
def repeats(subject: OptimiserSubject) -> None:
    """Equal seeds give equal bits after other searches: no state is kept outside of Progress."""
    objective = valley()
    first = advance(subject, objective, begin_search(subject, objective), 4)
    advance(subject, shorter(objective), begin_search(subject, shorter(objective)), 2)
    same_progress("of two searches", first, advance(subject, objective, begin_search(subject, objective), 4))


@check("determinism")
def together(subject: OptimiserSubject) -> None:
    """Searches that take turns find the results of each alone."""
    optimiser, objectives = subject.optimiser, (valley(), shorter(valley()))
    firsts = [
        advance(subject, one, begin_search(subject, one), steps) for one, steps in zip(objectives, (0, 2), strict=True)
    ]
    both = run_searches(
        [pose(one, optimiser.step(one, here, 1.0)) for one, here in zip(objectives, firsts, strict=True)]
    )
    for one, here, found in zip(objectives, firsts, both, strict=True):
        same_progress("alone and beside another search", advance(subject, one, here, 1), found)


@check("determinism")
def leaves_progress_alone(subject: OptimiserSubject) -> None:
    """A step makes a new Progress and does not change the last one, which a checkpoint may hold."""
    objective = valley()
    here = advance(subject, objective, begin_search(subject, objective), 2)
    kept = copy.deepcopy(here)
    advance(subject, objective, here, 1)
    same_progress("before and after a step", here, kept)
    for key, value in kept.memory.items():
        if isinstance(value, Tensor):
            require_same_bits(f"memory[{key!r}] before and after a step", value, here.memory[key])


@check("precision")
def single(subject: OptimiserSubject) -> str:
    """A fit in float32 stays in float32 and goes down too."""
    objective = valley(torch.float32)
    here = begin_search(subject, objective)
    there = advance(subject, objective, here, STEPS)
    require(there.z.dtype == torch.float32, f"the place is {there.z.dtype}; expected torch.float32")
    require(there.value < here.value, f"after {STEPS} steps the loss is {there.value:g}; it began at {here.value:g}")
    return f"to {there.value / here.value:.1e} of the first"


@check("trouble")
def cliff(subject: OptimiserSubject) -> str:
    """The search avoids points that cannot be simulated, with finite losses."""
    objective = valley(cliff=1.05 * START["gravity"])
    here = begin_search(subject, objective)
    there = advance(subject, objective, here, STEPS)
    require(math.isfinite(there.value), f"after {STEPS} steps beside a cliff the loss is {there.value}")
    require(there.value <= here.value, f"beside a cliff the loss rose from {here.value:g} to {there.value:g}")
    if not there.rejected:
        return "it met none"
    return f"{there.rejected} steps rejected"


@check("trouble")
def hopeless(subject: OptimiserSubject) -> None:
    """A start that cannot be simulated raises FitError, or at least has no finite loss."""
    objective = valley(cliff=0.5 * START["gravity"])
    try:
        here = begin_search(subject, objective)
    except FitError:
        count_comparisons()
        return
    require(not math.isfinite(here.value), f"nothing can be simulated, and the loss is {here.value:g}")


@check("copying")
def pickles_and_copies(subject: OptimiserSubject) -> None:
    """A pickled and a copied optimiser equal the original."""
    require_equal_copies(subject.optimiser)


CHECKS: tuple[Check, ...] = (
    settings,
    begin,
    asks,
    lower,
    honest,
    schedule,
    checkpoint,
    repeats,
    together,
    leaves_progress_alone,
    single,
    cliff,
    hopeless,
    pickles_and_copies,
)

SUITE = Suite(Optimiser, optimiser_subject, CHECKS)
