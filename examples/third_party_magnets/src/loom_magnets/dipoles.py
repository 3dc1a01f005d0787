"""Forces between magnetic dipoles, in plain PyTorch."""

from __future__ import annotations

import torch
from torch import Tensor

from diffloom.dynamics import TorchTerm

#: mu_0 / (4 pi) [N/A^2].
MAGNETIC = 1e-7


def dipoles(moment: Tensor, name: str = "dipoles") -> TorchTerm:
    """Forces between point dipoles that keep their direction.

    moment: (nodes, 3) [A m^2].
    """
    return TorchTerm(name, dipole_forces, (("moment", moment),))


def dipole_forces(clock: object, q: Tensor, u: Tensor, moment: Tensor) -> Tensor:
    """(nodes, 3) [N]. On dipole a from dipole b, with r the way from b to a, n = r / |r| and moments m_a, m_b:

    F = 3 mu_0 / (4 pi |r|^4) ((m_a.n) m_b + (m_b.n) m_a + (m_a.m_b) n - 5 (m_a.n) (m_b.n) n)
    """
    pairs = torch.ones((len(q), len(q)), dtype=torch.bool).triu(1)
    a, b = pairs.nonzero(as_tuple=True)
    r = q[a] - q[b]
    distance = r.norm(dim=1, keepdim=True)
    n = r / distance
    first, second = moment[a], moment[b]
    along_first, along_second = (first * n).sum(1, keepdim=True), (second * n).sum(1, keepdim=True)
    together = (first * second).sum(1, keepdim=True)
    force = along_first * second + along_second * first + (together - 5.0 * along_first * along_second) * n
    force = 3.0 * MAGNETIC * force / distance**4
    return torch.zeros_like(q).index_add(0, a, force).index_add(0, b, -force)
