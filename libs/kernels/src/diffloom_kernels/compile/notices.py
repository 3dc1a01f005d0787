"""Messages about compilation: one line that changes on a terminal, the first and a sum elsewhere."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator
from typing import TextIO

_log = logging.getLogger("diffloom_kernels")
_CLEAR = "\r\x1b[2K"


class _Progress:
    """What this process has compiled so far. busy: something may be; began: when it was, None while nothing is."""

    def __init__(self) -> None:
        self.busy = False
        self.began: float | None = None
        self.count, self.seconds = 0, 0.0
        self.spent = 0.0

    def tell(self, message: str) -> None:
        """A program is compiled now: told at once if it is the first, or on a terminal, where the line goes again."""
        self.began = time.perf_counter()
        self.add()
        if terminal := _terminal():
            terminal.write(f"{_CLEAR}diffloom: {_shortened(message, terminal)}")
            terminal.flush()
        elif self.count == 1:
            print(f"diffloom: {message}", file=sys.stderr)

    def add(self) -> None:
        """One more program."""
        self.count += 1
        if self.count == 1:
            atexit.register(self.sum_up)

    def settle(self) -> None:
        """It is done."""
        if self.began is not None:
            self.seconds += time.perf_counter() - self.began
            self.began = None
            if terminal := _terminal():
                terminal.write(_CLEAR)
                terminal.flush()

    def sum_up(self) -> None:
        """What all came to, when the process ends."""
        if self.count > 1 and not _quiet():
            with contextlib.suppress(OSError, ValueError):  # stderr may be closed by now
                print(f"diffloom: compiled {self.count} programs in {self.seconds:.0f} s, once", file=sys.stderr)


_PROGRESS = _Progress()


def notice(message: str) -> None:
    """Tell ``message`` through logging where it is set up, else on stderr; ``DIFFLOOM_QUIET=1`` silences it."""
    if _quiet():
        return
    if _log.hasHandlers():
        _log.info(message)
    elif _PROGRESS.busy:
        _PROGRESS.tell(message)
    else:
        print(f"diffloom: {message}", file=sys.stderr)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """While this lasts, a notice tells of progress and need not stay."""
    outermost, _PROGRESS.busy = not _PROGRESS.busy, True
    began = time.perf_counter()
    try:
        yield
    finally:
        _PROGRESS.settle()
        if outermost:
            _PROGRESS.spent += time.perf_counter() - began
            _PROGRESS.busy = False


@contextlib.contextmanager
def counted() -> Iterator[None]:
    """A program is compiled in a child of this process, which tells of it; here it only counts."""
    began = time.perf_counter()
    yield
    if not _log.hasHandlers():
        _PROGRESS.add()
        _PROGRESS.seconds += time.perf_counter() - began


def compile_seconds() -> float:
    """How long this process has spent on compiling and loading programs so far [s]: what a first run has beside the
    work itself."""
    return _PROGRESS.spent


def _quiet() -> bool:
    return os.environ.get("DIFFLOOM_QUIET", "") not in ("", "0")


def _terminal() -> TextIO | None:
    """The terminal that stderr is, or None. Live displays put something of their own in its place that keeps lines."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return sys.__stderr__


def _shortened(message: str, terminal: TextIO) -> str:
    """A line that breaks could not be taken back."""
    try:
        width = os.get_terminal_size(terminal.fileno()).columns or 80
    except (OSError, ValueError):
        width = 80
    room = max(width - len("diffloom: ") - 1, 20)
    return message if len(message) <= room else message[: room - 1] + "…"
