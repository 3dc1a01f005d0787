"""Threads that share passes: each tile is done once, no thread runs ahead or waits for a thread that never came."""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

from diffloom_kernels.backends import team_kernels as shared
from diffloom_kernels.backends.thread_team import make_team


def member(team, me, passes, done, impatient):
    """One member's way through a schedule, stopping wherever another thread could act in between."""
    for _ in range(passes):
        number = shared.enter_pass.py_func(team, me)
        for k in range(me, me + len(team)):
            tile = k % len(team)
            yield
            if shared.take_tile.py_func(team, me, tile, number):
                assert number == 0 or all(done[number - 1, other] == 1 for other in range(len(team)))
                yield
                done[number, tile] += 1
                yield
                shared.leave_tile.py_func(team, me, tile, number)
        while behind := [tile for tile in range(len(team)) if shared.read_word(team, tile) < 2 * number + 2]:
            if impatient():
                team[behind, shared._SLOW] = 1
            yield


@pytest.mark.parametrize("members", [2, 3, 5])
@pytest.mark.parametrize("seed", range(30))
def test_every_tile_is_done_once_in_any_order_of_events(members, seed):
    passes, rng = 12, random.Random(seed)
    team, done = make_team(members), np.zeros((passes, members), int)
    patience = rng.choice([0.0, 0.01, 0.3])
    running = {me: member(team, me, passes, done, lambda: rng.random() < patience) for me in range(members)}
    late = {me: rng.choice([0, 0, 40, 200, 10_000]) for me in running if me}  # some come late, some after the end
    for now in range(100_000):
        ready = [me for me in running if late.get(me, 0) <= now] or list(running)
        if not ready:
            break
        me = rng.choice(ready)
        if next(running[me], "end") == "end":
            del running[me]
    assert not running, "somebody waits for ever"
    assert (done == 1).all()


def test_one_member_does_what_nobody_else_comes_for():
    team = make_team(4)
    for _ in range(3):
        done, tile = [], shared.first_tile(team, 2)
        while tile >= 0:
            done.append(tile)
            tile = shared.next_tile(team, 2, tile)
        assert done == [2, 3, 0, 1]
    assert shared.first_tile(team, 1) == -1, "a member that comes late finds nothing to do in a pass that is over"


@pytest.mark.parametrize("members", [1, 2, 3, 7])
@pytest.mark.parametrize(("count", "width"), [(0, 4), (1, 1), (10, 1), (64, 8), (30, 8), (5, 8)])
def test_tiles_are_whole_runs_and_together_everything(members, count, width):
    end = 0
    for tile in range(members):
        first, after = shared.share(members, tile, count, width)
        assert first == end
        assert first % width == 0
        end = after
    assert end == count


def test_members_do_not_share_cache_lines():
    team = make_team(3)
    assert team.ctypes.data % 64 == 0
    assert team.strides[0] % 128 == 0
    assert not team.any()


MANY_PASSES = """
import numpy as np
from diffloom_kernels import Program, device, launch, launch_lanes, independent

@device
def mix(i, n, a, out):
    out[i] = a[(i * 7 + 3) % n] + a[i] * a.dtype.type(0.25)

@device
def fade(i, out, kept):
    kept[i] = out[i] * out.dtype.type(0.75)

def many(passes, n, a, b):
    for j in range(passes):
        launch(n, mix, n, a, b)
        with independent:
            launch_lanes(n, fade, b, a)

program = Program("test_many_passes", (many,))
results = []
for target in ("serial", "parallel", "parallel"):
    a, b = np.linspace(0, 1, 203), np.zeros(203)
    program.run("many", 5000, 203, a, b, target=target)
    results.append((a, b))
assert all(np.array_equal(x, y) for other in results[1:] for x, y in zip(results[0], other))
assert results[0][0].any()
"""


@pytest.mark.parametrize("threads", ["2", "7"])
def test_many_small_passes_and_more_threads_than_processors(tmp_path, threads):
    script = tmp_path / "script.py"
    script.write_text(MANY_PASSES)
    several = {**os.environ, "NUMBA_NUM_THREADS": threads, "DIFFLOOM_NUM_THREADS": threads}
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=several, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
