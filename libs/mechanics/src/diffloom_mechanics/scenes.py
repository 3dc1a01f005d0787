"""Rollouts of many scenes at once, by the rule of ``torch.func.vmap``.

Scenes run as copies of the system where possible, else one after the other. Rows of elements and nodes are put one
after the other; node terms that read more than rows of their nodes (tables, workspaces, pairs) keep an axis of scenes,
and see one scene each. In both cases the numbers of a scene are those of its own rollout, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.fixed_order import move_scenes_first
from diffloom.interfaces import InputError, SimulationError
from diffloom.transforms import REFUSED, apply_vmap_rule, is_transformed, refuse_functionalize, unwrap_values
from diffloom_mechanics.binding import CompiledSystem, is_single_scene
from diffloom_mechanics.diagnosis import FailureExplainer
from diffloom_mechanics.gather import array_identity, freeze_array
from diffloom_mechanics.lanes import InterleavedScenes, interleave_scenes, separate_scenes
from diffloom_mechanics.rollout import BadGradient, RolloutPlan, run_rollout
from diffloom_mechanics.stepper import MakeStepper, Tensors
from diffloom_mechanics.terms import ElementTerm, NodeTerm

_CORNERS: dict[object, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}


def copy_scenes(system: CompiledSystem, tensors: Sequence[Tensor]) -> tuple[CompiledSystem, tuple[Tensor, ...]]:
    """Return ``system`` once for each scene, and its tensors. tensors: in the order of ``system.tensors``, scenes
    first.
    """
    scenes = int(tensors[0].shape[0])
    parts = system.split(tensors)
    count = len(system.sets)
    sets = tuple(
        (name, replace(nodes, arrays=_replace_values(nodes.arrays, [t.flatten(0, 1) for t in part])))
        for (name, nodes), part in zip(system.sets, parts, strict=False)
    )
    before = {name: nodes.count for name, nodes in system.sets}
    elements = tuple(
        _of_elements(term, part, before, scenes) for term, part in zip(system.elements, parts[count:], strict=False)
    )
    nodes = tuple(
        _of_nodes(term, part, scenes, system.scenes > 1)
        for term, part in zip(system.nodes, parts[count + len(system.elements) :], strict=True)
    )
    made = CompiledSystem(sets, elements, nodes, system.scenes * scenes)
    return made, made.tensors


def _replace_values(given: Sequence[tuple[str, Tensor]], values: Sequence[Tensor]) -> tuple[tuple[str, Tensor], ...]:
    """Return names with new values."""
    return tuple((name, value) for (name, _), value in zip(given, values, strict=True))


def _of_elements(term: ElementTerm, values: Sequence[Tensor], before: Mapping[str, int], scenes: int) -> ElementTerm:
    """Return an element term of all scenes. before: number of nodes of one copy in each set."""
    nodes = {
        name: _corners(corners, scenes, before[name] if name in before else next(iter(before.values())))
        for name, corners in term.corners.items()
    }
    params = [
        value.movedim(0, 1).flatten(1, 2) if name in term.per_step and old.dim() == 2 else value.flatten(0, 1)
        for (name, old), value in zip(term.params, values, strict=True)
    ]
    constants = tuple(np.concatenate([constant] * scenes) for constant in term.constants)
    return replace(term, nodes=nodes, constants=constants, params=_replace_values(term.params, params), on=None)


def _corners(corners: NDArray[np.int32], scenes: int, count: int) -> NDArray[np.int32]:
    """Return the corners in every scene; cached, because their gather is recognised by the array."""
    key = (array_identity(corners), scenes, count)
    if key not in _CORNERS:
        if len(_CORNERS) > 32:
            _CORNERS.pop(next(iter(_CORNERS)))
        first = (count * np.arange(scenes, dtype=np.int32))[:, None, None]
        made = freeze_array((corners + first).reshape(-1, corners.shape[1]))
        _CORNERS[key] = (made, corners)  # holding the array keeps its id taken
    return _CORNERS[key][0]


def _of_nodes(term: NodeTerm, values: Sequence[Tensor], scenes: int, again: bool) -> NodeTerm:
    """Return a node term of all scenes. again: True if there are scenes already, whose axis then follows the new
    one.
    """
    only = None if term.only is None else np.tile(term.only, scenes)
    if is_single_scene(term):
        params = [t.flatten(0, 1) if again else t for t in values]
    else:
        params = [
            t.movedim(0, 1).flatten(1, 2) if name in term.per_step else t.flatten(0, 1)
            for (name, _), t in zip(term.params, values, strict=True)
        ]
        term = replace(
            term,
            constants=tuple(np.concatenate([constant] * scenes) for constant in term.constants),
            work=tuple(((shape[0] * scenes, *shape[1:]), kind) for shape, kind in term.work),
            count=None if term.count is None else term.count * scenes,
        )
    return replace(term, params=_replace_values(term.params, params), only=only)


#: Numbers of the tensors before u, and of all tensors of a state: q and memory of terms, then u.
Split = tuple[int, int]
#: Function that makes steppers for many copies of a system.
OfCopies = Callable[[CompiledSystem], MakeStepper]
#: Function from a system, a number of scenes and one tensor to a stepper for scenes side by side, or None.
OfLanes = Callable[[CompiledSystem, int, Tensor], MakeStepper | None]


@dataclass(frozen=True)
class Scenes:
    """Rollout of one scene, and the functions that run many.

    of_copies: None where scenes run one after the other. of_lanes: None where they never run side by side.
    """

    plan: RolloutPlan
    explain: FailureExplainer
    system: CompiledSystem
    of_copies: OfCopies | None
    of_lanes: OfLanes | None = None


def run_scenes(scenes: Scenes, q: Tensors, u: Tensors, tensors: Sequence[Tensor]) -> tuple[Tensors, Tensors]:
    """Return the saved states of each node set, as ``run_rollout`` does, for the scenes that a transform carries."""
    refuse_functionalize()
    split = (len(q), len(q) + len(u))
    saved = apply_vmap_rule(_Scenes.vmap, scenes, split, *q, *u, *tensors)
    if saved is None:
        saved = _Scenes.apply(scenes, split, *q, *u, *tensors)  # type: ignore[no-untyped-call]
    assert saved is not None
    return saved[: len(q)], saved[len(q) :]


class _Scenes(torch.autograd.Function):
    """Autograd function of a rollout under vmap; it has no derivatives itself."""

    @staticmethod
    def forward(scenes: Scenes, split: Split, *given: Tensor) -> Tensors:
        raise InputError(REFUSED)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensors) -> None:
        """Keep nothing, because neither backward nor jvp is supported."""

    @staticmethod
    def backward(ctx: Any, *adj: Tensor) -> Any:
        raise InputError(REFUSED)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        raise InputError(REFUSED)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[int | None, ...], scenes: Scenes, split: Split, *given: Tensor
    ) -> tuple[Tensors, tuple[int, ...]]:
        rows = [move_scenes_first(t, dim, info.batch_size) for t, dim in zip(given, in_dims[2:], strict=True)]
        start, tensors = rows[: split[1]], rows[split[1] :]
        if scenes.of_copies is None or info.batch_size == 1:
            saved = _one_by_one(scenes, split[0], start, tensors)
            return saved, (0,) * len(saved)
        make = None if scenes.of_lanes is None else scenes.of_lanes(scenes.system, info.batch_size, tensors[0])
        if make is not None and not is_transformed(rows):
            saved = _in_lanes(scenes, make, split[0], start, tensors)
            return _check_saved(scenes, split[0], start, saved, tensors)
        system, values = copy_scenes(scenes.system, tensors)
        flat = tuple(t.flatten(0, 1) for t in start)
        plan = replace_plan(scenes.plan, scenes.of_copies(system))
        whole = replace(scenes, plan=plan, system=system)
        frames = _run(whole, flat[: split[0]], flat[split[0] :], values)
        saved = tuple(t.unflatten(1, (info.batch_size, -1)) for t in frames)
        return _check_saved(scenes, split[0], start, saved, tensors)


def _check_saved(
    scenes: Scenes, first: int, start: Sequence[Tensor], saved: Tensors, tensors: Sequence[Tensor]
) -> tuple[Tensors, tuple[int, ...]]:
    """Return the result of vmap's rule, scenes second; raise SimulationError where a scene is not finite."""
    if scenes.system.scenes == 1 and not all(bool(torch.isfinite(unwrap_values(t)).all()) for t in saved):
        _explain(scenes, first, start, saved, tensors)
    return saved, (1,) * len(saved)


def _in_lanes(
    scenes: Scenes, make: MakeStepper, first: int, start: Sequence[Tensor], tensors: Sequence[Tensor]
) -> Tensors:
    """Return the saved states of scenes that run side by side."""
    many = InterleavedScenes(scenes.system, len(start[0]))
    flow = tuple(interleave_scenes(t) for t in start)
    q, u = run_rollout(replace_plan(scenes.plan, make), flow[:first], flow[first:], many.tensors(tensors))
    return tuple(separate_scenes(t, many.scenes, axis=1) for t in (*q, *u))


def _run(scenes: Scenes, q: Tensors, u: Tensors, tensors: Sequence[Tensor]) -> Tensors:
    """Return the saved q of all sets, then their u; under a second vmap, the outer one is handled here."""
    run = run_scenes(scenes, q, u, tensors) if is_transformed((*q, *u, *tensors)) else None
    saved_q, saved_u = run or run_rollout(scenes.plan, q, u, tensors)
    return (*saved_q, *saved_u)


def _one_by_one(scenes: Scenes, first: int, start: Sequence[Tensor], tensors: Sequence[Tensor]) -> Tensors:
    """Return the saved states of scenes that run one after the other."""
    found = []
    for b in range(len(start[0])):
        q, u = tuple(t[b] for t in start[:first]), tuple(t[b] for t in start[first:])
        own = [t[b] for t in tensors]
        saved = _run(scenes, q, u, own)
        if scenes.system.scenes == 1 and not is_transformed((*q, *u, *own)):
            _check(scenes, b, (q, u), (saved[:first], saved[first:]), own)
        found.append(saved)
    return tuple(torch.stack(parts) for parts in zip(*found, strict=True))


def _explain(scenes: Scenes, first: int, start: Sequence[Tensor], saved: Tensors, tensors: Sequence[Tensor]) -> None:
    """Raise SimulationError about the first scene that is not finite."""
    if is_transformed((*start, *tensors)):
        raise SimulationError(
            "a scene of nested batches is not finite; run them as one batch: the message then names scene and step"
        )
    good = torch.stack([torch.isfinite(t.detach()).movedim(1, 0).flatten(1).all(1) for t in saved]).all(0)
    b = int((~good).nonzero()[0])
    ends = tuple(t[:, b] for t in saved)
    flow = (tuple(t[b] for t in start[:first]), tuple(t[b] for t in start[first:]))
    _check(scenes, b, flow, (ends[:first], ends[first:]), [t[b] for t in tensors])


def _check(
    scenes: Scenes, b: int, start: tuple[Tensors, Tensors], saved: tuple[Tensors, Tensors], tensors: Sequence[Tensor]
) -> None:
    """Raise SimulationError with the number of the scene, if it is not finite."""
    try:
        scenes.explain.check(start, saved, tensors)
    except SimulationError as error:
        raise SimulationError(f"scene {b}: {error}") from error


def replace_plan(plan: RolloutPlan, make: MakeStepper) -> RolloutPlan:
    """Return a plan with another stepper, that of many scenes."""

    def explain(found: BadGradient) -> Any:
        try:
            plan.explain(found)
        except SimulationError as error:
            raise SimulationError(f"in one of the scenes {error}") from error

    return RolloutPlan(make, plan.steps, plan.save, plan.gradient, explain)
