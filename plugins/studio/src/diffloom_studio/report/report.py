"""One self-contained page."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2
from PIL import Image

from diffloom.interfaces import InputError
from diffloom_experiments.run_folder import collect_versions
from diffloom_fitting import AbstractExperiment, Experiment, GradientCheck, Result
from diffloom_fitting.files import explained, write_bytes, write_text
from diffloom_fitting.numbers import number
from diffloom_fitting.result_tables import result_lines
from diffloom_fitting.validation import instance, shown as told
from diffloom_studio.report.charts import loss_plot, parameter_plot, parameter_plots
from diffloom_studio.report.control_page import control_page
from diffloom_studio.report.media import frame_rate, write_video
from diffloom_studio.report.page_data import advice, cards, cite, embedded, headline, page_data, rows, shares
from diffloom_studio.report.panels import Panels, render_panels, side_by_side, strip

#: What is put into the page as it stands.
PARTS = {"style": "css", "viewer": "js", "player": "js"}


def write_report(
    folder: str | Path, experiment: AbstractExperiment, result: Result, *, text: str = "", config: Any = None
) -> Path:
    """Write plots, report.html, and of an experiment with videos video and strip into ``folder``, made if need be;
    returns the report's path."""
    if not isinstance(folder, str | Path):
        raise InputError(f"write_report: folder: got {told(folder)}; expected the path of a folder")
    instance("write_report: experiment", experiment, AbstractExperiment)  # type: ignore[type-abstract]
    instance("write_report: result", result, Result)
    folder = Path(folder)
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    seen, control = list[dict[str, Any]](), None
    data: dict[str, Any] = {"views": [], "scene": None, "first": 0.0, "last": 0.0}
    if isinstance(experiment, Experiment):
        drawn = render_panels(experiment, result.z)
        seen = [_write_view(folder, experiment, result, label, panels) for label, panels in drawn.items()]
        data, control = page_data(drawn, experiment.scene), control_page(folder, experiment, result)
    write_text(folder / "loss.svg", loss_plot(result))
    write_text(folder / "parameters.svg", parameter_plot(result))
    said = {"title": experiment.title, "text": text, "cite": cite(experiment.title, result, config)}
    said["config"] = "" if config is None else json.dumps(config, indent=2)
    page = _template().render(**said, control=control, **_found(experiment, result), **_shown(seen, data))
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _found(experiment: AbstractExperiment, result: Result) -> dict[str, Any]:
    """What the page says of the result."""
    return {
        "verdict": result.verdict if result.uncertainty != "not asked for" else None,
        "advice": advice(result, isinstance(experiment, Experiment)) if result.uncertainty != "not asked for" else [],
        "headline": headline(result),
        "cards": cards(result),
        "rows": rows(result),
        "known": any(e.truth is not None for e in result.estimates),
        "lines": [*result_lines(result), *experiment.lines(result)],
        "drawings": [loss_plot(result), *parameter_plots(result)],
        "shares": shares(result),
        "check": result.gradient if isinstance(result.gradient, GradientCheck) else None,
        "versions": collect_versions(),
    }


def _shown(seen: list[dict[str, Any]], data: dict[str, Any]) -> dict[str, Any]:
    """What the page shows of the views, and the data of its scripts."""
    scene = data["scene"]
    return {
        "seen": seen,
        "bodies": [] if scene is None else [body["name"] for body in scene["bodies"]],
        "fields": [] if scene is None else list(scene["fields"]),
        "first": data["first"],
        "last": data["last"],
        # "</" would end the script it stands in.
        "data": json.dumps(data).replace("</", "<\\/"),
    }


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
        "panels": [name for name in ("target", "start", "fit") if name != "target" or panels.target is not None],
        "width": int(panels.fit.shape[2]),
        "height": int(panels.fit.shape[1]),
        "strip": embedded(image.getvalue(), "image/png"),
        "source": Path(target.source).name,
        "frames": len(target),
        "holdout": 0 if holdout is None else len(holdout),
        "loss": number(result.views[label], 3) if label in result.views else "",
        "offset": experiment.scene.viewpoints[label].time_offset,
    }


def _template() -> jinja2.Template:
    """The page, with its style and scripts put in, so that it is one file."""
    folder = files("diffloom_studio.report").joinpath("page")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    parts = {name: folder.joinpath(f"{name}.{kind}").read_text(encoding="utf-8") for name, kind in PARTS.items()}
    template = environment.from_string(folder.joinpath("template.html").read_text(encoding="utf-8"))
    template.globals.update({f"{name}_part": text for name, text in parts.items()})
    return template
