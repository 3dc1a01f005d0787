"""Run folder: all files that a fit writes, each written atomically."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import re
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

import torch

from diffloom.regular_files import check_texts, load_tensors, read_bytes, read_text
from diffloom_experiments.kinds import LoadedFile, recognise
from diffloom_fitting.checkpoints import (
    append_record,
    check_state,
    decode_state,
    encode_state,
    read_history,
    rewrite_history,
)
from diffloom_fitting.files import FolderError, explain_errors, new_file, remove_leftovers, write_text
from diffloom_fitting.loop import FitState, Record

__all__ = [
    "RunFolder",
    "collect_versions",
    "read_checkpoint",
    "read_config",
    "restore_thread_count",
    "write_checkpoint",
]

MOST_THREADS = 1024
WATCHED = ("torch", "numpy", "numba", "llvmlite", "scipy", "trimesh", "av", "pydantic", "matplotlib", "cmaes")


def collect_versions() -> dict[str, str]:
    """Return the versions of everything that may change a result.

    Returns:
        Versions of libraries, diffloom and its plugins, and descriptions of the machine, by name.
    """
    return {**_libraries(), "threads": str(torch.get_num_threads())}


def restore_thread_count(folder: Path) -> None:
    """Set PyTorch's number of threads to that of the run in ``folder``.

    Matrix products round differently for each number of threads, so a resumed run needs it to reach the same bits.

    Args:
        folder: Run folder.
    """
    try:
        count = int(json.loads(read_text(folder / "versions.json", MOST_CONFIG, follow=False))["threads"])
    except (OSError, ValueError, KeyError, TypeError):
        return
    if 1 <= count <= MOST_THREADS:
        torch.set_num_threads(count)


@cache
def _libraries() -> dict[str, str]:
    """Return the versions of libraries and plugins."""
    found = {"python": sys.version.split()[0], "system": platform.platform(), "processor": _processor()}
    for name in ("diffloom-core", *WATCHED):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    for entry in entry_points(group="diffloom"):
        if entry.dist is not None:
            found[entry.dist.name] = entry.dist.version
    return dict(sorted(found.items()))


@cache
def _processor() -> str:
    """Return the name of the processor and its number of cores."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            named = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        named = []
    return f"{named[0] if named else platform.processor() or 'unknown'}, {os.cpu_count()} cores"


VERSION = 1
_HEAD = re.compile(rb"diffloom checkpoint (\d+) sha256 ([0-9a-f]{64})\n")
#: Largest checkpoint that is read [bytes]; a state is a few vectors of unknowns.
MOST_BYTES = 2**31


def get_previous_path(path: Path) -> Path:
    """Return the path of the checkpoint before ``path``."""
    return path.with_name(f"previous_{path.name}")


def write_checkpoint(path: Path, state: FitState) -> None:
    """Write the state of a fit atomically; the former checkpoint is kept as the previous one.

    Args:
        path: File of the checkpoint.
        state: State of the fit.
    """
    buffer = io.BytesIO()
    torch.save(encode_state(state), buffer)
    content = buffer.getvalue()
    head = f"diffloom checkpoint {VERSION} sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
    with new_file(path) as beside:
        with beside.open("wb") as file:
            file.write(head + content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.replace(path, get_previous_path(path))


def read_checkpoint(path: Path) -> FitState | None:
    """Return the state in a checkpoint, or in the previous one if a crash left only that.

    Args:
        path: File of the checkpoint.

    Returns:
        State of the fit; None if there is no checkpoint.

    Raises:
        FolderError: The checkpoint is damaged; the message says whether the previous one can be used.
    """
    if not path.exists():
        return _read(get_previous_path(path)) if get_previous_path(path).exists() else None
    try:
        return _read(path)
    except FolderError as error:
        raise FolderError(f"{error}; {_instead(path)}") from error


def _instead(path: Path) -> str:
    """Return the advice for a damaged checkpoint."""
    before = get_previous_path(path)
    try:
        kept = _read(before)
    except FolderError:
        return "there is no usable checkpoint before it: run the experiment again, with another --out"
    return f"the previous one, of iteration {kept.total}, is intact: use it with `mv {before} {path}` and resume again"


def _read(path: Path) -> FitState:
    """Return the state in a checkpoint file, after checking its version and checksum."""
    what = f"checkpoint {str(path)!r}"
    content = read_bytes(path, MOST_BYTES, what="checkpoint", follow=False, error=FolderError)
    head = _HEAD.match(content)
    if head is None:
        raise FolderError(f"{what} is damaged or not a checkpoint of a fit: its first line is wrong")
    if int(head[1]) != VERSION:
        raise FolderError(f"{what} has version {int(head[1])}, and this diffloom reads version {VERSION}")
    payload = content[head.end() :]
    if hashlib.sha256(payload).hexdigest().encode() != head[2]:
        raise FolderError(f"{what} is damaged: its checksum does not match")
    try:
        found = decode_state(load_tensors(payload, MOST_BYTES))
        return check_state(found)
    except Exception as error:  # intact but forged: decoding may raise anything
        raise FolderError(f"{what} holds no state of a fit ({str(error)[:200] or type(error).__name__})") from error


#: Files that a run writes, and --overwrite removes.
RUN_FILES = (
    "config.json", "versions.json", "history.jsonl", "checkpoint.pt", "result.json", "report.html", "loss.svg",
    "parameters.svg", "video*.mp4", "strip*.png", "motion.mp4", "control-*.png", "policy.pt",
    "history.csv",
)  # fmt: skip
#: Largest config.json that is read [bytes].
MOST_CONFIG = 64 * 2**20


@dataclass(frozen=True)
class RunFolder:
    """Folder with the files of one run.

    config.json is the checked file with all changes and draws, versions.json the versions in use, history.jsonl has one
    line per iteration, checkpoint.pt the state to resume from and previous_checkpoint.pt the one before; result.json,
    videos, plots and report.html follow at the end.

    Args:
        path: Path of the folder.
    """

    path: Path

    @staticmethod
    def create(path: Path, loaded: LoadedFile) -> RunFolder:
        """Create a folder, with its parents, that holds config and versions.

        Args:
            path: Path of the new folder.
            loaded: Checked file.

        Returns:
            Folder of the run.

        Raises:
            FolderError: The folder holds a run already, or cannot be written.
        """
        if (path / "config.json").exists():
            raise FolderError(
                f"{str(path)!r} holds a run already; continue it with --resume, replace it with --overwrite, "
                "or choose another --out"
            )
        made = _missing_parents(path)
        try:
            with explain_errors(path):
                path.mkdir(parents=True, exist_ok=True)
            folder = RunFolder(path)
            config = {"name": loaded.name, "folder": str(loaded.folder.resolve()), "experiment": loaded.raw}
            write_text(path / "versions.json", json.dumps(collect_versions(), indent=2) + "\n")
            write_text(path / "config.json", json.dumps(config, indent=2) + "\n")
        except FolderError:
            # Leave no partial folder behind.
            for name in ("versions.json", "config.json"):
                if path.exists() and made:
                    (path / name).unlink(missing_ok=True)
            for parent in made:
                if parent.is_dir() and not any(parent.iterdir()):
                    parent.rmdir()
            raise
        return folder

    @staticmethod
    def free_path(parent: Path, stem: str) -> Path:
        """Return parent/stem, or parent/stem-2 and so on if that is taken.

        Args:
            parent: Folder of the new folder.
            stem: Name of the new folder.

        Returns:
            Path of a folder that does not exist or is empty.
        """
        number, path = 1, parent / stem
        while path.exists() and any(path.iterdir()):
            number += 1
            path = parent / f"{stem}-{number}"
        return path

    @staticmethod
    def prepare(out: str | None, stem: str, overwrite: bool, loaded: LoadedFile) -> RunFolder:
        """Create the folder of a new run.

        A run that failed before its first iteration is replaced; any other run only with ``overwrite``.

        Args:
            out: Path of the folder; None for runs/``stem``, with a number if that is taken.
            stem: Name of the experiment.
            overwrite: True to remove the files of a former run.
            loaded: Checked file.

        Returns:
            Folder of the run.
        """
        path = Path(out) if out is not None else RunFolder.free_path(Path("runs"), stem)
        begun = (path / "checkpoint.pt").exists() or (path / "result.json").exists()
        remove_leftovers(path)
        if (path / "config.json").exists() and (overwrite or not begun):
            for pattern in RUN_FILES:
                for file in path.glob(pattern):
                    file.unlink()
        return RunFolder.create(path, loaded)

    def config(self) -> Any:
        """Load the experiment that this folder was made for.

        Returns:
            ``Loaded``, or the checked file of another kind.
        """
        raw, folder, name = read_config(self.path)
        return recognise(raw, name).load(raw, folder, name)

    def keep(self, state: FitState, record: Record) -> None:
        """Write one iteration: its line of history first, then the state that follows.

        Args:
            state: State of the fit.
            record: Record of the iteration.
        """
        append_record(self.path / "history.jsonl", record)
        write_checkpoint(self.path / "checkpoint.pt", state)

    def resume(self) -> tuple[FitState | None, list[Record]]:
        """Return the state and the history to resume from.

        Returns:
            State and records; None and no records for a run that ended before its first iteration.
        """
        remove_leftovers(self.path)
        state = read_checkpoint(self.path / "checkpoint.pt")
        records = [] if state is None else read_history(self.path / "history.jsonl", state.total)
        rewrite_history(self.path / "history.jsonl", records)
        return state, records


def read_config(folder: Path) -> tuple[dict[str, Any], Path, str]:
    """Return the experiment of a run folder.

    Args:
        folder: Run folder.

    Returns:
        Data of the file, folder of its relative paths, and its name.

    Raises:
        FolderError: The folder is not a run folder.
    """
    place = folder / "config.json"
    try:
        config: dict[str, Any] = json.loads(read_text(place, MOST_CONFIG, follow=False))
        raw, origin, name = config["experiment"], Path(config["folder"]), str(config["name"])
        if not isinstance(raw, dict):
            raise TypeError("config.json holds no experiment")
        check_texts(str(place), config)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise FolderError(f"{str(folder)!r} is not a run folder ({error})") from error
    return raw, origin, name


def _missing_parents(path: Path) -> list[Path]:
    """Return the folders that do not exist yet, deepest first."""
    return [place for place in (path, *path.parents) if not place.exists()]
