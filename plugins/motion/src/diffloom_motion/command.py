"""`diffloom run` of a file about measured motion: the fit as it goes, what was found, and result.json."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffloom_experiments import RunFolder
from diffloom_experiments.kinds import load_any
from diffloom_motion.files import MotionExperiment, build_loaded
from diffloom_motion.fits import MotionResult
from diffloom_motion.scoring import Score


def run_motion(
    file: str, *, settings: Sequence[str] = (), quick: bool = False, variants: Sequence[str] = (),
    seed: int | None = None, out: str | None = None, overwrite: bool = False,
) -> MotionResult:  # fmt: skip
    """Carry out `diffloom run` on a file about measured motion: fit, print, and write a run folder with result.json.

    Args:
        file: The experiment file.
        settings: Changes as texts, such as "recording.file=other.npz".
        quick: True to put in the file's [variants.quick].
        variants: Names of further [variants.*] tables to put in.
        seed: Seed of every draw instead of the file's.
        out: Folder of the run; runs/ and the file's name unless given.
        overwrite: True to replace a run that the folder holds.
    """
    console = Console()
    changes = {} if seed is None else {"seed": seed}
    loaded = load_any(file, settings=settings, changes=changes, quick=quick, variants=variants)
    # Built before a folder is made, so that a bad file leaves nothing behind.
    experiment = build_loaded(loaded)
    place = RunFolder.prepare(out, Path(file).stem, overwrite, loaded).path
    aside = 0 if experiment.holdout is None else len(experiment.holdout.clips)
    told(console, f"{experiment.content.title}: {len(experiment.problem.clips)} clips, {aside} kept aside")

    def watch(stage: int, step: int, loss: float, values: dict[str, tuple[float, ...]]) -> None:
        numbers = "  ".join(f"{name} {' '.join(f'{x:.5g}' for x in value)}" for name, value in values.items())
        told(console, f"stage {stage + 1}/{len(experiment.stages)} step {step + 1}: loss {loss:.4g}  {numbers}")

    result = experiment.run(watch)
    console.print(result_table(experiment, result))
    for line in score_lines(experiment, result):
        told(console, line)
    (place / "result.json").write_text(json.dumps(summary(experiment, result), indent=1), encoding="utf-8")
    told(console, f"result: {place / 'result.json'}")
    return result


def told(console: Console, line: str) -> None:
    """One line as it is."""
    console.print(line, highlight=False, soft_wrap=True, markup=False)


def result_table(experiment: MotionExperiment, result: MotionResult) -> Table:
    """What was found, with standard deviations, beside what others say."""
    table = Table(header_style="bold")
    for name in ("unknown", "start", "found", "documented"):
        table.add_column(name, justify="left" if name == "unknown" else "right")
    for estimate in result.estimates:
        said = experiment.content.documented.get(estimate.name)
        for i, (start, found, off) in enumerate(zip(estimate.start, estimate.found, estimate.deviation, strict=True)):
            name = estimate.name if len(estimate.start) == 1 else f"{estimate.name}[{i}]"
            beside = "" if said is None else str(said[i] if isinstance(said, list) else said)
            table.add_row(*map(Text, (name, f"{start:.6g}", shown_with(found, off), beside)))
    return table


def shown_with(found: float, deviation: float) -> str:
    """A number with its standard deviation."""
    return f"{found:.5g}" if not np.isfinite(deviation) else f"{found:.5g} ± {deviation:.2g}"


def score_lines(experiment: MotionExperiment, result: MotionResult) -> list[str]:
    """Loss and mean errors, one sentence a line."""
    lines = [
        f"loss {result.start_loss:.4g} -> {result.loss:.4g} m^2 in {result.iterations} steps, {result.seconds:.0f} s "
        f"({result.processor_seconds:.0f} s of one processor)"
    ]
    numbers, count = sum(len(estimate.found) for estimate in result.estimates), len(experiment.problem.clips)
    if count <= numbers:
        lines.append(f"{count} clips are fitted to {numbers} numbers: ± takes more clips than numbers that are free")
    parts = (
        ("clips of the fit", result.fitted),
        ("clips kept aside", result.holdout),
        ("clips kept aside, with the values at the start", result.before),
    )
    for words, score in parts:
        if score is not None:
            lines.append(f"{words}: {score_words(score, experiment.content.width)}")
    return lines


def score_words(score: Score, width: float | None) -> str:
    """Mean errors over clips, and the median clip's."""
    place = f"{1e3 * score.mean_position:.2f} mm" if width is None else f"{100 * score.mean_position / width:.2f} %"
    of = "" if width is None else " of the width"
    middle = f"{np.degrees(np.median(score.rotation)):.2f}"
    joint = "" if score.joint is None else f", joints {score.mean_joint_degrees:.2f} degrees"
    return (
        f"position {place}{of}, rotation {score.mean_degrees:.2f} degrees{joint}, "
        f"mean over {len(score.position)} clips (median {middle} degrees)"
    )


def summary(experiment: MotionExperiment, result: MotionResult) -> dict[str, Any]:
    """Everything as plain data."""
    scores = {"fit": result.fitted, "holdout": result.holdout, "before": result.before}
    return {
        "title": experiment.content.title,
        "start_loss": result.start_loss,
        "loss": result.loss,
        "iterations": result.iterations,
        "seconds": result.seconds,
        "processor_seconds": result.processor_seconds,
        "estimates": [asdict(estimate) for estimate in result.estimates],
        **{
            name: {"position": score.position.tolist(), "rotation": score.rotation.tolist()}
            | ({} if score.joint is None else {"joint": score.joint.tolist()})
            for name, score in scores.items()
            if score is not None
        },
    }
