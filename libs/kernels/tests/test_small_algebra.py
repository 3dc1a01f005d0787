"""Vectors, matrices and quaternions against numpy, and lanes against scalars."""

import numpy as np
import pytest

import diffloom_kernels as k
from diffloom_kernels import (
    Program,
    add_to3,
    device,
    launch,
    launch_lanes,
    ld2,
    ld3,
    ld4,
    ld6,
    ld7,
    ld33,
    st2,
    st3,
    st4,
    st6,
    st7,
    st33,
)

COUNT = 11


@device
def vectors(e, a, b, out):
    u, v = ld3(a, e), ld3(b, e)
    p, q = ld2(a, e), ld2(b, e)
    st3(out[0], e, k.add3(u, v))
    st3(out[1], e, k.sub3(u, v))
    st3(out[2], e, k.cross3(u, v))
    st3(out[3], e, k.fma3(u, k.dot3(u, v), k.neg3(v)))
    st3(out[4], e, k.had3(u, k.mul3(v, k.length3(u))))
    st33(out[5], e, k.outer3(u, v))
    st3(out[6], e, k.where3(u[0] < v[0], u, v))
    st2(out[7], e, k.add2(p, k.mul2(q, k.cross2(p, q))))
    st2(out[8], e, k.sub2(p, k.mul2(q, k.dot2(p, q))))
    add_to3(out[9], e, u)


def vectors_expected(a, b):
    u, v, p, q = a[:, :3], b[:, :3], a[:, :2], b[:, :2]
    dot = (u * v).sum(1, keepdims=True)
    area = (p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0])[:, None]
    return [
        u + v,
        u - v,
        np.cross(u, v),
        u * dot - v,
        u * v * np.linalg.norm(u, axis=1, keepdims=True),
        np.einsum("ei,ej->eij", u, v).reshape(-1, 9),
        np.where(u[:, :1] < v[:, :1], u, v),
        p + q * area,
        p - q * (p * q).sum(1, keepdims=True),
        u,
    ]


@device
def matrices(e, a, b, out):
    A, B, u = ld33(a, e), ld33(b, e), ld3(b, e)
    st33(out[0], e, k.matmul33(A, B))
    st33(out[1], e, k.matmulT33(A, B))
    st33(out[2], e, k.Tmatmul33(A, B))
    st33(out[3], e, k.fma33(k.cof33(A), k.trace33(B), k.transpose33(B)))
    st33(out[4], e, k.inverse33(A))
    st33(out[5], e, k.mul33(k.sub33(k.add33(A, B), k.transpose33(A)), k.det33(B)))
    st33(out[6], e, k.skew33(u))
    st3(out[7], e, k.add3(k.matvec33(A, u), k.tmatvec33(B, u)))
    st3(out[8], e, k.add3(k.row33(A, 1), k.column33(B, 2)))
    columns = k.mat33_columns(k.row33(A, 0), k.row33(A, 1), k.row33(A, 2))
    st33(out[9], e, k.add33(columns, k.mat33_diagonal(A[0], B[0], A[1])))
    st33(out[10], e, k.mul33(k.mat33_rows(u, k.neg3(u), u), k.dot33(A, B)))


def matrices_expected(a, b):
    A, B, u = a.reshape(-1, 3, 3), b.reshape(-1, 3, 3), b[:, :3]
    T = (0, 2, 1)
    det = np.linalg.det
    cof = det(A)[:, None, None] * np.linalg.inv(A).transpose(T)
    trace = np.trace(B, axis1=1, axis2=2)[:, None, None]
    diagonal = np.zeros_like(A)
    diagonal[:, 0, 0], diagonal[:, 1, 1], diagonal[:, 2, 2] = A[:, 0, 0], B[:, 0, 0], A[:, 0, 1]
    skew = np.stack([np.cross(u, axis) for axis in np.eye(3)], 2)
    full = [
        A @ B,
        A @ B.transpose(T),
        A.transpose(T) @ B,
        cof * trace + B.transpose(T),
        np.linalg.inv(A),
        (A + B - A.transpose(T)) * det(B)[:, None, None],
        skew,
        np.einsum("eij,ej->ei", A, u) + np.einsum("eji,ej->ei", B, u),
        A[:, 1] + B[:, :, 2],
        A.transpose(T) + diagonal,
        np.stack([u, -u, u], 1) * (A * B).sum((1, 2))[:, None, None],
    ]
    return [values.reshape(COUNT, -1) for values in full]


@device
def flat_matrices(e, a, b, out):
    A, B, u = ld4(a, e), ld4(b, e), ld2(b, e)
    F = k.mat32_columns(ld3(a, e), ld3(b, e))
    G = k.mat32_columns(ld3(b, e), ld3(a, e))
    st4(out[0], e, k.matmul22(A, B))
    st4(out[1], e, k.add22(k.inverse22(A), k.mul22(k.cof22(B), k.det22(A))))
    st4(out[2], e, k.sub22(k.mul22(k.transpose22(A), k.trace22(B)), k.mul22(B, k.dot22(A, B))))
    st2(out[3], e, k.matvec22(A, u))
    st3(out[4], e, k.add3(k.matvec32(F, u), k.column32(G, 1)))
    st2(out[5], e, k.tmatvec32(F, ld3(b, e)))
    st4(out[6], e, k.Tmatmul32(F, G))
    H = k.sub32(k.matmul32_22(F, A), k.mul32(k.add32(F, G), k.dot32(F, G)))
    st3(out[7], e, k.add3(k.column32(H, 0), k.column32(H, 1)))


def flat_matrices_expected(a, b):
    A, B, u = a[:, :4].reshape(-1, 2, 2), b[:, :4].reshape(-1, 2, 2), b[:, :2]
    F, G = np.stack([a[:, :3], b[:, :3]], 2), np.stack([b[:, :3], a[:, :3]], 2)
    T = (0, 2, 1)

    def times(values):
        return values[:, None, None]

    cof = times(np.linalg.det(B)) * np.linalg.inv(B).transpose(T)
    trace, product = np.trace(B, axis1=1, axis2=2), (A * B).sum((1, 2))
    H = F @ A - (F + G) * times((F * G).sum((1, 2)))
    full = [
        A @ B,
        np.linalg.inv(A) + cof * times(np.linalg.det(A)),
        A.transpose(T) * times(trace) - B * times(product),
        np.einsum("eij,ej->ei", A, u),
        np.einsum("eij,ej->ei", F, u) + G[:, :, 1],
        np.einsum("eji,ej->ei", F, b[:, :3]),
        F.transpose(T) @ G,
        H.sum(2),
    ]
    return [values.reshape(COUNT, -1) for values in full]


@device
def rotations(e, a, b, out):
    p, q = k.quat_normalize(ld4(a, e)), ld4(b, e)
    x, _ = ld7(b, e)
    v, w = ld6(a, e)
    st4(out[0], e, k.quat_mul(p, q))
    st3(out[1], e, k.quat_rotate(p, x))
    st3(out[2], e, k.quat_rotate_inverse(p, k.quat_rotate(p, x)))
    st33(out[3], e, k.quat_matrix(p))
    turned = k.quat_mul(k.quat_mul(p, k.quat_from_vec3(x)), k.quat_conj(p))
    st7(out[4], e, k.quat_vec3(turned), k.quat_add(p, k.quat_scale(q, q[0])))
    adj_q, adj_x = k.quat_rotate_adjoint(p, x, w)
    st7(out[5], e, adj_x, adj_q)
    left, right = k.quat_mul_adjoint(p, q, ld4(a, e))
    st4(out[6], e, left)
    st4(out[7], e, right)
    st4(out[8], e, k.quat_normalize_adjoint(ld4(b, e), ld4(a, e)))
    st6(out[9], e, v, w)


def hamilton(p, q):
    scalar = p[:, :1] * q[:, :1] - (p[:, 1:] * q[:, 1:]).sum(1, keepdims=True)
    return np.concatenate([scalar, p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])], 1)


def rotate(p, x):
    u = p[:, 1:]
    return x + 2 * p[:, :1] * np.cross(u, x) + 2 * np.cross(u, np.cross(u, x))


def pulled_back(function, x, cotangent, h=1e-6):
    """Cotangent of x by central differences."""
    columns = []
    for axis in np.eye(x.shape[1]):
        columns.append(((function(x + h * axis) - function(x - h * axis)) * cotangent).sum(1) / (2 * h))
    return np.stack(columns, 1)


def rotations_expected(a, b):
    raw, q, x, w = a[:, :4], b[:, :4], b[:, :3], a[:, 3:6]
    p = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    matrix = np.stack([rotate(p, np.tile(axis, (COUNT, 1))) for axis in np.eye(3)], 2)
    turned = rotate(p, x)
    return [
        hamilton(p, q),
        turned,
        x,
        matrix.reshape(-1, 9),
        np.concatenate([turned, p + q * q[:, :1]], 1),
        np.concatenate([pulled_back(lambda y: rotate(p, y), x, w), pulled_back(lambda r: rotate(r, x), p, w)], 1),
        pulled_back(lambda r: hamilton(r, q), p, raw),
        pulled_back(lambda r: hamilton(p, r), q, raw),
        pulled_back(lambda r: r / np.linalg.norm(r, axis=1, keepdims=True), q, raw),
        a[:, :6],
    ]


def lanes_vectors(a, b, out):
    launch_lanes(a.shape[0], vectors, a, b, out)


def plain_vectors(a, b, out):
    launch(a.shape[0], vectors, a, b, out)


def lanes_matrices(a, b, out):
    launch_lanes(a.shape[0], matrices, a, b, out)


def plain_matrices(a, b, out):
    launch(a.shape[0], matrices, a, b, out)


def lanes_flat_matrices(a, b, out):
    launch_lanes(a.shape[0], flat_matrices, a, b, out)


def plain_flat_matrices(a, b, out):
    launch(a.shape[0], flat_matrices, a, b, out)


def lanes_rotations(a, b, out):
    launch_lanes(a.shape[0], rotations, a, b, out)


def plain_rotations(a, b, out):
    launch(a.shape[0], rotations, a, b, out)


SCHEDULES = (lanes_vectors, plain_vectors, lanes_matrices, plain_matrices)
MORE = (lanes_flat_matrices, plain_flat_matrices, lanes_rotations, plain_rotations)
algebra = Program("test_small_algebra", (*SCHEDULES, *MORE))
EXPECTED = {
    "vectors": vectors_expected,
    "matrices": matrices_expected,
    "flat_matrices": flat_matrices_expected,
    "rotations": rotations_expected,
}


@pytest.mark.parametrize("case", EXPECTED)
def test_against_numpy_and_lanes_against_scalars(case):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, COUNT, 9))
    expected = EXPECTED[case](a, b)
    results = {}
    for kind in ("lanes", "plain"):
        out = tuple(np.zeros((COUNT, 9)) for _ in expected)
        algebra.run(f"{kind}_{case}", a, b, out, target="serial")
        results[kind] = out
    for n, (lanes, plain, right) in enumerate(zip(results["lanes"], results["plain"], expected, strict=True)):
        assert lanes.tobytes() == plain.tobytes(), n
        difference = np.abs(plain[:, : right.shape[1]] - right).max() / np.abs(right).max()
        assert difference < (1e-7 if case == "rotations" and n in (5, 6, 7, 8) else 1e-12), (n, difference)


def test_the_cotangent_of_a_quaternion_by_its_matrix():
    rng = np.random.default_rng(6)
    r, A = rng.normal(size=4), rng.normal(size=9)
    differences = [
        (A @ np.array(k.quat_matrix(tuple(r + h))) - A @ np.array(k.quat_matrix(tuple(r - h)))) / 2e-6
        for h in 1e-6 * np.eye(4)
    ]
    np.testing.assert_allclose(k.quat_matrix_adjoint(tuple(r), tuple(A)), differences, rtol=1e-8)
