"""Explicit Runge-Kutta schemes: rates at several points of a step, combined.

With stages i: y_i = y + h sum_j a_ij k_j, k_i = rate(y_i), y+ = y + h sum_j b_j k_j, and coordinates are projected to
valid ones. Backwards, the points of a step are computed again.
"""

from diffloom_kernels import generic, independent, launch, static
from diffloom_mechanics.force_kernels import element_forces, force_adjoints, node_stages
from diffloom_mechanics.memory_kernels import end_of_step, inject_memory, remember, remember_adjoint
from diffloom_mechanics.node_kernels import node_force, plus, plus_times, state_cotangent, store, times, values, zeros
from diffloom_mechanics.records import Clock, StateCotangents, States
from diffloom_mechanics.schemes import nonzero_weights
from diffloom_mechanics.split_kernels import inject


@generic
def rate_of(i, x, v, f, nodes):
    """Return q' and u' of node i."""
    kind = nodes.kind
    a = kind.acceleration(i, x, v, f, *nodes.arrays)
    if static(kind.rate is None):
        return v, a
    x_rate, v_rate = kind.rate(i, x, v, *nodes.arrays)
    return x_rate, plus(v_rate, a, kind.du)


@generic
def combine_rates(i, h, state, weights, rates, nodes):
    """Return y + h times the weighted sum of rates at node i."""
    own = static(nodes.number)
    x = values(state.q[own], i, nodes.kind.dq)
    v = values(state.u[own], i, nodes.kind.du)
    for weight, rate in static(zip(weights, rates, strict=True)):
        if static(weight is not None):
            x = plus_times(x, values(rate.q[own], i, nodes.kind.dq), h * weight, nodes.kind.dq)
            v = plus_times(v, values(rate.u[own], i, nodes.kind.du), h * weight, nodes.kind.du)
    return x, v


@generic
def store_rate(i, clock, q, u, out, nodes):
    """Store the rate at node i."""
    own = static(nodes.number)
    x = values(q[own], i, nodes.kind.dq)
    v = values(u[own], i, nodes.kind.du)
    x_rate, v_rate = rate_of(i, x, v, node_force(i, clock, q, u, nodes), nodes)
    store(out.q[own], i, x_rate, nodes.kind.dq)
    store(out.u[own], i, v_rate, nodes.kind.du)


@generic
def store_combined(i, h, state, weights, rates, out, nodes, last):
    """Store the next point of node i, or, with ``last``, its next state."""
    own = static(nodes.number)
    x, v = combine_rates(i, h, state, weights, rates, nodes)
    if static(last is not None and nodes.kind.project is not None):
        x = nodes.kind.project(i, x)
    store(out.q[own], i, x, nodes.kind.dq)
    store(out.u[own], i, v, nodes.kind.du)


@generic
def end_adjoint(i, h, state, weights, rates, adj, adj_rates, nodes):
    """Transpose of store_combined for the next state of node i; it initialises the cotangents of the rates."""
    own = static(nodes.number)
    kind = nodes.kind
    a = values(adj.q[own], i, kind.dq)
    b = values(adj.u[own], i, kind.du)
    if static(kind.project is not None):
        x, _ = combine_rates(i, h, state, weights, rates, nodes)
        a = kind.project_adjoint(i, x, a)
        store(adj.q[own], i, a, kind.dq)
    for weight, rate in static(zip(weights, adj_rates, strict=True)):
        if static(weight is not None):
            store(rate.q[own], i, times(a, h * weight, kind.dq), kind.dq)
            store(rate.u[own], i, times(b, h * weight, kind.du), kind.du)
        else:
            store(rate.q[own], i, zeros(adj.q[own], kind.dq), kind.dq)
            store(rate.u[own], i, zeros(adj.q[own], kind.du), kind.du)


@generic
def rate_adjoint(i, clock, q, u, adj_rate, point, nodes, grads):
    """Transpose of store_rate without the part through the forces."""
    kind = nodes.kind
    own = static(nodes.number)
    f = node_force(i, clock, q, u, nodes) if static(kind.force_matters) else zeros(q[own], kind.du)
    rate_under_adjoint(i, q, u, f, adj_rate, point, nodes, grads)


@generic
def rate_under_adjoint(i, q, u, f, adj_rate, point, nodes, grads):
    """Transpose of the rate of node i under a given force."""
    own = static(nodes.number)
    kind = nodes.kind
    x = values(q[own], i, kind.dq)
    v = values(u[own], i, kind.du)
    b_rate = values(adj_rate.u[own], i, kind.du)
    a, b, adj_f = kind.acceleration_adjoint(i, x, v, f, *nodes.arrays, b_rate, *grads.arrays)
    # Stored and loaded as late as possible, because a GPU has few registers.
    store(point.f[own], i, adj_f, kind.du)
    a_rate = values(adj_rate.q[own], i, kind.dq)
    if static(kind.rate is None):
        b = plus(b, a_rate, kind.du)
    else:
        c, d = kind.rate_adjoint(i, x, v, *nodes.arrays, a_rate, b_rate, *grads.arrays)
        a = plus(a, c, kind.dq)
        b = plus(b, d, kind.du)
    store(point.q[own], i, a, kind.dq)
    store(point.u[own], i, b, kind.du)


@generic
def point_adjoint(i, clock, q, u, adj, point, nodes, grads):
    """Add the part through the forces to the cotangent of a point of node i, and the sum to that of the step's
    start.
    """
    own = static(nodes.number)
    kind = nodes.kind
    a, b = state_cotangent(i, clock, q, u, point, nodes, grads)
    a = plus(values(point.q[own], i, kind.dq), a, kind.dq)
    b = plus(values(point.u[own], i, kind.du), b, kind.du)
    store(point.q[own], i, a, kind.dq)
    store(point.u[own], i, b, kind.du)
    store(adj.q[own], i, plus(values(adj.q[own], i, kind.dq), a, kind.dq), kind.dq)
    store(adj.u[own], i, plus(values(adj.u[own], i, kind.du), b, kind.du), kind.du)


@generic
def point_to_rates(i, dt, weights, point, adj_rates, nodes):
    """Add the cotangent of a point of node i to those of the rates it is made of."""
    own = static(nodes.number)
    kind = nodes.kind
    a = values(point.q[own], i, kind.dq)
    b = values(point.u[own], i, kind.du)
    for weight, rate in static(zip(weights, adj_rates, strict=True)):
        h = dt * weight
        store(rate.q[own], i, plus_times(values(rate.q[own], i, kind.dq), a, h, kind.dq), kind.dq)
        store(rate.u[own], i, plus_times(values(rate.u[own], i, kind.du), b, h, kind.du), kind.du)


def evaluate(clock, q, u, out, system):
    """Compute the rates of all nodes at one point."""
    element_forces(clock, q, u, system)
    node_stages(clock, q, u, system)
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, store_rate, clock, q, u, out, nodes)


def combine(h, state, weights, rates, out, system, last):
    """Compute the next point of all nodes, or, with ``last``, their next state.

    Only rates with non-zero weights are passed, so that stages of equally many rates share their code.
    """
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, store_combined, h, state, weights, rates, out, nodes, last)


def compute_points(first, dt, start, state, memory, scheme, points, system):
    """Compute points and rates of one step."""
    for s, row in static(enumerate(scheme.a)):
        clock = Clock(first, start + scheme.c[s] * dt, dt, 0, start)
        if static(s == 0):
            evaluate(clock, state.q, state.u, points.rates[0], system)
        else:
            here = points.states[static(s - 1)]
            weights = tuple(row[k] for k in static(nonzero_weights(row)))
            rates = tuple(points.rates[k] for k in static(nonzero_weights(row)))
            combine(dt, state, weights, rates, here, system, None)
            evaluate(clock, (*here.q, *memory), here.u, points.rates[s], system)


def tableau_rollout(steps, scheme, states, points, system):
    """Run steps from the first of ``states``. Where there are fewer than count + 1 states they are used in turn."""
    b = 0
    for j in range(steps.length):
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        a = b
        b = a + 1 if a + 1 < states.q[0].shape[0] else 0
        state = States(tuple(x[a] for x in static(states.q)), tuple(x[a] for x in static(states.u)))
        after = States(tuple(x[b] for x in static(states.q)), tuple(x[b] for x in static(states.u)))
        memory = tuple(states.q[static(k)][a] for k in static(system.memory))
        compute_points(steps.first + j, steps.dt, start, state, memory, scheme, points, system)
        weights = tuple(scheme.b[k] for k in static(nonzero_weights(scheme.b)))
        rates = tuple(points.rates[k] for k in static(nonzero_weights(scheme.b)))
        combine(steps.dt, state, weights, rates, after, system, 1)
        if static(len(system.memory) > 0):
            places = tuple(states.q[static(n.number)][b] for n in static(system.sets))
            remember(end_of_step(steps, j, start), (*places, *memory), after.u, after.q, system)


def tableau_rollout_adjoint(steps, scheme, states, points, frames, adj, back, system, grads):
    """Transpose of tableau_rollout: adj holds the cotangent of the last state, and afterwards that of the first."""
    for r in range(steps.length):
        j = steps.length - 1 - r
        start = states.q[0].dtype.type((steps.first + j) * steps.dt)
        state = States(tuple(x[j] for x in static(states.q)), tuple(x[j] for x in static(states.u)))
        memory = tuple(states.q[static(k)][j] for k in static(system.memory))
        if static(len(system.memory) > 0):
            places = tuple(states.q[static(n.number)][j + 1] for n in static(system.sets))
            speeds = tuple(x[j + 1] for x in static(states.u))
            remember_adjoint(end_of_step(steps, j, start), (*places, *memory), speeds, adj, system, grads)
        adj_memory = tuple(adj.q[static(k)] for k in static(system.memory))
        point = StateCotangents((*back.point.q, *adj_memory), back.point.u, back.point.f)
        compute_points(steps.first + j, steps.dt, start, state, memory, scheme, points, system)
        with independent:
            for nodes in static(system.sets):
                launch(nodes.size, end_adjoint, steps.dt, state, scheme.b, points.rates, adj, back.rates, nodes)
        for s, row in static(reversed(tuple(enumerate(scheme.a)))):
            clock = Clock(steps.first + j, start + scheme.c[s] * steps.dt, steps.dt, 0, start)
            if static(s == 0):
                stage_adjoint(clock, state, back.rates[0], adj, point, system, grads)
            else:
                here = States((*points.states[static(s - 1)].q, *memory), points.states[static(s - 1)].u)
                stage_adjoint(clock, here, back.rates[s], adj, point, system, grads)
                weights = tuple(row[k] for k in static(nonzero_weights(row)))
                rates = tuple(back.rates[k] for k in static(nonzero_weights(row)))
                points_to_rates(steps.dt, weights, point, rates, system)
        with independent:
            for nodes in static(system.sets):
                launch(nodes.size, inject, j, frames, adj, nodes)
        inject_memory(j, frames, adj, system)


def points_to_rates(dt, weights, point, adj_rates, system):
    """Add the cotangents of a stage's point to those of the rates it is made of, for all nodes."""
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, point_to_rates, dt, weights, point, adj_rates, nodes)


def stage_adjoint(clock, state, adj_rate, adj, point, system, grads):
    """Transpose of one stage: afterwards ``point`` holds the cotangent of its state."""
    if static(any(nodes.kind.force_matters for nodes in system.sets)):
        element_forces(clock, state.q, state.u, system)
    node_stages(clock, state.q, state.u, system)
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, rate_adjoint, clock, state.q, state.u, adj_rate, point, nodes, own)
    force_adjoints(clock, state.q, state.u, point, system, grads)
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, point_adjoint, clock, state.q, state.u, adj, point, nodes, own)


@generic
def store_rate_under(i, state, f, out, nodes):
    """Store the rate at node i under a given force."""
    own = static(nodes.number)
    x = values(state.q[own], i, nodes.kind.dq)
    v = values(state.u[own], i, nodes.kind.du)
    x_rate, v_rate = rate_of(i, x, v, values(f[own], i, nodes.kind.du), nodes)
    store(out.q[own], i, x_rate, nodes.kind.dq)
    store(out.u[own], i, v_rate, nodes.kind.du)


@generic
def given_rate_adjoint(i, state, f, adj_rate, point, nodes, grads):
    """Transpose of store_rate_under."""
    given = values(f[static(nodes.number)], i, nodes.kind.du)
    rate_under_adjoint(i, state.q, state.u, given, adj_rate, point, nodes, grads)


@generic
def project_node(i, q, out, nodes):
    """Store valid coordinates of node i."""
    own = static(nodes.number)
    x = values(q[own], i, nodes.kind.dq)
    if static(nodes.kind.project is not None):
        x = nodes.kind.project(i, x)
    store(out[own], i, x, nodes.kind.dq)


@generic
def project_node_adjoint(i, q, adj, nodes):
    """Transpose of project_node, in place."""
    own = static(nodes.number)
    if static(nodes.kind.project is not None):
        x = values(q[own], i, nodes.kind.dq)
        a = nodes.kind.project_adjoint(i, x, values(adj[own], i, nodes.kind.dq))
        store(adj[own], i, a, nodes.kind.dq)


def rates_under(state, f, out, system):
    """Compute the rates of all nodes under given forces."""
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, store_rate_under, state, f, out, nodes)


def rates_under_adjoint(state, f, adj_rate, point, system, grads):
    """Transpose of rates_under: cotangents of state and forces are written to ``point``."""
    with independent:
        for nodes, own in static(zip(system.sets, grads.sets, strict=True)):
            launch(nodes.size, given_rate_adjoint, state, f, adj_rate, point, nodes, own)


def projection(q, out, system):
    """Compute valid coordinates of all nodes."""
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, project_node, q, out, nodes)


def projection_adjoint(q, adj, system):
    """Transpose of projection, in place."""
    with independent:
        for nodes in static(system.sets):
            launch(nodes.size, project_node_adjoint, q, adj, nodes)
