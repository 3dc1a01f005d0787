"""Dual numbers in kernels: a value with several tangents, for forward-mode derivatives of unchanged pipelines."""

from .arrays import as_duals, dual_type, tangents_of, values_of

__all__ = ["as_duals", "dual_type", "tangents_of", "values_of"]
