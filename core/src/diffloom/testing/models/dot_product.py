"""The adjoint is the transpose of the derivative: <J a, b> = <a, J^T b>, and it is linear."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import State
from diffloom.testing.checks import Skip, check, require
from diffloom.testing.comparing import matched_gradients, worst
from diffloom.testing.models.gradients import TOLERANCE, full_value
from diffloom.testing.subjects import ModelSubject

PARTS = ("one step", "whole motion")


def parts(subject: ModelSubject) -> tuple[str, ...]:
    """One step, where a wrong adjoint shows undiluted, and all of them."""
    return PARTS


@check("dot_product", parts)
def state(subject: ModelSubject, part: str) -> str:
    """For random a and b, <J a, b> by differences is <a, J^T b> by the adjoint; J is by the state at the start."""
    params, steps = subject.params(), 1 if part == PARTS[0] else subject.steps
    begin = subject.model.initial_state(params)

    def motion(q: Tensor, u: Tensor) -> Tensor:
        return subject.flat(subject.roll(params, state=State(q, u), steps=steps, save=(steps,)))

    return worst(matched_gradients(motion, {"q": begin.q, "u": begin.u}, tolerance=TOLERANCE))


@check("dot_product")
def linear(subject: ModelSubject) -> str:
    """J^T (b + c) = J^T b + J^T c, and asking twice gives the same: the backward pass keeps nothing."""
    name = subject.fit
    value = full_value(subject, name, subject.variant_with(name).get(name)).requires_grad_()
    flat = subject.flat(subject.roll(subject.params(**{**subject.variant_with(name), name: value})))
    random = torch.Generator().manual_seed(17)
    b, c = (torch.randn(flat.shape, generator=random, dtype=torch.float64) for _ in range(2))
    pulled = [torch.autograd.grad(flat, value, w, retain_graph=True)[0] for w in (b, c, b + c, b)]
    size = float(max(g.abs().max() for g in pulled))
    if not size:
        raise Skip(f"nothing was compared: the gradient by {name!r} is zero")
    off = float((pulled[0] + pulled[1] - pulled[2]).abs().max()) / size
    require(off <= 1e-10, f"J^T (b + c) and J^T b + J^T c differ by {off:.3g}, relative; allowed 1e-10")
    require(torch.equal(pulled[0], pulled[3]), "a second backward pass over the same motion gives another gradient")
    return f"{off:.1e}"


CHECKS = (state, linear)
