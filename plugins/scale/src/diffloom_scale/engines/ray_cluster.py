"""A Ray cluster, or Ray on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from diffloom.interfaces import InputError
from diffloom_scale.engines.engine import RETRIES, Engine, TaskError


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
        raise InputError("engine 'ray': Ray is not installed; pip install 'diffloom-fitting[ray]'") from None
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
