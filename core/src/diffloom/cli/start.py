"""How a command that fits starts."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

#: What mallopt of the GNU C library calls them, and the values set [bytes].
_KEPT_MEMORY = {"M_MMAP_THRESHOLD": (-3, 32 << 20), "M_TRIM_THRESHOLD": (-1, 512 << 20), "M_TOP_PAD": (-2, 64 << 20)}


@contextlib.contextmanager
def importing() -> Iterator[None]:
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


def keep_freed_memory() -> bool:
    """Let memory that is freed be used again instead of going back to the system, as far as the C library can.

    A fit makes images and lets them go all the time, and the system clears each page that it gives out again: half of
    what it had to do for a fit. Returns whether the library took the settings.
    """
    if sys.platform != "linux":
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library
        return False
    return all(mallopt(name, value) == 1 for name, value in _KEPT_MEMORY.values())
