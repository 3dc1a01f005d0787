"""What is sought: named unknowns, the space each is searched in, and the flat vector an optimiser moves."""

from diffloom_fitting.unknowns.layout import Layout, Slot, can_be_sought, component, pattern_slot, resolve
from diffloom_fitting.unknowns.spaces import Bounded, Free, Log, Space, space_for
from diffloom_fitting.unknowns.ties import Tie, make_tie
from diffloom_fitting.unknowns.unknown import Unknown

__all__ = [
    "Bounded",
    "Free",
    "Layout",
    "Log",
    "Slot",
    "Space",
    "Tie",
    "Unknown",
    "can_be_sought",
    "component",
    "make_tie",
    "pattern_slot",
    "resolve",
    "space_for",
]
