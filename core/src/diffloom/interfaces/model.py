"""Interface of a physical model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from diffloom.interfaces.example import ExampleSettings
from diffloom.interfaces.integrator import Dynamics
from diffloom.interfaces.memory import MemorySpec
from diffloom.interfaces.params import Params, ParamSpec, batch_params, make_params
from diffloom.interfaces.state import Control, State, Trajectory
from diffloom.interfaces.surface import Stress, Surface


class Model(ABC):
    """Physical system: its parameters, initial state, dynamics and surface.

    A model holds constants only (meshes, groups); everything that may be fitted is a parameter. Implementations are
    final classes, created by name through the registry; they can be pickled.

    Attributes:
        default_integrator: Registered name of the integrator to use if the user names none.
        example_settings: Settings by which the conformance suite runs ``example()``; None if there is no example.
        expected_failures: Reasons by the name of each check of the suite that cannot pass.
    """

    default_integrator: str = "semi_implicit"
    example_settings: ClassVar[ExampleSettings | None] = None
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Declared parameters, in a fixed order."""

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, int]:
        """Lengths of the axes that parameter shapes name, such as ``{"particles": 54, "tets": 100}``."""

    @property
    def memory(self) -> tuple[MemorySpec, ...]:
        """Declared internal variables of nodes or elements, in a fixed order; none by default."""
        return ()

    @abstractmethod
    def initial_state(self, params: Params) -> State:
        """Return the state at time 0, differentiable with respect to the parameters that set it.

        Args:
            params: Parameters of one scene.

        Returns:
            State with q and u of each node set. Internal variables that it leaves out have their declared start values.
        """

    @abstractmethod
    def dynamics(self, params: Params, control: Control) -> Dynamics:
        """Return the system that an integrator advances: forces and masses, or a step of the model's own.

        Args:
            params: Parameters of one scene.
            control: Values per step of parameters declared ``per_step``.

        Returns:
            System with the parameters bound into it.
        """

    @abstractmethod
    def surface(self, trajectory: Trajectory, params: Params) -> Surface:
        """Return the surface that a renderer draws.

        Args:
            trajectory: States of the frames.
            params: Parameters of the scene.

        Returns:
            Surface with one frame for each of ``trajectory``.
        """

    def stress(self, trajectory: Trajectory, params: Params, control: Control | None = None) -> Stress | None:
        """Return the von Mises stress at the vertices of ``surface``; None for models without stress.

        Args:
            trajectory: States of the frames.
            params: Parameters of the scene.
            control: Values of the controls, one row per frame; the constant parameters if None.

        Returns:
            Stress (frames, vertices), or None.
        """
        return None

    @classmethod
    def example(cls) -> Model:
        """Return a small instance that shows all features, for the conformance suite and the documentation.

        Returns:
            Model to which ``example_settings`` apply.
        """
        raise NotImplementedError(f"{cls.__name__} offers no example; define example() and example_settings")

    def derived(self, params: Params) -> Mapping[str, Tensor]:
        """Return declared parameters that follow from other parameters, such as masses from densities.

        A fit compares its result with them if the truth is given by the other parameters.

        Args:
            params: Parameters of the scene.

        Returns:
            Tensors by parameter name.
        """
        return {}

    def params(self, dtype: torch.dtype = torch.float32, *, batch: object = None, **values: object) -> Params:
        """Return checked parameters: the given ``values``, and defaults for the rest.

        params = model.params(mass=2.0, stiffness=[100.0, 200.0])

        Args:
            dtype: torch.float32 (default) or torch.float64.
            batch: Number of scenes to simulate at once; values may then have a leading axis of that length. None for
                one scene.
            **values: Numbers, lists, arrays or tensors by parameter name; tensors keep their gradient and must have
                ``dtype``.

        Returns:
            Immutable mapping of tensors.

        Raises:
            InputError: A name is unknown, or a value has a wrong shape or is out of bounds.
        """
        if batch is not None:
            return batch_params(self, batch, dtype, values)
        return make_params(type(self).__name__, self.specs, self.axes, values, dtype)

    def spec(self, name: str) -> ParamSpec:
        """Return the spec of one parameter.

        Args:
            name: Name of the parameter.

        Returns:
            Its spec.

        Raises:
            KeyError: The parameter does not exist.
        """
        for spec in self.specs:
            if spec.name == name:
                return spec
        raise KeyError(name)
