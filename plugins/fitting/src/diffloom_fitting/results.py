"""Results of fits, and their files."""

from __future__ import annotations

import importlib
import itertools
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.regular_files import check_texts, read_text
from diffloom_fitting.checkpoints import read_history, rewrite_history
from diffloom_fitting.files import FolderError, explain_errors, write_text
from diffloom_fitting.goal_outcome import GoalOutcome
from diffloom_fitting.gradient_check import CheckedDirection, GradientCheck
from diffloom_fitting.kinds import use_display
from diffloom_fitting.loop import Record
from diffloom_fitting.stopwatch import TIMED_PARTS
from diffloom_fitting.trust.ledger import Ledger, decode_ledger, encode_ledger
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import PARTS, Verdict, VerdictPart, skip_judgement
from diffloom_testing import WideComparison

if TYPE_CHECKING:
    from diffloom_fitting.experiment import AbstractExperiment

__all__ = ["TIMED_PARTS", "Estimate", "Result", "load_result", "result_data", "save_result", "write_result"]
#: Largest result.json that is read [bytes].
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Estimate:
    """Estimate of one unknown, in its unit.

    Args:
        name: Name of the unknown.
        unit: Its unit.
        start: Its start.
        found: Its estimate.
        deviation: Standard deviation; None if it is withheld, NaN for numbers that the pixels leave open.
        truth: True value, if known.
        caveat: Text shown beside the value unless the fit is green, such as "± withheld".
        interval: Ends of the 95 % interval of the posterior, if it was sampled.
    """

    name: str
    unit: str
    start: Tensor
    found: Tensor
    deviation: Tensor | None = None
    truth: Tensor | None = None
    caveat: str = ""
    interval: tuple[Tensor, Tensor] | None = None

    @property
    def error(self) -> float | None:
        """Mean absolute error relative to the truth's mean size; None without a truth."""
        return None if self.truth is None else relative_error(self.found, self.truth)

    @property
    def start_error(self) -> float | None:
        """Mean absolute error of the start relative to the truth's mean size; None without a truth."""
        return None if self.truth is None else relative_error(self.start, self.truth)


def relative_error(found: Tensor, truth: Tensor) -> float:
    """Return mean |found - truth| / mean |truth|; the absolute error if the truth is zero."""
    wanted = truth.to(found.dtype) + torch.zeros_like(found)
    size = float(wanted.abs().mean())
    return float((found - wanted).abs().mean()) / (size if size > 0.0 else 1.0)


@dataclass(frozen=True, repr=False)
class Result:
    """Result of a fit.

    Example:
        result = fit(scene, video, {"mass": 2.0})
        print(result["mass"], result.verdict.level)

    Args:
        estimates: One estimate for each unknown.
        z: (n,), the vector found.
        loss: Loss at the end, on the frames of the fit.
        start_loss: Loss at the start.
        reason: Reason for the end of the fit.
        iterations: Number of iterations.
        evaluations: Number of losses evaluated.
        seconds: Time of the fit without compiling [s].
        memory: Peak memory of the process [bytes].
        holdout_loss: Loss at the end on the holdout; None without one.
        holdout_start_loss: Loss at the start on the holdout.
        track_pixels: Root mean square distance of the object's centroid from its track [px]; None without tracks.
        holdout_pixels: Same distance on the holdout [px].
        uncertainty: The uncertainty, or the reason for having none.
        gradient: The gradient check at the start, or the reason for having none.
        shares: Time by part of the work [s].
        history: Records of all iterations.
        interrupted: True if the user stopped the fit.
        views: Loss of each view, if there are several.
        verdict: Judgement of the fit.
        compiling: Time for compiling programs, in a first run only [s].
        wide: Comparison of the gradient at the start with differences of +-2 %; None if it was not made.
        goal: Outcome of a fit to a goal.
        scores: Errors by part of the data, such as "holdout", and kind.
        experiment: Experiment that was fitted, for ``report``; None for results that were loaded or pickled.
    """

    estimates: tuple[Estimate, ...]
    z: Tensor
    loss: float
    start_loss: float
    reason: str
    iterations: int
    evaluations: int
    seconds: float
    memory: int
    holdout_loss: float | None = None
    holdout_start_loss: float | None = None
    track_pixels: float | None = None
    holdout_pixels: float | None = None
    uncertainty: Uncertainty | str = "not asked for"
    gradient: GradientCheck | str = "not asked for"
    shares: Mapping[str, float] = field(default_factory=dict)
    history: tuple[Record, ...] = ()
    interrupted: bool = False
    views: Mapping[str, float] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=lambda: skip_judgement("not asked for"))
    compiling: float = 0.0
    wide: WideComparison | None = None
    goal: GoalOutcome | None = None
    scores: Mapping[str, Mapping[str, Tensor]] = field(default_factory=dict)
    experiment: AbstractExperiment | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        from diffloom_fitting.result_tables import summarise

        return summarise(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "experiment": None}

    @property
    def steps(self) -> int:
        """Number of iterations that moved: all except the first of each stage, which evaluates its start."""
        return sum(record.iteration > 0 for record in self.history)

    @property
    def seconds_per_iteration(self) -> float:
        """Mean time of an iteration [s]."""
        return self.seconds / max(1, self.iterations)

    def __getitem__(self, name: str) -> Tensor:
        """Return the estimate of one unknown, in its unit."""
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate.found
        raise KeyError(f"no unknown {name!r}; there are: {', '.join(e.name for e in self.estimates)}")

    def save(self, folder: str | Path) -> Path:
        """Write result.json and history.jsonl, which `load` reads.

        Args:
            folder: The folder, made if it does not exist.

        Returns:
            The folder.
        """
        return save_result(folder, self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Plot the loss and the unknowns over the iterations.

        Args:
            path: File to write, such as "fit.png"; None for none.

        Returns:
            A figure of matplotlib.
        """
        return use_display("plot", "Result.plot", self, path)

    def report(self, path: str | Path) -> Path:
        """Write the report, the page that `diffloom run` writes.

        Args:
            path: Page to write, such as "fit.html"; or a folder for the page with its plots and videos.

        Returns:
            Path of the page.
        """
        written: Path = use_display("report", "Result.report", self, path)
        return written

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain data, the content of result.json.

        Returns:
            Numbers, texts, lists and dicts.
        """
        return result_data(self)

    def to_frame(self) -> Any:
        """Return the estimates as a data frame, with a row for each number.

        Returns:
            A ``pandas.DataFrame`` with the columns found, deviation, unit, start, truth and error; of unknowns with
            several numbers the index is "velocity[0]" and so on.

        Raises:
            InputError: pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise InputError("Result.to_frame needs pandas, which is not installed: pip install pandas") from error
        rows = [row for estimate in self.estimates for row in _list_rows(estimate)]
        return pandas.DataFrame(rows).set_index("unknown")

    @staticmethod
    def load(folder: str | Path) -> Result:
        """Read the result of a run.

        Args:
            folder: Folder that ``save`` or `diffloom run` wrote.

        Returns:
            The result.
        """
        return load_result(folder)

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("result", self)

    def __str__(self) -> str:
        from diffloom_fitting.result_tables import plain_table

        return plain_table(self)


def _list_rows(estimate: Estimate) -> list[dict[str, Any]]:
    """Return a row of a data frame for each number of an estimate."""
    found = estimate.found

    def entries(value: Tensor | None) -> list[float]:
        return (
            [math.nan] * found.numel() if value is None else value.to(found.dtype).expand_as(found).flatten().tolist()
        )

    names = [estimate.name]
    if found.dim():
        places = itertools.product(*map(range, found.shape))
        names = [f"{estimate.name}[{', '.join(map(str, place))}]" for place in places]
    columns = (entries(v) for v in (found, estimate.deviation, estimate.start, estimate.truth))
    return [
        {"unknown": name, "found": value, "deviation": deviation, "unit": estimate.unit, "start": start, "truth": truth,
         "error": abs(value - truth)}
        for name, value, deviation, start, truth in zip(names, *columns, strict=True)
    ]  # fmt: skip


def save_result(folder: str | Path, result: Result) -> Path:
    """Write result.json and history.jsonl.

    Args:
        folder: The folder, made if it does not exist.
        result: The result.

    Returns:
        The folder.
    """
    place = Path(folder)
    with explain_errors(place):
        place.mkdir(parents=True, exist_ok=True)
    rewrite_history(place / "history.jsonl", list(result.history))
    write_result(place / "result.json", result)
    return place


def load_result(folder: str | Path) -> Result:
    """Read the result of a run.

    Args:
        folder: The folder, or its result.json.

    Returns:
        The result.

    Raises:
        FolderError: There is no result, or it is of another version.
    """
    place = Path(folder) / "result.json" if Path(folder).is_dir() else Path(folder)
    text = read_text(place, MOST_BYTES, what="result", follow=False, error=FolderError)
    try:
        data = json.loads(text)
        check_texts(str(place), data)
        return decode_result(data, tuple(read_history(place.with_name("history.jsonl"))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FolderError(
            f"{str(place)!r} is no result of this version ({type(error).__name__}: {error}); run the fit again"
        ) from error


def write_result(path: Path, result: Result) -> None:
    """Write a result as JSON.

    Args:
        path: The file.
        result: The result.
    """
    write_text(path, json.dumps(result_data(result), indent=2) + "\n")


def result_data(result: Result) -> dict[str, Any]:
    """Convert a result to plain data, without its history.

    Args:
        result: The result.

    Returns:
        Data for JSON.
    """
    check, sure = result.gradient, result.uncertainty
    return {
        "verdict": result.verdict.data(),
        "estimates": [
            {
                "name": e.name,
                "unit": e.unit,
                "start": e.start.tolist(),
                "found": e.found.tolist(),
                "deviation": _list(e.deviation),
                "caveat": e.caveat,
                "interval": None if e.interval is None else [_list(end) for end in e.interval],
                "truth": _list(e.truth),
                "error": e.error,
                "start_error": e.start_error,
            }
            for e in result.estimates
        ],
        "z": result.z.tolist(),
        "dtype": str(result.z.dtype).removeprefix("torch."),
        "loss": result.loss,
        "start_loss": result.start_loss,
        "view_losses": dict(result.views),
        "holdout_loss": result.holdout_loss,
        "holdout_start_loss": result.holdout_start_loss,
        "track_pixels": result.track_pixels,
        "holdout_pixels": result.holdout_pixels,
        "reason": result.reason,
        "interrupted": result.interrupted,
        "iterations": result.iterations,
        "goal": None if result.goal is None else asdict(result.goal),
        "scores": {part: {kind: _list(v) for kind, v in told.items()} for part, told in result.scores.items()},
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "compile_seconds": result.compiling,
        "seconds_by_part": dict(result.shares),
        "peak_memory_bytes": result.memory,
        "gradient_check": (
            {
                "worst": check.worst,
                "passed": check.passed,
                "tolerance": check.tolerance,
                "drawn_by": check.drawn_by,
                "rows": [asdict(row) for row in check.rows],
            }
            if isinstance(check, GradientCheck)
            else check
        ),
        "uncertainty": _uncertainty_data(sure) if isinstance(sure, Uncertainty) else sure,
    }


def _uncertainty_data(sure: Uncertainty) -> dict[str, Any]:
    told = {part.name: getattr(sure, part.name) for part in fields(sure) if part.name not in ("posterior", "ledger")}
    if sure.ledger != Ledger():
        told["ledger"] = encode_ledger(sure.ledger)
    if not sure.meaning:
        del told["meaning"]
    told |= {
        "deviation": {name: _list(value) for name, value in sure.deviation.items()},
        "condition": sure.condition if math.isfinite(sure.condition) else None,
        "correlation": _list(sure.correlation),
    }
    return told


def decode_result(data: dict[str, Any], history: tuple[Record, ...] = ()) -> Result:
    """Invert `result_data`."""
    dtype = getattr(torch, data["dtype"])
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype is {data['dtype']!r}")

    def tensor(value: Any) -> Tensor:
        return torch.tensor(_with_nan(value), dtype=dtype)

    def optional(value: Any) -> Tensor | None:
        return None if value is None else tensor(value)

    estimates = tuple(
        Estimate(e["name"], e["unit"], tensor(e["start"]), tensor(e["found"]), optional(e["deviation"]),
                 optional(e["truth"]), e["caveat"], _interval(e["interval"], tensor))
        for e in data["estimates"]
    )  # fmt: skip
    verdict, check, sure = data["verdict"], data["gradient_check"], data["uncertainty"]
    findings = {part: VerdictPart(verdict["levels"][part], verdict[part]) for part in PARTS}
    if isinstance(check, dict):
        check = GradientCheck(
            tuple(CheckedDirection(**row) for row in check["rows"]), check["tolerance"], check.get("drawn_by", "")
        )
    if isinstance(sure, dict):
        sure = _uncertainty(sure, tensor)
    return Result(
        estimates, tensor(data["z"]), data["loss"], data["start_loss"], data["reason"], data["iterations"],
        data["evaluations"], data["seconds"], data["peak_memory_bytes"], data["holdout_loss"],
        data["holdout_start_loss"], data["track_pixels"], data["holdout_pixels"], sure, check, data["seconds_by_part"],
        history, data["interrupted"], data["view_losses"],
        Verdict(**findings, undetermined=tuple(verdict["undetermined"])), data["compile_seconds"],
        goal=None if data["goal"] is None else GoalOutcome(**data["goal"]),
        scores={part: {kind: tensor(v) for kind, v in told.items()} for part, told in data["scores"].items()},
    )  # fmt: skip


def _interval(ends: list[Any] | None, tensor: Callable[[Any], Tensor]) -> tuple[Tensor, Tensor] | None:
    return None if ends is None else (tensor(ends[0]), tensor(ends[1]))


def _uncertainty(data: dict[str, Any], tensor: Callable[[Any], Tensor]) -> Uncertainty:
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    told["ledger"] = decode_ledger(data.get("ledger", {}))
    told["deviation"] = {name: tensor(value) for name, value in data["deviation"].items()}
    told["condition"] = math.inf if data["condition"] is None else data["condition"]
    return Uncertainty(**{**told, "correlation": tensor(data["correlation"])})


def _list(value: Tensor | None) -> Any:
    return None if value is None else _without_nan(value.tolist())


def _without_nan(value: Any) -> Any:
    """Replace NaN, which JSON lacks, by null."""
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if math.isnan(value) else value


def _with_nan(value: Any) -> Any:
    """Replace null by NaN."""
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value
