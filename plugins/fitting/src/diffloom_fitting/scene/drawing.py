"""Drawing of a scene: exposed surfaces, images and outlines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from torch import Tensor

from diffloom.interfaces import Camera, Image, Params, Renderer, Surface, Trajectory
from diffloom_fitting.scene.device import move_to_device
from diffloom_fitting.scene.frame_times import Sampling
from diffloom_fitting.scene.lens import blur
from diffloom_fitting.scene.projection import apply_rolling_shutter, bend_points, magnify_points, project_points
from diffloom_fitting.scene.response import (
    add_background,
    apply_response,
    average_frames,
    lay_over,
    respond_to_light,
    weigh_by_coverage,
)
from diffloom_fitting.scene.sensor import shutter_times
from diffloom_fitting.scene.sizes import scale_pieces

if TYPE_CHECKING:
    from diffloom_fitting.scene.scene import Scene


def draw_frames(
    scene: Scene, surface: Surface, camera: Camera, values: Mapping[str, Tensor], outputs: Sequence[str],
    subframes: int = 1,
) -> Image:  # fmt: skip
    """Draw images of a surface, on the CPU, with the distortion of the lens and the response of the sensor.

    Args:
        scene: The scene.
        surface: The surface at each subframe.
        camera: The camera.
        values: Unknowns by name.
        outputs: Outputs to render.
        subframes: Number of subframes whose mean is a frame.

    Returns:
        Images of the frames.
    """
    sensor, places = scene.viewpoint.sensor, scene.get_camera_values(values)
    distortion = sensor.value("distortion", places, scene.dtype)
    if distortion is not None:
        surface = replace(surface, vertices=bend_points(camera, surface.vertices, distortion.to(scene.device)))
    coloured = scene.appearance.apply(surface, scene.rest_shape, values.get("appearance.colour"))
    image = move_to_device(on_black(scene.renderer).render(coloured, camera, scene.lights, outputs), "cpu")
    spot = sensor.value("lens_blur", places, scene.dtype)
    mask = image.silhouette
    image = _record_light(scene, replace(image, silhouette=None), spot, places)
    image = image if subframes == 1 else average_frames(image, subframes)
    if mask is None:
        return image
    # A blurred mean is the mean of blurred images, at the cost of one.
    mask = mask if subframes == 1 else mask.unflatten(0, (-1, subframes)).mean(dim=1)
    return replace(image, silhouette=mask if spot is None else blur(mask, spot))


def _record_light(scene: Scene, image: Image, spot: Tensor | None, places: Mapping[str, Tensor]) -> Image:
    """Return images with the lens' blur and the sensor's response in their colours, before their background."""
    sensor = scene.viewpoint.sensor
    if image.rgba is None:
        return image
    if scene.renderer.owns_background:
        seen = image.rgba if spot is None else blur(image.rgba, spot)
        return replace(image, rgba=apply_response(seen, sensor, places))
    if spot is None and not scene.renderer.unbiased:
        return replace(image, rgba=lay_over(apply_response(image.rgba, sensor, places), scene.behind))
    light = image.rgba if scene.renderer.unbiased else weigh_by_coverage(image.rgba)
    if spot is not None:
        light = blur(light, spot)
    return replace(image, rgba=add_background(respond_to_light(light, sensor, places), scene.behind))


def project_vertices(
    scene: Scene, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], sampling: Sampling | None
) -> Tensor:
    """Project the surface's vertices; return columns and rows (frames, vertices, 2) [px]."""
    surface, camera, subframes = exposure(scene, trajectory, params, values, sampling)
    distortion = scene.viewpoint.sensor.value("distortion", scene.get_camera_values(values), scene.dtype)
    places = project_points(camera, surface.vertices, None if distortion is None else distortion.to(scene.device)).cpu()
    return places if subframes == 1 else places.unflatten(0, (-1, subframes)).mean(dim=1)


def exposure(
    scene: Scene, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], sampling: Sampling | None
) -> tuple[Surface, Camera, int]:
    """Return the exposed surface, the camera, and the number of subframes per frame."""
    view, places = scene.viewpoint, scene.get_camera_values(values)
    surface, times, subframes, rows = scene.model.surface(trajectory, params), trajectory.times, 1, False
    if sampling is not None:
        surface, times = _at_frames(surface, sampling, len(trajectory)), sampling.between(times).detach()
        _, subframes, rows = shutter_times(view.sensor, places, times, 0.0)
    size = values.get("appearance.size")
    if size is not None:
        surface = replace(surface, vertices=scale_pieces(surface.vertices, surface.faces, size.to(scene.device)))
    if rows:
        times = times.unflatten(0, (-1, 2)).mean(dim=1)
    camera = scene.camera_at(places, times)
    if rows:
        distortion = view.sensor.value("distortion", places, scene.dtype)
        pairs = surface.vertices.unflatten(0, (-1, 2))
        surface = replace(
            surface.frames(slice(None, None, 2)), vertices=apply_rolling_shutter(camera, pairs, distortion)
        )
    zoom = view.sensor.value("zoom", places, scene.dtype)
    if zoom is not None:
        grown = 1.0 + zoom.to(scene.device) * times.to(surface.vertices)
        surface = replace(surface, vertices=magnify_points(camera, surface.vertices, grown))
    return surface, camera, subframes


def _at_frames(surface: Surface, sampling: Sampling, saved: int) -> Surface:
    """Interpolate a surface of ``saved`` states to the sampling's frames."""

    def between(value: Tensor, dims: int) -> Tensor:
        return sampling.between(value) if value.dim() == dims and value.shape[0] == saved else value

    colours, texture = surface.colours, surface.texture
    if colours is not None:
        colours = between(colours, 3)
    if texture is not None:
        texture = replace(texture, image=between(texture.image, 4))
    return replace(surface, vertices=between(surface.vertices, 3), colours=colours, texture=texture)


def on_black(renderer: Renderer) -> Renderer:
    """Return the renderer with a black background, for images that are laid over another one.

    A renderer that owns its background keeps it.
    """
    black = (0.0, 0.0, 0.0)
    if renderer.owns_background or tuple(renderer.background) == black:
        return renderer
    return replace(renderer, background=black)  # type: ignore[type-var]
