"""Random values in files: drawn from the seed and the place where they stand, so that nothing depends on order."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError

KINDS = ("uniform", "log_uniform", "normal", "choice")
LATE = ("truth", "unknowns")  # their shapes are known only once the model is made


def is_draw(value: Any) -> bool:
    """Whether a value of a file asks for a draw, such as {uniform = [2, 12]}."""
    return isinstance(value, Mapping) and len([k for k in KINDS if k in value]) == 1 and set(value) <= {
        *KINDS, "each", "of_truth",
    }  # fmt: skip


def generator_for(seed: int, place: str) -> torch.Generator:
    """A generator of its own for each seed and place."""
    digest = hashlib.sha256(f"{seed}:{place}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))


def draw(value: Mapping[str, Any], seed: int, place: str, shape: Sequence[int] = ()) -> Any:
    """A number, a tensor (float64) of ``shape``, or one of the choices."""
    generator = generator_for(seed, place)
    kind = next(k for k in KINDS if k in value)
    given = value[kind]
    if kind == "choice":
        if not isinstance(given, list) or not given:
            raise InputError(f"{place}: got choice = {given!r}; expected a list of one or more values")
        return given[int(torch.randint(len(given), (), generator=generator))]
    if not (isinstance(given, list) and len(given) == 2 and all(isinstance(n, (int, float)) for n in given)):
        raise InputError(f"{place}: got {kind} = {given!r}; expected two numbers")
    first, second = (float(n) for n in given)
    if kind == "normal" and second < 0.0:
        raise InputError(f"{place}: got normal = {given!r}; expected a mean and a deviation of at least 0")
    if kind == "uniform" and first > second:
        raise InputError(f"{place}: got uniform = {given!r}; expected the lower number first")
    if kind == "normal":
        return first + second * torch.randn(list(shape), generator=generator, dtype=torch.float64)
    if kind == "log_uniform":
        if not 0.0 < first <= second:
            raise InputError(f"{place}: got log_uniform = {given!r}; expected two positive numbers")
        return torch.exp(_uniform(math.log(first), math.log(second), shape, generator))
    return _uniform(first, second, shape, generator)


def opposite(value: Mapping[str, Any], drawn: Any) -> Any:
    """What lies across the middle of the range from a number that was drawn; a choice stays."""
    kind = next(k for k in KINDS if k in value)
    if kind == "choice":
        return drawn
    first, second = (float(n) for n in value[kind])
    if kind == "normal":
        return 2.0 * first - drawn
    return first * second / drawn if kind == "log_uniform" else first + second - drawn


def _uniform(low: float, high: float, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(list(shape), generator=generator, dtype=torch.float64)


def resolve_draws(raw: Any, seed: int, place: str = "") -> Any:
    """The file's data with every draw replaced, except in [truth] and in [unknowns]."""
    if is_draw(raw):
        # In [target.scene] a draw is the one that stands, or would stand, at that place of the fit.
        found = draw(raw, seed, place.removeprefix("target.scene."))
        return float(found) if isinstance(found, Tensor) else found
    if isinstance(raw, Mapping):
        return {
            key: value if not place and key in LATE else resolve_draws(value, seed, f"{place}.{key}" if place else key)
            for key, value in raw.items()
        }
    if isinstance(raw, list):
        return [resolve_draws(value, seed, f"{place}.{number}") for number, value in enumerate(raw)]
    return raw
