"""Folder of generated source and compiled code, which belongs to the user and is never inside the installation.

Compiled code is executed without further checks, and its description is a pickle. A file is therefore read only if no
other user can have written it, and unpickled only if its checksum matches. Any other file counts as a miss: the code is
compiled anew and the file replaced.
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

from .notices import notice, report_compiling

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # absent on this system: two processes may then compile the same program, which is harmless
    fcntl = None


_MARK = b"diffloom compiled code 1\n"
_DIGEST = hashlib.sha256().digest_size
_reported: set[str] = set()


def cache_folder() -> Path:
    """Return the folder of compiled kernels, below ``DIFFLOOM_CACHE_DIR``, else ``XDG_CACHE_HOME``, else ``~/.cache``.

    Returns:
        Folder that exists; one for this process alone if it cannot be written.

    Raises:
        InputError: Another user may write to the folder.
    """
    return _find_usable_folder(os.environ.get("DIFFLOOM_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


@functools.cache
def _find_usable_folder(chosen: str | None, xdg: str | None) -> Path:
    """Return the folder of these settings, checked, or a temporary one."""
    try:
        if chosen:
            folder = Path(chosen).expanduser()
        elif xdg:
            folder = Path(xdg).expanduser() / "diffloom"
        else:
            folder = Path("~/.cache/diffloom").expanduser()
        folder = folder.absolute() / "kernels"
    except RuntimeError as error:  # no home directory
        return _make_temporary_folder("a folder of your own", error)
    try:
        _make_folder(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return _make_temporary_folder(str(folder), error)
    _refuse_writable_by_others(folder)
    return folder


def _make_temporary_folder(folder: str, error: Exception) -> Path:
    """Return a temporary folder, with a notice of the error that made it necessary."""
    try:
        temporary = Path(tempfile.mkdtemp(prefix="diffloom-kernels-"))
    except OSError as cause:
        from diffloom.interfaces import InputError

        raise InputError(
            f"cannot write compiled kernels to {folder} ({error}), nor to a temporary folder ({cause}): set "
            "DIFFLOOM_CACHE_DIR, or TMPDIR, to a folder you can write to"
        ) from cause
    notice(
        f"cannot write compiled kernels to {folder} ({error}); using {temporary} for this process only. "
        "Set DIFFLOOM_CACHE_DIR to a folder you can write to."
    )
    return temporary


def _make_folder(folder: Path) -> None:
    """Create the folder and its missing parents, with access for the user alone."""
    for place in (*reversed(folder.parents), folder):
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)


def _refuse_writable_by_others(folder: Path) -> None:
    """Raise InputError if another user can put code into the folder."""
    for place in (folder, folder.parent):
        state = place.stat()
        reason = writers(state)
        shared = place != folder and bool(
            state.st_mode & stat.S_ISVTX
        )  # sticky bit, as of /tmp: only owners rename or delete entries
        if reason is None or shared:
            continue
        if place != folder and state.st_uid == 0 and not state.st_mode & 0o022:
            continue  # owned by the system
        from diffloom.interfaces import InputError

        raise InputError(
            f"the folder of compiled code {str(place)!r} is not safe: {reason}, and code in it is run with your "
            "rights. Empty it and remove the permission (chmod go-w), or set DIFFLOOM_CACHE_DIR to a folder that only "
            "you can write to."
        )


def write_once(path: Path, text: str) -> None:
    """Ensure that ``path`` holds ``text``; safe when several processes do so at once.

    numba reads the source of a function through ``linecache``, which gets the text itself, so that a file that is
    damaged or could not be written does no harm.
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
def hold_lock(path: Path) -> Iterator[None]:
    """Context manager: hold the lock of ``path``, so that of two processes one compiles and the other loads."""
    if fcntl is None:
        with report_compiling():
            yield
        return
    with contextlib.ExitStack() as stack:
        # If the file system has no locks or is full, or the lock belongs to another user, both processes may compile.
        with contextlib.suppress(OSError):
            stream = stack.enter_context(open(path.with_suffix(".lock"), "w"))
            fcntl.flock(stream, fcntl.LOCK_EX)
        with report_compiling():
            yield


def writers(state: os.stat_result) -> str | None:
    """Return why another user can change a file or folder; None if only this user can, or the system has no owners."""
    if not hasattr(os, "geteuid"):
        return None
    if state.st_uid != os.geteuid():
        return "it belongs to another user"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users may write to it (mode {stat.S_IMODE(state.st_mode):o})"
    return None


def read_code(path: Path) -> bytes | None:
    """Return the payload written by ``write_code``; None if it is absent or damaged, or another user can have written
    it.
    """
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
    """Write ``payload`` with its checksum for the next process; failure leads to a notice and not to an error."""
    write_file(path, _MARK + hashlib.sha256(payload).digest() + payload)


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically, readable by the user alone; a full or read-only disk leads to one notice, not an
    error.
    """
    temporary = None
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem[:40], suffix=".tmp")
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        os.replace(temporary, path)
    except OSError as error:
        if str(path.parent) not in _reported:
            _reported.add(str(path.parent))
            notice(
                f"cannot keep compiled code in {path.parent} ({error}); it is compiled again in the next process",
                lasting=True,
            )
        _remove(temporary)
    except BaseException:
        _remove(temporary)
        raise


def _remove(temporary: str | None) -> None:
    """Remove a temporary file if there is one."""
    if temporary is not None:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
