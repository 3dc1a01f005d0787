"""One-line messages about compilation."""

from __future__ import annotations

import logging
import os
import sys

_log = logging.getLogger("diffloom.kernels")


def notice(message: str) -> None:
    """Tell ``message`` through logging where it is set up, else on stderr; ``DIFFLOOM_QUIET=1`` silences it."""
    if os.environ.get("DIFFLOOM_QUIET", "") not in ("", "0"):
        return
    if _log.hasHandlers():
        _log.info(message)
    else:
        print(f"diffloom: {message}", file=sys.stderr)
