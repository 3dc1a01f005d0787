"""Tetrahedra of any material: forces and memory of an element, from functions of numbers.

With Ds the edges from corner 0, B the inverse of Ds at rest and V the volume at rest: F = Ds B, H = -V (P + D) B^T with
the damping stress D = k/2 F (F^T F' + F'^T F), forces H on corners 1 to 3 and minus their sum on corner 0.
"""

import functools
from collections.abc import Callable
from typing import Any

from diffloom_kernels import (
    Tmatmul33,
    add3,
    add33,
    column33,
    constant,
    device,
    ld3,
    mat33_columns,
    matmul33,
    matmulT33,
    mul33,
    neg3,
    store_corners,
    sub3,
)


@device
def row1(a, e):
    """Row e of an array of one column."""
    return (a[e, 0],)


@device
def row2(a, e):
    """Row e of an array of two columns."""
    return (a[e, 0], a[e, 1])


@device
def row3(a, e):
    """Row e of an array of three columns."""
    return (a[e, 0], a[e, 1], a[e, 2])


@device
def row4(a, e):
    """Row e of an array of four columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3])


@device
def row5(a, e):
    """Row e of an array of five columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3], a[e, 4])


@device
def row6(a, e):
    """Row e of an array of six columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3], a[e, 4], a[e, 5])


@device
def row7(a, e):
    """Row e of an array of seven columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3], a[e, 4], a[e, 5], a[e, 6])


@device
def row8(a, e):
    """Row e of an array of eight columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3], a[e, 4], a[e, 5], a[e, 6], a[e, 7])


@device
def row9(a, e):
    """Row e of an array of nine columns."""
    return (a[e, 0], a[e, 1], a[e, 2], a[e, 3], a[e, 4], a[e, 5], a[e, 6], a[e, 7], a[e, 8])


#: Loaders by the number of columns.
ROWS = dict(enumerate((row1, row2, row3, row4, row5, row6, row7, row8, row9), start=1))


@device
def edge_matrix(x, nodes, e):
    """Return the matrix whose columns are the edges from corner 0, in positions or velocities."""
    x0 = ld3(x, nodes[e, 0])
    return mat33_columns(
        sub3(ld3(x, nodes[e, 1]), x0), sub3(ld3(x, nodes[e, 2]), x0), sub3(ld3(x, nodes[e, 3]), x0)
    )


@device
def store_stress(e, u, nodes, F, P, B, volume, damping, out):
    """Store the forces of the stress P and of damping on the corners of element e."""
    rate = matmul33(edge_matrix(u, nodes, e), B)
    green = Tmatmul33(F, rate)
    twice = add33(green, (green[0], green[3], green[6], green[1], green[4], green[7], green[2], green[5], green[8]))
    D = mul33(matmul33(F, twice), constant(damping, 0.5) * damping)
    H = mul33(matmulT33(add33(P, D), B), -volume)
    h1, h2, h3 = column33(H, 0), column33(H, 1), column33(H, 2)
    store_corners(out, e, (neg3(add3(add3(h1, h2), h3)), h1, h2, h3))


@functools.lru_cache(maxsize=256)
def make_force(stress: Callable[..., Any], params: int, memory: int) -> Any:
    """Return the force of an element of a material with these counts of parameters and of numbers that it remembers."""
    load = ROWS[params]
    if not memory:

        @device
        def solid_force(e, clock, q, u, nodes, rest, volume, values, damping, out):
            B = row9(rest, e)
            F = matmul33(edge_matrix(q, nodes, e), B)
            P = stress(F, load(values, e))
            store_stress(e, u, nodes, F, P, B, volume[e], damping[e], out)

        return solid_force
    remembered = ROWS[memory]

    @device
    def solid_memory_force(e, clock, q, u, nodes, memory, rest, volume, values, damping, out):
        B = row9(rest, e)
        F = matmul33(edge_matrix(q, nodes, e), B)
        P = stress(F, remembered(memory, e), clock.time - clock.start, load(values, e))
        store_stress(e, u, nodes, F, P, B, volume[e], damping[e], out)

    return solid_memory_force


@functools.lru_cache(maxsize=256)
def make_update(update: Callable[..., Any], params: int, memory: int) -> Any:
    """Return the update of an element's memory."""
    load, remembered = ROWS[params], ROWS[memory]

    @device
    def solid_update(e, clock, q, u, nodes, memory, rest, volume, values, damping):
        F = matmul33(edge_matrix(q, nodes, e), row9(rest, e))
        return update(F, remembered(memory, e), clock.dt, load(values, e))

    return solid_update


@functools.lru_cache(maxsize=256)
def stress_of_energy(energy: Callable[..., Any], params: int) -> Any:
    """Return the stress P = dPsi/dF of an energy density, derived from its source."""
    from diffloom_kernels.derive import derive_adjoint

    eye = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    slope = derive_adjoint(energy, (eye, (1.0,) * params))

    @device
    def energy_stress(F, p):
        return slope(F, p, constant(F[0], 1.0))[0]

    return energy_stress
