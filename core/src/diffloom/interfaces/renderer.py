"""The interface of a renderer, and the images that it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from diffloom.interfaces.camera import Camera
from diffloom.interfaces.light import Light
from diffloom.interfaces.surface import Surface


@dataclass(frozen=True)
class Image:
    """Rendered frames; what was not asked for is None.

    rgba: (frames, height, width, 4), colour over the background and coverage in the last channel, all 0..1.
    silhouette: (frames, height, width), coverage 0..1; the same numbers as rgba's last channel.
    depth: (frames, height, width) [m] along the viewing axis, the camera's far where nothing is seen.
    face_index: (frames, height, width) int64, the nearest face that covers the pixel's centre, -1 for none.
    """

    rgba: Tensor | None = None
    silhouette: Tensor | None = None
    depth: Tensor | None = None
    face_index: Tensor | None = None

    @property
    def rgb(self) -> Tensor:
        """(frames, height, width, 3)."""
        return self._asked("rgba")[..., :3]

    @property
    def alpha(self) -> Tensor:
        """(frames, height, width): the silhouette, whichever way it was asked for."""
        return self.silhouette if self.silhouette is not None else self._asked("rgba")[..., 3]

    def bytes(self) -> Tensor:
        """(frames, height, width, 4) uint8, for files and screens."""
        return (self._asked("rgba").detach().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)

    def _asked(self, name: str) -> Tensor:
        value: Tensor | None = getattr(self, name)
        if value is None:
            raise AttributeError(f"this image has no {name}; ask for it with outputs=({name!r},) when rendering")
        return value


@dataclass(frozen=True)
class Capabilities:
    """What a renderer claims, and the conformance suite then checks.

    outputs: of "rgba", "silhouette", "depth", "face_index". gradients: inputs that receive exact gradients, of
    "vertices", "colours", "texture", "light", "eye", "rotation", "focal". dtypes: precisions it computes in.
    shadings: values of Material.shading it draws. per_frame: of "colours" and "image", what may differ from frame to
    frame (``Surface.colours``, ``Texture.image``). materials: whether faces may have materials of their own.
    """

    outputs: frozenset[str]
    gradients: frozenset[str]
    dtypes: frozenset[torch.dtype]
    shadings: frozenset[str] = frozenset({"unlit", "lambert", "phong"})
    per_frame: frozenset[str] = frozenset()
    materials: bool = False


class Renderer(ABC):
    """Draws all frames of a surface at once. Implementations are frozen dataclasses whose fields are the settings,
    so a schedule may change one with ``dataclasses.replace``.

    background: rgb of what is seen where the surface is not; a renderer that has no such setting draws on black.
    unbiased: each pixel is the mean over its square of what is seen there, without softness: areas are drawn in their
        size, and rgb over black is the surface's mean colour times its coverage. The conformance suite then checks it.
    expected_failures: checks of the conformance suite that cannot pass, each with its reason.
    """

    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    unbiased: ClassVar[bool] = False
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def example(cls) -> Renderer:
        """An instance to check: one with the default settings, unless a renderer needs arguments."""
        return cls()

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this renderer, with these settings, can do."""

    @abstractmethod
    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        """Draw ``surface`` as ``camera`` sees it, under ``lights``.

        outputs: of "rgba", "silhouette", "depth", "face_index". With no lights, "lambert" and "phong" materials are
        lit by ``diffloom_raster.DEFAULT_LIGHTS``.
        """
