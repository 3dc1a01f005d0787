"""One self-contained page."""

from __future__ import annotations

import base64
import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from PIL import Image

from diffloom.interfaces import InputError
from diffloom_fitting.accepting import instance
from diffloom_fitting.accepting import shown as told
from diffloom_fitting.console.numbers import (
    memory,
    number,
    percent,
    pretty_unit,
    seconds,
    shown,
    shown_lines,
    with_caveat,
)
from diffloom_fitting.console.tables import found_word, result_lines
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.gradient_check import GradientCheck
from diffloom_fitting.report.control_page import control_page
from diffloom_fitting.report.panels import Panels, render_panels, side_by_side, strip
from diffloom_fitting.report.plots import loss_plot, parameter_plot, parameter_plots
from diffloom_fitting.report.video import frame_rate, write_video
from diffloom_fitting.result import Result
from diffloom_fitting.run_folder.versions import versions
from diffloom_fitting.run_folder.writing import explained, write_bytes, write_text
from diffloom_fitting.stopwatch import PARTS


def write_report(
    folder: str | Path, experiment: Experiment, result: Result, *, text: str = "", config: Any = None
) -> Path:
    """Write video, strip, plots and report.html into ``folder``, made if need be; returns the report's path."""
    if not isinstance(folder, str | Path):
        raise InputError(f"write_report: folder: got {told(folder)}; expected the path of a folder")
    instance("write_report: experiment", experiment, Experiment)
    instance("write_report: result", result, Result)
    folder = Path(folder)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    seen = [
        _write_view(folder, experiment, result, label, p) for label, p in render_panels(experiment, result.z).items()
    ]
    loss = loss_plot(result)
    write_text(folder / "loss.svg", loss)
    write_text(folder / "parameters.svg", parameter_plot(result))
    control = control_page(folder, experiment, result)
    page = _template().render(
        title=experiment.title,
        text=text,
        verdict=result.verdict if result.uncertainty != "not asked for" else None,
        headline=headline(result),
        cards=cards(result),
        rows=rows(result),
        known=any(e.truth is not None for e in result.estimates),
        lines=result_lines(result),
        seen=seen,
        control=control,
        loss=loss,
        drawings=parameter_plots(result),
        shares=shares(result),
        check=result.gradient if isinstance(result.gradient, GradientCheck) else None,
        config="" if config is None else json.dumps(config, indent=2),
        versions=versions(),
    )
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _write_view(folder: Path, experiment: Experiment, result: Result, label: str, panels: Panels) -> dict[str, Any]:
    """Write video and strip of one view, video-<label>.mp4 and strip-<label>.png where it has a label; returns what the
    page says of it."""
    ending = f"-{label}" if label else ""
    video, still = folder / f"video{ending}.mp4", folder / f"strip{ending}.png"
    write_video(video, side_by_side(panels, label), frame_rate(panels.times))
    image = io.BytesIO()
    Image.fromarray(strip(panels, label)).save(image, format="PNG")
    write_bytes(still, image.getvalue())
    target = experiment.target.by_view()[label]
    holdout = None if experiment.holdout is None else experiment.holdout.by_view().get(label)
    return {
        "label": label,
        "video": _embedded(video, "video/mp4"),
        "strip": _embedded(still, "image/png"),
        "source": Path(target.source).name,
        "frames": len(target),
        "holdout": 0 if holdout is None else len(holdout),
        "loss": number(result.views[label], 3) if label in result.views else "",
        "offset": experiment.scene.viewpoints[label].time_offset,
    }


def headline(result: Result) -> str:
    """What was found, in a sentence."""
    if result.goal is not None:
        told = result.goal.words(result.steps)
        return f"{told[0].upper()}{told[1:]}."
    parts = []
    for e in result.estimates[:4]:
        unit = f" {pretty_unit(e.unit)}" if e.unit else ""
        told = f"{e.name} = {shown(e.found, e.deviation if e.found.numel() == 1 else None)}{unit}"
        told = with_caveat(told, e.caveat)
        parts.append(told + (f", {percent(e.error)} from the truth" if e.error is not None else ""))
    more = len(result.estimates) - 4
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."


def cards(result: Result) -> list[tuple[str, str]]:
    """The key figures: (figure, what it is)."""
    found = [
        (number(result.loss, 3), f"loss, from {number(result.start_loss, 3)}"),
        (str(result.iterations), "iterations"),
        (seconds(result.seconds), "fitting time"),
        (seconds(result.seconds_per_iteration), "per iteration"),
        (memory(result.memory), "peak memory"),
    ]
    if result.compiling >= 0.5:
        found.insert(4, (seconds(result.compiling), "compiling, once"))
    if result.holdout_loss is not None:
        found.insert(1, (number(result.holdout_loss, 3), "loss on frames kept aside"))
    return found


def rows(result: Result) -> list[dict[str, list[str]]]:
    """The table of estimates, each cell in lines; truth and error only where a truth is known."""
    known = any(e.truth is not None for e in result.estimates)
    found = []
    for e in result.estimates:
        row = {
            "unknown": [e.name],
            "unit": [pretty_unit(e.unit)],
            "start": shown_lines(e.start),
            found_word(result): [*shown_lines(e.found, e.deviation), *([f"({e.caveat})"] if e.caveat else [])],
        }
        if known:
            row |= {"truth": [] if e.truth is None else shown_lines(e.truth), "error": [percent(e.error)]}
        found.append(row)
    return found


def shares(result: Result) -> list[tuple[str, float, str]]:
    """Where the time went: (part, percent of all, seconds)."""
    total = sum(result.shares.values())
    parts = [p for p in PARTS if p in result.shares]
    return [(p, 100.0 * result.shares[p] / total, seconds(result.shares[p])) for p in parts] if total > 0.0 else []


def _embedded(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode('ascii')}"


def _template() -> jinja2.Template:
    source = files("diffloom_fitting.report").joinpath("template.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.from_string(source)
