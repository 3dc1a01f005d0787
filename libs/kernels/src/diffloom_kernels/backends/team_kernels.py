"""How threads that go through a pipeline together share the work of a pass and wait for its end.

A tile has one word of memory, which only grows. In pass p it is 2 p while the tile is free for anyone, 2 p + 1 while
somebody works on it, and more when it is done: 2 p + 2, which is free in pass p + 1, if another member did it, and
2 p + 3, which is taken in pass p + 1, if its own member did, which from its first tile on does all of them.

That saves asking for each, until somebody has had to wait long: on a busy machine a member may lose its processor at
any time. From then on the member that was waited for takes its tiles one by one, as others do, and whoever has a
processor does what there is to do.

A program has all this once, not in each of its passes (``_dl_shared``, see whole_program.py), and a team of one passes
it by.
"""

from __future__ import annotations

import sys

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from ..language import device, overloaded

_WORD = 0  # of the tile; written and read by all
_SLOW = 1  # whether somebody has waited long for this member; in the same cache line
_PASSES = 16  # that the member has been through; its own, two cache lines from what others look at
_HAS_BEGUN = 17
ROW = 32
#: How often a thread looks before it lets others have its processor: some microseconds, about two changes of thread.
_PATIENCE = 150
#: How often until it sleeps [us]: somebody has lost a processor for long, and looking on would only take time from it.
_LONG = 1000
_NAP = 20


@device
def first_tile(team, member):
    """The tile that this member begins a pass with, or -1: the pass is over."""
    if team.shape[0] == 1:
        return 0
    return _dl_shared_begin(team, member)


@device
def next_tile(team, member, tile):
    """The tile after one that was done, or -1: the pass is over."""
    if team.shape[0] == 1:
        return -1
    return _dl_shared_go_on(team, member, tile)


@device
def share(tiles, tile, count, width):
    """First and last element, of so many, that make up a tile: the same share of all, in whole runs of this width."""
    if tiles == 1:
        return 0, count
    runs = (count + width - 1) // width
    end = (tile + 1) * runs // tiles * width
    return tile * runs // tiles * width, end if end < count else count


@device(inline=False)
def _dl_shared_begin(team, member):
    number = enter_pass(team, member)
    if take_tile(team, member, member, number):
        return member
    return other_tile(team, member, member, number)


@device(inline=False)
def _dl_shared_go_on(team, member, tile):
    number = team[member, _PASSES] - 1
    leave_tile(team, member, tile, number)
    return other_tile(team, member, tile, number)


@device
def other_tile(team, member, tile, number):
    """The next tile that nobody has taken; after a round, and when the others are done, -1."""
    tile = tile + 1 if tile + 1 < team.shape[0] else 0
    while tile != member:
        if take_tile(team, member, tile, number):
            return tile
        tile = tile + 1 if tile + 1 < team.shape[0] else 0
    wait_for_team(team, number)
    return -1


@device
def enter_pass(team, member):
    """The number of the pass that this member comes to."""
    number = team[member, _PASSES]
    team[member, _PASSES] = number + 1
    return number


@device
def take_tile(team, member, tile, number):
    """Whether it is for this member to do the tile in this pass."""
    if tile == member and team[member, _HAS_BEGUN] != 0:
        return True
    free = 2 * number
    taken = read_word(team, tile) == free and replace_word(team, tile, free)
    if taken and tile == member:
        team[member, _HAS_BEGUN] = 1
    return taken


@device
def leave_tile(team, member, tile, number):
    """Say that the tile is done."""
    if tile == member and team[member, _SLOW] == 0:
        write_word(team, tile, 2 * number + 3)
    else:
        if tile == member:
            team[member, _HAS_BEGUN] = 0
        write_word(team, tile, 2 * number + 2)


@device
def wait_for_team(team, number):
    """Wait until every tile of this pass is done."""
    for tile in range(team.shape[0]):
        polls = 0
        while read_word(team, tile) < 2 * number + 2:
            pause(polls)
            polls += 1
            if polls == _PATIENCE:
                team[tile, _SLOW] = 1


def read_word(team, tile):
    """The word, and with it all that was written before it was."""
    return team[tile, _WORD]


def write_word(team, tile, value):
    """Set the word, after all that was written before."""
    team[tile, _WORD] = value


def replace_word(team, tile, value):
    """Count the word up if it holds ``value``; whether it did."""
    held = team[tile, _WORD] == value
    if held:
        team[tile, _WORD] = value + 1
    return held


def pause(polls):
    """Wait a moment; after many looks let other threads run, after very many sleep."""


def _pointer(context, builder, team, args):
    fields = context.make_array(team)(context, builder, args[0])
    return builder.gep(fields.data, [builder.mul(args[1], ir.Constant(ir.IntType(64), ROW))])


@intrinsic
def _read(typingctx, team, tile):
    def codegen(context, builder, sig, args):
        return builder.load_atomic(_pointer(context, builder, team, args), "acquire", 8)

    return types.int64(team, types.int64), codegen


@intrinsic
def _write(typingctx, team, tile, value):
    def codegen(context, builder, sig, args):
        builder.store_atomic(args[2], _pointer(context, builder, team, args), "release", 8)
        return context.get_dummy_value()

    return types.none(team, types.int64, types.int64), codegen


@intrinsic
def _replace(typingctx, team, tile, value):
    def codegen(context, builder, sig, args):
        after = builder.add(args[2], ir.Constant(ir.IntType(64), 1))
        pointer = _pointer(context, builder, team, args)
        return builder.extract_value(builder.cmpxchg(pointer, args[2], after, "acq_rel", "acquire"), 1)

    return types.boolean(team, types.int64, types.int64), codegen


@intrinsic
def _pause(typingctx, polls):
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
    return lambda team, tile: _read(team, tile)


@overloaded(write_word)
def _compiled_write(team, tile, value):
    return lambda team, tile, value: _write(team, tile, value)


@overloaded(replace_word)
def _compiled_replace(team, tile, value):
    return lambda team, tile, value: _replace(team, tile, value)


@overloaded(pause)
def _compiled_pause(polls):
    return lambda polls: _pause(polls)
