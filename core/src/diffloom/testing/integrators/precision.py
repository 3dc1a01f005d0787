"""float32 agrees with float64."""

from __future__ import annotations

import torch

from diffloom.testing.checks import check, require
from diffloom.testing.comparing import largest_difference
from diffloom.testing.integrators.runs import accepted, names, roll
from diffloom.testing.subjects import IntegratorSubject


@check("precision", names)
def single_and_double(subject: IntegratorSubject, name: str) -> str:
    """A motion in float32 is that of float64 to five digits, and is float32."""
    system = accepted(subject, name)
    single, double = roll(subject, system, dtype=torch.float32), roll(subject, system)
    require(single.q.dtype == torch.float32, f"a float32 system gives a motion of {single.q.dtype}")
    off = largest_difference(single.q, double.q)
    require(off <= 1e-5, f"float32 and float64 differ by {off:.3g} m on a chain of 1 m; allowed 1e-5")
    return f"{off:.1e}"


CHECKS = (single_and_double,)
