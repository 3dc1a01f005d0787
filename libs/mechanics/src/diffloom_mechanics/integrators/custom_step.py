"""For systems that bring a step of their own: run it, save what is asked, differentiate by the chosen policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.utils.checkpoint
from torch import Tensor

from diffloom.interfaces import (
    Checkpointed,
    CustomStep,
    Dynamics,
    Gradient,
    InputError,
    Integrator,
    NoGradient,
    SimulationError,
    State,
    Trajectory,
)
from diffloom_mechanics.rollout import segment_length
from diffloom_mechanics.trajectories import check_schedule, checked_step


@dataclass(frozen=True)
class CustomStepping(Integrator):
    """Calls the model's own step. Gradients go through autograd, checkpointed by segments when asked."""

    def refuses(self, dynamics: Dynamics) -> str | None:
        if isinstance(dynamics, CustomStep):
            return None
        return f"custom_step runs models that bring a step of their own; this one brings {dynamics.kind!r}"

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        reason = self.refuses(dynamics)
        if reason is not None or not isinstance(dynamics, CustomStep):
            raise InputError(str(reason))
        dt = checked_step(dt)
        check_schedule(dt, steps, save)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not isinstance(gradient, NoGradient)):
            q, u = _run(dynamics, state, dt, save[-1] if save else 0, save, gradient)
        times = state.time + dt * torch.tensor(save, dtype=torch.float64)
        for frame in range(len(save)):
            if not all(bool(torch.isfinite(t[frame].detach()).all()) for t in (q, u)):
                raise SimulationError(
                    f"the state saved at step {save[frame]} is not finite; try a smaller dt than {dt:g} s"
                )
        return Trajectory(q, u, times)


def _run(
    dynamics: CustomStep, state: State, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
) -> tuple[Tensor, Tensor]:
    size = (state.q.numel() + state.u.numel()) * state.q.element_size()
    length = segment_length(gradient, steps, size)
    kept: dict[int, tuple[Tensor, Tensor]] = {0: (state.q, state.u)}
    q, u = state.q, state.u
    for k0 in range(0, steps, length):
        count = min(length, steps - k0)
        wanted = [k for k in save if k0 < k <= k0 + count]

        def segment(
            q: Tensor, u: Tensor, *inputs: Tensor, k0: int = k0, count: int = count, wanted: Sequence[int] = wanted
        ) -> tuple[Tensor, ...]:
            out: list[Tensor] = []
            at = State(q, u, state.time + k0 * dt)
            for k in range(k0, k0 + count):
                at = dynamics.step(k, dt, at)
                if k + 1 in wanted:
                    out += [at.q, at.u]
            return (at.q, at.u, *out)

        if isinstance(gradient, Checkpointed) and torch.is_grad_enabled():
            found = torch.utils.checkpoint.checkpoint(segment, q, u, *dynamics.inputs, use_reentrant=False)
        else:
            found = segment(q, u)
        q, u = found[0], found[1]
        for number, k in enumerate(wanted):
            kept[k] = (found[2 + 2 * number], found[3 + 2 * number])
    return torch.stack([kept[k][0] for k in save]), torch.stack([kept[k][1] for k in save])
