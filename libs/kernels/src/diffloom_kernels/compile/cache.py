"""Where generated source and compiled code are kept: a folder of the user, never the installation."""

from __future__ import annotations

import contextlib
import functools
import importlib
import linecache
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from .notices import compiling, notice
from .stored_code import write_file, writers

fcntl: ModuleType | None
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # not on this system: two processes may then compile the same thing twice, which is harmless
    fcntl = None


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
