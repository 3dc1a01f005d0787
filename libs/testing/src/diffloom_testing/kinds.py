"""The kind "suite", which plugins can register, and the suites that diffloom-testing registers."""

from diffloom.plugins import Kind

SUITES = Kind(
    "suites",
    "suite",
    None,
    "Conformance suites, named after the singular of the kind that they check: ``diffloom_testing.Suite`` objects.",
)

#: Suites of this package by the kind that they check: import path and summary.
OWN_SUITES = {
    "model": ("diffloom_testing.models:SUITE", "Checks of a model on its example"),
    "integrator": ("diffloom_testing.integrators:SUITE", "Checks of an integrator on small systems"),
    "renderer": ("diffloom_testing.renderers:SUITE", "Checks of a renderer on small scenes"),
    "term": ("diffloom_testing.terms:SUITE", "Checks of a force term on every installed model that it fits"),
}
