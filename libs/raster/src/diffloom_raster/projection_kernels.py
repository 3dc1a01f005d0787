"""Projection of points and its adjoint; ``diffloom_raster.project`` defines x, y and depth."""

from __future__ import annotations

from diffloom_kernels import device, dot3, launch, ld3, matvec33, st3, sub3, tmatvec33, where


@device
def load_camera(frame, cameras):
    """Return rotation and eye of a frame; a camera that does not move has one row."""
    rotation = cameras.rotation
    r = frame if rotation.shape[0] > 1 else 0
    e = frame if cameras.eye.shape[0] > 1 else 0
    turn = (
        rotation[r, 0, 0], rotation[r, 0, 1], rotation[r, 0, 2],
        rotation[r, 1, 0], rotation[r, 1, 1], rotation[r, 1, 2],
        rotation[r, 2, 0], rotation[r, 2, 1], rotation[r, 2, 2],
    )  # fmt: skip
    return turn, ld3(cameras.eye, e)


@device
def project_point(i, viewport, cameras, points, screen):
    """screen[i] = x, y [px] from the middle of the image and depth [m] of point i of frames * count."""
    R = points.dtype.type
    turn, place = load_camera(i // viewport.points, cameras)
    c = matvec33(turn, sub3(ld3(points, i), place))
    depth = -c[2]
    ahead = depth >= R(0.5) * viewport.near
    scale = R(1.0) / where(ahead, depth, viewport.near)
    focal, centre = cameras.focal, cameras.centre
    x = centre[0] - R(0.5) * R(viewport.width) + focal[0] * c[0] * scale
    y = centre[1] - R(0.5) * R(viewport.height) - focal[1] * c[1] * scale
    st3(screen, i, (where(ahead, x, R(0.0)), where(ahead, y, R(0.0)), depth))


@device
def project_point_adjoint(i, viewport, cameras, points, adj_screen, adj_points, adj_c):
    """Add R^T adj_c[i] to adj_points[i]; adj_c, the cotangent of the camera coordinates, is kept for the camera's own.
    """
    R = points.dtype.type
    turn, place = load_camera(i // viewport.points, cameras)
    c = matvec33(turn, sub3(ld3(points, i), place))
    depth = -c[2]
    ahead = depth >= R(0.5) * viewport.near
    scale = where(ahead, R(1.0) / where(ahead, depth, viewport.near), R(0.0))
    ax, ay, ad = ld3(adj_screen, i)
    fx, fy = cameras.focal[0] * scale, cameras.focal[1] * scale
    back = ad - (ax * fx * c[0] - ay * fy * c[1]) * scale
    a = (ax * fx, -ay * fy, -back)
    st3(adj_c, i, a)
    g = tmatvec33(turn, a)
    adj_points[i, 0] += g[0]
    adj_points[i, 1] += g[1]
    adj_points[i, 2] += g[2]


@device
def camera_adjoint(frame, viewport, cameras, points, adj_screen, adj_c, adj_camera):
    """Write cotangents of rotation (9), eye (3), focal (2) and centre (2) to adj_camera[frame]: sums over a frame's
    points.
    """
    R = points.dtype.type
    turn, place = load_camera(frame, cameras)
    zero = R(0.0)
    m00, m01, m02, m10, m11, m12, m20, m21, m22 = zero, zero, zero, zero, zero, zero, zero, zero, zero
    fx, fy, cx, cy = zero, zero, zero, zero
    sx, sy, sz = zero, zero, zero
    for i in range(frame * viewport.points, (frame + 1) * viewport.points):
        d = sub3(ld3(points, i), place)
        a = ld3(adj_c, i)
        m00, m01, m02 = m00 + a[0] * d[0], m01 + a[0] * d[1], m02 + a[0] * d[2]
        m10, m11, m12 = m10 + a[1] * d[0], m11 + a[1] * d[1], m12 + a[1] * d[2]
        m20, m21, m22 = m20 + a[2] * d[0], m21 + a[2] * d[1], m22 + a[2] * d[2]
        sx, sy, sz = sx + a[0], sy + a[1], sz + a[2]
        depth = -dot3((turn[6], turn[7], turn[8]), d)
        if depth >= R(0.5) * viewport.near:
            fx += adj_screen[i, 0] * dot3((turn[0], turn[1], turn[2]), d) / depth
            fy -= adj_screen[i, 1] * dot3((turn[3], turn[4], turn[5]), d) / depth
            cx += adj_screen[i, 0]
            cy += adj_screen[i, 1]
    e = tmatvec33(turn, (sx, sy, sz))
    row = (m00, m01, m02, m10, m11, m12, m20, m21, m22, -e[0], -e[1], -e[2], fx, fy, cx, cy)
    for k in range(16):
        adj_camera[frame, k] = row[k]


def project_points(viewport, cameras, points, screen):
    """Pipeline: project points into the image."""
    launch(points.shape[0], project_point, viewport, cameras, points, screen)


def project_points_adjoint(viewport, cameras, points, adj_screen, adj_points, adj_c):
    """Pipeline: compute cotangents of points and of their camera coordinates."""
    launch(points.shape[0], project_point_adjoint, viewport, cameras, points, adj_screen, adj_points, adj_c)


def project_cameras_adjoint(viewport, cameras, points, adj_screen, adj_c, adj_camera):
    """Pipeline: compute cotangents of the cameras; an ``adj_camera`` without rows needs no work."""
    launch(adj_camera.shape[0], camera_adjoint, viewport, cameras, points, adj_screen, adj_c, adj_camera)
