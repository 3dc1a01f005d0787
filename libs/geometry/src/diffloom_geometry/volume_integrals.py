"""Volume, centre and inertia of the solid inside a closed triangle mesh: exact integrals, in float64."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffloom_geometry.triangle_checks import Faces, Points

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Solid:
    """What the motion of a solid of density 1 depends on.

    volume [m^3]. centre: (3,) centre of mass [m]. moment: (3, 3) second moments, the integral of x x^T over the
    volume with x from the centre [m^5].
    """

    volume: float
    centre: NDArray[np.float64]
    moment: Matrix

    @property
    def inertia(self) -> Matrix:
        """(3, 3) inertia about the centre at density 1 [m^5]: tr(moment) 1 - moment."""
        return np.asarray(np.trace(self.moment) * np.eye(3) - self.moment)

    def mapped(self, linear: Matrix) -> Solid:
        """The solid after x -> linear x: volumes grow by |det|, second moments become |det| A moment A^T."""
        size = abs(float(np.linalg.det(linear)))
        return Solid(size * self.volume, linear @ self.centre, size * linear @ self.moment @ linear.T)


def signed_volumes(vertices: Points, faces: Faces) -> NDArray[np.float64]:
    """(F,) volume of the tetrahedron from each face to the mean vertex, negative where the face looks inwards."""
    a, b, c = np.moveaxis((vertices - vertices.mean(axis=0))[faces], 1, 0)
    return np.asarray(np.einsum("fi,fi->f", a, np.cross(b, c)) / 6.0)


def solid(vertices: Points, faces: Faces) -> Solid:
    """Integrals over the inside of a closed mesh whose faces look outwards.

    Each face spans a tetrahedron with a common apex; with edges a, b, c from it, the integral of x x^T over the
    tetrahedron is det(a b c)/120 (s s^T + a a^T + b b^T + c c^T), s = a + b + c. The apex is the mean vertex, so that
    a mesh far from the origin loses no digits.
    """
    apex = vertices.mean(axis=0)
    corners = (vertices - apex)[faces]
    volumes = signed_volumes(vertices, faces)
    volume = float(volumes.sum())
    total = corners.sum(axis=1)
    centre = np.einsum("f,fi->i", volumes, total) / (4.0 * volume)
    second = np.einsum("f,fi,fj->ij", volumes, total, total) + np.einsum("f,fai,faj->ij", volumes, corners, corners)
    moment = second / 20.0 - volume * np.outer(centre, centre)
    return Solid(volume, apex + centre, 0.5 * (moment + moment.T))
