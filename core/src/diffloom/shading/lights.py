"""The colour light makes on a surface."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, Light, Material, PointLight
from diffloom.interfaces.errors import InputError, as_float_tensor, check_shape

#: What lights a scene when no lights are given: some from everywhere, a lamp above and before the origin.
DEFAULT_LIGHTS: tuple[Light, ...] = (AmbientLight(0.5), PointLight((0.0, 3.0, 3.0), 0.5, 0.2))

#: Vectors shorter than this are left short instead of being scaled to one.
SHORTEST = 1e-6


def shade(
    colour: Tensor, position: Tensor, normal: Tensor, eye: Tensor, material: Material, lights: Sequence[Light]
) -> Tensor:
    """Lit colours (..., 3).

    colour: (..., 3), the surface's own. position: (..., 3) [m] and normal: (..., 3), world; the normal need not have
    length one. eye: (..., 3) [m], the camera's place, broadcast over positions.

    With m the material and l, v, r the unit vectors to the light, to the eye and of the mirrored light, the result is
    colour (m.ambient I_ambient + m.diffuse sum I_diffuse max(n.l, 0)) + m.specular sum I_specular max(v.r, 0)^s,
    s being the shininess; a light behind the surface makes no highlight.
    """
    if material.shading == "unlit":
        return colour
    kind = colour.dtype
    n = unit(normal)
    view = unit(eye - position) if material.shading == "phong" else None
    ambient, diffuse = torch.zeros(3, dtype=kind), torch.zeros_like(position)
    specular = torch.zeros_like(position)
    for light in lights or DEFAULT_LIGHTS:
        if isinstance(light, AmbientLight):
            ambient = ambient + rgb("AmbientLight.colour", light.colour, kind)
        elif isinstance(light, HarmonicLight):
            diffuse = diffuse + irradiance(light, n)
        else:
            towards = unit(_towards(light, position))
            cosine = (n * towards).sum(-1, keepdim=True)
            diffuse = diffuse + rgb("light.diffuse", light.diffuse, kind) * cosine.clamp_min(0.0)
            if view is not None:
                peak = _highlight(n, towards, view, cosine, material.shininess)
                specular = specular + rgb("light.specular", light.specular, kind) * peak
    reflect = rgb("Material.ambient", material.ambient, kind) * ambient
    reflect = reflect + rgb("Material.diffuse", material.diffuse, kind) * diffuse
    return colour * reflect + rgb("Material.specular", material.specular, kind) * specular


def _towards(light: PointLight | DirectionalLight, position: Tensor) -> Tensor:
    if isinstance(light, PointLight):
        return vector("PointLight.position", light.position, position.dtype) - position
    return vector("DirectionalLight.direction", light.direction, position.dtype).expand_as(position)


def _highlight(n: Tensor, towards: Tensor, view: Tensor, cosine: Tensor, shininess: Tensor | float) -> Tensor:
    mirrored = 2.0 * cosine * n - towards
    aligned = (view * mirrored).sum(-1, keepdim=True)
    lit = (aligned > 0.0) & (cosine > 0.0)
    return torch.where(lit, torch.where(lit, aligned, 1.0) ** shininess, 0.0)


def irradiance(light: HarmonicLight, normal: Tensor) -> Tensor:
    """Light from all around on a surface with the unit normal (..., 3): (..., 3)."""
    coefficients = check_shape("HarmonicLight.coefficients", light.coefficients, (9,), (9, 3))
    if coefficients.dim() == 1:
        coefficients = coefficients[:, None].expand(9, 3)
    return harmonics(normal) @ coefficients


def harmonics(normal: Tensor) -> Tensor:
    """The nine real spherical harmonics of degree 0 to 2 at unit vectors, (..., 9)."""
    x, y, z = normal.unbind(-1)
    terms = [
        torch.full_like(x, 0.28209479177387814),
        0.4886025119029199 * y,
        0.4886025119029199 * z,
        0.4886025119029199 * x,
        1.0925484305920792 * x * y,
        1.0925484305920792 * y * z,
        0.31539156525252005 * (3.0 * z * z - 1.0),
        1.0925484305920792 * x * z,
        0.5462742152960396 * (x * x - y * y),
    ]
    return torch.stack(terms, dim=-1)


def unit(vector: Tensor) -> Tensor:
    """Scaled to length one, unless shorter than SHORTEST."""
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return vector / length.clamp_min(SHORTEST)


def rgb(what: str, value: object, dtype: torch.dtype) -> Tensor:
    """A grey or coloured factor as (3,)."""
    tensor = as_float_tensor(what, value, dtype)
    return check_shape(what, tensor, (), (3,)).expand(3)


def vector(what: str, value: object, dtype: torch.dtype) -> Tensor:
    """A place or direction as (3,)."""
    tensor = as_float_tensor(what, value, dtype)
    if tensor.shape != (3,):
        raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected three numbers")
    return tensor
