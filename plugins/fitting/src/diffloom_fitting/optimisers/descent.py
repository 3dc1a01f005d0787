"""What first-order methods share: try a step, and halve it while the outcome is not finite."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from diffloom_fitting.optimisers.optimiser import RETRIES, Progress, not_finite
from diffloom_fitting.problem import Evaluate, Search

RECOVERY = 1.25  # per accepted step, back towards full steps after a rejection


def take_step(progress: Progress, step: Tensor, memory: dict[str, Any]) -> Search[Progress]:
    """Search the place after ``step``, scaled by memory["caution"] (1 at first), which each rejection halves."""
    caution = float(memory.get("caution", 1.0))
    trouble: str | None = None
    for attempt in range(RETRIES):
        z = progress.z + caution * step
        (seen,) = yield Evaluate([z], "gradient")
        if seen.finite:
            grown = min(1.0, caution * RECOVERY) if attempt == 0 else caution
            return Progress(
                z, seen.value, seen.gradient, {**memory, "caution": grown}, progress.evaluations + attempt + 1,
                progress.rejected + attempt,
            )  # fmt: skip
        trouble = seen.trouble
        caution *= 0.5
    raise not_finite(f"after {RETRIES} ever smaller steps", progress.z, trouble)
