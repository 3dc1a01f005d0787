"""Spaces to search in: maps between a quantity x and an unbounded number z that an optimiser may move freely."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Free:
    """x = scale z: for quantities of either sign. ``scale`` is the size of a natural change of x."""

    scale: float = 1.0

    def decode(self, z: Tensor) -> Tensor:
        """x of z."""
        return z * self.scale

    def encode(self, x: Tensor, name: str) -> Tensor:
        """z of x; ``name`` is used in errors."""
        return x / self.scale


@dataclass(frozen=True)
class Log:
    """x = low + exp(scale z): for quantities that may not fall below ``low``; a step in z is a factor in x - low.
    ``scale`` is the size of a natural change, as a logarithm."""

    low: float = 0.0
    scale: float = 1.0

    def decode(self, z: Tensor) -> Tensor:
        """x of z."""
        return self.low + torch.exp(z * self.scale)

    def encode(self, x: Tensor, name: str) -> Tensor:
        """z of x; ``name`` is used in errors."""
        if bool((x <= self.low).any()):
            raise InputError(
                f"unknown {name!r}: got a start of {float(x.min()):g}, but it is searched in log space above "
                f"{self.low:g}; give a larger start, or space = 'free'"
            )
        return torch.log(x - self.low) / self.scale


@dataclass(frozen=True)
class Bounded:
    """x = low + (high - low) / (1 + exp -z): for quantities between two bounds."""

    low: float
    high: float

    def decode(self, z: Tensor) -> Tensor:
        """x of z."""
        return self.low + (self.high - self.low) * torch.sigmoid(z)

    def encode(self, x: Tensor, name: str) -> Tensor:
        """z of x; ``name`` is used in errors."""
        part = (x - self.low) / (self.high - self.low)
        if bool(((part <= 0.0) | (part >= 1.0)).any()):
            worst = x.flatten()[int((part - 0.5).abs().argmax())]
            raise InputError(
                f"unknown {name!r}: got a start of {float(worst):g}, but it is searched between {self.low:g} and "
                f"{self.high:g}; give a start strictly between them, other bounds, or space = 'free'"
            )
        return torch.log(part) - torch.log1p(-part)


Space = Free | Log | Bounded


def choose_space(bounds: Bounds, kind: str | None = None, scale: float = 1.0) -> Space:
    """The space that suits ``bounds`` (low, high), each may be None.

    kind: None chooses log for (low, None), bounded for (low, high) and free otherwise; "free", "log" or "bounded" ask
    for one. scale: the size of a natural change in the free space, or as a logarithm in the log space.
    """
    low, high = bounds
    if kind is None:
        kind = "free" if low is None else "log" if high is None else "bounded"
    if kind == "free":
        return Free(scale)
    if kind == "log":
        return Log(low if low is not None else 0.0, scale)
    if kind != "bounded":
        raise InputError(f"space: got {kind!r}; expected one of free, log, bounded")
    if low is None or high is None or not low < high or not math.isfinite(high - low):
        raise InputError(f"space 'bounded': got bounds {low} and {high}; expected two numbers, the first smaller")
    return Bounded(low, high)
