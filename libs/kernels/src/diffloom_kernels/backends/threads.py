"""How many threads the parallel target uses."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path

_chosen: dict[str, int] = {}


@dataclass(frozen=True)
class Threads:
    """Threads that the parallel target uses, and processors this process may use."""

    count: int
    available: int


def set_num_threads(count: int) -> None:
    """Use ``count`` threads from now on, in every Python thread; overrides ``DIFFLOOM_NUM_THREADS``."""
    limit = _available()
    if not 1 <= count <= limit:
        raise ValueError(f"{count} threads asked for; this process may use 1 to {limit}")
    _chosen["count"] = count


def num_threads() -> int:
    """Threads the parallel target will use."""
    if "count" in _chosen:
        return _chosen["count"]
    return _from_environment(os.environ.get("DIFFLOOM_NUM_THREADS", ""))


@functools.cache
def _from_environment(text: str) -> int:
    limit = _available()
    if not text:
        return min(limit, _granted() or limit)
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise ValueError(f"DIFFLOOM_NUM_THREADS is {text!r}; expected a whole number of 1 or more")
    return min(count, limit)


def _granted(control: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Processors whose time a container may use, if that is limited: threads beyond would spend it on waiting."""
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = " ".join((control / name).read_text() for name in files).split()
            if int(quota) > 0:
                return max(1, math.ceil(int(quota) / int(period)))
        except (OSError, ValueError):  # no such file, or "max"
            continue
    return None


def threads() -> Threads:
    """How many threads are used and could be."""
    return Threads(num_threads(), _available())


def _available() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
