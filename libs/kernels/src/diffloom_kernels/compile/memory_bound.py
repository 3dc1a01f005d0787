"""Bound on the memory that compiling leaves behind: large processes compile in a forked child.

A compiled program leaves some 10 MB that neither numba nor LLVM frees; its machine code loaded from disk takes 0.2 MB.
A process that has grown through compiling therefore forks for every further program. The child shares the parent's
state (closures, kernels of a script, plugins), compiles, writes the file and exits; the parent loads the file. Before
that, programs are compiled in the process itself, because they share device functions.

Forks happen on Linux only, since they are unsafe or absent elsewhere. If a child fails, the process compiles itself, so
that an author's error is raised where it can be caught.
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
from .notices import count_child_compilation, report_compiling

Made = TypeVar("Made")

#: Growth through compiling from which children compile [MB]; ``DIFFLOOM_COMPILE_MEMORY`` overrides it.
MOST_KEPT = 400.0
#: Growth from which garbage is collected after each program [MB], because it would hold twice its size later. A first
#: fit compiles less.
FEW = 150.0
#: Idle polls, one a second, after which a child is taken to hang.
MOST_IDLE = 60

_kept = 0.0
#: True once frozen objects of the user were found; counting them is slow, so it is done once.
_frozen = False


def compile_in_child_if_large(compiled: Callable[[], Made], stored: Path) -> Made:
    """Return ``compiled()``, which reads ``stored`` or else compiles and writes it, in a child if this process is
    large.
    """
    global _kept
    if stored.exists():
        return compiled()
    if _kept >= _get_memory_bound() and _may_fork():
        with report_compiling(), count_child_compilation(), _defer_garbage_collection():
            _run_in_child(compiled)
        return compiled()
    before = measure_resident_memory()
    with _defer_garbage_collection():
        made = compiled()
        if _kept > FEW and gc.isenabled():
            gc.collect()
            release_memory()
    _kept += max(measure_resident_memory() - before, 0.0)
    return made


@contextlib.contextmanager
def _defer_garbage_collection() -> Iterator[None]:
    """Context manager: make garbage collections rare, because compiling creates many objects and each collection would
    scan those of torch and numba again.
    """
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


def _get_memory_bound() -> float:
    """Return the growth from which children compile [MB]."""
    setting = os.environ.get("DIFFLOOM_COMPILE_MEMORY", "")
    try:
        return float(setting) if setting else MOST_KEPT
    except ValueError:
        raise ValueError(f"DIFFLOOM_COMPILE_MEMORY is {setting!r}; expected a number of MB, or inf") from None


def _may_fork() -> bool:
    """Return True if a fork is safe: on Linux, with the compiler's lock, and not under a debugger, which would stop in
    the child.
    """
    possible = sys.platform == "linux" and hasattr(os, "pidfd_open") and compiler.COMPILER_LOCK is not None
    return possible and sys.gettrace() is None


def release_memory() -> None:
    """Return freed memory to the system (``malloc_trim``).

    The GNU C library on its own keeps freed memory below a block that is still in use.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def measure_resident_memory() -> float:
    """Return the resident memory of this process [MB]; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _run_in_child(work: Callable[[], object]) -> None:
    """Run ``work`` in a forked copy of this process, and wait for it."""
    try:
        # Holds the compiler's lock: if another thread had it, the child would wait forever.
        with compiler.COMPILER_LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about other threads; the child takes no other lock that they may hold
            child = os.fork()
    except OSError:  # no memory or no permission for another process
        return
    if child == 0:
        _work_and_end(work)
    try:
        with contextlib.suppress(OSError):  # old kernel, or another handler has reaped the child
            _wait_for_child(child)
    finally:
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _work_and_end(work: Callable[[], object]) -> None:
    """Run ``work`` in the child, and exit without closing, flushing or tearing down anything of the parent's."""
    try:
        gc.freeze()
        work()
    finally:
        os._exit(0)


def _wait_for_child(child: int) -> None:
    """Wait until the child has ended or hangs.

    The timeout counts polls, because both processes may be suspended in between.
    """
    used, idle = 0, 0
    end = os.pidfd_open(child)
    ended = select.poll()
    ended.register(end, select.POLLIN)
    try:
        while idle < MOST_IDLE and not ended.poll(1000):
            now = _read_cpu_ticks(child)
            used, idle = now, idle + 1 if now == used else 0
    finally:
        os.close(end)


def _read_cpu_ticks(process: int) -> int:
    """Return the processor time of a process so far [clock ticks]."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])
