"""Path-traced images: lamps with a size, soft shadows, light from surface to surface, a ground that receives shadows.

Forward only. Coverage, the fourth channel, is that of the object alone, as the matched mode draws it: the ground
belongs to the background.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from diffloom.interfaces import AmbientLight, Camera, DirectionalLight, Image, InputError, Light, PointLight, Surface
from diffloom_raster import DEFAULT_LIGHTS, as_rgb, as_vector, compute_vertex_normals

from . import matched
from .library import check_llvm, load, use_threads

if TYPE_CHECKING:
    from .renderer import MitsubaRenderer

#: Cosine of the angle below which faces that meet at a corner are shown as one smooth surface.
SMOOTH = math.cos(math.radians(35.0))
#: Distance of a sun's lamp, in its radii and in extents of the scene.
SUN_RADII, SUN_EXTENTS = 10.0, 40.0
#: Number of groups that the samples of a pixel are averaged in.
GROUPS = 5


def _make_sensor(camera: Camera, rotation: Tensor, eye: Tensor, samples: int) -> dict[str, Any]:
    """Return the camera as a sensor of the library."""
    mi, _ = load()
    fx, fy = (float(f) for f in camera.focal)
    if abs(fx - fy) > 1e-3 * fx:
        raise InputError(
            f"mitsuba, mode photorealistic: the camera's focal lengths are {fx:g} and {fy:g}; expected square pixels"
        )
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation.detach().double().numpy().T, eye.detach().double().numpy()
    return {
        "type": "perspective", "fov": math.degrees(2.0 * math.atan(0.5 * camera.width / fx)), "fov_axis": "x",
        "near_clip": camera.near, "far_clip": matched.FARTHEST,
        "principal_point_offset_x": 0.5 - float(camera.centre[0]) / camera.width,
        "principal_point_offset_y": 0.5 - float(camera.centre[1]) / camera.height,
        "to_world": mi.ScalarTransform4f(pose) @ mi.ScalarTransform4f().rotate([0, 1, 0], 180),
        "film": {
            "type": "hdrfilm", "width": camera.width, "height": camera.height, "pixel_format": "rgba",
            "component_format": "float32", "rfilter": {"type": "box"},
        },
        "sampler": {"type": "multijitter", "sample_count": samples},
    }  # fmt: skip


def _make_lamps(renderer: MitsubaRenderer, lights: Sequence[Light], centre: Tensor, extent: float) -> dict[str, Any]:
    """Return emitters that light a surface at the scene's centre as the rasterizers' lights do."""
    found: dict[str, Any] = {}
    sky = torch.zeros(3)
    for number, light in enumerate(lights or DEFAULT_LIGHTS):
        if isinstance(light, AmbientLight):
            sky = sky + as_rgb("AmbientLight.colour", light.colour, torch.float32)
            continue
        if isinstance(light, PointLight):
            place, radius = as_vector("light", light.position, torch.float32), renderer.lamp_radius
        elif isinstance(light, DirectionalLight):
            way = as_vector("light", light.direction, torch.float32)
            place, radius = centre + way * (SUN_EXTENTS * extent / float(way.norm())), SUN_EXTENTS * extent / SUN_RADII
        else:
            raise InputError(f'the renderer "mitsuba" has no equivalent of a {type(light).__name__}')
        near = float((place - centre).norm()) / radius
        glow = as_rgb("light.diffuse", light.diffuse, torch.float32) * near**2
        emitter = {"type": "area", "radiance": {"type": "rgb", "value": glow.tolist()}}
        found[f"lamp{number}"] = {"type": "sphere", "center": place.tolist(), "radius": radius, "emitter": emitter}
    if float(sky.max()) > 0.0:
        found["sky"] = {"type": "constant", "radiance": {"type": "rgb", "value": sky.tolist()}}
    return found


def _make_bsdf(renderer: MitsubaRenderer, surface: Surface, image: Tensor | None) -> dict[str, Any]:
    """Return the material of the surface."""
    mi, _ = load()
    if image is None:
        colour: Any = {"type": "mesh_attribute", "name": "vertex_color"}
    else:
        bitmap = mi.Bitmap(np.ascontiguousarray(image.detach().numpy(), np.float32))
        kind = "bilinear" if surface.texture is not None and surface.texture.filter == "bilinear" else "nearest"
        colour = {"type": "bitmap", "bitmap": bitmap, "raw": True, "filter_type": kind, "wrap_mode": "clamp"}
    if surface.materials[0].shading == "phong":
        coated = {"type": "principled", "base_color": colour, "roughness": renderer.gloss, "specular": 0.5}
        return {"type": "twosided", "bsdf": coated}
    return {"type": "twosided", "bsdf": {"type": "diffuse", "reflectance": colour}}


def _make_mesh(surface: Surface, vertices: Tensor, values: Tensor, corners: Tensor, bsdf: dict[str, Any]) -> Any:
    """Return the mesh, every face with separate corners, so that colours, texture coordinates and creases may differ
    there.
    """
    mi, _ = load()
    faces = surface.faces
    points = vertices[faces]
    flat = torch.linalg.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0])
    flat = (flat / flat.norm(dim=-1, keepdim=True).clamp_min(1e-20))[:, None].expand(-1, 3, -1)
    smooth = compute_vertex_normals(vertices[None].contiguous(), faces)[0][faces]
    normals = torch.where((flat * smooth).sum(-1, keepdim=True) > SMOOTH, smooth, flat)
    textured = surface.texture is not None
    props = mi.Properties()
    props["bsdf"] = mi.load_dict(bsdf)
    mesh = mi.Mesh(
        "object", 3 * len(faces), len(faces), has_vertex_normals=True, has_vertex_texcoords=textured, props=props
    )
    if not textured:
        mesh.add_attribute("vertex_color", 3, values[corners].reshape(-1).numpy().astype(np.float32))
    params = mi.traverse(mesh)
    params["faces"] = mi.UInt32(np.arange(3 * len(faces), dtype=np.uint32))
    params["vertex_positions"] = mi.Float(points.reshape(-1).numpy())
    params["vertex_normals"] = mi.Float(normals.reshape(-1).numpy())
    if textured:
        uv = values[corners]
        params["vertex_texcoords"] = mi.Float(torch.stack([uv[..., 0], 1.0 - uv[..., 1]], -1).reshape(-1).numpy())
    params.update()
    return mesh


def _make_ground(renderer: MitsubaRenderer, centre: Tensor, extent: float) -> dict[str, Any]:
    """Return the ground, if there is one."""
    mi, _ = load()
    if renderer.ground is None:
        return {}
    place = mi.ScalarTransform4f().translate([float(centre[0]), renderer.ground, float(centre[2])])
    flat = place @ mi.ScalarTransform4f().rotate([1, 0, 0], -90) @ mi.ScalarTransform4f().scale(30.0 * extent)
    colour = {"type": "rgb", "value": list(renderer.ground_colour)}
    return {
        "ground": {"type": "rectangle", "to_world": flat, "bsdf": {"type": "diffuse", "reflectance": colour}}
    }  # fmt: skip


def _centre_corners(surface: Surface, values: Tensor) -> Tensor:
    """Return texture coordinates for a library that puts 0 and 1 on the outer edges of the border texels."""
    texture = surface.texture
    if texture is None or not texture.corners:
        return values
    size = values.new_tensor([texture.image.shape[-2], texture.image.shape[-3]])
    return (values * (size - 1.0) + 0.5) / size


def _trace(scene: Any, renderer: MitsubaRenderer, seed: int) -> Tensor:
    """Return the median of GROUPS means of samples, so that single paths that find a lamp by chance make no white
    dots.
    """
    mi, _ = load()
    groups = GROUPS if renderer.samples >= 4 * GROUPS else 1
    found = [mi.render(scene, spp=renderer.samples // groups, seed=seed + 15485863 * g) for g in range(groups)]
    return torch.stack([torch.from_numpy(np.array(each, dtype=np.float32)) for each in found]).median(0).values


def render(
    renderer: MitsubaRenderer, surface: Surface, camera: Camera, lights: Sequence[Light], outputs: Sequence[str],
    frames: int,
) -> Image:  # fmt: skip
    """Draw all frames, one after another."""
    mi, _ = load()
    check_llvm()
    use_threads(renderer.threads)
    with torch.no_grad():
        alpha = matched.render(replace(renderer, mode="matched"), surface, camera, (), ("silhouette",), frames)
        coverage = alpha.silhouette
        assert coverage is not None
        if "rgba" not in outputs:
            return Image(None, coverage)
        world = surface.vertices.detach()
        centre, extent = world.mean((0, 1)), float((world[0].amax(0) - world[0].amin(0)).norm())
        lamps = _make_lamps(renderer, lights, centre, extent) | _make_ground(renderer, centre, extent)
        values, corners = matched.read_colour_rows(surface)
        values = _centre_corners(surface, values.detach())
        images = []
        for k in range(frames):
            image = None if surface.texture is None else surface.texture.image.expand(frames, -1, -1, -1)[k]
            own = values if values.dim() == 2 else values.expand(frames, -1, -1)[k]
            bsdf = _make_bsdf(renderer, surface, image)
            sensor = _make_sensor(
                camera, camera.rotation.expand(frames, 3, 3)[k], camera.eye.expand(frames, 3)[k], renderer.samples
            )
            scene = mi.load_dict({
                "type": "scene", "sensor": sensor, **lamps,
                "object": _make_mesh(surface, world.expand(frames, -1, -1)[k], own, corners, bsdf),
                "integrator": {"type": "path", "max_depth": renderer.bounces + 1, "hide_emitters": True},
            })  # fmt: skip
            images.append(_trace(scene, renderer, renderer.seed_for(k)))
        seen = torch.stack(images)
        behind = seen.new_tensor(renderer.background)
        colour = (seen[..., :3] + (1.0 - seen[..., 3:]) * behind).clamp(0.0, 1.0)
        rgba = torch.cat([colour, coverage[..., None]], dim=-1)
    return Image(rgba, coverage if "silhouette" in outputs else None)
