"""The checks of an integrator, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.integrators import accuracy, interface, robustness

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *accuracy.CHECKS,
    *robustness.CHECKS,
)
