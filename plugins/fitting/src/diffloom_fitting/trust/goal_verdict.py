"""The verdict on a fit to a goal: is the search at its end, what does the goal determine, and is it reached?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_fitting.goal_outcome import GoalOutcome, measure_goal_at_half_step
from diffloom_fitting.numbers import format_number
from diffloom_fitting.objective import Objective
from diffloom_fitting.trust.directions import split
from diffloom_fitting.trust.linearised import linearise, natural_width
from diffloom_fitting.trust.sight import measure_views
from diffloom_fitting.trust.uncertainty import LIMIT
from diffloom_fitting.trust.verdict import ITERATIONS, LEVELS, Verdict, VerdictPart, visible
from diffloom_fitting.unknowns import Bounded, UnknownLayout

if TYPE_CHECKING:
    from diffloom_fitting.experiment import Experiment

LENGTHS = (1e-4, 1e-3, 1e-2, 0.1)  # steps along the gradient, in natural changes
FURTHER = 0.02  # fall of the loss by one of them, relative to the loss, from which on a search is not at its end
AT_LIMIT = 0.01  # distance from a bound, relative to the range, that counts as at it
OFTEN, LARGE = 0.3, 0.98  # share of steps and of the largest size from which on a control is held back by its limit
BY_STEP = ("control.", "policy.")  # unknowns that are not named one by one


def judge_goal(experiment: Experiment, z: Tensor, outcome: GoalOutcome) -> Verdict:
    """Judge the end of a fit to a goal.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.
        outcome: Distance from the goal.

    Returns:
        The verdict; its part "identifiable" says what the goal determines, and "explained" whether it was reached.
    """
    objective = experiment.last_objective()
    return Verdict(
        _judge_search(measure_further_fall(objective, z), outcome), _judge_view(objective, z),
        _judge_determined(objective, z), _judge_reach(experiment, z, outcome),
    )  # fmt: skip


def _judge_view(objective: Objective, z: Tensor) -> VerdictPart:
    """Judge what the images at the goals' times show; places need no image."""
    if any(target.frames is None and target.masks is None for target in objective.target.by_view().values()):
        return VerdictPart("green", "yes: places were compared, not images")
    return visible(measure_views(objective, z), False)


def measure_further_fall(objective: Objective, z: Tensor) -> float:
    """Measure the largest fall of the loss, relative to it, by one step along its gradient.

    Args:
        objective: The objective.
        z: (n,), the end of the fit.

    Returns:
        The fall, 0 to 1.
    """
    here = objective.evaluate(z)
    if here.gradient is None or not here.finite or here.value <= objective.rounding:
        return 0.0
    width = natural_width(objective.layout, z)
    way = -here.gradient * width.square()
    size = float((way / width).abs().max())
    if size == 0.0:
        return 0.0
    seen = objective.values_at([z + length / size * way for length in LENGTHS])
    least = min((one.value for one in seen if one.finite), default=here.value)
    return max(0.0, (here.value - least) / here.value)


def _judge_search(fall: float, outcome: GoalOutcome) -> VerdictPart:
    percent = format_number(100.0 * fall, 2)
    if fall <= FURTHER:
        return VerdictPart(
            "green", f"yes: no step along the gradient lowers the loss by more than {100.0 * FURTHER:g} %"
        )
    if outcome.reach == 2:
        return VerdictPart(
            "green", f"yes: the goal is reached, though a further step would lower the loss by {percent} %"
        )
    return VerdictPart(
        "amber", f"no: a further step would lower the loss by {percent} %; run more iterations ({ITERATIONS})"
    )


def _judge_determined(objective: Objective, z: Tensor) -> VerdictPart:
    """Count the directions of the unknowns that the goal determines; values along the rest may be chosen freely."""
    layout, n = objective.layout, z.numel()
    if n > LIMIT:
        return VerdictPart(
            "green", f"not counted: {n} numbers are sought, and what a goal determines is counted for {LIMIT}"
        )
    try:
        end = linearise(objective, z)
    except (InputError, SimulationError) as error:
        return VerdictPart("green", f"not counted: {error}")
    blind = [name for name, seen in _by_slot(layout, end.visible).items()
             if not bool(seen.any()) and not name.startswith(BY_STEP)]  # fmt: skip
    if blind:
        return VerdictPart(
            "amber", f"in part: the goal does not depend on {' and '.join(blind)}, so what was found is its start"
        )
    known = split(end.unit @ end.unit.T + end.prior, end.visible, end.rounding).kept.shape[1]
    if known == n:
        return VerdictPart(
            "green", f"yes: the goal determines {'all ' if n > 1 else ''}{n} number{'s' if n > 1 else ''}"
        )
    return VerdictPart("green", f"yes: the goal determines {known} of {n} numbers, so other values reach it as well")


def _by_slot(layout: UnknownLayout, entries: Tensor) -> Mapping[str, Tensor]:
    return {slot.name: part for slot, part in zip(layout.slots, layout.split(entries), strict=True)}


def _judge_reach(experiment: Experiment, z: Tensor, outcome: GoalOutcome) -> VerdictPart:
    """Judge the distance from the goal, also with half the physics step, and name unknowns and controls at a limit."""
    at_limits = list_limits(experiment, z)
    limits = f"; {' and '.join(at_limits)}" if at_limits else ""
    level = LEVELS[2 - outcome.reach]
    if level == "red":
        return VerdictPart("red", f"no: {outcome.text}{limits}; try another start, or a loss that attracts from afar")
    if level == "amber":
        return VerdictPart("amber", f"in part: {outcome.text}{limits}")
    finer = measure_goal_at_half_step(experiment, z)
    if finer is not None and finer.reach < outcome.reach:
        return VerdictPart(
            "amber",
            f"in part: {outcome.text}{limits}; but with half the physics step the same control {finer.text}, so it "
            "holds for this time.dt alone; use a smaller one",
        )
    return VerdictPart("green", f"yes: {outcome.text}{limits}")


def list_limits(experiment: Experiment, z: Tensor) -> list[str]:
    """List the unknowns at a bound, and the controls that are mostly at their largest size.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.

    Returns:
        Parts of a sentence, such as "velocity is at its limit 5".
    """
    found = []
    with torch.no_grad():
        values = experiment.layout.decode(z)
        for slot, part in zip(experiment.layout.slots, experiment.layout.split(z), strict=True):
            if isinstance(slot.space, Bounded):
                low, high = slot.space.low, slot.space.high
                place = (slot.space.decode(part) - low) / (high - low)
                for end, near in ((low, place < AT_LIMIT), (high, place > 1.0 - AT_LIMIT)):
                    found += [f"{slot.name} is at its limit {end:g}"] if bool(near.any()) else []
        control = experiment.scene.rollout(values, [experiment.scene.steps]).control
    for name, rows in control.items():
        size = rows.reshape(len(rows), -1).abs()
        size = size[:, size.amax(dim=0) > 0.0]  # channels that are never used say nothing
        if not size.numel():
            continue
        most, share = float(size.max()), float((size >= LARGE * size.max()).double().mean())
        if share >= OFTEN and float(size.amin()) < 0.5 * most and math.isfinite(most):
            found.append(
                f"{name} is at its largest size, {format_number(most, 3)}, in {100.0 * share:.0f} % of the steps"
            )
    return found
