"""numba types of arrays whose last axis has a compile-time length of three or four.

numba's array types do not include the shape. With a known last axis of (..., 3) or (..., 4) a row is one vector load,
and its address takes a shift or two instead of a multiplication.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import models, register_model

from .tangents.arrays import numba_array_type

KNOWN = (3, 4)


class KnownRows(types.Array):
    """Type of a C-ordered array of two or more axes whose last has the length ``columns``."""

    def __init__(self, dtype, ndim, columns, readonly=False, aligned=True):
        self.columns = columns
        kind = f"{'readonly ' if readonly else ''}rows_of_{columns}"
        super().__init__(dtype, ndim, "C", readonly=readonly, name=f"{kind}({dtype}, {ndim}d)", aligned=aligned)

    @property
    def key(self):
        """Key by which numba compares types, with ``columns``."""
        return (*super().key, self.columns)

    def copy(self, dtype=None, ndim=None, layout=None, readonly=None):
        """Return the type of a view: indexing of leading axes keeps the known last axis."""
        # Indexing passes the layout that it keeps; reshape and the like do not, and may change the last axis.
        if dtype is None and layout == "C" and ndim is not None and 2 <= ndim <= self.ndim:
            fixed = not self.mutable if readonly is None else readonly
            return KnownRows(self.dtype, ndim, self.columns, fixed, self.aligned)
        return super().copy(dtype=dtype, ndim=ndim, layout=layout, readonly=readonly)


register_model(KnownRows)(models.ArrayModel)


def known_columns(value: np.ndarray) -> int:
    """Return the length of the last axis if the compiler shall know it, else 0."""
    shape = value.shape  # cheapest test first, because this runs for every argument of every call
    return shape[-1] if len(shape) >= 2 and shape[-1] in KNOWN and value.flags.c_contiguous else 0


def type_of(value: Any) -> Any:
    """Return the numba type of an argument of a pipeline."""
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([type_of(entry) for entry in value], type(value))
    if isinstance(value, str) or (callable(value) and not hasattr(value, "shape")):
        return types.none  # compile-time constant, already specialised
    if isinstance(value, int) and not isinstance(value, bool):
        return types.int64
    kind = numba.typeof(value) if (dual := _dual_array(value)) is None else dual
    if isinstance(value, np.ndarray) and (columns := known_columns(value)):
        return KnownRows(kind.dtype, kind.ndim, columns, not kind.mutable, kind.aligned)
    return kind


def _dual_array(value: Any) -> Any:
    """Return the numba type of an array of dual numbers; None for other values."""
    if not isinstance(value, np.ndarray) or value.dtype.names is None or (found := numba_array_type(value)) is None:
        return None
    return types.Array(found[0], value.ndim, found[1], readonly=not value.flags.writeable)


def assume_columns(context, builder, kind, value) -> None:
    """Emit ``llvm.assume`` for the last axis of each array in ``value``, because LLVM sees values and not numba's
    types.
    """
    if isinstance(kind, types.BaseTuple):
        for k, entry in enumerate(kind):
            assume_columns(context, builder, entry, builder.extract_value(value, k))
    elif isinstance(kind, KnownRows):
        shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, value).shape)
        assume(builder, builder.icmp_unsigned("==", shape[-1], ir.Constant(shape[-1].type, kind.columns)))


def assume(builder, condition) -> None:
    """Emit ``llvm.assume`` of a condition."""
    kind = ir.FunctionType(ir.VoidType(), [ir.IntType(1)])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.assume"), [condition])
