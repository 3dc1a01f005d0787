"""What terms find for carried bodies, put into the bodies' rows."""

from diffloom.kernels import device


@device
def store_force(b, f, out):
    """Force and torque on body b."""
    for k in range(6):
        out[b, k] = f[k]


@device
def store_cotangents(b, found, out):
    """Cotangents of body b's place and quaternion, and of its velocity and angular velocity."""
    state, speed = found
    for k in range(7):
        out[b, k] = state[k]
    for k in range(6):
        out[b, 7 + k] = speed[k]
