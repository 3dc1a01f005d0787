"""Lane counts of launches, and the runs or single elements that bodies are called with."""

from __future__ import annotations

from llvmlite import ir
from numba.core import errors, types
from numba.extending import intrinsic

from ..language import overloaded
from ..rowtypes import assume, assume_columns
from .types import Run

#: Size of one AVX register [bytes]. Processors with narrower registers split it; wider ones would suffer from register
#: pressure.
LANE_BYTES = 32


def lane_count(args):
    """Return the number of elements per run for a body with these arguments: 8 for float32, 4 for float64.

    Args:
        args: Tuple of the arguments of the body.
    """
    raise TypeError("lane_count works only in compiled code")


def _float_arrays(kind):
    """Yield the float types of the arrays in a type."""
    if isinstance(kind, types.BaseTuple):
        for entry in kind:
            yield from _float_arrays(entry)
    elif isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float):
        yield kind.dtype


def _count_for(args) -> int:
    """Return the number of lanes for arguments of these types."""
    real = next(_float_arrays(args), None)
    if real is None:
        raise errors.TypingError("launch_lanes: no float array among the arguments, so the number of lanes is unknown")
    return LANE_BYTES * 8 // real.bitwidth


@overloaded(lane_count)
def _lane_count(args):
    """Overload ``lane_count``."""
    count = _count_for(args)
    return lambda args: count


def align_stack(builder) -> None:
    """Align the stack of a pass to whole registers, and forbid inlining it.

    Spilled registers would otherwise straddle cache lines, depending on the size of the stack frame: up to 25 % slower.
    An inlined pass would use the stack frame of its pipeline, which is not aligned.
    """
    builder.function.attributes.add("noinline")
    builder.function.attributes.alignstack = LANE_BYTES


@intrinsic
def run_at(typingctx, start, args):
    """Return the run of elements that begins at ``start``.

    Args:
        start: First element.
        args: Tuple of the arguments of the body.
    """
    sig = Run(_count_for(args))(types.int64, args)

    def codegen(context, builder, signature, values):
        align_stack(builder)
        assume_columns(context, builder, args, values[1])
        return values[0]

    return sig, codegen


@intrinsic
def element_at(typingctx, i, args):
    """Return element ``i``, which is not negative, as a scalar index of a body with these arguments.

    Args:
        i: Number of the element.
        args: Tuple of the arguments of the body.
    """

    def codegen(context, builder, signature, values):
        assume(builder, builder.icmp_signed(">=", values[0], ir.Constant(values[0].type, 0)))
        assume_columns(context, builder, args, values[1])
        return values[0]

    return types.int64(types.int64, args), codegen
