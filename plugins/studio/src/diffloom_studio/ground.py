"""Videos for people: a surface on a ground that receives its shadow, drawn by any renderer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
import trimesh
from torch import Tensor

from diffloom.interfaces import (
    AmbientLight,
    Camera,
    DirectionalLight,
    InputError,
    Material,
    NoGradient,
    Renderer,
    Surface,
)
from diffloom_fitting.scene import Scene, sample_times
from diffloom_fitting.validation import check_instance, check_real

SUN = (0.45, 1.0, 0.6)  # direction to the sun
SKY, HORIZON = (0.72, 0.80, 0.90), (0.93, 0.95, 0.97)  # colours of the sky, above and at the horizon
TONES = ((0.80, 0.82, 0.85), (0.74, 0.77, 0.81))  # colours of the ground's tiles
DARKEST, NEAR = 0.45, 0.14  # share of the light that a shadow takes, and a body right above
SOFT, WIDE = 0.008, 0.035  # radius of the edge of the two, in heights of the image
CREASE = 0.8  # cosine of the angle between faces beyond which their edge is seen
FADE = 9.0  # distance at which the ground meets the sky, in heights of the camera above it


def draw_on_ground(
    scene: Scene, times: Tensor, values: Mapping[str, object] | None = None, *, ground: float = 0.0, tile: float = 0.25
) -> Tensor:
    """Draw a scene as a video for people: on a tiled ground with light and shadow, before a sky.

    The scene's own lights and background are not used, and nothing is differentiated.

    Args:
        scene: Scene to simulate and draw; of several cameras the first one draws.
        times: (frames,) [s].
        values: Values of parameters by name, in place of the scene's own.
        ground: Height of the ground [m].
        tile: Side of a tile of the ground [m].

    Returns:
        (frames, height, width, 3), 0..1.

    Example:
        write_video("ball.webp", draw_on_ground(scene, torch.linspace(0.0, 0.4, 24)), rate=24)
    """
    check_instance("draw_on_ground: scene", scene, Scene)
    surface, camera = play_surface(scene, torch.as_tensor(times, dtype=torch.float64), values or {})
    return draw_surface_on_ground(scene.renderer, surface, camera, ground=ground, tile=tile)


def play_surface(scene: Scene, times: Tensor, values: Mapping[str, object]) -> tuple[Surface, Camera]:
    """Simulate a scene; return its surface with its appearance, and its first camera, at ``times`` [s]."""
    sampling = sample_times(times, scene.dt, scene.steps)
    made = scene.rollout(values, sampling.save, NoGradient())
    given = {name: torch.as_tensor(value, dtype=scene.dtype) for name, value in values.items()}
    with torch.no_grad():
        surface = scene.model.surface(made.trajectory, made.params)
        surface = scene.appearance.apply(surface, scene.rest_shape, given.get("appearance.colour"))
        if surface.vertices.shape[0] > 1:
            surface = replace(surface, vertices=sampling.between(surface.vertices))
        if surface.colours is not None and surface.colours.dim() == 3 and len(surface.colours) == len(sampling.save):
            surface = replace(surface, colours=sampling.between(surface.colours))
        camera = scene.camera_at(scene.get_camera_values(given), times)
    return surface, camera


def draw_surface_on_ground(
    renderer: Renderer, surface: Surface, camera: Camera, *, ground: float = 0.0, tile: float = 0.25
) -> Tensor:
    """Draw a surface as ``draw_on_ground`` draws a scene.

    Args:
        renderer: Renderer of the surface and of its shadow.
        surface: Surface to draw.
        camera: Camera that draws it.
        ground: Height of the ground [m].
        tile: Side of a tile of the ground [m].

    Returns:
        (frames, height, width, 3), 0..1.
    """
    if not {"rgba", "silhouette"} <= renderer.capabilities.outputs:
        raise InputError(f"draw_on_ground: {type(renderer).__name__} draws no colours or no outlines; take another one")
    check_real("draw_on_ground: tile [m]", tile, above=0.0)
    dtype = surface.vertices.dtype
    sun, lights = torch.tensor(SUN, dtype=dtype), make_lights(dtype)
    with torch.no_grad():
        black = renderer if not any(renderer.background) else replace(renderer, background=(0.0, 0.0, 0.0))  # type: ignore[type-var]
        lit = _split_creases(_light(surface))
        image = black.render(lit, camera, lights, ("rgba",)).rgba
        assert image is not None
        shade = torch.ones_like(image[..., 0])
        for strength, spot, way in ((DARKEST, SOFT, sun), (NEAR, WIDE, torch.tensor([0.0, 1.0, 0.0], dtype=dtype))):
            shade = shade * (1.0 - strength * _cast_shadow(black, lit, camera, way, ground, spot))
        behind = _draw_ground(camera, ground, tile, dtype)
        behind = torch.where(behind[..., 3:] > 0.0, behind[..., :3] * shade[..., None], behind[..., :3])
        alpha = image[..., 3:]
        own = image[..., :3] if renderer.unbiased else alpha * image[..., :3]
        return (own + (1.0 - alpha) * behind).clamp(0.0, 1.0)


def make_lights(dtype: torch.dtype) -> tuple[AmbientLight, DirectionalLight]:
    """Return the light of the sky and that of the sun."""
    white, sun = torch.ones(3, dtype=dtype), torch.tensor(SUN, dtype=dtype)
    return AmbientLight(0.7 * white), DirectionalLight(sun, diffuse=0.55 * white, specular=0.25 * white)


def _light(surface: Surface) -> Surface:
    """Return the surface with a material that light shades, if it has none."""
    if any(one.shading != "unlit" for one in surface.materials):
        return surface
    return surface.replace_appearance(
        colours=surface.colours, colour_per=surface.colour_per, texture=surface.texture, material=Material("lambert")
    )


def _split_creases(surface: Surface) -> Surface:
    """Return the surface with vertices of their own on each side of a crease, so that light shows edges as edges."""
    if surface.texture is not None or surface.colour_per == "face":
        return surface
    points, faces = surface.vertices[0].detach().double().numpy(), surface.faces.numpy()
    normals = np.cross(points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    pairs, edges = trimesh.graph.face_adjacency(faces=faces, return_edges=True)
    flat = (normals[pairs[:, 0]] * normals[pairs[:, 1]]).sum(axis=1) > CREASE
    if bool(flat.all()):
        return surface
    # Corners of faces that meet at a smooth edge are one vertex.
    corner = np.arange(faces.size).reshape(faces.shape)
    links = []
    for side in range(2):
        rows = pairs[flat][:, side]
        links.append([corner[rows, (faces[rows] == edges[flat][:, k, None]).argmax(axis=1)] for k in range(2)])
    joined = np.concatenate([np.stack([links[0][k], links[1][k]], axis=1) for k in range(2)])
    labels = trimesh.graph.connected_component_labels(joined, node_count=faces.size)
    first = np.unique(labels, return_index=True)[1]
    kept = torch.from_numpy(faces.reshape(-1)[first])
    colours = surface.colours
    if colours is not None and colours.dim() > 1:
        colours = colours.index_select(colours.dim() - 2, kept)
    split = torch.from_numpy(labels.reshape(faces.shape)).long()
    return replace(surface, vertices=surface.vertices[:, kept], faces=split, colours=colours)


def _cast_shadow(
    renderer: Renderer, surface: Surface, camera: Camera, way: Tensor, ground: float, spot: float
) -> Tensor:
    """Return how much of the light from ``way`` the surface takes from the ground (frames, height, width)."""
    above = (surface.vertices[..., 1:2] - ground).clamp_min(0.0)
    flat = surface.vertices - above * way / way[1]
    flat = torch.cat([flat[..., :1], torch.full_like(above, ground), flat[..., 2:]], dim=-1)
    mask = renderer.render(replace(surface, vertices=flat), camera, (), ("silhouette",)).silhouette
    assert mask is not None
    # Three passes of a moving average are nearly a Gaussian.
    side = 2 * max(1, round(spot * camera.height)) + 1
    for _ in range(3):
        mask = torch.nn.functional.avg_pool2d(mask[:, None], side, 1, side // 2, count_include_pad=False)[:, 0]
    return mask


def _draw_ground(camera: Camera, ground: float, tile: float, dtype: torch.dtype) -> Tensor:
    """Return tiled ground and sky (frames or 1, height, width, 4); the fourth channel is 1 on the ground."""
    columns = (torch.arange(camera.width, dtype=dtype) + 0.5 - camera.centre[0]) / camera.focal[0]
    rows = (camera.centre[1] - torch.arange(camera.height, dtype=dtype) - 0.5) / camera.focal[1]
    y, x = torch.meshgrid(rows, columns, indexing="ij")
    axes, eye = camera.rotation.reshape(-1, 3, 3), camera.eye.reshape(-1, 1, 1, 3)
    way = torch.einsum("hwk,fkc->fhwc", torch.stack([x, y, -torch.ones_like(x)], dim=-1), axes)
    height = (eye[..., 1] - ground).clamp_min(1e-6)
    below = way[..., 1] < -1e-4
    reach = torch.where(below, -height / way[..., 1].clamp_max(-1e-4), 0.0)
    place = (eye + reach[..., None] * way) / tile
    # Tiles fade where one is narrower than some pixels, so that they do not flicker.
    width = reach / float(camera.focal[0]) / tile * (reach / height).clamp_min(1.0)
    checks = torch.sin(torch.pi * place[..., 0]) * torch.sin(torch.pi * place[..., 2])
    part = 0.5 + 0.5 * torch.tanh(checks / (3.0 * width).clamp_min(1e-3)) * (1.0 - 2.0 * width).clamp(0.0, 1.0)
    first, second = (torch.tensor(tone, dtype=dtype) for tone in TONES)
    low, high = torch.tensor(HORIZON, dtype=dtype), torch.tensor(SKY, dtype=dtype)
    far = (1.0 - torch.exp(-((reach / (FADE * height)) ** 2)))[..., None]
    floor = first + part[..., None] * (second - first)
    floor = floor + far * (low - floor)
    rise = (way[..., 1] / way.norm(dim=-1)).clamp(0.0, 1.0)[..., None].sqrt()
    colour = torch.where(below[..., None], floor, low + rise * (high - low))
    return torch.cat([colour, below[..., None].to(dtype)], dim=-1)
