"""Schedules of the projection by itself."""

from __future__ import annotations

from diffloom.kernels import launch

from .projection import camera_adjoint, project_point, project_point_adjoint


def project_forward(n, count, near, middle, points, rotation, eye, focal, centre, screen):
    """Places of n points."""
    launch(n, project_point, count, near, middle, points, rotation, eye, focal, centre, screen)


def project_backward(n, count, near, middle, points, rotation, eye, focal, centre, adj_screen, adj_points, adj_c):
    """Cotangents of points and of their camera coordinates."""
    launch(n, project_point_adjoint, count, near, middle, points, rotation, eye, focal, centre, adj_screen, adj_points,
           adj_c)


def camera_backward(frames, count, near, points, rotation, eye, focal, adj_screen, adj_c, adj_camera):
    """Cotangents of the cameras."""
    launch(frames, camera_adjoint, count, near, points, rotation, eye, focal, adj_screen, adj_c, adj_camera)
