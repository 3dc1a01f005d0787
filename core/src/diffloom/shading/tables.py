"""Lights and material as the tables that kernels read."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, Light, Material, PointLight
from diffloom.interfaces.errors import InputError, as_float_tensor, check_shape
from diffloom.shading.kernels.lighting import DIRECTIONAL, POINT
from diffloom.shading.lights import DEFAULT_LIGHTS, rgb, vector


@dataclass(frozen=True)
class LightTables:
    """What lights a scene, the material's factors multiplied in; differentiable.

    kinds: (lights,) int32. ambient: (3,). lights: (lights, 9) place or direction, diffuse, specular. harmonics: (9, 3)
    or (0, 3). shininess: (1,).
    """

    kinds: Tensor
    ambient: Tensor
    lights: Tensor
    harmonics: Tensor
    shininess: Tensor


def light_tables(material: Material, lights: Sequence[Light], dtype: torch.dtype, device: torch.device) -> LightTables:
    """Tables of ``lights``, or of DEFAULT_LIGHTS when there are none; kept where all is plain numbers."""
    make = _kept_tables if all(_of_numbers(thing) for thing in (material, *lights)) else _tables
    return make(material, tuple(lights), dtype, device)


def _of_numbers(thing: object) -> bool:
    """Whether no tensor can change what this says."""
    return hasattr(thing, "__dict__") and all(_is_number(value) for value in vars(thing).values())


def _is_number(value: object) -> bool:
    return isinstance(value, float | int | str) or (isinstance(value, tuple) and all(map(_is_number, value)))


def _tables(material: Material, lights: tuple[Light, ...], dtype: torch.dtype, device: torch.device) -> LightTables:
    ambient, harmonics = torch.zeros(3, dtype=dtype), torch.zeros((0, 3), dtype=dtype)
    diffuse = rgb("Material.diffuse", material.diffuse, dtype)
    specular = rgb("Material.specular", material.specular, dtype)
    rows, kinds = [], []
    for light in lights or DEFAULT_LIGHTS:
        if isinstance(light, AmbientLight):
            ambient = ambient + rgb("AmbientLight.colour", light.colour, dtype)
        elif isinstance(light, HarmonicLight):
            added = _coefficients(light, dtype) * diffuse
            harmonics = harmonics + added if len(harmonics) else added
        elif isinstance(light, PointLight | DirectionalLight):
            place = light.position if isinstance(light, PointLight) else light.direction
            kinds.append(POINT if isinstance(light, PointLight) else DIRECTIONAL)
            glow = rgb("light.diffuse", light.diffuse, dtype) * diffuse
            gloss = rgb("light.specular", light.specular, dtype) * specular
            rows.append(torch.cat([vector("place or direction of a light", place, dtype), glow, gloss]))
        else:
            raise InputError(f"lights: got {light!r}; expected an ambient, point, directional or harmonic light")
    ambient = ambient * rgb("Material.ambient", material.ambient, dtype)
    table = torch.stack(rows) if rows else torch.zeros((0, 9), dtype=dtype)
    shininess = as_float_tensor("Material.shininess", material.shininess, dtype).reshape(1)
    return LightTables(
        torch.tensor(kinds, dtype=torch.int32, device=device),
        ambient.to(device), table.to(device), harmonics.to(device), shininess.to(device),
    )  # fmt: skip


_kept_tables = functools.lru_cache(maxsize=32)(_tables)


def _coefficients(light: HarmonicLight, dtype: torch.dtype) -> Tensor:
    given = as_float_tensor("HarmonicLight.coefficients", light.coefficients, dtype)
    check_shape("HarmonicLight.coefficients", given, (9,), (9, 3))
    return given if given.dim() == 2 else given[:, None].expand(9, 3)
