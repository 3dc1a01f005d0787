"""Result of a fit, and the file that holds it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from diffloom_fitting.checkpoints import read_history, rewrite_history
from diffloom_fitting.files import FolderError, explained, write_text
from diffloom_fitting.goal_outcome import GoalOutcome
from diffloom_fitting.gradient_check import CheckedDirection, GradientCheck
from diffloom_fitting.loop import Record
from diffloom_fitting.stopwatch import TIMED_PARTS
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import PARTS, Verdict, VerdictPart, skip_judgement
from diffloom_testing import WideComparison

__all__ = ["TIMED_PARTS", "Estimate", "Result", "load_result", "result_data", "save_result", "write_result"]
#: Largest result.json that is read [bytes].
MOST_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Estimate:
    """One unknown: where it started, what was found, how sure, and the truth where it is known; all in its unit.

    deviation: None where it is withheld, NaN for numbers that the pixels leave open. caveat: what stands beside it in
    place of a bare ±, such as "± withheld"; empty for a green fit. interval: the ends of the posterior's 95 %, where it
    was asked for.
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
        """Mean absolute error relative to the truth's mean size, or None without a truth."""
        return None if self.truth is None else relative_error(self.found, self.truth)

    @property
    def start_error(self) -> float | None:
        """The same of the start: what a fit had to make good."""
        return None if self.truth is None else relative_error(self.start, self.truth)


def relative_error(found: Tensor, truth: Tensor) -> float:
    """mean |found - truth| / mean |truth|; absolute when the truth is zero."""
    wanted = truth.to(found.dtype) + torch.zeros_like(found)
    size = float(wanted.abs().mean())
    return float((found - wanted).abs().mean()) / (size if size > 0.0 else 1.0)


@dataclass(frozen=True)
class Result:
    """The outcome of a fit.

    z: (n,) the vector found. loss, start_loss: on the frames used; holdout_loss, holdout_start_loss: on those kept
    aside (None without). track_pixels, holdout_pixels: rms distance of the object's centroid from its track [px], on
    either, where there are tracks. uncertainty: or the reason why there is none. gradient: the check at the start (None
    when not asked for). seconds: of the fit, without ``compiling``, which only a first run does; memory: peak of the
    process [bytes]; shares: seconds by part. interrupted: stopped by the user. views: the loss of each view by its
    label, where there are several. verdict: whether it can be trusted. wide: the gradient at the start beside
    differences of +-2 % (None when not asked for, or where these cannot be taken). goal: how it was met, where there is
    one. scores: by part of the data, such as "holdout", errors of what was compared, by kind.
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

    @property
    def steps(self) -> int:
        """Iterations that moved: without the first of each stage, which evaluates its start."""
        return sum(record.iteration > 0 for record in self.history)

    @property
    def seconds_per_iteration(self) -> float:
        """Mean time of an iteration [s]."""
        return self.seconds / max(1, self.iterations)

    def __getitem__(self, name: str) -> Tensor:
        """What was found for one unknown, in its unit."""
        for estimate in self.estimates:
            if estimate.name == name:
                return estimate.found
        raise KeyError(f"{name!r} was not sought; there are: {', '.join(e.name for e in self.estimates)}")

    def save(self, folder: str | Path) -> Path:
        """Write result.json and history.jsonl into ``folder``, made if need be; returns it. `load` reads them."""
        return save_result(folder, self)

    @staticmethod
    def load(folder: str | Path) -> Result:
        """The result of a run, from the folder that ``save`` or `diffloom run` wrote."""
        return load_result(folder)

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("result", self)

    def __str__(self) -> str:
        from diffloom_fitting.result_tables import plain_table

        return plain_table(self)


def save_result(folder: str | Path, result: Result) -> Path:
    """Write result.json and history.jsonl into ``folder``, made if need be; returns it."""
    place = Path(folder)
    with explained(place):
        place.mkdir(parents=True, exist_ok=True)
    rewrite_history(place / "history.jsonl", list(result.history))
    write_result(place / "result.json", result)
    return place


def load_result(folder: str | Path) -> Result:
    """The result in ``folder``; FolderError where there is none."""
    place = Path(folder) / "result.json" if Path(folder).is_dir() else Path(folder)
    with explained(place, "read"):
        if place.stat().st_size > MOST_BYTES:
            raise FolderError(f"{str(place)!r} is larger than a result can be")
        text = place.read_text(encoding="utf-8")
    try:
        return decode_result(json.loads(text), tuple(read_history(place.with_name("history.jsonl"))))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FolderError(
            f"{str(place)!r} is no result of this version ({type(error).__name__}: {error}); run the fit again"
        ) from error


def write_result(path: Path, result: Result) -> None:
    """Write the result as JSON."""
    write_text(path, json.dumps(result_data(result), indent=2) + "\n")


def result_data(result: Result) -> dict[str, Any]:
    """Plain data: everything but the history, which is in history.jsonl."""
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
                "rows": [asdict(row) for row in check.rows],
            }
            if isinstance(check, GradientCheck)
            else check
        ),
        "uncertainty": _uncertainty_data(sure) if isinstance(sure, Uncertainty) else sure,
    }


def _uncertainty_data(sure: Uncertainty) -> dict[str, Any]:
    told = {part.name: getattr(sure, part.name) for part in fields(sure) if part.name != "posterior"}
    if not sure.meaning:
        del told["meaning"]
    told |= {
        "deviation": {name: _list(value) for name, value in sure.deviation.items()},
        "condition": sure.condition if math.isfinite(sure.condition) else None,
        "correlation": _list(sure.correlation),
    }
    return told


def decode_result(data: dict[str, Any], history: tuple[Record, ...] = ()) -> Result:
    """The inverse of `result_data`."""
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
        check = GradientCheck(tuple(CheckedDirection(**row) for row in check["rows"]), check["tolerance"])
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
    told["deviation"] = {name: tensor(value) for name, value in data["deviation"].items()}
    told["condition"] = math.inf if data["condition"] is None else data["condition"]
    return Uncertainty(**{**told, "correlation": tensor(data["correlation"])})


def _list(value: Tensor | None) -> Any:
    return None if value is None else _without_nan(value.tolist())


def _without_nan(value: Any) -> Any:
    """NaN, which JSON has not, as null."""
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if math.isnan(value) else value


def _with_nan(value: Any) -> Any:
    """null as NaN."""
    if isinstance(value, list):
        return [_with_nan(item) for item in value]
    return math.nan if value is None else value
