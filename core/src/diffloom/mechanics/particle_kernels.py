"""Point masses: semi-implicit Euler and its transpose."""

# mypy: ignore-errors

from diffloom.kernels import device, dot3, row_at, row_fma, row_of, row_plus, row_scale, row_store, row_vec3


@device
def particle_step(i, clock, q, u, f, inverse_mass, gravity, q_next, u_next):
    """u+ = u + dt (f / m + g), q+ = q + dt u+. A particle with inverse mass 0 is held: it keeps q and u."""
    dt = clock[2]
    w = inverse_mass[i]
    velocity = row_at(u, i)
    position = row_at(q, i)
    if w > q.dtype.type(0):
        velocity = row_fma(row_fma(row_of(f), w, row_at(gravity, i)), dt, velocity)
        position = row_fma(velocity, dt, position)
    row_store(u_next, i, velocity)
    row_store(q_next, i, position)


@device
def particle_step_adjoint(
    i, clock, q, u, f, inverse_mass, gravity, adj_q_next, adj_u_next, adj_q, adj_u, adj_f, adj_inverse_mass, adj_gravity
):
    """With a = adj_u+ + dt adj_q+:  adj_q = adj_q+, adj_u = a, adj_f = dt a / m, adj_g = dt a, adj_w = dt f.a."""
    dt = clock[2]
    w = inverse_mass[i]
    a_q = row_at(adj_q_next, i)
    a_u = row_at(adj_u_next, i)
    row_store(adj_q, i, a_q)
    if w > q.dtype.type(0):
        a_u = row_fma(a_q, dt, a_u)
        a_force = row_scale(a_u, dt)
        row_store(adj_f, i, row_scale(a_force, w))
        adj_inverse_mass[i] += dot3(f, row_vec3(a_force))
        row_store(adj_gravity, i, row_plus(row_at(adj_gravity, i), a_force))
    else:
        zero = q.dtype.type(0)
        row_store(adj_f, i, row_of((zero, zero, zero)))
    row_store(adj_u, i, a_u)
