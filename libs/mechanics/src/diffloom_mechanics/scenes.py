"""Rollouts of many scenes at once, by the rule of ``torch.func.vmap``: copies of the system where that can be, else one
scene after the other. Either way the numbers of a scene are those of its own rollout, bit for bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from diffloom.fixed_order import leading
from diffloom.interfaces import InputError, SimulationError
from diffloom.transforms import REFUSED, concrete, each_scene, refuse_functionalize, transformed
from diffloom_mechanics.binding import Compiled
from diffloom_mechanics.copies import copies
from diffloom_mechanics.diagnosis import Explain
from diffloom_mechanics.lanes import SideBySide, apart, side_by_side
from diffloom_mechanics.rollout import BadGradient, Plan, run_rollout
from diffloom_mechanics.stepper import MakeStepper, Tensors

#: Makes steppers for many copies of a system.
OfCopies = Callable[[Compiled], MakeStepper]
#: Makes steppers for scenes side by side, if that can be: of so many scenes of a system, with a tensor of its.
OfLanes = Callable[[Compiled, int, Tensor], MakeStepper | None]


@dataclass(frozen=True)
class Scenes:
    """What to run, for one scene. of_copies: None where scenes run one after the other. of_lanes: None where they never
    run side by side."""

    plan: Plan
    explain: Explain
    system: Compiled
    of_copies: OfCopies | None
    of_lanes: OfLanes | None = None


def run_scenes(scenes: Scenes, q: Tensors, u: Tensors, tensors: Sequence[Tensor]) -> tuple[Tensors, Tensors]:
    """The saved states of each node set, as ``run_rollout`` has them, of the scenes that a transform carries."""
    refuse_functionalize()
    saved = each_scene(_Scenes.vmap, scenes, len(q), *q, *u, *tensors)
    if saved is None:
        saved = _Scenes.apply(scenes, len(q), *q, *u, *tensors)  # type: ignore[no-untyped-call]
    assert saved is not None
    return saved[: len(q)], saved[len(q) :]


class _Scenes(torch.autograd.Function):
    @staticmethod
    def forward(scenes: Scenes, sets: int, *given: Tensor) -> Tensors:
        raise InputError(REFUSED)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Nothing is kept: neither way back nor forward is gone."""

    @staticmethod
    def backward(ctx: Any, *adj: Tensor) -> Any:
        raise InputError(REFUSED)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise InputError(REFUSED)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], scenes: Scenes, sets: int, *given: Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        rows = [leading(t, dim, info.batch_size) for t, dim in zip(given, in_dims[2:], strict=True)]
        start, tensors = rows[: 2 * sets], rows[2 * sets :]
        if scenes.of_copies is None or info.batch_size == 1:
            saved = _one_by_one(scenes, sets, start, tensors)
            return saved, (0,) * len(saved)
        make = None if scenes.of_lanes is None else scenes.of_lanes(scenes.system, info.batch_size, tensors[0])
        if make is not None and not transformed(rows):
            saved = _in_lanes(scenes, make, sets, start, tensors)
            return _checked(scenes, sets, start, saved, tensors)
        system, values = copies(scenes.system, tensors)
        flat = tuple(t.flatten(0, 1) for t in start)
        plan = replace_plan(scenes.plan, scenes.of_copies(system))
        whole = replace(scenes, plan=plan, system=system)
        frames = _run(whole, flat[:sets], flat[sets:], values)
        saved = tuple(t.unflatten(1, (info.batch_size, -1)) for t in frames)
        return _checked(scenes, sets, start, saved, tensors)


def _checked(
    scenes: Scenes, sets: int, start: Sequence[Tensor], saved: Tensors, tensors: Sequence[Tensor]
) -> tuple[Tensors, tuple[int, ...]]:
    """What vmap's rule returns, scenes second; SimulationError where one is not finite."""
    if scenes.system.scenes == 1 and not all(bool(torch.isfinite(concrete(t)).all()) for t in saved):
        _explain(scenes, sets, start, saved, tensors)
    return saved, (1,) * len(saved)


def _in_lanes(
    scenes: Scenes, make: MakeStepper, sets: int, start: Sequence[Tensor], tensors: Sequence[Tensor]
) -> Tensors:
    """The saved states of scenes that run side by side."""
    many = SideBySide(scenes.system, len(start[0]))
    flow = tuple(side_by_side(t) for t in start)
    q, u = run_rollout(replace_plan(scenes.plan, make), flow[:sets], flow[sets:], many.tensors(tensors))
    return tuple(apart(t, many.scenes, axis=1) for t in (*q, *u))


def _run(scenes: Scenes, q: Tensors, u: Tensors, tensors: Sequence[Tensor]) -> Tensors:
    """All sets' q, then all their u; under a second vmap around the first it is the outer one's turn now."""
    run = run_scenes(scenes, q, u, tensors) if transformed((*q, *u, *tensors)) else None
    saved_q, saved_u = run or run_rollout(scenes.plan, q, u, tensors)
    return (*saved_q, *saved_u)


def _one_by_one(scenes: Scenes, sets: int, start: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensors:
    found = []
    for b in range(len(start[0])):
        q, u = tuple(t[b] for t in start[:sets]), tuple(t[b] for t in start[sets:])
        own = [t[b] for t in tensors]
        saved = _run(scenes, q, u, own)
        if scenes.system.scenes == 1 and not transformed((*q, *u, *own)):
            _check(scenes, b, (q, u), (saved[:sets], saved[sets:]), own)
        found.append(saved)
    return tuple(torch.stack(parts) for parts in zip(*found, strict=True))


def _explain(scenes: Scenes, sets: int, start: Sequence[Tensor], saved: Tensors, tensors: Sequence[Tensor]) -> None:
    """SimulationError about the first scene that is not finite."""
    if transformed((*start, *tensors)):
        raise SimulationError("a scene of the batches is not finite; run them as one batch to be told which, and why")
    good = torch.stack([torch.isfinite(t.detach()).movedim(1, 0).flatten(1).all(1) for t in saved]).all(0)
    b = int((~good).nonzero()[0])
    ends = tuple(t[:, b] for t in saved)
    flow = (tuple(t[b] for t in start[:sets]), tuple(t[b] for t in start[sets:]))
    _check(scenes, b, flow, (ends[:sets], ends[sets:]), [t[b] for t in tensors])


def _check(
    scenes: Scenes, b: int, start: tuple[Tensors, Tensors], saved: tuple[Tensors, Tensors], tensors: Sequence[Tensor]
) -> None:
    try:
        scenes.explain.check(start, saved, tensors)
    except SimulationError as error:
        raise SimulationError(f"scene {b}: {error}") from error


def replace_plan(plan: Plan, make: MakeStepper) -> Plan:
    """The same for other steppers, those of many scenes."""

    def explain(found: BadGradient) -> Any:
        try:
            plan.explain(found)
        except SimulationError as error:
            raise SimulationError(f"in one of the scenes {error}") from error

    return Plan(make, plan.steps, plan.save, plan.gradient, explain)
