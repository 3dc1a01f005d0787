"""Checks of convergence with the step and of gradients, and rollouts for all checks."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from diffloom.interfaces import Checkpointed, Dynamics, Gradient, NoGradient, State, StoreAll, Trajectory
from diffloom_mechanics import Mechanics, particles
from diffloom_testing.comparisons import describe_worst, flatten_state, require_matching_gradients, require_same_bits
from diffloom_testing.results import Skip, check, require
from diffloom_testing.subjects import IntegratorSubject
from diffloom_testing.systems import FLYING, SYSTEMS, System

STEPS = 10


def advanced_systems(subject: IntegratorSubject) -> tuple[str, ...]:
    """Return the names of the small systems that the integrator advances; of all systems if it refuses all."""
    able = tuple(s.name for s in SYSTEMS if subject.integrator.refuses(s.dynamics()) is None)
    return able or tuple(s.name for s in SYSTEMS)


def require_system(subject: IntegratorSubject, name: str) -> System:
    """Return the system of this name; raise Skip if the integrator refuses it."""
    system = next(s for s in SYSTEMS if s.name == name)
    reason = subject.integrator.refuses(system.dynamics())
    if reason is not None:
        raise Skip(reason)
    return system


def roll(
    subject: IntegratorSubject,
    system: System,
    *,
    dynamics: Dynamics | None = None,
    state: State | None = None,
    steps: int = STEPS,
    save: tuple[int, ...] | None = None,
    gradient: Gradient | None = None,
    dtype: torch.dtype = torch.float64,
) -> Trajectory:
    """Advance a system by ``steps`` steps, twenty to its period."""
    return subject.integrator.rollout(
        dynamics if dynamics is not None else system.dynamics(dtype),
        state if state is not None else system.state(dtype),
        dt=system.period / (2 * STEPS),
        steps=steps,
        save=save if save is not None else (steps // 2, steps),
        gradient=gradient or NoGradient(),
    )


def reference(system: Mechanics, state: State, span: float, steps: int = 200) -> torch.Tensor:
    """Return the coordinates after ``span`` [s] by the classical Runge-Kutta method of fourth order, from forces
    alone.
    """
    arrays = dict(system.set(None).arrays)
    free = (arrays["inverse_mass"] > 0.0)[:, None].double()

    def slope(q: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rates of coordinates and velocities; pinned nodes have none."""
        pull = system.force(q, u).detach() * arrays["inverse_mass"][:, None] + arrays["gravity"]
        return u * free, pull * free

    q, u, h = state.q, state.u, span / steps
    for _ in range(steps):
        k1 = slope(q, u)
        k2 = slope(q + 0.5 * h * k1[0], u + 0.5 * h * k1[1])
        k3 = slope(q + 0.5 * h * k2[0], u + 0.5 * h * k2[1])
        k4 = slope(q + h * k3[0], u + h * k3[1])
        q = q + h / 6.0 * (k1[0] + 2.0 * k2[0] + 2.0 * k3[0] + k4[0])
        u = u + h / 6.0 * (k1[1] + 2.0 * k2[1] + 2.0 * k3[1] + k4[1])
    return q


@check("accuracy", advanced_systems)
def converges(subject: IntegratorSubject, name: str) -> str:
    """Half the step nearly halves the error against a Runge-Kutta solution, or better (order 1 and up)."""
    system = require_system(subject, name)
    dynamics, span = system.dynamics(), 0.5 * system.period
    if not isinstance(dynamics, Mechanics):
        raise Skip("a step of its own is the model's affair")
    exact = reference(dynamics, system.state(), span)

    def error(steps: int) -> float:
        """Return the distance from the exact end."""
        path = subject.integrator.rollout(
            dynamics, system.state(), dt=span / steps, steps=steps, save=(steps,), gradient=NoGradient()
        )
        return float((path.q[-1] - exact).norm())

    coarse, fine = error(2 * STEPS), error(8 * STEPS)
    order = 0.5 * math.log2(coarse / max(fine, 1e-300))
    require(
        order >= 0.75 or fine <= 1e-9,
        f"with steps four times shorter the error goes from {coarse:.3g} to {fine:.3g} m: an order of {order:.2f}; "
        "expected 0.75 or more",
    )
    return f"order {order:.2f}"


@check("accuracy")
def order(subject: IntegratorSubject) -> str:
    """The error without damping falls with the step by the order that the integrator declares."""
    declared = subject.integrator.order
    if declared is None:
        raise Skip("the integrator declares no order")
    system = require_system(subject, FLYING.name)
    inputs = {**system.inputs, "damping": torch.zeros_like(system.inputs["damping"])}
    dynamics, span = system.make(inputs), 0.5 * system.period
    assert isinstance(dynamics, Mechanics)
    exact = reference(dynamics, system.state(), span, steps=2000)
    errors = []
    for steps in (2 * STEPS, 8 * STEPS):
        path = subject.integrator.rollout(
            dynamics, system.state(), dt=span / steps, steps=steps, save=(steps,), gradient=NoGradient()
        )
        errors.append(float((path.q[-1] - exact).norm()))
    found = 0.5 * math.log2(errors[0] / max(errors[1], 1e-300))
    require(
        found >= declared - 0.3,
        f"the integrator declares order {declared}; with steps four times shorter the error goes from {errors[0]:.3g} "
        f"to {errors[1]:.3g} m, which is order {found:.2f}",
    )
    return f"order {found:.2f}, declared {declared}"


@check("accuracy")
def free_fall(subject: IntegratorSubject) -> str:
    """A falling particle falls g t^2 / 2, up to the step length; one without gravity flies straight, exactly."""
    mass, g = torch.ones(1, dtype=torch.float64), torch.tensor([0.0, -9.81, 0.0], dtype=torch.float64)
    system = Mechanics(particles(mass, g))
    reason = subject.integrator.refuses(system)
    if reason is not None:
        raise Skip(reason)
    start = State(torch.zeros((1, 3), dtype=torch.float64), torch.tensor([[1.0, 2.0, 0.0]], dtype=torch.float64))
    given = {"dt": 1e-3, "steps": 500, "save": (500,), "gradient": NoGradient()}
    path = subject.integrator.rollout(system, start, **given)  # type: ignore[arg-type]
    exact = start.q + 0.5 * start.u + 0.5 * 0.25 * g
    off = float((path.q[-1] - exact).abs().max())
    require(off <= 5e-3, f"after 0.5 s of free fall the place is off by {off:.3g} m; allowed 0.005 m at steps of 1 ms")
    still = Mechanics(particles(mass, 0.0 * g))
    straight = subject.integrator.rollout(still, start, **given)  # type: ignore[arg-type]
    bend = float((straight.q[-1] - start.q - 0.5 * start.u).abs().max())
    require(bend <= 1e-9, f"a free particle is off its straight line by {bend:.3g} m; allowed 1e-9")
    return f"off by {off:.1e} m"


@check("accuracy")
def momentum(subject: IntegratorSubject) -> str:
    """The momentum of a flying chain is constant."""
    system = require_system(subject, FLYING.name)
    path = roll(subject, system, save=(0, STEPS))
    total = (FLYING.inputs["mass"][:, None] * path.u).sum(dim=1)
    off = float((total[1] - total[0]).abs().max())
    require(off <= 1e-9, f"momentum changes by {off:.3g} kg m/s; allowed 1e-9")
    return f"{off:.1e}"


#: Tolerance that leaves room for the solver tolerance of implicit schemes.
TOLERANCE = 1e-5


@check("gradients", advanced_systems)
def every_input(subject: IntegratorSubject, name: str) -> str:
    """Gradients by the start and by each bound tensor agree with differences."""
    system = require_system(subject, name)
    inputs = {"q": system.start.q, "u": system.start.u, **system.inputs}

    def run(q: Tensor, u: Tensor, **given: Tensor) -> Tensor:
        return flatten_state(roll(subject, system, dynamics=system.make(given), state=State(q, u), gradient=StoreAll()))

    return describe_worst(require_matching_gradients(run, inputs, tolerance=TOLERANCE, directions=1))


def differentiate_motion(subject: IntegratorSubject, system: System, gradient: Gradient) -> list[Tensor]:
    """Return the motion under one gradient policy, then its gradients."""
    leaves = {name: value.clone().requires_grad_() for name, value in system.inputs.items()}
    q = system.start.q.clone().requires_grad_()
    path = roll(
        subject, system, dynamics=system.make(leaves), state=State(q, system.start.u), gradient=gradient,
        save=(3, STEPS),
    )  # fmt: skip
    weights = torch.linspace(-1.0, 1.0, flatten_state(path).numel(), dtype=torch.float64)
    grads = torch.autograd.grad((flatten_state(path) * weights).sum(), [q, *leaves.values()], allow_unused=True)
    return [flatten_state(path).detach(), *(torch.zeros(1) if g is None else g for g in grads)]


@check("gradients", advanced_systems)
def policies(subject: IntegratorSubject, name: str) -> None:
    """Checkpointed gradients equal those of StoreAll bit for bit, and NoGradient gives the same motion without
    gradients.
    """
    system = require_system(subject, name)
    stored = differentiate_motion(subject, system, StoreAll())
    for policy in (Checkpointed(), Checkpointed(segment=3), Checkpointed(memory=2000)):
        for a, b in zip(stored, differentiate_motion(subject, system, policy), strict=True):
            require_same_bits(f"results under StoreAll() and {policy}", a, b)
    leaves = {key: value.clone().requires_grad_() for key, value in system.inputs.items()}
    path = roll(subject, system, dynamics=system.make(leaves), gradient=NoGradient(), save=(3, STEPS))
    require(not path.q.requires_grad, "under NoGradient() the motion still wants a gradient")
    require_same_bits("motions with and without gradients", stored[0], flatten_state(path))


CHECKS = (converges, order, free_fall, momentum, every_input, policies)
