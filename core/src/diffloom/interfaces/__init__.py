"""Interfaces of models, integrators and renderers, and the types they exchange.

A `Model` declares its parameters (`ParamSpec`, `Params`), its start (`State`), its forces or step (`Dynamics`,
`Control`) and its visible surface (`Surface`). An `Integrator` advances the dynamics and returns a `Trajectory`, which
is differentiated as a `Gradient` policy says. A `Renderer` renders a surface, seen by a `Camera` under `Light`s, into
an `Image`.
"""

from diffloom.errors import BatchError, InputError, ParameterError, SimulationError
from diffloom.interfaces.camera import Camera
from diffloom.interfaces.example import ExampleSettings, ImpactSettings
from diffloom.interfaces.integrator import (
    Checkpointed,
    CustomStep,
    Dynamics,
    Gradient,
    Integrator,
    NoGradient,
    StoreAll,
)
from diffloom.interfaces.joining import join_surfaces
from diffloom.interfaces.light import AmbientLight, DirectionalLight, HarmonicLight, Light, PointLight
from diffloom.interfaces.memory import MemorySpec, complete_memory
from diffloom.interfaces.model import Model
from diffloom.interfaces.params import Params, ParamSpec, check_param_names, make_params
from diffloom.interfaces.renderer import Capabilities, Image, Renderer
from diffloom.interfaces.state import Control, State, Trajectory
from diffloom.interfaces.surface import FaceMaterials, Material, Stress, Surface, Texture, join_stresses

__all__ = [
    "AmbientLight",
    "BatchError",
    "Camera",
    "Capabilities",
    "Checkpointed",
    "Control",
    "CustomStep",
    "DirectionalLight",
    "Dynamics",
    "ExampleSettings",
    "FaceMaterials",
    "Gradient",
    "HarmonicLight",
    "Image",
    "ImpactSettings",
    "InputError",
    "Integrator",
    "Light",
    "Material",
    "MemorySpec",
    "Model",
    "NoGradient",
    "ParamSpec",
    "ParameterError",
    "Params",
    "PointLight",
    "Renderer",
    "SimulationError",
    "State",
    "StoreAll",
    "Stress",
    "Surface",
    "Texture",
    "Trajectory",
    "check_param_names",
    "complete_memory",
    "join_stresses",
    "join_surfaces",
    "make_params",
]
