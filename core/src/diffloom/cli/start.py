"""Start and end of a command, and its error reports."""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
import warnings
from collections.abc import Iterator

import click

from diffloom.errors import InputError, SimulationError
from diffloom.plugins import PluginError

#: Numbers of mallopt's parameters in the GNU C library, and their values [bytes].
_KEPT_MEMORY = {"M_MMAP_THRESHOLD": (-3, 32 << 20), "M_TRIM_THRESHOLD": (-1, 512 << 20), "M_TOP_PAD": (-2, 64 << 20)}


@contextlib.contextmanager
def pause_garbage_collection() -> Iterator[None]:
    """Context manager: disable garbage collection during imports, and exclude the imported objects from it afterwards.

    For the command line alone, because a user's process may hold garbage that would be kept.

    Returns:
        Context manager.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def let_idle_threads_sleep() -> None:
    """Make PyTorch's threads sleep while they wait for each other, unless the user chose otherwise; before PyTorch is
    imported.

    OpenMP threads poll for milliseconds by default, which takes processor time from other processes on a busy machine.
    """
    if "GOMP_SPINCOUNT" not in os.environ:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def shorten_warnings() -> None:
    """Print a warning as ``Warning: <its message>``, without the file and line that raised it."""

    def format_warning(message: Warning | str, *place: object, **more: object) -> str:
        return f"Warning: {message}\n"

    warnings.formatwarning = format_warning


def keep_freed_memory() -> bool:
    """Keep freed memory in the process instead of returning it to the system, as far as the C library can.

    A fit allocates and frees images all the time, and the system clears each page that it hands out.

    Returns:
        True if the C library took the settings.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # imported here, because most commands compute nothing

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all(mallopt(name, value) == 1 for name, value in _KEPT_MEMORY.values())


@contextlib.contextmanager
def fast_exit() -> Iterator[None]:
    """Context manager for the command line: end the process without destroying torch's and numba's objects one by one.

    Functions registered with ``atexit`` still run.
    """
    try:
        yield
    except SystemExit as end:
        code = 0 if end.code is None else end.code
        waited_for = [thread for thread in threading.enumerate() if not thread.daemon]
        watched = sys.gettrace() is not None or sys.getprofile() is not None  # debuggers and profilers need the end
        if isinstance(code, int) and waited_for == [threading.main_thread()] and not watched:
            atexit._run_exitfuncs()
            with contextlib.suppress(OSError, ValueError):  # a closed pipe: Python reports it
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code & 0xFF)
        raise


@contextlib.contextmanager
def report_user_errors() -> Iterator[None]:
    """Context manager: print an expected error as ``Error: <its message>`` on stderr, and exit with code 1."""
    try:
        yield
    except (PluginError, InputError, SimulationError) as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(1) from error
