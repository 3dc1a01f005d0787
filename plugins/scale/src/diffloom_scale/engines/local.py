"""Processes of this machine."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from diffloom_scale.engines.engine import RETRIES, Engine, TaskError


@dataclass(frozen=True)
class LocalPool(Engine):
    """``jobs`` processes at once; with one, this process does the work itself."""

    jobs: int = 1

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        if self.jobs <= 1:
            yield from ((number, work(task)) for number, task in enumerate(tasks))
            return
        waiting = dict(enumerate(tasks))
        deaths = 0
        while waiting:
            try:
                for number, found in self._round(work, waiting):
                    del waiting[number]
                    yield number, found
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > RETRIES:
                    raise TaskError(
                        f"{deaths} times a worker process died; {len(waiting)} of {len(tasks)} tasks are not finished. "
                        "Too little memory is the usual reason: use fewer --jobs"
                    ) from error

    def _round(self, work: Callable[[Any], Any], waiting: dict[int, Any]) -> Iterator[tuple[int, Any]]:
        """What finishes before a process dies, which takes the whole pool with it."""
        # Spawned, not forked: a fork would share the parent's compiled-code threads.
        with ProcessPoolExecutor(self.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            numbers = {pool.submit(work, task): number for number, task in waiting.items()}
            for future in as_completed(numbers):
                yield numbers[future], future.result()
