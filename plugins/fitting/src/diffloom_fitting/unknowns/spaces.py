"""Search spaces: maps between a quantity x and an unbounded number z that an optimiser moves."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError

Bounds = tuple[float | None, float | None]


@dataclass(frozen=True)
class Free:
    """Linear space, x = scale z, for quantities of either sign.

    Args:
        scale: Size of a natural change of x.
    """

    scale: float = 1.0

    def decode(self, z: Tensor) -> Tensor:
        """Return x.

        Args:
            z: Searched numbers.

        Returns:
            x.
        """
        return z * self.scale

    def encode(self, x: Tensor, name: str) -> Tensor:
        """Return z.

        Args:
            x: Quantity.
            name: Its name in errors.

        Returns:
            z.
        """
        return x / self.scale


@dataclass(frozen=True)
class Log:
    """Logarithmic space, x = low + exp(scale z), for quantities above ``low``; a step in z is a factor on x - low.

    Args:
        low: Lower bound.
        scale: Size of a natural change, as a logarithm.
    """

    low: float = 0.0
    scale: float = 1.0

    def decode(self, z: Tensor) -> Tensor:
        """Return x.

        Args:
            z: Searched numbers.

        Returns:
            x.
        """
        return self.low + torch.exp(z * self.scale)

    def encode(self, x: Tensor, name: str) -> Tensor:
        """Return z.

        Args:
            x: Quantity above ``low``.
            name: Its name in errors.

        Returns:
            z.
        """
        if bool((x <= self.low).any()):
            raise InputError(
                f"unknown {name!r}: got a start of {float(x.min()):g}, but it is searched in log space above "
                f"{self.low:g}; give a larger start, or space = 'free'"
            )
        return torch.log(x - self.low) / self.scale


@dataclass(frozen=True)
class Bounded:
    """Logistic space, x = low + (high - low) / (1 + exp -z), for quantities between two bounds.

    Args:
        low: Lower bound.
        high: Upper bound.
    """

    low: float
    high: float

    def decode(self, z: Tensor) -> Tensor:
        """Return x.

        Args:
            z: Searched numbers.

        Returns:
            x.
        """
        return self.low + (self.high - self.low) * torch.sigmoid(z)

    def encode(self, x: Tensor, name: str) -> Tensor:
        """Return z.

        Args:
            x: Quantity between the bounds.
            name: Its name in errors.

        Returns:
            z.
        """
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
    """Choose a search space.

    Args:
        bounds: (low, high), each may be None.
        kind: "free", "log" or "bounded"; None chooses log for (low, None), bounded for (low, high), else free.
        scale: Size of a natural change, in the unit for free, as a logarithm for log.

    Returns:
        The space.
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
