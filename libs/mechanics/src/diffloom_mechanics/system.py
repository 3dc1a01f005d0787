"""Mechanical systems: node sets under the sum of force terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import torch
from torch import Tensor

from diffloom.interfaces import Dynamics, InputError, State
from diffloom.transforms import once_differentiable
from diffloom_mechanics.binding import CompiledSystem
from diffloom_mechanics.evaluation import SystemEvaluation
from diffloom_mechanics.memories import pack_memory
from diffloom_mechanics.node_sets import NodeSet
from diffloom_mechanics.terms import ElementTerm, NodeTerm, Term, TorchTerm


@dataclass(frozen=True)
class Mechanics(Dynamics):
    """Nodes that move under the sum of force terms.

    Args:
        nodes: One node set, or several by name; terms name the set they act on by ``on``.
        terms: Force terms with distinct names.
        refuses: Function from the name of an integrator to the reason why it must not advance the system, or None.

    Raises:
        InputError: A term does not fit its node set, or tensors differ in precision or device.

    Example:
        ``Mechanics(particles(mass, gravity), (springs(pairs, stiffness, damping, rest_length),))``
    """

    nodes: NodeSet | Mapping[str, NodeSet]
    terms: tuple[Term, ...] = ()
    refuses: Callable[[str], str | None] | None = None

    def __post_init__(self) -> None:
        names = [term.name for term in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"Mechanics: two terms are called {name!r}; give each a name of its own")
        if not self.sets:
            raise InputError("Mechanics: got no node sets; expected at least one")
        dtypes = {t.dtype for t in self.tensors}
        if len(dtypes) > 1:
            found = " and ".join(sorted(map(str, dtypes)))
            raise InputError(f"Mechanics: got tensors of {found}; expected one dtype for all parameters")
        devices = {t.device for t in self.tensors}
        if len(devices) > 1:
            found = " and ".join(sorted(map(str, devices)))
            raise InputError(f"Mechanics: got tensors on {found}; expected one device for all parameters")
        for term in self.terms:
            self._check(term)

    def _check(self, term: Term) -> None:
        """Raise InputError unless a term fits the node sets it acts on."""
        asked = list(term.corners) if isinstance(term, ElementTerm) else [term.on or ""]
        if isinstance(term, NodeTerm) and term.reads is not None:
            asked.append(term.reads)
        for name in asked:
            if name not in self.sets and not (name == "" and len(self.sets) == 1):
                raise InputError(
                    f"term {term.name!r}: got {name or None!r} for the node set it acts on; expected "
                    f"{' or '.join(map(repr, self.sets))}"
                )
        if isinstance(term, NodeTerm):
            term.check_nodes(self.set(term.on).count)

    @property
    def kind(self) -> str:
        return "mechanics"

    @cached_property
    def sets(self) -> Mapping[str, NodeSet]:
        """Node sets by name; a single one may have no name."""
        return {"": self.nodes} if isinstance(self.nodes, NodeSet) else dict(self.nodes)

    def set(self, name: str | None) -> NodeSet:
        """Return a node set.

        Args:
            name: Its name, or None for the only one.

        Returns:
            The node set.
        """
        return self.sets[name] if name else next(iter(self.sets.values()))

    @property
    def underived(self) -> CompiledSystem:
        """Node sets and compiled terms, with the adjoints that they bring alone."""
        return CompiledSystem(
            tuple(self.sets.items()),
            tuple(t for t in self.terms if isinstance(t, ElementTerm)),
            tuple(t for t in self.terms if isinstance(t, NodeTerm)),
        )

    @cached_property
    def compiled(self) -> CompiledSystem:
        """Node sets and compiled terms; adjoints that they do not bring are derived."""
        system = self.underived
        if system.has_adjoints:
            return system
        from diffloom_mechanics.derived_adjoints import complete

        return complete(system)

    @cached_property
    def torch_terms(self) -> tuple[TorchTerm, ...]:
        """Terms in plain PyTorch."""
        return tuple(t for t in self.terms if isinstance(t, TorchTerm))

    @cached_property
    def tensors(self) -> tuple[Tensor, ...]:
        """Differentiable tensors of the system: those of node sets, of compiled terms and of PyTorch terms."""
        return (*self.compiled.tensors, *(t for term in self.torch_terms for _, t in term.params))

    def evaluation(self, tensors: Sequence[Tensor], dt: float, implicit: bool = False) -> SystemEvaluation:
        """Return the forces and moves of this system, for schemes of your own.

        Args:
            tensors: Values in the order of ``self.tensors``.
            dt: Step length [s].
            implicit: True if forces are evaluated at states that are themselves sought.

        Returns:
            The bound system.
        """
        return SystemEvaluation(self.compiled, self.torch_terms, tensors, dt, implicit)

    @overload
    def force(self, q: Tensor, u: Tensor, k: int = 0, dt: float = 1.0) -> Tensor: ...
    @overload
    def force(
        self, q: Mapping[str, Tensor], u: Mapping[str, Tensor], k: int = 0, dt: float = 1.0
    ) -> dict[str, Tensor]: ...
    def force(self, q: Any, u: Any, k: int = 0, dt: float = 1.0) -> Tensor | dict[str, Tensor]:
        """Return the total force on every node, without gravity; differentiable.

        Args:
            q: Coordinates (nodes, dq) of the only node set, or by the name of each.
            u: Velocities (nodes, du), alike.
            k: Step, for values that change from step to step.
            dt: Step length [s].

        Returns:
            Forces (nodes, du), or by the name of each node set.
        """
        found = self._force(State(q, u), k, dt)
        return found if isinstance(q, Mapping) else next(iter(found.values()))

    def _force(self, at: State, k: int, dt: float) -> dict[str, Tensor]:
        """Return the total force at a state, by the name of each node set."""
        given = at.sets
        if given.keys() != self.sets.keys() and not len(given) == len(self.sets) == 1:
            raise InputError(
                f"force: got q and u of {' and '.join(map(repr, given))}; expected those of the node sets "
                f"{' and '.join(map(repr, self.sets))}"
            )
        names = list(self.sets if len(given) > 1 else given)
        places = (*(given[name][0] for name in names), *pack_memory(self.compiled, at))
        state = (*places, *(given[name][1] for name in names))
        apply: Any = _Force.apply
        found: tuple[Tensor, ...] = apply(self, (len(places), len(state)), k, dt, *state, *self.tensors)
        return dict(zip(names, found, strict=True))

    def forces(self, state: State, k: int = 0, dt: float = 1.0) -> dict[str, Tensor]:
        """Return the total force on every node of each node set, without gravity; differentiable.

        Args:
            state: State of all node sets.
            k: Step, for values that change from step to step.
            dt: Step length [s].

        Returns:
            Forces (nodes, du) by the name of each node set.
        """
        q, u = ({name: state.sets[name][which] for name in self.sets} for which in (0, 1))
        return self._force(State(q, u, state.time, state.memory), k, dt)


class _Force(torch.autograd.Function):
    """Autograd function from the state (q of all node sets, memory of terms, u of all node sets), then every tensor of
    the system, to the forces. ``split`` holds the number of tensors before u, and of all tensors of the state.
    """

    @staticmethod
    def forward(
        ctx: Any, system: Mechanics, split: tuple[int, int], k: int, dt: float, *given: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.system, ctx.split, ctx.k, ctx.dt = system, split, k, dt
        ctx.save_for_backward(*given)
        state = tuple(t.detach() for t in given[: split[1]])
        return system.evaluation(given[split[1] :], dt).force(k, state[: split[0]], state[split[0] :])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *adj_f: Tensor) -> tuple[Any, ...]:
        given, (first, flow) = ctx.saved_tensors, ctx.split
        evaluation = ctx.system.evaluation(given[flow:], ctx.dt)
        adj_q, adj_u = evaluation.force_adjoint(ctx.k, given[:first], given[first:flow], adj_f)
        return (None, None, None, None, *adj_q, *adj_u, *evaluation.gradients())
