"""Scenes, targets and results as HTML, for notebooks."""

from __future__ import annotations

from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from diffloom.notebook import format_html_table, format_tensor
from diffloom_fitting.numbers import format_unit
from diffloom_studio.report.media import find_frame_rate, to_bytes, write_video
from diffloom_studio.report.page_data import embed
from diffloom_studio.report.panels import enlarge

if TYPE_CHECKING:
    from diffloom_fitting import Result
    from diffloom_fitting.scene import Scene
    from diffloom_fitting.targets import Target


LEVELS = {"green": "#1d7f4e", "amber": "#94650b", "red": "#b3361f"}
MOST_FRAMES = 120


def format_target(target: Target) -> str:
    """Return the video, playing, and a table of its frames, times, size and true values."""
    size = target.size
    rows = [("frames", str(len(target)))]
    if len(target):
        rows.append(("times [s]", f"{float(target.times[0]):.4g} to {float(target.times[-1]):.4g}"))
    if size is not None:
        rows.append(("size [px]", f"{size[1]} × {size[0]}"))
    if target.source:
        rows.append(("source", Path(target.source).name))
    rows += [(f"true {name}", format_tensor(value)) for name, value in target.truth.items()]
    return format_html_table(("target", ""), rows) + _make_video(target)


def _make_video(target: Target) -> str:
    """Return the frames of a target as an HTML video."""
    images = target.frames if target.frames is not None else target.masks
    if images is None or len(target) == 0:
        return ""
    every = -(-len(target) // MOST_FRAMES)
    frames = to_bytes(images[::every])
    with TemporaryDirectory() as folder:
        place = Path(folder) / "target.mp4"
        write_video(place, np.ascontiguousarray(enlarge(frames)), find_frame_rate(target.times[::every].numpy()))
        return f'<video src="{embed(place.read_bytes(), "video/mp4")}" controls loop muted autoplay></video>'


def format_scene(scene: Scene) -> str:
    """Return the parts of a scene, and its parameters with their units."""
    views = ", ".join(
        f"{label or type(view.camera).__name__} {view.size[1]} × {view.size[0]} px"
        for label, view in scene.viewpoints.items()
    )
    integrator = scene.integrator if isinstance(scene.integrator, str) else type(scene.integrator).__name__
    rows = [
        ("model", type(scene.model).__name__),
        ("renderer", type(scene.renderer).__name__),
        ("cameras", views),
        ("time", f"{scene.steps} steps of {scene.dt:g} s, {scene.steps * scene.dt:g} s in all"),
        ("integrator", "the model's own" if scene.integrator is None else integrator),
    ]
    specs = {spec.name: spec for spec in scene.model.specs}
    units = {name: format_unit(spec.unit) for name, spec in specs.items()}
    known = [(name, format_tensor(value), units[name], specs[name].doc) for name, value in scene.params.items()]
    return format_html_table(("scene", ""), rows) + format_html_table(("parameter", "value", "unit", "meaning"), known)


def format_result(result: Result) -> str:
    """Return the verdict, the estimates, the loss, and the sentences of `str(result)`."""
    from diffloom_fitting.result_tables import result_lines
    from diffloom_studio.report.charts import plot_loss
    from diffloom_studio.report.page_data import make_rows

    found = [{name: ", ".join(lines) for name, lines in row.items()} for row in make_rows(result)]
    table = format_html_table(list(found[0]), [list(row.values()) for row in found]) if found else ""
    badge = ""
    if result.uncertainty != "not asked for":
        level = result.verdict.level
        parts = "".join(f"<li>{part}: {escape(finding.text)}</li>" for part, finding in result.verdict.findings())
        badge = f'<p><b style="color: {LEVELS[level]}">verdict: {level}</b></p><ul>{parts}</ul>'
    lines = "".join(f"<p>{escape(line)}</p>" for line in result_lines(result))
    return badge + table + (plot_loss(result) if result.history else "") + lines
