"""Checks of a physical model, one file per family."""

from diffloom.interfaces import Model
from diffloom_testing.models import (
    adjoints,
    gradients,
    impacts,
    integrators,
    interface,
    invariance,
    memory,
    repeatability,
    surface,
)
from diffloom_testing.results import Check
from diffloom_testing.subjects import model_subject
from diffloom_testing.suites import Suite

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *adjoints.CHECKS,
    *invariance.CHECKS,
    *gradients.CHECKS,
    *memory.CHECKS,
    *impacts.CHECKS,
    *repeatability.CHECKS,
    *integrators.CHECKS,
    *surface.CHECKS,
)

SUITE = Suite(Model, model_subject, CHECKS)
