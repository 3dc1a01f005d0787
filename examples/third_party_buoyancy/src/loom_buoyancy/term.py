"""Buoyancy as a term that any model of particles may use."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from diffloom.dynamics import NodeTerm, spread
from diffloom.interfaces import ParamSpec

_POSITIVE = (0.0, None)


def water_specs() -> tuple[ParamSpec, ...]:
    """The parameters of the water, to be listed among a model's own."""
    return (
        ParamSpec("water_density", 1000.0, "kg/m^3", "mass of the water per volume", bounds=_POSITIVE),
        ParamSpec("water_drag", 4.0, "N s/m", "drag per speed of a ball that is wholly under", bounds=_POSITIVE),
        ParamSpec("water_level", 0.0, "m", "height of the water at rest"),
        ParamSpec("wave_height", 0.05, "m", "amplitude of the wave, which runs along x"),
        ParamSpec("wavenumber", 6.0, "rad/m", "2 pi over the wave's length"),
        ParamSpec("wave_frequency", 7.0, "rad/s", "2 pi over the wave's period"),
    )


def buoyancy(radius: Tensor, gravity: Tensor, params: Mapping[str, Tensor], name: str = "buoyancy") -> NodeTerm:
    """Lift and drag of balls in wavy water.

    radius: (nodes,) [m]. gravity: (3,) [m/s^2], of which the part along -y presses the water. params: what
    ``water_specs`` declares.
    """
    # Imported here, so that numba is loaded when something runs and not when plugins are listed.
    from loom_buoyancy.kernels import buoyancy_force, buoyancy_force_adjoint

    count = (len(radius),)
    names = ("water_drag", "water_level", "wave_height", "wavenumber", "wave_frequency")
    return NodeTerm(
        name,
        force=buoyancy_force,
        adjoint=buoyancy_force_adjoint,
        params=(
            ("radius", radius),
            ("weight", spread(-params["water_density"] * gravity[1], count)),
            *((key, spread(params[key], count)) for key in names),
        ),
    )
