"""Unknowns as people write them down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from diffloom.interfaces import InputError
from diffloom_fitting.unknowns.unknown import Unknown
from diffloom_fitting.validation import shown

Sought = Mapping[str, object] | Sequence[Unknown | str]


def as_unknowns(sought: Sought) -> tuple[Unknown, ...]:
    """A list of ``Unknown`` from any of the short forms."""
    if isinstance(sought, Unknown | str):
        sought = [sought]
    if isinstance(sought, Mapping):
        return tuple(
            value if isinstance(value, Unknown) else Unknown(name, value)  # type: ignore[arg-type]
            for name, value in sought.items()
        )
    if not isinstance(sought, Sequence) or not all(isinstance(item, Unknown | str) for item in sought):
        raise InputError(
            f'unknowns: got {shown(sought)}; expected starts by name, such as {{"density": 2.0}}, or a list of Unknown'
        )
    return tuple(Unknown(item) if isinstance(item, str) else item for item in sought)
