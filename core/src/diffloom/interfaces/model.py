"""The interface of a physical model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from diffloom.interfaces.example import ExampleSettings
from diffloom.interfaces.integrator import Dynamics
from diffloom.interfaces.params import Params, ParamSpec, batch_params, make_params
from diffloom.interfaces.state import Control, State, Trajectory
from diffloom.interfaces.surface import Stress, Surface


class Model(ABC):
    """A physical system: what its parameters are, how it starts, what drives it, and how it looks.

    A model holds only constants (meshes, groups); everything that may be fitted is a parameter. Implementations are
    final classes; they are created by name through the registry and may be pickled.

    default_integrator: the name of the integrator that runs it where the user names none.
    example_settings: how ``example()`` is run by the conformance suite; None where there is no example.
    expected_failures: checks of the suite that cannot pass, each with its reason.
    """

    default_integrator: str = "semi_implicit"
    example_settings: ClassVar[ExampleSettings | None] = None
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """The declared parameters, in a fixed order."""

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, int]:
        """Lengths of the axes that parameter shapes name, such as ``{"particles": 54, "tets": 100}``."""

    @abstractmethod
    def initial_state(self, params: Params) -> State:
        """The state at time 0, differentiable with respect to the parameters that set it."""

    @abstractmethod
    def dynamics(self, params: Params, control: Control) -> Dynamics:
        """What an integrator advances: forces and masses, or a step of the model's own."""

    @abstractmethod
    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        """What a renderer draws, for every frame of ``trajectory``."""

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress | None:
        """The elastic stress at the vertices of ``surface``, for every frame of ``trajectory``; None for models that
        have none. control: what drove it, a row for each frame; without it the constant parameters are taken."""
        return None

    @classmethod
    def example(cls) -> Model:
        """A small instance that shows everything the model does: what the conformance suite and the documentation of
        its parameters look at. Goes with ``example_settings``."""
        raise NotImplementedError(f"{cls.__name__} offers no example; define example() and example_settings")

    def derived(self, params: Params) -> Mapping[str, Tensor]:
        """Values of declared parameters that follow from others, by name, such as masses from densities. A fit that
        seeks one of them is judged by it where the truth is given the other way."""
        return {}

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        """Checked parameters: the given ``values``, defaults for the rest.

        A value may be a number, a list, an array or a tensor (which keeps its gradient and must have ``dtype``).
        batch: the number of scenes that are to be simulated at once; a value may then have a leading axis of that
        length, one entry a scene.
        """
        if batch is not None:
            return batch_params(self, batch, dtype, values)
        return make_params(type(self).__name__, self.specs, self.axes, values, dtype)

    def spec(self, name: str) -> ParamSpec:
        """The spec of one parameter."""
        for spec in self.specs:
            if spec.name == name:
                return spec
        raise KeyError(name)
