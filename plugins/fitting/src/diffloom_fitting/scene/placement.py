"""The interface of a camera whose place can be sought."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError, ParamSpec
from diffloom_fitting.scene.moving import MovingCamera


class CameraPlacement(ABC):
    """A camera given by named quantities, which a fit may seek as ``camera.<name>``.

    Implementations are frozen dataclasses, registered by name through the hook ``diffloom_register_cameras``; an
    experiment file chooses one with ``camera.kind`` and sets its fields in ``[camera.settings]``. size: height and
    width of the images [px], a field that every implementation has.
    """

    size: tuple[int, int]

    @property
    @abstractmethod
    def specs(self) -> tuple[ParamSpec, ...]:
        """What can be sought: name, present value, unit, meaning, shape (of numbers) and bounds."""

    @abstractmethod
    def camera(
        self, dtype: torch.dtype, values: Mapping[str, Tensor] | None = None, times: Tensor | None = None
    ) -> Camera:
        """The camera, differentiable with respect to ``values``, such as {"distance": ...}, which stand in for the
        fields of these names.

        times: (frames,) [s] of the frames that are drawn; a camera that moves has a place for each of them.
        """


def make_camera(
    view: Camera | CameraPlacement | MovingCamera,
    dtype: torch.dtype,
    values: Mapping[str, Tensor],
    times: Tensor | None = None,
) -> Camera:
    """The camera of any kind at ``times`` [s] of its video; only a ``CameraPlacement`` accepts sought values."""
    if isinstance(view, CameraPlacement):
        return view.camera(dtype, values, times)
    if values:
        raise InputError(
            f"camera.{next(iter(values))} is sought, but the camera is fixed; give it as an Orbit to seek its place"
        )
    if isinstance(view, MovingCamera):
        if times is None:
            raise InputError("the camera moves; give the times [s] at which it is looked through")
        view = view.at(times)
    if view.dtype != dtype:
        raise InputError(f"the camera is {view.dtype} and the scene {dtype}; make the camera with dtype={dtype}")
    return view
