"""One run of a sweep."""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffloom_experiments import Loaded


#: Largest outcome that is read [bytes].
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Case:
    """An experiment with one seed, one renderer and one renderer of the target (None: the fit's own). baseline: one of
    `BASELINES` instead of the fit itself; budget: how often it may simulate. Plain, so that it can be handed to another
    process."""

    file: str
    seed: int
    renderer: str | None = None
    target_renderer: str | None = None
    settings: tuple[str, ...] = ()
    quick: bool = False
    baseline: str | None = None
    budget: int | None = None

    def changes(self) -> dict[str, Any]:
        """What it changes in the file."""
        found: dict[str, Any] = {"seed": self.seed}
        if self.renderer is not None:
            found["renderer.name"] = self.renderer
        if self.target_renderer is not None:
            found["target.renderer"] = self.target_renderer
        return found


def place_of(case: Case, store: str) -> tuple[Path, Loaded]:
    """Where a case's outcome is kept, under a name made of all that it depends on; and its file."""
    from diffloom_experiments import load_file
    from diffloom_experiments.run_folder.versions import versions

    loaded = load_file(case.file, settings=case.settings, changes=case.changes(), quick=case.quick)
    other = [] if case.baseline is None else [case.baseline, case.budget]
    digest = hashlib.sha256(json.dumps([loaded.raw, versions(), *other], sort_keys=True).encode()).hexdigest()[:16]
    return Path(store) / f"seed{case.seed}-{digest}.json", loaded


@dataclass(frozen=True)
class Task:
    """A case with the text of its file, for a worker that may not have it. threads: of PyTorch; None leaves them."""

    case: Case
    text: str
    threads: int | None = None


def run_case(case: Case, store: str) -> dict[str, Any]:
    """Fit one case, unless its outcome is kept in ``store``; the outcome as data."""
    kept, loaded = place_of(case, store)
    found = read_outcome(kept)
    return found if found is not None else keep_outcome(kept, fit_loaded(case, loaded))


def fit_task(task: Task) -> dict[str, Any]:
    """What a worker does, on whatever machine: fit a case, and hand back its outcome."""
    import torch

    from diffloom_experiments import load_file

    if task.threads is not None:
        torch.set_num_threads(task.threads)
    with tempfile.TemporaryDirectory() as folder:
        case = task.case
        if not Path(case.file).exists():
            case = replace(case, file=str(Path(folder) / Path(case.file).name))
            Path(case.file).write_text(task.text, encoding="utf-8")
        loaded = load_file(case.file, settings=case.settings, changes=case.changes(), quick=case.quick)
        return fit_loaded(case, loaded)


def fit_loaded(case: Case, loaded: Loaded) -> dict[str, Any]:
    """The outcome of a case as data."""
    import time

    from diffloom.interfaces import InputError
    from diffloom_experiments import build_experiment
    from diffloom_fitting.fits import run_fit
    from diffloom_fitting.result_file import result_data
    from diffloom_scale.sweeps.baselines import as_baseline

    experiment = build_experiment(loaded)
    if case.baseline is not None:
        experiment = as_baseline(experiment, case.baseline, case.budget)
    unjudged = [slot.name for slot in experiment.layout.slots if slot.name not in experiment.target.truth]
    if unjudged:
        raise InputError(f"{loaded.name}: a sweep judges by the truth; give truth.{unjudged[0]}")
    busy = time.process_time()
    result = run_fit(experiment)
    data = {**result_data(result), "seed": case.seed, "title": experiment.title}
    # A shared machine stretches the wall clock; what the processor did is the steadier figure.
    data["processor_seconds"] = time.process_time() - busy
    data["size"] = list(experiment.scene.size)
    data["steps"] = experiment.scene.steps
    data["frames"] = len(experiment.target)
    return data


def keep_outcome(kept: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Write an outcome to its place; the outcome as it is read from there."""
    from diffloom_fitting.file_writing import explained, write_text

    with explained(kept):
        kept.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"sha256": _checksum(data), "outcome": data})
    write_text(kept, text + "\n")
    # JSON turns tuples into lists: what is told now is what a sweep that goes on will be told.
    outcome: dict[str, Any] = json.loads(text)["outcome"]
    return outcome


def read_outcome(kept: Path) -> dict[str, Any] | None:
    """A finished case's outcome, or None where there is none, or it is not as it was written: then it runs again."""
    try:
        if kept.stat().st_size > MOST_BYTES:
            return None
        found = json.loads(kept.read_text(encoding="utf-8"))
        outcome, told = found["outcome"], found["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return outcome if isinstance(outcome, dict) and told == _checksum(outcome) else None


def _checksum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
