"""A given force on every node, constant or one row per step."""

from diffloom_kernels import device


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
