"""Threads of the parallel target: which layer, how many.

TBB is the layer of choice: the only one that survives both fork() and use from several Python threads. OpenMP child
processes die after a fork, and numba's own work queue aborts when two threads use it at once.
"""

from __future__ import annotations

import ctypes
import functools
import math
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import numba

from .notices import notice

_LAYERS = ("tbb", "omp", "workqueue")
_chosen: dict[str, int] = {}


@dataclass(frozen=True)
class Threads:
    """What the parallel target uses."""

    layer: str
    count: int
    available: int


def set_num_threads(count: int) -> None:
    """Use ``count`` threads from now on, in every Python thread; overrides ``DIFFLOOM_NUM_THREADS``."""
    limit = numba.config.NUMBA_NUM_THREADS
    if not 1 <= count <= limit:
        raise ValueError(f"{count} threads asked for; this process may use 1 to {limit} (NUMBA_NUM_THREADS raises it)")
    _chosen["count"] = count


def num_threads() -> int:
    """Threads the parallel target will use."""
    if "count" in _chosen:
        return _chosen["count"]
    return _from_environment(os.environ.get("DIFFLOOM_NUM_THREADS", ""))


@functools.cache
def _from_environment(text: str) -> int:
    limit = numba.config.NUMBA_NUM_THREADS
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
    """Start the thread layer if need be and report it."""
    prepare()
    return Threads(numba.threading_layer(), num_threads(), numba.config.NUMBA_NUM_THREADS)


def prepare() -> None:
    """Have the thread layer running and the count set for this Python thread."""
    _start_layer()
    if numba.get_num_threads() != num_threads():
        numba.set_num_threads(num_threads())


@functools.cache
def _start_layer() -> None:
    wanted = os.environ.get("DIFFLOOM_THREADING_LAYER", "")
    if wanted and wanted not in _LAYERS:
        raise ValueError(f"DIFFLOOM_THREADING_LAYER is {wanted!r}; expected one of {', '.join(_LAYERS)}")
    if wanted in ("", "tbb"):
        _load_tbb()
    if wanted:
        numba.config.THREADING_LAYER = wanted
    elif numba.config.THREADING_LAYER == "default":
        numba.config.THREADING_LAYER_PRIORITY = list(_LAYERS)
    # Compiled code loaded from disk does not start the layer by itself when the parallel loop is in a callee.
    from numba.np.ufunc.parallel import _launch_threads

    _launch_threads()
    if numba.threading_layer() == "workqueue" and not wanted:
        notice("threads run on numba's work queue, which is slow and not thread safe; `pip install tbb` is better")


def _load_tbb() -> None:
    """Load the TBB of the Python environment, which the dynamic linker does not find by itself."""
    folders = [Path(sys.prefix) / "lib", Path(sys.base_prefix) / "lib", Path(sys.prefix) / "Library" / "bin"]
    for library in [folder / name for folder in folders for name in ("libtbb.so.12", "libtbb.12.dylib", "tbb12.dll")]:
        if library.is_file():
            try:
                ctypes.CDLL(str(library), mode=getattr(ctypes, "RTLD_GLOBAL", 0))
            except OSError as error:
                notice(f"{library.name} did not load: {error}")
            return
