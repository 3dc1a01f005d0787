"""Where generated source and compiled code are kept: a folder of the user, never the installation.

Compiled code is run as it stands, and what describes it is a pickle. So a file is opened only if nobody but the user
can have written it, and unpickled only if its checksum holds. Everything else is a miss: compiled anew, and replaced.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import linecache
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from .notices import compiling, notice

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on this system: two processes may then compile the same thing twice, which is harmless
    fcntl = None


_MARK = b"diffloom compiled code 1\n"
_DIGEST = hashlib.sha256().digest_size
_told: set[str] = set()


def cache_folder() -> Path:
    """Folder of compiled kernels: below ``DIFFLOOM_CACHE_DIR``, else ``XDG_CACHE_HOME``, else ``~/.cache``."""
    return _usable(os.environ.get("DIFFLOOM_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


@functools.cache
def _usable(chosen: str | None, xdg: str | None) -> Path:
    try:
        if chosen:
            folder = Path(chosen).expanduser()
        elif xdg:
            folder = Path(xdg).expanduser() / "diffloom"
        else:
            folder = Path("~/.cache/diffloom").expanduser()
        folder = folder.absolute() / "kernels"
    except RuntimeError as error:  # there is no home
        return _for_this_process("a folder of your own", error)
    try:
        _make(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return _for_this_process(str(folder), error)
    _refuse_what_others_write(folder)
    return folder


def _for_this_process(folder: str, error: Exception) -> Path:
    temporary = Path(tempfile.mkdtemp(prefix="diffloom-kernels-"))
    notice(
        f"cannot write compiled kernels to {folder} ({error}); using {temporary} for this process only. "
        "Set DIFFLOOM_CACHE_DIR to a folder you can write to."
    )
    return temporary


def _make(folder: Path) -> None:
    """The folder and its parents, those that are new for the user alone."""
    for place in (*reversed(folder.parents), folder):
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)


def _refuse_what_others_write(folder: Path) -> None:
    """Raise InputError if another user may put code where this one's programs look for it."""
    for place in (folder, folder.parent):
        state = place.stat()
        reason = writers(state)
        shared = place != folder and bool(state.st_mode & stat.S_ISVTX)  # such as /tmp: entries belong to their makers
        if reason is None or shared:
            continue
        if place != folder and state.st_uid == 0 and not state.st_mode & 0o022:
            continue  # the system's own
        from diffloom.interfaces import InputError

        raise InputError(
            f"the folder of compiled code {str(place)!r} is not safe: {reason}, and what lies there is run as your "
            "own. If you know what is in it, empty it and take the permission away (chmod go-w), else set "
            "DIFFLOOM_CACHE_DIR to a folder of your own."
        )


def write_once(path: Path, text: str) -> None:
    """Make ``path`` hold ``text``; safe when several processes do so at once.

    numba asks for the source of what it compiles by the name of its file: it is given the text itself, so that a file
    that is damaged or could not be written does not matter.
    """
    content = text.encode()
    try:
        same = path.read_bytes() == content
    except OSError:
        same = False
    if not same:
        write_file(path, content)
    linecache.cache[str(path)] = (len(content), None, text.splitlines(keepends=True), str(path))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to ``path``, so that of two processes one compiles and the other loads."""
    if fcntl is None:
        with compiling():
            yield
        return
    with contextlib.ExitStack() as stack:
        # File systems without locks, full ones, locks that another user left: then both may compile.
        with contextlib.suppress(OSError):
            stream = stack.enter_context(open(path.with_suffix(".lock"), "w"))
            fcntl.flock(stream, fcntl.LOCK_EX)
        with compiling():
            yield


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
