"""The interface of a renderer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

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
    expected_failures: checks of the conformance suite that cannot pass, each with its reason.
    """

    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
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
