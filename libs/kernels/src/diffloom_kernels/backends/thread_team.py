"""Thread teams that execute a pipeline together.

Every thread, a *member* of the team, runs the whole pipeline, and each pass is cut into one tile per member. Until a
member has begun, the other members do its tile, so no barrier waits for a thread that the system has not scheduled; on
one free processor a single thread does everything. Results do not depend on which member computes a tile.

Threads are Python's, so they survive a fork (the child starts new ones) and serve any number of callers at once:
compiled code releases the global interpreter lock. A thread that arrives after the end finds all tiles taken and
touches nothing, so the caller does not wait for the remaining threads.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .team_kernels import ROW


def make_team(members: int) -> NDArray[np.int64]:
    """Return the shared memory of a team at the start of a pipeline: one row per member, on separate cache lines."""
    memory = np.zeros((members + 1) * ROW, np.int64)
    skip = -memory.__array_interface__["data"][0] // 8 % ROW
    return memory[skip : skip + members * ROW].reshape(members, ROW)


#: Team for pipelines on one thread; it is never written to.
TEAM_OF_ONE = make_team(1)


class _Workers:
    """Pool of daemon threads with a shared task queue."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.count = 0

    def start(self, count: int) -> None:
        """Start threads until there are ``count``."""
        while self.count < count:
            self.count += 1
            threading.Thread(target=self._work, name=f"diffloom-{self.count}", daemon=True).start()

    def _work(self) -> None:
        """Run tasks forever."""
        while True:
            function, team, member, args, finished = self.tasks.get()
            if not finished:
                function(team, member, *args)
            del function, team, member, args, finished  # hold no references while waiting


_workers = _Workers()


def _start_anew() -> None:
    """Replace the pool in a forked child, which has no threads."""
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def run_team(function: Callable[..., Any], args: list[Any], members: int) -> None:
    """Run ``function(team, member, *args)`` on this thread and on free worker threads."""
    team = make_team(members)
    finished: list[bool] = []
    _workers.start(members - 1)
    for member in range(1, members):
        _workers.tasks.put((function, team, member, args, finished))
    function(team, 0, *args)
    finished.append(True)
