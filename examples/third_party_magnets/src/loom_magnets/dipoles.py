"""Forces between magnetic dipoles, in plain PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from diffloom.fixed_order import broadcast
from diffloom.interfaces import ParamSpec
from diffloom_mechanics import ForceTerm, NodeSet, TermContext, TorchTerm

#: mu_0 / (4 pi) [N/A^2].
MAGNETIC = 1e-7


def dipoles(moment: Tensor, name: str = "dipoles") -> TorchTerm:
    """Forces between point dipoles that keep their direction.

    moment: (nodes, 3) [A m^2].
    """
    return TorchTerm(name, dipole_forces, (("moment", moment),))


@final
@dataclass(frozen=True)
class Dipoles(ForceTerm):
    """Dipoles for any model of particles, each of which becomes a magnet. moment: of all, or of each [A m^2]."""

    moment: tuple[float, float, float] = (0.0, 0.06, 0.0)

    #: Dipoles that keep their direction may exert a torque, so angular momentum is not claimed.
    claims: ClassVar[tuple[str, ...]] = ("conservative", "momentum")

    @classmethod
    def example(cls, context: TermContext) -> Dipoles:
        """Magnets that push each other with about a newton at half the size of what they are."""
        q = context.start.q.detach()
        reach = 0.5 * float((q - q.mean(dim=0)).norm(dim=1).max())
        strength = (reach**4 / (3.0 * MAGNETIC)) ** 0.5
        return cls((0.3 * strength, strength, -0.2 * strength))

    @property
    def specs(self) -> tuple[ParamSpec, ...]:
        return (ParamSpec("moment", self.moment, "A m^2", "magnetic moment", ("nodes", 3)),)

    @classmethod
    def refuses(cls, nodes: NodeSet) -> str | None:
        if nodes.name == "particles":
            return None
        return f"dipoles sit on particles (as in springs, cloth and fem); these nodes are {nodes.name!r}"

    def term(self, name: str, params: Mapping[str, Tensor], context: TermContext) -> TorchTerm:
        moment = broadcast(params["moment"], (context.count, 3))
        return TorchTerm(name, dipole_forces, (("moment", moment),), context.on)


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
