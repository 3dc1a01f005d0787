"""Integrator whose radiance is the colour that rasterizers shade: no light is traced, shadows are not cast.

Derived from the library's projective integrator for direct light, which samples silhouettes. Both sides of a silhouette
are asked for their colour, so that the colour behind an edge has its part in the gradient. Importing this file loads
the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .library import load

mi: Any
dr: Any
mi, dr = load()


@dataclass
class MeshShading:
    """Sources of the colour of a hit, as Dr.Jit arrays.

    corners: (3 faces,) rows of ``rows``; rows: (6 vertices,) position and normal in the world. colour_corners and
    values: the like for ``width`` numbers of colour (3) or texture coordinates (2). image: (3 height width,) or None.
    lit: a function (colour, position, normal) -> colour. Without ``values`` every hit is white: coverage.
    """

    corners: Any = None
    rows: Any = None
    colour_corners: Any = None
    values: Any = None
    width: int = 3
    image: Any = None
    texture: Any = None
    lit: Any = None


def blend_corners(si: Any, corners: Any, values: Any, first: int, count: int, width: int) -> list[Any]:
    """Return numbers first to first + count of the rows at the corners of the face that was hit, weighted by
    position.
    """
    weights = (1.0 - si.uv.x - si.uv.y, si.uv.x, si.uv.y)
    found = [mi.Float(0.0)] * count
    for c, weight in enumerate(weights):
        row = dr.gather(mi.UInt32, corners, 3 * si.prim_index + c, si.is_valid()) * width + first
        for k in range(count):
            found[k] = dr.fma(weight, dr.gather(mi.Float, values, row + k, si.is_valid()), found[k])
    return found


class MatchedIntegrator(mi.ad.integrators.direct_projective.DirectProjectiveIntegrator):  # type: ignore[misc,name-defined,unused-ignore]
    """Integrator for the colour of the nearest surface, black where there is none."""

    shading = MeshShading()

    def colour(self, si: Any) -> Any:
        """Return the colour of a hit."""
        shading = self.shading
        if shading.values is None:
            return mi.Color3f(1.0)
        found = blend_corners(si, shading.colour_corners, shading.values, 0, shading.width, shading.width)
        colour = shading.texture(found, shading.image, si.is_valid()) if shading.texture else mi.Color3f(*found)
        if shading.lit is None:
            return colour
        place = mi.Vector3f(*blend_corners(si, shading.corners, shading.rows, 0, 3, 6))
        normal = mi.Vector3f(*blend_corners(si, shading.corners, shading.rows, 3, 3, 6))
        return shading.lit(colour, place, normal)

    def sample(
        self, mode: Any, scene: Any, sampler: Any, ray: Any, depth: Any, δL: Any, state_in: Any, active: Any,
        project: bool = False, si_shade: Any = None, **_kwargs: Any,
    ) -> Any:  # fmt: skip
        """Return radiance and the active rays: the library's interface."""
        attached = mode != dr.ADMode.Primal
        with dr.resume_grad(when=attached):
            si = si_shade
            if si is None:
                si = scene.ray_intersect(ray, ray_flags=mi.RayFlags.All, coherent=True, active=active)
            radiance = dr.select(si.is_valid(), self.colour(si), mi.Color3f(0.0))
        return radiance, active, [], None

    def sample_radiance_difference(
        self, scene: Any, ss: Any, curr_depth: Any, sampler: Any, wavelengths: Any, active: Any
    ) -> Any:
        """Return the colour of the foreground minus the colour behind it, at a point of a silhouette."""
        behind, _, _, _ = self.sample(
            dr.ADMode.Primal, scene, sampler, ss.spawn_ray(wavelengths), 0, None, None, active
        )
        hit = dr.zeros(mi.PreliminaryIntersection3f)
        hit.valid, hit.t, hit.prim_index, hit.prim_uv, hit.shape = active, 1.0, ss.prim_index, ss.uv, ss.shape
        si = hit.compute_surface_interaction(mi.Ray3f(ss.p - ss.d, ss.d), mi.RayFlags.All, active)
        before, _, _, _ = self.sample(
            dr.ADMode.Primal, scene, sampler, mi.Ray3f(ss.p - ss.d, ss.d), 0, None, None, active, False, si
        )
        return before - behind, active
