"""Comparison of a derivative with differences, which tells kinks and jumps of the function from a wrong derivative."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

#: Lengths of the differences: long ones cross kinks, short ones drown in rounding.
LENGTHS = (1e-5, 1e-4, 1e-6, 1e-3, 1e-7)
#: Length over which the function is taken as straight: the rest is rounding.
STRAIGHT = 1e-11


@dataclass(frozen=True)
class Slope:
    """A derivative beside differences.

    Args:
        outcome: "agrees", "kink", "unresolved", "wrong", or "flat" where the function does not depend on the input.
        derivative: The derivative that is checked.
        difference: Extrapolated central difference, at the length at which the function is smoothest.
        error: Their distance, relative to the scale.
        apart: Distance of the differences ahead and behind at that length beyond rounding, relative to the scale.
    """

    outcome: str
    derivative: float
    difference: float
    error: float
    apart: float


def measure_rounding(function: Callable[[float], float], middle: float) -> float:
    """Return the rounding error of a function of one number near 0, where its value is ``middle``."""
    rest = abs(function(STRAIGHT) - 2.0 * middle + function(-STRAIGHT))
    return 8.0 * max(rest, 2.0**-52 * abs(middle), 1e-300)


def measure_sides(function: Callable[[float], float], middle: float, length: float) -> tuple[float, float, float]:
    """Return the differences of second order ahead and behind, and the extrapolated central one.

    Args:
        function: Function of one number.
        middle: Its value at 0.
        length: Length of the differences.
    """
    far, near, near_behind, far_behind = (function(side * length) for side in (1.0, 0.5, -0.5, -1.0))
    ahead = (4.0 * near - far - 3.0 * middle) / length
    behind = (3.0 * middle - 4.0 * near_behind + far_behind) / length
    return ahead, behind, (4.0 * (near - near_behind) / length - (far - far_behind) / (2.0 * length)) / 3.0


def compare_slope(
    function: Callable[[float], float], derivative: float, scale: float, tolerance: float, middle: float,
    rounding: float,
) -> Slope:  # fmt: skip
    """Compare a derivative at 0 with differences.

    The function alone decides the length: the shortest one tried at which the differences ahead and behind agree, else
    the one at which they agree best. All lengths are tried before a derivative counts as wrong. Where ahead and behind
    disagree at every length by more than rounding explains, the function has a kink or a jump near 0. A derivative
    between the two is then a kink; one beyond both is wrong there too, because one side is free of the kink.

    Args:
        function: Function of one number.
        derivative: Its derivative at 0, to be checked.
        scale: Derivative to which errors are relative.
        tolerance: Largest relative error that agrees.
        middle: Value of the function at 0.
        rounding: Its rounding error, see ``measure_rounding``.

    Returns:
        The comparison.
    """
    allowed = tolerance * scale
    smooth: dict[float, tuple[float, ...]] = {}
    rough: list[tuple[float, ...]] = []
    for length in LENGTHS:
        ahead, behind, central = measure_sides(function, middle, length)
        noise = rounding / length
        found = (abs(ahead - behind) + noise, central, noise, min(ahead, behind), max(ahead, behind))
        rough.append(found)
        if found[0] <= allowed:
            smooth[length] = found
            if abs(derivative - central) <= allowed and length == min(smooth):
                break
    roughness, central, noise, low, high = smooth[min(smooth)] if smooth else min(rough)
    error = abs(derivative - central)
    if derivative == 0.0 and abs(central) <= noise:
        outcome = "flat"
    elif error <= allowed:
        outcome = "agrees"
    elif noise > allowed:
        outcome = "unresolved"
    else:
        outcome = "kink" if roughness > allowed and low - allowed <= derivative <= high + allowed else "wrong"
    return Slope(outcome, derivative, central, error / scale, max(roughness - noise, 0.0) / scale)
