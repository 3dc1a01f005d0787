"""One thing that is sought."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from diffloom_fitting.unknowns.spaces import Bounds


@dataclass(frozen=True)
class Unknown:
    """A parameter of the model, or of the image, that a fit is to find.

    name: a parameter of the model; or "camera.distance", "camera.elevation", "camera.azimuth", "camera.fov",
        "camera.target", "appearance.colour".
    start: where the search begins: a number, list or tensor in the parameter's unit; None takes the scene's value.
    each: False seeks values of start's own shape (a number is shared by all elements), True one value per element.
    only: rows of the parameter that are sought; the others keep the scene's values. None seeks all.
    space: "free", "log" or "bounded"; None lets the parameter's bounds decide. bounds: narrower ones of your own.
    scale: in the free space, the size of a natural change.
    """

    name: str
    start: float | list[float] | list[list[float]] | Tensor | None = None
    each: bool = False
    only: tuple[int, ...] | None = None
    space: str | None = None
    bounds: Bounds | None = None
    scale: float = 1.0
