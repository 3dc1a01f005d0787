"""Kinds of things that diffloom-testing lets plugins register."""

from diffloom.plugins import Kind

SUITES = Kind(
    "suites",
    "suite",
    None,
    "Conformance suites, named after the singular of the kind that they check: ``diffloom_testing.Suite`` objects.",
)
