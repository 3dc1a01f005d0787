"""Names of the arguments that generated bodies and schedules pass around.

``S`` is the gather (starts, slots), ``L``/``GL`` the law's arrays and their cotangents, ``R`` the slot rows (forces,
adj_q, adj_u) as flat arrays. For element term k: ``Tk`` (nodes, constants, params), ``Fk`` its slot views (forces,
adj_q, adj_u) and ``Gk`` the cotangents of its params. For node term k: ``Nk`` (constants, params), ``Wk`` (work),
``Ck`` (counts of its stages) and ``Hk`` (cotangents). Tuples that would be empty are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.mechanics.law import NodeLaw
from diffloom.mechanics.terms import ElementTerm, NodeTerm


def items(name: str, count: int) -> str:
    """``, name[0], name[1], ...``"""
    return "".join(f", {name}[{k}]" for k in range(count))


@dataclass(frozen=True)
class Arguments:
    """A law and its compiled terms, as lists of argument names."""

    law: NodeLaw
    elements: tuple[ElementTerm, ...]
    nodes: tuple[NodeTerm, ...]

    @property
    def of_nodes(self) -> str:
        """The node terms' tuples."""
        return "".join(
            (f", N{k}" if term.constants or term.params else "") + (f", W{k}" if term.work else "")
            for k, term in enumerate(self.nodes)
        )

    @property
    def grads_of_nodes(self) -> str:
        """The node terms' cotangents."""
        return "".join(f", H{k}" for k, term in enumerate(self.nodes) if term.params)

    @property
    def all_of_nodes(self) -> str:
        """The node terms' tuples and their cotangents."""
        return self.of_nodes + self.grads_of_nodes

    @property
    def common(self) -> str:
        """What every schedule takes after its own arguments."""
        elements = "".join(f", T{k}, F{k}" for k in range(len(self.elements)))
        counts = "".join(f", C{k}" for k, term in enumerate(self.nodes) if term.stages or term.adjoint_stages)
        return f"S, R, L{elements}{self.of_nodes}{counts}"

    @property
    def grads(self) -> str:
        """The cotangents every adjoint schedule takes at the end."""
        elements = "".join(f", G{k}" for k, term in enumerate(self.elements) if term.params)
        return f"GL{elements}{self.grads_of_nodes}"

    @property
    def staged(self) -> bool:
        """Whether some node term has stages, which cannot be shared between two steps."""
        return any(term.stages or term.adjoint_stages for term in self.nodes)

    def node_items(self, k: int) -> str:
        """The arrays of node term k, one by one."""
        term = self.nodes[k]
        return items(f"N{k}", len(term.constants) + len(term.params)) + items(f"W{k}", len(term.work))

    def law_step(self, force: str) -> str:
        """A call of the law's step under ``force``."""
        return f"law_step(i, clock, q, u, {force}{items('L', len(self.law.arrays))}, q_next, u_next)"

    def law_step_adjoint(self, force: str) -> str:
        """A call of its transpose."""
        arrays, grads = items("L", len(self.law.arrays)), items("GL", len(self.law.arrays))
        return f"law_step_adjoint(i, clock, q, u, {force}{arrays}, adj_q_next, adj_u_next, adj_q, adj_u, adj_f{grads})"
