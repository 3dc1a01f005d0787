"""The one opener of files from unknown sources: regular files alone, of limited size.

A name may lead to a device or a pipe, which never ends or never answers, and a file may change between a look and its
use. So a file is opened without waiting, and kind and size are those of the opened file.

The module does not import torch.
"""

from __future__ import annotations

import io
import os
import stat
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from diffloom.errors import InputError

__all__ = [
    "IMAGE_FORMATS",
    "MOST_IMAGE",
    "MOST_PIXELS",
    "append_text",
    "check_pixels",
    "check_texts",
    "load_tensors",
    "open_regular",
    "read_bytes",
    "read_text",
]

#: Largest number of pixels of an image or a frame: about 8000 x 8000.
MOST_PIXELS = 2**26
#: Largest file of an image [bytes].
MOST_IMAGE = 2**30
#: Formats that Pillow may open, independent of the ending of the file.
IMAGE_FORMATS = ("PNG", "JPEG", "BMP", "TIFF", "WEBP")

#: Marks that turn the direction of a text.
_DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISLNK, "a link"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


def open_regular(
    path: str | Path, most: int, *, what: str = "file", follow: bool = True, error: type[InputError] = InputError
) -> BinaryIO:
    """Open a regular file for reading.

    Args:
        path: The file.
        most: Largest size [bytes].
        what: Kind of the file in messages, such as "mesh".
        follow: False to refuse a symbolic link, as in a run folder, where a link could lead to any file.
        error: Class of the error.

    Returns:
        The open file, for binary reading.

    Raises:
        InputError: The file is missing, unreadable, too large, or no regular file.
    """
    place, named = Path(path), f"{what} {str(path)!r}"
    flags = os.O_RDONLY
    for flag in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY", *(() if follow else ("O_NOFOLLOW",))):
        flags |= getattr(os, flag, 0)
    try:
        _check_kind(place.stat(follow_symlinks=follow), named, error)  # opening a device may already do something
        handle = os.open(place, flags)
    except FileNotFoundError as cause:
        raise error(f"{named}: no such file (looked in {_folder(place)})") from cause
    except (OSError, ValueError) as cause:
        if isinstance(cause, InputError):
            raise
        raise error(f"{named}: cannot be read ({getattr(cause, 'strerror', None) or cause})") from cause
    try:
        found = os.fstat(handle)
        _check_kind(found, named, error)
        if found.st_size > most:
            raise error(f"{named}: it is larger than {_format_size(most)}, the most that is read")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def _check_kind(found: os.stat_result, named: str, error: type[InputError]) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((name for test, name in _KINDS if test(found.st_mode)), "something else")
        advice = "; put the file itself there" if stat.S_ISLNK(found.st_mode) else ""
        raise error(f"{named}: it is {kind}; expected a regular file{advice}")


def _folder(place: Path) -> str:
    return os.path.abspath(place.parent)


def _format_size(size: int) -> str:
    return f"{size / 2**30:.0f} GB" if size >= 2**30 else f"{size / 2**20:.0f} MB"


def read_bytes(
    path: str | Path, most: int, *, what: str = "file", follow: bool = True, error: type[InputError] = InputError
) -> bytes:
    """Return the content of a regular file.

    Args:
        path: The file.
        most: Largest size [bytes]; a file that grows meanwhile is refused too.
        what: Kind of the file in messages.
        follow: False to refuse a symbolic link.
        error: Class of the error.

    Returns:
        The content.

    Raises:
        InputError: As ``open_regular``.
    """
    with open_regular(path, most, what=what, follow=follow, error=error) as file:
        try:
            # Files of /proc say that they are empty, and others may grow.
            content = file.read(os.fstat(file.fileno()).st_size + 1) or b""
            while len(content) <= most and (more := file.read(2**20)):
                content += more
        except OSError as cause:
            raise error(f"{what} {str(path)!r}: cannot be read ({cause.strerror or cause})") from cause
    if len(content) > most:
        raise error(f"{what} {str(path)!r}: it is larger than {_format_size(most)}, the most that is read")
    return content


def read_text(
    path: str | Path, most: int, *, what: str = "file", follow: bool = True, error: type[InputError] = InputError
) -> str:
    """Return the text of a regular file in UTF-8.

    Args:
        path: The file.
        most: Largest size [bytes].
        what: Kind of the file in messages.
        follow: False to refuse a symbolic link.
        error: Class of the error.

    Returns:
        The text, with line breaks as "\\n".

    Raises:
        InputError: As ``open_regular``, or the file is not text in UTF-8.
    """
    content = read_bytes(path, most, what=what, follow=follow, error=error)
    try:
        return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8").read()
    except UnicodeDecodeError as cause:
        raise error(f"{what} {str(path)!r}: it is not text in UTF-8 ({cause})") from cause


def append_text(path: Path, text: str) -> None:
    """Append to a regular file, or make it; a symbolic link is not followed.

    Args:
        path: The file.
        text: Text to append, in one write.

    Raises:
        OSError: The file cannot be written.
        InputError: There is something else than a regular file.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    for flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):
        flags |= getattr(os, flag, 0)
    if os.path.lexists(path):
        _check_kind(path.stat(follow_symlinks=False), f"file {str(path)!r}", InputError)
    with os.fdopen(os.open(path, flags, 0o666), "ab") as file:
        _check_kind(os.fstat(file.fileno()), f"file {str(path)!r}", InputError)
        file.write(text.encode("utf-8"))


def check_pixels(what: str, width: int, height: int) -> None:
    """Raise unless an image of this size may be read; call it before decoding, because a small file can claim any size.

    Args:
        what: Name of the image in errors.
        width: Width [px].
        height: Height [px].

    Raises:
        InputError: The image is empty or has more than MOST_PIXELS.
    """
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise InputError(
            f"{what}: it is {width} x {height} pixels; expected at least 1 x 1 and at most {MOST_PIXELS} in all; scale "
            "it down first"
        )


def check_texts(what: str, data: Any) -> None:
    """Raise unless all texts in decoded data show what they hold; call it before they are printed.

    Control characters steer a terminal, and marks of direction such as U+202E show a text in another order. A title
    that breaks the line could show lines as those of the program.

    Args:
        what: Name of the file in errors.
        data: Tables, lists and values, as read from TOML or JSON.

    Raises:
        InputError: A text or a key holds such a character; the message names the key and the character.
    """
    waiting: list[tuple[str, Any]] = [("", data)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += [(f"{key}.{name}" if key else str(name), part) for name, part in value.items()]
            _check_text(what, key, "".join(str(name) for name in value))
        elif isinstance(value, list | tuple):
            waiting += [(key, part) for part in value]
        elif isinstance(value, str):
            _check_text(what, key, value)


def _check_text(what: str, key: str, text: str) -> None:
    if text.isprintable():
        return
    allowed = "" if key.rpartition(".")[2] == "title" else "\t\n\r"
    for letter in text:
        if letter in allowed or letter.isprintable():
            continue
        kind = unicodedata.category(letter)
        if kind in ("Cc", "Zl", "Zp", "Cs") or letter in _DIRECTIONS:
            name = unicodedata.name(letter, "a control character").lower()
            raise InputError(f"{what}: {key or 'a key'} holds U+{ord(letter):04X} ({name}); expected plain text")


def load_tensors(content: bytes, most: int) -> Any:
    """Return what ``torch.save`` wrote, restricted to tensors and plain data; no code runs.

    Args:
        content: Content of the file: an archive, whose parts ``torch.save`` does not compress.
        most: Largest size of the unpacked parts [bytes].

    Returns:
        The stored object.

    Raises:
        ValueError: The archive is no archive, is compressed, or claims to unpack to more than it holds.
        Exception: Any that torch raises on damaged content.
    """
    import torch

    if not zipfile.is_zipfile(io.BytesIO(content)):
        raise ValueError("it is no archive of torch.save")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
    size = sum(part.file_size for part in parts)
    if any(part.compress_type != zipfile.ZIP_STORED for part in parts) or size > min(most, len(content)):
        raise ValueError(f"it unpacks to {size} bytes from {len(content)}; expected parts that are not compressed")
    return torch.load(io.BytesIO(content), weights_only=True)
