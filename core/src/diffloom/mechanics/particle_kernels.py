"""Point masses: semi-implicit Euler and its transpose."""

# mypy: ignore-errors

from diffloom.kernels import add3, device, dot3, fma3, ld3, mul3, st3


@device
def particle_step(i, clock, q, u, f, inverse_mass, gravity, q_next, u_next):
    """u+ = u + dt (f / m + g), q+ = q + dt u+. A particle with inverse mass 0 is held: it keeps q and u."""
    dt = clock[2]
    w = inverse_mass[i]
    velocity = ld3(u, i)
    position = ld3(q, i)
    if w > q.dtype.type(0):
        velocity = fma3(fma3(f, w, ld3(gravity, i)), dt, velocity)
        position = fma3(velocity, dt, position)
    st3(u_next, i, velocity)
    st3(q_next, i, position)


@device
def particle_step_adjoint(
    i, clock, q, u, f, inverse_mass, gravity, adj_q_next, adj_u_next, adj_q, adj_u, adj_f, adj_inverse_mass, adj_gravity
):
    """With a = adj_u+ + dt adj_q+:  adj_q = adj_q+, adj_u = a, adj_f = dt a / m, adj_g = dt a, adj_w = dt f.a."""
    dt = clock[2]
    w = inverse_mass[i]
    a_q = ld3(adj_q_next, i)
    a_u = ld3(adj_u_next, i)
    st3(adj_q, i, a_q)
    if w > q.dtype.type(0):
        a_u = fma3(a_q, dt, a_u)
        a_force = mul3(a_u, dt)
        st3(adj_f, i, mul3(a_force, w))
        adj_inverse_mass[i] += dot3(f, a_force)
        st3(adj_gravity, i, add3(ld3(adj_gravity, i), a_force))
    else:
        zero = q.dtype.type(0)
        st3(adj_f, i, (zero, zero, zero))
    st3(adj_u, i, a_u)
