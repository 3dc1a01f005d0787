"""Small views and targets for trying losses: an object that is slightly displaced."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.interfaces import Image
from diffloom_fitting.losses.track import measure_outline_tracks
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target

#: Frames, rows and columns: three different numbers, so that swapped axes fail.
FRAMES, HEIGHT, WIDTH = 3, 12, 16
NODES = 5


def coverage(shift: float, dtype: torch.dtype = torch.float64) -> Tensor:
    """Return the coverage (frames, height, width) of a disc of radius 4 px with a soft rim, moved right by ``shift``
    [px].

    It is exactly 1 inside and 0 far outside, as in a rendered image.
    """
    rows = torch.arange(HEIGHT, dtype=torch.float64)[:, None] - 5.6
    columns = torch.arange(WIDTH, dtype=torch.float64) - 6.3 - shift
    drift = torch.arange(FRAMES, dtype=torch.float64)[:, None, None]
    distance = (rows.square() + (columns - 0.8 * drift).square()).sqrt()
    return ((5.0 - distance) / 2.0).clamp(0.0, 1.0).to(dtype)


def tensors(shift: float, tint: float, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    """Return the tensors of a view by name: "rgba", "silhouette", "depth", "outline" and "q"; tint is added to the
    colours.
    """
    alpha = coverage(shift, torch.float64)
    ramp = torch.linspace(0.2, 0.7, WIDTH, dtype=torch.float64).expand(FRAMES, HEIGHT, WIDTH)
    colour = torch.stack([ramp, 0.9 - ramp, 0.5 * ramp], dim=-1) + tint
    random = torch.Generator().manual_seed(5)
    q = torch.randn((FRAMES, NODES, 3), generator=random, dtype=torch.float64) + 0.1 * shift
    turns = torch.linspace(0.0, 2.0 * torch.pi, 12, dtype=torch.float64)[:-1]
    middle = (
        torch.tensor([6.8 + shift, 6.1], dtype=torch.float64)
        + 0.8 * torch.eye(2, dtype=torch.float64)[0] * (torch.arange(FRAMES, dtype=torch.float64)[:, None])
    )
    found = {
        "outline": middle[:, None] + (4.0 + 0.1 * shift) * torch.stack([turns.cos(), turns.sin()], dim=-1),
        "rgba": torch.cat([alpha[..., None] * colour, alpha[..., None]], dim=-1),
        "silhouette": alpha,
        "depth": 5.0 - alpha,
        "q": q,
    }
    return {name: value.to(dtype) for name, value in found.items()}


def times() -> Tensor:
    """Return the times (frames,) [s]."""
    return 0.1 * torch.arange(FRAMES, dtype=torch.float64)


def target(dtype: torch.dtype = torch.float64) -> Target:
    """Return a synthesised target: images with coverage, masks, states and tracks."""
    shown = tensors(0.0, 0.0, dtype)
    tracks = torch.cat([measure_outline_tracks(shown["outline"]), torch.ones(FRAMES, 1, dtype=dtype)], dim=1)
    return Target(times(), frames=shown["rgba"], masks=shown["silhouette"], q=shown["q"], tracks=tracks)


def view(shown: dict[str, Tensor], outputs: tuple[str, ...]) -> View:
    """Return a view with only the outputs that a loss asks for, as in a fit."""
    if outputs == ("outline",):
        return View(None, shown["q"], None, times(), outline=shown["outline"])
    image = Image(**{name: shown[name] for name in outputs}) if outputs else None
    return View(image, shown["q"], None, times())
