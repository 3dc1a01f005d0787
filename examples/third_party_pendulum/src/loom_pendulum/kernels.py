"""One pendulum: how a torque turns it, which torques act, and the transposes."""

# mypy: ignore-errors

from diffloom_kernels import cos, device, sin


@device
def angular_acceleration(i, q, u, f, inertia):
    """a = f / I for the torque f."""
    return (f[0] / inertia[i],)


@device
def angular_acceleration_adjoint(i, q, u, f, inertia, adj, adj_inertia):
    """adj_f = adj / I, adj_I = -f adj / I^2; the angle and its rate play no part."""
    zero = inertia.dtype.type(0)
    adj_f = adj[0] / inertia[i]
    adj_inertia[i] -= f[0] * adj_f / inertia[i]
    return (zero,), (zero,), (adj_f,)


@device
def pendulum_torque(i, clock, q, u, weight, damping, torque):
    """f = -w sin(q) - c u + tau, with w = m g L; tau has a row for each step, or one for all."""
    row = clock.row if torque.shape[0] > 1 else 0
    return (torque[row, i] - weight[i] * sin(q[i, 0]) - damping[i] * u[i, 0],)


@device
def pendulum_torque_adjoint(i, clock, q, u, weight, damping, torque, adj_f, adj_weight, adj_damping, adj_torque):
    """Adjoint: with a = adj_f:  adj_tau = a, adj_w = -sin(q) a, adj_c = -u a, adj_q = -w cos(q) a, adj_u = -c a."""
    row = clock.row if torque.shape[0] > 1 else 0
    a = adj_f[i, 0]
    adj_torque[row, i] += a
    adj_weight[i] -= sin(q[i, 0]) * a
    adj_damping[i] -= u[i, 0] * a
    return (-weight[i] * cos(q[i, 0]) * a,), (-damping[i] * a,)
