"""Optimisers: frozen dataclasses of settings, whose whole state is a `Progress`, so that a fit can be resumed."""

from diffloom_fitting.optimisers.basin_hopping import BasinHopping
from diffloom_fitting.optimisers.cma import CmaEs
from diffloom_fitting.optimisers.first_order import Adam, Sgd, take_step
from diffloom_fitting.optimisers.gauss_newton import GaussNewton
from diffloom_fitting.optimisers.lbfgs import Lbfgs
from diffloom_fitting.optimisers.line_scan import LineScan
from diffloom_fitting.optimisers.optimiser import FitError, Optimiser, Progress, first_evaluation

__all__ = [
    "Adam",
    "BasinHopping",
    "CmaEs",
    "FitError",
    "GaussNewton",
    "Lbfgs",
    "LineScan",
    "Optimiser",
    "Progress",
    "Sgd",
    "first_evaluation",
    "take_step",
]
