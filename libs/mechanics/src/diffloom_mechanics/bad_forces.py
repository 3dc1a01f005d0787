"""Search for the force that is not finite at a state, in plain Python: term, and element or node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffloom_kernels.derive import interpreted
from diffloom_mechanics.binding import Binding
from diffloom_mechanics.records import Clock
from diffloom_mechanics.stepper import Tensors
from diffloom_mechanics.system import Mechanics
from diffloom_mechanics.terms import ElementTerm, NodeTerm

#: Elements or nodes of a term that are tried.
MOST = 20000
#: Coordinates and velocities beyond this have run away [m, m/s]: the step is too large, and no term is to blame.
RUNAWAY = 1e9


def find_bad_force(system: Mechanics, state: Tensors, tensors: Sequence[Tensor], step: int, dt: float) -> str | None:
    """Return a message about the first force that is not finite at the start of a step.

    Node terms with stages are left out.

    Args:
        system: The system.
        state: Coordinates of each node set, memory of terms, and velocities of each node set.
        tensors: Values in the order of ``system.tensors``.
        step: Number of the step, from 1 on.
        dt: Step length [s].

    Returns:
        The message; None if all forces are finite, or if the state before is not or has run away.
    """
    if any(not bool((t.abs() < RUNAWAY).all()) for t in state):
        return None
    start = (step - 1) * dt
    clock = Clock(step - 1, start, dt, 0, start)
    with np.errstate(all="ignore"):
        for kind, name, number in _bad_places(system, state, tensors, clock):
            return (
                f"term {name!r}: the force of {kind} {number} is not finite in step {step} (t = {start:.6g} s), "
                "although the state before it is. Look there for a division by 0, a root or a logarithm of 0."
            )
    return None


def _bad_places(
    system: Mechanics, state: Tensors, tensors: Sequence[Tensor], clock: Clock
) -> Iterator[tuple[str, str, int]]:
    """Yield kind, term and number of elements and nodes whose force is not finite."""
    compiled = system.compiled
    count = len(compiled.tensors)
    record = Binding(compiled, [t.detach().cpu() for t in tensors[:count]]).record
    first = len(record.sets) + len(compiled.remembering)
    q, u = ([t.detach().cpu().numpy() for t in part] for part in (state[:first], state[first:]))
    for term, made in zip(compiled.elements, record.elements, strict=True):
        for e in _bad_elements(term, made, q, u, clock):
            yield "element", term.name, e
    rows = [iter(nodes.terms) for nodes in record.sets]
    for node_term in compiled.nodes:
        n = compiled.index(node_term.on)
        made_term = next(rows[n])
        if not node_term.stages:
            for i in _bad_nodes(node_term, made_term, n, q, u, clock):
                yield "node", node_term.name, i
    for torch_term in system.torch_terms:
        n, own = compiled.index(torch_term.on), list(tensors[count : count + len(torch_term.params)])
        count += len(own)
        with torch.no_grad():
            force = torch_term.force(clock, torch.from_numpy(q[n]), torch.from_numpy(u[n]), *own)
        for i in (~torch.isfinite(force).all(dim=1)).nonzero().flatten().tolist()[:1]:
            yield "node", torch_term.name, int(i)


def _bad_elements(term: ElementTerm, made: Any, q: list[Any], u: list[Any], clock: Clock) -> Iterator[int]:
    """Yield the elements of a term whose force is not finite."""
    force, ends = interpreted(term.force), made.ends
    states = [x for end in ends for x in (q[int(end.of)], u[int(end.of)], end.nodes.numpy())]
    memory, data = [q[int(m.at)] for m in made.memory], [d.numpy() for d in made.data]
    outs = [end.slots.force.numpy() for end in ends]
    for e in range(min(term.count, MOST)):
        force(e, clock, *states, *memory, *data, *outs)
        if not all(np.isfinite(out[e]).all() for out in outs):
            yield e


def _bad_nodes(term: NodeTerm, made: Any, n: int, q: list[Any], u: list[Any], clock: Clock) -> Iterator[int]:
    """Yield the nodes on which the force of a term is not finite."""
    force = interpreted(term.force)
    other = () if made.reads is None else (q[int(made.reads)], u[int(made.reads)])
    memory, data = [q[int(m.at)] for m in made.memory], [d.numpy() for d in (*made.data, *made.work)]
    for i in range(min(len(q[n]), MOST)):
        if term.only is not None and not term.only[i]:
            continue
        if not np.isfinite(force(i, clock, q[n], u[n], *other, *memory, *data)).all():
            yield i
