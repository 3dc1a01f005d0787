"""Number of threads of the parallel target."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path

_chosen: dict[str, int] = {}


@dataclass(frozen=True)
class Threads:
    """Threads that the parallel target uses, and processors that this process may use.

    Args:
        count: Number of threads in use.
        available: Number of processors.
    """

    count: int
    available: int


def set_num_threads(count: int) -> None:
    """Set the number of threads for this process; overrides ``DIFFLOOM_NUM_THREADS``.

    Args:
        count: Number of threads, from 1 to the number of available processors.

    Raises:
        ValueError: ``count`` is outside that range.
    """
    limit = _count_processors()
    if not 1 <= count <= limit:
        raise ValueError(f"set_num_threads: got {count}; this process may use 1 to {limit} threads")
    _chosen["count"] = count


def num_threads() -> int:
    """Return the number of threads that the parallel target uses.

    Returns:
        The number given to ``set_num_threads``, else ``DIFFLOOM_NUM_THREADS``, else all processors, or fewer in a
            container
        with a CPU limit.

    Raises:
        ValueError: ``DIFFLOOM_NUM_THREADS`` is not a positive integer.
    """
    if "count" in _chosen:
        return _chosen["count"]
    return _from_environment(os.environ.get("DIFFLOOM_NUM_THREADS", ""))


@functools.cache
def _from_environment(text: str) -> int:
    """Return the number of threads for a value of ``DIFFLOOM_NUM_THREADS``."""
    limit = _count_processors()
    if not text:
        return min(limit, _read_cpu_limit() or limit)
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise ValueError(f"DIFFLOOM_NUM_THREADS is {text!r}; expected a whole number of 1 or more")
    return min(count, limit)


def _read_cpu_limit(control: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return the CPU limit of a container (cgroup quota) in processors, or None; more threads would only wait."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = " ".join((control / name).read_text() for name in files).split()
            if int(quota) > 0:
                return max(1, math.ceil(int(quota) / int(period)))
        except (OSError, ValueError):  # the file is absent, or says "max"
            continue
    return None


def threads() -> Threads:
    """Return the numbers of used threads and available processors.

    Returns:
        ``Threads`` of this process.
    """
    return Threads(num_threads(), _count_processors())


def _count_processors() -> int:
    """Return the number of processors that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
