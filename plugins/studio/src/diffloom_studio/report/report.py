"""Report of a fit: one self-contained page."""

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
from diffloom_fitting.files import explain_errors, write_bytes, write_text
from diffloom_fitting.numbers import format_number
from diffloom_fitting.result_tables import list_ledger, result_lines
from diffloom_fitting.validation import check_instance, describe_value as told
from diffloom_studio.report.advice import give_advice, list_commands
from diffloom_studio.report.charts import plot_each_parameter, plot_loss, plot_parameters
from diffloom_studio.report.control_page import write_control_page
from diffloom_studio.report.media import find_frame_rate, write_video
from diffloom_studio.report.page_data import (
    cite,
    embed,
    make_facts,
    make_headline,
    make_page_data,
    make_rows,
    make_shares,
)
from diffloom_studio.report.panels import Panels, draw_strip, join_panels, render_panels
from diffloom_studio.report.trust_charts import draw_correlations, plot_profiles

#: Files whose text the page includes.
PARTS = {"style": "css", "viewer": "js", "player": "js"}


def write_report(
    folder: str | Path, experiment: AbstractExperiment, result: Result, *, text: str = "", config: Any = None
) -> Path:
    """Write plots and report.html, and for an experiment with videos a video and a strip of frames.

    Args:
        folder: Folder to write into; made if missing.
        experiment: Experiment that was fitted.
        result: Result of the fit.
        text: Description of the experiment, shown on the page.
        config: Content of the experiment file, shown on the page.

    Returns:
        Path of the report.

    Example:
        result = run_fit(experiment)
        write_report("runs/ball", experiment, result)
    """
    if not isinstance(folder, str | Path):
        raise InputError(f"write_report: folder: got {told(folder)}; expected the path of a folder")
    check_instance("write_report: experiment", experiment, AbstractExperiment)  # type: ignore[type-abstract]
    check_instance("write_report: result", result, Result)
    folder = Path(folder)
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    seen, control = list[dict[str, Any]](), None
    data: dict[str, Any] = {"views": [], "scene": None, "first": 0.0, "last": 0.0}
    if isinstance(experiment, Experiment):
        drawn = render_panels(experiment, result.z)
        seen = [_write_view(folder, experiment, result, label, panels) for label, panels in drawn.items()]
        data, control = make_page_data(drawn, experiment.scene), write_control_page(folder, experiment, result)
    write_text(folder / "loss.svg", plot_loss(result))
    write_text(folder / "parameters.svg", plot_parameters(result))
    said = {"title": experiment.title, "text": text, "cite": cite(experiment.title, result, config)}
    said["config"] = "" if config is None else json.dumps(config, indent=2)
    page = _load_template().render(
        **said, control=control, **_describe_result(folder, experiment, result), **_describe_views(seen, data)
    )
    write_text(folder / "report.html", page)
    return folder / "report.html"


def _describe_result(folder: Path, experiment: AbstractExperiment, result: Result) -> dict[str, Any]:
    """Return the page's values for the result."""
    advice = give_advice(result, experiment) if result.uncertainty != "not asked for" else []
    return {
        "verdict": result.verdict if result.uncertainty != "not asked for" else None,
        "advice": advice,
        "commands": list_commands(folder, result, advice),
        "profiles": plot_profiles(experiment, result) if isinstance(experiment, Experiment) else [],
        "correlations": draw_correlations(result, experiment.layout.labels()),
        "headline": make_headline(result),
        "facts": make_facts(result),
        "rows": make_rows(result),
        "unknowns": len(result.estimates),
        "known": any(e.truth is not None for e in result.estimates),
        "ledger": list_ledger(result),
        "lines": [*result_lines(result), *experiment.lines(result)],
        "drawings": [plot_loss(result), *plot_each_parameter(result)],
        "shares": make_shares(result),
        "check": result.gradient if isinstance(result.gradient, GradientCheck) else None,
        "versions": collect_versions(),
    }


def _describe_views(seen: list[dict[str, Any]], data: dict[str, Any]) -> dict[str, Any]:
    """Return the page's values for the views, and the data of its scripts."""
    scene = data["scene"]
    return {
        "seen": seen,
        "bodies": [] if scene is None else [body["name"] for body in scene["bodies"]],
        "fields": [] if scene is None else list(scene["fields"]),
        "first": data["first"],
        "last": data["last"],
        # "</" would end the script.
        "data": json.dumps(data).replace("</", "<\\/"),
    }


def _write_view(folder: Path, experiment: Experiment, result: Result, label: str, panels: Panels) -> dict[str, Any]:
    """Write video and strip of one view, and return the page's values for it.

    The files are video-<label>.mp4 and strip-<label>.png where the view has a label.
    """
    ending = f"-{label}" if label else ""
    video, still = folder / f"video{ending}.mp4", folder / f"strip{ending}.png"
    write_video(video, join_panels(panels, label), find_frame_rate(panels.times))
    image = io.BytesIO()
    Image.fromarray(draw_strip(panels, label)).save(image, format="PNG")
    write_bytes(still, image.getvalue())
    target = experiment.target.by_view()[label]
    holdout = None if experiment.holdout is None else experiment.holdout.by_view().get(label)
    return {
        "label": label,
        "panels": [name for name in ("target", "start", "fit") if name != "target" or panels.target is not None],
        "width": int(panels.fit.shape[2]),
        "height": int(panels.fit.shape[1]),
        "strip": embed(image.getvalue(), "image/png"),
        "source": Path(target.source).name,
        "frames": len(target),
        "holdout": 0 if holdout is None else len(holdout),
        "loss": format_number(result.views[label], 3) if label in result.views else "",
        "offset": experiment.scene.viewpoints[label].time_offset,
    }


def _load_template() -> jinja2.Template:
    """Return the page's template, with style and scripts included, so that it is one file."""
    folder = files("diffloom_studio.report").joinpath("page")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    parts = {name: folder.joinpath(f"{name}.{kind}").read_text(encoding="utf-8") for name, kind in PARTS.items()}
    template = environment.from_string(folder.joinpath("template.html").read_text(encoding="utf-8"))
    template.globals.update({f"{name}_part": text for name, text in parts.items()})
    return template
