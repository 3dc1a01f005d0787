"""Environment light as spherical harmonics; harmonics: (9, 3) coefficients, or (0, 3) for none."""

from __future__ import annotations

from diffloom.kernels import add3, device, mul3

Y0, Y1, Y2 = 0.28209479177387814, 0.4886025119029199, 1.0925484305920792
Y20, Y22 = 0.31539156525252005, 0.5462742152960396


@device
def harmonic(k, n, like):
    """The k-th of the nine real spherical harmonics of degree 0 to 2 at unit vectors n."""
    R = like.dtype.type
    x, y, z = n
    if k == 0:
        return x * R(0.0) + R(Y0)
    if k == 1:
        return R(Y1) * y
    if k == 2:
        return R(Y1) * z
    if k == 3:
        return R(Y1) * x
    if k == 4:
        return R(Y2) * x * y
    if k == 5:
        return R(Y2) * y * z
    if k == 6:
        return R(Y20) * (R(3.0) * z * z - R(1.0))
    if k == 7:
        return R(Y2) * x * z
    return R(Y22) * (x * x - y * y)


@device
def irradiance(n, harmonics):
    """Light from all around on points with unit normal n; zero without harmonics."""
    total = mul3(n, harmonics.dtype.type(0.0))
    for k in range(harmonics.shape[0]):
        y = harmonic(k, n, harmonics)
        total = add3(total, (y * harmonics[k, 0], y * harmonics[k, 1], y * harmonics[k, 2]))
    return total


@device
def irradiance_adjoint(n, harmonics, adj):
    """Cotangent of n for irradiance."""
    R = harmonics.dtype.type
    x, y, z = n
    if harmonics.shape[0] == 0:
        return mul3(n, R(0.0))
    two = R(2.0)
    a1, a2 = harmonic_weight(1, harmonics, adj), harmonic_weight(2, harmonics, adj)
    a3, a4 = harmonic_weight(3, harmonics, adj), harmonic_weight(4, harmonics, adj)
    a5, a6 = harmonic_weight(5, harmonics, adj), harmonic_weight(6, harmonics, adj)
    a7, a8 = harmonic_weight(7, harmonics, adj), harmonic_weight(8, harmonics, adj)
    return (
        R(Y1) * a3 + R(Y2) * (a4 * y + a7 * z) + R(Y22) * two * a8 * x,
        R(Y1) * a1 + R(Y2) * (a4 * x + a5 * z) - R(Y22) * two * a8 * y,
        R(Y1) * a2 + R(Y2) * (a5 * y + a7 * x) + R(Y20) * R(6.0) * a6 * z,
    )


@device
def harmonic_weight(k, harmonics, adj):
    """Cotangent of the k-th harmonic."""
    return adj[0] * harmonics[k, 0] + adj[1] * harmonics[k, 1] + adj[2] * harmonics[k, 2]
