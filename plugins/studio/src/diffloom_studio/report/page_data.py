"""Contents of the report page: summary, advice, citation, and the data of its scripts."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from diffloom.interfaces import Camera
from diffloom_fitting import Estimate, Result
from diffloom_fitting.numbers import (
    format_number,
    format_percent,
    format_seconds,
    format_unit,
    format_value_lines,
)
from diffloom_fitting.result_tables import get_estimate_heading
from diffloom_fitting.results import TIMED_PARTS
from diffloom_fitting.scene import Scene
from diffloom_studio.playback import (
    FIELDS,
    STIFF,
    PlaybackBody,
    ShadedField,
    compute_field,
    find_common_scale,
    format_scale,
)
from diffloom_studio.report.media import Frames
from diffloom_studio.report.panels import Panels, count_digits

MOST_PIXELS = 24e6  # largest sheet, because browsers refuse much larger images
LOSSLESS = 3e6  # pixels up to which a sheet keeps every bit
MOST_ROWS = 9  # numbers of a vector that each get a row
MOST_BYTES = 6e6  # largest size of all surfaces together


def make_page_data(seen: Mapping[str, Panels], scene: Scene) -> dict[str, Any]:
    """Return plain data for the scripts. Times are those of the simulation [s], which all views share.

    scene: the scene drawn, whose model gives the stress.
    """
    times = [panels.times + panels.offset for panels in seen.values()]
    return {
        "first": float(min(t.min() for t in times)),
        "last": float(max(t.max() for t in times)),
        "digits": max(count_digits(t) for t in times),
        "views": [_make_view(number, panels) for number, panels in enumerate(seen.values())],
        "scene": _make_scene(seen, scene),
    }


def _make_view(number: int, panels: Panels) -> dict[str, Any]:
    named = {"target": panels.target, "start": panels.guess, "fit": panels.fit}
    given = {name: frames for name, frames in named.items() if frames is not None}
    every = _find_step(panels.fit)
    count = len(panels.times[::every])
    columns = int(np.ceil(np.sqrt(count)))
    return {
        "number": number,
        "width": int(panels.fit.shape[2]),
        "height": int(panels.fit.shape[1]),
        "columns": columns,
        "times": (panels.times[::every] + panels.offset).tolist(),
        "offset": panels.offset,
        "panels": {name: _embed_sheet(frames[::every], columns) for name, frames in given.items()},
    }


def _find_step(frames: Frames) -> int:
    """Return the step between the frames kept, so that a sheet stays small enough."""
    return int(np.ceil(frames.shape[0] * frames.shape[1] * frames.shape[2] / MOST_PIXELS))


def _embed_sheet(frames: Frames, columns: int) -> str:
    """Return all frames in rows as one embedded image."""
    count, height, width, _ = frames.shape
    rows = -(-count // columns)
    sheet = np.zeros((rows, columns, height, width, 3), dtype=np.uint8)
    sheet.reshape(-1, height, width, 3)[:count] = frames
    image = Image.fromarray(sheet.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, 3))
    buffer = io.BytesIO()
    if image.width * image.height <= LOSSLESS:
        image.save(buffer, format="PNG", compress_level=4)
        return embed(buffer.getvalue(), "image/png")
    image.save(buffer, format="JPEG", quality=92)
    return embed(buffer.getvalue(), "image/jpeg")


def _make_scene(seen: Mapping[str, Panels], scene: Scene) -> dict[str, Any] | None:
    """Return the surfaces at the first view's times and all cameras; None where they are too large for a page."""
    first = next(iter(seen.values()))
    bodies = first.bodies
    if not bodies:
        return None
    frames, count, _ = bodies["fit"].vertices.shape
    each = (6.0 + len(FIELDS)) * count * len(bodies)
    if count == 0 or 2.0 * each > MOST_BYTES:
        return None
    kept = np.unique(np.linspace(0, frames - 1, max(2, min(frames, int(MOST_BYTES / each)))).round().astype(int))
    times = (first.times + first.offset)[kept]
    low = min(float(body.vertices[..., 1].min()) for body in bodies.values())
    high = max(float(body.vertices[..., 1].max()) for body in bodies.values())
    fields = _compute_fields(scene, bodies)
    most = {kind: find_common_scale(told) for kind, told in fields.items()}
    return {
        "faces": _encode(bodies["fit"].faces.astype(np.uint32)),
        "bodies": [
            _pack_body(name, body, kept, times)
            | {"fields": {kind: _pack_shades(told[name], most[kind], kept) for kind, told in fields.items()}}
            for name, body in bodies.items()
        ],
        "fields": {kind: format_scale(most[kind], told["fit"].unit) for kind, told in fields.items()},
        "cameras": [_pack_camera(panels.camera) for panels in seen.values()],
        # The ground of most models is at 0; bodies far above or below it get a separate grid.
        "ground": 0.0 if low > -0.5 * (high - low) and low < 2.0 * (high - low) else low,
    }


def _compute_fields(scene: Scene, bodies: Mapping[str, PlaybackBody]) -> dict[str, dict[str, ShadedField]]:
    """Return strain and stress of every body, by kind; none for rigid bodies."""
    found = {}
    for kind in FIELDS:
        told = {name: compute_field(kind, scene, body) for name, body in bodies.items()}
        known = {name: field for name, field in told.items() if field is not None}
        if len(known) == len(bodies) and find_common_scale(known) > (STIFF if kind == "strain" else 0.0):
            found[kind] = known
    return found


def _pack_shades(field: ShadedField, most: float, kept: NDArray[np.intp]) -> str:
    """Return values from 0 to ``most`` as bytes from 1 to 255; 0 where there is none."""
    part = np.clip(field.values[kept] / max(most, 1e-300), 0.0, 1.0)
    return _encode(np.where(np.isfinite(part), 1.0 + 254.0 * part, 0.0).round().astype(np.uint8))


def _pack_body(name: str, body: PlaybackBody, kept: NDArray[np.intp], times: NDArray[np.float64]) -> dict[str, Any]:
    """Return vertices as 16-bit whole numbers between the corners of their box."""
    vertices = body.vertices[kept]
    low, high = vertices.min(axis=(0, 1)), vertices.max(axis=(0, 1))
    size = np.maximum(high - low, 1e-9)
    steps = np.round((vertices - low) / size * 65535.0).astype("<u2")
    return {
        "name": name,
        "count": int(vertices.shape[1]),
        "times": times.tolist(),
        "low": low.tolist(),
        "size": size.tolist(),
        "vertices": _encode(steps),
        "colours": None if body.colours is None else _encode(body.colours),
    }


def _pack_camera(camera: Camera) -> dict[str, Any]:
    """Return the first position of a camera, and half of its view at a distance of 1."""

    def first(value: torch.Tensor, dims: int) -> Any:
        return (value[0] if value.dim() > dims else value).tolist()

    return {
        "rotation": first(camera.rotation, 2),
        "eye": first(camera.eye, 1),
        "wide": 0.5 * camera.width / float(camera.focal[0]),
        "tall": 0.5 * camera.height / float(camera.focal[1]),
    }


def _encode(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def embed(content: bytes, kind: str) -> str:
    """Return bytes as a data URL."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def make_headline(result: Result) -> str:
    """Return the outcome of a fit to a goal in a sentence, and nothing for other fits, whose table says it."""
    if result.goal is None:
        return ""
    told = result.goal.words(result.steps)
    return f"{told[0].upper()}{told[1:]}."


def make_facts(result: Result) -> list[tuple[str, str]]:
    """Return the key figures as pairs (figure, meaning)."""
    found = [
        (f"{format_number(result.start_loss, 3)} → {format_number(result.loss, 3)}", "loss"),
        (str(result.iterations), f"iterations in {format_seconds(result.seconds)}"),
    ]
    if result.holdout_loss is not None:
        found.insert(1, (format_number(result.holdout_loss, 3), "loss on the holdout"))
    return found


def make_rows(result: Result) -> list[dict[str, list[str]]]:
    """Return the table of estimates: a row for each number of a short vector, each cell in lines.

    Truth and error are there only where a truth is known. The error of a component is relative to the whole vector.
    """
    known = any(e.truth is not None for e in result.estimates)
    return [row for e in result.estimates for row in _make_estimate_rows(e, get_estimate_heading(result), known)]


def _make_estimate_rows(e: Estimate, heading: str, known: bool) -> list[dict[str, list[str]]]:
    count = e.found.numel()
    if e.found.dim() != 1 or not 2 <= count <= MOST_ROWS:
        return [_make_row(e.name, e, heading, known)]
    names = [f"{e.name} {'xyz'[k]}" if count == 3 else f"{e.name} {k + 1}" for k in range(count)]
    rows = []
    for k, name in enumerate(names):
        part = replace(
            e, start=e.start.expand(count)[k], found=e.found[k], truth=None if e.truth is None else e.truth[k],
            deviation=None if e.deviation is None else e.deviation[k], interval=None,
        )  # fmt: skip
        row = _make_row(name, part, heading, known)
        if e.truth is not None and float(e.truth.norm()) > 0.0:
            row["error"] = [format_percent(float((e.found[k] - e.truth[k]).abs() / e.truth.norm()))]
        rows.append(row)
    return rows


def _make_row(name: str, e: Estimate, heading: str, known: bool) -> dict[str, list[str]]:
    found = [*format_value_lines(e.found, e.deviation), *([f"({e.caveat})"] if e.caveat else [])]
    row = {"unknown": [name], "unit": [format_unit(e.unit)], "start": format_value_lines(e.start), heading: found}
    if known:
        row |= {"truth": [] if e.truth is None else format_value_lines(e.truth), "error": [format_percent(e.error)]}
    return row


def make_shares(result: Result) -> list[tuple[str, float, str]]:
    """Return the shares of the time: (part, percent of all, seconds)."""
    total = sum(result.shares.values())
    parts = [p for p in TIMED_PARTS if p in result.shares]
    return (
        [(p, 100.0 * result.shares[p] / total, format_seconds(result.shares[p])) for p in parts] if total > 0.0 else []
    )


def cite(title: str, result: Result, config: Any) -> str:
    """Return title, version, and a fingerprint of experiment and estimates: equal runs have equal lines."""
    data = json.dumps(config, sort_keys=True, default=str) + json.dumps([e.found.tolist() for e in result.estimates])
    mark = hashlib.sha256(data.encode()).hexdigest()[:12]
    judged = "" if result.uncertainty == "not asked for" else f", verdict {result.verdict.level}"
    return f"“{title}”, a fit by diffloom {version('diffloom-fitting')}, run {mark}, loss {result.loss:.4g}{judged}."
