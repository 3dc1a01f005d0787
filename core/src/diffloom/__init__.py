"""diffloom: fit physics to pixels.

The core: interfaces, plugin system, kernel layer, and what models and renderers share. Names are imported when first
asked for, so that ``import diffloom`` and listing plugins stay light.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffloom.batch import batch_surface
    from diffloom.composition import WithTerms
    from diffloom.interfaces import (
        AmbientLight,
        Camera,
        Checkpointed,
        Control,
        DirectionalLight,
        HarmonicLight,
        Image,
        Material,
        NoGradient,
        PointLight,
        State,
        StoreAll,
        Surface,
        Texture,
        Trajectory,
    )
    from diffloom.plugins import get_integrator, get_loss, get_model, get_renderer, get_term
    from diffloom.simulation import simulate

_HOMES = {
    "diffloom.batch": "batch_surface",
    "diffloom.composition": "WithTerms",
    "diffloom.interfaces": (
        "AmbientLight Camera Checkpointed Control DirectionalLight HarmonicLight Image Material NoGradient PointLight "
        "State StoreAll Surface Texture Trajectory"
    ),
    "diffloom.plugins": "get_integrator get_loss get_model get_renderer get_term",
    "diffloom.simulation": "simulate",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = [
    "AmbientLight",
    "Camera",
    "Checkpointed",
    "Control",
    "DirectionalLight",
    "HarmonicLight",
    "Image",
    "Material",
    "NoGradient",
    "PointLight",
    "State",
    "StoreAll",
    "Surface",
    "Texture",
    "Trajectory",
    "WithTerms",
    "__version__",
    "batch_surface",
    "get_integrator",
    "get_loss",
    "get_model",
    "get_renderer",
    "get_term",
    "simulate",
]


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("diffloom-core")
    if name in _HOME_OF:
        from importlib import import_module

        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'diffloom' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
