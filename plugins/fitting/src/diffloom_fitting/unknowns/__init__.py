"""Unknowns: their names, their search spaces, and the flat vector that an optimiser moves."""

from diffloom_fitting.unknowns.layout import (
    Slot,
    UnknownLayout,
    can_be_sought,
    make_pattern_slot,
    parse_component,
    resolve,
)
from diffloom_fitting.unknowns.spaces import Bounded, Free, Log, Space, choose_space
from diffloom_fitting.unknowns.ties import Tie, make_tie
from diffloom_fitting.unknowns.unknown import Unknown

__all__ = [
    "Bounded",
    "Free",
    "Log",
    "Slot",
    "Space",
    "Tie",
    "Unknown",
    "UnknownLayout",
    "can_be_sought",
    "choose_space",
    "make_pattern_slot",
    "make_tie",
    "parse_component",
    "resolve",
]
