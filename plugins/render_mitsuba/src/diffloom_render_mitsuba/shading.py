"""Colours as the rasterizers shade them, in Dr.Jit: textures, lambert and phong under ambient, point and far lights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import AmbientLight, DirectionalLight, InputError, Light, Material, PointLight, Texture
from diffloom_raster import DEFAULT_LIGHTS, as_rgb, as_vector

from .library import load

Shader = Callable[[Any, Any, Any], Any]


def _to_floats(value: Tensor) -> list[float]:
    """Return the entries of a tensor as floats."""
    return [float(x) for x in value.detach().reshape(-1)]


def make_shader(material: Material, lights: Sequence[Light], eye: Tensor) -> Shader | None:
    """Return a function (colour, position, normal) -> lit colour for the camera at ``eye`` (3,); None for unlit
    surfaces.

    Lights receive no gradients here.
    """
    if material.shading == "unlit":
        return None
    mi, dr = load()
    kind = torch.float32
    ambient = torch.zeros(3, dtype=kind)
    lamps: list[tuple[bool, list[float], list[float], list[float]]] = []
    for light in lights or DEFAULT_LIGHTS:
        if isinstance(light, AmbientLight):
            ambient = ambient + as_rgb("AmbientLight.colour", light.colour, kind)
        elif isinstance(light, PointLight | DirectionalLight):
            near = isinstance(light, PointLight)
            place = as_vector("light", light.position if isinstance(light, PointLight) else light.direction, kind)
            glow = as_rgb("light.diffuse", light.diffuse, kind) * as_rgb("Material.diffuse", material.diffuse, kind)
            gloss = as_rgb("light.specular", light.specular, kind) * as_rgb(
                "Material.specular", material.specular, kind
            )
            lamps.append((near, _to_floats(place), _to_floats(glow), _to_floats(gloss)))
        else:
            raise InputError(
                f'the renderer "mitsuba" has no equivalent of a {type(light).__name__}; give ambient, point or '
                "directional lights"
            )
    everywhere = _to_floats(ambient * as_rgb("Material.ambient", material.ambient, kind))
    viewer, shininess = _to_floats(eye), float(torch.as_tensor(material.shininess))

    def unit(v: Any) -> Any:
        return v * dr.rcp(dr.maximum(dr.norm(v), 1e-12))

    def light_point(colour: Any, place: Any, normal: Any) -> Any:
        n = unit(normal)
        total, gloss = mi.Color3f(*everywhere), mi.Color3f(0.0)
        for near, at, diffuse, specular in lamps:
            towards = unit(mi.Vector3f(*at) - place if near else mi.Vector3f(*at))
            cosine = dr.dot(n, towards)
            total += mi.Color3f(*diffuse) * dr.maximum(cosine, 0.0)
            if material.shading == "phong":
                aligned = dr.dot(unit(mi.Vector3f(*viewer) - place), 2.0 * cosine * n - towards)
                seen = (aligned > 0.0) & (cosine > 0.0)
                gloss += mi.Color3f(*specular) * dr.select(
                    seen, dr.power(dr.select(seen, aligned, 1.0), shininess), 0.0
                )
        return colour * total + gloss

    return light_point


def make_reader(texture: Texture) -> Callable[[list[Any], Any, Any], Any]:
    """Return a function (u and v, image, active) -> colour with the texture's filter; (rows, columns) come from its
    image.
    """
    mi, dr = load()
    height, width = (int(n) for n in texture.image.shape[-3:-1])
    smooth = texture.filter == "bilinear"

    def place(part: Any, size: int) -> tuple[Any, Any, Any]:
        """Lower and upper texel along an axis, and the part of the way between."""
        at = part * (size - 1) if texture.corners else part * size - 0.5
        at = dr.clip(at, 0.0, size - 1.0)
        low = dr.minimum(dr.floor(at), max(size - 2, 0)) if smooth else dr.floor(at + 0.5)
        first = mi.UInt32(low)
        return first, dr.minimum(first + 1, size - 1), at - dr.detach(low) if smooth else mi.Float(0.0)

    def read(uv: list[Any], image: Any, active: Any) -> Any:
        j0, j1, fx = place(uv[0], width)
        i0, i1, fy = place(1.0 - uv[1], height)

        def texel(i: Any, j: Any) -> Any:
            return mi.Color3f(*(dr.gather(mi.Float, image, 3 * (i * width + j) + k, active) for k in range(3)))

        upper = texel(i0, j0) * (1.0 - fx) + texel(i0, j1) * fx
        lower = texel(i1, j0) * (1.0 - fx) + texel(i1, j1) * fx
        return upper * (1.0 - fy) + lower * fy

    return read
