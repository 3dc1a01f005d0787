"""Time-stepping schemes: explicit ones, implicit ones, and one that runs a step of the model's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

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
from diffloom_mechanics.explicit import ExecutionTarget, Scheme
from diffloom_mechanics.implicit import ImplicitScheme
from diffloom_mechanics.rollout import segment_length
from diffloom_mechanics.schemes import Move, Tableau, moves, tableau
from diffloom_mechanics.trajectories import (
    check_schedule,
    check_step,
    refuse_unless_mechanics,
    run_explicit_rollout,
    run_implicit_rollout,
)


@dataclass(frozen=True)
class ExplicitIntegrator(Integrator):
    """Base of the integrators that run an explicit scheme.

    Args:
        target: "auto", "serial", "parallel" or "cuda".
    """

    name: ClassVar[str]
    scheme: ClassVar[Scheme]
    target: ExecutionTarget = "auto"

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuse_unless_mechanics(self.name, dynamics, rates=isinstance(self.scheme, Tableau))

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        return run_explicit_rollout(
            self.scheme, dynamics, state, dt=dt, steps=steps, save=save, gradient=gradient, target=self.target
        )


@dataclass(frozen=True)
class SemiImplicitEuler(ExplicitIntegrator):
    """Semi-implicit Euler: u+ = u + dt M^-1 f(q, u, t), then q+ = q (+) dt u+: one kick, one drift.

    Symplectic, of first order, stable while dt is small against the shortest period of oscillation. Systems of compiled
    terms run compiled over the whole rollout.

    Args:
        target: "auto", "serial", "parallel" or "cuda".
    """

    name: ClassVar[str] = "semi_implicit"
    order: ClassVar[int | None] = 1
    scheme: ClassVar[Scheme] = moves((1.0, 1.0))


@dataclass(frozen=True)
class Leapfrog(ExplicitIntegrator):
    """Leapfrog: u' = u + dt/2 M^-1 f(q, u), q+ = q (+) dt u', u+ = u' + dt/2 M^-1 f(q+, u').

    Of second order, symplectic and reversible where forces do not depend on velocities; of first order in forces that
    do, such as damping. Two evaluations of the forces per step.

    Args:
        target: "auto", "serial", "parallel" or "cuda".
    """

    name: ClassVar[str] = "leapfrog"
    order: ClassVar[int | None] = 2
    scheme: ClassVar[Scheme] = moves((0.5, 1.0), (0.5, 0.0))


@dataclass(frozen=True)
class RungeKutta4(ExplicitIntegrator):
    """Classical Runge-Kutta scheme of fourth order, for smooth motion to high accuracy, damping included.

    Four evaluations of the forces per step; not symplectic. Contact that sets in within a step lowers the order.

    Args:
        target: "auto", "serial", "parallel" or "cuda".
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int | None] = 4
    scheme: ClassVar[Scheme] = tableau([[0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6])


@dataclass(frozen=True)
class ImplicitIntegrator(Integrator):
    """Base of the integrators that run an implicit scheme.

    Args:
        tolerance: Accepted velocity residual relative to the fastest node (or 1 m/s).
        iterations: Newton steps before SimulationError is raised.
    """

    name: ClassVar[str]
    to_point: ClassVar[tuple[Move, ...]]
    to_end: ClassVar[tuple[Move, ...]]
    tolerance: float = 1e-11
    iterations: int = 60

    def refuses(self, dynamics: Dynamics) -> str | None:
        return refuse_unless_mechanics(self.name, dynamics)

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        title = self.name.replace("_", " ").replace("euler", "Euler")
        scheme = ImplicitScheme(title, self.to_point, self.to_end, self.tolerance, self.iterations, dt)
        return run_implicit_rollout(scheme, dynamics, state, steps=steps, save=save, gradient=gradient)


@dataclass(frozen=True)
class BackwardEuler(ImplicitIntegrator):
    """Backward Euler: u+ = u + dt M^-1 f(q+, u+, t+), q+ = q (+) dt u+.

    Each step is solved by Newton's method with an exact sparse Jacobian and a line search. The gradient takes one
    transposed solve per step, by the implicit function theorem. Of first order, stable at any dt; it damps motion more
    for larger dt. It computes in float64 internally, in every precision of the model.

    Args:
        tolerance: Accepted velocity residual relative to the fastest node (or 1 m/s).
        iterations: Newton steps before SimulationError is raised.
    """

    name: ClassVar[str] = "backward_euler"
    order: ClassVar[int | None] = 1
    to_point: ClassVar[tuple[Move, ...]] = moves((1.0, 1.0))
    to_end: ClassVar[tuple[Move, ...]] = moves((1.0, 1.0))


@dataclass(frozen=True)
class ImplicitMidpoint(ImplicitIntegrator):
    """Implicit midpoint rule: u+ = u + dt M^-1 f(q~, u~), q+ = q (+) dt u~, with the midpoint state q~, u~.

    It is solved as in BackwardEuler. Of second order, stable at any dt for linear forces, and without numerical
    damping: oscillation too fast for dt goes on instead of dying out.

    Args:
        tolerance: Accepted velocity residual relative to the fastest node (or 1 m/s).
        iterations: Newton steps before SimulationError is raised.
    """

    name: ClassVar[str] = "implicit_midpoint"
    order: ClassVar[int | None] = 2
    to_point: ClassVar[tuple[Move, ...]] = moves((0.5, 0.5))
    to_end: ClassVar[tuple[Move, ...]] = moves((0.5, 1.0), (0.5, 0.0))


@dataclass(frozen=True)
class CustomStepping(Integrator):
    """Integrator that calls the model's own step. Gradients go through autograd, checkpointed by segments when
    asked.
    """

    def refuses(self, dynamics: Dynamics) -> str | None:
        if isinstance(dynamics, CustomStep):
            return None
        return (
            f"custom_step runs models that bring a step of their own; this one brings {dynamics.kind!r}: choose an "
            "integrator of mechanics, such as semi_implicit"
        )

    def rollout(
        self, dynamics: Dynamics, state: State, *, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
    ) -> Trajectory:
        reason = self.refuses(dynamics)
        if reason is not None or not isinstance(dynamics, CustomStep):
            raise InputError(str(reason))
        dt = check_step(dt)
        check_schedule(dt, steps, save)
        with torch.set_grad_enabled(torch.is_grad_enabled() and not isinstance(gradient, NoGradient)):
            q, u, memory = _run_segments(dynamics, state, dt, save[-1] if save else 0, save, gradient)
        times = state.time + dt * torch.tensor(save, dtype=torch.float64)
        for frame in range(len(save)):
            if not all(bool(torch.isfinite(t[frame].detach()).all()) for t in (q, u, *memory.values())):
                raise SimulationError(
                    f"the state saved at step {save[frame]} is not finite; try a smaller dt than {dt:g} s"
                )
        return Trajectory(q, u, times, memory=memory)


def _run_segments(
    dynamics: CustomStep, state: State, dt: float, steps: int, save: tuple[int, ...], gradient: Gradient
) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Run all steps, segment by segment, and return the saved q, u and internal variables."""
    names = tuple(state.memory)
    at: tuple[Tensor, ...] = (state.q, state.u, *state.memory.values())
    length = segment_length(gradient, steps, sum(t.numel() for t in at) * state.q.element_size())
    kept: dict[int, tuple[Tensor, ...]] = {0: at}
    for k0 in range(0, steps, length):
        count = min(length, steps - k0)
        wanted = [k for k in save if k0 < k <= k0 + count]

        def segment(
            *given: Tensor, k0: int = k0, count: int = count, wanted: Sequence[int] = wanted
        ) -> tuple[Tensor, ...]:
            out: list[Tensor] = []
            held = dict(zip(names, given[2:], strict=False))
            now = State(given[0], given[1], state.time + k0 * dt, held)
            for k in range(k0, k0 + count):
                now = dynamics.step(k, dt, now)
                if k + 1 in wanted:
                    out += _list_tensors(now, names)
            return (*_list_tensors(now, names), *out)

        if isinstance(gradient, Checkpointed) and torch.is_grad_enabled():
            found = torch.utils.checkpoint.checkpoint(segment, *at, *dynamics.inputs, use_reentrant=False)
        else:
            found = segment(*at)
        at = found[: len(at)]
        for number, k in enumerate(wanted, start=1):
            kept[k] = found[len(at) * number : len(at) * (number + 1)]
    q, u, *memory = (torch.stack([kept[k][n] for k in save]) for n in range(len(at)))
    return q, u, dict(zip(names, memory, strict=True))


def _list_tensors(state: State, names: Sequence[str]) -> list[Tensor]:
    """Return q, u and internal variables of a state."""
    lost = [name for name in names if name not in state.memory]
    if lost:
        raise InputError(
            f"the model's step returned a state without the internal variable {lost[0]!r}; expected State(q, u, time, "
            "memory) with all of them"
        )
    return [state.q, state.u, *(state.memory[name] for name in names)]
