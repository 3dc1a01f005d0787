"""What the page's scripts read: sheets of frames, surfaces over time, cameras. Everything is inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from diffloom.interfaces import Camera
from diffloom_fitting.scene.scene import Scene
from diffloom_studio.playback.bodies import Body
from diffloom_studio.playback.fields import FIELDS, STIFF, Field, common_scale, field_of, scale_text
from diffloom_studio.report.panels import Panels
from diffloom_studio.report.strips import digits
from diffloom_studio.report.video import Frames

MOST_PIXELS = 24e6  # of a sheet: browsers refuse much larger images
LOSSLESS = 3e6  # pixels up to which a sheet keeps every bit
MOST_BYTES = 6e6  # of all surfaces together


def page_data(seen: Mapping[str, Panels], scene: Scene) -> dict[str, Any]:
    """Plain data for the scripts. Times are those of the simulation [s], which all views share. scene: what was drawn,
    whose model tells its stress."""
    times = [panels.times + panels.offset for panels in seen.values()]
    return {
        "first": float(min(t.min() for t in times)),
        "last": float(max(t.max() for t in times)),
        "digits": max(digits(t) for t in times),
        "views": [_view(number, panels) for number, panels in enumerate(seen.values())],
        "scene": _scene(seen, scene),
    }


def _view(number: int, panels: Panels) -> dict[str, Any]:
    named = {"target": panels.target, "start": panels.guess, "fit": panels.fit}
    given = {name: frames for name, frames in named.items() if frames is not None}
    every = _every(panels.fit)
    count = len(panels.times[::every])
    columns = int(np.ceil(np.sqrt(count)))
    return {
        "number": number,
        "width": int(panels.fit.shape[2]),
        "height": int(panels.fit.shape[1]),
        "columns": columns,
        "times": (panels.times[::every] + panels.offset).tolist(),
        "offset": panels.offset,
        "panels": {name: _sheet(frames[::every], columns) for name, frames in given.items()},
    }


def _every(frames: Frames) -> int:
    """How many frames stand for one, so that a sheet stays small enough."""
    return int(np.ceil(frames.shape[0] * frames.shape[1] * frames.shape[2] / MOST_PIXELS))


def _sheet(frames: Frames, columns: int) -> str:
    """All frames in rows as one image, embedded."""
    count, height, width, _ = frames.shape
    rows = -(-count // columns)
    sheet = np.zeros((rows, columns, height, width, 3), dtype=np.uint8)
    sheet.reshape(-1, height, width, 3)[:count] = frames
    image = Image.fromarray(sheet.transpose(0, 2, 1, 3, 4).reshape(rows * height, columns * width, 3))
    buffer = io.BytesIO()
    if image.width * image.height <= LOSSLESS:
        image.save(buffer, format="PNG", compress_level=4)
        return embedded(buffer.getvalue(), "image/png")
    image.save(buffer, format="JPEG", quality=92)
    return embedded(buffer.getvalue(), "image/jpeg")


def _scene(seen: Mapping[str, Panels], scene: Scene) -> dict[str, Any] | None:
    """The surfaces of the first view's times and all cameras; None where they are too many numbers for a page."""
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
    fields = _fields(scene, bodies)
    most = {kind: common_scale(told) for kind, told in fields.items()}
    return {
        "faces": _text(bodies["fit"].faces.astype(np.uint32)),
        "bodies": [
            _body(name, body, kept, times)
            | {"fields": {kind: _shades(told[name], most[kind], kept) for kind, told in fields.items()}}
            for name, body in bodies.items()
        ],
        "fields": {kind: scale_text(most[kind], told["fit"].unit) for kind, told in fields.items()},
        "cameras": [_camera(panels.camera) for panels in seen.values()],
        # The ground of most models is at 0; what floats far above or hangs below gets a grid of its own.
        "ground": 0.0 if low > -0.5 * (high - low) and low < 2.0 * (high - low) else low,
    }


def _fields(scene: Scene, bodies: Mapping[str, Body]) -> dict[str, dict[str, Field]]:
    """Strain and stress of every body, by kind; none of what is rigid."""
    found = {}
    for kind in FIELDS:
        told = {name: field_of(kind, scene, body) for name, body in bodies.items()}
        known = {name: field for name, field in told.items() if field is not None}
        if len(known) == len(bodies) and common_scale(known) > (STIFF if kind == "strain" else 0.0):
            found[kind] = known
    return found


def _shades(field: Field, most: float, kept: NDArray[np.intp]) -> str:
    """Values from 0 to ``most`` as bytes from 1 to 255; 0 where there is none."""
    part = np.clip(field.values[kept] / max(most, 1e-300), 0.0, 1.0)
    return _text(np.where(np.isfinite(part), 1.0 + 254.0 * part, 0.0).round().astype(np.uint8))


def _body(name: str, body: Body, kept: NDArray[np.intp], times: NDArray[np.float64]) -> dict[str, Any]:
    """Vertices as whole numbers of 16 bits between the corners of their box."""
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
        "vertices": _text(steps),
        "colours": None if body.colours is None else _text(body.colours),
    }


def _camera(camera: Camera) -> dict[str, Any]:
    """Where it stands at first, and half of what it sees at a distance of 1."""

    def first(value: torch.Tensor, dims: int) -> Any:
        return (value[0] if value.dim() > dims else value).tolist()

    return {
        "rotation": first(camera.rotation, 2),
        "eye": first(camera.eye, 1),
        "wide": 0.5 * camera.width / float(camera.focal[0]),
        "tall": 0.5 * camera.height / float(camera.focal[1]),
    }


def _text(values: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def embedded(content: bytes, kind: str) -> str:
    """Bytes as an address that holds them."""
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
