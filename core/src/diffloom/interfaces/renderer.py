"""Interface of a renderer, and the images that it returns."""

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
    """Rendered frames; outputs that were not requested are None.

    Args:
        rgba: (frames, height, width, 4): colour over the background, and coverage in the last channel, all 0..1.
        silhouette: Coverage (frames, height, width), 0..1; equal to the last channel of rgba.
        depth: (frames, height, width) [m] along the viewing axis; the camera's far where nothing is seen.
        face_index: (frames, height, width) int64, the nearest face that covers the pixel's centre, -1 for none.
    """

    rgba: Tensor | None = None
    silhouette: Tensor | None = None
    depth: Tensor | None = None
    face_index: Tensor | None = None

    @property
    def rgb(self) -> Tensor:
        """Colours (frames, height, width, 3)."""
        return self._get_output("rgba")[..., :3]

    @property
    def alpha(self) -> Tensor:
        """Coverage (frames, height, width), from the silhouette or from rgba."""
        return self.silhouette if self.silhouette is not None else self._get_output("rgba")[..., 3]

    def bytes(self) -> Tensor:
        """Return the frames as bytes, for files and screens.

        Returns:
            (frames, height, width, 4) uint8.
        """
        return (self._get_output("rgba").detach().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)

    def _get_output(self, name: str) -> Tensor:
        """Return an output, or raise AttributeError if it was not requested."""
        value: Tensor | None = getattr(self, name)
        if value is None:
            raise AttributeError(f"this image has no {name}; ask for it with outputs=({name!r},) when rendering")
        return value


@dataclass(frozen=True)
class Capabilities:
    """Capabilities that a renderer claims and the conformance suite checks.

    Args:
        outputs: Supported outputs, of "rgba", "silhouette", "depth", "face_index".
        gradients: Inputs with exact gradients, of "vertices", "colours", "texture", "light", "eye", "rotation",
            "focal".
        dtypes: Supported float types.
        shadings: Supported values of ``Material.shading``.
        per_frame: Inputs that may differ by frame, of "colours" (``Surface.colours``) and "image" (``Texture.image``).
        materials: True if faces may have different materials.
    """

    outputs: frozenset[str]
    gradients: frozenset[str]
    dtypes: frozenset[torch.dtype]
    shadings: frozenset[str] = frozenset({"unlit", "lambert", "phong"})
    per_frame: frozenset[str] = frozenset()
    materials: bool = False


class Renderer(ABC):
    """Renderer, which draws all frames of a surface at once.

    Implementations are frozen dataclasses whose fields are the settings, so that schedules can change them by
    ``dataclasses.replace``.

    Attributes:
        background: Colour (rgb, 0..1) behind the surface; black for renderers without such a setting.
        unbiased: True if each pixel is the mean over its square of the visible colours, without softness: areas have
            their true size, and rgb over black is the surface's mean colour times its coverage. The conformance suite
            checks it.
        owns_background: True if the colours of an image include more than the surface, such as a ground that receives
            its shadow. A scene then lays nothing behind the surface.
        edge_gradients: True if colours have gradients by the motion of outlines; False if only the soft mask has.
        expected_failures: Reasons by the name of each check of the conformance suite that cannot pass.
    """

    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    unbiased: ClassVar[bool] = False
    owns_background: bool = False
    edge_gradients: ClassVar[bool] = True
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def example(cls) -> Renderer:
        """Return an instance for the conformance suite.

        Returns:
            Renderer with default settings, unless a class overrides this.
        """
        return cls()

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """Capabilities of this renderer with these settings."""

    @abstractmethod
    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        """Render a surface.

        Args:
            surface: Moving mesh with its appearance.
            camera: Camera, one for all frames or one per frame.
            lights: Lights; without any, "lambert" and "phong" materials are lit by ``diffloom_raster.DEFAULT_LIGHTS``.
            outputs: Requested outputs, of "rgba", "silhouette", "depth", "face_index".

        Returns:
            Image with the requested outputs.
        """
