"""Dual numbers in kernels: a value with several tangents, for forward-mode derivatives of unchanged pipelines."""

from .arrays import as_duals as as_duals, dual_type as dual_type, tangents_of as tangents_of, values_of as values_of
