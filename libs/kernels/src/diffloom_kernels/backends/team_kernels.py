"""Work sharing and barrier of a thread team, as device functions.

Each tile has an atomic word that only grows. In pass p it is 2 p while the tile is free, 2 p + 1 while a member works
on it, and larger when it is done: 2 p + 2, which means free in pass p + 1, if another member did it, and 2 p + 3, which
means taken in pass p + 1, if its own member did. So a member takes its own tile without an atomic operation from its
first tile on, until another member has waited for it long, because a busy machine may deschedule a member at any time.
From then on the slow member takes its own tiles by compare-and-swap like all members, and the running members do
the remaining tiles.

A program contains this code once and not once per pass (``_dl_shared``, see whole_program.py); a team of one skips it.
"""

from __future__ import annotations

import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..language import device, overloaded

_WORD = 0  # word of the tile, shared by all members
_SLOW = 1  # flag: a member has waited long for this one; in the same cache line
_PASSES = 16  # number of passes this member has entered; private, two cache lines away from the shared words
_HAS_BEGUN = 17
ROW = 32
#: Polls before a thread yields its processor: some microseconds, about two context switches.
_PATIENCE = 150
#: Polls before a thread sleeps, because polling would take time from a member that was descheduled.
_LONG = 1000
#: Length of a sleep [us].
_NAP = 20


@device
def first_tile(team, member):
    """Return the tile that this member begins a pass with, or -1 if the pass is over."""
    if team.shape[0] == 1:
        return 0
    return _dl_shared_begin(team, member)


@device
def next_tile(team, member, tile):
    """Return the tile after one that is done, or -1 if the pass is over."""
    if team.shape[0] == 1:
        return -1
    return _dl_shared_go_on(team, member, tile)


@device
def share(tiles, tile, count, width):
    """Return the first element and the end of a tile: an equal share of ``count`` elements in whole runs of
    ``width``.
    """
    if tiles == 1:
        return 0, count
    runs = (count + width - 1) // width
    end = (tile + 1) * runs // tiles * width
    return tile * runs // tiles * width, end if end < count else count


@device(inline=False)
def _dl_shared_begin(team, member):
    """Enter a pass, and take the first tile."""
    number = enter_pass(team, member)
    if take_tile(team, member, member, number):
        return member
    return other_tile(team, member, member, number)


@device(inline=False)
def _dl_shared_go_on(team, member, tile):
    """Release a tile, and take the next."""
    number = team[member, _PASSES] - 1
    leave_tile(team, member, tile, number)
    return other_tile(team, member, tile, number)


@device
def other_tile(team, member, tile, number):
    """Take the next free tile; after one round wait at the barrier and return -1."""
    tile = tile + 1 if tile + 1 < team.shape[0] else 0
    while tile != member:
        if take_tile(team, member, tile, number):
            return tile
        tile = tile + 1 if tile + 1 < team.shape[0] else 0
    wait_for_team(team, number)
    return -1


@device
def enter_pass(team, member):
    """Return the number of the pass that this member enters."""
    number = team[member, _PASSES]
    team[member, _PASSES] = number + 1
    return number


@device
def take_tile(team, member, tile, number):
    """Try to take a tile in this pass, and return True on success."""
    if tile == member and team[member, _HAS_BEGUN] != 0:
        return True
    free = 2 * number
    taken = read_word(team, tile) == free and replace_word(team, tile, free)
    if taken and tile == member:
        team[member, _HAS_BEGUN] = 1
    return taken


@device
def leave_tile(team, member, tile, number):
    """Mark the tile as done."""
    if tile == member and team[member, _SLOW] == 0:
        write_word(team, tile, 2 * number + 3)
    else:
        if tile == member:
            team[member, _HAS_BEGUN] = 0
        write_word(team, tile, 2 * number + 2)


@device
def wait_for_team(team, number):
    """Wait until every tile of this pass is done (barrier)."""
    for tile in range(team.shape[0]):
        polls = 0
        while read_word(team, tile) < 2 * number + 2:
            pause(polls)
            polls += 1
            if polls == _PATIENCE:
                team[tile, _SLOW] = 1


def read_word(team, tile):
    """Return the word of a tile, by an atomic load with acquire ordering."""
    return team[tile, _WORD]


def write_word(team, tile, value):
    """Set the word of a tile, by an atomic store with release ordering."""
    team[tile, _WORD] = value


def replace_word(team, tile, value):
    """Increment the word of a tile if it equals ``value`` (compare-and-swap), and return True on success."""
    held = team[tile, _WORD] == value
    if held:
        team[tile, _WORD] = value + 1
    return held


def pause(polls):
    """Back off between polls: a pause instruction, after many polls a yield, after very many a sleep."""


def _pointer(context, builder, team, args):
    """Return the address of a tile's word."""
    fields = context.make_array(team)(context, builder, args[0])
    return builder.gep(fields.data, [builder.mul(args[1], ir.Constant(ir.IntType(64), ROW))])


@intrinsic
def _read(typingctx, team, tile):
    """Emit an atomic load with acquire ordering."""
    def codegen(context, builder, sig, args):
        return builder.load_atomic(_pointer(context, builder, team, args), "acquire", 8)

    return types.int64(team, types.int64), codegen


@intrinsic
def _write(typingctx, team, tile, value):
    """Emit an atomic store with release ordering."""
    def codegen(context, builder, sig, args):
        builder.store_atomic(args[2], _pointer(context, builder, team, args), "release", 8)
        return context.get_dummy_value()

    return types.none(team, types.int64, types.int64), codegen


@intrinsic
def _replace(typingctx, team, tile, value):
    """Emit a compare-and-swap."""
    def codegen(context, builder, sig, args):
        after = builder.add(args[2], ir.Constant(ir.IntType(64), 1))
        pointer = _pointer(context, builder, team, args)
        return builder.extract_value(builder.cmpxchg(pointer, args[2], after, "acq_rel", "acquire"), 1)

    return types.boolean(team, types.int64, types.int64), codegen


@intrinsic
def _pause(typingctx, polls):
    """Emit the back-off."""
    def codegen(context, builder, sig, args):
        nothing = ir.FunctionType(ir.VoidType(), [])
        if "x86" in builder.module.triple:
            builder.call(cgutils.get_or_insert_function(builder.module, nothing, "llvm.x86.sse2.pause"), [])
        windows, number = sys.platform == "win32", ir.IntType(32)
        give_way = ir.FunctionType(number, []), "SwitchToThread" if windows else "sched_yield"
        nap = ir.FunctionType(ir.VoidType() if windows else number, [number]), "Sleep" if windows else "usleep"
        for enough, (kind, name), given in (
            (_PATIENCE, give_way, []),
            (_LONG, nap, [ir.Constant(number, 1 if windows else _NAP)]),
        ):
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            with builder.if_then(builder.icmp_signed(">", args[0], ir.Constant(ir.IntType(64), enough)), likely=False):
                builder.call(function, given)
        return context.get_dummy_value()

    return types.none(types.int64), codegen


@overloaded(read_word)
def _compiled_read(team, tile):
    """Overload ``read_word``."""
    return lambda team, tile: _read(team, tile)


@overloaded(write_word)
def _compiled_write(team, tile, value):
    """Overload ``write_word``."""
    return lambda team, tile, value: _write(team, tile, value)


@overloaded(replace_word)
def _compiled_replace(team, tile, value):
    """Overload ``replace_word``."""
    return lambda team, tile, value: _replace(team, tile, value)


@overloaded(pause)
def _compiled_pause(polls):
    """Overload ``pause``."""
    return lambda polls: _pause(polls)
