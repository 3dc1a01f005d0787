"""Values with units: "7850 kg/m^3" is accepted where the unit is the parameter's own, and refused elsewhere."""

from __future__ import annotations

import re
from typing import Any

from diffloom.interfaces import InputError

_FORM = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
_SIGNS = {"·": " ", "*": " ", "²": "^2", "³": "^3", "**": "^"}


def quantity(value: Any, unit: str, place: str) -> Any:
    """``value`` without its unit: numbers and lists pass, texts must be a number and ``unit``."""
    if isinstance(value, list):
        return [quantity(item, unit, f"{place}[{number}]") for number, item in enumerate(value)]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InputError(f"{place}: got {value!r}; expected a number{_in(unit)} or a list of numbers")
    if not isinstance(value, str):
        return float(value)
    found = _FORM.fullmatch(value)
    if found is None:
        raise InputError(f"{place}: got {value!r}; expected a number{_in(unit)}, such as {_example(unit)}")
    if _plain(found[2]) not in ("", _plain(unit)):
        raise InputError(
            f"{place}: got {value!r}, in {found[2]}; expected{_in(unit) or ' a number without unit'}: convert it, "
            "units are not converted for you"
        )
    return float(found[1])


def _plain(unit: str) -> str:
    for sign, plain in _SIGNS.items():
        unit = unit.replace(sign, plain)
    return " ".join(unit.split())


def _in(unit: str) -> str:
    return f" in {unit}" if unit else ""


def _example(unit: str) -> str:
    return f'"2.5 {unit}"' if unit else "2.5"
