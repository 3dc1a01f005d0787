"""Friction that differs along the axes of the world: sliding velocities are stretched before the law sees them.

With the factors r = (r_x, r_y, r_z), the last three of the law's parameters, and the tangential velocity v_t:

    w = r v_t (by component),  y = s(f_n, |w|) r w,  f = f_n n - (y - n (n.y))

so that friction along an axis of the plane is r times as large, and never does work on the body.
"""

from diffloom_kernels import add3, constant, device, dot3, fma3, mul3, sqrt, sub3
from diffloom_mechanics.contact.friction_kernels import coulomb_adjoint, coulomb_pair, coulomb_pair_adjoint


@device
def times3(a, b):
    """Product by component."""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2])


@device
def anisotropic_adjoint(fn, speed, k, adj_slope):
    """Coulomb's; the factors enter by the velocity, see anisotropic_contact."""
    zero = constant(fn, 0)
    adj_fn, t, adj_k = coulomb_adjoint(fn, speed, k, adj_slope)
    return adj_fn, t, (adj_k[0], adj_k[1], zero, zero, zero)


@device
def anisotropic_pair(k, m):
    """Coulomb's, and the means of the factors."""
    half = constant(k[1], 0.5)
    stiffness, mu = coulomb_pair(k, m)
    return stiffness, mu, half * (k[2] + m[2]), half * (k[3] + m[3]), half * (k[4] + m[4])


@device
def anisotropic_pair_adjoint(k, m, adj):
    """Half of each mean's."""
    half = constant(k[1], 0.5)
    adj_stiffness, adj_mu = coulomb_pair_adjoint(k, m, adj)
    return adj_stiffness, adj_mu, half * adj[2], half * adj[3], half * adj[4]


def anisotropic_contact(normal, friction):
    """Force and adjoint as in kernels.contact, with stretched sliding velocities."""
    normal_force, normal_adjoint = normal.force, normal.adjoint
    friction_slope, friction_adjoint = friction.slope, friction.adjoint

    @device
    def force(clock, c, v, n, kn, kt):
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        r = (kt[2], kt[3], kt[4])
        w = times3(r, sub3(v, mul3(n, vn)))
        y = mul3(times3(r, w), friction_slope(fn, sqrt(dot3(w, w)), kt))
        return sub3(mul3(n, fn + dot3(n, y)), y)

    @device
    def adjoint(clock, c, v, n, kn, kt, a):
        """With b = r (a - n (n.a)): adj_s = -w.b, adj_w = t w - s b, adj_vt = r adj_w, adj_r = vt adj_w - s w b / r,
        and n takes (n.y) a + (n.a) y beside what it takes in an isotropic contact."""
        vn = dot3(n, v)
        fn = normal_force(clock, c, vn, kn)
        r = (kt[2], kt[3], kt[4])
        vt = sub3(v, mul3(n, vn))
        w = times3(r, vt)
        speed = sqrt(dot3(w, w))
        slope = friction_slope(fn, speed, kt)
        y = mul3(times3(r, w), slope)
        along = dot3(n, a)
        tangential = sub3(a, mul3(n, along))
        b = times3(r, tangential)
        slope_fn, t, adj_k = friction_adjoint(fn, speed, kt, -dot3(w, b))
        adj_w = sub3(mul3(w, t), mul3(b, slope))
        adj_vt = times3(r, adj_w)
        adj_r = sub3(times3(vt, adj_w), mul3(times3(w, tangential), slope))
        adj_c, normal_vn, adj_kn = normal_adjoint(clock, c, vn, kn, along + slope_fn)
        adj_vn = -dot3(n, adj_vt) + normal_vn
        adj_v = fma3(n, adj_vn, adj_vt)
        adj_n = add3(sub3(mul3(a, fn + dot3(n, y)), mul3(adj_vt, vn)), fma3(y, along, mul3(v, adj_vn)))
        adj_kt = (adj_k[0], adj_k[1], adj_r[0], adj_r[1], adj_r[2])
        return adj_c, adj_v, adj_n, adj_kn, adj_kt

    return force, adjoint
