"""Noise that is correlated between pixels and frames: its covariance, and the scatter of a sum over pixels."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import avg_pool2d

NEGLIGIBLE = 0.05  # correlation below which errors count as independent
BESIDE = 5  # side of the window in which the local size of noise is measured [px]
FARTHEST = 12  # largest distance for which the correlation is measured [px]


@dataclass(frozen=True)
class CorrelatedNoise:
    """Stationary covariance of a video's residuals: in_time[|t - t'|] in_space[c, c', dy, dx].

    Args:
        in_time: (lags,), 1 for lag 0.
        in_space: (channels, channels, 2 reach - 1, 2 reach - 1), lag 0 in its middle.
    """

    in_time: Tensor
    in_space: Tensor

    @staticmethod
    def of(residuals: Tensor) -> CorrelatedNoise:
        """Measure the covariance of residuals (frames, height, width, channels); exact zeros do not count."""
        counted = (residuals != 0.0).to(residuals.dtype)
        spatial = _correlate(residuals) / _correlate(counted).clamp(min=1.0)
        own = spatial.diagonal(dim1=0, dim2=1).sum(-1)
        middle = len(own) // 2
        beside = 0.5 * (own[middle, middle:] + own[middle:, middle]) / own[middle, middle]
        reach = _first_below(beside)
        near = slice(middle - reach + 1, middle + reach)
        return CorrelatedNoise(_in_time(residuals, counted), spatial[:, :, near, near])

    def scatter(self, slopes: Tensor) -> Tensor:
        """Return the covariance (n, n) of the sums of r x slopes, for slopes (n, frames, height, width, channels)."""
        frames = slopes.shape[1]
        lasting = torch.eye(frames, dtype=slopes.dtype)
        for lag in range(1, min(len(self.in_time), frames)):
            beside = torch.full((frames - lag,), float(self.in_time[lag]), dtype=slopes.dtype)
            lasting = lasting + torch.diag(beside, lag) + torch.diag(beside, -lag)
        rows, columns = _find_used(slopes)
        seen = slopes[:, :, rows, columns].permute(0, 1, 4, 2, 3).contiguous()
        flat = seen.reshape(len(seen), -1)
        total = slopes.new_zeros((len(seen), len(seen)))
        for j, one in enumerate(seen):
            later = (lasting @ one.reshape(frames, -1)).reshape(one.shape)
            total[:, j] = flat @ _convolve_weights(later, self.in_space).reshape(-1)
        return 0.5 * (total + total.T)


def local_size(residuals: Tensor) -> Tensor:
    """Return the rms of residuals (frames, height, width, channels) around each pixel, (frames, height, width, 1)."""
    power = residuals.square().mean(dim=-1)[:, None]
    beside = avg_pool2d(power, BESIDE, stride=1, padding=BESIDE // 2, count_include_pad=False)
    return beside.clamp(min=0.0).sqrt()[:, 0, :, :, None]


def _convolve_weights(field: Tensor, weights: Tensor) -> Tensor:
    """Return sums over channels d and lags of weights[c, d, lag] field[d, p + lag].

    The sums are convolutions by FFT, because the lags reach over many pixels.

    Args:
        field: (frames, channels, height, width).
        weights: (channels, channels, lags, lags).
    """
    height, width = field.shape[2:]
    middle = weights.shape[2] // 2
    size = (height + middle, width + middle)  # padded, so that opposite edges do not mix
    wave = torch.fft.rfft2(field, s=size)
    lags = torch.fft.rfft2(_wrap_weights(weights, size)).conj()
    sums: Tensor = torch.fft.irfft2(torch.einsum("cdyx,tdyx->tcyx", lags, wave), s=size)
    return sums[:, :, :height, :width]


def _wrap_weights(weights: Tensor, size: tuple[int, int]) -> Tensor:
    """Return the weights on a grid of this size with lag 0 in its corner; lags beyond the grid are left out."""
    middle = weights.shape[2] // 2
    padded = weights.new_zeros((*weights.shape[:2], *size))
    lags = torch.arange(-middle, middle + 1)
    down, right = lags[lags.abs() < size[0] - middle], lags[lags.abs() < size[1] - middle]
    padded[:, :, down[:, None] % size[0], right % size[1]] = weights[:, :, down[:, None] + middle, right + middle]
    return padded


def _correlate(field: Tensor) -> Tensor:
    """Return the sum over frames and pixels of field[c, p] field[c', p + lag], (channels, channels, k, k)."""
    height, width, channels = field.shape[1:]
    size = (height + FARTHEST, width + FARTHEST)
    power = torch.zeros((channels, channels, size[0], size[1] // 2 + 1), dtype=torch.complex128)
    for frame in field:
        wave = torch.fft.rfft2(frame.double().permute(2, 0, 1), s=size)
        power += wave.conj()[:, None] * wave[None]
    sums = torch.fft.irfft2(power, s=size)
    reach = min(FARTHEST, height, width) - 1
    return torch.roll(sums, (reach, reach), (2, 3))[:, :, : 2 * reach + 1, : 2 * reach + 1].to(field.dtype)


def _in_time(residuals: Tensor, counted: Tensor) -> Tensor:
    variance = float(residuals.square().sum() / counted.sum())
    lags = [1.0]
    for lag in range(1, len(residuals) // 2):
        pairs = float((counted[lag:] * counted[:-lag]).sum())
        found = float((residuals[lag:] * residuals[:-lag]).sum()) / max(pairs, 1.0) / variance
        if found < NEGLIGIBLE:
            break
        lags.append(found)
    return torch.tensor(lags, dtype=residuals.dtype)


def _first_below(correlation: Tensor) -> int:
    below = (correlation < NEGLIGIBLE).nonzero()
    return int(below[0]) if len(below) else len(correlation)


def _find_used(slopes: Tensor) -> tuple[slice, slice]:
    """Return the rows and columns in which any slope is not zero."""
    used = (slopes != 0.0).any(dim=4).any(dim=1).any(dim=0)
    found = []
    for axis in (1, 0):
        lines = used.any(dim=axis).nonzero()[:, 0]
        found.append(slice(int(lines[0]), int(lines[-1]) + 1))
    return found[0], found[1]
