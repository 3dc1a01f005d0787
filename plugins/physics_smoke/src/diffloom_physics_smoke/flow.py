"""Steps of smoke as differentiable functions of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from diffloom.fixed_order import ordered_sum
from diffloom.transforms import once_differentiable
from diffloom_kernels import Arena, as_array

from .eigenvectors import basis
from .programs import program
from .records import FlowGrid, FlowScratch, PressureBasis

#: Approximate time of a pass for one cell [ns], and number of passes per step.
PER_CELL, PASSES = 12.0, 10


@dataclass(frozen=True)
class Flow:
    """Grid of cells, and the steps of a flow on it.

    Densities are (cells, 1) at centres, velocities (cells, 2) [m/s] at left and lower faces, row by row from below.

    Args:
        rows: Number of rows of cells.
        columns: Number of columns of cells.
        spacing: Side of a cell [m].
        walls: True if walls close the domain; it is periodic otherwise.
    """

    rows: int
    columns: int
    spacing: float
    walls: bool

    @property
    def grid(self) -> FlowGrid:
        """Grid as a record for kernels."""
        return FlowGrid(self.rows, self.columns, int(self.walls))

    def step(self, density: Tensor, velocity: Tensor, lift: Tensor, keep: Tensor, dt: float) -> tuple[Tensor, Tensor]:
        """Return density and velocity after a step.

        Args:
            density: Density (cells, 1).
            velocity: Velocity (cells, 2) [m/s].
            lift: dt times the buoyancy [m/s].
            keep: Fraction of the smoke that remains.
            dt: Step length [s].

        Returns:
            Density and velocity.
        """
        moved: tuple[Tensor, Tensor] = _StepFunction.apply(self, dt, density, velocity, lift, keep)  # type: ignore[no-untyped-call]
        return moved

    def project(self, velocity: Tensor) -> Tensor:
        """Return the divergence-free part of a velocity."""
        projected: Tensor = _ProjectFunction.apply(self, velocity)  # type: ignore[no-untyped-call]
        return projected

    def run(self, pipeline: str, *args: Any) -> None:
        """Run a pipeline on this grid."""
        program.run(pipeline, self.grid, *args, work=self.rows * self.columns * PER_CELL, passes=PASSES)

    def field(self, tensor: Tensor) -> Any:
        """Return the memory of a tensor as rows of columns."""
        return as_array(tensor).reshape(self.rows, self.columns, -1)

    def basis(self, arena: Arena) -> PressureBasis:
        """Return the eigenvectors for the pressure."""
        return basis(arena, self.rows, self.columns, self.walls)

    def scratch(self, arena: Arena) -> FlowScratch:
        """Return the work arrays of a step."""
        shape = (self.rows, self.columns)
        return FlowScratch(
            arena.floats(*shape), arena.floats(*shape), arena.floats(*shape, 2), arena.floats(*shape, 2),
            arena.floats(*shape, 3, 2),
        )  # fmt: skip


class _ProjectFunction(torch.autograd.Function):
    """Autograd function (flow, velocity) -> velocity; symmetric, so its own adjoint."""

    @staticmethod
    def forward(ctx: Any, flow: Flow, velocity: Tensor) -> Tensor:
        ctx.flow = flow
        arena = Arena.of(velocity)
        out = arena.floats(flow.rows, flow.columns, 2)
        flow.run("project", flow.basis(arena), flow.field(velocity), flow.scratch(arena), out)
        return arena.tensor(out).reshape(velocity.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj: Tensor) -> tuple[Any, ...]:
        return None, ctx.flow.project(adj)


class _StepFunction(torch.autograd.Function):
    """Autograd function (flow, dt, density, velocity, lift, keep) -> density, velocity."""

    @staticmethod
    def forward(
        ctx: Any, flow: Flow, dt: float, density: Tensor, velocity: Tensor, lift: Tensor, keep: Tensor
    ) -> tuple[Tensor, Tensor]:
        arena = Arena.of(density)
        moved, carried = arena.floats(flow.rows, flow.columns, 1), arena.floats(flow.rows, flow.columns, 2)
        ctx.flow, ctx.numbers = flow, (dt / flow.spacing, float(lift), float(keep))
        flow.run(
            "step_forward", *ctx.numbers, flow.basis(arena), flow.field(density), flow.field(velocity),
            flow.scratch(arena), moved, carried,
        )  # fmt: skip
        made = arena.tensor(moved).reshape(density.shape), arena.tensor(carried).reshape(velocity.shape)
        ctx.save_for_backward(density, velocity, made[1])
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_moved: Tensor, adj_carried: Tensor) -> tuple[Any, ...]:
        flow: Flow = ctx.flow
        density, velocity, carried = ctx.saved_tensors
        arena, shape = Arena.of(density), (flow.rows, flow.columns)
        adj_density, adj_velocity = arena.floats(*shape, 1), arena.floats(*shape, 2)
        adj_lift, adj_keep = arena.floats(*shape), arena.floats(*shape)
        flow.run(
            "step_backward", *ctx.numbers, flow.basis(arena), flow.field(density), flow.field(velocity),
            flow.field(carried), flow.scratch(arena), flow.field(adj_moved), flow.field(adj_carried),
            adj_density, adj_velocity, adj_lift, adj_keep,
        )  # fmt: skip
        lift, keep = (ordered_sum(arena.tensor(each)) if ctx.needs_input_grad[n] else None
                      for n, each in ((4, adj_lift), (5, adj_keep)))  # fmt: skip
        return (
            None, None, arena.tensor(adj_density).reshape(density.shape),
            arena.tensor(adj_velocity).reshape(velocity.shape), lift, keep,
        )  # fmt: skip
