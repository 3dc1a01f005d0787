"""What a fit found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from diffloom_fitting.goal_outcome import Reached
from diffloom_fitting.gradient_check import GradientCheck
from diffloom_fitting.loop import Record
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import Verdict, not_judged
from diffloom_testing.wide import WideComparison


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
    verdict: Verdict = field(default_factory=lambda: not_judged("not asked for"))
    compiling: float = 0.0
    wide: WideComparison | None = None
    goal: Reached | None = None
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
        from diffloom_fitting.result_file import save_result

        return save_result(folder, self)

    @staticmethod
    def load(folder: str | Path) -> Result:
        """The result of a run, from the folder that ``save`` or `diffloom run` wrote."""
        from diffloom_fitting.result_file import load_result

        return load_result(folder)

    def _repr_html_(self) -> str:
        from diffloom_fitting.display import html_of

        return html_of("result", self)

    def __str__(self) -> str:
        from diffloom_fitting.result_tables import plain_table

        return plain_table(self)
