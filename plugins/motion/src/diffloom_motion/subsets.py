"""Fits to disjoint parts of the clips: how much their estimates differ, beyond what single clips tell."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_fitting.loop import FitState, advance
from diffloom_fitting.trust import student_factor
from diffloom_motion.scene import START, MotionScene

if TYPE_CHECKING:
    from diffloom_motion.experiment import MotionExperiment

#: Parts that clips are dealt to, smallest number of clips of a part, and most iterations of a fit to a part.
PARTS, LEAST, ITERATIONS = 4, 4, 8


def subset_deviation(experiment: MotionExperiment, z: Tensor) -> dict[str, Tensor]:
    """Estimate deviations from fits to parts of the clips, each with the last stage from the end of the whole fit.

    Impacts make the loss rugged, so an optimum moves farther between parts than the curvature at one optimum tells.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.

    Returns:
        The standard deviation of the parts' estimates by the root of their number, widened by `student_factor`, by name
        of the unknowns that the last stage moves; empty with fewer than `PARTS` x `LEAST` clips, or where a fit fails.
    """
    scene, last = experiment.scene, experiment.stages[-1]
    if len(scene.clips) < PARTS * LEAST:
        return {}
    pieces, found = (
        list(zip(experiment.layout.slots, experiment.layout.split(z), strict=True)),
        list[dict[str, Tensor]](),
    )
    for part in range(PARTS):
        dealt = MotionScene(scene.model, scene.clips[part::PARTS], replace(scene.rules, grounded=False))
        stage = replace(last, iterations=min(last.iterations, ITERATIONS))
        alone = replace(experiment, scene=dealt, stages=(stage,), holdout=None, starts=(), probe=0)
        own = [
            piece.reshape(len(scene.clips), -1)[part::PARTS].reshape(-1) if slot.name.startswith(START) else piece
            for slot, piece in pieces
        ]
        state = FitState(torch.cat(own))
        try:
            while not state.finished:
                state, _ = advance(alone, state)
        except SimulationError:
            return {}
        found.append(alone.layout.decode(state.z))
    factor = student_factor(PARTS - 1) / math.sqrt(PARTS)
    names = experiment.list_moving(last)
    return {name: factor * torch.stack([each[name] for each in found]).std(dim=0) for name in names}
