"""Terms on the nodes of many scenes of one system: each is called with the rows of its own scene alone.

A term so cannot reach into another scene, whatever its tables and workspaces hold, and need not know of scenes.
"""

from diffloom.kernels import generic, static


@generic
def scene_force(i, clock, q, u, nodes, term):
    """Force of one term on node i."""
    own = static(nodes.number)
    n = term.nodes
    s = i // n
    first = s * n
    last = first + n
    if static(term.reads is None):
        return term.force(
            i - first, clock, q[own][first:last], u[own][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
        )
    other = static(term.reads)
    begin = s * term.others
    end = begin + term.others
    return term.force(
        i - first, clock, q[own][first:last], u[own][first:last], q[other][begin:end],
        u[other][begin:end], *term.fixed, *tuple(a[s] for a in static(term.data)),
        *tuple(a[s] for a in static(term.work)),
    )


@generic
def scene_cotangent(i, clock, q, u, adj, nodes, term, grad):
    """Transpose of scene_force."""
    own = static(nodes.number)
    n = term.nodes
    s = i // n
    first = s * n
    last = first + n
    if static(term.reads is None):
        return term.adjoint(
            i - first, clock, q[own][first:last], u[own][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
            adj.f[own][first:last], *tuple(a[s] for a in static(grad)),
        )
    other = static(term.reads)
    begin = s * term.others
    end = begin + term.others
    return term.adjoint(
        i - first, clock, q[own][first:last], u[own][first:last], q[other][begin:end],
        u[other][begin:end], *term.fixed, *tuple(a[s] for a in static(term.data)),
        *tuple(a[s] for a in static(term.work)), adj.f[own][first:last], adj.f[other][begin:end],
        *tuple(a[s] for a in static(grad)),
    )


@generic
def scene_stage(i, clock, q, u, nodes, term, part):
    """Work before a node pass; part.each: of one scene."""
    own = static(nodes.number)
    n = term.nodes
    s = i // part.each
    first = s * n
    last = first + n
    if static(term.reads is None):
        part.body(
            i - s * part.each, clock, q[own][first:last], u[own][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
        )
    else:
        other = static(term.reads)
        begin = s * term.others
        end = begin + term.others
        part.body(
            i - s * part.each, clock, q[own][first:last], u[own][first:last], q[other][begin:end],
            u[other][begin:end], *term.fixed, *tuple(a[s] for a in static(term.data)),
            *tuple(a[s] for a in static(term.work)),
        )


@generic
def scene_adjoint_stage(i, clock, q, u, adj, nodes, term, grad, part):
    """Work before a node pass backwards."""
    own = static(nodes.number)
    n = term.nodes
    s = i // part.each
    first = s * n
    last = first + n
    if static(term.reads is None):
        part.body(
            i - s * part.each, clock, q[own][first:last], u[own][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
            adj.f[own][first:last], *tuple(a[s] for a in static(grad)),
        )
    else:
        other = static(term.reads)
        begin = s * term.others
        end = begin + term.others
        part.body(
            i - s * part.each, clock, q[own][first:last], u[own][first:last], q[other][begin:end],
            u[other][begin:end], *term.fixed, *tuple(a[s] for a in static(term.data)),
            *tuple(a[s] for a in static(term.work)), adj.f[own][first:last], adj.f[other][begin:end],
            *tuple(a[s] for a in static(grad)),
        )
