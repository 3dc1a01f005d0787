"""Mitsuba 3 as a renderer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import torch

from diffloom.interfaces import Camera, Capabilities, Image, InputError, Light, Renderer, Surface
from diffloom.validation import check_choice
from diffloom_raster import check_rgb, check_scene

MODES = ("matched", "photorealistic")

MATCHED = Capabilities(
    outputs=frozenset({"rgba", "silhouette"}),
    gradients=frozenset({"vertices", "colours", "texture", "eye", "rotation", "focal"}),
    dtypes=frozenset({torch.float32}),
    per_frame=frozenset({"colours", "image"}),
)
PHOTOREALISTIC = replace(MATCHED, gradients=frozenset())


@dataclass(frozen=True)
class MitsubaRenderer(Renderer):
    """Mitsuba 3, in single precision: pixels are means of random samples, which depend on the seed alone.

    Args:
        mode: "matched" draws the rasterizers' images in the limit of sharp edges, with antialiasing and with gradients;
            "photorealistic" traces paths of light, for videos to be fitted with another renderer, and has no gradients.
        samples: Number of samples of each pixel.
        gradient_samples: Number of samples of each pixel in the backward pass of the matched mode.
        seed: Seed of the samples.
        seed_per_frame: Give each frame samples of its own; otherwise all frames use the same.
        background: Red, green, blue behind everything.
        threads: Number of threads that the library may use; with one, gradients have the same bits every time.
        bounces: Bounces of a path of light, at least 1; with 2 or more, surfaces light one another.
        ground: Height of a plane that receives shadows [m], or None.
        ground_colour: Red, green, blue of the ground.
        lamp_radius: Radius of lamps [m]; suns look as wide as such a lamp at the distance of 10 radii.
        gloss: Roughness of "phong" materials, 0 to 1.

    Example:
        MitsubaRenderer = get_renderer("mitsuba")
        image = MitsubaRenderer(mode="photorealistic", samples=100, ground=0.0).render(surface, camera)
    """

    mode: Literal["matched", "photorealistic"] = "matched"
    samples: int = 16
    gradient_samples: int = 4
    seed: int = 0
    seed_per_frame: bool = False
    background: tuple[float, float, float] = (0.0, 0.0, 0.0)
    threads: int = 1
    bounces: int = 4
    ground: float | None = None
    ground_colour: tuple[float, float, float] = (0.4, 0.4, 0.4)
    lamp_radius: float = 0.5
    gloss: float = 0.3

    def __post_init__(self) -> None:
        check_choice("MitsubaRenderer.mode", self.mode, MODES)
        for name in ("samples", "gradient_samples", "threads", "bounces"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"MitsubaRenderer.{name}: got {value!r}; expected a whole number, 1 or more")
        for name in ("background", "ground_colour"):
            check_rgb(f"MitsubaRenderer.{name}", getattr(self, name))
        for name in ("lamp_radius", "gloss"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"MitsubaRenderer.{name}: got {getattr(self, name)!r}; expected a number above 0")

    def seed_for(self, frame: int) -> int:
        """Return the seed of one frame."""
        return self.seed + 104729 * frame if self.seed_per_frame else self.seed

    @property
    def owns_background(self) -> bool:  # type: ignore[override]
        """True if the images have a ground, which receives shadows."""
        return self.mode == "photorealistic" and self.ground is not None

    @property
    def capabilities(self) -> Capabilities:
        return MATCHED if self.mode == "matched" else PHOTOREALISTIC

    def render(
        self, surface: Surface, camera: Camera, lights: Sequence[Light] = (), outputs: Sequence[str] = ("rgba",)
    ) -> Image:
        frames = check_scene(surface, camera, lights, outputs, self.capabilities)
        if self.mode == "matched":
            from . import matched

            return matched.render(self, surface, camera, lights, outputs, frames)
        from . import photorealistic

        return photorealistic.render(self, surface, camera, lights, outputs, frames)
