"""Atomic writing: a file is written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diffloom.interfaces import InputError

__all__ = ["FolderError", "explain_errors", "new_file", "remove_leftovers", "write_bytes", "write_text"]

REASONS = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EDQUOT: "your quota is used up; free some space",
    errno.EROFS: "it lies on a read-only disk; choose another folder with --out",
    errno.EACCES: "you may not write there; choose another folder with --out",
    errno.EPERM: "you may not write there; choose another folder with --out",
}


class FolderError(InputError):
    """A run folder cannot be written or read."""


@contextmanager
def explain_errors(path: Path, doing: str = "write") -> Iterator[None]:
    """Context manager: turns an error of the operating system into a FolderError with advice.

    Args:
        path: File or folder of the operation.
        doing: Verb of the message, such as "write" or "read".

    Returns:
        The context manager.
    """
    try:
        yield
    except OSError as error:
        reason = REASONS.get(error.errno or 0, error.strerror or str(error))
        raise FolderError(f"cannot {doing} {str(path)!r}: {reason}") from error


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Context manager: a temporary path that replaces ``path`` if the block succeeds, and is deleted if it fails.

    Args:
        path: Path of the finished file.

    Returns:
        The context manager, which gives the temporary path.
    """
    # The random part prevents that a link is put there first.
    beside = path.with_name(f".{path.stem}.{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    with explain_errors(path):
        try:
            yield beside
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files of processes that were killed while writing.

    Args:
        folder: Folder of the files.
    """
    for name in folder.glob(".*.*.*"):
        owner = re.fullmatch(r"\..+\.(\d+)(?:-[0-9a-f]{8})?\.\w+", name.name)
        if owner and (not _runs(int(owner[1])) or _is_old(name)):
            name.unlink(missing_ok=True)


def _is_old(path: Path) -> bool:
    """Return true if a file was not written to for a day: its number may be that of another process by now."""
    try:
        return time.time() - path.lstat().st_mtime > 86400.0
    except OSError:
        return False


def _runs(process: int) -> bool:
    """Return true if another process of this number exists."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return process != os.getpid()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically.

    Args:
        path: The file.
        content: Its content.
    """
    with new_file(path) as beside:
        beside.write_bytes(content)


def write_text(path: Path, content: str) -> None:
    """Write a text file atomically, as UTF-8.

    Args:
        path: The file.
        content: Its content.
    """
    write_bytes(path, content.encode("utf-8"))
