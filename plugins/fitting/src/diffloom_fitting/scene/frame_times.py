"""Which physics steps an image at a given time needs: video and physics run at rates of their own."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError

ON_A_STEP = 1e-6  # of a step: closer than this, a frame lies on the step and nothing is interpolated


@dataclass(frozen=True)
class Sampling:
    """Frames between saved steps.

    save: increasing step counts to keep. low, high: (frames,) positions in ``save`` of the steps before and after each
    frame. weight: (frames,) share of the later one, 0 when a frame lies on a step.
    """

    save: tuple[int, ...]
    low: Tensor
    high: Tensor
    weight: Tensor

    @property
    def steps(self) -> int:
        """How many steps to simulate."""
        return self.save[-1]

    def part(self, first: int, last: int) -> Sampling:
        """Only the frames from ``first`` up to ``last``, between the same saved steps."""
        return Sampling(self.save, self.low[first:last], self.high[first:last], self.weight[first:last])

    def between(self, saved: Tensor) -> Tensor:
        """(frames, ...) at the frames' times, of values (saved steps, ...); linear between steps."""
        first = saved[self.low]
        if not bool((self.weight > 0.0).any()):
            return first
        weight = self.weight.to(saved).reshape(-1, *([1] * (saved.dim() - 1)))
        return first + weight * (saved[self.high] - first)


def sample_times(times: Tensor, dt: float, steps: int) -> Sampling:
    """The sampling for frames at ``times`` [s], physics steps of ``dt`` [s] and at most ``steps`` of them.

    Times that are sought, such as those of an unknown offset, always lie between two steps, so that what is drawn has a
    slope; those beyond an end of the simulation stay there.
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
    """The sampling for frames between the steps ``low`` and ``high``."""
    save = torch.tensor(sorted({*low.tolist(), *high.tolist()}))
    return Sampling(tuple(int(k) for k in save), torch.searchsorted(save, low), torch.searchsorted(save, high), weight)
