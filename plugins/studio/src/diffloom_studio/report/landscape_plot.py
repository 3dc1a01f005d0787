"""A loss landscape as a curve or a map."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diffloom_fitting.experiment import Experiment
from diffloom_fitting.file_writing import write_text
from diffloom_studio.report.line_chart import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from diffloom_fitting.landscape import Grid

STYLE = {
    "font.size": 10.0, "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "svg.fonttype": "path", "svg.hashsalt": "diffloom", "axes.axisbelow": True,
}  # fmt: skip


def landscape_plot(grid: Grid, truth: Mapping[str, float], level: float | None = None) -> str:
    """SVG of the grid; the truth is marked where it is known, and so is a ``level`` of the loss."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        at = figure.add_subplot()
        names = [axis.name for axis in grid.axes]
        at.set_xlabel(names[0])
        if len(names) == 1:
            at.plot(grid.axes[0].values, grid.losses, color=BLUE, marker="o", markersize=2.5)
            at.set_ylabel("loss")
            if level is not None:
                at.axhline(level, color="0.5", linestyle=":", label="95 %")
                at.legend(frameon=False)
            if names[0] in truth:
                at.axvline(truth[names[0]], color=ORANGE, linestyle="--")
        else:
            shown = np.log10(np.maximum(grid.losses, 1e-300)).T
            low = float(np.min(shown[shown > -299.0])) if (shown > -299.0).any() else -300.0
            shown = np.maximum(shown, low)
            mesh = at.contourf(grid.axes[0].values, grid.axes[1].values, shown, levels=30, cmap="viridis")
            figure.colorbar(mesh, ax=at, label="log10 loss")
            at.set_ylabel(names[1])
            if level is not None:
                edge = [float(np.log10(level))]
                at.contour(grid.axes[0].values, grid.axes[1].values, shown, levels=edge, colors="white")
            if all(name in truth for name in names):
                at.plot([truth[names[0]]], [truth[names[1]]], marker="*", markersize=12, color=ORANGE)
        return _svg(figure)


def _svg(figure: Figure) -> str:
    """The figure as an <svg> element, the same bytes for the same figure."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), count=1, flags=re.DOTALL)


def write_landscape(folder: Path, experiment: Experiment, grid: Grid, level: float | None = None) -> tuple[Path, Path]:
    """Write landscape.svg and landscape.csv. level: a loss to mark, such as the edge of a profile's 95 % region."""
    text = io.StringIO()
    table = csv.writer(text)
    table.writerow([*(axis.name for axis in grid.axes), "loss"])
    for index in np.ndindex(grid.losses.shape):
        place = [repr(float(axis.values[i])) for axis, i in zip(grid.axes, index, strict=True)]
        table.writerow([*place, repr(float(grid.losses[index]))])
    write_text(folder / "landscape.csv", text.getvalue())
    truth = {name: float(value.flatten()[0]) for name, value in experiment.target.truth.items()}
    write_text(folder / "landscape.svg", landscape_plot(grid, truth, level))
    return folder / "landscape.svg", folder / "landscape.csv"
