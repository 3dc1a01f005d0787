"""Arrays whose last axis is three or four wide, known to the compiler.

numba's array types say nothing of shapes. For arrays (..., 3) and (..., 4) this is worth saying: a row is then one
vector load, and its address a shift or two instead of a product.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import models, register_model

KNOWN = (3, 4)


class KnownRows(types.Array):
    """A C-ordered array of two or more axes, the last of length ``columns``."""

    def __init__(self, dtype, ndim, columns, readonly=False, aligned=True):
        self.columns = columns
        kind = f"{'readonly ' if readonly else ''}rows_of_{columns}"
        super().__init__(dtype, ndim, "C", readonly=readonly, name=f"{kind}({dtype}, {ndim}d)", aligned=aligned)

    @property
    def key(self):
        return (*super().key, self.columns)

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        """The type of a part of the array: what indexing of leading axes leaves still has such rows."""
        # Indexing names the layout it keeps; reshape and the like do not, and may change the last axis.
        if dtype is None and layout == "C" and ndim is not None and 2 <= ndim <= self.ndim:
            fixed = not self.mutable if readonly is None else readonly
            return KnownRows(self.dtype, ndim, self.columns, fixed, self.aligned)
        return super().copy(dtype=dtype, ndim=ndim, layout=layout, readonly=readonly)


register_model(KnownRows)(models.ArrayModel)


def known_columns(value: np.ndarray) -> int:
    """The length of the last axis if it is to be known to the compiler, else 0."""
    shape = value.shape  # cheapest test first: this runs for every argument of every run
    return shape[-1] if len(shape) >= 2 and shape[-1] in KNOWN and value.flags.c_contiguous else 0


def type_of(value: Any) -> Any:
    """The compiler's type of an argument of a run."""
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([type_of(entry) for entry in value], type(value))
    if isinstance(value, str) or (callable(value) and not hasattr(value, "shape")):
        return types.none  # for the compiler only: code was written for it
    if isinstance(value, int) and not isinstance(value, bool):
        return types.int64
    kind = numba.typeof(value)
    if isinstance(value, np.ndarray) and (columns := known_columns(value)):
        return KnownRows(kind.dtype, kind.ndim, columns, not kind.mutable, kind.aligned)
    return kind


def assume_columns(context, builder, kind, value) -> None:
    """Tell the optimiser the last axes of the arrays in ``value``: it knows values, not types."""
    if isinstance(kind, types.BaseTuple):
        for k, entry in enumerate(kind):
            assume_columns(context, builder, entry, builder.extract_value(value, k))
    elif isinstance(kind, KnownRows):
        shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape)
        assume(builder, builder.icmp_unsigned("==", shape[-1], ir.Constant(shape[-1].type, kind.columns)))


def assume(builder, told) -> None:
    """Tell the optimiser that this holds."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.assume"), [told])
