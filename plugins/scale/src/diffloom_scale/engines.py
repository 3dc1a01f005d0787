"""Engines that run many tasks: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any

from diffloom.interfaces import InputError
from diffloom.validation import check_choice

__all__ = ["ENGINES", "Engine", "LocalPool", "RayCluster", "TaskError", "make_engine"]

ENGINES = ("local", "ray")
#: How often a task is given to another worker after one died at it.
RETRIES = 3


class TaskError(RuntimeError):
    """A task could not be finished: its workers died again and again."""


class Engine(ABC):
    """Runs tasks that do not know of each other. Implementations are frozen dataclasses.

    A task is plain data, and so is what comes of it; ``work`` is a function of a module, which workers import. A worker
    that dies loses nothing but time: its tasks are given to others. An error that ``work`` raises is raised here.
    """

    @abstractmethod
    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """(number of the task, what came of it), as tasks finish."""


def make_engine(name: str, jobs: int = 1, address: str | None = None) -> Engine:
    """The engine called ``name``: "local", with so many processes, or "ray", at an address or on this machine."""
    if check_choice("engine", name, ENGINES) == "local":
        if address is not None:
            raise InputError(f"--address {address!r}: only the engine 'ray' has one; give --engine ray too")
        return LocalPool(jobs)
    return RayCluster(address)


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


@dataclass(frozen=True)
class RayCluster(Engine):
    """Tasks on every node of a cluster, one a processor core. address: of its head, "auto" for the one that runs on
    this machine; None starts Ray here for the time being. Ray hands the tasks of a worker or node that died to others.
    """

    address: str | None = None

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        ray = _ray()
        began = not ray.is_initialized()
        if began:
            _connect(ray, self.address)
        try:
            remote = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
            waiting = {remote.remote(task): number for number, task in enumerate(tasks)}
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                number = waiting.pop(done)
                yield number, _result(ray, done, number)
        finally:
            if began:
                ray.shutdown()


def _ray() -> Any:
    # Its own start-up messages and usage figures are no business of a sweep.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise InputError("engine 'ray': Ray is not installed; pip install 'diffloom-scale[ray]'") from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    how = {} if address is not None else {"include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning", **how)
    except (ConnectionError, ValueError) as error:
        raise InputError(
            f"engine 'ray': no cluster answers at {address!r} ({error}); start one with `ray start --head`, or leave "
            "out --address to run Ray on this machine"
        ) from error


def _result(ray: Any, done: Any, number: int) -> Any:
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except ray.exceptions.RayError as error:
        raise TaskError(
            f"task {number} was given to {RETRIES + 1} workers and none finished it ({type(error).__name__})"
        ) from error
