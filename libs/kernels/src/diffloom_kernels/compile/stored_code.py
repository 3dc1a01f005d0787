"""Files of compiled code: whole, marked and the user's own, or treated as if they were not there.

Compiled code is run as it stands, and what describes it is a pickle. So a file is opened only if nobody but the user
can have written it, and unpickled only if its checksum holds. Everything else is a miss: compiled anew, and replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from .notices import notice

_MARK = b"diffloom compiled code 1\n"
_DIGEST = hashlib.sha256().digest_size
_told: set[str] = set()


def writers(state: os.stat_result) -> str | None:
    """Who but the user may change a file or folder, in words; None where nobody may, or the system has no owners."""
    if not hasattr(os, "geteuid"):
        return None
    if state.st_uid != os.geteuid():
        return "it belongs to another user"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(state.st_mode):o})"
    return None


def read_code(path: Path) -> bytes | None:
    """What ``write_code`` wrote, or None if it is not there, is damaged, or may be somebody else's."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as stream:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode) or writers(state) is not None:
            return None
        try:
            content = stream.read()
        except OSError:
            return None
    digest, payload = content[len(_MARK) : len(_MARK) + _DIGEST], content[len(_MARK) + _DIGEST :]
    if not content.startswith(_MARK) or hashlib.sha256(payload).digest() != digest:
        return None
    return payload


def write_code(path: Path, payload: bytes) -> None:
    """Keep ``payload`` for the next process; where that fails the notice says why, and the run goes on."""
    write_file(path, _MARK + hashlib.sha256(payload).digest() + payload)


def write_file(path: Path, content: bytes) -> None:
    """Put a file in place whole, readable by the user alone; a full or read-only disk is told once and no error."""
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem[:40], suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except OSError as error:
        if str(path.parent) not in _told:
            _told.add(str(path.parent))
            notice(f"cannot keep compiled code in {path.parent} ({error}); it is compiled again in the next process")
        _remove(temporary)
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: str | None) -> None:
    if temporary is not None:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
