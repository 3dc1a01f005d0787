"""Synthesised targets, from true values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient
from diffloom_fitting.scene.values import as_times
from diffloom_fitting.targets.several import Targets
from diffloom_fitting.targets.target import Target
from diffloom_fitting.validation import as_number_tensor, check_mapping, check_real, check_whole

if TYPE_CHECKING:
    from diffloom_fitting.scene import Scene

MOST_LEVELS = 65535  # grey levels of 16 bits
MOST_FRAMES = 1e6


def synthesise(
    scene: Scene, truth: Mapping[str, object], times: object = None, *, rate: float | None = None,
    levels: int | None = None,
) -> Target:  # fmt: skip
    """Render the video of a scene with true values: images with coverage, masks and states.

    For several cameras see ``synthesise_views``. To draw the target with another renderer than the fit's, pass
    ``scene.with_renderer(other)``.

    Example:
        video = synthesise(scene, {"shear_modulus": "4 kPa"}, rate=20, levels=255)

    Args:
        scene: The scene.
        truth: True values by name, in their units.
        times: (frames,), times of the video [s]: a list, range, array or tensor.
        rate: Frames per second, instead of times; without either, every step is a frame.
        levels: 255 rounds the images as an 8-bit video does; None keeps them exact.

    Returns:
        The target.
    """
    truth = check_mapping("synthesise: truth", truth, '{"density": 2.0}')
    rate = None if rate is None else check_real("synthesise: rate [frames/s]", rate, above=0.0)
    levels = None if levels is None else check_whole("synthesise: levels", levels, 1, MOST_LEVELS)
    if times is not None:
        if rate is not None:
            raise InputError("synthesise: got both times and rate; expected one of them")
        times = Target(as_times(times, "target.times", scene.steps * scene.dt, scene.dt)).times
    scene.check_known(truth, "truth")
    if len(scene.viewpoints) > 1:
        raise InputError(
            f"synthesise: the scene has {len(scene.viewpoints)} cameras ({', '.join(scene.viewpoints)}); call "
            "synthesise_views, which makes a target for each"
        )
    return _synthesise_view(scene, truth, times, rate, levels)


def _synthesise_view(
    scene: Scene, truth: Mapping[str, object], times: Tensor | None, rate: float | None, levels: int | None
) -> Target:
    offset = scene.viewpoint.time_offset
    if times is None:
        times = list_video_times(scene.steps * scene.dt, offset, 1.0 / scene.dt if rate is None else rate)
    values = make_true_values(scene, truth)
    with torch.no_grad():
        view = scene.render(values, times + offset, ("rgba",), NoGradient())
    assert view.image is not None
    assert view.image.rgba is not None
    frames = view.image.rgba
    if levels is not None:
        frames = (frames.clamp(0.0, 1.0) * levels).round() / levels
    return Target(
        times, frames, frames[..., 3], view.q, truth=values, step=0.0 if levels is None else 1.0 / levels,
        source=f"synthesised with {type(scene.renderer).__name__}", synthetic=True,
    )  # fmt: skip


def synthesise_views(
    scene: Scene, truth: Mapping[str, object], *, rate: float | None = None, levels: int | None = None
) -> Targets:
    """Render the video of each camera of a scene with true values.

    Args:
        scene: The scene.
        truth: True values by name, in their units.
        rate: Frames per second; None for every step.
        levels: 255 rounds the images as an 8-bit video does; None keeps them exact.

    Returns:
        A target for each camera.
    """
    truth = check_mapping("synthesise_views: truth", truth, '{"density": 2.0}')
    scene.check_known(truth, "truth")
    return Targets(
        {label: _synthesise_view(scene.select_view(label), truth, None, rate, levels) for label in scene.viewpoints}
    )


def list_video_times(span: float, offset: float, rate: float) -> Tensor:
    """List the times of all frames that the simulation covers.

    Args:
        span: Length of the simulation [s].
        offset: Time offset of the video [s].
        rate: Frames per second.

    Returns:
        (frames,), times of the video [s].
    """
    if rate * span > MOST_FRAMES:
        raise InputError(
            f"rate: got {rate:g} frames/s, which is {rate * span:.3g} frames in {span:g} s; expected at most "
            f"{MOST_FRAMES:g} frames"
        )
    first, last = max(0, math.ceil(-offset * rate - 1e-9)), math.floor((span - offset) * rate * (1.0 + 1e-12) + 1e-9)
    frames = torch.arange(first, max(first, last + 1), dtype=torch.float64)
    if len(frames) == 0:
        raise InputError(
            f"time_offset = {offset:g} s: the simulation of {span:g} s has no frame of this video; expected an offset "
            "within it"
        )
    return frames / rate


def _plain(scene: Scene, name: str, value: object) -> object:
    """Convert a text such as "2 kPa" to the parameter's unit, and arrays and tensors to the scene's precision."""
    from diffloom_fitting.quantities import quantity

    if isinstance(value, str):
        unit = next((spec.unit for spec in scene.model.specs if spec.name == name), "")
        return quantity(value, unit, f"truth.{name}")
    return value if value is None or isinstance(value, bool) else as_number_tensor(f"truth.{name}", value, scene.dtype)


def make_true_values(scene: Scene, truth: Mapping[str, object]) -> dict[str, Tensor]:
    """Convert true values to tensors of the scene's precision, checked against the model's specs.

    Args:
        scene: The scene.
        truth: Values by name.

    Returns:
        Tensors by name.
    """
    truth = {name: _plain(scene, name, value) for name, value in truth.items()}
    own = {spec.name for spec in scene.model.specs}
    checked = scene.model.params(scene.dtype, **{k: v for k, v in truth.items() if k in own})
    others = {k: as_number_tensor(f"truth.{k}", v, scene.dtype) for k, v in truth.items() if k not in own}
    return {k: checked[k] for k in truth if k in own} | others
