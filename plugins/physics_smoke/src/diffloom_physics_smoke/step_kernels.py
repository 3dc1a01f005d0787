"""Step of smoke and its adjoint: buoyancy, advection of the velocity, pressure, advection of the smoke."""

from __future__ import annotations

from diffloom_kernels import device, launch

from .advection_kernels import (
    carry_density,
    carry_density_adjoint,
    carry_velocity,
    carry_velocity_adjoint,
    gather_centres,
    gather_faces,
    is_open,
    next_index,
    previous_index,
)
from .pressure_kernels import project


@device
def lift_face(i, lift, grid, density, w, out):
    """Store w plus ``lift`` times the density around each open lower face; nothing at walls."""
    R = w.dtype.type
    below = previous_index(i, grid.rows)
    for j in range(grid.columns):
        up = w[i, j, 1] + lift * (R(0.5) * (density[i, j, 0] + density[below, j, 0]))
        out[i, j, 0] = w[i, j, 0] if is_open(0, i, j, grid.walls) else R(0.0)
        out[i, j, 1] = up if is_open(1, i, j, grid.walls) else R(0.0)


@device
def lift_face_adjoint(i, lift, grid, density, adj_w, adj_density, adj_lift):
    """Add lift times the mean of adj_w at both faces to adj_density; adj_lift: (rows, columns), by cell."""
    R = adj_w.dtype.type
    below, above = previous_index(i, grid.rows), next_index(i, grid.rows)
    for j in range(grid.columns):
        here = adj_w[i, j, 1] if is_open(1, i, j, grid.walls) else R(0.0)
        over = adj_w[above, j, 1] if is_open(1, above, j, grid.walls) else R(0.0)
        adj_density[i, j, 0] += lift * (R(0.5) * (here + over))
        adj_lift[i, j] = here * (R(0.5) * (density[i, j, 0] + density[below, j, 0]))


@device
def clear(i, grid, adj_density, adj_w):
    """Set both cotangents to zero."""
    R = adj_w.dtype.type
    for j in range(grid.columns):
        adj_density[i, j, 0], adj_w[i, j, 0], adj_w[i, j, 1] = R(0.0), R(0.0), R(0.0)


def step_forward(grid, s, lift, keep, basis, density, w, scratch, density_out, w_out):
    """Pipeline: one step. s = dt / spacing [s/m], lift = dt buoyancy [m/s], keep: fraction of the smoke that
    remains.
    """
    launch(grid.rows, lift_face, lift, grid, density, w, scratch.pushed)
    launch(2 * grid.rows, carry_velocity, s, grid, scratch.pushed, scratch.carried)
    project(grid, basis, scratch.carried, scratch, w_out)
    launch(grid.rows, carry_density, s, keep, grid, w_out, density, density_out)


def step_backward(
    grid, s, lift, keep, basis, density, w, w_out, scratch,
    adj_density_out, adj_w_out, adj_density, adj_w, adj_lift, adj_keep,
):
    """Pipeline: transpose of a step. adj_lift, adj_keep: (rows, columns), to be summed."""
    launch(grid.rows, lift_face, lift, grid, density, w, scratch.pushed)
    launch(grid.rows, clear, grid, adj_density, adj_w)
    launch(
        1, carry_density_adjoint, s, keep, grid, w_out, density, adj_density_out, adj_density, adj_keep, scratch.ways
    )
    launch(grid.rows, gather_centres, grid, scratch.ways, adj_w_out, scratch.carried)
    project(grid, basis, scratch.carried, scratch, scratch.carried)
    launch(2, carry_velocity_adjoint, s, grid, scratch.pushed, scratch.carried, adj_w, scratch.ways)
    launch(grid.rows, gather_faces, grid, scratch.ways, adj_w)
    launch(grid.rows, lift_face_adjoint, lift, grid, density, adj_w, adj_density, adj_lift)
