"""Checks of a renderer, one file per family."""

from diffloom.interfaces import Renderer
from diffloom_testing.renderers import (
    areas,
    degenerate,
    geometry,
    gradients,
    images,
    interface,
    materials,
    per_frame,
    repeatability,
)
from diffloom_testing.results import Check
from diffloom_testing.subjects import renderer_subject
from diffloom_testing.suites import Suite

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *images.CHECKS,
    *geometry.CHECKS,
    *areas.CHECKS,
    *gradients.CHECKS,
    *per_frame.CHECKS,
    *materials.CHECKS,
    *repeatability.CHECKS,
    *degenerate.CHECKS,
)

SUITE = Suite(Renderer, renderer_subject, CHECKS)
