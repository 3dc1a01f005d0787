"""Splitting schemes: a step is a sequence of moves, each a kick under the forces and a drift at the velocity.

Semi-implicit Euler has one move, leapfrog two; schemes of higher order have longer sequences. All of them run through
these pipelines, forwards and backwards. States between the moves of a step are kept in ``between``; backwards they are
computed again. Terms update their memory after the last move of a step.
"""

from diffloom_kernels import generic, independent, launch, static
from diffloom_mechanics.force_kernels import element_forces, force_adjoints, node_stages
from diffloom_mechanics.memory_kernels import end_of_step, inject_memory, remember, remember_adjoint
from diffloom_mechanics.node_kernels import (
    add_frame,
    drift_node,
    drift_node_adjoint,
    node_force,
    plus,
    plus_times,
    state_cotangent,
    store,
    times,
    values,
    zeros,
)
from diffloom_mechanics.records import Clock


@generic
def kick_node(i, h, x, v, f, nodes):
    """Return the velocity of node i after a kick: v + h a."""
    return plus_times(v, nodes.kind.acceleration(i, x, v, f, *nodes.arrays), h, nodes.kind.du)


@generic
def apply_move(i, dt, move, x, v, f, nodes):
    """Return node i after a move under the force f."""
    if static(move.kicks and move.drifts and nodes.kind.kicked_drift is not None):
        return nodes.kind.kicked_drift(i, move.kick * dt, move.drift * dt, x, v, f, *nodes.arrays)
    if static(move.kicks):
        v = kick_node(i, move.kick * dt, x, v, f, nodes)
    if static(move.drifts):
        x, v = drift_node(i, move.drift * dt, x, v, nodes)
    return x, v


@generic
def apply_move_adjoint(i, dt, move, x, v, f, a, b, nodes, grads):
    """Transpose of apply_move for the cotangents a, b of its result: those of x, v and f."""
    kind = nodes.kind
    if static(move.kicks and move.drifts and kind.kicked_drift is not None):
        return kind.kicked_drift_adjoint(
            i, move.kick * dt, move.drift * dt, x, v, f, *nodes.arrays, a, b, *grads.arrays
        )
    w = kick_node(i, move.kick * dt, x, v, f, nodes) if static(move.kicks) else v
    if static(move.drifts):
        a, b = drift_node_adjoint(i, move.drift * dt, x, w, a, b, nodes, grads)
    if static(not move.kicks):
        return a, b, f
    adj = times(b, move.kick * dt, kind.du)
    c, d, adj_f = kind.acceleration_adjoint(i, x, v, f, *nodes.arrays, adj, *grads.arrays)
    return plus(a, c, kind.dq), plus(b, d, kind.du), adj_f


@generic
def move_node(i, clock, move, q, u, q_next, u_next, nodes):
    """Move node i under the forces at its present state."""
    kind = nodes.kind
    f = node_force(i, clock, q, u, nodes) if static(move.kicks) else zeros(q[0], kind.du)
    x = values(q[static(nodes.number)], i, kind.dq)
    v = values(u[static(nodes.number)], i, kind.du)
    x, v = apply_move(i, clock.dt, move, x, v, f, nodes)
    store(q_next, i, x, kind.dq)
    store(u_next, i, v, kind.du)


@generic
def move_node_direct_adjoint(i, clock, move, q, u, a, b, adj, nodes, grads):
    """Transpose of move_node without the part through the forces, for cotangents a, b of the state after.

    The cotangent of the force is stored.
    """
    kind = nodes.kind
    f = node_force(i, clock, q, u, nodes) if static(move.kicks and kind.force_matters) else zeros(q[0], kind.du)
    x = values(q[static(nodes.number)], i, kind.dq)
    v = values(u[static(nodes.number)], i, kind.du)
    a, b, adj_f = apply_move_adjoint(i, clock.dt, move, x, v, f, a, b, nodes, grads)
    if static(move.kicks):
        store(adj.f[static(nodes.number)], i, adj_f, kind.du)
    return a, b


@generic
def move_node_adjoint(i, clock, move, q, u, adj, nodes, grads):
    """Transpose of move_node without the part through the forces."""
    own = static(nodes.number)
    a = values(adj.q[own], i, nodes.kind.dq)
    b = values(adj.u[own], i, nodes.kind.du)
    a, b = move_node_direct_adjoint(i, clock, move, q, u, a, b, adj, nodes, grads)
    store(adj.q[own], i, a, nodes.kind.dq)
    store(adj.u[own], i, b, nodes.kind.du)


@generic
def add_force_cotangents(i, clock, q, u, adj, nodes, grads):
    """Return the cotangents of node i's state before a move, with the part through the forces."""
    own = static(nodes.number)
    c, d = state_cotangent(i, clock, q, u, adj, nodes, grads)
    a = plus(values(adj.q[own], i, nodes.kind.dq), c, nodes.kind.dq)
    b = plus(values(adj.u[own], i, nodes.kind.du), d, nodes.kind.du)
    return a, b


@generic
def collect(i, clock, q, u, adj, nodes, grads):
    """Add the part through the forces to the cotangents of node i."""
    a, b = add_force_cotangents(i, clock, q, u, adj, nodes, grads)
    store(adj.q[static(nodes.number)], i, a, nodes.kind.dq)
    store(adj.u[static(nodes.number)], i, b, nodes.kind.du)


@generic
def inject(i, j, frames, adj, nodes):
    """Add the cotangent of the frame saved at step j, if there is one."""
    own = static(nodes.number)
    a = values(adj.q[own], i, nodes.kind.dq)
    b = values(adj.u[own], i, nodes.kind.du)
    a, b = add_frame(i, j, frames, nodes, a, b)
    store(adj.q[own], i, a, nodes.kind.dq)
    store(adj.u[own], i, b, nodes.kind.du)


@generic
def collect_and_move_adjoint(i, clock, q, u, j, before, move, q_before, u_before, adj, frames, nodes, grads):
    """Transpose of the end of step j and of the start of step j - 1, in one pass."""
    own = static(nodes.number)
    a, b = add_force_cotangents(i, clock, q, u, adj, nodes, grads)
    a, b = add_frame(i, j, frames, nodes, a, b)
    a, b = move_node_direct_adjoint(i, before, move, q_before, u_before, a, b, adj, nodes, grads)
    store(adj.q[own], i, a, nodes.kind.dq)
    store(adj.u[own], i, b, nodes.kind.du)


def make_move(clock, move, q, u, q_next, u_next, system):
    """Move all nodes."""
    if static(move.kicks):
        element_forces(clock, q, u, system)
        node_stages(clock, q, u, system)
    with independent:
        for n, nodes in static(enumerate(system.sets)):
            launch(nodes.size, move_node, clock, move, q, u, q_next[n], u_next[n], nodes)


def split_rollout(steps, scheme, states, between, system):
    """Run steps from the first of ``states``. Where there are fewer than count + 1 states they are used in turn."""
    b = 0
    for j in range(steps.length):
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        a = b
        b = a + 1 if a + 1 < states.q[0].shape[0] else 0
        memory = tuple(states.q[static(k)][a] for k in static(system.memory))
        for m, move in static(enumerate(scheme)):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == 0):
                q = tuple(x[a] for x in static(states.q))
                u = tuple(x[a] for x in static(states.u))
            else:
                q = (*between[static(m - 1)].q, *memory)
                u = between[static(m - 1)].u
            if static(m == len(scheme) - 1):
                q_next = tuple(x[b] for x in static(states.q))
                u_next = tuple(x[b] for x in static(states.u))
            else:
                q_next = between[m].q
                u_next = between[m].u
            make_move(clock, move, q, u, q_next, u_next, system)
        if static(len(system.memory) > 0):
            after = tuple(x[b] for x in static(states.q))
            places = tuple(states.q[static(n.number)][b] for n in static(system.sets))
            speeds = tuple(x[b] for x in static(states.u))
            remember(end_of_step(steps, j, start), (*places, *memory), speeds, after, system)


def split_rollout_adjoint(steps, scheme, states, between, frames, adj, system, grads):
    """Transpose of split_rollout: adj holds the cotangent of the last state, and afterwards that of the first."""
    for s in range(steps.length):
        j = steps.length - 1 - s
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        q_start = tuple(x[j] for x in static(states.q))
        u_start = tuple(x[j] for x in static(states.u))
        memory = tuple(states.q[static(k)][j] for k in static(system.memory))
        if static(len(system.memory) > 0):
            places = tuple(states.q[static(n.number)][j + 1] for n in static(system.sets))
            speeds = tuple(x[j + 1] for x in static(states.u))
            remember_adjoint(end_of_step(steps, j, start), (*places, *memory), speeds, adj, system, grads)
        for m, move in static(enumerate(scheme)):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == len(scheme) - 1):
                pass  # its end is the next state
            elif static(m == 0):
                make_move(clock, move, q_start, u_start, between[0].q, between[0].u, system)
            else:
                here = between[static(m - 1)]
                make_move(clock, move, (*here.q, *memory), here.u, between[m].q, between[m].u, system)
        for m, move in static(reversed(tuple(enumerate(scheme)))):
            clock = Clock(steps.first + j, start + move.at * steps.dt, steps.dt, 0, start)
            if static(m == 0):
                make_move_adjoint(clock, move, q_start, u_start, adj, system, grads)
            else:
                here = between[static(m - 1)]
                make_move_adjoint(clock, move, (*here.q, *memory), here.u, adj, system, grads)
        with independent:
            for nodes in static(system.sets):
                launch(nodes.size, inject, j, frames, adj, nodes)
        inject_memory(j, frames, adj, system)


def make_move_adjoint(clock, move, q, u, adj, system, grads):
    """Transpose of make_move."""
    if static(move.kicks):
        if static(any(nodes.kind.force_matters for nodes in system.sets)):
            element_forces(clock, q, u, system)
        node_stages(clock, q, u, system)
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, move_node_adjoint, clock, move, q, u, adj, nodes, own)
    if static(move.kicks):
        force_adjoints(clock, q, u, adj, system, grads)
        with independent:
            for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
                launch(nodes.size, collect, clock, q, u, adj, nodes, own)


def joined_rollout_adjoint(steps, scheme, states, between, frames, adj, system, grads):
    """Transpose of split_rollout for schemes of one move, with the node passes of neighbouring steps joined: two passes
    a step.

    It serves systems in which no force need be computed again and no term works in stages, which nodes would have to
    wait for.
    """
    move = scheme[0]
    last = steps.length - 1
    time = states.q[0].dtype.type((steps.first + last) * steps.dt)
    clock = Clock(steps.first + last, time, steps.dt, 0, time)
    q = tuple(x[last] for x in static(states.q))
    u = tuple(x[last] for x in static(states.u))
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, move_node_adjoint, clock, move, q, u, adj, nodes, own)
    for s in range(last):
        j = last - s
        now = states.q[0].dtype.type((steps.first + j) * steps.dt)
        then = states.q[0].dtype.type((steps.first + j - 1) * steps.dt)
        clock_now = Clock(steps.first + j, now, steps.dt, 0, now)
        before = Clock(steps.first + j - 1, then, steps.dt, 0, then)
        q_now = tuple(x[j] for x in static(states.q))
        u_now = tuple(x[j] for x in static(states.u))
        q_before = tuple(x[j - 1] for x in static(states.q))
        u_before = tuple(x[j - 1] for x in static(states.u))
        force_adjoints(clock_now, q_now, u_now, adj, system, grads)
        with independent:
            for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
                launch(
                    nodes.size, collect_and_move_adjoint, clock_now, q_now, u_now, j, before, move, q_before, u_before,
                    adj, frames, nodes, own,
                )
    first = states.q[0].dtype.type(steps.first * steps.dt)
    clock_first = Clock(steps.first, first, steps.dt, 0, first)
    q_first = tuple(x[0] for x in static(states.q))
    u_first = tuple(x[0] for x in static(states.u))
    force_adjoints(clock_first, q_first, u_first, adj, system, grads)
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, collect, clock_first, q_first, u_first, adj, nodes, own)
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, inject, 0, frames, adj, nodes)


@generic
def move_under(i, clock, move, x_from, v_from, f, q_next, u_next, nodes):
    """Move node i under a given force."""
    kind = nodes.kind
    x = values(x_from, i, kind.dq)
    v = values(v_from, i, kind.du)
    x, v = apply_move(i, clock.dt, move, x, v, values(f, i, kind.du), nodes)
    store(q_next, i, x, kind.dq)
    store(u_next, i, v, kind.du)


@generic
def move_under_adjoint(i, clock, move, x_from, v_from, f_from, adj_q, adj_u, adj_f, nodes, grads):
    """Transpose of move_under, in place: cotangents of the state after become those before; that of the force is added
    to.
    """
    kind = nodes.kind
    x = values(x_from, i, kind.dq)
    v = values(v_from, i, kind.du)
    f = values(f_from, i, kind.du)
    a = values(adj_q, i, kind.dq)
    b = values(adj_u, i, kind.du)
    a, b, e = apply_move_adjoint(i, clock.dt, move, x, v, f, a, b, nodes, grads)
    if static(move.kicks):
        store(adj_f, i, plus(values(adj_f, i, kind.du), e, kind.du), kind.du)
    store(adj_q, i, a, kind.dq)
    store(adj_u, i, b, kind.du)


def make_move_under(clock, move, state, f, after, system):
    """Move all nodes under given forces, for schemes that solve for the forces."""
    with independent:
        for n, nodes in static(enumerate(system.sets)):
            launch(
                nodes.size, move_under, clock, move, state.q[n], state.u[n], f[n], after.q[n], after.u[n], nodes
            )


def make_move_under_adjoint(clock, move, state, f, many, system, grads):
    """Transpose of make_move_under, in place, for a batch of cotangents (cotangents, nodes, ...)."""
    for p in range(many.q[0].shape[0]):
        with independent:
            for n, (nodes, own) in static(enumerate(zip(system.sets, grads.sets, strict=True))):
                launch(
                    nodes.size, move_under_adjoint, clock, move, state.q[n], state.u[n], f[n], many.q[n][p],
                    many.u[n][p], many.f[n][p], nodes, own,
                )
