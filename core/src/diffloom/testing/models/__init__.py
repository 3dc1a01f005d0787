"""The checks of a physical model, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.models import gradients, impacts, integrators, interface, invariance, repeatability, surface

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *invariance.CHECKS,
    *gradients.CHECKS,
    *impacts.CHECKS,
    *repeatability.CHECKS,
    *integrators.CHECKS,
    *surface.CHECKS,
)
