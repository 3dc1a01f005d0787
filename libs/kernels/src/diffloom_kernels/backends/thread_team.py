"""Threads that go through a pipeline together.

Every thread runs the whole pipeline, and each pass is cut into as many tiles as there are threads, its *members*. No
member is waited for before it has begun: until then the others do its tile too. So where the system has a single
thread to give, that one does everything and nobody waits. Which member computes what changes no result.

Threads are Python's own, which survive a fork (the child starts new ones) and any number of callers at once: compiled
code runs without the interpreter's lock. A thread that comes when all is done walks through passes whose tiles are all
taken, and touches nothing; so nobody waits for the others to leave either.
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
    """The shared memory of a team at the start of a pipeline: a row for each member, on cache lines of its own."""
    memory = np.zeros((members + 1) * ROW, np.int64)
    skip = -memory.__array_interface__["data"][0] // 8 % ROW
    return memory[skip : skip + members * ROW].reshape(members, ROW)


#: For running a pipeline on one thread; nothing is written to it.
TEAM_OF_ONE = make_team(1)


class _Workers:
    """Threads that wait for work."""

    def __init__(self) -> None:
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.count = 0

    def start(self, count: int) -> None:
        """Have this many threads."""
        while self.count < count:
            self.count += 1
            threading.Thread(target=self._work, name=f"diffloom-{self.count}", daemon=True).start()

    def _work(self) -> None:
        while True:
            function, team, member, args, finished = self.tasks.get()
            if not finished:
                function(team, member, *args)
            del function, team, member, args, finished  # nothing is held while waiting


_workers = _Workers()


def _start_anew() -> None:
    global _workers
    _workers = _Workers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def run_team(function: Callable[..., Any], args: list[Any], members: int) -> None:
    """Run ``function(team, member, *args)`` on this thread and on others that are free."""
    team = make_team(members)
    finished: list[bool] = []
    _workers.start(members - 1)
    for member in range(1, members):
        _workers.tasks.put((function, team, member, args, finished))
    function(team, 0, *args)
    finished.append(True)
