"""Golden records: optimisers, several starts, chains, resumed fits and motion fits give the numbers that were recorded.

Where processor features and versions are those of the records, every bit is compared; elsewhere only the values at
which fits converge, to a tolerance. ``python tests/golden/record.py`` records intended changes anew.
"""

from __future__ import annotations

import functools
import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from golden.cases import CASES, FOUND
from golden.record import decoded, encoded, environment, read

RELATIVE, ABSOLUTE = 1e-6, 1e-9  # tolerance of converged values on another processor; absolute for those near zero
SHOWN = 8  # differences that a failure lists


@functools.cache
def records() -> dict[str, Any]:
    """Return the records."""
    return read()


@functools.cache
def same_environment() -> bool:
    """Return whether the bits of this machine can be those of the records."""
    return bool(environment() == records()["environment"])


def shown(value: Any) -> str:
    """Return a value with its bits."""
    plain = decoded(value)
    return f"{plain!r} ({value})" if isinstance(plain, float) else repr(plain)


def differences(wanted: list[Any], seen: list[Any]) -> list[str]:
    """Return where two lists of encoded values differ in a bit."""
    if len(wanted) != len(seen):
        return [f"{len(seen)} values, {len(wanted)} were recorded"]
    pairs = enumerate(zip(wanted, seen, strict=True))
    return [f"[{k}] is {shown(b)}, recorded {shown(a)}" for k, (a, b) in pairs if a != b or type(a) is not type(b)]


def far(wanted: list[Any], seen: list[Any]) -> list[str]:
    """Return where two lists of encoded values differ by more than the tolerance."""
    if len(wanted) != len(seen):
        return [f"{len(seen)} values, {len(wanted)} were recorded"]
    found = []
    for k, pair in enumerate(zip(wanted, seen, strict=True)):
        a, b = map(decoded, pair)
        if not (math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) if isinstance(a, float) else a == b):
            found.append(f"[{k}] is {b!r}, recorded {a!r}")
    return found


def converged(numbers: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the values that another processor finds too."""
    return {name: values for name, values in numbers.items() if name.startswith(FOUND)}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if case.slow else []) for name, case in CASES.items()]
)
def test_numbers_equal_the_golden_records(name: str) -> None:
    wanted, how, compare = records()["cases"][name], "bit for bit", differences
    if not same_environment():
        how, compare = f"converged values to {RELATIVE:g}, in another environment than that of the records", far
        wanted = converged(wanted)
        if not wanted:
            pytest.skip("recorded in another environment, and none of its values is converged")
    seen = encoded(CASES[name].numbers())
    seen = seen if same_environment() else converged(seen)
    assert list(seen) == list(wanted), f"{name} ({how}): other names than those recorded"
    faults = [f"{key}{text}" for key, rows in wanted.items() for text in compare(rows, seen[key])]
    more = f"\n... and {len(faults) - SHOWN} more" if len(faults) > SHOWN else ""
    assert not faults, f"{name} ({how}): {len(faults)} values differ\n" + "\n".join(faults[:SHOWN]) + more


def test_every_case_is_recorded() -> None:
    assert set(records()["cases"]) == set(CASES)
