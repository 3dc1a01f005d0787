"""The interface of a renderer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from diffloom.interfaces.camera import Camera
from diffloom.interfaces.image import Image
from diffloom.interfaces.light import Light
from diffloom.interfaces.surface import Surface


@dataclass(frozen=True)
class Capabilities:
    """What a renderer claims, and the conformance suite then checks.

    outputs: of "rgba", "silhouette", "depth", "face_index". gradients: inputs that receive exact gradients, of
    "vertices", "colours", "texture", "light", "eye", "rotation", "focal". dtypes: precisions it computes in.
    shadings: values of Material.shading it draws. per_frame: of "colours" and "image", what may differ from frame to
    frame (``Surface.colours``, ``Texture.image``).
    """

    outputs: frozenset[str]
    gradients: frozenset[str]
    dtypes: frozenset[torch.dtype]
    shadings: frozenset[str] = frozenset({"unlit", "lambert", "phong"})
    per_frame: frozenset[str] = frozenset()


class Renderer(ABC):
    """Draws all frames of a surface at once. Implementations are frozen dataclasses whose fields are the settings,
    so a schedule may change one with ``dataclasses.replace``."""

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
        lit by ``diffloom.raster.DEFAULT_LIGHTS``.
        """
