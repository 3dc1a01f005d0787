"""Pressure that makes a velocity divergence-free, exactly: the Laplacian is diagonal in the basis of its eigenvectors.

P w = w - G L^+ D w, where D is the divergence of a cell, G the difference of pressures across a face and L = D G. With
G = -D^T the projection P is symmetric, so it is its own adjoint.
"""

from __future__ import annotations

from diffloom_kernels import device, fma, launch

from .advection_kernels import is_open, next_index, previous_index


@device
def divergence(i, grid, w, out):
    """Divergence of open faces: out[i, j] = u[i, j + 1] - u[i, j] + v[i + 1, j] - v[i, j]."""
    R = w.dtype.type
    above = next_index(i, grid.rows)
    for j in range(grid.columns):
        right = next_index(j, grid.columns)
        east = w[i, right, 0] if is_open(0, i, right, grid.walls) else R(0.0)
        west = w[i, j, 0] if is_open(0, i, j, grid.walls) else R(0.0)
        north = w[above, j, 1] if is_open(1, above, j, grid.walls) else R(0.0)
        south = w[i, j, 1] if is_open(1, i, j, grid.walls) else R(0.0)
        out[i, j] = (east - west) + (north - south)


@device
def multiply_row(i, a, b, out):
    """Row i of the product out = a b, four rows of b at a time."""
    R = a.dtype.type
    count, width = b.shape[0], b.shape[1]
    for j in range(width):
        out[i, j] = R(0.0)
    whole = count // 4 * 4
    for k in range(0, whole, 4):
        a0, a1, a2, a3 = a[i, k], a[i, k + 1], a[i, k + 2], a[i, k + 3]
        for j in range(width):
            first = fma(a1, b[k + 1, j], fma(a0, b[k, j], out[i, j]))
            out[i, j] = fma(a3, b[k + 3, j], fma(a2, b[k + 2, j], first))
    for k in range(whole, count):
        for j in range(width):
            out[i, j] = fma(a[i, k], b[k, j], out[i, j])


@device
def divide(i, grid, inverse, p):
    """Multiply p by ``inverse``, coefficient by coefficient."""
    for j in range(grid.columns):
        p[i, j] *= inverse[i, j]


@device
def subtract_gradient(i, grid, w, p, out):
    """Subtract the difference of p across each open face from w; nothing flows through a wall."""
    R = w.dtype.type
    below = previous_index(i, grid.rows)
    for j in range(grid.columns):
        left = previous_index(j, grid.columns)
        x, y = w[i, j, 0] - (p[i, j] - p[i, left]), w[i, j, 1] - (p[i, j] - p[below, j])
        out[i, j, 0] = x if is_open(0, i, j, grid.walls) else R(0.0)
        out[i, j, 1] = y if is_open(1, i, j, grid.walls) else R(0.0)


def project(grid, basis, w, scratch, out):
    """Pipeline: out = P w. Transform to the eigenvectors, divide, and transform back."""
    launch(grid.rows, divergence, grid, w, scratch.pressure)
    launch(grid.rows, multiply_row, scratch.pressure, basis.along_x_t, scratch.product)
    launch(grid.rows, multiply_row, basis.along_y, scratch.product, scratch.pressure)
    launch(grid.rows, divide, grid, basis.inverse, scratch.pressure)
    launch(grid.rows, multiply_row, basis.along_y_t, scratch.pressure, scratch.product)
    launch(grid.rows, multiply_row, scratch.product, basis.along_x, scratch.pressure)
    launch(grid.rows, subtract_gradient, grid, w, scratch.pressure, out)
