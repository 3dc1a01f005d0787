"""A mechanical system ready to be advanced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from diffloom.interfaces import Dynamics, InputError
from diffloom.mechanics.binding import Compiled
from diffloom.mechanics.evaluation import Evaluation
from diffloom.mechanics.law import NodeLaw
from diffloom.mechanics.terms import ElementTerm, NodeTerm, Term, TorchTerm


@dataclass(frozen=True)
class Mechanics(Dynamics):
    """Nodes that move by a law under the sum of some terms."""

    law: NodeLaw
    terms: tuple[Term, ...] = ()

    def __post_init__(self) -> None:
        names = [term.name for term in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"Mechanics: two terms are called {name!r}; give each a name of its own")
        dtypes = {t.dtype for t in self.tensors}
        if len(dtypes) > 1:
            raise InputError(f"Mechanics: tensors of {' and '.join(sorted(map(str, dtypes)))}; expected one precision")

    @property
    def kind(self) -> str:
        return "mechanics"

    @property
    def compiled(self) -> Compiled:
        """The law and the compiled terms."""
        return Compiled(
            self.law,
            tuple(t for t in self.terms if isinstance(t, ElementTerm)),
            tuple(t for t in self.terms if isinstance(t, NodeTerm)),
        )

    @property
    def torch_terms(self) -> tuple[TorchTerm, ...]:
        """The terms in plain PyTorch."""
        return tuple(t for t in self.terms if isinstance(t, TorchTerm))

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """Every differentiable tensor bound in: the law's, the compiled terms', the PyTorch terms'."""
        return (*self.compiled.tensors, *(t for term in self.torch_terms for _, t in term.params))

    def evaluation(self, tensors: Sequence[Tensor], dt: float, implicit: bool = False) -> Evaluation:
        """Force and step of this system with the given values of ``self.tensors``."""
        return Evaluation(self.compiled, self.torch_terms, tensors, dt, implicit)

    def force(self, q: Tensor, u: Tensor, k: int = 0, dt: float = 1.0) -> Tensor:
        """Total force on every node (nodes, du) in step k of length dt [s], without gravity; differentiable."""
        result: Tensor = _Force.apply(self, k, dt, q, u, *self.tensors)  # type: ignore[no-untyped-call]
        return result


class _Force(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, system: Mechanics, k: int, dt: float, q: Tensor, u: Tensor, *tensors: Tensor) -> Tensor:
        ctx.system, ctx.k, ctx.dt = system, k, dt
        ctx.save_for_backward(q, u, *tensors)
        return system.evaluation(tensors, dt).force(k, q.detach(), u.detach())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, adj_f: Tensor) -> tuple[Any, ...]:
        q, u, *tensors = ctx.saved_tensors
        evaluation = ctx.system.evaluation(tensors, ctx.dt)
        adj_q, adj_u = evaluation.force_adjoint(ctx.k, q, u, adj_f)
        return (None, None, None, adj_q, adj_u, *evaluation.gradients())
