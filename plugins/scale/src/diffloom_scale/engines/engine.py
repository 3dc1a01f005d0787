"""The interface of an engine, and the choice of one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from diffloom.interfaces import InputError
from diffloom.validation import check_choice

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


def engine_of(name: str, jobs: int = 1, address: str | None = None) -> Engine:
    """The engine called ``name``: "local", with so many processes, or "ray", at an address or on this machine."""
    if check_choice("engine", name, ENGINES) == "local":
        from diffloom_scale.engines.local import LocalPool

        if address is not None:
            raise InputError(f"--address {address!r}: only the engine 'ray' has one; give --engine ray too")
        return LocalPool(jobs)
    from diffloom_scale.engines.ray_cluster import RayCluster

    return RayCluster(address)
