"""Nodes whose free motion loses speed by its square, so that its transpose reads the velocity after the kick."""

from diffloom_kernels import device


@device
def acceleration(i, q, u, f, inverse_mass, loss):
    """a = f / m."""
    return (f[0] * inverse_mass[i],)


@device
def drift(i, h, q, u, inverse_mass, loss):
    """q + h u, u - h c u^2."""
    return (q[0] + h * u[0],), (u[0] - h * loss[i] * u[0] * u[0],)


@device
def spring(i, clock, q, u, stiffness):
    """f = -k q."""
    return (-stiffness[i] * q[i, 0],)
