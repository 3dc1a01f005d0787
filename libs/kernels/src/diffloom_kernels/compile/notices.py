"""Messages about compilation: a status line on a terminal, elsewhere the first program and a final sum."""

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
    """Count of compiled programs in this process.

    ``busy`` is True inside ``compiling``; ``began`` is the start of the current compilation, None between compilations.
    """

    def __init__(self) -> None:
        self.busy = False
        self.began: float | None = None
        self.count, self.seconds = 0, 0.0
        self.spent = 0.0

    def tell(self, message: str) -> None:
        """Report that a program is being compiled: on a terminal in a transient line, elsewhere if it is the first."""
        self.began = time.perf_counter()
        self.add()
        if terminal := _terminal():
            terminal.write(f"{_CLEAR}diffloom: {_shorten(message, terminal)}")
            terminal.flush()
        elif self.count == 1:
            print(f"diffloom: {message}", file=sys.stderr)

    def add(self) -> None:
        """Count one more program."""
        self.count += 1
        if self.count == 1:
            atexit.register(self.sum_up)

    def settle(self) -> None:
        """End the current compilation, and clear the status line."""
        if self.began is not None:
            self.seconds += time.perf_counter() - self.began
            self.began = None
            if terminal := _terminal():
                terminal.write(_CLEAR)
                terminal.flush()

    def sum_up(self) -> None:
        """Print the number of programs and the time at the end of the process."""
        if self.count > 1 and not _quiet():
            with contextlib.suppress(OSError, ValueError):  # stderr may be closed by now
                print(f"diffloom: compiled {self.count} programs in {self.seconds:.0f} s, once", file=sys.stderr)


_PROGRESS = _Progress()


def notice(message: str, *, lasting: bool = False) -> None:
    """Report a message through logging if that is set up, else on stderr; ``DIFFLOOM_QUIET=1`` silences it.

    A lasting message is not progress: it is printed while programs are compiled too.
    """
    if _quiet():
        return
    if _log.hasHandlers():
        _log.info(message)
    elif _PROGRESS.busy and not lasting:
        _PROGRESS.tell(message)
    else:
        clear = _CLEAR if _PROGRESS.busy and _terminal() else ""
        print(f"{clear}diffloom: {message}", file=sys.stderr)


@contextlib.contextmanager
def report_compiling() -> Iterator[None]:
    """Context manager: notices inside report progress and are transient."""
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
def count_child_compilation() -> Iterator[None]:
    """Context manager: count a program that a child process compiles and reports."""
    began = time.perf_counter()
    yield
    if not _log.hasHandlers():
        _PROGRESS.add()
        _PROGRESS.seconds += time.perf_counter() - began


def compile_seconds() -> float:
    """Return the time that this process has spent on compiling and loading programs so far [s].

    Returns:
        Seconds, by which a first run takes longer than later ones.
    """
    return _PROGRESS.spent


def _quiet() -> bool:
    """Return True if ``DIFFLOOM_QUIET`` is set."""
    return os.environ.get("DIFFLOOM_QUIET", "") not in ("", "0")


def _terminal() -> TextIO | None:
    """Return the terminal behind stderr, or None; live displays replace ``sys.stderr`` by a line buffer."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return None
    return sys.__stderr__


def _shorten(message: str, terminal: TextIO) -> str:
    """Return a message cut to one line, because a wrapped line cannot be cleared."""
    try:
        width = os.get_terminal_size(terminal.fileno()).columns or 80
    except (OSError, ValueError):
        width = 80
    room = max(width - len("diffloom: ") - 1, 20)
    return message if len(message) <= room else message[: room - 1] + "…"
