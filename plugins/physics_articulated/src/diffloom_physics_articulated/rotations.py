"""Quaternions (w, x, y, z) from the notations of rotations in files."""

from __future__ import annotations

import numpy as np

from diffloom_physics_articulated.link import Vector

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


def product(a: Vector, b: Vector) -> Vector:
    """Return the quaternion of the rotation b, then a."""
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def rotate_about(axis: Vector, angle: float) -> Vector:
    """Return the rotation by an angle [rad] about an axis of any length."""
    return np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * axis / np.linalg.norm(axis)])


def convert_rpy(rpy: Vector) -> Vector:
    """Return the rotation by roll, pitch, yaw [rad] about the fixed axes x, y, z."""
    x, y, z = (rotate_about(np.eye(3)[k], float(rpy[k])) for k in range(3))
    return product(z, product(y, x))


def convert_euler(angles: Vector, order: str) -> Vector:
    """Return the product of rotations about axes; lower case for axes that rotate along, upper case for fixed ones."""
    total = IDENTITY
    for letter, angle in zip(order, angles, strict=True):
        turn = rotate_about(np.eye(3)["xyz".index(letter.lower())], float(angle))
        total = product(total, turn) if letter.islower() else product(turn, total)
    return total


def convert_matrix(R: Vector) -> Vector:
    """Return the quaternion of a rotation matrix (3, 3)."""
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], 0.0, 0.0, 0.0],
        [R[1, 0] + R[0, 1], R[1, 1] - R[0, 0] - R[2, 2], 0.0, 0.0],
        [R[2, 0] + R[0, 2], R[2, 1] + R[1, 2], R[2, 2] - R[0, 0] - R[1, 1], 0.0],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], np.trace(R)],
    ])  # fmt: skip
    x, y, z, w = np.linalg.eigh(K)[1][:, -1]
    return np.array([w, x, y, z])


def rotate_between(a: Vector, b: Vector) -> Vector:
    """Return the shortest rotation from direction a to b."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    if a @ b < -1.0 + 1e-12:
        return rotate_about(np.cross(a, np.eye(3)[int(np.abs(a).argmin())]), np.pi)
    found = np.concatenate([[1.0 + a @ b], np.cross(a, b)])
    return np.asarray(found / np.linalg.norm(found))


def matrix(quaternion: Vector) -> Vector:
    """Return the rotation matrix (3, 3) of a quaternion of any length."""
    w, v = quaternion[0], quaternion[1:]
    cross = np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])
    turned = (w * w - v @ v) * np.eye(3) + 2.0 * (np.outer(v, v) + w * cross)
    return np.asarray(turned / (quaternion @ quaternion))


def rotate_inertia(quaternion: Vector, inertia: Vector) -> Vector:
    """Return xx yy zz xy xz yz in the axes in which ``quaternion`` gives the inertia's own axes."""
    xx, yy, zz, xy, xz, yz = inertia
    R = matrix(quaternion)
    I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
