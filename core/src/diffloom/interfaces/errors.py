"""The errors a user meets, and the checks at the door that raise them."""

from __future__ import annotations

import difflib
import math
import operator
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from diffloom.transforms import concrete

FLOATS = (torch.float32, torch.float64)


class InputError(ValueError):
    """Something a user gave is wrong; the message says what was given, what was expected and what to do."""


class SimulationError(RuntimeError):
    """A simulation failed on the way (blew up, did not converge); the message names step, body and element."""


class ParameterError(InputError, SimulationError):
    """A value that a model cannot be simulated with. It is an InputError to who gave it, and to a fit that tries it a
    SimulationError: a trial that is rejected."""


class BatchError(InputError):
    """A model whose scenes cannot be run at once; one by one they can."""


def nearest(name: object, allowed: Iterable[str]) -> str:
    """A hint such as ``"; did you mean 'mass'?"`` or an empty string."""
    found = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.6) if isinstance(name, str) else []
    return f"; did you mean {found[0]!r}?" if found else ""


def as_float_tensor(what: str, value: object, dtype: torch.dtype | None = None, device: object = None) -> Tensor:
    """``value`` as a floating-point tensor.

    Tensors keep their dtype, and must have ``dtype`` when that is given: float32 and float64 are never mixed
    silently. Numbers, sequences and NumPy arrays take ``dtype`` (float32 when not given).
    """
    if isinstance(value, Tensor):
        if value.dtype not in FLOATS:
            raise InputError(f"{what}: got a tensor of {value.dtype}; expected float32 or float64: call .float()")
        if dtype is not None and value.dtype != dtype:
            raise InputError(
                f"{what}: got {value.dtype} where the rest is {dtype}; convert one side with .to({dtype}), "
                "precision is never changed silently"
            )
        return value
    if isinstance(value, bool):
        raise InputError(f"{what}: got {value}; expected a number")
    try:
        tensor = torch.as_tensor(value, dtype=dtype or torch.float32, device=device)  # type: ignore[arg-type]
    except (TypeError, ValueError, RuntimeError) as cause:
        raise InputError(f"{what}: got {value!r}; expected a number, a list of numbers or a tensor") from cause
    return tensor.clone() if tensor.numel() and not isinstance(value, (int, float)) else tensor


def check_shape(what: str, tensor: Tensor, *expected: Sequence[int | str]) -> Tensor:
    """Raise unless ``tensor`` has one of the expected shapes; a name such as "frames" stands for any length."""
    for shape in expected:
        if tensor.dim() == len(shape) and all(
            isinstance(want, str) or want == got for want, got in zip(shape, tensor.shape, strict=True)
        ):
            return tensor
    wanted = " or ".join("(" + ", ".join(str(n) for n in shape) + ")" for shape in expected)
    raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected {wanted}")


def check_real(what: str, tensor: Tensor) -> Tensor:
    """The tensor, or InputError unless it holds floating-point numbers, laid out densely."""
    if not tensor.is_floating_point() or tensor.layout != torch.strided:
        kind = "sparse" if tensor.layout != torch.strided else str(tensor.dtype).removeprefix("torch.")
        raise InputError(f"{what}: got {kind} numbers; expected a dense tensor of float32 or float64")
    return tensor


def check_finite(what: str, tensor: Tensor) -> Tensor:
    """Raise when ``tensor`` holds NaN or infinity, naming the first place."""
    numbers = concrete(tensor)
    if math.isfinite(numbers.sum().item()):  # finite numbers may add up to infinity, the others never to less
        return tensor
    bad = ~torch.isfinite(numbers)
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise InputError(f"{what}: value at index {where} is {numbers[where].item()}; expected finite numbers")
    return tensor


#: What lengths, colours and the like may come to before products of a few of them leave float32.
LARGEST = 1e9
#: Numbers up to which their sum of squares is quicker to look at than the least and the largest of them.
FEW = 4096


def check_magnitude(what: str, tensor: Tensor, most: float = LARGEST) -> Tensor:
    """Raise when ``tensor`` holds NaN, infinity, or numbers beyond ``most`` of either sign."""
    if tensor.numel() == 0:
        return tensor
    numbers = tensor.detach()
    if numbers.is_cpu and tensor.numel() < FEW:
        few = numbers.numpy()
        if float(np.vdot(few, few)) <= most * most:  # none can be larger than all together; never so where one is NaN
            return tensor
    low, high = (bound.item() for bound in torch.aminmax(numbers))
    if -most <= low and high <= most:
        return tensor
    check_finite(what, tensor)
    raise InputError(f"{what}: numbers run from {low:g} to {high:g}; expected none beyond {most:g}")


def whole_number(what: str, given: object) -> int:
    """``given`` as an int; what is not whole, or no number at all, is an InputError."""
    try:
        number = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(given, bool) or abs(number) >= 2**31:
        raise InputError(f"{what}: got {given!r}; expected a whole number below 2^31")
    return number


def check_choice(what: str, given: str, allowed: Iterable[str]) -> str:
    """Raise unless ``given`` is one of ``allowed``."""
    options = sorted(allowed)
    if given not in options:
        raise InputError(f"{what}: got {given!r}; expected one of {', '.join(options)}{nearest(given, options)}")
    return given
