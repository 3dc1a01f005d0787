"""The rule by which `make test` leaves tests out that repeat, with other values, what it runs anyway.

Left out, and marked ``full``, are

- in a package: all cases of a parametrised test but the first;
- in ``tests/``, whose tests cross packages: cases whose every value has been in an earlier case of the same test;
- what ``tests/full.txt`` lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

LISTED = Path(__file__).resolve().parents[1] / "full.txt"


def read_listed(path: Path = LISTED) -> list[str]:
    """Return the files and tests that a list names."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def is_listed(name: str, listed: Iterable[str]) -> bool:
    """Return True if a list names the test, its function or its file."""
    return any(name == entry or name.startswith((f"{entry}::", f"{entry}[")) for entry in listed)


def is_skipped(item: Any) -> bool:
    """Return True if marks alone decide that the test does not run, or not in `make test`."""
    conditions = [mark.args[:1] for mark in item.iter_markers("skipif")]
    named = any(item.get_closest_marker(name) for name in ("skip", "slow", "full"))
    return named or any(bool(condition and condition[0]) for condition in conditions)


def list_values(params: dict[str, Any]) -> set[tuple[str, str]]:
    """Return the values of a case by parameter; those of a tuple count one by one."""
    pairs = [(name, value) for name, value in params.items() if not isinstance(value, tuple)]
    tuples = [(name, value) for name, value in params.items() if isinstance(value, tuple)]
    pairs += [(f"{name} {place}", each) for name, value in tuples for place, each in enumerate(value)]
    return {(name, repr(value)) for name, value in pairs}


def find_repetitions(items: Iterable[Any], listed: Collection[str]) -> list[Any]:
    """Return the tests to leave out.

    Args:
        items: Collected tests, in the order of their cases.
        listed: Files and tests that are left out as a whole.

    Returns:
        Tests of ``items``.
    """
    seen: dict[str, set[tuple[str, str]]] = {}
    left_out = []
    for item in items:
        test = item.nodeid.partition("[")[0]
        if is_listed(item.nodeid, listed):
            left_out.append(item)
        elif hasattr(item, "callspec") and not is_skipped(item):
            values = list_values(item.callspec.params)
            crosses = test.startswith("tests/")
            if test in seen and (not crosses or values <= seen[test]):
                left_out.append(item)
            seen.setdefault(test, set()).update(values)
    return left_out
