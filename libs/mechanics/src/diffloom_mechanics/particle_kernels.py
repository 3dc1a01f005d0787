"""Particles: their motion under a force and gravity, and the forces of springs, pushes and controls on them.

Motion has no branches, so that whole rows stay in registers. Particles that are held have zero inverse mass and
gravity, and do not drift.
"""

from diffloom_kernels import (
    add3,
    device,
    dot3,
    fma3,
    ld3,
    maximum,
    minimum,
    mul3,
    neg3,
    row_add,
    row_fma,
    row_from_vec3,
    row_load,
    row_scale,
    row_store,
    row_vec3,
    sqrt,
    st3,
    store_corners,
    sub3,
    where,
)


@device
def free_time(i, h, inverse_mass):
    """Return the time that node i moves: h, or 0 when it is held."""
    zero = inverse_mass.dtype.type(0)
    return where(inverse_mass[i] > zero, h, zero)


@device
def particle_acceleration(i, q, u, f, inverse_mass, gravity):
    """a = f / m + g."""
    return row_vec3(row_fma(row_from_vec3(f), inverse_mass[i], row_load(gravity, i)))


@device
def particle_acceleration_adjoint(i, q, u, f, inverse_mass, gravity, adj, adj_inverse_mass, adj_gravity):
    """adj_f = adj / m, adj_g = adj, adj_w = f.adj."""
    zero = inverse_mass.dtype.type(0)
    a = row_from_vec3(adj)
    adj_inverse_mass[i] += dot3(f, adj)
    row_store(adj_gravity, i, row_add(row_load(adj_gravity, i), a))
    return (zero, zero, zero), (zero, zero, zero), row_vec3(row_scale(a, inverse_mass[i]))


@device
def particle_drift(i, h, q, u, inverse_mass, gravity):
    """q + h u; a particle that is held keeps q, and u as a value."""
    return row_vec3(row_fma(row_from_vec3(u), free_time(i, h, inverse_mass), row_from_vec3(q))), u


@device
def particle_drift_adjoint(i, h, q, u, inverse_mass, gravity, adj_q, adj_u, adj_inverse_mass, adj_gravity):
    """adj_u + h adj_q."""
    return adj_q, row_vec3(row_fma(row_from_vec3(adj_q), free_time(i, h, inverse_mass), row_from_vec3(adj_u)))


@device
def particle_rate(i, q, u, inverse_mass, gravity):
    """q' = u, u' = 0."""
    zero = inverse_mass.dtype.type(0)
    time = free_time(i, inverse_mass.dtype.type(1), inverse_mass)
    return row_vec3(row_scale(row_from_vec3(u), time)), (zero, zero, zero)


@device
def particle_rate_adjoint(i, q, u, inverse_mass, gravity, adj_q, adj_u, adj_inverse_mass, adj_gravity):
    """adj_u = adj_q'."""
    zero = inverse_mass.dtype.type(0)
    one = inverse_mass.dtype.type(1)
    return (zero, zero, zero), row_vec3(row_scale(row_from_vec3(adj_q), free_time(i, one, inverse_mass)))


@device
def applied_force(i, clock, q, u, force):
    """f = force[k, i]; one row serves all steps."""
    row = clock.row if force.shape[0] > 1 else 0
    return (force[row, i, 0], force[row, i, 1], force[row, i, 2])


@device
def applied_force_adjoint(i, clock, q, u, force, adj_f, adj_force):
    """adj_force[k, i] += adj_f[i]."""
    row = clock.row if force.shape[0] > 1 else 0
    zero = q.dtype.type(0)
    adj_force[row, i, 0] += adj_f[i, 0]
    adj_force[row, i, 1] += adj_f[i, 1]
    adj_force[row, i, 2] += adj_f[i, 2]
    return (zero, zero, zero), (zero, zero, zero)


@device
def window_share(clock, start, end):
    """Return the share of this step, 0..1, between ``start`` and ``end``: impulses are exact for any step length."""
    zero = clock.dt - clock.dt
    overlap = minimum(clock.start + clock.dt, end) - maximum(clock.start, start)
    return maximum(overlap, zero) / clock.dt


@device
def window_force(i, clock, q, u, starts, window, start, end, force):
    """Sum of the windows of node i: force x the share of the step in which it acts."""
    zero = q.dtype.type(0)
    total = (zero, zero, zero)
    for s in range(starts[i], starts[i + 1]):
        w = window[s]
        total = add3(total, mul3(ld3(force, w), window_share(clock, start[w], end[w])))
    return total


@device
def window_force_adjoint(i, clock, q, u, starts, window, start, end, force, adj_f, adj_force):
    """adj_force = share x adj_f; the times are constants."""
    zero = q.dtype.type(0)
    for s in range(starts[i], starts[i + 1]):
        w = window[s]
        share = window_share(clock, start[w], end[w])
        st3(adj_force, w, add3(ld3(adj_force, w), mul3(ld3(adj_f, i), share)))
    return (zero, zero, zero), (zero, zero, zero)


@device
def spring_force(e, clock, q, u, nodes, stiffness, damping, rest_length, out):
    """f = (k (L - L0) + c n.(u1 - u0)) n on node 0 and -f on node 1; n is the unit vector from 0 to 1."""
    R = q.dtype.type
    i = nodes[e, 0]
    j = nodes[e, 1]
    d = sub3(ld3(q, j), ld3(q, i))
    s = sub3(ld3(u, j), ld3(u, i))
    length = sqrt(dot3(d, d))
    n = mul3(d, R(1) / where(length > R(0), length, R(1)))
    f = mul3(n, stiffness[e] * (length - rest_length[e]) + damping[e] * dot3(n, s))
    store_corners(out, e, (f, neg3(f)))


@device
def spring_force_adjoint(
    e, clock, q, u, nodes, stiffness, damping, rest_length,
    adj_f, adj_q, adj_u, adj_stiffness, adj_damping, adj_rest_length,
):
    """Transpose of spring_force, with a = adj_f0 - adj_f1 and the tension T.

    adj_T = n.a; adj_n = T a + c adj_T s; adj_d = (adj_n + n (k adj_T L - n.adj_n)) / L; adj_s = c adj_T n. Node 1 takes
    +adj_d, node 0 takes -adj_d.
    """
    R = q.dtype.type
    i = nodes[e, 0]
    j = nodes[e, 1]
    d = sub3(ld3(q, j), ld3(q, i))
    s = sub3(ld3(u, j), ld3(u, i))
    length = sqrt(dot3(d, d))
    inverse = R(1) / where(length > R(0), length, R(1))
    n = mul3(d, inverse)
    rate = dot3(n, s)
    k = stiffness[e]
    c = damping[e]
    stretch = length - rest_length[e]
    tension = k * stretch + c * rate
    a = sub3(ld3(adj_f, i), ld3(adj_f, j))
    adj_tension = dot3(n, a)
    adj_n = add3(mul3(a, tension), mul3(s, c * adj_tension))
    adj_d = mul3(fma3(n, k * adj_tension * length - dot3(n, adj_n), adj_n), inverse)
    adj_s = mul3(n, c * adj_tension)
    store_corners(adj_q, e, (neg3(adj_d), adj_d))
    store_corners(adj_u, e, (neg3(adj_s), adj_s))
    adj_stiffness[e] += adj_tension * stretch
    adj_damping[e] += adj_tension * rate
    adj_rest_length[e] -= adj_tension * k
