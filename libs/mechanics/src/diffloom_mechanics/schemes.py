"""Schemes as data: moves of a splitting, tableaux of rates. They are run by split_kernels and tableau_kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

from diffloom_mechanics.records import StateCotangents, States

Weights = tuple[Any, ...]  # a number, or None for zero, which is left out


class Move(NamedTuple):
    """Kick under the forces at the present state, then drift.

    Args:
        kick: Duration of the kick, in steps.
        drift: Duration of the drift, in steps.
        at: Time at which the move begins, in steps.
        kicks: True if there is a kick.
        drifts: True if there is a drift.
    """

    kick: float
    drift: float
    at: float
    kicks: bool
    drifts: bool


def moves(*pairs: tuple[float, float]) -> tuple[Move, ...]:
    """Return a splitting scheme.

    Args:
        pairs: (kick, drift) of each move, in steps. Kicks and drifts each sum to 1.

    Returns:
        The moves.

    Example:
        ``LEAPFROG = moves((0.5, 1.0), (0.5, 0.0))``
    """
    made, at = [], 0.0
    for kick, drift in pairs:
        made.append(Move(float(kick), float(drift), at, kick != 0.0, drift != 0.0))
        at += drift
    return tuple(made)


class Tableau(NamedTuple):
    """Butcher tableau of an explicit Runge-Kutta scheme. Zero weights are None.

    Args:
        a: Weights (stages, stages) of earlier rates in each point.
        b: Weights (stages,) of the rates in the step.
        c: Times (stages,) of the points, in steps.
    """

    a: tuple[Weights, ...]
    b: Weights
    c: tuple[float, ...]


def tableau(a: list[list[float]], b: list[float]) -> Tableau:
    """Return the tableau of an explicit Runge-Kutta scheme.

    Args:
        a: Lower triangle, one row for each stage after the first.
        b: Weights of the step, which sum to 1.

    Returns:
        The tableau.

    Example:
        ``HEUN = tableau([[1.0]], [0.5, 0.5])``
    """
    count = len(b)
    rows = [[*row, *[0.0] * (count - len(row))] for row in [[], *a]]
    return Tableau(
        tuple(tuple(float(w) if w else None for w in row) for row in rows),
        tuple(float(w) if w else None for w in b),
        tuple(float(sum(row)) for row in rows),
    )


def nonzero_weights(weights: Weights) -> tuple[int, ...]:
    """Return the numbers of the weights that are not zero."""
    return tuple(k for k, weight in enumerate(weights) if weight is not None)


class TableauPoints(NamedTuple):
    """Memory of one step: the points y_1, ... and the rates k_0, ... at them, for each stage and node set."""

    states: tuple[States, ...]
    rates: tuple[States, ...]


class PointCotangents(NamedTuple):
    """Memory of one backward step: cotangents of the current point, and of all rates."""

    point: StateCotangents
    rates: tuple[States, ...]
