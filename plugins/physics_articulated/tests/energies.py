"""Energy and momentum of trees, found without the kernels."""

from __future__ import annotations

import torch

from diffloom.interfaces import State
from diffloom_geometry.rotations import symmetric_matrices
from diffloom_physics_articulated.model import ArticulatedModel


def link_motions(model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Axes, origins, velocities of origins and angular velocities of all links at states (..., trees, dq), by
    differentiating poses along the velocity: independent of the kernels."""
    params = model.params(torch.float64)
    balls = model.layout.balls

    def poses(h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        parts = []
        for b in range(balls):
            r, w = q[..., 4 * b : 4 * b + 4], u[..., 3 * b : 3 * b + 3]
            s, v = r[..., :1], r[..., 1:]
            rate = torch.cat([-(v * w).sum(-1, keepdim=True), s * w + torch.linalg.cross(v, w)], -1)
            parts.append(r + 0.5 * h * rate)
        moved = torch.cat([*parts, q[..., 4 * balls :] + h * u[..., 3 * balls :]], -1)
        frames = State(moved.reshape(-1, *q.shape[-2:]), u.reshape(-1, *u.shape[-2:]))
        axes, origins = model.poses(frames, params)  # type: ignore[arg-type]
        return axes.view(*q.shape[:-2], *axes.shape[1:]), origins.view(*q.shape[:-2], *origins.shape[1:])

    zero = torch.zeros((), dtype=torch.float64)
    (R, p), (dR, dp) = torch.autograd.functional.jvp(poses, zero, torch.ones_like(zero))
    turn = dR @ R.transpose(-1, -2)
    return R, p, dp, torch.stack([turn[..., 2, 1], turn[..., 0, 2], turn[..., 1, 0]], -1)


def totals(
    model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor, gravity: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Energy (..., trees), momentum and angular momentum about the origin of each tree (..., trees, 3)."""
    params = model.params(torch.float64)
    R, p, v, w = link_motions(model, q, u)
    m, c = params["mass"], params["centre_of_mass"]
    arm = (R @ c[..., None])[..., 0]
    x, vc = p + arm, v + torch.linalg.cross(w, arm)
    L = (R @ symmetric_matrices(params["inertia"]) @ R.transpose(-1, -2) @ w[..., None])[..., 0]
    energy = 0.5 * m * (vc * vc).sum(-1) + 0.5 * (w * L).sum(-1) - m * (x @ gravity)
    momentum = m[:, None] * vc
    angular = torch.linalg.cross(x, momentum) + L
    tree = torch.repeat_interleave(torch.arange(len(model.trees)), torch.tensor([len(t.links) for t in model.trees]))

    def each(values: torch.Tensor, links: int) -> torch.Tensor:
        size = (*values.shape[:links], len(model.trees), *values.shape[links + 1 :])
        return torch.zeros(size, dtype=values.dtype).index_add(links, tree, values)

    links = q.dim() - 2
    return each(energy, links), each(momentum, links), each(angular, links)
