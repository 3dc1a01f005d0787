"""Values with units, such as "7850 kg/m^3" or "2 kPa": the parameter's own unit with or without a prefix."""

from __future__ import annotations

import re
from typing import Any

from diffloom.interfaces import InputError

_FORM = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
PREFIXES = {"G": 1e9, "M": 1e6, "k": 1e3, "c": 1e-2, "m": 1e-3, "u": 1e-6, "µ": 1e-6}
_SIGNS = {"·": " ", "*": " ", "²": "^2", "³": "^3", "**": "^"}


def quantity(value: Any, unit: str, place: str) -> Any:
    """Convert a value with a unit to a number in the parameter's unit.

    Args:
        value: A number, a text of a number and a unit, or a list of these.
        unit: Unit of the parameter.
        place: Name of the value in errors.

    Returns:
        A float, or a list of floats.

    Raises:
        InputError: The text has another unit, or the value is no number.
    """
    if isinstance(value, list):
        return [quantity(item, unit, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{place}: got {value!r}; expected a number{_in(unit)} or a list of numbers")
    if not isinstance(value, str):
        return float(value)
    found = _FORM.fullmatch(value)
    if found is None:
        raise InputError(f"{place}: got {value!r}; expected a number{_in(unit)}, such as {_example(unit)}")
    factor = _factor(_plain(found[2]), _plain(unit))
    if factor is None:
        raise InputError(
            f"{place}: got {value!r}, in {found[2]}; expected{_in(unit) or ' a number without unit'}; convert it: "
            "only prefixes such as k and m are understood"
        )
    return float(found[1]) * factor


def _factor(given: str, unit: str) -> float | None:
    """Return the factor from the unit ``given`` to ``unit``: 1000 for kPa and Pa; None for other units."""
    if given in ("", unit):
        return 1.0
    if given == "g" and unit == "kg":
        return 1e-3
    return PREFIXES[given[0]] if given[0] in PREFIXES and given[1:] == unit and unit[0].isalpha() else None


def _plain(unit: str) -> str:
    for sign, plain in _SIGNS.items():
        unit = unit.replace(sign, plain)
    return " ".join(unit.split())


def _in(unit: str) -> str:
    return f" in {unit}" if unit else ""


def _example(unit: str) -> str:
    return f'"2.5 {unit}"' if unit else "2.5"
