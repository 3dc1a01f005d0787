"""Light on a surface: normals of a moving mesh, and the colour that lights give a surface."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces import AmbientLight, DirectionalLight, HarmonicLight, Light, Material, PointLight
from diffloom.transforms import once_differentiable
from diffloom.validation import as_float_tensor, check_magnitude, check_shape
from diffloom_kernels import Arena, as_array

from .layout import find_topology
from .lighting_kernels import AMBIENT, DIRECTIONAL, LIGHTS, POINT, SHININESS, SHORTEST, Y0, Y1, Y2, Y20, Y22
from .pipelines import program
from .records import Corners, Lights

#: Lights of a scene without any: ambient light, and a lamp above and before the origin.
DEFAULT_LIGHTS: tuple[Light, ...] = (AmbientLight(0.5), PointLight((0.0, 3.0, 3.0), 0.5, 0.2))

#: Numbers of the shadings of materials in kernels.
SHADINGS = {"unlit": 0, "lambert": 1, "phong": 2}


def shade(
    colour: Tensor, position: Tensor, normal: Tensor, eye: Tensor, material: Material, lights: Sequence[Light]
) -> Tensor:
    """Return lit colours.

    With m the material and l, v, r the unit vectors to the light, to the eye and of the mirrored light, the result is
    colour (m.ambient I_ambient + m.diffuse sum I_diffuse max(n.l, 0)) + m.specular sum I_specular max(v.r, 0)^s, s
    being the shininess (Phong 1975). A light behind the surface makes no highlight.

    Args:
        colour: (..., 3), the surface's own.
        position: (..., 3) [m], world.
        normal: (..., 3), world, of any length.
        eye: (..., 3) [m], the camera's position, broadcast over positions.
        material: Material of the surface.
        lights: Lights, none for ``DEFAULT_LIGHTS``.

    Returns:
        (..., 3) red, green, blue.
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
            ambient = ambient + as_rgb("AmbientLight.colour", light.colour, kind)
        elif isinstance(light, HarmonicLight):
            diffuse = diffuse + irradiance(light, n)
        else:
            towards = unit(_find_direction(light, position))
            cosine = (n * towards).sum(-1, keepdim=True)
            diffuse = diffuse + as_rgb("light.diffuse", light.diffuse, kind) * cosine.clamp_min(0.0)
            if view is not None:
                peak = _compute_highlight(n, towards, view, cosine, material.shininess)
                specular = specular + as_rgb("light.specular", light.specular, kind) * peak
    reflect = as_rgb("Material.ambient", material.ambient, kind) * ambient
    reflect = reflect + as_rgb("Material.diffuse", material.diffuse, kind) * diffuse
    return colour * reflect + as_rgb("Material.specular", material.specular, kind) * specular


def _find_direction(light: PointLight | DirectionalLight, position: Tensor) -> Tensor:
    """Return the vector from positions to a light."""
    if isinstance(light, PointLight):
        return as_vector("PointLight.position", light.position, position.dtype) - position
    return as_vector("DirectionalLight.direction", light.direction, position.dtype).expand_as(position)


def _compute_highlight(n: Tensor, towards: Tensor, view: Tensor, cosine: Tensor, shininess: Tensor | float) -> Tensor:
    """Return max(v.r, 0)^shininess, 0 where the light is behind the surface."""
    mirrored = 2.0 * cosine * n - towards
    aligned = (view * mirrored).sum(-1, keepdim=True)
    lit = (aligned > 0.0) & (cosine > 0.0)
    return torch.where(lit, torch.where(lit, aligned, 1.0) ** shininess, 0.0)


def irradiance(light: HarmonicLight, normal: Tensor) -> Tensor:
    """Return light from all around on a surface.

    Args:
        light: Light given by spherical harmonics. Differentiable in its coefficients.
        normal: (..., 3) unit normals. Differentiable.

    Returns:
        (..., 3) red, green, blue.
    """
    return harmonics(normal) @ _read_coefficients(light, normal.dtype)


def harmonics(normal: Tensor) -> Tensor:
    """Return the nine real spherical harmonics of degree 0 to 2.

    Args:
        normal: (..., 3) unit vectors. Differentiable.

    Returns:
        (..., 9), in the order (0, 0), (1, -1), (1, 0), (1, 1), (2, -2) to (2, 2).
    """
    x, y, z = normal.unbind(-1)
    terms = [
        torch.full_like(x, Y0), Y1 * y, Y1 * z, Y1 * x, Y2 * x * y, Y2 * y * z, Y20 * (3.0 * z * z - 1.0),
        Y2 * x * z, Y22 * (x * x - y * y),
    ]  # fmt: skip
    return torch.stack(terms, dim=-1)


def unit(vector: Tensor) -> Tensor:
    """Return a vector scaled to length one, unless it is shorter than SHORTEST."""
    length: Tensor = torch.linalg.vector_norm(vector, dim=-1, keepdim=True)
    return vector / length.clamp_min(SHORTEST)


def as_rgb(what: str, value: object, dtype: torch.dtype) -> Tensor:
    """Return a grey or coloured factor as a tensor.

    Args:
        what: Name of the factor in messages.
        value: One number, or three.
        dtype: Precision of the result.

    Returns:
        (3,) red, green, blue.
    """
    tensor = check_magnitude(what, as_float_tensor(what, value, dtype))
    return check_shape(what, tensor, (), (3,)).expand(3)


def as_vector(what: str, value: object, dtype: torch.dtype) -> Tensor:
    """Return a position or a direction as a tensor.

    Args:
        what: Name of the vector in messages.
        value: Three numbers.
        dtype: Precision of the result.

    Returns:
        (3,).
    """
    tensor = as_float_tensor(what, value, dtype)
    if tensor.shape != (3,):
        raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected three numbers")
    return check_magnitude(what, tensor)


def make_light_tables(
    materials: Sequence[Material], lights: Sequence[Light], dtype: torch.dtype, device: torch.device
) -> Lights:
    """Return tables of lights on each material. They are kept where all parameters are plain numbers.

    Args:
        materials: Materials of the surface.
        lights: Lights, none for ``DEFAULT_LIGHTS``.
        dtype: Precision of the tables.
        device: Device of the tables.

    Returns:
        Tensors, differentiable in the parameters of lights and materials.
    """
    make = _kept_tables if all(_has_only_numbers(thing) for thing in (*materials, *lights)) else _make_tables
    return make(tuple(materials), tuple(lights), dtype, device)


def find_strongest_shading(materials: Sequence[Material]) -> int:
    """Return the number of the shading that all materials can be drawn with.

    Phong without highlights is lambert, and lambert without lights is unlit.
    """
    return max(SHADINGS[material.shading] for material in materials)


def _has_only_numbers(thing: object) -> bool:
    """Return True if all attributes are numbers, texts or tuples of them: a table made from them can be kept."""
    return hasattr(thing, "__dict__") and all(_is_number(value) for value in vars(thing).values())


def _is_number(value: object) -> bool:
    """Return True for a number, a text or a tuple of them."""
    return isinstance(value, float | int | str) or (isinstance(value, tuple) and all(map(_is_number, value)))


def _make_tables(
    materials: tuple[Material, ...], lights: tuple[Light, ...], dtype: torch.dtype, device: torch.device
) -> Lights:
    """Stack the tables of all materials."""
    mixed = len({material.shading for material in materials}) > 1
    each = [_make_table(material, lights, dtype, mixed) for material in materials]
    kinds = each[0].kinds.to(device)
    ambient, table, harmonics, shininess = (
        torch.stack([getattr(one, name) for one in each]).to(device)
        for name in ("ambient", "table", "harmonics", "shininess")
    )
    return Lights(ambient, kinds, table, harmonics, shininess)


def _make_table(material: Material, lights: tuple[Light, ...], dtype: torch.dtype, mixed: bool) -> Lights:
    """Return the table of one material.

    ``mixed``: other materials that are drawn with it have another shading. Factors then stand for the shading: a
    specular factor of 0 for no highlight, an ambient one of 1 alone for no light.
    """
    if mixed and material.shading == "unlit":
        return _make_unlit(_make_table(Material("lambert"), lights, dtype, False))
    ambient, harmonics = torch.zeros(3, dtype=dtype), torch.zeros((0, 3), dtype=dtype)
    diffuse = as_rgb("Material.diffuse", material.diffuse, dtype)
    specular = as_rgb("Material.specular", material.specular, dtype)
    if mixed and material.shading != "phong":
        specular = torch.zeros_like(specular)
    rows, kinds = [], []
    for light in lights or DEFAULT_LIGHTS:
        if isinstance(light, AmbientLight):
            ambient = ambient + as_rgb("AmbientLight.colour", light.colour, dtype)
        elif isinstance(light, HarmonicLight):
            added = _read_coefficients(light, dtype) * diffuse
            harmonics = harmonics + added if len(harmonics) else added
        elif isinstance(light, PointLight | DirectionalLight):
            place = light.position if isinstance(light, PointLight) else light.direction
            kinds.append(POINT if isinstance(light, PointLight) else DIRECTIONAL)
            glow = as_rgb("light.diffuse", light.diffuse, dtype) * diffuse
            gloss = as_rgb("light.specular", light.specular, dtype) * specular
            rows.append(torch.cat([as_vector("place or direction of a light", place, dtype), glow, gloss]))
        else:
            raise InputError(f"lights: got {light!r}; expected an ambient, point, directional or harmonic light")
    ambient = ambient * as_rgb("Material.ambient", material.ambient, dtype)
    table = torch.stack(rows) if rows else torch.zeros((0, 9), dtype=dtype)
    shininess = as_float_tensor("Material.shininess", material.shininess, dtype)
    shininess = check_magnitude("Material.shininess", check_shape("Material.shininess", shininess, (), (1,))).reshape(1)
    return Lights(ambient, torch.tensor(kinds, dtype=torch.int32), table, harmonics, shininess)


def _make_unlit(lit: Lights) -> Lights:
    """Return tables in the shape of ``lit`` that leave the surface's own colour unchanged."""
    ambient, table = torch.ones_like(lit.ambient), torch.cat([lit.table[:, :3], torch.zeros_like(lit.table[:, 3:])], 1)
    return Lights(ambient, lit.kinds, table, torch.zeros_like(lit.harmonics), lit.shininess)


_kept_tables = functools.lru_cache(maxsize=32)(_make_tables)


def _read_coefficients(light: HarmonicLight, dtype: torch.dtype) -> Tensor:
    """Return the coefficients of a light from all around, (9, 3)."""
    given = as_float_tensor("HarmonicLight.coefficients", light.coefficients, dtype)
    check_magnitude("HarmonicLight.coefficients", check_shape("HarmonicLight.coefficients", given, (9,), (9, 3)))
    return given if given.dim() == 2 else given[:, None].expand(9, 3)


@functools.lru_cache(maxsize=8)
def make_no_lights(dtype: torch.dtype, device: torch.device) -> Lights:
    """Return empty tables for a scene in which nothing is lit."""
    zeros = functools.partial(torch.zeros, dtype=dtype, device=device)
    kinds = torch.zeros(0, dtype=torch.int32, device=device)
    return Lights(zeros((1, 3)), kinds, zeros((1, 0, 9)), zeros((1, 0, 3)), zeros((1, 1)))


def count_light_columns(lights: Lights) -> int:
    """Return the number of columns of the table that cotangents of lights are summed in.

    Args:
        lights: Lights as kernels read them.

    Returns:
        Number of columns.
    """
    materials, count, harmonics = (
        int(n) for n in (lights.table.shape[0], lights.table.shape[1], lights.harmonics.shape[1])
    )
    return materials * (LIGHTS + 9 * count + 3 * harmonics)


def split_light_cotangents(sums: Tensor, table: Tensor) -> dict[str, Tensor]:
    """Return cotangents by the names of ``Lights``.

    Args:
        sums: (columns,) sums over the rows of ``kernels.light_table_adjoint``.
        table: (materials, lights, 9) table of the lights; only its shape matters.

    Returns:
        Cotangents of ambient, shininess, table and harmonics.
    """
    materials, count = (int(n) for n in table.shape[:2])
    of = sums.reshape(materials, -1)
    return {
        "ambient": of[:, AMBIENT : AMBIENT + 3],
        "shininess": of[:, SHININESS : SHININESS + 1],
        "table": of[:, LIGHTS : LIGHTS + 9 * count].reshape(materials, count, 9),
        "harmonics": of[:, LIGHTS + 9 * count :].reshape(materials, -1, 3),
    }


#: Time for the normal of one vertex, roughly [ns].
PER_VERTEX = 60.0


def compute_vertex_normals(vertices: Tensor, faces: Tensor) -> Tensor:
    """Return unit normals of vertices: sums over the faces around a vertex, each weighted with its area.

    Args:
        vertices: (frames, vertices, 3). Differentiable.
        faces: (faces, 3) int64, counter-clockwise seen from outside.

    Returns:
        (frames, vertices, 3); 0 for vertices without a proper face.
    """
    return compute_normals(vertices, find_topology(faces, int(vertices.shape[1])).corners)


def compute_normals(vertices: Tensor, corners: Corners) -> Tensor:
    """Return unit normals of vertices whose topology is known."""
    normals: Tensor = _Normals.apply(corners, vertices)  # type: ignore[no-untyped-call]
    return normals


class _Normals(torch.autograd.Function):
    """Autograd function (corners, vertices) -> normals."""

    @staticmethod
    def forward(ctx: Any, corners: Corners, vertices: Tensor) -> Tensor:
        points = as_array(vertices).reshape(-1, 3)
        normals = Arena.of(vertices).floats(*points.shape)
        program.run("find_normals", vertices.shape[1], corners, points, normals, work=len(points) * PER_VERTEX)
        ctx.corners = corners
        ctx.save_for_backward(vertices)
        return Arena.of(vertices).tensor(normals).reshape(vertices.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_normals: Tensor) -> tuple[Any, ...]:
        (vertices,) = ctx.saved_tensors
        arena, points = Arena.of(vertices), as_array(vertices).reshape(-1, 3)
        adj, adj_points = as_array(adj_normals).reshape(-1, 3), arena.floats(*points.shape)
        program.run(
            "find_normals_adjoint", vertices.shape[1], ctx.corners, points, adj, arena.floats(*points.shape),
            adj_points, work=len(points) * PER_VERTEX,
        )  # fmt: skip
        return None, arena.tensor(adj_points).reshape(vertices.shape)
