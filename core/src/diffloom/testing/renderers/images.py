"""Drawing with the renderer under test."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from diffloom.interfaces import Camera, Light, Surface
from diffloom.testing.checks import Failure, Skip
from diffloom.testing.subjects import RendererSubject

OUTPUTS = ("rgba", "silhouette", "depth", "face_index")


def offered(subject: RendererSubject) -> tuple[str, ...]:
    """The outputs that the renderer claims."""
    return tuple(name for name in OUTPUTS if name in subject.renderer.capabilities.outputs)


def smooth(subject: RendererSubject) -> tuple[str, ...]:
    """The claimed outputs that are numbers to differentiate."""
    return tuple(name for name in offered(subject) if name != "face_index")


def precision(subject: RendererSubject) -> torch.dtype:
    """The best precision claimed."""
    claimed = subject.renderer.capabilities.dtypes
    return torch.float64 if torch.float64 in claimed else torch.float32


def draw(
    subject: RendererSubject, surface: Surface, camera: Camera, output: str = "rgba", lights: Sequence[Light] = ()
) -> Tensor:
    """One output of an image."""
    image = subject.renderer.render(surface, camera, lights, outputs=(output,))
    found: Tensor | None = getattr(image, output)
    if found is None:
        raise Failure(f"asked for {output!r}, got None")
    return found


def needs(subject: RendererSubject, output: str) -> None:
    """Skip when an output is not claimed."""
    if output not in subject.renderer.capabilities.outputs:
        raise Skip(f"the renderer does not claim the output {output!r}")
