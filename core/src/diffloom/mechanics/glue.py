"""Generated source that joins a law and its terms to the schedules of a rollout.

Nothing here knows any formula: it writes, for a list of terms, the launches that evaluate their forces, step the
nodes, and run both backwards. Text is generated because compiled code can be cached on disk only for real functions.
"""

from __future__ import annotations

from dataclasses import dataclass

from diffloom.mechanics.glue_arguments import Arguments
from diffloom.mechanics.glue_bodies import write_bodies
from diffloom.mechanics.glue_schedules import write_schedules
from diffloom.mechanics.law import NodeLaw
from diffloom.mechanics.terms import ElementTerm, NodeTerm


@dataclass(frozen=True)
class Glue:
    """Writes the text for one law and one list of compiled terms."""

    law: NodeLaw
    elements: tuple[ElementTerm, ...]
    nodes: tuple[NodeTerm, ...]

    def text(self) -> str:
        """The whole module."""
        at = Arguments(self.law, self.elements, self.nodes)
        return "\n".join([write_bodies(at), write_schedules(at)])

    def names(self) -> dict[str, object]:
        """What the free names of the text stand for."""
        from diffloom.mechanics import gather_kernels

        found: dict[str, object] = {"law_step": self.law.step, "law_step_adjoint": self.law.step_adjoint}
        for width in {self.law.du, self.law.dq}:
            for name in ("gather", "plus", "values", "increase"):
                found[f"{name}_{width}"] = getattr(gather_kernels, f"{name}_{width}")
        for k, term in enumerate(self.elements):
            found |= {f"t{k}_force": term.force, f"t{k}_adjoint": term.adjoint}
        for k, node in enumerate(self.nodes):
            found |= {f"n{k}_force": node.force, f"n{k}_adjoint": node.adjoint}
            found |= {f"n{k}_stage{s}": stage.body for s, stage in enumerate(node.stages)}
            found |= {f"n{k}_adjoint_stage{s}": stage.body for s, stage in enumerate(node.adjoint_stages)}
        return found
