"""Terms on the nodes of many scenes of one system: each is called with the rows of its own scene alone.

A term so cannot reach into another scene, whatever its tables and workspaces hold, and need not know of scenes.
"""

from diffloom_kernels import generic, static


@generic
def on_scene(i, clock, q, u, nodes, term, each, body):
    """What ``body`` of a term does at i, counted over all scenes, of which ``each`` belong to one."""
    own = static(nodes.number)
    s = i // each
    first = s * term.nodes
    last = first + term.nodes
    if static(term.reads is None):
        return body(
            i - s * each, clock, q[own][first:last], u[own][first:last], *term.fixed,
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
def on_scene_adjoint(i, clock, q, u, adj, nodes, term, grad, each, body):
    """The same of an adjoint, which also takes the cotangents of the forces and of its parameters."""
    own = static(nodes.number)
    s = i // each
    first = s * term.nodes
    last = first + term.nodes
    if static(term.reads is None):
        return body(
            i - s * each, clock, q[own][first:last], u[own][first:last], *term.fixed,
            *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
            adj.f[own][first:last], *tuple(a[s] for a in static(grad)),
        )
    other = static(term.reads)
    begin = s * term.others
    end = begin + term.others
    return body(
        i - s * each, clock, q[own][first:last], u[own][first:last], q[other][begin:end], u[other][begin:end],
        *term.fixed, *tuple(a[s] for a in static(term.data)), *tuple(a[s] for a in static(term.work)),
        adj.f[own][first:last], adj.f[other][begin:end], *tuple(a[s] for a in static(grad)),
    )
