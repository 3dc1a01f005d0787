"""Input checks: each raises InputError with the value given, the values expected and the remedy."""

from __future__ import annotations

import difflib
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.transforms import unwrap_values

__all__ = [
    "FLOATS",
    "as_float_tensor",
    "as_whole_number",
    "check_arguments",
    "check_choice",
    "check_finite",
    "check_magnitude",
    "check_real",
    "check_setting",
    "check_settings",
    "check_shape",
    "get_setting_types",
    "suggest_name",
]

FLOATS = (torch.float32, torch.float64)


def suggest_name(name: object, allowed: Iterable[str]) -> str:
    """Return a hint such as ``"; did you mean 'mass'?"``, or an empty string.

    Args:
        name: Name that was not found.
        allowed: Names that exist.

    Returns:
        Hint to append to a message.
    """
    found = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.6) if isinstance(name, str) else []
    return f"; did you mean {found[0]!r}?" if found else ""


def as_float_tensor(what: str, value: object, dtype: torch.dtype | None = None, device: object = None) -> Tensor:
    """Return ``value`` as a floating-point tensor.

    Precision is never changed silently: tensors keep their dtype.

    Args:
        what: Name of the value in messages.
        value: Tensor, number, sequence or NumPy array.
        dtype: Required dtype of tensors, and dtype of everything else (float32 if None).
        device: Device of new tensors.

    Returns:
        Tensor of float32 or float64.

    Raises:
        InputError: The value is not numeric, or a tensor has another dtype.
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
    """Return ``tensor`` if it has one of the expected shapes.

    Args:
        what: Name of the tensor in messages.
        tensor: Tensor to check.
        *expected: Shapes; a name such as "frames" stands for any length.

    Returns:
        The tensor.

    Raises:
        InputError: The shape is none of these.
    """
    for shape in expected:
        if tensor.dim() == len(shape) and all(
            isinstance(want, str) or want == got for want, got in zip(shape, tensor.shape, strict=True)
        ):
            return tensor
    wanted = " or ".join("(" + ", ".join(str(n) for n in shape) + ")" for shape in expected)
    raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected {wanted}")


def check_real(what: str, tensor: Tensor) -> Tensor:
    """Return ``tensor`` if it is a dense tensor of floats.

    Args:
        what: Name of the tensor in messages.
        tensor: Tensor to check.

    Returns:
        The tensor.

    Raises:
        InputError: The tensor is sparse, or holds other numbers.
    """
    if not tensor.is_floating_point() or tensor.layout != torch.strided:
        kind = "sparse" if tensor.layout != torch.strided else str(tensor.dtype).removeprefix("torch.")
        raise InputError(f"{what}: got {kind} numbers; expected a dense tensor of float32 or float64")
    return tensor


def check_finite(what: str, tensor: Tensor) -> Tensor:
    """Return ``tensor`` if it holds neither NaN nor infinity.

    Args:
        what: Name of the tensor in messages.
        tensor: Tensor to check, possibly inside transforms.

    Returns:
        The tensor.

    Raises:
        InputError: A value is not finite; the message gives the first index.
    """
    numbers = unwrap_values(tensor)
    if math.isfinite(numbers.sum().item()):  # a finite sum means finite numbers; the converse does not hold
        return tensor
    bad = ~torch.isfinite(numbers)
    if bool(bad.any()):
        where = tuple(int(i) for i in bad.nonzero()[0])
        raise InputError(f"{what}: value at index {where} is {numbers[where].item()}; expected finite numbers")
    return tensor


#: Largest lengths, colours and the like, so that products of a few of them stay within float32.
LARGEST = 1e9
#: Element count up to which the sum of squares is quicker to compute than the range.
FEW = 4096


def check_magnitude(what: str, tensor: Tensor, most: float = LARGEST) -> Tensor:
    """Return ``tensor`` if it holds neither NaN, infinity nor numbers beyond +-``most``.

    Args:
        what: Name of the tensor in messages.
        tensor: Tensor to check.
        most: Largest allowed absolute value, 1e9 by default.

    Returns:
        The tensor.

    Raises:
        InputError: A number is out of range.
    """
    if tensor.numel() == 0:
        return tensor
    numbers = tensor.detach()
    if numbers.is_cpu and tensor.numel() < FEW:
        few = numbers.numpy()
        if float(np.vdot(few, few)) <= most * most:  # no number exceeds their norm; false if one is NaN
            return tensor
    low, high = (bound.item() for bound in torch.aminmax(numbers))
    if -most <= low and high <= most:
        return tensor
    check_finite(what, tensor)
    raise InputError(f"{what}: numbers run from {low:g} to {high:g}; expected none beyond {most:g}")


def as_whole_number(what: str, given: object) -> int:
    """Return ``given`` as an int.

    Args:
        what: Name of the number in messages.
        given: Value to check.

    Returns:
        Integer below 2^31.

    Raises:
        InputError: The value is not an integer; booleans are refused too.
    """
    try:
        number = operator.index(given)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(given, bool) or abs(number) >= 2**31:
        raise InputError(f"{what}: got {given!r}; expected a whole number below 2^31")
    return number


def check_choice(what: str, given: str, allowed: Iterable[str]) -> str:
    """Return ``given`` if it is one of ``allowed``.

    Args:
        what: Name of the setting in messages.
        given: Value to check.
        allowed: Allowed values.

    Returns:
        The value.

    Raises:
        InputError: The value is another one; the message suggests the closest.
    """
    options = sorted(allowed)
    if given not in options:
        raise InputError(f"{what}: got {given!r}; expected one of {', '.join(options)}{suggest_name(given, options)}")
    return given


_WORDS: dict[Any, str] = {float: "a number", int: "a whole number", bool: "True or False", str: "a text"}


def check_setting(what: str, value: object, hint: Any) -> None:
    """Raise InputError unless ``value`` matches a type annotation.

    Checked are numbers, strings, literals, tuples of them and None. Other annotations, and tensors and arrays, are left
    to the code that uses the value.

    Args:
        what: Name of the setting in messages.
        value: Value to check.
        hint: Type annotation.
    """
    if not _fits(value, hint):
        raise InputError(f"{what}: got {value!r}; expected {_describe_allowed(value, hint)}")


def check_settings(owner: object) -> None:
    """Raise InputError unless every field of a dataclass instance matches its annotation.

    Args:
        owner: Instance; other objects than dataclasses are not checked.
    """
    kind: Any = type(owner)
    for each in fields(kind) if is_dataclass(kind) else ():
        hint = get_setting_types(kind).get(each.name, Any)
        check_setting(f"{kind.__name__}.{each.name}", getattr(owner, each.name), hint)


def check_arguments(what: str, factory: Callable[..., Any], given: Mapping[str, object]) -> None:
    """Raise InputError unless arguments match the annotations of ``factory``.

    Args:
        what: Name of the thing in messages.
        factory: Function or class.
        given: Arguments by name.
    """
    hints = get_setting_types(factory)
    for name, value in given.items():
        check_setting(f"{what}.{name}", value, hints.get(name, Any))


@lru_cache(maxsize=256)
def get_setting_types(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """Return the annotations of a factory's parameters.

    Args:
        factory: Function or class.

    Returns:
        Types by parameter name; empty if they cannot be resolved.
    """
    of = factory.__init__ if inspect.isclass(factory) else factory
    try:
        return get_type_hints(of)
    except Exception:  # names imported for type checkers alone
        return {}


def _fits(value: object, hint: Any) -> bool:
    """Return True if a value matches an annotation."""
    if get_origin(hint) in (Union, UnionType):
        return any(_fits(value, each) for each in get_args(hint))
    if isinstance(value, Tensor | np.ndarray):
        return True
    if get_origin(hint) is Literal:
        return any(value == choice and type(value) is type(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return _fits_each(value, get_args(hint))
    if get_origin(hint) is Sequence:
        return _fits_each(value, (*get_args(hint), Ellipsis))
    if hint is float:
        return not isinstance(value, bool) and isinstance(value, Real) and not math.isnan(value)
    if hint is int:
        return not isinstance(value, bool) and isinstance(value, Integral)
    if hint is NoneType:
        return value is None
    return hint not in (bool, str) or isinstance(value, hint)


def _fits_each(value: object, hints: tuple[Any, ...]) -> bool:
    """Return True if the entries of a sequence match their annotations."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_fits(each, hints[0]) for each in value)
    return len(value) == len(hints) and all(_fits(each, h) for each, h in zip(value, hints, strict=True))


def _describe_allowed(value: object, hint: Any) -> str:
    """Return the values that an annotation allows, in words."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_describe_allowed(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        close = suggest_name(value, [c for c in get_args(hint) if isinstance(c, str)]) if isinstance(value, str) else ""
        return f"one of {', '.join(str(choice) for choice in get_args(hint))}{close}"
    if get_origin(hint) in (tuple, Sequence):
        kinds = get_args(hint) if get_origin(hint) is tuple else (*get_args(hint), Ellipsis)
        count = "several" if Ellipsis in kinds else str(len(kinds))
        return f"{count} of them, each {_describe_allowed(value, kinds[0])}" if kinds else "nothing"
    return "None" if hint is NoneType else _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
