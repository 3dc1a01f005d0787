"""Sweeps: many fits of one experiment, over seeds, pairs of renderers and baselines, and their table."""

from __future__ import annotations

import hashlib
import json
import math
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffloom.interfaces import InputError
from diffloom.regular_files import read_text
from diffloom_experiments.changes import read_experiment
from diffloom_fitting import CmaEs, Experiment, Stage, StateError
from diffloom_scale.engines import Engine, LocalPool

if TYPE_CHECKING:
    from diffloom_experiments import Loaded

__all__ = ["BASELINES", "Case", "collect_outcomes", "format_sweep_table", "locate_case", "make_sweep_data", "run_case"]


BASELINES = {
    "state": "3D states",
    "cma": "CMA-ES",
    "differences": "finite differences",
}


def make_baseline(experiment: Experiment, name: str, budget: int | None = None) -> Experiment:
    """Return the experiment changed into one of ``BASELINES``.

    state: true states replace the images. cma: a search without gradients (CMA-ES, Hansen 2016) minimises the loss from
    the same start until it has simulated ``budget`` times; unknowns that the first stage ties together have one value.
    differences: forward differences replace the adjoint.
    """
    if name == "state":
        seen = tuple(replace(stage, loss=None, loss_settings={}, renderer={}) for stage in experiment.stages)
        return replace(experiment, loss=StateError(), stages=seen)
    if name == "cma":
        if budget is None:
            raise InputError("baseline 'cma' gets as many simulations as the fit; run the fit first")
        return replace(experiment, stages=(_make_search(experiment, budget),), starts=(), probe=0)
    if name == "differences":
        return replace(experiment, differences=True)
    raise InputError(f"baseline: got {name!r}; expected one of {', '.join(BASELINES)}")


def _make_search(experiment: Experiment, budget: int) -> Stage:
    """Return a stage of CMA-ES that simulates at most ``budget`` times."""
    first = experiment.stages[0]
    tied = Stage(CmaEs(), only=None, shared=first.shared, together=first.together)
    tie = experiment.tie(tied, experiment.start(0))
    size = experiment.layout.size if tie is None else tie.size
    # Hansen's default population for this number of unknowns, at least two, to which the search pads.
    population = 4 + int(3.0 * math.log(max(2, size)))
    search = CmaEs(sigma=1.0, population=population)
    return replace(tied, optimiser=search, iterations=max(1, budget // population))


#: Largest outcome that is read [bytes].
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Case:
    """One fit of a sweep. Plain data, so that it can be sent to another process.

    Args:
        file: Path of the experiment file.
        seed: Seed of the fit.
        renderer: Name of the renderer; None for the file's.
        target_renderer: Name of the renderer of the target; None for that of the fit.
        settings: Changes "KEY=VALUE" of the file.
        quick: Use the file's reduced version.
        baseline: One of ``BASELINES`` instead of the fit, or None.
        budget: Number of simulations of the baseline "cma".
    """

    file: str
    seed: int
    renderer: str | None = None
    target_renderer: str | None = None
    settings: tuple[str, ...] = ()
    quick: bool = False
    baseline: str | None = None
    budget: int | None = None

    def changes(self) -> dict[str, Any]:
        """Return the changes of the file.

        Returns:
            Values by key.
        """
        found: dict[str, Any] = {"seed": self.seed}
        if self.renderer is not None:
            found["renderer.name"] = self.renderer
        if self.target_renderer is not None:
            found["target.renderer"] = self.target_renderer
        return found


def locate_case(case: Case, store: str) -> tuple[Path, Loaded]:
    """Return the path of a case's outcome, named by everything that it depends on, and the case's file.

    Args:
        case: The case.
        store: Folder of outcomes.

    Returns:
        Path of the outcome, and the checked file.
    """
    from diffloom_experiments.kinds import load_any
    from diffloom_experiments.run_folder import collect_versions

    loaded = load_any(case.file, settings=case.settings, changes=case.changes(), quick=case.quick)
    other = [] if case.baseline is None else [case.baseline, case.budget]
    digest = hashlib.sha256(json.dumps([loaded.raw, collect_versions(), *other], sort_keys=True).encode()).hexdigest()[
        :16
    ]
    return Path(store) / f"seed{case.seed}-{digest}.json", loaded


@dataclass(frozen=True)
class FitTask:
    """Case with the text of its file, for a worker that may not have the file.

    threads: number of threads of PyTorch; None leaves it unchanged.
    """

    case: Case
    text: str
    threads: int | None = None


def run_case(case: Case, store: str) -> dict[str, Any]:
    """Fit one case, unless its outcome is stored.

    Args:
        case: The case.
        store: Folder of outcomes.

    Returns:
        The outcome as data.
    """
    kept, loaded = locate_case(case, store)
    found = read_outcome(kept)
    return found if found is not None else write_outcome(kept, fit_experiment(case, loaded))


def fit_task(task: FitTask) -> dict[str, Any]:
    """Fit a case on a worker, on any machine, and return its outcome."""
    import torch

    from diffloom_experiments.kinds import load_any

    if task.threads is not None:
        torch.set_num_threads(task.threads)
    with tempfile.TemporaryDirectory() as folder:
        case = task.case
        if not Path(case.file).exists():
            case = replace(case, file=str(Path(folder) / Path(case.file).name))
            Path(case.file).write_text(task.text, encoding="utf-8")
        loaded = load_any(case.file, settings=case.settings, changes=case.changes(), quick=case.quick)
        return fit_experiment(case, loaded)


def fit_experiment(case: Case, loaded: Loaded) -> dict[str, Any]:
    """Fit a case and return its outcome as data."""
    import time

    from diffloom.interfaces import InputError
    from diffloom_experiments.kinds import build_any
    from diffloom_fitting import run_fit
    from diffloom_fitting.results import result_data

    experiment = build_any(loaded)
    if case.baseline is not None:
        experiment = make_baseline(experiment, case.baseline, case.budget)
    unjudged = [slot.name for slot in experiment.layout.slots if slot.name not in experiment.truth]
    if unjudged:
        raise InputError(f"{loaded.name}: a sweep compares with true values; give truth.{unjudged[0]}")
    busy = time.process_time()
    result = run_fit(experiment)
    data = {**result_data(result), "seed": case.seed, "title": experiment.title}
    # Processor time varies less than wall-clock time on a shared machine.
    data["processor_seconds"] = time.process_time() - busy
    if not isinstance(experiment, Experiment):
        data["compared"] = experiment.describe()
    else:
        data |= {
            "size": list(experiment.scene.size), "steps": experiment.scene.steps, "frames": len(experiment.target)
        }  # fmt: skip
    return data


def write_outcome(kept: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Write an outcome to its path; return the version that a later read gives, because JSON turns tuples into
    lists.
    """
    from diffloom_fitting.files import explain_errors, write_text

    with explain_errors(kept):
        kept.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"sha256": _checksum(data), "outcome": data})
    write_text(kept, text + "\n")
    # A resumed sweep reads lists in place of tuples, so the first run returns lists too.
    outcome: dict[str, Any] = json.loads(text)["outcome"]
    return outcome


def read_outcome(kept: Path) -> dict[str, Any] | None:
    """Return a finished case's outcome, or None where there is none or it is damaged: the case then runs again."""
    try:
        found = json.loads(read_text(kept, MOST_BYTES, follow=False))
        outcome, told = found["outcome"], found["sha256"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return outcome if isinstance(outcome, dict) and told == _checksum(outcome) else None


def _checksum(data: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def collect_outcomes(cases: Sequence[Case], store: str, engine: Engine) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run cases on an engine and yield their outcomes as they finish.

    Outcomes are stored by this process, so that an interrupted sweep continues from those that had come back.

    Args:
        cases: The cases.
        store: Folder of outcomes.
        engine: Engine that runs the fits.

    Returns:
        Pairs of the number of a case and its outcome.
    """
    places = [locate_case(case, store)[0] for case in cases]
    missing = []
    for number, kept in enumerate(places):
        found = read_outcome(kept)
        if found is None:
            missing.append(number)
        else:
            yield number, found
    alone = isinstance(engine, LocalPool) and engine.jobs <= 1
    tasks = [FitTask(cases[n], read_experiment(cases[n].file), None if alone else 1) for n in missing]
    for k, found in engine.run(fit_task, tasks):
        yield missing[k], write_outcome(places[missing[k]], found)


Outcome = dict[str, Any]


def format_sweep_table(title: str, pairs: Sequence[tuple[str, Sequence[Outcome]]], note: str = "") -> str:
    """Return the table of a sweep: a summary with one row per pair of renderers, then every seed.

    Errors are relative: mean |found - truth| / mean |truth|.

    Args:
        title: Title of the document.
        pairs: Labels and outcomes of the sections.
        note: Sentence to add.

    Returns:
        The document in Markdown.
    """
    names = [e["name"] for e in pairs[0][1][0]["estimates"]]
    lines = [f"# {title}", ""]
    if note:
        lines += [note, ""]
    first = pairs[0][1][0]
    compared = first.get("compared")
    if compared is None:
        compared = f"Images {first['size'][1]}x{first['size'][0]}, {first['frames']} frames in the loss, "
        compared += f"{first['steps']} physics steps"
    lines += [
        f"{compared}. Errors are mean |found - truth| / mean |truth| of one fit, summed up over seeds by their mean, "
        "standard deviation, median and worst. *start* is the mean error of the guesses the fits began with; *average* "
        "that of guessing their mean. Seconds are of one processor core; memory is the "
        "peak of the process, whose fits ran one after another.",
        "",
        *_format_summary(names, pairs),
        "",
        *(f"* Where the time of {label} went: {_format_shares(outcomes)}." for label, outcomes in pairs[:2]),
    ]
    for label, outcomes in pairs:
        lines += ["", f"## {label}", "", *_format_seeds(names, outcomes)]
    return "\n".join(lines) + "\n"


def _format_summary(names: Sequence[str], pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[str]:
    head = ["fit <- target", "seeds", "unknown", "average", "start", "mean", "deviation", "median", "worst", "s / fit",
            "s / iteration", "peak memory"]  # fmt: skip
    rows = [_format_row(head), _format_row(["---"] * len(head))]
    for label, outcomes in pairs:
        for number, name in enumerate(names):
            errors = [_find_estimate(o, name)["error"] for o in outcomes]
            starts = [_find_estimate(o, name)["start_error"] for o in outcomes]
            cost = ["", "", ""]
            if number == 0:
                cost = [
                    f"{statistics.mean(o['processor_seconds'] for o in outcomes):.1f}",
                    f"{statistics.mean(o['processor_seconds'] / max(1, o['iterations']) for o in outcomes):.3f}",
                    f"{max(o['peak_memory_bytes'] for o in outcomes) / 2**20:.0f} MB",
                ]
            figures = [
                statistics.mean(compute_average_errors(outcomes, name)), statistics.mean(starts),
                statistics.mean(errors), statistics.pstdev(errors), statistics.median(errors), max(errors),
            ]  # fmt: skip
            begin = [label, str(len(outcomes))] if number == 0 else ["", ""]
            rows.append(_format_row([*begin, name, *(format_short(f) for f in figures), *cost]))
    return rows


def _format_shares(outcomes: Sequence[Outcome]) -> str:
    """Return the parts of a fit's time in percent, the largest first.

    They are medians over fits, because other programs may slow a single fit.
    """
    parts = {part for outcome in outcomes for part in outcome["seconds_by_part"]}
    usual = {part: statistics.median(_compute_share(outcome, part) for outcome in outcomes) for part in parts}
    whole = sum(usual.values()) or 1.0
    order = sorted(usual.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{part} {100.0 * share / whole:.0f} %" for part, share in order)


def _compute_share(outcome: Outcome, part: str) -> float:
    spent: dict[str, float] = outcome["seconds_by_part"]
    return spent.get(part, 0.0) / (sum(spent.values()) or 1.0)


def compute_average_errors(outcomes: Sequence[Outcome], name: str) -> list[float]:
    """Return, for each fit, the error of guessing the mean of all fits' starts instead: the middle of the possible
    values.
    """
    starts = [_flatten(_find_estimate(o, name)["start"]) for o in outcomes]
    guess = [statistics.mean(column) for column in zip(*starts, strict=True)]
    errors = []
    for outcome in outcomes:
        truth = _flatten(_find_estimate(outcome, name)["truth"])
        wanted = truth * (len(guess) // len(truth))
        size = statistics.mean(abs(t) for t in wanted)
        errors.append(statistics.mean(abs(g - t) for g, t in zip(guess, wanted, strict=True)) / (size or 1.0))
    return errors


def make_sweep_data(pairs: Sequence[tuple[str, Sequence[Outcome]]]) -> list[Outcome]:
    """Return the figures of every fit as plain records; values only of unknowns that are one number.

    Args:
        pairs: Labels and outcomes of the sections.

    Returns:
        One record per fit.
    """
    return [record for label, outcomes in pairs for record in _make_records(label, outcomes)]


def _make_records(label: str, outcomes: Sequence[Outcome]) -> list[Outcome]:
    names = [e["name"] for e in outcomes[0]["estimates"]]
    guessed = {name: compute_average_errors(outcomes, name) for name in names}
    return [_make_record(label, o, {name: guessed[name][k] for name in names}) for k, o in enumerate(outcomes)]


def _make_record(label: str, o: Outcome, guessed: dict[str, float]) -> Outcome:
    kept = ("seed", "loss", "start_loss", "holdout_loss", "reason", "iterations", "evaluations", "seconds",
            "processor_seconds", "seconds_by_part", "peak_memory_bytes")  # fmt: skip
    estimates = [
        {k: e[k] for k in ("name", "unit", "error", "start_error", "start", "found", "truth") if not _is_list(e[k])}
        | {"average_error": guessed[e["name"]]}
        for e in o["estimates"]
    ]
    return {"pair": label, **{name: o[name] for name in kept}, "estimates": estimates}


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _format_seeds(names: Sequence[str], outcomes: Sequence[Outcome]) -> list[str]:
    head = ["seed", *(f"{n}: truth" for n in names[:1]), *(f"error of {n}" for n in names), "loss", "iterations", "s"]
    rows = [_format_row(head), _format_row(["---"] * len(head))]
    for o in outcomes:
        truth = _find_estimate(o, names[0])["truth"]
        rows.append(
            _format_row(
                [
                    str(o["seed"]),
                    format_truth(truth),
                    *(format_short(_find_estimate(o, n)["error"]) for n in names),
                    format_short(o["loss"]),
                    str(o["iterations"]),
                    f"{o['processor_seconds']:.1f}",
                ]
            )
        )
    return rows


def format_truth(truth: Any) -> str:
    """Return a true value as text, or the mean of many."""
    flat = _flatten(truth)
    return f"{flat[0]:.4g}" if len(flat) == 1 else f"mean {sum(flat) / len(flat):.4g}"


def format_short(value: float | None) -> str:
    """Return a figure with two digits."""
    return (
        "" if value is None else f"{value:.1e}" if value == 0.0 or abs(math.log10(abs(value))) > 2 else f"{value:.2g}"
    )


def _find_estimate(outcome: Outcome, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(e for e in outcome["estimates"] if e["name"] == name)
    return found


def _flatten(value: Any) -> list[float]:
    return [x for item in value for x in _flatten(item)] if isinstance(value, list) else [float(value)]


def _format_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
