"""The checks of an integrator, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.integrators import (
    accuracy,
    copying,
    determinism,
    gradients,
    interface,
    precision,
    schedule,
    trouble,
)

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *schedule.CHECKS,
    *accuracy.CHECKS,
    *gradients.CHECKS,
    *determinism.CHECKS,
    *precision.CHECKS,
    *trouble.CHECKS,
    *copying.CHECKS,
)
