"""The folder itself: made once, resumed later."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffloom_experiments.load import Loaded, load_data
from diffloom_experiments.run_folder.checkpoint import read_checkpoint, write_checkpoint
from diffloom_experiments.run_folder.versions import versions
from diffloom_fitting.file_writing import FolderError, explained, remove_leftovers, write_text
from diffloom_fitting.history import append_record, read_history, rewrite_history
from diffloom_fitting.loop import FitState, Record

#: Largest config.json that is read [bytes].
MOST_CONFIG = 64 * 2**20


@dataclass(frozen=True)
class RunFolder:
    """A run's files. config.json: the checked file with all changes and draws; versions.json; history.jsonl: one line
    per iteration; checkpoint.pt: to go on from, and previous_checkpoint.pt, the one before; then result.json, videos,
    plots and report.html."""

    path: Path

    @staticmethod
    def create(path: Path, loaded: Loaded) -> RunFolder:
        """A new folder (with its parents) holding config and versions; refuses one that holds a run."""
        if (path / "config.json").exists():
            raise FolderError(
                f"{str(path)!r} holds a run already; go on with --resume, start anew with --overwrite, "
                "or choose another --out"
            )
        made = _missing_parents(path)
        try:
            with explained(path):
                path.mkdir(parents=True, exist_ok=True)
            folder = RunFolder(path)
            config = {"name": loaded.name, "folder": str(loaded.folder.resolve()), "experiment": loaded.raw}
            write_text(path / "versions.json", json.dumps(versions(), indent=2) + "\n")
            write_text(path / "config.json", json.dumps(config, indent=2) + "\n")
        except FolderError:
            # Leave nothing half-made behind.
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
        """parent/stem, or parent/stem-2 and so on when that is taken."""
        number, path = 1, parent / stem
        while path.exists() and any(path.iterdir()):
            number += 1
            path = parent / f"{stem}-{number}"
        return path

    def config(self) -> Loaded:
        """The experiment this folder was made for."""
        place = self.path / "config.json"
        try:
            if place.stat().st_size > MOST_CONFIG:
                raise ValueError(f"config.json is larger than {MOST_CONFIG / 2**20:.0f} MB")
            config: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
            raw, folder, name = config["experiment"], Path(config["folder"]), str(config["name"])
            if not isinstance(raw, dict):
                raise TypeError("config.json holds no experiment")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise FolderError(f"{str(self.path)!r} is not a run folder ({error})") from error
        return load_data(raw, folder, name)

    def keep(self, state: FitState, record: Record) -> None:
        """Write one iteration: its line first, then the state that follows from it."""
        append_record(self.path / "history.jsonl", record)
        write_checkpoint(self.path / "checkpoint.pt", state)

    def resume(self) -> tuple[FitState | None, list[Record]]:
        """The state and history to go on from; None and no history for a run that ended before its first iteration."""
        remove_leftovers(self.path)
        state = read_checkpoint(self.path / "checkpoint.pt")
        records = [] if state is None else read_history(self.path / "history.jsonl", state.total)
        rewrite_history(self.path / "history.jsonl", records)
        return state, records


def _missing_parents(path: Path) -> list[Path]:
    """The folders that do not exist yet, deepest first."""
    return [place for place in (path, *path.parents) if not place.exists()]
