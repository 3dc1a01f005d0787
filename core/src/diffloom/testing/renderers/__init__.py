"""The checks of a renderer, one file per family."""

from diffloom.testing.checks import Check
from diffloom.testing.renderers import (
    background,
    bad_input,
    batch,
    capabilities,
    copying,
    degenerate,
    determinism,
    dtypes,
    face_order,
    gradients,
    per_frame,
    placement,
    ranges,
    shapes,
)

CHECKS: tuple[Check, ...] = (
    *capabilities.CHECKS,
    *shapes.CHECKS,
    *ranges.CHECKS,
    *background.CHECKS,
    *placement.CHECKS,
    *face_order.CHECKS,
    *gradients.CHECKS,
    *batch.CHECKS,
    *per_frame.CHECKS,
    *dtypes.CHECKS,
    *degenerate.CHECKS,
    *bad_input.CHECKS,
    *determinism.CHECKS,
    *copying.CHECKS,
)
