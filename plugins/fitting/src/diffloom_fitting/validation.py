"""Validation of arguments from Python: converts unambiguous values, and refuses the rest with a clear message."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name

__all__ = [
    "as_number_tensor",
    "check_images",
    "check_instance",
    "check_mapping",
    "check_names",
    "check_numbers",
    "check_path",
    "check_real",
    "check_size",
    "check_whole",
    "describe_value",
]

Kind = TypeVar("Kind")
MOST_PIXELS = 2**26  # largest number of pixels of an image, about 8000 x 8000


def describe_value(value: object) -> str:
    """Describe a value in a few words.

    Args:
        value: The value.

    Returns:
        The description.
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, Tensor | np.ndarray):
        return f"{'a tensor' if isinstance(value, Tensor) else 'an array'} of shape {tuple(value.shape)}"
    told = repr(value)
    return told if len(told) <= 60 else f"a {type(value).__name__}"


def check_whole(what: str, value: object, least: int = 0, most: int | None = None) -> int:
    """Return a whole number; 3.0 is one, True and 1.5 are not.

    Args:
        what: Name of the value in errors.
        value: The value.
        least: Smallest number.
        most: Largest number.

    Returns:
        The number.

    Raises:
        InputError: The value is none, or out of range.
    """
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int) or number < least:
        raise InputError(f"{what}: got {describe_value(value)}; expected a whole number, {least} or more")
    if most is not None and number > most:
        raise InputError(f"{what}: got {describe_value(value)}; expected at most {most}")
    return number


def check_real(
    what: str, value: object, above: float | None = None, below: float | None = None, least: float | None = None
) -> float:
    """Return a finite number within bounds.

    Args:
        what: Name of the value in errors.
        value: The value.
        above: Exclusive lower bound.
        below: Exclusive upper bound.
        least: Inclusive lower bound.

    Returns:
        The number.

    Raises:
        InputError: The value is none, or out of range.
    """
    if isinstance(value, Tensor | np.ndarray | np.generic) and np.size(value) == 1:
        value = value.item()
    wanted = "a number" + "".join(
        f"{', and ' if n else ' '}{word} {bound:g}"
        for n, (word, bound) in enumerate(
            [(w, b) for w, b in (("above", above), ("below", below), ("of at least", least)) if b is not None]
        )
    )
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InputError(f"{what}: got {describe_value(value)}; expected {wanted}")
    if (above is not None and value <= above) or (below is not None and value >= below):
        raise InputError(f"{what}: got {value:g}; expected {wanted}")
    if least is not None and value < least:
        raise InputError(f"{what}: got {value:g}; expected {wanted}")
    return float(value)


def check_path(what: str, value: object) -> Path:
    """Return a path.

    Args:
        what: Name of the value in errors.
        value: A text or a path.

    Returns:
        The path.

    Raises:
        InputError: The value is none.
    """
    if not isinstance(value, str | Path) or not str(value):
        raise InputError(f"{what}: got {describe_value(value)}; expected the path of a file or folder")
    return Path(value)


def check_numbers(what: str, value: object, count: int) -> tuple[float, ...]:
    """Return finite numbers from a list, an array or a tensor.

    Args:
        what: Name of the value in errors.
        value: The value.
        count: Expected number of numbers.

    Returns:
        The numbers.

    Raises:
        InputError: The value has another length or kind.
    """
    if isinstance(value, Tensor | np.ndarray):
        value = value.tolist()
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != count:
        raise InputError(f"{what}: got {describe_value(value)}; expected {count} numbers")
    return tuple(check_real(f"{what}[{i}]", item) for i, item in enumerate(value))


def check_size(what: str, value: object) -> tuple[int, int]:
    """Return an image size.

    Args:
        what: Name of the value in errors.
        value: (height, width) [px]; one number for a square.

    Returns:
        (height, width) [px].

    Raises:
        InputError: The value is none, or too large.
    """
    if isinstance(value, Tensor | np.ndarray):
        value = value.tolist()
    if isinstance(value, int | float | np.integer) and not isinstance(value, bool):
        value = [check_whole(what, value, 1)] * 2
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        raise InputError(
            f"{what}: got {describe_value(value)}; expected (height, width) in pixels, or one number for a square"
        )
    height, width = check_whole(f"{what}[0]", value[0], 1), check_whole(f"{what}[1]", value[1], 1)
    if height * width > MOST_PIXELS:
        raise InputError(f"{what}: got {height} x {width}; expected at most {MOST_PIXELS} pixels in all")
    return height, width


def check_instance(what: str, value: object, kind: type[Kind], named: Callable[[str], Any] | None = None) -> Kind:
    """Return an object of a kind.

    Args:
        what: Name of the value in errors.
        value: An object, or a registered name, which is made with its defaults.
        kind: Class of the object.
        named: Lookup of registered names, such as ``get_loss``.

    Returns:
        The object.

    Raises:
        InputError: The value is of another kind.
    """
    if isinstance(value, kind):
        return value
    if isinstance(value, str) and named is not None:
        made = named(value)()
        if isinstance(made, kind):
            return made
        raise InputError(f"{what}: {value!r} makes {describe_value(made)}; expected a {kind.__name__}")
    short = kind.__name__.lower()
    if isinstance(value, type):
        hint = f"an object: {value.__name__}()" if issubclass(value, kind) else f"a {kind.__name__}"
    elif named is not None:
        hint = f"the name of a registered {short} or a {kind.__name__}"
    else:
        hint = f"a {kind.__name__}"
    raise InputError(f"{what}: got {describe_value(value)}; expected {hint}")


def check_mapping(what: str, value: object, example: str) -> dict[str, Any]:
    """Return a dict with names as keys.

    Args:
        what: Name of the value in errors.
        value: A mapping, or an object with its methods, such as a row of pandas.
        example: Example for the message.

    Returns:
        The dict.

    Raises:
        InputError: The value is none.
    """
    if not isinstance(value, Mapping) and hasattr(value, "keys") and hasattr(value, "items"):
        value = dict(value.items())  # a row of pandas
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise InputError(f"{what}: got {describe_value(value)}; expected values by name, such as {example}")
    return dict(value)


def check_names(what: str, names: Sequence[str], allowed: Sequence[str]) -> None:
    """Raise unless all names are known.

    Args:
        what: Name of the value in errors.
        names: The names.
        allowed: The known names.
    """
    for name in names:
        if name not in allowed:
            raise InputError(
                f"{what}: the scene has nothing called {name!r}{suggest_name(name, allowed) or '.'} It has: "
                f"{', '.join(allowed)}"
            )


def check_images(what: str, value: object, dims: Sequence[int]) -> tuple[Tensor, float]:
    """Return images in 0..1: bytes are scaled, floats far beyond 1 are refused.

    Args:
        what: Name of the value in errors.
        value: A tensor or array, such as (frames, height, width, 3); an image of PIL; or a list or generator of these.
        dims: Allowed numbers of axes.

    Returns:
        The images, and the size of a grey level.

    Raises:
        InputError: The value is no image.
    """
    value = _stack_images(what, value, "RGB" if 3 not in dims or 1 in dims else "L")
    if not isinstance(value, Tensor | np.ndarray):
        raise InputError(f"{what}: got {describe_value(value)}; expected an array or tensor of images")
    tensor = torch.from_numpy(np.require(value, requirements=["C", "W"])) if isinstance(value, np.ndarray) else value
    if tensor.dim() not in dims:
        raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected {' or '.join(str(d) for d in dims)} axes")
    if tensor.dtype == torch.uint8:
        return tensor.to(torch.get_default_dtype()) / 255.0, 1.0 / 255.0
    if tensor.dtype == torch.bool:
        return tensor.to(torch.get_default_dtype()), 0.0
    if not tensor.is_floating_point():
        raise InputError(f"{what}: got {tensor.dtype}; expected uint8 (0..255) or floats (0..1)")
    if tensor.numel():
        low, high = float(tensor.min()), float(tensor.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise InputError(f"{what}: got NaN or infinity; expected numbers in 0..1")
        if high > 8.0 or low < -8.0:
            raise InputError(
                f"{what}: got numbers from {low:g} to {high:g}; expected 0..1: divide by 255, or pass uint8"
            )
    return tensor, 0.0


def _stack_images(what: str, value: Any, mode: str) -> Any:
    """Return an array for an image of PIL, in ``mode``, and a stack for several images; the rest unchanged."""
    if hasattr(value, "convert") and hasattr(value, "getbands"):
        return np.asarray(value if mode == "RGB" and value.mode in ("RGB", "RGBA") else value.convert(mode))
    if isinstance(value, Iterator):
        value = list(value)
    if not isinstance(value, list | tuple) or not len(value):
        return value
    parts = [_stack_images(what, one, mode) for one in value]
    sizes = {tuple(one.shape) for one in parts if isinstance(one, Tensor | np.ndarray)}
    if len(sizes) > 1:
        raise InputError(f"{what}: got images of shapes {', '.join(map(str, sorted(sizes)))}; expected one size")
    if all(isinstance(one, Tensor) for one in parts):
        return torch.stack(parts)
    return np.stack(parts) if all(isinstance(one, np.ndarray) for one in parts) else value


def as_number_tensor(what: str, value: object, dtype: torch.dtype) -> Tensor:
    """Return numbers in a precision; gradients of tensors are kept.

    Args:
        what: Name of the value in errors.
        value: A number, list, array or tensor of any numeric type.
        dtype: The precision.

    Returns:
        The tensor.

    Raises:
        InputError: The value is not numeric.
    """
    if isinstance(value, Tensor):
        return value if value.dtype == dtype else value.to(dtype)
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        if isinstance(value, list | tuple) and any(isinstance(item, Tensor) for item in value):
            return torch.stack([as_number_tensor(what, item, dtype) for item in value])
        if not isinstance(value, np.ndarray) and hasattr(value, "__array__"):
            value = np.asarray(value)  # pandas
        if isinstance(value, Iterable) and not isinstance(value, list | tuple | np.ndarray):
            value = list(value)
        return torch.tensor(np.asarray(value, dtype=np.float64), dtype=dtype)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(
            f"{what}: got {describe_value(value)}; expected a number, or numbers as a list or an array"
        ) from error
