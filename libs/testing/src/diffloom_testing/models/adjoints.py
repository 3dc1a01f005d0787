"""Checks of hand-written adjoints against those derived from the source, at random points and without compiling."""

from __future__ import annotations

from collections.abc import Sequence

from diffloom.interfaces import Control
from diffloom_mechanics import DeviceComparison, Mechanics, compare_device_adjoints
from diffloom_testing.results import Failure, Skip, check, count_comparisons
from diffloom_testing.subjects import ModelSubject


@check("adjoints")
def against_derived(subject: ModelSubject) -> str:
    """Each hand-written adjoint of a device function agrees with the one derived from the function's source."""
    params = subject.params()
    dynamics = subject.model.dynamics(params, Control())
    if not isinstance(dynamics, Mechanics):
        raise Skip("the model brings a step of its own")
    return describe_comparisons(compare_device_adjoints(dynamics, subject.model.initial_state(params)))


def describe_comparisons(found: Sequence[DeviceComparison]) -> str:
    """Return a line about comparisons.

    Args:
        found: Comparisons of one system.

    Returns:
        Numbers of device functions that agree, and of those whose adjoint cannot be derived.

    Raises:
        Failure: An adjoint differs from the derived one.
    """
    wrong = [one for one in found if not one.agrees]
    if wrong:
        listed = "; ".join(
            f"{one.owner}, the adjoint of {one.function}: the cotangent of {one.worst} differs by {one.error:.1e} of "
            "its largest entry"
            for one in wrong
        )
        raise Failure(f"hand-written adjoints differ from those derived from the source: {listed}")
    compared = [one for one in found if one.error is not None and not one.silent]
    refused = [one for one in found if one.error is None]
    if not found:
        raise Skip("no device function brings an adjoint")
    if not compared:
        reasons = "; ".join(one.reason for one in refused) or "the functions have no effect near the example's start"
        raise Skip(f"no adjoint could be compared: {reasons}")
    count_comparisons(len(compared))
    left = f"; {len(refused)} cannot be derived" if refused else ""
    return f"{len(compared)} agree, largest difference {max(one.error or 0.0 for one in compared):.1e}{left}"


CHECKS = (against_derived,)
