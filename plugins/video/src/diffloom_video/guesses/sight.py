"""What tracks show, and how a curve is laid through them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Row = NDArray[np.float64]


@dataclass(frozen=True)
class Sighting:
    """Tracks of the frames that show the object. times: (n,) [s] of the simulation; tracks: (3, n) column, row and
    radius [px]; focal: of the camera [px]; height, width: of its images [px]; elevation: of the camera [rad]."""

    times: Row
    tracks: Row
    focal: float
    height: int
    width: int
    elevation: float = 0.0

    def upright(self, radius: float) -> tuple[Row, Row, float]:
        """(x, y) [m] of a ball of known radius [m] that moves in the upright plane across the view, from the point that
        the camera aims at; and the camera's distance from it [m]."""
        column, row, wide = self.tracks
        right, up = (column - 0.5 * self.width) / self.focal, (0.5 * self.height - row) / self.focal
        sine, cosine = float(np.sin(self.elevation)), float(np.cos(self.elevation))
        y = up / (cosine + up * sine)  # in units of the distance, as long as that is not known
        distance = float(np.median(self.focal * radius / wide / (1.0 - y * sine)))
        return right * (1.0 - y * sine) * distance, y * distance, distance

    def place(self, scale: float, column: float, row: float) -> dict[str, float]:
        """Where an orbit's camera must stand and aim so that the world's origin is seen in a pixel and a metre has
        ``scale`` pixels there."""
        return {
            "camera.distance": self.focal / scale,
            "camera.target.x": (0.5 * self.width - column) / scale,
            "camera.target.y": (row - 0.5 * self.height) / scale,
        }


def through(columns: list[Row], values: Row, rounds: int = 4) -> tuple[Row, float]:
    """Least squares of ``values`` on ``columns``, in which outliers count ever less; and the mean square that is left,
    in relation to the values' variance."""
    table = np.stack(columns, axis=1)
    weight = np.ones(len(values))
    for _ in range(rounds):
        root = np.sqrt(weight)
        found = np.asarray(np.linalg.lstsq(table * root[:, None], values * root, rcond=None)[0], np.float64)
        rest = values - table @ found
        size = 1.4826 * float(np.median(np.abs(rest))) + 1e-9
        weight = 1.0 / (1.0 + (rest / (3.0 * size)) ** 2)
    left = float((weight * rest**2).sum() / weight.sum())
    return found, left / max(float(values.var()), 1e-12)
