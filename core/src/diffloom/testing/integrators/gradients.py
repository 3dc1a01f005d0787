"""Gradients by the start and by everything bound in, for every policy."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Checkpointed, Gradient, NoGradient, State, StoreAll
from diffloom.testing.checks import check, require
from diffloom.testing.comparing import matched_gradients, same_bits, worst
from diffloom.testing.integrators.runs import STEPS, accepted, flat, names, roll
from diffloom.testing.subjects import IntegratorSubject
from diffloom.testing.systems import System

#: Implicit schemes carry the tolerance of their solution into the differences.
TOLERANCE = 1e-5


@check("gradients", names)
def every_input(subject: IntegratorSubject, name: str) -> str:
    """Gradients by the start and by each bound tensor agree with differences."""
    system = accepted(subject, name)
    inputs = {"q": system.start.q, "u": system.start.u, **system.inputs}

    def run(q: Tensor, u: Tensor, **given: Tensor) -> Tensor:
        return flat(roll(subject, system, dynamics=system.make(given), state=State(q, u), gradient=StoreAll()))

    return worst(matched_gradients(run, inputs, tolerance=TOLERANCE, directions=1))


def pulled(subject: IntegratorSubject, system: System, gradient: Gradient) -> list[Tensor]:
    """The motion under one policy, then its gradients."""
    leaves = {name: value.clone().requires_grad_() for name, value in system.inputs.items()}
    q = system.start.q.clone().requires_grad_()
    path = roll(
        subject, system, dynamics=system.make(leaves), state=State(q, system.start.u), gradient=gradient,
        save=(3, STEPS),
    )  # fmt: skip
    weights = torch.linspace(-1.0, 1.0, flat(path).numel(), dtype=torch.float64)
    grads = torch.autograd.grad((flat(path) * weights).sum(), [q, *leaves.values()], allow_unused=True)
    return [flat(path).detach(), *(torch.zeros(1) if g is None else g for g in grads)]


@check("gradients", names)
def policies(subject: IntegratorSubject, name: str) -> None:
    """Checkpointed gradients are those of StoreAll, bit for bit, and NoGradient gives the same motion without any."""
    system = accepted(subject, name)
    stored = pulled(subject, system, StoreAll())
    for policy in (Checkpointed(), Checkpointed(segment=3), Checkpointed(memory=2000)):
        for a, b in zip(stored, pulled(subject, system, policy), strict=True):
            same_bits(f"results under StoreAll() and {policy}", a, b)
    leaves = {key: value.clone().requires_grad_() for key, value in system.inputs.items()}
    path = roll(subject, system, dynamics=system.make(leaves), gradient=NoGradient(), save=(3, STEPS))
    require(not path.q.requires_grad, "under NoGradient() the motion still wants a gradient")
    same_bits("motions with and without gradients", stored[0], flat(path))


CHECKS = (every_input, policies)
