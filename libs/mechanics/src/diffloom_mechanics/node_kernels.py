"""Passes over nodes: gather the forces of elements, add the node's own, and the adjoint.

Sums of three numbers are kept in one register, sums of other widths as tuples. In many scenes, a term sees its own
scene alone.
"""

from diffloom_kernels import (
    fma,
    generic,
    row_add,
    row_fma,
    row_from_vec3,
    row_load,
    row_scale,
    row_store,
    row_sum,
    row_vec3,
    static,
)
from diffloom_mechanics.records import SceneTermRecord


@generic
def run_on_scene(i, clock, q, u, nodes, term, each, body):
    """Call ``body`` of a term at i, counted over all scenes, of which ``each`` belong to one."""
    own = static(nodes.number)
    s = i // each
    first = s * term.nodes
    last = first + term.nodes
    if static(term.reads is None):
        return body(
            i - s * each, clock, q[own][first:last], u[own][first:last],
            *tuple(q[static(m.at)][first:last] for m in static(term.memory)), *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
        )
    other = static(term.reads)
    begin = s * term.others
    end = begin + term.others
    return body(
        i - s * each, clock, q[own][first:last], u[own][first:last], q[other][begin:end], u[other][begin:end],
        *term.fixed, *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
    )


@generic
def run_on_scene_adjoint(i, clock, q, u, adj, nodes, term, grad, each, body):
    """Call the adjoint ``body`` of a term at i, which also takes the cotangents of the forces and of its parameters."""
    own = static(nodes.number)
    s = i // each
    first = s * term.nodes
    last = first + term.nodes
    if static(term.reads is None):
        return body(
            i - s * each, clock, q[own][first:last], u[own][first:last],
            *tuple(q[static(m.at)][first:last] for m in static(term.memory)), *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
            adj.f[own][first:last],
            *tuple(adj.q[static(m.at)][first:last] for m in static(term.memory)),
            *tuple(a[s] for a in static(grad)),
        )
    other = static(term.reads)
    begin = s * term.others
    end = begin + term.others
    return body(
        i - s * each, clock, q[own][first:last], u[own][first:last], q[other][begin:end], u[other][begin:end],
        *term.fixed, *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
        adj.f[own][first:last], adj.f[other][begin:end], *tuple(a[s] for a in static(grad)),
    )


@generic
def values(a, i, width):
    """Return the numbers of row i."""
    if static(width == 3):
        return row_vec3(row_load(a, i))
    return tuple(a[i, c] for c in static(range(width)))


@generic
def store(a, i, v, width):
    """a[i] = v."""
    if static(width == 3):
        row_store(a, i, row_from_vec3(v))
    else:
        for c in static(range(width)):
            a[i, c] = v[c]


@generic
def zeros(a, width):
    """Return ``width`` zeros of the type of the array."""
    zero = a.dtype.type(0)
    return tuple(zero for c in static(range(width)))


@generic
def plus(a, b, width):
    """a + b."""
    if static(width == 3):
        return row_vec3(row_add(row_from_vec3(a), row_from_vec3(b)))
    return tuple(a[c] + b[c] for c in static(range(width)))


@generic
def times(a, s, width):
    """a s, with s a scalar."""
    if static(width == 3):
        return row_vec3(row_scale(row_from_vec3(a), s))
    return tuple(a[c] * s for c in static(range(width)))


@generic
def plus_times(b, a, s, width):
    """b + a s, with s a scalar."""
    if static(width == 3):
        return row_vec3(row_fma(row_from_vec3(a), s, row_from_vec3(b)))
    return tuple(fma(a[c], s, b[c]) for c in static(range(width)))


@generic
def gather_rows(i, incoming, rows, width):
    """Return the sum of node i's rows, always in one order."""
    if static(incoming is None):
        return zeros(rows, width)
    if static(width == 3):
        return row_vec3(row_sum(rows, incoming.slots, incoming.starts[i], incoming.starts[i + 1]))
    total = zeros(rows, width)
    for s in range(incoming.starts[i], incoming.starts[i + 1]):
        r = incoming.slots[s]
        total = tuple(total[c] + rows[r, c] for c in static(range(width)))
    return total


@generic
def drift_node(i, h, x, v, nodes):
    """Return node i after free motion over h: by its kind's drift, else at its velocity."""
    if static(nodes.kind.drift is None):
        return plus_times(x, v, h, nodes.kind.dq), v
    return nodes.kind.drift(i, h, x, v, *nodes.arrays)


@generic
def drift_node_adjoint(i, h, x, v, a, b, nodes, grads):
    """Transpose of drift_node for the cotangents a, b of its result."""
    if static(nodes.kind.drift is None):
        return a, plus_times(b, a, h, nodes.kind.dq)
    return nodes.kind.drift_adjoint(i, h, x, v, *nodes.arrays, a, b, *grads.arrays)


@generic
def node_force(i, clock, q, u, nodes):
    """Return the force on node i of a set: the rows of its elements, and its own terms. q, u: of all sets."""
    kind = nodes.kind
    if static(nodes.incoming is None):
        f = zeros(q[static(nodes.number)], kind.du)
    else:
        f = gather_rows(i, nodes.incoming, nodes.rows.force, kind.du)
    for term in static(nodes.terms):
        if static(term.only is None):
            f = plus(f, term_force(i, clock, q, u, nodes, term), kind.du)
        elif term.only[i]:
            f = plus(f, term_force(i, clock, q, u, nodes, term), kind.du)
    return f


@generic
def term_force(i, clock, q, u, nodes, term):
    """Return the force of one term on node i."""
    if static(isinstance(term, SceneTermRecord)):
        return run_on_scene(i, clock, q, u, nodes, term, term.nodes, term.force)
    own = static(nodes.number)
    if static(term.reads is None):
        return term.force(
            i, clock, q[own], u[own], *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, *term.work
        )
    other = static(term.reads)
    return term.force(i, clock, q[own], u[own], q[other], u[other], *term.data, *term.work)


@generic
def state_cotangent(i, clock, q, u, adj, nodes, grads):
    """Return the cotangent of node i's state by the forces on all nodes: the rows of its elements, and its own
    terms.
    """
    kind = nodes.kind
    own = static(nodes.number)
    if static(nodes.incoming is None):
        a = zeros(q[own], kind.dq)
        b = zeros(q[own], kind.du)
    else:
        a = gather_rows(i, nodes.incoming, nodes.rows.q, kind.dq)
        b = gather_rows(i, nodes.incoming, nodes.rows.u, kind.du)
    for term, grad in static(zip(nodes.terms, grads.terms, strict=True)):
        if static(term.only is None):
            c, d = term_cotangent(i, clock, q, u, adj, nodes, term, grad)
            a = plus(a, c, kind.dq)
            b = plus(b, d, kind.du)
        elif term.only[i]:
            c, d = term_cotangent(i, clock, q, u, adj, nodes, term, grad)
            a = plus(a, c, kind.dq)
            b = plus(b, d, kind.du)
    return a, b


@generic
def term_cotangent(i, clock, q, u, adj, nodes, term, grad):
    """Return the cotangent of node i's state by one term, and add to the cotangents of the term's parameters."""
    if static(isinstance(term, SceneTermRecord)):
        return run_on_scene_adjoint(i, clock, q, u, adj, nodes, term, grad, term.nodes, term.adjoint)
    own = static(nodes.number)
    if static(term.reads is None):
        return term.adjoint(
            i, clock, q[own], u[own], *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, *term.work,
            adj.f[own], *tuple(adj.q[static(m.at)] for m in static(term.memory)), *grad,
        )
    other = static(term.reads)
    return term.adjoint(
        i, clock, q[own], u[own], q[other], u[other], *term.data, *term.work, adj.f[own], adj.f[other], *grad
    )


@generic
def element_force(e, clock, q, u, term):
    """Store the forces of element e on its corners in its own slots."""
    here = term.ends[0]
    if static(len(term.ends) == 1):
        term.force(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, here.slots.force,
        )
    else:
        there = term.ends[1]
        term.force(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            q[static(there.of)], u[static(there.of)], there.nodes,
            *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, here.slots.force, there.slots.force,
        )


@generic
def element_adjoint(e, clock, q, u, adj, term, grad):
    """Transpose of element_force."""
    here = term.ends[0]
    if static(len(term.ends) == 1):
        term.adjoint(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            *tuple(q[static(m.at)] for m in static(term.memory)), *term.data,
            adj.f[static(here.of)], here.slots.q, here.slots.u,
            *tuple(adj.q[static(m.at)] for m in static(term.memory)), *grad,
        )
    else:
        there = term.ends[1]
        term.adjoint(
            e, clock, q[static(here.of)], u[static(here.of)], here.nodes,
            q[static(there.of)], u[static(there.of)], there.nodes,
            *tuple(q[static(m.at)] for m in static(term.memory)), *term.data,
            adj.f[static(here.of)], adj.f[static(there.of)],
            here.slots.q, here.slots.u, there.slots.q, there.slots.u,
            *tuple(adj.q[static(m.at)] for m in static(term.memory)), *grad,
        )


@generic
def stage(i, clock, q, u, nodes, term, body):
    """Run a pass before the node pass."""
    own = static(nodes.number)
    if static(term.reads is None):
        body(i, clock, q[own], u[own], *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, *term.work)
    else:
        other = static(term.reads)
        body(i, clock, q[own], u[own], q[other], u[other], *term.data, *term.work)


@generic
def adjoint_stage(i, clock, q, u, adj, nodes, term, grad, body):
    """Run a pass before the node pass of the adjoint."""
    own = static(nodes.number)
    if static(term.reads is None):
        body(
            i, clock, q[own], u[own], *tuple(q[static(m.at)] for m in static(term.memory)), *term.data, *term.work,
            adj.f[own], *tuple(adj.q[static(m.at)] for m in static(term.memory)), *grad,
        )
    else:
        other = static(term.reads)
        body(i, clock, q[own], u[own], q[other], u[other], *term.data, *term.work, adj.f[own], adj.f[other], *grad)


@generic
def add_frame(i, j, frames, nodes, a, b):
    """Return the cotangents a, b of node i's state at step j plus that of the frame saved there, if there is one."""
    frame = frames.of_step[j]
    if frame >= 0:
        own = static(nodes.number)
        a = tuple(a[c] + frames.q[own][frame, i, c] for c in static(range(nodes.kind.dq)))
        b = tuple(b[c] + frames.u[own][frame, i, c] for c in static(range(nodes.kind.du)))
    return a, b
