"""The checks of a physical model, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.models import (
    bad_input,
    controls,
    copying,
    declarations,
    determinism,
    dot_product,
    gradients,
    impacts,
    integrators,
    invariance,
    precision,
    rest,
    surface,
)

CHECKS: tuple[Check, ...] = (
    *declarations.CHECKS,
    *bad_input.CHECKS,
    *rest.CHECKS,
    *invariance.CHECKS,
    *gradients.CHECKS,
    *impacts.CHECKS,
    *controls.CHECKS,
    *dot_product.CHECKS,
    *determinism.CHECKS,
    *precision.CHECKS,
    *integrators.CHECKS,
    *surface.CHECKS,
    *copying.CHECKS,
)
