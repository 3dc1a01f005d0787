"""The checks of a physical model, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.models import gradients, integrators, interface, invariance, repeatability, surface

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *invariance.CHECKS,
    *gradients.CHECKS,
    *repeatability.CHECKS,
    *integrators.CHECKS,
    *surface.CHECKS,
)
