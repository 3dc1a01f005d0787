"""Rollouts of mechanical systems: from a scheme to a checked trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Dynamics, Gradient, InputError, NoGradient, State, Trajectory
from diffloom.transforms import has_tangents, is_transformed, needs_gradient, refuse_tangents
from diffloom.validation import as_whole_number, check_real
from diffloom_mechanics.binding import CompiledSystem
from diffloom_mechanics.diagnosis import FailureExplainer, explain_gradient
from diffloom_mechanics.explicit import CompiledStepper, ExecutionTarget, Scheme, SplitStepper, TableauStepper
from diffloom_mechanics.implicit import ImplicitScheme, ImplicitStepper
from diffloom_mechanics.lanes import InterleavedScenes, LaneStepper, can_run_in_lanes
from diffloom_mechanics.memories import pack_memory, unpack_memory
from diffloom_mechanics.rollout import RolloutPlan, run_rollout
from diffloom_mechanics.scenes import OfCopies, OfLanes, Scenes, run_scenes
from diffloom_mechanics.schemes import Tableau
from diffloom_mechanics.stepper import MakeStepper, Stepper, Tensors
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import ElementTerm, NodeTerm


def refuse_unless_mechanics(name: str, dynamics: Dynamics, rates: bool = False) -> str | None:
    """Return the reason why a scheme for mechanics cannot advance a model.

    Args:
        name: Name of the integrator.
        dynamics: Dynamics of the model.
        rates: True if the scheme combines rates of motion.

    Returns:
        The reason, or None.
    """
    if not isinstance(dynamics, Mechanics):
        return (
            f"{name} advances mechanics (masses and forces); this model brings {dynamics.kind!r}: choose the "
            "integrator custom_step, or one for this kind"
        )
    for nodes in dynamics.sets.values() if rates else ():
        if nodes.motion is not None and nodes.motion.rate is None:
            return f"{name} combines rates, and the motion of {nodes.name} has none; use semi_implicit or leapfrog"
    rules = (dynamics.refuses, *(nodes.refuses for nodes in dynamics.sets.values()))
    reasons = (rule(name) for rule in rules if rule is not None)
    return next((reason for reason in reasons if reason is not None), None)


def run_explicit_rollout(
    scheme: Scheme,
    dynamics: Dynamics,
    state: State,
    *,
    dt: float,
    steps: int,
    save: tuple[int, ...],
    gradient: Gradient,
    target: ExecutionTarget = "auto",
) -> Trajectory:
    """Run a mechanical system by a splitting scheme (``moves``) or a Runge-Kutta scheme (``tableau``).

    Systems of compiled terms run compiled from the first step to the last. With PyTorch terms, Python runs in between.

    Args:
        scheme: The scheme.
        dynamics: A ``Mechanics``.
        state: Initial state.
        dt: Step length [s].
        steps: Number of steps.
        save: Increasing step counts whose states are saved.
        gradient: Gradient policy.
        target: "auto", "serial", "parallel" or "cuda".

    Returns:
        The saved states, with gradients by state and tensors.

    Raises:
        InputError: An argument does not fit the system.
        SimulationError: A state is not finite; the message names step and node.
    """
    system, dt = _mechanics(dynamics), check_step(dt)

    def make_compiled(system: CompiledSystem) -> MakeStepper:
        return lambda tensors, needed: CompiledStepper(system, scheme, tensors, dt, needed, target)

    def make(tensors: Sequence[Tensor], needed: Sequence[bool]) -> Stepper:
        if isinstance(scheme, Tableau):
            return TableauStepper(scheme, system.evaluation(tensors, dt))
        return SplitStepper(scheme, system.evaluation(tensors, dt))

    def in_lanes(one: CompiledSystem, scenes: int, like: Tensor) -> MakeStepper | None:
        if not can_run_in_lanes(one, scheme, scenes, like):
            return None
        many = InterleavedScenes(one, scenes)
        return lambda tensors, needed: LaneStepper(many, scheme, tensors, dt, needed, target)

    given: dict[str, Any] = {"dt": dt, "steps": steps, "save": save, "gradient": gradient}
    if system.torch_terms:
        return run_stepper(system, make, state, **given)
    given |= {"of_copies": make_compiled, "of_lanes": in_lanes, "scheme": scheme}
    return run_stepper(system, make_compiled(system.compiled), state, **given)


def run_implicit_rollout(
    scheme: ImplicitScheme, dynamics: Dynamics, state: State, *, steps: int, save: tuple[int, ...], gradient: Gradient
) -> Trajectory:
    """Run a mechanical system by an implicit scheme."""
    system, scheme = _mechanics(dynamics), replace(scheme, dt=check_step(scheme.dt))

    def make(tensors: Sequence[Tensor], needed: Sequence[bool]) -> Stepper:
        return ImplicitStepper(system, tensors, scheme)

    return run_stepper(system, make, state, dt=scheme.dt, steps=steps, save=save, gradient=gradient)


def _mechanics(dynamics: Dynamics) -> Mechanics:
    """Return the dynamics as a Mechanics, or raise InputError."""
    if not isinstance(dynamics, Mechanics):
        raise InputError(f"got a model that brings {dynamics.kind!r}; expected mechanics (masses and forces)")
    return dynamics


def run_stepper(
    system: Mechanics,
    make: MakeStepper,
    state: State,
    *,
    dt: float,
    steps: int,
    save: tuple[int, ...],
    gradient: Gradient,
    of_copies: OfCopies | None = None,
    of_lanes: OfLanes | None = None,
    scheme: Scheme | None = None,
) -> Trajectory:
    """Check the arguments, run a stepper and check the saved states.

    Args:
        system: The system.
        make: Function that makes the stepper.
        state: Initial state.
        dt: Step length [s].
        steps: Number of steps.
        save: Increasing step counts whose states are saved.
        gradient: Gradient policy.
        of_copies: Function that makes the stepper for many copies of the system, so that scenes under vmap run as one.
            Without it they run one after the other.
        of_lanes: Function that makes a stepper for scenes side by side, one per SIMD lane, or returns None.
        scheme: Explicit scheme of the stepper, if it runs compiled. Without it forward mode is refused.

    Returns:
        The saved states.

    Raises:
        InputError: An argument does not fit the system.
        SimulationError: A state is not finite; the message names step and node.
    """
    check_schedule(dt, steps, save)
    check_state(system, state)
    check_rows_per_step(system, steps)
    make = _refuse_memory(system, make)
    tensors = system.tensors
    q, u = (tuple(pair[k].contiguous() for pair in state.sets.values()) for k in (0, 1))
    q = (*q, *pack_memory(system.compiled, state))
    tangents = scheme is not None and has_tangents((*q, *u, *tensors))
    if not tangents:
        refuse_tangents((*q, *u, *tensors))
    if not (torch.is_grad_enabled() and any(needs_gradient(t) for t in (*q, *u, *tensors))):
        gradient = NoGradient()
    # Steps after the last saved one are not run: a failure there would spoil the gradients of the saved ones.
    plan = RolloutPlan(make, save[-1] if save else 0, save, gradient, explain_gradient(system, dt))
    explain = FailureExplainer(system, make, dt, save)
    if tangents:
        saved_q, saved_u = _run_in_forward_mode(system, scheme, plan, q, u, dt)
    elif is_transformed((*q, *u, *tensors)):
        saved_q, saved_u = run_scenes(Scenes(plan, explain, system.compiled, of_copies, of_lanes), q, u, tensors)
    else:
        saved_q, saved_u = run_rollout(plan, q, u, tensors)
        explain.check((q, u), (saved_q, saved_u), tensors)
    times = torch.tensor([state.time + dt * k for k in save], dtype=torch.float64)
    names = list(state.sets)
    memory = unpack_memory(system.compiled, saved_q[len(names) :])
    places = dict(zip(names, saved_q[: len(names)], strict=True))
    return Trajectory(places, dict(zip(names, saved_u, strict=True)), times, memory=memory)


def _run_in_forward_mode(
    system: Mechanics, scheme: Any, plan: RolloutPlan, q: Tensors, u: Tensors, dt: float
) -> tuple[Tensors, Tensors]:
    """Return the saved states with their tangents."""
    from diffloom_mechanics.tangents import DualRollout, run_with_tangents

    split = (len(q), len(q) + len(u))
    still = RolloutPlan(plan.make, plan.steps, plan.save, NoGradient(), plan.explain)

    def primal(given: Tensors) -> Tensors:
        found = run_rollout(still, given[: split[0]], given[split[0] : split[1]], given[split[1] :])
        return (*found[0], *found[1])

    rollout = DualRollout(system.compiled, scheme, dt, plan.save, split)
    saved = run_with_tangents(rollout, primal, (*q, *u, *system.tensors))
    return saved[: split[0]], saved[split[0] :]


def _refuse_memory(system: Mechanics, make: MakeStepper) -> MakeStepper:
    """Return a function that makes a stepper; it raises InputError for one that would not update the terms' memory."""
    remembering = system.compiled.remembering

    def checked(tensors: Sequence[Tensor], needed: Sequence[bool]) -> Stepper:
        stepper = make(tensors, needed)
        if remembering and not stepper.updates_memory:
            raise InputError(
                f"{type(stepper).__name__}: got the term {remembering[0].name!r}, which has memory; expected a scheme "
                "that calls SystemEvaluation.remember at the end of each step and sets updates_memory"
            )
        return stepper

    return checked if remembering else make


def check_step(dt: float) -> float:
    """Return the step length [s] as a float; raise InputError unless it is positive."""
    if isinstance(dt, bool) or not isinstance(dt, int | float) or not 0.0 < dt < float("inf"):
        raise InputError(f"dt: got {dt!r}; expected a positive step length in seconds, as a number")
    return float(dt)


def check_schedule(dt: float, steps: int, save: tuple[int, ...]) -> None:
    """Raise InputError unless step length, number of steps and saved steps are valid."""
    check_step(dt)
    if as_whole_number("steps", steps) < 0:
        raise InputError(f"steps: got {steps}; expected 0 or more")
    if list(save) != sorted(set(save)) or (save and not 0 <= save[0] <= save[-1] <= steps):
        raise InputError(f"save: got {save}; expected increasing step counts between 0 and {steps}")


def check_rows_per_step(system: Mechanics, steps: int) -> None:
    """Raise InputError unless values that change from step to step have a row for each step, or one for all."""
    terms: tuple[ElementTerm | NodeTerm, ...] = (*system.compiled.elements, *system.compiled.nodes)
    for term in terms:
        for name, value in term.params:
            stepped = name in term.per_step and (value.dim() == 2 or isinstance(term, NodeTerm))
            if stepped and value.shape[0] != 1 and value.shape[0] < steps:
                raise InputError(
                    f"term {term.name!r}, {name!r}: got values for {value.shape[0]} steps in a rollout of {steps}; "
                    "expected one row per step, or one for all"
                )


def check_state(system: Mechanics, state: State) -> None:
    """Raise InputError unless the state fits the system's nodes and precision."""
    if tuple(state.sets) != tuple(system.sets) and not len(state.sets) == len(system.sets) == 1:
        raise InputError(
            f"state: got the node sets {', '.join(map(repr, state.sets))}; "
            f"expected {', '.join(map(repr, system.sets))}, in this order"
        )
    for (q, u), nodes in zip(state.sets.values(), system.sets.values(), strict=True):
        wanted_q, wanted_u = (nodes.count, nodes.dq), (nodes.count, nodes.du)
        if tuple(q.shape) != wanted_q or tuple(u.shape) != wanted_u:
            raise InputError(
                f"state: got q {tuple(q.shape)} and u {tuple(u.shape)}; expected {wanted_q} and {wanted_u} for "
                f"{nodes.name}"
            )
        check_real("q of the state", q)
        check_real("u of the state", u)
        dtype = nodes.arrays[0][1].dtype
        if q.dtype != dtype:
            raise InputError(f"state is {q.dtype} but the parameters are {dtype}; make both with the same dtype")
        device = nodes.arrays[0][1].device
        if q.device != device or u.device != device:
            raise InputError(f"state is on {q.device} and {u.device}, the parameters on {device}; move one of them")
    state.check_finite()
