"""How a command starts."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


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
