"""Work after the last iteration of a fit: lower minima, judgement, outcome. A failure here never loses the result."""

from __future__ import annotations

import warnings
from typing import Any

from torch import Tensor

from diffloom_fitting.experiment import AbstractExperiment, Experiment
from diffloom_fitting.neighbours import find_lower_minimum
from diffloom_fitting.restarts import restart_if_unexplained
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import Verdict, skip_judgement

#: Iterations of the last stage from which on a fit that used them up has come to its end too.
LONG = 30


def search_lower(experiment: AbstractExperiment, z: Tensor, settled: bool) -> tuple[Tensor, str]:
    """Search for lower minima, far from the end where that does not explain the video, and beside it.

    Args:
        experiment: The experiment.
        z: (n,), the end of the last stage.
        settled: True if the last stage ended before its iterations were used up; other ends are no minima.

    Returns:
        The lowest end that was found, and sentences on it; ``z`` if the user interrupts the search.
    """
    if not isinstance(experiment, Experiment) or experiment.target.goal:
        return z, ""
    told = beside = ""
    try:
        if settled or experiment.stages[-1].iterations >= LONG:
            z, told = restart_if_unexplained(experiment, z)
        if settled or told:
            z, beside = find_lower_minimum(experiment, z)
    except KeyboardInterrupt:
        return z, "; the user interrupted the search for lower minima"
    return z, told + beside


def judge_end(experiment: AbstractExperiment, z: Tensor, interrupted: bool) -> tuple[Uncertainty | str, Verdict]:
    """Judge the end of a fit; where that fails, say so in the verdict.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.
        interrupted: True if the user stopped the fit.

    Returns:
        The uncertainty, or the reason for having none, and the verdict.
    """
    try:
        return experiment.trust(z, interrupted)
    except Exception as error:
        why = _describe_failure("judging the fit", error)
        return why, skip_judgement(why)
    except KeyboardInterrupt:
        return "interrupted", skip_judgement("interrupted by the user", "red")


def measure_outcome(experiment: AbstractExperiment, z: Tensor, start: Tensor) -> tuple[dict[str, Any], str]:
    """Measure the fields of a result beyond those of every fit, such as the loss on held-out frames.

    Args:
        experiment: The experiment.
        z: (n,), the end of the fit.
        start: (n,), its start.

    Returns:
        The fields, none if measuring them fails, and a sentence on the failure.
    """
    try:
        return experiment.outcome(z, start), ""
    except Exception as error:
        return {}, f"; {_describe_failure('measuring held-out frames and tracks', error)}"


def _describe_failure(work: str, error: Exception) -> str:
    """Describe a failure in half a sentence, and warn of it."""
    told = f"{work} failed ({type(error).__name__}: {' '.join(str(error).split())})"
    warnings.warn(f"{told}; the result of the fit is kept", stacklevel=4)
    return told
