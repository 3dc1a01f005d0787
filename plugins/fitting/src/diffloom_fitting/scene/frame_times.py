"""Frame times between physics steps: video and physics have independent rates."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError

ON_A_STEP = 1e-6  # distance, in steps, below which a frame lies on a step and is not interpolated


@dataclass(frozen=True)
class Sampling:
    """Frames between saved steps.

    Args:
        save: Increasing step counts to save.
        low: (frames,), positions in ``save`` of the step before each frame.
        high: (frames,), positions in ``save`` of the step after each frame.
        weight: (frames,), share of the later step; 0 if a frame lies on a step.
    """

    save: tuple[int, ...]
    low: Tensor
    high: Tensor
    weight: Tensor

    @property
    def steps(self) -> int:
        """Number of steps to simulate."""
        return self.save[-1]

    def part(self, first: int, last: int) -> Sampling:
        """Select frames, between the same saved steps.

        Args:
            first: First frame.
            last: Frame after the last.

        Returns:
            The sampling of these frames.
        """
        return Sampling(self.save, self.low[first:last], self.high[first:last], self.weight[first:last])

    def between(self, saved: Tensor) -> Tensor:
        """Interpolate linearly at the frames' times.

        Args:
            saved: (saved steps, ...).

        Returns:
            (frames, ...).
        """
        first = saved[self.low]
        if not bool((self.weight > 0.0).any()):
            return first
        weight = self.weight.to(saved).reshape(-1, *([1] * (saved.dim() - 1)))
        return first + weight * (saved[self.high] - first)


def sample_times(times: Tensor, dt: float, steps: int) -> Sampling:
    """Find the steps that frames need.

    Times that depend on unknowns always lie between two steps, so that images have a derivative by them; beyond an end
    of the simulation they are clamped.

    Args:
        times: (frames,), times of the simulation [s].
        dt: Physics step [s].
        steps: Largest number of steps.

    Returns:
        The sampling.

    Raises:
        InputError: A frame lies outside of the simulation.
    """
    if times.dim() != 1 or times.numel() == 0:
        raise InputError(f"frame times: got shape {tuple(times.shape)}; expected one time per frame, at least one")
    exact = times.to(torch.float64) / dt
    if times.requires_grad:
        exact = exact.clamp(0.0, steps)
        low = exact.detach().floor().long().clamp(max=steps - 1)
        return _between(low, low + 1, exact - low)
    nearest = exact.round()
    exact = torch.where((exact - nearest).abs() < ON_A_STEP * nearest.abs().clamp(min=1.0), nearest, exact)
    if float(exact.min()) < 0.0 or float(exact.max()) > steps:
        raise InputError(
            f"frame times run from {float(times.min()):g} s to {float(times.max()):g} s, but the simulation covers "
            f"0 s to {steps * dt:g} s ({steps} steps of {dt:g} s); simulate longer or use fewer frames"
        )
    low = exact.floor().long()
    return _between(low, exact.ceil().long(), exact - low)


def _between(low: Tensor, high: Tensor, weight: Tensor) -> Sampling:
    """Return the sampling of frames between the steps ``low`` and ``high``."""
    save = torch.tensor(sorted({*low.tolist(), *high.tolist()}))
    return Sampling(tuple(int(k) for k in save), torch.searchsorted(save, low), torch.searchsorted(save, high), weight)
