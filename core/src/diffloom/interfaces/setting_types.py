"""Settings of the wrong kind: found by the annotations of what takes them, before anything computes with them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from torch import Tensor

from diffloom.interfaces.errors import InputError, nearest

_WORDS: dict[Any, str] = {float: "a number", int: "a whole number", bool: "True or False", str: "a text"}


def check_setting(what: str, value: object, hint: Any) -> None:
    """Raise unless ``value`` is what ``hint`` says, of plain kinds: numbers, texts, choices, tuples of them and None.

    Tensors, arrays and every other kind of hint are left to who takes them.
    """
    if not _fits(value, hint):
        raise InputError(f"{what}: got {value!r}; expected {_wanted(value, hint)}")


def check_settings(owner: object) -> None:
    """Raise unless every field of a dataclass's instance is what its annotation says; of others nothing is known."""
    kind: Any = type(owner)
    for each in fields(kind) if is_dataclass(kind) else ():
        hint = settings_of(kind).get(each.name, Any)
        check_setting(f"{kind.__name__}.{each.name}", getattr(owner, each.name), hint)


def check_arguments(what: str, factory: Callable[..., Any], given: Mapping[str, object]) -> None:
    """Raise unless arguments by name are what the annotations of ``factory`` say."""
    hints = settings_of(factory)
    for name, value in given.items():
        check_setting(f"{what}.{name}", value, hints.get(name, Any))


@lru_cache(maxsize=256)
def settings_of(factory: Callable[..., Any]) -> Mapping[str, Any]:
    """Annotations by argument; empty where they cannot be had."""
    of = factory.__init__ if inspect.isclass(factory) else factory
    try:
        return get_type_hints(of)
    except Exception:  # names that only a type checker imports
        return {}


def _fits(value: object, hint: Any) -> bool:
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
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    if len(hints) == 2 and hints[1] is Ellipsis:
        return all(_fits(each, hints[0]) for each in value)
    return len(value) == len(hints) and all(_fits(each, h) for each, h in zip(value, hints, strict=True))


def _wanted(value: object, hint: Any) -> str:
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_wanted(value, each) for each in get_args(hint))
    if get_origin(hint) is Literal:
        close = nearest(value, [c for c in get_args(hint) if isinstance(c, str)]) if isinstance(value, str) else ""
        return f"one of {', '.join(str(choice) for choice in get_args(hint))}{close}"
    if get_origin(hint) in (tuple, Sequence):
        kinds = get_args(hint) if get_origin(hint) is tuple else (*get_args(hint), Ellipsis)
        count = "several" if Ellipsis in kinds else str(len(kinds))
        return f"{count} of them, each {_wanted(value, kinds[0])}" if kinds else "nothing"
    return "None" if hint is NoneType else _WORDS.get(hint, getattr(hint, "__name__", str(hint)))
