"""Where generated source and compiled code are kept: a folder of the user, never the installation."""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
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


def cache_folder() -> Path:
    """Folder of compiled kernels: below ``DIFFLOOM_CACHE_DIR``, else ``XDG_CACHE_HOME``, else ``~/.cache``."""
    return _usable(os.environ.get("DIFFLOOM_CACHE_DIR"), os.environ.get("XDG_CACHE_HOME"))


@functools.cache
def _usable(chosen: str | None, xdg: str | None) -> Path:
    if chosen:
        folder = Path(chosen).expanduser()
    elif xdg:
        folder = Path(xdg).expanduser() / "diffloom"
    else:
        folder = Path("~/.cache/diffloom").expanduser()
    folder = folder.absolute() / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except (OSError, RuntimeError) as error:
        temporary = Path(tempfile.mkdtemp(prefix="diffloom-kernels-"))
        notice(
            f"cannot write compiled kernels to {folder} ({error}); using {temporary} for this process only. "
            "Set DIFFLOOM_CACHE_DIR to a folder you can write to."
        )
        return temporary
    return folder


def write_once(path: Path, text: str) -> None:
    """Make ``path`` hold ``text``; safe when several processes do so at once.

    The name of the file already tells its content, so the time stamp is made constant: numba compares it, and two
    processes that write the same file must not invalidate each other's compiled code.
    """
    if path.exists():
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
        os.utime(temporary, (1_000_000_000, 1_000_000_000))
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock that belongs to ``path``, so that of two processes one compiles and the other loads."""
    if fcntl is None:
        with compiling():
            yield
        return
    with open(path.with_suffix(".lock"), "w") as stream:
        with contextlib.suppress(OSError):  # file systems without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        with compiling():
            yield
