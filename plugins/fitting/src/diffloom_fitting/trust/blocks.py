"""Model error: how far an estimate moves when a window of time is left out."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom_fitting.trust.linearised import Linearised

MOST = 8  # windows
LEAST = 3
QUANTILES = (1.960, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365)  # 97.5 % of Student's law; 0 is the normal one


def window_count(fields: list[Tensor]) -> int:
    """How many windows of at least two frames the videos can be cut into; 0 when their residuals have no frames."""
    if any(field.dim() not in (2, 3, 4) for field in fields):
        return 0
    count = min(MOST, min(len(field) for field in fields) // 2)
    return count if count >= LEAST else 0


def block_covariance(end: Linearised, curvature: Tensor, kept: Tensor) -> Tensor | None:
    """(n, n): the block jackknife's covariance in scaled coordinates, over windows of time; None with too few frames.

    Each window is left out in turn and the estimate moved by one Gauss-Newton step on the rest. Whatever the residuals
    are, noise or an error of the model that lasts within a window and differs between windows, it shows in how far
    these estimates lie apart. curvature: (n, n), of the whole. kept: (n, k), the directions that are determined.
    """
    count = window_count(end.fields)
    if count == 0 or kept.shape[1] == 0:
        return None
    whole = kept.T @ curvature @ kept
    moved = []
    for bend, slope in _windows(end, count):
        rest = whole - kept.T @ bend @ kept
        if float(torch.linalg.eigvalsh(rest)[0]) < 1e-3 * float(torch.linalg.eigvalsh(whole)[0]):
            rest = whole  # without this window something would not be determined at all
        moved.append(kept @ torch.linalg.solve(rest, kept.T @ slope))
    apart = torch.stack(moved)
    apart = apart - apart.mean(dim=0)
    return (count - 1) / count * apart.T @ apart


def _windows(end: Linearised, count: int) -> list[tuple[Tensor, Tensor]]:
    """(J J', J r) of each window, all views together."""
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


def widen_by_student(fields: list[Tensor]) -> float:
    """By how much a deviation from so few windows must be widened for 1.96 of them to cover 95 %: Student's 97.5 %
    quantile over the normal law's."""
    freedom = max(window_count(fields), LEAST) - 1
    return QUANTILES[freedom] / QUANTILES[0]
