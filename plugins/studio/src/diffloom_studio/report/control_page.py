"""Parts of the report that only control runs have: the whole motion, the controls, and the path of the body."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from diffloom.interfaces import NoGradient
from diffloom.regular_files import read_bytes
from diffloom_fitting import Experiment, Result
from diffloom_fitting.files import write_bytes
from diffloom_fitting.scene import View
from diffloom_studio.report.charts import BLUE, GREY, ORANGE, Chart, Curve
from diffloom_studio.report.media import Frames, to_bytes, write_video
from diffloom_studio.report.page_data import embed
from diffloom_studio.report.panels import enlarge, label_frames

RATE, MOST = 30.0, 240  # frames per second of the motion, and their largest number
FEW = 6  # largest number of channels drawn as lines; more make a heat map
WIDE, HIGH = 720, 240  # largest heat map [px]
COLOURS = (BLUE, ORANGE, "#2c8a57", "#a23b72", "#8a6d1d", GREY)


def is_controlled(experiment: Experiment) -> bool:
    """Return True if a run seeks a control, or a goal."""
    sought = any(slot.name.startswith(("control.", "policy.")) for slot in experiment.layout.slots)
    return sought or experiment.target.goal


def write_control_page(folder: Path, experiment: Experiment, result: Result) -> dict[str, Any] | None:
    """Write motion.mp4 and the controls' charts into ``folder``; return the page's values, None for other runs."""
    if not is_controlled(experiment):
        return None
    label, target = next(iter(experiment.target.by_view().items()))
    scene = experiment.scene.select_view(label)
    offset = scene.viewpoint.time_offset
    span = scene.steps * scene.dt
    count = max(2, min(MOST, round(span * RATE)))
    times = torch.linspace(max(0.0, offset), span, count, dtype=torch.float64)
    with torch.no_grad():
        view = scene.render(experiment.layout.decode(result.z), times, ("rgba",), NoGradient())
    motion = folder / "motion.mp4"
    write_video(motion, _join_motion(view, target.frames, target.masks, target.times + offset), (count - 1) / span)
    charts = [_chart_control(folder, name, rows, scene.dt) for name, rows in view.control.items()]
    return {
        "motion": embed(read_bytes(motion, 2**30, follow=False), "video/mp4"),
        "controls": charts,
        "path": _chart_path(view, experiment).svg(),
        "effort": result.goal.effort if result.goal is not None else None,
    }


def _join_motion(view: View, frames: Tensor | None, masks: Tensor | None, at: Tensor) -> Frames:
    """Return the motion beside the goal that comes next."""
    assert view.image is not None
    moving = label_frames("motion", enlarge(view.image.bytes()[..., :3].numpy()))
    wanted = frames if frames is not None else masks
    if wanted is None:
        return moving
    following = torch.searchsorted(at, view.times - 1e-9).clamp(max=len(at) - 1).numpy()
    return np.concatenate([moving, label_frames("goal", enlarge(to_bytes(wanted)))[following]], axis=2)


def _chart_control(folder: Path, name: str, rows: Tensor, dt: float) -> dict[str, str]:
    """Return one control over time: lines of a few channels, a heat map of many."""
    channels = rows.reshape(len(rows), -1).detach()
    most = float(channels.abs().max())
    told = {"name": name, "most": f"{most:.3g}", "channels": str(channels.shape[1]), "svg": "", "png": ""}
    if channels.shape[1] <= FEW:
        step = max(1, len(rows) // 600)
        xs = [k * dt for k in range(0, len(rows), step)]
        curves = [
            Curve(xs, channels[::step, k].tolist(), COLOURS[k], f"{k}" if channels.shape[1] > 1 else None)
            for k in range(channels.shape[1])
        ]
        return told | {"svg": Chart(curves, "time [s]", name, whole=False).svg()}
    drawn = io.BytesIO()
    Image.fromarray(draw_heat_map(channels.T, most)).save(drawn, format="PNG")
    write_bytes(folder / f"control-{name}.png", drawn.getvalue())
    return told | {"png": embed(drawn.getvalue(), "image/png")}


def draw_heat_map(values: Tensor, most: float) -> Frames:
    """Return (height, width, 3): values (channels, steps) from -most (blue) over 0 (white) to most (orange)."""
    size = (min(HIGH, values.shape[0]), min(WIDE, values.shape[1]))
    small = torch.nn.functional.interpolate(values[None, None].double(), size=size, mode="area")[0, 0]
    part = (small / (most or 1.0)).clamp(-1.0, 1.0)[..., None]
    blue, orange = (torch.tensor(c, dtype=torch.float64) for c in ((31, 95, 168), (217, 99, 43)))
    colour = torch.where(part < 0.0, 255.0 + part.abs() * (blue - 255.0), 255.0 + part * (orange - 255.0))
    image: Frames = np.repeat(colour.round().to(torch.uint8).numpy(), max(1, 160 // size[0]), axis=0)
    return image


def _chart_path(view: View, experiment: Experiment) -> Chart:
    """Return the middle of the drawn vertices over time; dashed: its last goal."""
    assert view.vertices is not None
    middle = view.vertices.detach().cpu().mean(dim=1)
    xs = view.times.tolist()
    curves = [Curve(xs, middle[:, k].tolist(), COLOURS[k], "xyz"[k]) for k in range(3)]
    target = next(iter(experiment.target.by_view().values()))
    wanted = target.q[-1, :, :3].mean(dim=0).tolist() if target.q is not None and target.q.shape[-1] in (3, 7) else []
    return Chart(curves, "time [s]", "middle [m]", wanted, whole=False)
