"""Compiling without keeping what compiling leaves behind.

A compiled program leaves some 10 MB that neither numba nor LLVM gives back, against 0.2 MB that its machine code takes
when it is loaded from disk. So a process that has compiled much forks for every further program: the child knows all
that its parent does (closures, kernels of a script, plugins), compiles, writes the file of the code and ends; the
parent loads that file. Until then programs are compiled in the process itself, since they share device functions.

Only Linux: elsewhere a fork is not safe beside other threads, or there is none, and the process compiles by itself. It
does so too where a child came to nothing; an author's error is then raised where it belongs.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import select
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ..backends.numba_mode import compiler
from .notices import compiling, counted

Made = TypeVar("Made")

#: What compiling may add to a process before children do it [MB]; ``DIFFLOOM_COMPILE_MEMORY`` says otherwise.
MOST_KEPT = 400.0
#: From here on each program's garbage is looked for at once: left for later it holds twice the memory that it fills
#: [MB]. A first fit compiles less than that and does not take the time.
FEW = 150.0
#: A child that does nothing for so long hangs, or waits for another process as its parent can too [s].
MOST_IDLE = 60

_kept = 0.0
#: Whether somebody was found to have frozen objects: counting them takes as long as they are many, so it is done once.
_frozen = False


def compile_in_child_if_large(compiled: Callable[[], Made], stored: Path) -> Made:
    """What ``compiled()`` gives, which reads ``stored`` or else compiles and writes it: in a child, if this process
    has grown by enough."""
    global _kept
    if stored.exists():
        return compiled()
    if _kept >= _most_kept() and _may_fork():
        with compiling(), counted(), _few_collections():
            _in_child(compiled)
        return compiled()
    before = measure_resident_memory()
    with _few_collections():
        made = compiled()
        if _kept > FEW and gc.isenabled():
            gc.collect()
            release_memory()
    _kept += max(measure_resident_memory() - before, 0.0)
    return made


@contextlib.contextmanager
def _few_collections() -> Iterator[None]:
    """Compiling makes very many small objects: looking through all that was there before (torch, numba) again and
    again for garbage took a sixth of the time."""
    global _frozen
    _frozen = _frozen or gc.get_freeze_count() > 0
    thresholds, thaw = gc.get_threshold(), not _frozen
    if thaw:
        gc.freeze()
    gc.set_threshold(max(thresholds[0], 20_000) if thresholds[0] else 0, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        if thaw:
            gc.unfreeze()


def _most_kept() -> float:
    told = os.environ.get("DIFFLOOM_COMPILE_MEMORY", "")
    try:
        return float(told) if told else MOST_KEPT
    except ValueError:
        raise ValueError(f"DIFFLOOM_COMPILE_MEMORY is {told!r}; expected a number of MB, or inf") from None


def _may_fork() -> bool:
    """Not under a debugger, which would stop in the child where nobody sees it, nor without the compiler's lock."""
    possible = sys.platform == "linux" and hasattr(os, "pidfd_open") and compiler.COMPILER_LOCK is not None
    return possible and sys.gettrace() is None


def release_memory() -> None:
    """Return memory that was freed to the system, as far as the C library can: by itself the GNU one keeps what lies
    below something that is still used, after an hour of tests as much as is used."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def measure_resident_memory() -> float:
    """Memory of this process [MB]; 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _in_child(work: Callable[[], object]) -> None:
    """Do ``work`` in a copy of this process, and wait for it."""
    try:
        # With the compiler's lock, which the child would wait for in vain if another thread had it.
        with compiler.COMPILER_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of other threads: the child asks for nothing else that they may hold
            child = os.fork()
    except OSError:  # no memory or no leave for another process
        return
    if child == 0:
        _work_and_end(work)
    try:
        with contextlib.suppress(OSError):  # a system of old, or somebody else has taken the child's end
            _wait(child)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _work_and_end(work: Callable[[], object]) -> None:
    """In the child: nothing of the parent's is closed, flushed or torn down."""
    try:
        gc.freeze()
        work()
    finally:
        os._exit(0)


def _wait(child: int) -> None:
    """Until the child has ended, or hangs. Looks are counted, not seconds: both processes may be stopped meanwhile."""
    used, idle = 0, 0
    end = os.pidfd_open(child)
    ended = select.poll()
    ended.register(end, select.POLLIN)
    try:
        while idle < MOST_IDLE and not ended.poll(1000):
            now = _ticks(child)
            used, idle = now, idle + 1 if now == used else 0
    finally:
        os.close(end)


def _ticks(process: int) -> int:
    """Processor time of a process so far."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
