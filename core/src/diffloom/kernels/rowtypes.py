"""Arrays whose last axis is four wide, known to the compiler.

numba's array types say nothing of shapes. For arrays (..., 4) this is worth saying: a row is then one vector load, and
its address a shift instead of a product.
"""

from __future__ import annotations

import numba
import numpy as np
from numba.core import types
from numba.extending import models, register_model


class RowsOfFour(types.Array):
    """A C-ordered float array of two or more axes, the last of length 4."""

    def __init__(self, dtype, ndim, readonly=False, aligned=True):
        kind = "readonly rows_of_four" if readonly else "rows_of_four"
        super().__init__(dtype, ndim, "C", readonly=readonly, name=f"{kind}({dtype}, {ndim}d)", aligned=aligned)

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        """The type of a part of the array: what indexing of leading axes leaves still has rows of four."""
        # Indexing names the layout it keeps; reshape and the like do not, and may change the last axis.
        if dtype is None and layout == "C" and ndim is not None and 2 <= ndim <= self.ndim:
            return RowsOfFour(self.dtype, ndim, not self.mutable if readonly is None else readonly, self.aligned)
        return super().copy(dtype=dtype, ndim=ndim, layout=layout, readonly=readonly)


register_model(RowsOfFour)(models.ArrayModel)


def has_rows_of_four(value: np.ndarray) -> bool:
    """Whether value is to be typed RowsOfFour."""
    shape = value.shape  # cheapest test first: this runs for every argument of every run
    return len(shape) >= 2 and shape[-1] == 4 and value.dtype.kind == "f" and value.flags.c_contiguous


def type_of(value):
    """The compiler's type of an argument of a run."""
    if isinstance(value, tuple):
        return types.Tuple([type_of(entry) for entry in value])
    kind = numba.typeof(value)
    if isinstance(value, np.ndarray) and has_rows_of_four(value):
        return RowsOfFour(kind.dtype, kind.ndim, not kind.mutable, kind.aligned)
    return kind
