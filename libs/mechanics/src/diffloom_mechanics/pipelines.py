"""Compiled pipelines of mechanical systems, and their work memory."""

from __future__ import annotations

import torch

from diffloom_kernels import Program
from diffloom_mechanics.binding import CompiledSystem
from diffloom_mechanics.force_kernels import force, force_adjoint
from diffloom_mechanics.lane_kernels import lanes_rollout, lanes_rollout_adjoint
from diffloom_mechanics.memory_kernels import remember, remember_adjoint
from diffloom_mechanics.records import StateCotangents, States
from diffloom_mechanics.split_kernels import (
    joined_rollout_adjoint,
    make_move_under,
    make_move_under_adjoint,
    split_rollout,
    split_rollout_adjoint,
)
from diffloom_mechanics.tableau_kernels import (
    projection,
    projection_adjoint,
    rates_under,
    rates_under_adjoint,
    tableau_rollout,
    tableau_rollout_adjoint,
)
from diffloom_mechanics.terms import count_memory

_ROLLOUTS = (split_rollout, split_rollout_adjoint, joined_rollout_adjoint, tableau_rollout, tableau_rollout_adjoint)
_EVALUATIONS = (
    force, force_adjoint, make_move_under, make_move_under_adjoint, rates_under, rates_under_adjoint, projection,
    projection_adjoint, remember, remember_adjoint,
)  # fmt: skip

ROLLOUTS = Program("rollouts", (*_ROLLOUTS, lanes_rollout, lanes_rollout_adjoint))
EVALUATIONS = Program("evaluations", _EVALUATIONS)

#: Pipelines that run on a GPU; lanes are for the CPU alone.
SAMPLED = (*_ROLLOUTS, *_EVALUATIONS)


def widen(width: int) -> int:
    """Return the columns of a row that is kept in registers: three numbers take four."""
    return 4 if width == 3 else width


def cotangents(system: CompiledSystem, like: torch.Tensor, memory: bool = True) -> StateCotangents:
    """Return zeros for the cotangents of one state, of its forces and, if asked for, of the terms' memory."""

    def make(width: str) -> tuple[torch.Tensor, ...]:
        return tuple(like.new_zeros((nodes.count, widen(getattr(nodes, width)))) for _, nodes in system.sets)

    kept = zero_memory(system, like) if memory else ()
    return StateCotangents((*make("dq"), *kept), make("du"), make("du"))


def zero_memory(system: CompiledSystem, like: torch.Tensor, lead: tuple[int, ...] = ()) -> tuple[torch.Tensor, ...]:
    """Return zeros for the memory of each term that has any."""
    return tuple(
        like.new_zeros((*lead, system.count_rows(term), count_memory(term.memory))) for term in system.remembering
    )


def states(system: CompiledSystem, like: torch.Tensor, count: int | None = None, memory: bool = False) -> States:
    """Return space for one state, or for several; with ``memory`` also for the memory of terms."""
    lead = () if count is None else (count,)
    kept = zero_memory(system, like, lead) if memory else ()
    return States(
        (*(like.new_zeros((*lead, nodes.count, nodes.dq)) for _, nodes in system.sets), *kept),
        tuple(like.new_zeros((*lead, nodes.count, nodes.du)) for _, nodes in system.sets),
    )
