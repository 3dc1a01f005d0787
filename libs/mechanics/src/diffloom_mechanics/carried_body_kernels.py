"""What terms find for carried bodies, put into the bodies' rows."""

from diffloom_kernels import add3, device


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


@device
def three(i, nodes, rows, first):
    """Three neighbouring numbers of what elements wrote for node i, summed up."""
    zero = rows.dtype.type(0)
    total = (zero, zero, zero)
    for e in range(nodes.shape[0]):
        if nodes[e, 0] == i:
            total = add3(total, (rows[e, 0, first], rows[e, 0, first + 1], rows[e, 0, first + 2]))
    return total


@device
def particle_force(i, nodes, f):
    """Force on particle i."""
    return three(i, nodes, f, 0)


@device
def particle_cotangents(i, nodes, q, u):
    """Cotangents of its place and velocity."""
    return three(i, nodes, q, 0), three(i, nodes, u, 0)


@device
def body_force(i, nodes, f):
    """Force and torque on body i."""
    return three(i, nodes, f, 0) + three(i, nodes, f, 3)


@device
def body_cotangents(i, nodes, q, u):
    """Cotangents of its place and quaternion, and of its velocity and angular velocity."""
    last = three(i, nodes, q, 4)
    return three(i, nodes, q, 0) + three(i, nodes, q, 3) + (last[2],), body_force(i, nodes, u)


#: How particles (False) and rigid bodies (True) gather forces and cotangents from elements of one corner.
COLLECT = {False: (particle_force, particle_cotangents), True: (body_force, body_cotangents)}
