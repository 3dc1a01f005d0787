"""Adjoints of contact laws and of shapes of obstacles that bring none, derived from their source."""

from __future__ import annotations

import functools
from typing import Any

from diffloom_kernels import where
from diffloom_kernels.derive import (
    Array,
    Convention,
    Cotangents,
    Real,
    States,
    Whole,
    derive_by_convention,
    number_like,
    parameter_names,
)
from diffloom_mechanics.contact.law import FrictionFunctions, NormalFunctions
from diffloom_mechanics.derived_adjoints import make_clock, make_floats


def complete_normal(law: NormalFunctions) -> NormalFunctions:
    """Return the functions of a normal law with their adjoints.

    Args:
        law: Functions, with None for adjoints to derive.
    """
    adjoint = law.adjoint or _normal_adjoint(law.force, law.width)
    return law._replace(adjoint=adjoint, pair_adjoint=law.pair_adjoint or _pair_adjoint(law.pair, law.width))


def complete_friction(law: FrictionFunctions) -> FrictionFunctions:
    """Return the functions of a friction law with their adjoints.

    Args:
        law: Functions, with None for adjoints to derive.
    """
    adjoint = law.adjoint or _friction_adjoint(law.slope, law.width)
    return law._replace(adjoint=adjoint, pair_adjoint=law.pair_adjoint or _pair_adjoint(law.pair, law.width))


@functools.lru_cache(maxsize=256)
def _normal_adjoint(force: Any, width: int) -> Any:
    """Return ``adjoint(clock, c, vn, k, adj_fn) -> adj_c, adj_vn, adj_k``."""
    t, c, vn, k = parameter_names(force)
    values: list[Any] = [Real(c, True), Real(vn, True), make_floats(k, width)]

    def results(found: Cotangents, states: States) -> list[str]:
        return [found.taken(value, f"adj_{value.text}") for value in values]

    seed = lambda found, result: found.add(result, "adj_fn")  # noqa: E731
    return derive_by_convention(force, Convention((make_clock(t), *values), ("adj_fn",), seed, results, number_like(c)))


@functools.lru_cache(maxsize=256)
def _friction_adjoint(slope: Any, width: int) -> Any:
    """Return ``adjoint(fn, speed, k, adj_s) -> adj_fn, adj_speed / speed, adj_k``."""
    fn, speed, k = parameter_names(slope)
    values: list[Any] = [Real(fn, True), Real(speed, True), make_floats(k, width)]

    def results(found: Cotangents, states: States) -> list[str]:
        writer = found.writer
        parts = [found.taken(value, f"adj_{value.text}") for value in values]
        moves = f"{writer(where)}({speed} > {writer.zero}, {speed}, {writer.one})"
        parts[1] = f"{writer(where)}({speed} > {writer.zero}, {parts[1]} / {moves}, {writer.zero})"
        return parts

    seed = lambda found, result: found.add(result, "adj_s")  # noqa: E731
    return derive_by_convention(slope, Convention(tuple(values), ("adj_s",), seed, results, number_like(fn)))


@functools.lru_cache(maxsize=256)
def _pair_adjoint(pair: Any, width: int) -> Any:
    """Return ``pair_adjoint(k, m, adj) -> adj_k``."""
    k, m = (make_floats(name, width) for name in parameter_names(pair))

    def seed(found: Cotangents, result: Any) -> None:
        found.given(result, "adj")

    results = lambda found, states: [found.taken(k, f"adj_{k.name}")]  # noqa: E731
    return derive_by_convention(pair, Convention((k, m), ("adj",), seed, results, number_like(f"{k.name}[0]")))


@functools.lru_cache(maxsize=256)
def derive_distance_adjoint(distance: Any) -> Any:
    """Return ``adjoint(i, p, size, layout, table, adj_d, adj_n, adj_size) -> adj_p``.

    Args:
        distance: ``distance(i, p, size, layout, table) -> d, n``.
    """
    i, p, size, layout, table = parameter_names(distance)
    point = make_floats(p, 3)
    arrays = (Array(size, "parameter", cotangent="adj_size"), Array(layout, "whole"), Array(table, "real"))

    def seed(found: Cotangents, result: Any) -> None:
        found.given(result.items[0], "adj_d")
        found.given(result.items[1], "adj_n")

    results = lambda found, states: [found.taken(point, f"adj_{p}")]  # noqa: E731
    extra = ("adj_d", "adj_n", "adj_size")
    args = (Whole(i, own=True), point, *arrays)
    return derive_by_convention(distance, Convention(args, extra, seed, results, number_like("adj_d")))
