"""Origin of results: commit, version, command, date and machine, in a file beside the figures."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError
from diffloom.regular_files import read_bytes, read_text
from diffloom_experiments.run_folder import collect_versions
from diffloom_fitting.files import write_text

__all__ = ["check_origin", "write_origin"]

FIELDS = ("commit", "version", "command", "date", "machine", "sha256")
#: Files of figures, whose contents the origin records; tables and plots are made from them.
DATA = (".json", ".csv")
SUFFIX = ".origin.json"
#: Largest files that are read [bytes].
MOST_ORIGIN, MOST_FIGURES = 2**20, 2**28
HERE = Path(__file__).resolve()


def write_origin(*files: str | Path, command: str | None = None) -> Path:
    """Write where results come from into ``NAME.origin.json`` beside ``NAME.json``, ``NAME.md`` and so on.

    The file has the commit of diffloom (with "+" if tracked files differ from it; None outside a clone), its version,
    the command, the date, the machine, and checksums of the files of figures (JSON and CSV).

    Args:
        files: Files of one result, already written; they share a folder and a name before the suffix.
        command: Command that made them; None for the one of this process.

    Returns:
        Path of the file of origin.

    Raises:
        InputError: No files are given, or their folders or names differ.
    """
    paths = [Path(file) for file in files]
    stems = {path.with_suffix("") for path in paths}
    if len(stems) != 1:
        raise InputError(f"write_origin takes files of one name, such as a.json and a.md; got {list(map(str, files))}")
    versions = collect_versions()
    told: dict[str, Any] = {
        "commit": _find_commit(),
        "version": versions["diffloom-core"],
        "command": _tell_command(sys.argv) if command is None else command,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "machine": f"{versions['processor']}, {versions['system']}, Python {versions['python']}",
        "sha256": {path.name: _digest(path) for path in sorted(paths) if path.suffix in DATA},
    }
    place = Path(f"{stems.pop()}{SUFFIX}")
    write_text(place, json.dumps(told, indent=1) + "\n")
    return place


def check_origin(file: str | Path) -> list[str]:
    """Return the faults of the origin of a result.

    Args:
        file: File of figures, table or plot.

    Returns:
        Faults in words; empty if the file beside it tells all, and the figures are those that it tells of.
    """
    path = Path(file)
    place = Path(f"{path.with_suffix('')}{SUFFIX}")
    if not place.exists():
        return [f"{path.name} has no {place.name}: call diffloom_experiments.origin.write_origin where it is written"]
    told = json.loads(read_text(place, MOST_ORIGIN, what="origin"))
    faults = [f"{place.name} lacks {name!r}" for name in FIELDS if not told.get(name) and name != "sha256"]
    if path.suffix in DATA and told.get("sha256", {}).get(path.name) != _digest(path):
        faults.append(f"{path.name} is not the file that {place.name} tells of: run {told.get('command')!r} again")
    return faults


def _digest(path: Path) -> str:
    """Return the checksum of a file; both line endings count alike."""
    return hashlib.sha256(read_bytes(path, MOST_FIGURES, what="result").replace(b"\r\n", b"\n")).hexdigest()


def _find_commit() -> str | None:
    """Return the commit that diffloom runs from; None if it is not in a clone."""
    if _ask_git("ls-files", "--error-unmatch", HERE.name) is None:
        return None
    commit = _ask_git("rev-parse", "--short=10", "HEAD")
    changed = _ask_git("status", "--porcelain", "--untracked-files=no", ":/")
    return f"{commit}+" if commit and changed else commit


def _ask_git(*words: str) -> str | None:
    """Return what git says; None if it fails or is absent."""
    try:
        said = subprocess.run(["git", *words], cwd=HERE.parent, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return None
    return said.stdout.strip()


def _tell_command(words: Sequence[str]) -> str:
    """Return the command line of a process, with paths relative to this folder where they are in it."""
    here = Path.cwd()
    script = Path(words[0])
    short = [_shorten(word, here) for word in words[1:]]
    first = ["python", _shorten(words[0], here)] if script.suffix == ".py" else [script.name]
    return shlex.join([*first, *short])


def _shorten(word: str, here: Path) -> str:
    """Return a path relative to a folder that holds it, and any other word unchanged."""
    path = Path(word)
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else word
