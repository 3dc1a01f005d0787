"""Interface of cameras whose quantities a fit may seek."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError, ParamSpec
from diffloom_fitting.scene.moving import MovingCamera


class CameraPlacement(ABC):
    """Camera given by named quantities, which a fit may seek as ``camera.<name>``.

    Implementations are frozen dataclasses, registered by name through the hook ``diffloom_register_cameras``; an
    experiment file chooses one with ``camera.kind`` and sets its fields in ``[camera.settings]``.

    Attributes:
        size: Height and width of the images [px].
    """

    size: tuple[int, int]

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """Quantities that can be unknowns: name, present value, unit, meaning, shape (of numbers) and bounds."""

    @abstractmethod
    def camera(
        self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None, times: Tensor | None = None
    ) -> Camera:
        """Build the camera.

        Args:
            dtype: Precision.
            values: Unknowns by name, such as {"distance": ...}, that replace fields.
            times: (frames,), times of the video [s]; a moving camera has a pose for each.

        Returns:
            The camera, differentiable with respect to ``values``.
        """


def make_camera(
    view: Camera | CameraPlacement | MovingCamera,
    dtype: torch.dtype,
    values: Mapping[str, Tensor],
    times: Tensor | None = None,
) -> Camera:
    """Build a camera of any kind.

    Args:
        view: The camera.
        dtype: Precision.
        values: Unknowns by name; only a ``CameraPlacement`` accepts some.
        times: (frames,), times of the video [s]; needed if the camera moves.

    Returns:
        The camera.
    """
    if isinstance(view, CameraPlacement):
        return view.camera(dtype, values, times)
    if values:
        raise InputError(
            f"camera.{next(iter(values))} is an unknown, but the camera is fixed; give it as an Orbit to seek its place"
        )
    if isinstance(view, MovingCamera):
        if times is None:
            raise InputError("MovingCamera: give the times [s] of its frames")
        view = view.at(times)
    if view.dtype != dtype:
        raise InputError(f"the camera is {view.dtype} and the scene {dtype}; make the camera with dtype={dtype}")
    return view
