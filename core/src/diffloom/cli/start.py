"""How a command starts and ends, and how it reports errors."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
from collections.abc import Iterator

import click

from diffloom.errors import InputError, SimulationError
from diffloom.plugins import PluginError

#: What mallopt of the GNU C library calls them, and the values set [bytes].
_KEPT_MEMORY = {"M_MMAP_THRESHOLD": (-3, 32 << 20), "M_TRIM_THRESHOLD": (-1, 512 << 20), "M_TOP_PAD": (-2, 64 << 20)}


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """While a command imports what it needs. That stays to the end, so it is never looked through for garbage, which
    took a sixth of the time. For the command line alone: in somebody's own process there may be garbage by then."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def let_idle_threads_sleep() -> None:
    """Have PyTorch's threads sleep while they wait for each other, unless somebody has chosen; before it is imported.

    They wait by looking, some milliseconds at every operation that they share. Where others want the processor, what is
    waited for gets none meanwhile: on a busy machine a demo took 28 s of processor time in place of 7.
    """
    if "GOMP_SPINCOUNT" not in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def keep_freed_memory() -> bool:
    """Let memory that is freed be used again instead of going back to the system, as far as the C library can.

    A fit makes images and lets them go all the time, and the system clears each page that it gives out again: half of
    what it had to do for a fit. Returns whether the library took the settings.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # not for commands that compute nothing

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all(mallopt(name, value) == 1 for name, value in _KEPT_MEMORY.values())


@contextlib.contextmanager
def fast_exit() -> Iterator[None]:
    """Ends the process where a command does, for the command line alone: taking torch and numba apart, object by
    object, took a fifth of a second, and nobody sees it. What was registered for the end is done."""
    try:
        yield
    except SystemExit as end:
        code = 0 if end.code is None else end.code
        waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
        watched = sys.gettrace() is not None or sys.getprofile() is not None  # who does so reads it afterwards
        if isinstance(code, int) and waited_for == [threading.main_thread()] and not watched:
            atexit._run_exitfuncs()
            with contextlib.suppress(OSError, ValueError):  # closed, or nobody reads: Python knows what to say of it
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code & 0xFF)
        raise


@contextlib.contextmanager
def report_user_errors() -> Iterator[None]:
    """Turn an expected error into ``Error: <its message>`` on stderr and exit code 1."""
    try:
        yield
    except (PluginError, InputError, SimulationError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from error
