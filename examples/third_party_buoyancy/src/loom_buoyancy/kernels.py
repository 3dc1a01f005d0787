"""Lift and drag of one ball in wavy water, and the transpose."""

# mypy: ignore-errors

import math

from diffloom_kernels import cos, device, dot3, ld3, maximum, minimum, mul3, sin


@device
def buoyancy_force(i, clock, q, u, radius, weight, drag, level, amplitude, wavenumber, frequency):
    """f = w V e_y - c (V / V_0) v for a ball of radius R, of which V = pi/3 h^2 (3 R - h) is under water.

    h is the depth of its lowest point, kept in 0..2R, under the water's level s = level + A sin(k x - omega t);
    w: specific weight of the water, c: drag of a ball that is wholly under, v: its velocity.
    """
    T = q.dtype.type
    p = ld3(q, i)
    v = ld3(u, i)
    R = radius[i]
    s = level[i] + amplitude[i] * sin(wavenumber[i] * p[0] - frequency[i] * clock.time)
    h = minimum(maximum(s - p[1] + R, T(0)), R + R)
    V = T(math.pi / 3) * h * h * (T(3) * R - h)
    brake = mul3(v, -(drag[i] * V / (T(4 * math.pi / 3) * R * R * R)))
    return brake[0], brake[1] + weight[i] * V, brake[2]


@device
def buoyancy_force_adjoint(
    i, clock, q, u, radius, weight, drag, level, amplitude, wavenumber, frequency,
    adj_f, adj_radius, adj_weight, adj_drag, adj_level, adj_amplitude, adj_wavenumber, adj_frequency,
):
    """Adjoint. a = adj_f, b = v.a and V_0 = 4 pi/3 R^3:  adj_w = V a_y, adj_c = -V b / V_0, adj_V = w a_y - c b / V_0,
    adj_h = adj_V pi h (2 R - h), which vanishes where h is at an end, adj_R = adj_V pi h^2 + adj_h + 3 c V b / (R V_0),
    adj_y = -adj_h, adj_s = adj_h and so on along the wave; adj_v = -c V / V_0 a."""
    T = q.dtype.type
    p = ld3(q, i)
    v = ld3(u, i)
    a = ld3(adj_f, i)
    R = radius[i]
    c = drag[i]
    phase = wavenumber[i] * p[0] - frequency[i] * clock.time
    wave = sin(phase)
    s = level[i] + amplitude[i] * wave
    h = minimum(maximum(s - p[1] + R, T(0)), R + R)
    V = T(math.pi / 3) * h * h * (T(3) * R - h)
    share = V / (T(4 * math.pi / 3) * R * R * R)
    b = dot3(v, a)

    adj_V = weight[i] * a[1] - c * b / (T(4 * math.pi / 3) * R * R * R)
    adj_h = adj_V * T(math.pi) * h * (R + R - h)
    adj_phase = adj_h * amplitude[i] * cos(phase)
    adj_radius[i] += adj_V * T(math.pi) * h * h + adj_h + T(3) * c * share * b / R
    adj_weight[i] += V * a[1]
    adj_drag[i] -= share * b
    adj_level[i] += adj_h
    adj_amplitude[i] += adj_h * wave
    adj_wavenumber[i] += adj_phase * p[0]
    adj_frequency[i] -= adj_phase * clock.time
    return (adj_phase * wavenumber[i], -adj_h, T(0)), mul3(a, -(c * share))
