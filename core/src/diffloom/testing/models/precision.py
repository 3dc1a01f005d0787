"""float32 agrees with float64."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.testing.checks import check, require
from diffloom.testing.comparing import finite
from diffloom.testing.models.gradients import full_value
from diffloom.testing.subjects import ModelSubject

#: Single precision carries seven digits; contact and stiff material amplify its rounding on the way.
MOTION, GRADIENT = 1e-3, 3e-2


def run(subject: ModelSubject, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Places of the example's motion, and their gradient by the parameter that shows best."""
    name = subject.fit
    given = {**subject.variant_with(name)}
    leaf = full_value(subject, name, given.pop(name, None)).to(dtype).requires_grad_()
    path = subject.roll(subject.params_in(dtype, **given, **{name: leaf}))
    require(path.q.dtype == dtype and path.u.dtype == dtype, f"parameters of {dtype} give a motion of {path.q.dtype}")
    weights = torch.linspace(-1.0, 1.0, path.q.numel(), dtype=torch.float64).to(dtype)
    gradient = torch.autograd.grad((path.q.reshape(-1) * weights).sum(), leaf)[0]
    return finite(f"the motion in {dtype}", path.q.detach()).double(), finite("its gradient", gradient).double()


@check("precision")
def single_and_double(subject: ModelSubject) -> str:
    """Motion and gradient in float32 are those of float64 to a few digits, and keep their precision's dtype."""
    (q, g), (q32, g32) = run(subject, torch.float64), run(subject, torch.float32)
    off = float((q32 - q).abs().max()) / subject.extent
    require(off <= MOTION, f"the motion in float32 is off by {off:.3g} of the example's size; allowed {MOTION:g}")
    size = float(g.abs().max())
    if not size and not bool(g32.any()):
        return f"motion off by {off:.1e}; the gradient is zero in both"
    apart = float((g32 - g).abs().max()) / size if size else float("inf")
    require(apart <= GRADIENT, f"the gradient in float32 is off by {apart:.3g}, relative; allowed {GRADIENT:g}")
    return f"motion off by {off:.1e}, gradient by {apart:.1e}"


CHECKS = (single_and_double,)
