"""How many lanes a launch uses, and the runs of that many elements, or single elements, that bodies are called with."""

from __future__ import annotations

from llvmlite import ir
from numba.core import errors, types
from numba.extending import intrinsic

from ..language import overloaded
from ..rowtypes import assume, assume_columns
from .types import Run

#: One AVX register. Narrower processors split it; wider ones gain nothing from more (register pressure).
LANE_BYTES = 32


def lane_count(args):
    """Elements per run for a body with these arguments: 8 for float32, 4 for float64."""
    raise TypeError("lane_count works only in compiled code")


def _float_arrays(kind):
    if isinstance(kind, types.BaseTuple):
        for entry in kind:
            yield from _float_arrays(entry)
    elif isinstance(kind, types.Array) and isinstance(kind.dtype, types.Float):
        yield kind.dtype


def _count_for(args) -> int:
    real = next(_float_arrays(args), None)
    if real is None:
        raise errors.TypingError("launch_lanes: no float array among the arguments, so the number of lanes is unknown")
    return LANE_BYTES * 8 // real.bitwidth


@overloaded(lane_count)
def _lane_count(args):
    count = _count_for(args)
    return lambda args: count


def align_stack(builder) -> None:
    """Let a pass begin its stack at whole registers: of those that are kept there for want of registers, half might
    else lie across two lines of the cache, by luck of the stack's size. That cost cloth's adjoint 8 %, fem's 25 %.

    The pass stays a function of its own: where it is called once it would be written into its pipeline, whose stack is
    as it is."""
    builder.function.attributes.add("noinline")
    builder.function.attributes.alignstack = LANE_BYTES


@intrinsic
def run_at(typingctx, start, args):
    """The run of elements that begins at ``start``."""
    sig = Run(_count_for(args))(types.int64, args)

    def codegen(context, builder, signature, values):
        align_stack(builder)
        assume_columns(context, builder, args, values[1])
        return values[0]

    return sig, codegen


@intrinsic
def element_at(typingctx, i, args):
    """The element ``i``, not negative, on its own, for a body with these arguments."""

    def codegen(context, builder, signature, values):
        assume(builder, builder.icmp_signed(">=", values[0], ir.Constant(values[0].type, 0)))
        assume_columns(context, builder, args, values[1])
        return values[0]

    return types.int64(types.int64, args), codegen
