"""Kernels of the forces in joints: springs, damping, dry friction, soft limits and motors, for each velocity of a tree.

``joint`` (trees, du, 11) holds, of each velocity: stiffness, rest, damping, friction, friction speed, lower and upper
limit, stiffness and damping of the limits, stiffness and damping of the servo. ``command`` (1 or steps, trees, du, 3)
holds torque, target position and target velocity.
"""

import functools

from diffloom_kernels import constant, device, sqrt, where
from diffloom_physics_articulated.row_kernels import row_reader

STIFFNESS, REST, DAMPING, FRICTION, SLIP, LOWER, UPPER, LIMIT_STIFFNESS, LIMIT_DAMPING, SERVO, SERVO_DAMPING = range(11)
TORQUE, POSITION, VELOCITY = range(3)


@device
def limit_force(depth, closing, stiffness, damping):
    """Return k d (1 + c d') for a depth d > 0 that grows at the rate d'; never adhesive (Hunt & Crossley 1975)."""
    zero = constant(depth, 0)
    share = depth * damping * closing + depth
    return where((depth > zero) & (share > zero), stiffness * share, zero)


@device
def limit_force_adjoint(depth, closing, stiffness, damping, adj):
    """Return the cotangents of depth, closing, stiffness and damping."""
    zero = constant(depth, 0)
    share = depth * damping * closing + depth
    touches = (depth > zero) & (share > zero)
    a = stiffness * adj
    return (
        where(touches, a * damping * closing + a, zero), where(touches, a * depth * damping, zero),
        where(touches, adj * share, zero), where(touches, a * depth * closing, zero),
    )


@device(inline=False)
def moving_force(i, k, row, v, joint, command):
    """Return the force that depends on a velocity alone: torque, damping, servo and dry friction F v / sqrt(v^2 +
    s^2).
    """
    slip = joint[i, k, SLIP]
    return (
        command[row, i, k, TORQUE] - joint[i, k, DAMPING] * v
        + joint[i, k, SERVO_DAMPING] * (command[row, i, k, VELOCITY] - v)
        - joint[i, k, FRICTION] * v / sqrt(v * v + slip * slip)
    )


@device(inline=False)
def moving_force_adjoint(i, k, row, v, joint, command, a, adj_joint, adj_command):
    """Transpose of moving_force: the cotangent of v."""
    slip = joint[i, k, SLIP]
    norm = sqrt(v * v + slip * slip)
    share = v / norm
    adj_command[row, i, k, TORQUE] += a
    adj_command[row, i, k, VELOCITY] += joint[i, k, SERVO_DAMPING] * a
    adj_joint[i, k, DAMPING] -= v * a
    adj_joint[i, k, SERVO_DAMPING] += (command[row, i, k, VELOCITY] - v) * a
    adj_joint[i, k, FRICTION] -= share * a
    pull = joint[i, k, FRICTION] * a / norm
    adj_joint[i, k, SLIP] += pull * share * slip / norm
    return -(joint[i, k, DAMPING] + joint[i, k, SERVO_DAMPING]) * a - pull * (slip / norm) * (slip / norm)


@device(inline=False)
def scalar_force(i, k, row, x, v, joint, command):
    """Return the force in a joint of one coordinate x with the rate v."""
    low = limit_force(joint[i, k, LOWER] - x, -v, joint[i, k, LIMIT_STIFFNESS], joint[i, k, LIMIT_DAMPING])
    high = limit_force(x - joint[i, k, UPPER], v, joint[i, k, LIMIT_STIFFNESS], joint[i, k, LIMIT_DAMPING])
    return (
        moving_force(i, k, row, v, joint, command)
        - joint[i, k, STIFFNESS] * (x - joint[i, k, REST])
        + joint[i, k, SERVO] * (command[row, i, k, POSITION] - x)
        + low - high
    )


@device(inline=False)
def scalar_force_adjoint(i, k, row, x, v, joint, command, a, adj_joint, adj_command):
    """Return the cotangents of x and v."""
    adj_v = moving_force_adjoint(i, k, row, v, joint, command, a, adj_joint, adj_command)
    c, d, e, f = limit_force_adjoint(
        joint[i, k, LOWER] - x, -v, joint[i, k, LIMIT_STIFFNESS], joint[i, k, LIMIT_DAMPING], a
    )
    adj_joint[i, k, LOWER] += c
    adj_joint[i, k, LIMIT_STIFFNESS] += e
    adj_joint[i, k, LIMIT_DAMPING] += f
    adj_x = -c
    adj_v -= d
    c, d, e, f = limit_force_adjoint(
        x - joint[i, k, UPPER], v, joint[i, k, LIMIT_STIFFNESS], joint[i, k, LIMIT_DAMPING], -a
    )
    adj_joint[i, k, UPPER] -= c
    adj_joint[i, k, LIMIT_STIFFNESS] += e
    adj_joint[i, k, LIMIT_DAMPING] += f
    adj_x += c
    adj_v += d
    adj_joint[i, k, STIFFNESS] -= (x - joint[i, k, REST]) * a
    adj_joint[i, k, REST] += joint[i, k, STIFFNESS] * a
    adj_joint[i, k, SERVO] += (command[row, i, k, POSITION] - x) * a
    adj_command[row, i, k, POSITION] += joint[i, k, SERVO] * a
    return adj_x - (joint[i, k, STIFFNESS] + joint[i, k, SERVO]) * a, adj_v


@functools.cache
def joint_functions(balls, scalars):
    """Return force and adjoint of the term, for numbers of balls and scalars.

    A ball's spring has the energy 2 k |x|^2 of its unit quaternion (w, x), k t^2 / 2 for small angles t: its moment is
    -2 k w x in the link's axes. Limits and target positions are for scalars.
    """
    dq, du = 4 * balls + scalars, 3 * balls + scalars
    read_u, read_q = row_reader(du), row_reader(dq)

    @device
    def joint_force(i, clock, q, u, joint, command, space):
        """Compute the forces on all velocities of tree i."""
        row = clock.row if command.shape[0] > 1 else 0
        for b in range(balls):
            c = 4 * b
            n = q[i, c] * q[i, c] + q[i, c + 1] * q[i, c + 1] + q[i, c + 2] * q[i, c + 2] + q[i, c + 3] * q[i, c + 3]
            for m in range(3):
                k = 3 * b + m
                spring = joint[i, k, STIFFNESS] * q[i, c] * q[i, c + 1 + m] / n
                space[i, k] = moving_force(i, k, row, u[i, k], joint, command) - (spring + spring)
        for m in range(scalars):
            k = 3 * balls + m
            space[i, k] = scalar_force(i, k, row, q[i, 4 * balls + m], u[i, k], joint, command)
        return read_u(space, i, 0)

    @device
    def joint_force_adjoint(i, clock, q, u, joint, command, space, adj_f, adj_joint, adj_command):
        """Transpose of joint_force: cotangents of q and u; those of ``joint`` and ``command`` are added."""
        row = clock.row if command.shape[0] > 1 else 0
        zero = space.dtype.type(0)
        two = space.dtype.type(2)
        for b in range(balls):
            c = 4 * b
            n = q[i, c] * q[i, c] + q[i, c + 1] * q[i, c + 1] + q[i, c + 2] * q[i, c + 2] + q[i, c + 3] * q[i, c + 3]
            for m in range(4):
                space[i, du + c + m] = zero
            for m in range(3):
                k = 3 * b + m
                a = adj_f[i, k]
                space[i, k] = moving_force_adjoint(i, k, row, u[i, k], joint, command, a, adj_joint, adj_command)
                w = q[i, c] / n
                x = q[i, c + 1 + m]
                adj_joint[i, k, STIFFNESS] -= two * w * x * a
                pull = two * joint[i, k, STIFFNESS] * a
                space[i, du + c] -= pull * x / n
                space[i, du + c + 1 + m] -= pull * w
                for j in range(4):
                    space[i, du + c + j] += two * pull * w * x * q[i, c + j] / n
        for m in range(scalars):
            k = 3 * balls + m
            x, v = scalar_force_adjoint(
                i, k, row, q[i, 4 * balls + m], u[i, k], joint, command, adj_f[i, k], adj_joint, adj_command
            )
            space[i, k] = v
            space[i, du + 4 * balls + m] = x
        return read_q(space, i, du), read_u(space, i, 0)

    return joint_force, joint_force_adjoint
