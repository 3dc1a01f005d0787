"""Checks of an integrator, one file per family."""

from diffloom.interfaces import Integrator
from diffloom_testing.integrators import accuracy, interface, robustness
from diffloom_testing.results import Check
from diffloom_testing.subjects import integrator_subject
from diffloom_testing.suites import Suite

CHECKS: tuple[Check, ...] = (*interface.CHECKS, *accuracy.CHECKS, *robustness.CHECKS)

SUITE = Suite(Integrator, integrator_subject, CHECKS)
