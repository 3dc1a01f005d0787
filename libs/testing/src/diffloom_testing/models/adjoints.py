"""Check of hand-written adjoints against those derived from the source, at random points and without compiling."""

from __future__ import annotations

from diffloom.interfaces import Control
from diffloom_mechanics.system import Mechanics
from diffloom_testing.device_adjoints import compare_device_adjoints, describe_comparisons
from diffloom_testing.results import Skip, check
from diffloom_testing.subjects import ModelSubject


@check("adjoints")
def against_derived(subject: ModelSubject) -> str:
    """Each hand-written adjoint of a device function agrees with the one derived from the function's source."""
    params = subject.params()
    dynamics = subject.model.dynamics(params, Control())
    if not isinstance(dynamics, Mechanics):
        raise Skip("the model brings a step of its own")
    system = dynamics.underived
    if not system.brings_adjoints:
        raise Skip("the model brings no adjoint of a device function")
    return describe_comparisons(compare_device_adjoints(system, subject.model.initial_state(params)))


CHECKS = (against_derived,)
