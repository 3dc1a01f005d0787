"""Engines that run many tasks: processes of this machine, or a Ray cluster."""

from __future__ import annotations

import multiprocessing
import os
import re
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
#: Number of times that a task is given to another worker after its worker died.
RETRIES = 3


class TaskError(RuntimeError):
    """A task could not be finished, because its workers died again and again."""


class Engine(ABC):
    """Interface of engines, which run tasks that are independent of each other. Implementations are frozen dataclasses.

    A task is plain data, and so is its result; ``work`` is a function of a module, which workers import. The tasks of a
    worker that dies are given to other workers, so only time is lost. An error that ``work`` raises is raised here.
    """

    @abstractmethod
    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run tasks.

        Args:
            work: Function of a module, called with each task.
            tasks: The tasks, plain data.

        Returns:
            Pairs (number of the task, its result), as tasks finish.
        """


def make_engine(name: str, jobs: int = 1, address: str | None = None) -> Engine:
    """Return an engine by its name.

    Args:
        name: "local" or "ray".
        jobs: Number of processes of the engine "local".
        address: Address of the Ray cluster; None to start Ray on this machine.

    Returns:
        The engine.

    Raises:
        InputError: The name is unknown, or an address is given to the engine "local".

    Example:
        for number, found in make_engine("local", jobs=4).run(work, tasks):
            print(number, found)
    """
    if check_choice("engine", name, ENGINES) == "local":
        if address is not None:
            raise InputError(
                f"--address: got {address!r} for the engine 'local'; add --engine ray, or leave out --address"
            )
        return LocalPool(jobs)
    return RayCluster(address)


@dataclass(frozen=True)
class LocalPool(Engine):
    """Engine that runs tasks in processes of this machine; with one process, this process does the work.

    Args:
        jobs: Number of processes at once.
    """

    jobs: int = 1

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        if self.jobs <= 1:
            yield from ((number, work(task)) for number, task in enumerate(tasks))
            return
        waiting = dict(enumerate(tasks))
        deaths = 0
        while waiting:
            try:
                for number, found in self._run_round(work, waiting):
                    del waiting[number]
                    yield number, found
            except BrokenProcessPool as error:
                deaths += 1
                if deaths > RETRIES:
                    raise TaskError(
                        f"{deaths} times a worker process died; {len(waiting)} of {len(tasks)} tasks are not finished. "
                        "Too little memory is the usual reason: use fewer --jobs"
                    ) from error

    def _run_round(self, work: Callable[[Any], Any], waiting: dict[int, Any]) -> Iterator[tuple[int, Any]]:
        """Yield the results that finish before a process dies, which breaks the whole pool."""
        # Spawned, not forked: a fork would share the parent's compiled-code threads.
        with ProcessPoolExecutor(self.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            numbers = {pool.submit(work, task): number for number, task in waiting.items()}
            for future in as_completed(numbers):
                yield numbers[future], future.result()


@dataclass(frozen=True)
class RayCluster(Engine):
    """Engine that runs tasks on every node of a Ray cluster, one per processor core.

    Ray gives the tasks of a worker or node that died to the remaining workers.

    Args:
        address: Address of the cluster's head, "auto" for the one on this machine; None starts Ray here for the time of
            the run.
    """

    address: str | None = None

    def run(self, work: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        ray = _import_ray()
        began = not ray.is_initialized()
        if began:
            _connect(ray, self.address)
        try:
            remote = ray.remote(max_retries=RETRIES, num_cpus=1)(work)
            waiting = {remote.remote(task): number for number, task in enumerate(tasks)}
            while waiting:
                (done,), _ = ray.wait(list(waiting), num_returns=1)
                number = waiting.pop(done)
                yield number, _get_result(ray, done, number)
        finally:
            if began:
                ray.shutdown()


def _import_ray() -> Any:
    # Ray's start-up messages and usage statistics would disturb the output of a sweep.
    """Import Ray."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise InputError("engine 'ray': Ray is not installed; pip install 'diffloom-scale[ray]'") from None
    return ray


#: Addresses of clusters: a head, its client server, or "auto".
_ADDRESS = re.compile(r"auto|local|(ray://)?([\w.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}")


def _connect(ray: Any, address: str | None) -> None:
    """Connect to a cluster, or start Ray on this machine."""
    if address is not None and not _ADDRESS.fullmatch(address):
        raise InputError(
            f"engine 'ray': got the address {address!r}; expected HOST:PORT of the cluster's head, such as "
            "10.0.0.1:6379, ray://HOST:PORT of its client server, or auto; a dashboard (http) runs no tasks"
        )
    how = {} if address is not None else {"include_dashboard": False}
    try:
        ray.init(address=address, log_to_driver=False, logging_level="warning", **how)
    except (ConnectionError, ValueError) as error:
        raise InputError(
            f"engine 'ray': no cluster answers at {address!r} ({error}); start one with `ray start --head`, or leave "
            "out --address to run Ray on this machine"
        ) from error


def _get_result(ray: Any, done: Any, number: int) -> Any:
    """Return the result of a finished task, or raise its error."""
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause if isinstance(error.cause, Exception) else error from None
    except ray.exceptions.RayError as error:
        raise TaskError(
            f"task {number} was given to {RETRIES + 1} workers and none finished it ({type(error).__name__})"
        ) from error
