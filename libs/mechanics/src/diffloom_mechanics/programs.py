"""The compiled pipelines of mechanical systems, each written out for the systems it meets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from diffloom_kernels import Program
from diffloom_mechanics.binding import Binding, Compiled
from diffloom_mechanics.force_kernels import force, force_adjoint
from diffloom_mechanics.lane_kernels import lanes_rollout, lanes_rollout_adjoint
from diffloom_mechanics.records import Clock, Cotangents, Frames, States, Steps
from diffloom_mechanics.schemes import PointCotangents, Points, moves, tableau
from diffloom_mechanics.split_kernels import (
    joined_rollout_adjoint,
    make_move_under,
    move_back_under,
    split_rollout,
    split_rollout_adjoint,
)
from diffloom_mechanics.tableau_kernels import (
    projection,
    projection_back,
    rates_under,
    rates_under_back,
    tableau_rollout,
    tableau_rollout_adjoint,
)

if TYPE_CHECKING:
    from diffloom.interfaces import Model

_ROLLOUTS = (split_rollout, split_rollout_adjoint, joined_rollout_adjoint, tableau_rollout, tableau_rollout_adjoint)
_EVALUATIONS = (
    force, force_adjoint, make_move_under, move_back_under, rates_under, rates_under_back, projection, projection_back,
)  # fmt: skip

ROLLOUTS = Program("rollouts", (*_ROLLOUTS, lanes_rollout, lanes_rollout_adjoint))
EVALUATIONS = Program("evaluations", _EVALUATIONS)

#: What runs on a GPU: lanes are the CPU's.
SAMPLED = (*_ROLLOUTS, *_EVALUATIONS)


def widened(width: int) -> int:
    """Columns of a row that is worked on in registers: three numbers take four."""
    return 4 if width == 3 else width


def cotangents(system: Compiled, like: torch.Tensor) -> Cotangents:
    """Zeros for the cotangents of one state and of its forces."""

    def made(width: str) -> tuple[torch.Tensor, ...]:
        return tuple(like.new_zeros((nodes.count, widened(getattr(nodes, width)))) for _, nodes in system.sets)

    return Cotangents(made("dq"), made("du"), made("du"))


def states(system: Compiled, like: torch.Tensor, count: int | None = None) -> States:
    """Memory for one state, or for several of them."""
    lead = () if count is None else (count,)
    return States(
        tuple(like.new_zeros((*lead, nodes.count, nodes.dq)) for _, nodes in system.sets),
        tuple(like.new_zeros((*lead, nodes.count, nodes.du)) for _, nodes in system.sets),
    )


def programs() -> list[Program]:
    """A program for every installed model's example, with sample arguments: what the CUDA check compiles."""
    from diffloom.interfaces import Model
    from diffloom.plugins import get_model, models

    found = {}
    for name in models():
        model_type = get_model(name)
        if not isinstance(model_type, type):
            continue
        if not issubclass(model_type, Model) or model_type.example_settings is None:
            continue
        if (program := sampled(model_type.example())) is not None:
            found[program.name] = program
    return list(found.values())


def sampled(
    model: Model,
    name: str | None = None,
    pipelines: tuple[Any, ...] = SAMPLED,
    spills: Mapping[str, str] | None = None,
) -> Program | None:
    """Pipelines of a model's system with sample arguments; None where torch computes its forces.

    A plugin whose example leaves kernels out has a module ``programs`` that returns more of these. spills: as for
    ``Program``.
    """
    from diffloom.interfaces import Control
    from diffloom_mechanics.system import Mechanics

    dynamics = model.dynamics(model.params(), Control())
    if not isinstance(dynamics, Mechanics):
        return None
    system = dynamics.compiled

    def chosen(dtype: Any) -> dict[str, tuple[Any, ...]]:
        found = samples(system, dtype)
        return {each.__name__: found[each.__name__] for each in pipelines if each.__name__ in found}

    return Program(name or system.label, pipelines, chosen, spills)


def samples(system: Compiled, dtype: Any) -> dict[str, tuple[Any, ...]]:
    """Arguments for two steps of the pipelines, zeros where values do not matter."""
    real = torch.float32 if dtype().itemsize == 4 else torch.float64
    tensors = [t.detach().to(real) for t in system.tensors]
    binding = Binding(system, tensors)
    light = Binding(system, tensors, [False] * len(tensors))
    made = binding.gradients()
    like, grads, free, free_grads = tensors[0], made.record, binding.free.record, made.free.record
    steps, scheme = Steps(2, 0, 0.01), moves((1.0, 1.0))
    many, one = states(system, like, 3), states(system, like)
    frames = Frames(torch.zeros(3, dtype=torch.int32), many.q, many.u)
    adj = cotangents(system, like)
    clock = Clock(0, 0.0, 0.01, 0, 0.0)
    batch = Cotangents(many.q, many.u, many.u)
    found: dict[str, tuple[Any, ...]] = {
        "split_rollout": (steps, scheme, many, (), binding.record),
        "split_rollout_adjoint": (steps, scheme, many, (), frames, adj, binding.record, grads),
        "force": (clock, one.q, one.u, one.u, binding.record),
        "force_adjoint": (clock, one.q, one.u, batch, binding.record, grads),
        "make_move_under": (clock, scheme[0], one, one.u, one, free),
        "move_back_under": (clock, scheme[0], one, one.u, batch, free, free_grads),
        "projection": (one.q, one.q, free),
        "projection_back": (one.q, one.q, free),
    }
    if not light.force_matters and not system.staged:
        found["joined_rollout_adjoint"] = (steps, scheme, many, (), frames, adj, light.record, grads)
    if all(nodes.motion is None or nodes.motion.rate is not None for _, nodes in system.sets):
        # of third order, with a weight of zero as many schemes have
        rates = tableau([[1 / 3], [0.0, 2 / 3]], [0.25, 0.0, 0.75])
        points, back = Points((one,) * 2, (one,) * 3), PointCotangents(adj, (one,) * 3)
        found["tableau_rollout"] = (steps, rates, many, points, binding.record)
        found["rates_under"] = (one, one.u, one, free)
        found["rates_under_back"] = (one, one.u, one, Cotangents(one.q, one.u, one.u), free, free_grads)
        found["tableau_rollout_adjoint"] = (steps, rates, many, points, frames, adj, back, binding.record, grads)
    return found
