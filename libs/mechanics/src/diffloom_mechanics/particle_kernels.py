"""Point masses under a force and gravity. Those that are held have inverse mass and gravity 0, and do not drift.

Without branches: whole rows stay in registers.
"""

from diffloom_kernels import device, dot3, row_at, row_fma, row_of, row_plus, row_scale, row_store, row_vec3, where


@device
def while_free(i, h, inverse_mass):
    """The time that node i moves: h, or 0 when it is held."""
    zero = inverse_mass.dtype.type(0)
    return where(inverse_mass[i] > zero, h, zero)


@device
def particle_acceleration(i, q, u, f, inverse_mass, gravity):
    """a = f / m + g."""
    return row_vec3(row_fma(row_of(f), inverse_mass[i], row_at(gravity, i)))


@device
def particle_acceleration_adjoint(i, q, u, f, inverse_mass, gravity, adj, adj_inverse_mass, adj_gravity):
    """adj_f = adj / m, adj_g = adj, adj_w = f.adj."""
    zero = inverse_mass.dtype.type(0)
    a = row_of(adj)
    adj_inverse_mass[i] += dot3(f, adj)
    row_store(adj_gravity, i, row_plus(row_at(adj_gravity, i), a))
    return (zero, zero, zero), (zero, zero, zero), row_vec3(row_scale(a, inverse_mass[i]))


@device
def particle_drift(i, h, q, u, inverse_mass, gravity):
    """q + h u; a particle that is held keeps q, and u as a value."""
    return row_vec3(row_fma(row_of(u), while_free(i, h, inverse_mass), row_of(q))), u


@device
def particle_drift_adjoint(i, h, q, u, inverse_mass, gravity, adj_q, adj_u, adj_inverse_mass, adj_gravity):
    """adj_u + h adj_q."""
    return adj_q, row_vec3(row_fma(row_of(adj_q), while_free(i, h, inverse_mass), row_of(adj_u)))


@device
def particle_rate(i, q, u, inverse_mass, gravity):
    """q' = u, u' = 0."""
    zero = inverse_mass.dtype.type(0)
    return row_vec3(row_scale(row_of(u), while_free(i, inverse_mass.dtype.type(1), inverse_mass))), (zero, zero, zero)


@device
def particle_rate_adjoint(i, q, u, inverse_mass, gravity, adj_q, adj_u, adj_inverse_mass, adj_gravity):
    """adj_u = adj_q'."""
    zero = inverse_mass.dtype.type(0)
    one = inverse_mass.dtype.type(1)
    return (zero, zero, zero), row_vec3(row_scale(row_of(adj_q), while_free(i, one, inverse_mass)))
