"""A model at rest stays at rest."""

from __future__ import annotations

from diffloom.interfaces import NoGradient
from diffloom.testing.checks import check, require
from diffloom.testing.subjects import ModelSubject

#: Part of the example's size that rounding may move it by.
TOLERANCE = 1e-9


@check("rest")
def stays(subject: ModelSubject) -> str:
    """With the values of ``example_settings.rest`` nothing moves over all steps of the example."""
    params = subject.params(**subject.values("rest"))
    path = subject.roll(params, gradient=NoGradient(), save=(0, subject.steps // 2, subject.steps))
    require(float(path.u[0].abs().max()) == 0.0, "the values of 'rest' give a state that moves at the start")
    moved = float((path.q - path.q[0]).abs().max()) / subject.extent
    require(moved <= TOLERANCE, f"the state at rest moves by {moved:.3g} of its size; allowed {TOLERANCE:g}")
    return f"moves by {moved:.1e} of its size"


CHECKS = (stays,)
