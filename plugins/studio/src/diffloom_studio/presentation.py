"""Videos of finished runs in any size, for talks and papers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Camera, InputError, Renderer, Surface
from diffloom.plugins import get_renderer
from diffloom_studio.ground import draw_surface_on_ground, make_lights, play_surface
from diffloom_studio.playback import Playback
from diffloom_studio.report.media import find_frame_rate, to_bytes, write_video

SIZES = {"480p": (480, 854), "720p": (720, 1280), "1080p": (1080, 1920), "1440p": (1440, 2560), "4k": (2160, 3840)}
LARGEST = 8192  # pixels of a side
SAMPLES = 64  # samples of a pixel where light is traced


def read_size(text: str) -> tuple[int, int]:
    """Return height and width [px] of a size such as "1080p" or "1280x720".

    Args:
        text: One of SIZES, or WIDTHxHEIGHT.

    Returns:
        Height and width, both even.
    """
    if text.lower() in SIZES:
        return SIZES[text.lower()]
    found = re.fullmatch(r"(\d+)x(\d+)", text.lower())
    width, height = (int(part) for part in found.groups()) if found else (0, 0)
    if not all(2 <= side <= LARGEST and side % 2 == 0 for side in (width, height)):
        raise InputError(
            f"render: --size: got {text!r}; expected one of {', '.join(SIZES)}, or WIDTHxHEIGHT with even sides of at "
            f"most {LARGEST}, such as 1280x720"
        )
    return height, width


def resize_camera(camera: Camera, size: tuple[int, int]) -> Camera:
    """Return a camera that sees as high a part of the scene in another size.

    Args:
        camera: The camera.
        size: Height and width [px].

    Returns:
        The camera; a wider image shows more at its sides.
    """
    height, width = size
    factor = height / camera.height
    middle = camera.centre.new_tensor([0.5 * camera.width, 0.5 * camera.height])
    centre = (camera.centre - middle) * factor + camera.centre.new_tensor([0.5 * width, 0.5 * height])
    return replace(camera, focal=camera.focal * factor, centre=centre, height=height, width=width)


def render_run(
    playback: Playback, path: str | Path, *, renderer: str = "coverage", size: str = "1080p", body: str = "fit",
    view: str | None = None, frames: int = 61, ground: float = 0.0, told: Callable[[str], object] = print,
) -> Path:  # fmt: skip
    """Draw one body of a run as a video in any size, on a ground with light and shadow.

    Args:
        playback: Run or experiment.
        path: Video to write (mp4, webp, gif).
        renderer: Name of a registered renderer; "mitsuba" traces light, any other one draws surface and shadow.
        size: "1080p", or WIDTHxHEIGHT.
        body: "start", "fit" or "truth".
        view: Label of the camera; default the first.
        frames: Number of frames, evenly over the time.
        ground: Height of the ground [m].
        told: Called with a line about each part that is done.

    Returns:
        Path that was written.

    Example:
        render_run(load_playback("runs/demo"), "talk.mp4", renderer="mitsuba", size="1080p")
    """
    if body not in playback.values:
        raise InputError(f"render: --body: got {body!r}; expected one of {', '.join(playback.values)}")
    wanted, whole = read_size(size), playback.experiment.scene
    scene = whole.select_view(next(iter(whole.viewpoints)) if view is None else view)
    times = playback.times(frames)
    surface, camera = play_surface(scene, times, playback.values[body])
    # Pictures need no double precision, and Mitsuba has none.
    surface, camera = _to_single(surface), _to_single_camera(resize_camera(camera, wanted))
    drawn = []
    for k in range(frames):
        drawn.append(_draw(renderer, _take(surface, k), _take_camera(camera, k), ground))
        if (k + 1) % max(1, frames // 4) == 0:
            told(f"drew {k + 1} of {frames} frames")
    return write_video(path, np.concatenate(drawn), find_frame_rate(times.numpy()))


def _draw(name: str, surface: Surface, camera: Camera, ground: float) -> NDArray[np.uint8]:
    """Return one frame (1, height, width, 3)."""
    drawer: Renderer
    if name == "mitsuba":
        drawer = get_renderer(name)(
            mode="photorealistic", samples=SAMPLES, ground=ground, background=(0.82, 0.87, 0.93)
        )
        image = drawer.render(surface, camera, make_lights(torch.float32)).rgb
    else:
        drawer = get_renderer(name)()
        image = draw_surface_on_ground(drawer, surface, camera, ground=ground)
    return to_bytes(image)


def _take(surface: Surface, k: int) -> Surface:
    """Return one frame of a surface."""
    return surface.frames([k]) if len(surface.vertices) > 1 else surface


def _take_camera(camera: Camera, k: int) -> Camera:
    """Return the camera of one frame."""
    rotation, eye = camera.rotation, camera.eye
    return replace(
        camera, rotation=rotation[k] if rotation.dim() == 3 else rotation, eye=eye[k] if eye.dim() == 2 else eye
    )


def _single(value: Tensor | None) -> Tensor | None:
    return None if value is None else value.to(torch.float32)


def _to_single(surface: Surface) -> Surface:
    """Return a surface in single precision."""
    texture = surface.texture
    if texture is not None:
        texture = replace(texture, image=texture.image.to(torch.float32), uv=texture.uv.to(torch.float32))
    return replace(
        surface, vertices=surface.vertices.to(torch.float32), colours=_single(surface.colours), texture=texture
    )


def _to_single_camera(camera: Camera) -> Camera:
    """Return a camera in single precision."""
    parts = {name: getattr(camera, name).to(torch.float32) for name in ("rotation", "eye", "focal", "centre")}
    return replace(camera, **parts)
