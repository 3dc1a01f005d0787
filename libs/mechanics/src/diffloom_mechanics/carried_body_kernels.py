"""Forces and cotangents that terms find for carried bodies, stored in the bodies' rows."""

from diffloom_kernels import add3, device


@device
def store_force(b, f, out):
    """Store force and torque on body b."""
    for k in range(6):
        out[b, k] = f[k]


@device
def store_cotangents(b, found, out):
    """Store the cotangents of body b's place and quaternion, and of its velocity and angular velocity."""
    state, speed = found
    for k in range(7):
        out[b, k] = state[k]
    for k in range(6):
        out[b, 7 + k] = speed[k]


@device
def sum_three(i, nodes, rows, first):
    """Return the sums of three neighbouring columns of the rows that elements wrote for node i."""
    zero = rows.dtype.type(0)
    total = (zero, zero, zero)
    for e in range(nodes.shape[0]):
        if nodes[e, 0] == i:
            total = add3(total, (rows[e, 0, first], rows[e, 0, first + 1], rows[e, 0, first + 2]))
    return total


@device
def particle_force(i, nodes, f):
    """Return the force on particle i."""
    return sum_three(i, nodes, f, 0)


@device
def particle_cotangents(i, nodes, q, u):
    """Return the cotangents of place and velocity of particle i."""
    return sum_three(i, nodes, q, 0), sum_three(i, nodes, u, 0)


@device
def body_force(i, nodes, f):
    """Return force and torque on body i."""
    return sum_three(i, nodes, f, 0) + sum_three(i, nodes, f, 3)


@device
def body_cotangents(i, nodes, q, u):
    """Return the cotangents of place and quaternion of body i, and of its velocity and angular velocity."""
    last = sum_three(i, nodes, q, 4)
    return sum_three(i, nodes, q, 0) + sum_three(i, nodes, q, 3) + (last[2],), body_force(i, nodes, u)


#: Functions by which particles (False) and rigid bodies (True) gather from elements of one corner.
COLLECT = {False: (particle_force, particle_cotangents), True: (body_force, body_cotangents)}
