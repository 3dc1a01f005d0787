"""Adjoints of device functions, derived from their source."""

from .adjoints import Convention, derive_adjoint, derive_by_convention, load_functions, number_in, number_like
from .interpret import interpreted
from .loads import States
from .operations import Cotangents
from .source import Frame, UnderivableError, device_source, parameter_names, parse_function
from .values import Array, Group, Real, Record, Whole

__all__ = [
    "Array", "Convention", "Cotangents", "Frame", "Group", "Real", "Record", "States", "UnderivableError", "Whole",
    "derive_adjoint", "derive_by_convention", "device_source", "interpreted", "load_functions", "number_in",
    "number_like", "parameter_names", "parse_function",
]  # fmt: skip
