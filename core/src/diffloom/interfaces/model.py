"""The interface of a physical model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch

from diffloom.interfaces.dynamics import Dynamics
from diffloom.interfaces.params import Params, ParamSpec, make_params
from diffloom.interfaces.state import Control, State, Trajectory
from diffloom.interfaces.surface import Surface


class Model(ABC):
    """A physical system: what its parameters are, how it starts, what drives it, and how it looks.

    A model holds only constants (meshes, groups); everything that may be fitted is a parameter. Implementations are
    final classes; they are created by name through the registry and may be pickled.
    """

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

    def params(self, dtype: torch.dtype = torch.float32, **values: object) -> Params:
        """Checked parameters: the given ``values``, defaults for the rest.

        A value may be a number, a list, an array or a tensor (which keeps its gradient and must have ``dtype``).
        """
        return make_params(type(self).__name__, self.specs, self.axes, values, dtype)

    def spec(self, name: str) -> ParamSpec:
        """The spec of one parameter."""
        for spec in self.specs:
            if spec.name == name:
                return spec
        raise KeyError(name)
