"""Restitution and damping of one bouncing point, in closed form, for either normal law.

Hunt-Crossley. A point that sinks in at the speed w under f = k d (1 + a w) loses speed by w dw/dd = -(k/m) d (1 + a w),
so w / (1 + a w) has equal integrals over the way in, from v to 0, and over the way out, from 0 to -e v. With x = a v
this is

    x - ln(1 + x) = -e x - ln(1 - e x),

for any mass and stiffness. Given x it is solved by Lambert's W: e = (1 + W(-(1 + x) exp(-(1 + x)))) / x.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import suspend_transforms


def rebound(dissipation: float, speed: float) -> float:
    """Return the restitution of a point under the Hunt-Crossley law.

    Args:
        dissipation: Dissipation a [s/m].
        speed: Speed of the impact [m/s].

    Returns:
        Speed after the impact over speed before.
    """
    x = dissipation * speed
    if x < 1e-4:
        return 1.0 - 2.0 * x / 3.0
    from scipy.special import lambertw

    return float((1.0 + lambertw(-(1.0 + x) * math.exp(-(1.0 + x))).real) / x)


@functools.cache
def dissipation(restitution: float, reference_speed: float) -> float:
    """Return the Hunt-Crossley dissipation of a restitution, as a number.

    Args:
        restitution: Speed after the impact over speed before, above 0, at most 1.
        reference_speed: Speed of the impact [m/s].

    Returns:
        Dissipation a [s/m].

    Raises:
        InputError: An argument is out of range.
    """
    check_restitution(restitution)
    if not reference_speed > 0.0:
        raise InputError(f"reference_speed: got {reference_speed:g} m/s; expected a positive speed")
    with suspend_transforms():
        given = torch.tensor([restitution, reference_speed], dtype=torch.float64)
        return float(solve_dissipation(given[0], given[1]))


def check_restitution(restitution: float) -> None:
    """Raise InputError unless a restitution is above 0 and at most 1."""
    if not 0.0 < restitution <= 1.0:
        raise InputError(f"restitution: got {restitution:g}; expected a number above 0, at most 1")


def solve_dissipation(restitution: Tensor, reference_speed: Tensor) -> Tensor:
    """Return the Hunt-Crossley dissipation of restitutions, differentiable.

    Args:
        restitution: Speeds after the impact over speeds before, above 0, at most 1.
        reference_speed: Speeds of the impact [m/s]; they broadcast.

    Returns:
        Dissipation a [s/m].
    """
    x: Tensor = _Dissipation.apply(restitution)[0]  # type: ignore[no-untyped-call]
    return x / reference_speed


class _Dissipation(torch.autograd.Function):
    """Autograd function x(e), with dx/de = e x (1 + x) / (1 - e x - e^2 (1 + x)) by the implicit function theorem."""

    @staticmethod
    def forward(restitution: Tensor) -> tuple[Tensor, Tensor]:
        """Return x and its slope."""
        e = restitution.detach().double().cpu().numpy()
        x = _x_of(e)
        # Near e = 1 both parts vanish; the limit is -3/2.
        ended = x <= 1e-6
        below = np.where(ended, 1.0, 1.0 - e * x - e * e * (1.0 + x))
        slope = np.where(ended, -1.5, e * x * (1.0 + x) / below)
        return torch.as_tensor(x).to(restitution), torch.as_tensor(slope).to(restitution)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor], output: tuple[Tensor, Tensor]) -> None:
        ctx.save_for_backward(output[1])
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], restitution: Tensor) -> tuple[tuple[Tensor, Tensor], tuple[int, int]]:
        found: tuple[Tensor, Tensor] = _Dissipation.apply(restitution)  # type: ignore[no-untyped-call]
        return found, (in_dims[0], in_dims[0])

    @staticmethod
    def backward(ctx: Any, *cotangents: Tensor) -> Tensor:
        (slope,) = ctx.saved_tensors
        found: Tensor = cotangents[0] * slope
        return found


def _x_of(e: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return x of each e, solved one by one, so that a number does not depend on its neighbours."""
    values, places = np.unique(e, return_inverse=True)
    return np.array([_x_at(float(value)) for value in values])[places].reshape(e.shape)


@functools.lru_cache(maxsize=1024)
def _x_at(e: float) -> float:
    """Return x by bisection.

    With x = (1 - exp(-s)) / e, the equation becomes a function of s >= 0 that changes sign once, far from rounding.
    """
    low, high = 0.0, 2.0 + 1.0 / e
    while low < (s := 0.5 * (low + high)) < high:
        x = -math.expm1(-s) / e
        low, high = (s, high) if x * (1.0 + e) - math.log1p(x) - s > 0.0 else (low, s)
    return -math.expm1(-s) / e


def damping_ratio(restitution: float) -> float:
    """Return zeta = k_d / (2 sqrt(k_e m)) of a point that bounces with a restitution under the linear law, by
    bisection.

    The force damps only while the point sinks in, so without gravity during the impact the rebound is e = exp(-zeta
    acos(zeta) / sqrt(1 - zeta^2)), which falls from 1 at zeta = 0 to 1/e at zeta = 1. Beyond that (overdamped) it is e
    = exp(-zeta arcosh(zeta) / sqrt(zeta^2 - 1)).

    Args:
        restitution: Speed after the impact over speed before, above 0, at most 1.

    Returns:
        Damping ratio zeta.

    Raises:
        InputError: The restitution is out of range.
    """
    check_restitution(restitution)
    low, high = 0.0, 1.0
    while linear_rebound(high) > restitution:
        high *= 2.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if linear_rebound(middle) > restitution else (low, middle)
    return 0.5 * (low + high)


def linear_rebound(zeta: float) -> float:
    """Return the restitution of a point under the linear law, at any speed.

    Args:
        zeta: Damping ratio.

    Returns:
        Speed after the impact over speed before.
    """
    if abs(zeta - 1.0) < 1e-7:
        return math.exp(-1.0)
    if zeta < 1.0:
        return math.exp(-zeta * math.acos(zeta) / math.sqrt(1.0 - zeta * zeta))
    return math.exp(-zeta * math.acosh(zeta) / math.sqrt(zeta * zeta - 1.0))
