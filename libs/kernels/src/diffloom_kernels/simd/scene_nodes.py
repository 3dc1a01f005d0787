"""Parallel scenes: a node of several scenes at once, one scene per lane.

A *scene node* is a node of a block of scenes, and takes the position of a node's index in kernels. Arrays that differ
by scene are stored in blocks, (..., blocks, nodes, ..., lanes): indexed by a scene node in one axis they give float
lanes with one load. Arrays that all scenes share have neither blocks nor lanes, and give the scalar of that node.
"""

from __future__ import annotations

import operator

from llvmlite import ir
from numba.core import errors, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

from .. import memory
from ..language import overloaded
from .arrays import IndexTuple, IndexTupleModel, address
from .runs import LANE_BYTES
from .types import FloatLanes, SceneNode


@register_model(SceneNode)
class _SceneNodeModel(models.StructModel):
    """Data model of a scene node: the numbers of its block and node."""
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("block", types.int64), ("node", types.int64)])


class SceneNodeIndex(IndexTuple):
    """Type of an index tuple with a scene node; ``lanes`` is True if the array has blocks."""

    def __init__(self, kinds, lanes):
        self.lanes = lanes
        super().__init__(kinds, f"scene_node_index_{lanes}")


register_model(SceneNodeIndex)(IndexTupleModel)


def scene_node(block, node):
    """Return node ``node`` of the scenes of a block; works only in compiled code.

    Args:
        block: Number of the block.
        node: Number of the node.
    """
    raise TypeError("scene_node works only in compiled code")


def scene_row(i, k):
    """Return the index of row k in an array of the scene that node i belongs to.

    Args:
        i: Node, or scene node if scenes run in parallel.
        k: Number of the row.

    Returns:
        k, or a scene node in the block of i.
    """
    return k


@intrinsic
def _scene_node(typingctx, block, node):
    """Emit a scene node."""
    def codegen(context, builder, sig, args):
        made = context.make_helper(builder, SceneNode())
        made.block, made.node = args
        return made._getvalue()

    return SceneNode()(types.int64, types.int64), codegen


@intrinsic
def _scene_row(typingctx, i, k):
    """Emit a scene node in the block of another one."""
    def codegen(context, builder, sig, args):
        made = context.make_helper(builder, i, value=args[0])
        made.node = args[1]
        return made._getvalue()

    return SceneNode()(i, types.int64), codegen


@overloaded(scene_node)
def _overload_scene_node(block, node):
    """Overload ``scene_node``."""
    return lambda block, node: _scene_node(block, node)


@overloaded(scene_row)
def _in_scene(i, k):
    """Overload ``scene_row``."""
    return (lambda i, k: _scene_row(i, k)) if isinstance(i, SceneNode) else scene_row


@infer_global(operator.add)
@infer_global(operator.sub)
class _Shifted(AbstractTemplate):
    """Typing rule of a scene node plus or minus an integer."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        if len(args) == 2 and isinstance(args[0], SceneNode) and isinstance(args[1], types.Integer):
            return signature(args[0], args[0], types.int64)
        return None


def _lower_shift(op, name):
    """Register the lowering of a scene node plus or minus an integer."""
    @lower_builtin(op, SceneNode, types.int64)
    def implementation(context, builder, sig, args):
        made = context.make_helper(builder, sig.args[0], value=args[0])
        made.node = getattr(builder, name)(made.node, args[1])
        return made._getvalue()


_lower_shift(operator.add, "add")
_lower_shift(operator.sub, "sub")


def _scene_node_index(array, index):
    """Return the index type of array[index], or None if it has no scene node."""
    if isinstance(index, SceneNodeIndex):  # numba types the call again with the types of the first answer
        return index
    kinds = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
    if not isinstance(array, types.Array) or not any(isinstance(kind, SceneNode) for kind in kinds):
        return None
    extra = array.ndim - len(kinds)
    if sum(isinstance(kind, SceneNode) for kind in kinds) != 1 or extra not in (0, 2):
        raise errors.TypingError(
            f"a scene node in an index of {len(kinds)} entries, array of {array.ndim} axes: expected as many axes for "
            "an array that all scenes share, or two more (blocks and lanes)"
        )
    if not all(isinstance(kind, SceneNode | types.Integer) for kind in kinds):
        raise errors.TypingError("scene nodes index arrays together with integers only, not slices")
    if extra and not isinstance(array.dtype, types.Float):
        raise errors.TypingError(f"arrays of parallel scenes hold floats, not {array.dtype}")
    return SceneNodeIndex([kind if isinstance(kind, SceneNode) else types.int64 for kind in kinds], extra == 2)


def _lanes(array):
    """Return the type of the lanes of an array."""
    return FloatLanes(array.dtype, LANE_BYTES * 8 // array.dtype.bitwidth)


@infer_global(operator.getitem)
class _SceneNodeGetItem(AbstractTemplate):
    """Typing rule of a load by a scene node."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        index = _scene_node_index(*args)
        if index is None:
            return None
        return signature(_lanes(args[0]) if index.lanes else args[0].dtype, args[0], index)


@infer_global(operator.setitem)
class _SceneNodeSetItem(AbstractTemplate):
    """Typing rule of a store by a scene node."""
    def generic(self, args, kws):
        """Return the signature, or None."""
        array, given, value = args
        index = _scene_node_index(array, given)
        if index is None:
            return None
        if not index.lanes:
            raise errors.TypingError("cannot store for one scene node into an array that all scenes share")
        lanes = _lanes(array)
        if value not in (lanes, lanes.dtype):
            raise errors.TypingError(f"cannot store {value} into lanes of {array.dtype}; convert it explicitly")
        return signature(types.none, array, index, lanes)


def _pointer(context, builder, array_type, array, index_type, index):
    """Return the address of a node's scalar, or of the first lane of its block."""
    entries = []
    for k, kind in enumerate(index_type.kinds):
        value = builder.extract_value(index, k)
        if not isinstance(kind, SceneNode):
            entries.append(value)
            continue
        fields = context.make_helper(builder, kind, value=value)
        entries += [fields.block, fields.node] if index_type.lanes else [fields.node]
    if not index_type.lanes:
        return address(context, builder, array_type, array, entries)
    first = address(context, builder, array_type, array, [*entries, ir.Constant(ir.IntType(64), 0)])
    element = context.get_value_type(array_type.dtype)
    return builder.bitcast(first, ir.VectorType(element, _lanes(array_type).count).as_pointer())


@lower_builtin(operator.getitem, types.Array, SceneNodeIndex)
def _load(context, builder, sig, args):
    """Emit a load by a scene node."""
    array_type, index_type = sig.args
    pointer = _pointer(context, builder, array_type, args[0], index_type, args[1])
    if index_type.lanes:
        return builder.load(pointer, align=array_type.dtype.bitwidth // 8)
    return context.unpack_value(builder, array_type.dtype, pointer)


@lower_builtin(operator.setitem, types.Array, SceneNodeIndex, FloatLanes)
def _store(context, builder, sig, args):
    """Emit a store by a scene node."""
    array_type, index_type, _ = sig.args
    pointer = _pointer(context, builder, array_type, args[0], index_type, args[1])
    builder.store(args[2], pointer, align=array_type.dtype.bitwidth // 8)
    return context.get_dummy_value()


@overloaded(memory.ld3)
def _ld3(a, i):
    """Overload ``ld3`` for scene nodes."""
    return memory.ld3 if isinstance(i, SceneNode) else None
