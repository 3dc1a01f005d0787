"""Single evaluations of a system: its force at a state and one explicit step, each with its adjoint.

Schemes that cannot be compiled as a whole (plain PyTorch terms, implicit steps) are built from these four.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from diffloom.kernels.arguments import OnGpu, as_host
from diffloom.mechanics.binding import Binding, Compiled, Gradients
from diffloom.mechanics.programs import program_of
from diffloom.mechanics.terms import TorchTerm


class Evaluation:
    """A bound system of compiled and PyTorch terms, with summed gradients.

    tensors: the compiled part's tensors, then the PyTorch terms' params. implicit: forces are evaluated at the end of
    the step (the clock's last entry tells the terms).
    """

    def __init__(
        self,
        system: Compiled,
        torch_terms: tuple[TorchTerm, ...],
        tensors: Sequence[Tensor],
        dt: float,
        implicit: bool = False,
    ) -> None:
        self._system, self._terms, self.dt, self._implicit = system, torch_terms, dt, int(implicit)
        count = len(system.tensors)
        self._binding = Binding(system, tensors[:count])
        self._program = program_of(system)
        self._params: list[tuple[Tensor, ...]] = []
        for term in torch_terms:
            self._params.append(tuple(t.detach() for t in tensors[count : count + len(term.params)]))
            count += len(term.params)
        self._gradients: Gradients | None = None
        self._unkept = self._binding.gradients()
        self._common = _converted(self._binding.common)
        self._torch_gradients = [[torch.zeros_like(p) for p in group] for group in self._params]

    def force(self, k: int, q: Tensor, u: Tensor) -> Tensor:
        """Force on every node, (nodes, du), in step k."""
        f = torch.empty_like(u)
        self._run("force", k, self.dt, self._implicit, q.contiguous(), u.contiguous(), f, *self._common)
        for term, params in zip(self._terms, self._params, strict=True):
            with torch.no_grad():
                f += term.force((k, k * self.dt, self.dt, self._implicit), q, u, *params)
        return f

    def force_adjoint(self, k: int, q: Tensor, u: Tensor, adj_f: Tensor, keep: bool = True) -> tuple[Tensor, Tensor]:
        """Cotangents of q and u; with ``keep`` the gradients of all tensors are summed too.

        adj_f: (nodes, du), or any number of cotangents at once, (cotangents, nodes, du).
        """
        many = adj_f.view(-1, *u.shape)
        adj_q, adj_u = q.new_zeros((len(many), *q.shape)), u.new_zeros((len(many), *u.shape))
        grads = self._kept_gradients() if keep else self._unkept
        self._run(
            "force_adjoint", k, self.dt, self._implicit, q.contiguous(), u.contiguous(), many.contiguous(), adj_q,
            adj_u, *self._common, *grads.args,
        )  # fmt: skip
        for number, term in enumerate(self._terms):
            for p in range(len(many)):
                a, b = self._torch_adjoint(number, term, k, q, u, many[p], keep)
                adj_q[p] += a
                adj_u[p] += b
        return adj_q.view(*adj_f.shape[:-2], *q.shape), adj_u.view(*adj_f.shape[:-2], *u.shape)

    def step(self, k: int, q: Tensor, u: Tensor, f: Tensor) -> tuple[Tensor, Tensor]:
        """The law's explicit step under a given force."""
        q_next, u_next = torch.empty_like(q), torch.empty_like(u)
        self._run(
            "step", k, self.dt, self._implicit, q.contiguous(), u.contiguous(), f, q_next, u_next, self._binding.law
        )
        return q_next, u_next

    def step_adjoint(
        self, k: int, q: Tensor, u: Tensor, f: Tensor, adj_q_next: Tensor, adj_u_next: Tensor, keep: bool = True
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Cotangents of q, u and f; for one cotangent of the next state, or for (cotangents, nodes, ...) at once."""
        many_q, many_u = adj_q_next.view(-1, *q.shape).contiguous(), adj_u_next.view(-1, *u.shape).contiguous()
        adj_q, adj_u, adj_f = torch.empty_like(many_q), torch.empty_like(many_u), torch.empty_like(many_u)
        law = (self._kept_gradients() if keep else self._unkept).law
        self._run(
            "step_adjoint", k, self.dt, self._implicit, q.contiguous(), u.contiguous(), f, many_q, many_u, adj_q, adj_u,
            adj_f, self._binding.law, law,
        )  # fmt: skip
        return adj_q.view_as(adj_q_next), adj_u.view_as(adj_u_next), adj_f.view_as(adj_u_next)

    def gradients(self) -> list[Tensor | None]:
        """The summed gradients in the order of ``tensors``."""
        compiled: list[Tensor | None] = list(self._kept_gradients().flat())
        return compiled + [g for group in self._torch_gradients for g in group]

    def _kept_gradients(self) -> Gradients:
        if self._gradients is None:
            self._gradients = self._binding.gradients()
        return self._gradients

    def _torch_adjoint(
        self, number: int, term: TorchTerm, k: int, q: Tensor, u: Tensor, adj_f: Tensor, keep: bool
    ) -> tuple[Tensor, Tensor]:
        inputs = [t.detach().requires_grad_() for t in (q, u, *self._params[number])]
        with torch.enable_grad():
            f = term.force((k, k * self.dt, self.dt, self._implicit), *inputs)
        if not f.requires_grad:
            return torch.zeros_like(q), torch.zeros_like(u)
        found = torch.autograd.grad(f, inputs, adj_f, allow_unused=True)
        grads = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found, strict=True)]
        if keep:
            for total, grad in zip(self._torch_gradients[number], grads[2:], strict=True):
                total += grad
        return grads[0], grads[1]

    def _run(self, schedule: str, *args: Any) -> None:
        self._program.run(schedule, *args, work=self._system.work)


def _converted(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments that do not change, converted once for all calls; as they are when they live on a GPU."""
    try:
        return tuple(as_host(args))
    except OnGpu:
        return args
