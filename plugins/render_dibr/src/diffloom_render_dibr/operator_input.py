"""Checks of what the operators on bare triangles are given."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.transforms import refuse_transforms
from diffloom.validation import as_whole_number


def read_number(what: str, given: object, least: float, *, open_: bool = False) -> float:
    """Return a number as a float, because whole numbers, which Kaolin passes, are another type to kernels.

    Args:
        what: Name of the number in messages.
        given: A number, or a tensor or array of one.
        least: Smallest number that is allowed.
        open_: True if ``least`` itself is not allowed.

    Returns:
        The number.

    Raises:
        InputError: It is no finite number, or too small.
    """
    try:
        number = math.nan if isinstance(given, bool | str) else float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if not (math.isfinite(number) and (number > least if open_ else number >= least)):
        raise InputError(
            f"{what}: got {repr(given)[:80]}; expected a number {'above' if open_ else 'of at least'} {least:g}"
        )
    return number


def read_count(what: str, given: object) -> int:
    """Return a whole number of 1 or more.

    Args:
        what: Name of the number in messages.
        given: The number.

    Returns:
        The number.

    Raises:
        InputError: It is no whole number, or less than 1.
    """
    count = as_whole_number(what, given)
    if count < 1:
        raise InputError(f"{what}: got {count}; expected 1 or more")
    return count


def check_triangles(given: Mapping[str, Tensor]) -> None:
    """Raise InputError unless tensors are floats of one precision outside of transforms.

    Args:
        given: Tensors by name; the first sets the precision.
    """
    refuse_transforms("rasterize", given.values())
    kinds = {name: tensor.dtype for name, tensor in given.items()}
    (first, kind), *rest = kinds.items()
    if kind not in (torch.float32, torch.float64):
        raise InputError(f"{first}: got {kind}; expected float32 or float64: call .float()")
    for name, other in rest:
        if other != kind:
            raise InputError(f"{name}: got {other} where {first} is {kind}; convert one with .to(...)")
