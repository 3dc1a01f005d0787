"""Adjoints of device functions, derived from their source."""

from .adjoints import Convention, derive_adjoint, derive_by_convention, number_in, number_like
from .interpret import interpreted
from .loads import States
from .operations import Cotangents
from .source import UnderivableError, parameter_names
from .values import Array, Group, Real, Record, Whole

__all__ = [
    "Array", "Convention", "Cotangents", "Group", "Real", "Record", "States", "UnderivableError", "Whole",
    "derive_adjoint", "derive_by_convention", "interpreted", "number_in", "number_like", "parameter_names",
]  # fmt: skip
