"""The checks of a renderer, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.renderers import (
    degenerate,
    geometry,
    gradients,
    images,
    interface,
    materials,
    per_frame,
    repeatability,
)

CHECKS: tuple[Check, ...] = (
    *interface.CHECKS,
    *images.CHECKS,
    *geometry.CHECKS,
    *gradients.CHECKS,
    *per_frame.CHECKS,
    *materials.CHECKS,
    *repeatability.CHECKS,
    *degenerate.CHECKS,
)
