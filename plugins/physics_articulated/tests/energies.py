"""Energy and momentum of trees, found without the kernels."""

from __future__ import annotations

import torch

from diffloom.interfaces import State
from diffloom_physics_articulated.model import ArticulatedModel
from diffloom_physics_articulated.rotations import symmetric


def link_motions(model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Axes, origins, velocities of origins and angular velocities of all links at one state, by differentiating poses
    along the velocity: independent of the kernels."""
    params = model.params(torch.float64)
    balls = model.layout.balls

    def poses(h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        parts = []
        for b in range(balls):
            r, w = q[:, 4 * b : 4 * b + 4], u[:, 3 * b : 3 * b + 3]
            s, v = r[:, :1], r[:, 1:]
            rate = torch.cat([-(v * w).sum(1, keepdim=True), s * w + torch.linalg.cross(v, w)], 1)
            parts.append(r + 0.5 * h * rate)
        moved = torch.cat([*parts, q[:, 4 * balls :] + h * u[:, 3 * balls :]], 1)
        return model.poses(State(moved[None], u[None]), params)  # type: ignore[arg-type]

    zero = torch.zeros((), dtype=torch.float64)
    (R, p), (dR, dp) = torch.autograd.functional.jvp(poses, zero, torch.ones_like(zero))
    turn = dR[0] @ R[0].transpose(1, 2)
    return R[0], p[0], dp[0], torch.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], 1)


def totals(
    model: ArticulatedModel, q: torch.Tensor, u: torch.Tensor, gravity: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Energy, momentum and angular momentum about the origin of each tree."""
    params = model.params(torch.float64)
    R, p, v, w = link_motions(model, q, u)
    m, c = params["mass"], params["centre_of_mass"]
    arm = (R @ c[..., None])[..., 0]
    x, vc = p + arm, v + torch.linalg.cross(w, arm)
    L = (R @ symmetric(params["inertia"]) @ R.transpose(1, 2) @ w[..., None])[..., 0]
    energy = 0.5 * m * (vc * vc).sum(1) + 0.5 * (w * L).sum(1) - m * (x @ gravity)
    momentum = m[:, None] * vc
    angular = torch.linalg.cross(x, momentum) + L
    tree = torch.repeat_interleave(torch.arange(len(model.trees)), torch.tensor([len(t.links) for t in model.trees]))

    def each(values: torch.Tensor) -> torch.Tensor:
        return torch.zeros((len(model.trees), *values.shape[1:]), dtype=values.dtype).index_add(0, tree, values)

    return each(energy), each(momentum), each(angular)
