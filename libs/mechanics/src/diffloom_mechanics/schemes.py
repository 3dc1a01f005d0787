"""Schemes as data: moves of a splitting, tableaux of rates. What runs them: split_kernels and tableau_kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_mechanics.records import StateCotangents, States

Weights = tuple[Any, ...]  # a number, or None for zero, which is left out


class Move(NamedTuple):
    """Kick for ``kick`` of a step under the forces where the system is, then drift for ``drift`` of a step.

    at: when, in parts of a step. kicks, drifts: whether at all.
    """

    kick: float
    drift: float
    at: float
    kicks: bool
    drifts: bool


def moves(*pairs: tuple[float, float]) -> tuple[Move, ...]:
    """A splitting scheme: (kick, drift) of each move, in parts of a step. Kicks and drifts each sum to 1."""
    made, at = [], 0.0
    for kick, drift in pairs:
        made.append(Move(float(kick), float(drift), at, kick != 0.0, drift != 0.0))
        at += drift
    return tuple(made)


class Tableau(NamedTuple):
    """A scheme of so many stages: a (stages, stages) of how points are made, b (stages) of how the step is, c (stages)
    when points are, in parts of a step. Zeros are None."""

    a: tuple[Weights, ...]
    b: Weights
    c: tuple[float, ...]


def tableau(a: list[list[float]], b: list[float]) -> Tableau:
    """From the lower triangle of a, a row a stage after the first, and b, which sums to 1."""
    count = len(b)
    rows = [[*row, *[0.0] * (count - len(row))] for row in [[], *a]]
    return Tableau(
        tuple(tuple(float(w) if w else None for w in row) for row in rows),
        tuple(float(w) if w else None for w in b),
        tuple(float(sum(row)) for row in rows),
    )


def nonzero_weights(weights: Weights) -> tuple[int, ...]:
    """The numbers of the weights that are not zero."""
    return tuple(k for k, weight in enumerate(weights) if weight is not None)


class TableauPoints(NamedTuple):
    """Memory of one step: the points y_1.. and the rates k_0.. at them, for each stage and node set."""

    states: tuple[States, ...]
    rates: tuple[States, ...]


class PointCotangents(NamedTuple):
    """Memory of one step backwards: cotangents of the point a pass is at, and of the rates of all."""

    point: StateCotangents
    rates: tuple[States, ...]
