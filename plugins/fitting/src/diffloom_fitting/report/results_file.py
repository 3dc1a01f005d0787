"""A result as data for other programs."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from diffloom_fitting.gradient_check import GradientCheck
from diffloom_fitting.result import Result
from diffloom_fitting.run_folder.writing import write_text
from diffloom_fitting.uncertainty import Uncertainty


def write_result(path: Path, result: Result) -> None:
    """Write the result as JSON."""
    write_text(path, json.dumps(result_data(result), indent=2) + "\n")


def result_data(result: Result) -> dict[str, Any]:
    """Plain data: everything but the history, which is in history.jsonl."""
    check, sure = result.gradient, result.uncertainty
    return {
        "verdict": result.verdict.data(),
        "estimates": [
            {
                "name": e.name,
                "unit": e.unit,
                "start": e.start.tolist(),
                "found": e.found.tolist(),
                "deviation": _list(e.deviation),
                "caveat": e.caveat,
                "truth": _list(e.truth),
                "error": e.error,
                "start_error": e.start_error,
            }
            for e in result.estimates
        ],
        "loss": result.loss,
        "start_loss": result.start_loss,
        "view_losses": dict(result.views),
        "holdout_loss": result.holdout_loss,
        "holdout_start_loss": result.holdout_start_loss,
        "reason": result.reason,
        "interrupted": result.interrupted,
        "iterations": result.iterations,
        "goal": None if result.goal is None else asdict(result.goal),
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "compile_seconds": result.compiling,
        "seconds_by_part": dict(result.shares),
        "peak_memory_bytes": result.memory,
        "gradient_check": (
            {"worst": check.worst, "passed": check.passed, "tolerance": check.tolerance}
            if isinstance(check, GradientCheck)
            else check
        ),
        "uncertainty": (
            {
                "noise": sure.noise,
                "inflation": sure.inflation,
                "condition": sure.condition if math.isfinite(sure.condition) else None,
                "correlation": sure.correlation.tolist(),
                "method": sure.method,
                "unrest": sure.unrest,
                "windows": sure.windows,
            }
            if isinstance(sure, Uncertainty)
            else sure
        ),
    }


def _list(value: Tensor | None) -> Any:
    return None if value is None else _without_nan(value.tolist())


def _without_nan(value: Any) -> Any:
    """NaN, which JSON has not, as null."""
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if math.isnan(value) else value
