"""Single evaluations of a system: its force at a state, and moves under a given force, each with its adjoint.

Schemes that cannot be compiled as a whole (plain PyTorch terms, implicit steps) are built from these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import InputError, SimulationError
from diffloom_mechanics.binding import Binding, CompiledSystem, Gradients
from diffloom_mechanics.records import Clock, StateCotangents, States
from diffloom_mechanics.schemes import Move
from diffloom_mechanics.stepper import Tensors
from diffloom_mechanics.terms import TorchTerm


class SystemEvaluation:
    """Bound system of compiled and PyTorch terms, with summed gradients.

    States are tuples of tensors, one for each node set: q (nodes, dq), u and forces (nodes, du). In q, the memory of
    each term that has any follows the coordinates. Forces and rates read it, moves pass it on, ``remember`` changes it.

    Args:
        system: Node sets and compiled terms.
        torch_terms: Terms in PyTorch.
        tensors: Values of the tensors of the compiled part, then the params of the PyTorch terms.
        dt: Step length [s].
        implicit: True if forces are evaluated at states that are themselves sought; the clock tells the terms.
    """

    def __init__(
        self,
        system: CompiledSystem,
        torch_terms: tuple[TorchTerm, ...],
        tensors: Sequence[Tensor],
        dt: float,
        implicit: bool = False,
    ) -> None:
        self._system, self._terms, self.dt, self._implicit = system, torch_terms, dt, int(implicit)
        count = len(system.tensors)
        self._binding = Binding(system, tensors[:count])
        self._params: list[tuple[Tensor, ...]] = []
        for term in torch_terms:
            self._params.append(tuple(t.detach() for t in tensors[count : count + len(term.params)]))
            count += len(term.params)
        self._gradients: Gradients | None = None
        self._unkept = self._binding.gradients()
        self._torch_gradients = [[torch.zeros_like(p) for p in group] for group in self._params]

    def clock(self, k: int, at: float = 0.0) -> Clock:
        """Return the time of a force.

        Args:
            k: Step.
            at: Time within the step, in steps.

        Returns:
            The clock that terms read.
        """
        start = k * self.dt
        return Clock(k, start + at * self.dt, self.dt, self._implicit, start)

    def force(self, k: int, q: Tensors, u: Tensors, at: float = 0.0) -> Tensors:
        """Return the forces on every node.

        Args:
            k: Step.
            q: Coordinates of each node set.
            u: Velocities of each node set.
            at: Time within the step, in steps.

        Returns:
            Forces (nodes, du) on each node set.
        """
        f = tuple(torch.empty_like(v) for v in u)
        clock = self.clock(k, at)
        self._run("force", clock, _contiguous(q), _contiguous(u), f, self._binding.bound)
        for term, params in zip(self._terms, self._params, strict=True):
            n = self._system.index(term.on)
            with torch.no_grad(), name_term(term, clock):
                f[n].add_(_check_force(term, term.force(clock, q[n], u[n], *params), u[n]))
        return f

    def force_adjoint(
        self, k: int, q: Tensors, u: Tensors, adj_f: Tensors, keep: bool = True, at: float = 0.0
    ) -> tuple[Tensors, Tensors]:
        """Return the cotangents of q and u for those of the forces.

        Args:
            k: Step.
            q: Coordinates of each node set.
            u: Velocities of each node set.
            adj_f: Cotangents (nodes, du) of the forces, or several at once: (cotangents, nodes, du).
            keep: True to sum the gradients of all tensors too.
            at: Time within the step, in steps.

        Returns:
            Cotangents of q and of u.
        """
        many = tuple(a.reshape(-1, *v.shape).contiguous() for a, v in zip(adj_f, u, strict=True))
        count = len(many[0])
        adj_q = tuple(x.new_zeros((count, *x.shape)) for x in q)
        adj_u = tuple(v.new_zeros((count, *v.shape)) for v in u)
        grads = self._get_gradients() if keep else self._unkept
        clock = self.clock(k, at)
        self._run(
            "force_adjoint", clock, _contiguous(q), _contiguous(u), StateCotangents(adj_q, adj_u, many),
            self._binding.bound, grads.bound,
        )  # fmt: skip
        for number, term in enumerate(self._terms):
            n = self._system.index(term.on)
            for p in range(count):
                a, b = self._torch_adjoint(number, clock, q[n], u[n], many[n][p], keep)
                adj_q[n][p] += a
                adj_u[n][p] += b
        lead = adj_f[0].shape[:-2]
        return tuple(a.view(*lead, *x.shape) for a, x in zip(adj_q, q, strict=True)), tuple(
            a.view(*lead, *v.shape) for a, v in zip(adj_u, u, strict=True)
        )

    def move(self, k: int, moves: Sequence[Move], q: Tensors, u: Tensors, f: Tensors) -> tuple[Tensors, Tensors]:
        """Return the state after some moves under a given force.

        Args:
            k: Step.
            moves: Moves of a splitting scheme.
            q: Coordinates of each node set.
            u: Velocities of each node set.
            f: Forces on each node set.

        Returns:
            q and u.
        """
        return self._path(k, moves, q, u, f)[-1]

    def _path(self, k: int, moves: Sequence[Move], q: Tensors, u: Tensors, f: Tensors) -> list[tuple[Tensors, Tensors]]:
        """Return the states before, between and after the moves."""
        path = [(_contiguous(q), _contiguous(u))]
        for move in moves:
            after = tuple(torch.empty_like(x) for x in q[: len(u)]), tuple(torch.empty_like(v) for v in u)
            here = States(path[-1][0][: len(u)], path[-1][1])
            self._run_free("make_move_under", self.clock(k), move, here, _contiguous(f), States(*after))
            path.append(((*after[0], *path[-1][0][len(u) :]), after[1]))
        return path

    def move_adjoint(
        self,
        k: int,
        moves: Sequence[Move],
        state: tuple[Tensors, Tensors],
        f: Tensors,
        adj: tuple[Tensors, Tensors],
        keep: bool = True,
    ) -> tuple[Tensors, Tensors, Tensors]:
        """Return the cotangents of q, u and f for those of the state after some moves.

        Args:
            k: Step.
            moves: Moves of a splitting scheme.
            state: q and u before the moves.
            f: Forces on each node set.
            adj: Cotangents of q and u after the moves; one, or several at once: (cotangents, nodes, ...).
            keep: True to sum the gradients of all tensors too.

        Returns:
            Cotangents of q, u and f.
        """
        q, u = state
        many = StateCotangents(
            tuple(a.reshape(-1, *x.shape).clone() for a, x in zip(adj[0], q, strict=True)),
            tuple(a.reshape(-1, *v.shape).clone() for a, v in zip(adj[1], u, strict=True)),
            tuple(torch.zeros_like(a.reshape(-1, *v.shape)) for a, v in zip(adj[1], u, strict=True)),
        )
        grads = self._get_gradients() if keep else self._unkept
        path = self._path(k, moves[:-1], q, u, f)
        for move, here in reversed(list(zip(moves, path, strict=True))):
            self._run_free(
                "make_move_under_adjoint", self.clock(k), move, States(here[0][: len(u)], here[1]), _contiguous(f),
                many._replace(q=many.q[: len(u)]), grads=grads,
            )  # fmt: skip
        return (
            tuple(m.view_as(a) for m, a in zip(many.q, adj[0], strict=True)),
            tuple(m.view_as(a) for m, a in zip(many.u, adj[1], strict=True)),
            tuple(m.view_as(a) for m, a in zip(many.f, adj[1], strict=True)),
        )

    def rates(self, q: Tensors, u: Tensors, f: Tensors) -> tuple[Tensors, Tensors]:
        """Return the time derivatives of q and u under a given force.

        Args:
            q: Coordinates of each node set.
            u: Velocities of each node set.
            f: Forces on each node set.

        Returns:
            Rates of q and of u.
        """
        out = States(tuple(map(torch.empty_like, q[: len(u)])), tuple(map(torch.empty_like, u)))
        self._run_free("rates_under", States(_contiguous(q[: len(u)]), _contiguous(u)), _contiguous(f), out)
        return (*out.q, *map(torch.zeros_like, q[len(u) :])), out.u

    def rates_adjoint(
        self, q: Tensors, u: Tensors, f: Tensors, adj: tuple[Tensors, Tensors]
    ) -> tuple[Tensors, Tensors, Tensors]:
        """Return the cotangents of q, u and f for those of the rates; gradients are summed.

        Args:
            q: Coordinates of each node set.
            u: Velocities of each node set.
            f: Forces on each node set.
            adj: Cotangents of the rates of q and of u.

        Returns:
            Cotangents of q, u and f.
        """
        made = [tuple(map(torch.empty_like, part)) for part in (q[: len(u)], u, u)]
        self._run_free(
            "rates_under_adjoint", States(_contiguous(q[: len(u)]), _contiguous(u)), _contiguous(f),
            States(_contiguous(adj[0][: len(u)]), _contiguous(adj[1])), StateCotangents(*made),
            grads=self._get_gradients(),
        )  # fmt: skip
        return (*made[0], *map(torch.zeros_like, q[len(u) :])), made[1], made[2]

    def project(self, q: Tensors) -> Tensors:
        """Return valid coordinates, such as unit quaternions.

        Args:
            q: Coordinates of each node set.

        Returns:
            Projected coordinates.
        """
        sets = len(self._system.sets)
        out = tuple(map(torch.empty_like, q[:sets]))
        self._run_free("projection", _contiguous(q[:sets]), out)
        return (*out, *q[sets:])

    def project_adjoint(self, q: Tensors, adj: Tensors) -> Tensors:
        """Return the cotangents of q for those of its projection.

        Args:
            q: Coordinates of each node set.
            adj: Cotangents of the projected coordinates.

        Returns:
            Cotangents of q.
        """
        sets = len(self._system.sets)
        out = tuple(a.clone() for a in adj)
        self._run_free("projection_adjoint", _contiguous(q[:sets]), out[:sets])
        return out

    def remember(self, k: int, start: Tensors, q: Tensors, u: Tensors) -> Tensors:
        """Return q at the end of a step, with the memory of terms updated. Each scheme calls it last in a step.

        Args:
            k: Step.
            start: Coordinates and memory at the start of the step.
            q: Coordinates at the end of the step.
            u: Velocities at the end of the step.

        Returns:
            Coordinates at the end of the step, followed by the new memory.
        """
        if not self._system.remembering:
            return q
        sets = len(u)
        after = tuple(map(torch.empty_like, start))
        full = _contiguous((*q[:sets], *start[sets:]))
        self._run("remember", self.clock(k, 1.0), full, _contiguous(u), after, self._binding.bound)
        return (*q[:sets], *after[sets:])

    def remember_adjoint(self, k: int, start: Tensors, q: Tensors, u: Tensors, adj_q: Tensors, adj_u: Tensors) -> None:
        """Transpose of ``remember``: change the cotangents at the end of a step, in place; gradients are summed.

        Args:
            k: Step.
            start: Coordinates and memory at the start of the step.
            q: Coordinates at the end of the step.
            u: Velocities at the end of the step.
            adj_q: Cotangents of coordinates and memory; that of the memory becomes the one before the update.
            adj_u: Cotangents of the velocities.
        """
        if not self._system.remembering:
            return
        sets = len(u)
        full = _contiguous((*q[:sets], *start[sets:]))
        made = StateCotangents(tuple(a.clone() for a in adj_q), tuple(a.clone() for a in adj_u), ())
        self._run(
            "remember_adjoint", self.clock(k, 1.0), full, _contiguous(u), made, self._binding.bound,
            self._get_gradients().bound,
        )  # fmt: skip
        for total, found in zip((*adj_q, *adj_u), (*made.q, *made.u), strict=True):
            total.copy_(found)

    def gradients(self) -> list[Tensor | None]:
        """Return the summed gradients.

        Returns:
            Gradients in the order of ``tensors``.
        """
        compiled: list[Tensor | None] = list(self._get_gradients().flat())
        return compiled + [g for group in self._torch_gradients for g in group]

    def _get_gradients(self) -> Gradients:
        """Return the summed gradients, zero at first."""
        if self._gradients is None:
            self._gradients = self._binding.gradients()
        return self._gradients

    def _torch_adjoint(
        self, number: int, clock: Clock, q: Tensor, u: Tensor, adj_f: Tensor, keep: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the cotangents of q and u by a PyTorch term; with ``keep`` its gradients are summed."""
        inputs = [t.detach().requires_grad_() for t in (q, u, *self._params[number])]
        with torch.enable_grad(), name_term(self._terms[number], clock):
            f = _check_force(self._terms[number], self._terms[number].force(clock, *inputs), u)
        if not f.requires_grad:
            return torch.zeros_like(q), torch.zeros_like(u)
        found = torch.autograd.grad(f, inputs, adj_f, allow_unused=True)
        grads = [torch.zeros_like(i) if g is None else g for i, g in zip(inputs, found, strict=True)]
        if keep:
            for total, grad in zip(self._torch_gradients[number], grads[2:], strict=True):
                total += grad
        return grads[0], grads[1]

    def _run(self, pipeline: str, *args: Any) -> None:
        from diffloom_mechanics.pipelines import EVALUATIONS

        EVALUATIONS.run(pipeline, *args, work=self._system.work, label=self._system.label)

    def _run_free(self, pipeline: str, *args: Any, grads: Gradients | None = None) -> None:
        """Run a pipeline that takes the force as an input, so that it needs no terms."""
        from diffloom_mechanics.pipelines import EVALUATIONS

        further = () if grads is None else (grads.free,)
        EVALUATIONS.run(
            pipeline, *args, self._binding.free, *further, work=self._system.work, label=self._system.free_label
        )


@contextmanager
def name_term(term: TorchTerm, clock: Clock) -> Iterator[None]:
    """Context manager: raise SimulationError with the name of the term and the step where its force raises an error."""
    try:
        yield
    except (InputError, SimulationError):
        raise
    except Exception as error:
        raise SimulationError(
            f"term {term.name!r}: its force raised {type(error).__name__} in step {clock.row + 1} "
            f"(t = {clock.time:.6g} s): {error}"
        ) from error


def _contiguous(tensors: Tensors) -> Tensors:
    return tuple(t.contiguous() for t in tensors)


def _check_force(term: TorchTerm, f: Any, u: Tensor) -> Tensor:
    """Return the result of a PyTorch term; raise InputError unless it is a tensor of forces."""
    if not isinstance(f, Tensor) or f.shape != u.shape or f.dtype != u.dtype:
        got = f"{tuple(f.shape)} of {f.dtype}" if isinstance(f, Tensor) else type(f).__name__
        raise InputError(f"term {term.name!r}: its force returned {got}; expected {tuple(u.shape)} of {u.dtype}")
    return f
