"""Model error: the shift of an estimate when a window of time is left out."""

from __future__ import annotations

import torch
from scipy.special import stdtrit
from torch import Tensor

from diffloom_fitting.trust.linearised import Linearised

MOST = 8  # largest number of windows
LEAST = 3  # smallest number of windows
QUANTILES = (1.960, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365)  # 97.5 % quantiles of Student's t; 0: normal law


def window_count(fields: list[Tensor]) -> int:
    """Return the number of windows of at least two frames; 0 if the residuals have no frames or are too few."""
    if any(field.dim() not in (2, 3, 4) for field in fields):
        return 0
    count = min(MOST, min(len(field) for field in fields) // 2)
    return count if count >= LEAST else 0


def block_covariance(end: Linearised, curvature: Tensor, kept: Tensor) -> Tensor | None:
    """Return the covariance of the block jackknife over windows of time (Künsch 1989).

    Each window is left out in turn, and the estimate moves by one Gauss-Newton step on the rest. The scatter of these
    estimates contains noise and errors of the model that differ between windows.

    Args:
        end: The linearised end of the fit.
        curvature: (n, n), of all windows together.
        kept: (n, k), the directions that are determined.

    Returns:
        (n, n) in scaled coordinates, or None with too few frames.
    """
    count = window_count(end.fields)
    if count == 0 or kept.shape[1] == 0:
        return None
    whole = kept.T @ curvature @ kept
    moved = []
    for bend, slope in _windows(end, count):
        rest = whole - kept.T @ bend @ kept
        if float(torch.linalg.eigvalsh(rest)[0]) < 1e-3 * float(torch.linalg.eigvalsh(whole)[0]):
            rest = whole  # the other windows alone leave a direction open
        moved.append(kept @ torch.linalg.solve(rest, kept.T @ slope))
    apart = torch.stack(moved)
    apart = apart - apart.mean(dim=0)
    return (count - 1) / count * apart.T @ apart


def _windows(end: Linearised, count: int) -> list[tuple[Tensor, Tensor]]:
    """Return (J J', J r) of each window, summed over views."""
    found = []
    for b in range(count):
        bend, slope = torch.zeros_like(end.prior), torch.zeros_like(end.size)
        for field, part in zip(end.fields, end.parts(), strict=True):
            frames = len(field)
            first, last = frames * b // count, frames * (b + 1) // count
            rows = part.reshape(len(part), frames, -1)[:, first:last].reshape(len(part), -1)
            bend += rows @ rows.T
            slope += rows @ field.reshape(frames, -1)[first:last].reshape(-1)
        found.append((bend, slope))
    return found


def student_factor(freedom: int) -> float:
    """Return Student's 97.5 % quantile over that of the normal law.

    Args:
        freedom: Degrees of freedom, at least 1.

    Returns:
        The factor, above 1; 1.96 deviations widened by it cover 95 %.
    """
    return float(stdtrit(freedom, 0.975)) / QUANTILES[0]


def widen_by_student(fields: list[Tensor]) -> float:
    """Return the factor on a deviation from few windows that makes 1.96 of it cover 95 %.

    It is Student's 97.5 % quantile over that of the normal law.
    """
    freedom = max(window_count(fields), LEAST) - 1
    return QUANTILES[freedom] / QUANTILES[0]
