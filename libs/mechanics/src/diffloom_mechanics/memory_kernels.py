"""Passes at the end of a step in which terms update their memory, and the transposes.

The memory of a term is an array (nodes or elements, width) that follows the coordinates in the tuple q. In a step, all
forces read the memory of the step's start. Afterwards each term with memory replaces its rows, at the state q, u of the
step's end. Backwards the updates come first: elements write rows for their nodes into slots of their own, nodes gather.
"""

from diffloom_kernels import generic, independent, launch, static
from diffloom_mechanics.node_kernels import gather_rows, plus, store, values
from diffloom_mechanics.records import Clock, SceneTermRecord


@generic
def update_element(e, clock, q, u, after, term):
    """Store the memory of element e after a step; q holds the memory before it."""
    here = term.ends[0]
    memory = term.memory[0]
    if static(len(term.ends) == 1):
        row = memory.update(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes, q[static(memory.at)], *term.data
        )
    else:
        there = term.ends[1]
        row = memory.update(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            q[static(there.of)], u[static(there.of)], there.nodes, q[static(memory.at)], *term.data,
        )
    for c in static(range(memory.width)):
        after[static(memory.at)][e, c] = row[c]


@generic
def take_row(a, i, width):
    """Return the numbers of row i, and set the row to zero."""
    row = tuple(a[i, c] for c in static(range(width)))
    for c in static(range(width)):
        a[i, c] = a.dtype.type(0)
    return row


@generic
def update_element_adjoint(e, clock, q, u, adj, term, grad):
    """Transpose of update_element: row e of the memory's cotangent becomes that before the step."""
    here = term.ends[0]
    memory = term.memory[0]
    row = take_row(adj.q[static(memory.at)], e, memory.width)
    if static(len(term.ends) == 1):
        memory.update_adjoint(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes, q[static(memory.at)], *term.data,
            row, here.update_slots.q, here.update_slots.u, adj.q[static(memory.at)], *grad,
        )
    else:
        there = term.ends[1]
        memory.update_adjoint(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            q[static(there.of)], u[static(there.of)], there.nodes, q[static(memory.at)], *term.data,
            row, here.update_slots.q, here.update_slots.u, there.update_slots.q, there.update_slots.u,
            adj.q[static(memory.at)], *grad,
        )


@generic
def collect_updates(i, adj, nodes):
    """Add to the cotangents of node i what the updates of its elements wrote."""
    own = static(nodes.number)
    found = nodes.remembered
    a = gather_rows(i, found.incoming, found.rows.q, nodes.kind.dq)
    b = gather_rows(i, found.incoming, found.rows.u, nodes.kind.du)
    store(adj.q[own], i, plus(values(adj.q[own], i, nodes.kind.dq), a, nodes.kind.dq), nodes.kind.dq)
    store(adj.u[own], i, plus(values(adj.u[own], i, nodes.kind.du), b, nodes.kind.du), nodes.kind.du)


@generic
def updated_row(i, clock, q, u, nodes, term):
    """Return the memory of node i after a step."""
    memory = term.memory[0]
    own = static(nodes.number)
    if static(isinstance(term, SceneTermRecord)):
        s = i // term.nodes
        first = s * term.nodes
        last = first + term.nodes
        return memory.update(
            i - first, clock, q[own][first:last], u[own][first:last], q[static(memory.at)][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)),
        )
    return memory.update(i, clock, q[own], u[own], q[static(memory.at)], *term.data)


@generic
def update_node(i, clock, q, u, after, nodes, term):
    """Store the memory of node i after a step; nodes on which the term does not act keep theirs."""
    memory = term.memory[0]
    old = q[static(memory.at)]
    new = after[static(memory.at)]
    for c in static(range(memory.width)):
        new[i, c] = old[i, c]
    if static(term.only is None):
        row = updated_row(i, clock, q, u, nodes, term)
        for c in static(range(memory.width)):
            new[i, c] = row[c]
    elif term.only[i]:
        row = updated_row(i, clock, q, u, nodes, term)
        for c in static(range(memory.width)):
            new[i, c] = row[c]


@generic
def updated_row_adjoint(i, clock, q, u, adj, nodes, term, grad):
    """Transpose of updated_row: return the cotangents of q and u of node i."""
    memory = term.memory[0]
    row = take_row(adj.q[static(memory.at)], i, memory.width)
    own = static(nodes.number)
    if static(isinstance(term, SceneTermRecord)):
        s = i // term.nodes
        first = s * term.nodes
        last = first + term.nodes
        return memory.update_adjoint(
            i - first, clock, q[own][first:last], u[own][first:last], q[static(memory.at)][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)),
            row, adj.q[static(memory.at)][first:last], *tuple(a[s] for a in static(grad)),
        )
    return memory.update_adjoint(
        i, clock, q[own], u[own], q[static(memory.at)], *term.data, row, adj.q[static(memory.at)], *grad
    )


@generic
def update_node_adjoint(i, clock, q, u, adj, nodes, term, grad):
    """Transpose of update_node."""
    own = static(nodes.number)
    if static(term.only is None):
        a, b = updated_row_adjoint(i, clock, q, u, adj, nodes, term, grad)
        store(adj.q[own], i, plus(values(adj.q[own], i, nodes.kind.dq), a, nodes.kind.dq), nodes.kind.dq)
        store(adj.u[own], i, plus(values(adj.u[own], i, nodes.kind.du), b, nodes.kind.du), nodes.kind.du)
    elif term.only[i]:
        a, b = updated_row_adjoint(i, clock, q, u, adj, nodes, term, grad)
        store(adj.q[own], i, plus(values(adj.q[own], i, nodes.kind.dq), a, nodes.kind.dq), nodes.kind.dq)
        store(adj.u[own], i, plus(values(adj.u[own], i, nodes.kind.du), b, nodes.kind.du), nodes.kind.du)


@generic
def inject_row(i, j, frames, adj, memory):
    """Add the cotangent of the frame saved at step j to row i of a term's memory."""
    frame = frames.of_step[j]
    if frame >= 0:
        for c in static(range(memory.width)):
            adj.q[static(memory.at)][i, c] += frames.q[static(memory.at)][frame, i, c]


@generic
def end_of_step(steps, j, start):
    """Return the clock at the end of step j of a rollout that begins at the time ``start``."""
    return Clock(steps.first + j, start + steps.dt, steps.dt, 0, start)


def remember(clock, q, u, after, system):
    """Update the memory of all terms after a step."""
    with independent:
        for term in static(system.elements):
            if static(len(term.memory) > 0):
                launch(term.size, update_element, clock, q, u, after, term)
        for nodes in static(system.sets):
            for term in static(nodes.terms):
                if static(len(term.memory) > 0):
                    launch(nodes.size, update_node, clock, q, u, after, nodes, term)


def remember_adjoint(clock, q, u, adj, system, grads):
    """Transpose of remember: adj.q of the memory holds the cotangent after the step, and afterwards that before it."""
    with independent:
        for term, grad in static(zip(system.elements, grads.elements, strict=True)):
            if static(len(term.memory) > 0):
                launch(term.size, update_element_adjoint, clock, q, u, adj, term, grad)
    for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
        for term, grad in static(zip(nodes.terms, own.terms, strict=True)):
            if static(len(term.memory) > 0):
                launch(nodes.size, update_node_adjoint, clock, q, u, adj, nodes, term, grad)
    with independent:
        for nodes in static(system.sets):
            if static(nodes.remembered is not None):
                launch(nodes.size, collect_updates, adj, nodes)


def inject_memory(j, frames, adj, system):
    """Add the cotangent of the memory saved at step j, if there is one."""
    with independent:
        for term in static(system.elements):
            for memory in static(term.memory):
                launch(memory.size, inject_row, j, frames, adj, memory)
        for nodes in static(system.sets):
            for term in static(nodes.terms):
                for memory in static(term.memory):
                    launch(memory.size, inject_row, j, frames, adj, memory)
