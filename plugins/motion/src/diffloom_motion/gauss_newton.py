"""Gauss-Newton over clips, with the Jacobian's blocks kept apart: a clip knows the shared unknowns and its own alone.

With the Jacobian J_c of clip c by the shared unknowns and K_c by its own, the normal equations have the shape of an
arrow. The own unknowns are taken out clip by clip (Schur's complement), so that their number costs only time in
proportion: two simulations of all clips a column, whichever clip a column belongs to. Columns are simulated side by
side, as scenes of one batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import BatchError, SimulationError
from diffloom_motion.clips import Array
from diffloom_motion.problem import Group, MotionProblem
from diffloom_motion.unknowns import Shared, values_at

ROBUST = ("squares", "huber", "cauchy")
#: Places that are simulated at once.
MOST_PLACES = 32


@dataclass(frozen=True)
class Setting:
    """What is minimised: shared unknowns, the loss ("squares", "huber" or "cauchy" with a threshold [m] on a frame's
    error), how many frames of each clip count, and how wide the central differences are of which the Jacobian is made,
    in units of natural changes of the searched space: over many impacts narrow ones see what is chaotic in them.
    flight: whether only frames before the first contact count. known: further values of parameters."""

    shared: tuple[Shared, ...]
    loss: str = "squares"
    threshold: float = 1.0
    frames: int | None = None
    width: float = 1e-5
    flight: bool = False
    known: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass
class Linear:
    """The loss, and its normal equations: A (shared, shared) and a (shared,); by clip B (shared, own), D (own, own),
    d (own,), and the gradient by the shared unknowns of each clip's loss, (clips, shared)."""

    loss: float
    A: Array
    a: Array
    B: Array
    D: Array
    d: Array
    each: Array


def frame_weights(rows: Tensor, setting: Setting) -> tuple[Tensor, Tensor]:
    """(loss of each clip, weights (n, frames, 1) of its frames): Huber's or Cauchy's loss of a frame's error, and the
    factor by which iteratively reweighted least squares count it."""
    squared = rows.square().sum(dim=2)
    if setting.loss == "squares":
        return squared.sum(dim=1), torch.ones_like(squared)[..., None]
    # Rows are shares of a mean: a frame's own error is its row times the root of the number of frames.
    count = float((squared > 0.0).sum(dim=1).clamp(min=1).double().mean())
    ratio = squared * count / setting.threshold**2
    if setting.loss == "huber":
        root = ratio.clamp(min=1.0).sqrt()
        rho, weight = torch.where(ratio <= 1.0, ratio, 2.0 * root - 1.0), 1.0 / root
    else:
        rho, weight = torch.log1p(ratio), 1.0 / (1.0 + ratio)
    return rho.sum(dim=1) * setting.threshold**2 / count, weight.sqrt()[..., None]


def loss_at(problem: MotionProblem, setting: Setting, z: Array, y: Array) -> float:
    """Mean loss over clips [m^2]."""
    total = 0.0
    with torch.no_grad():
        for group in problem.groups:
            rows = _rows(problem, setting, group, torch.tensor(z), torch.tensor(y))
            total += float(frame_weights(rows, setting)[0].sum())
    return total / len(problem.clips)


def linearised(problem: MotionProblem, setting: Setting, z: Array, y: Array) -> Linear:
    """Normal equations of the mean loss at shared unknowns z and own unknowns y (clips, own)."""
    m, o, clips = len(z), y.shape[1], len(problem.clips)
    found = Linear(
        0.0, np.zeros((m, m)), np.zeros(m), np.zeros((clips, m, o)), np.zeros((clips, o, o)), np.zeros((clips, o)),
        np.zeros((clips, m)),
    )  # fmt: skip
    with torch.no_grad():
        for group in problem.groups:
            rows = _rows(problem, setting, group, torch.tensor(z), torch.tensor(y))
            loss, weight = frame_weights(rows, setting)
            found.loss += float(loss.sum()) / clips
            flat = (rows * weight).reshape(len(rows), -1).numpy()
            slopes = (differences(problem, setting, group, z, y) * weight).flatten(2) / (2.0 * setting.width)
            _add(found, group.rows, flat, list(slopes.numpy()), m)
    return found


def differences(problem: MotionProblem, setting: Setting, group: Group, z: Array, y: Array) -> Tensor:
    """(unknowns, n, rows, numbers): what a group's residuals change by from a width behind to a width ahead, along each
    of the shared unknowns, then of its clips' own."""
    steps = setting.width * np.eye(len(z) + y.shape[1])
    steps = np.concatenate([steps, -steps])
    shared, own = torch.tensor(z + steps[:, : len(z)]), torch.tensor(y + steps[:, None, len(z) :])

    def at(z: Tensor, y: Tensor) -> Tensor:
        return _rows(problem, setting, group, z, y)

    try:
        ahead, behind = torch.vmap(at, chunk_size=MOST_PLACES)(shared, own).chunk(2)
    except (BatchError, SimulationError):  # one by one it runs, or it is known what went wrong
        ahead, behind = torch.stack([at(*place) for place in zip(shared, own, strict=True)]).chunk(2)
    return ahead - behind


def _add(found: Linear, rows: list[int], flat: Array, columns: list[Array], m: int) -> None:
    """Put the blocks of a group's clips in; the first m columns are of shared unknowns."""
    clips, o = len(found.D), len(columns) - m
    for i, c in enumerate(rows):
        J = np.stack([each[i] for each in columns[:m]], axis=1) if m else np.zeros((flat.shape[1], 0))
        K = np.stack([each[i] for each in columns[m:]], axis=1) if o else np.zeros((flat.shape[1], 0))
        found.A += J.T @ J / clips
        found.each[c] = J.T @ flat[i] / clips
        found.a += found.each[c]
        found.B[c], found.D[c], found.d[c] = J.T @ K / clips, K.T @ K / clips, K.T @ flat[i] / clips


def with_fixed(at: Linear, fixed: NDArray[np.bool_]) -> Linear:
    """The same with the shared unknowns flagged in ``fixed`` left where they are."""
    A, B = np.where(fixed[:, None] | fixed[None, :], np.diag(np.where(fixed, 1.0, 0.0)), at.A), at.B.copy()
    B[:, fixed] = 0.0
    return replace(at, A=A, a=np.where(fixed, 0.0, at.a), B=B)


def step_of(at: Linear, damping: float) -> tuple[Array, Array]:
    """The Levenberg-Marquardt step of shared and own unknowns: Schur's complement of the own blocks."""
    m, o = len(at.a), at.D.shape[1]
    A = at.A + damping * np.diag(np.diag(at.A) + 1e-12 * np.trace(at.A) / max(m, 1))
    if o == 0:
        return np.asarray(-np.linalg.solve(A, at.a), np.float64), np.zeros((len(at.D), 0))
    diagonal = np.einsum("cii->ci", at.D)
    D = at.D + damping * np.einsum("ci,ij->cij", diagonal, np.eye(o))
    BD = np.linalg.solve(D, np.swapaxes(at.B, 1, 2))  # D^-1 B^T
    Dd = np.linalg.solve(D, at.d[..., None])[..., 0]
    S = A - np.einsum("cmo,con->mn", at.B, BD)
    dz = -np.linalg.solve(S, at.a - np.einsum("cmo,co->m", at.B, Dd))
    return dz, -Dd - np.einsum("com,m->co", BD, dz)


def _rows(problem: MotionProblem, setting: Setting, group: Group, z: Tensor, y: Tensor) -> Tensor:
    own = y[group.rows] if y.shape[1] else None
    values = {**setting.known, **values_at(setting.shared, z)}
    return problem.residuals(group, values, own, setting.frames, setting.flight)
