"""Particles on a line that repel each other by a density on a grid, without adjoints: the term works in stages."""

from diffloom_kernels import device, floor


@device
def cell_of(q, i, width, T):
    """Cell below particle i, and its place in it from 0 to 1."""
    below = floor(q[i, 0] / width[0])
    return int(below), q[i, 0] / width[0] - below


@device
def clear(j, clock, q, u, width, mass, grid):
    """grid[j] = 0."""
    grid[j, 0] = q.dtype.type(0)


@device
def deposit(one, clock, q, u, width, mass, grid):
    """Each particle shares its mass between the two cells around it; one item does so for all."""
    T = q.dtype.type
    for i in range(mass.shape[0]):
        j, x = cell_of(q, i, width, T)
        grid[j, 0] += mass[i] * (T(1) - x)
        grid[j + 1, 0] += mass[i] * x


@device
def deposit_twice(one, clock, q, u, width, mass, grid):
    """A pass that reads the cell that it changes."""
    grid[0, 0] = grid[0, 0] * mass[0]


@device
def repel(i, clock, q, u, width, mass, grid):
    """f = -m c d c / dx, with the density c between the two cells around the particle."""
    T = q.dtype.type
    j, x = cell_of(q, i, width, T)
    slope = (grid[j + 1, 0] - grid[j, 0]) / width[0]
    return (-mass[i] * (grid[j, 0] * (T(1) - x) + grid[j + 1, 0] * x) * slope - u[i, 0],)
