"""Cotangents of what lights the scene, one row of sums for each entry's stripe of pixels.

Columns: ambient (3), shininess (1), eye (3), then nine for each light, then 27 for harmonics where there are any.
"""

from __future__ import annotations

from diffloom.kernels import device, had3
from diffloom.shading.kernels.harmonics import harmonic
from diffloom.shading.kernels.lighting import light_row_adjoint
from diffloom.shading.kernels.runs import total

from .surface import place_and_normal

AMBIENT, SHININESS, EYE, LIGHTS = 0, 3, 4, 7


@device
def add_row3(table, i, column, v):
    """table[i, column:column + 3] += sums over the lanes of v."""
    table[i, column] += total(v[0])
    table[i, column + 1] += total(v[1])
    table[i, column + 2] += total(v[2])


@device
def light_table_adjoint(i, colour, q, points, frame, light, adj, adj_eye, table):
    """Add the part of one run of pixels, whose lit colour has the cotangent adj."""
    position, n, view = place_and_normal(q, points, frame, light)
    kinds, lights, harmonics, shininess = light[5], light[6], light[7], light[8]
    adj_diffuse = had3(adj, colour)
    add_row3(table, i, AMBIENT, adj_diffuse)
    add_row3(table, i, EYE, adj_eye)
    for k in range(kinds.shape[0]):
        place, diffuse, specular, shine = light_row_adjoint(
            k, n[0], view[0], position, kinds, lights, shininess, light[0] == 2, adj_diffuse, adj
        )
        add_row3(table, i, LIGHTS + 9 * k, place)
        add_row3(table, i, LIGHTS + 9 * k + 3, diffuse)
        add_row3(table, i, LIGHTS + 9 * k + 6, specular)
        table[i, SHININESS] += total(shine)
    first = LIGHTS + 9 * kinds.shape[0]
    for k in range(harmonics.shape[0]):
        y = harmonic(k, n[0], harmonics)
        add_row3(table, i, first + 3 * k, (adj_diffuse[0] * y, adj_diffuse[1] * y, adj_diffuse[2] * y))
