"""Figures, reports and videos that results, targets and views are asked for: ``found.plot()``, ``video.save(path)``."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from diffloom.interfaces import InputError
from diffloom_fitting.files import explain_errors, write_bytes
from diffloom_fitting.numbers import format_unit
from diffloom_fitting.validation import check_path
from diffloom_studio.report.charts import MOST, STYLE, _split_curves
from diffloom_studio.report.media import write_frames, write_video

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from diffloom_fitting import Result, Target, View

#: Endings of videos and images that ``save_video`` writes.
ENDINGS = (".mp4", ".webp", ".gif", ".png")


def plot_result(result: Result, path: str | Path | None = None) -> Figure:
    """Return a figure of the loss and of each unknown over the iterations.

    Args:
        result: Result of a fit.
        path: File to write, such as "fit.png" or "fit.pdf"; None for none.

    Returns:
        The figure.
    """
    import matplotlib
    from matplotlib import pyplot

    figure: Figure
    shown = result.estimates[:MOST]
    columns = min(3, 1 + len(shown))
    rows = -(-(1 + len(shown)) // columns)
    with matplotlib.rc_context(STYLE):
        figure, axes = pyplot.subplots(rows, columns, figsize=(4.0 * columns, 3.0 * rows), squeeze=False)
        panels = list(axes.flat)
        steps = [record.total for record in result.history]
        losses = [record.loss for record in result.history]
        panels[0].plot(steps, losses, ".-")
        panels[0].set_ylabel("loss")
        if any(math.isfinite(loss) and loss > 0.0 for loss in losses):
            panels[0].set_yscale("log")
        for panel, estimate in zip(panels[1:], shown, strict=False):
            for curve in _split_curves([record.values[estimate.name] for record in result.history]):
                panel.plot(steps, curve)
            for true in [] if estimate.truth is None else sorted(set(estimate.truth.flatten().tolist()))[:16]:
                panel.axhline(true, color="0.4", linestyle="--", linewidth=1.0)
            panel.set_ylabel(estimate.name + (f" [{format_unit(estimate.unit)}]" if estimate.unit else ""))
        for panel in panels[: 1 + len(shown)]:
            panel.set_xlabel("iteration")
        for panel in panels[1 + len(shown) :]:
            panel.set_visible(False)
        figure.tight_layout()
    if path is not None:
        place = check_path("plot: path", path)
        with explain_errors(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            figure.savefig(place)
    if path is not None or "inline" in matplotlib.get_backend().lower():
        pyplot.close(figure)  # a notebook shows the returned figure, and pyplot would show it again
    return figure


def save_report(result: Result, path: str | Path) -> Path:
    """Write the report of a result.

    Args:
        result: Result of a fit in this process.
        path: Page to write, such as "fit.html"; or a folder for the page with its plots and videos.

    Returns:
        Path of the page.

    Raises:
        InputError: The result was loaded from files, which do not hold its experiment.
    """
    from diffloom_studio.report import write_report

    place = check_path("report: path", path)
    if result.experiment is None:
        raise InputError(
            "report: this result was loaded or copied without its experiment; run the fit again, or call "
            "diffloom_studio.write_report(folder, experiment, result)"
        )
    if place.suffix.lower() not in (".html", ".htm"):
        return write_report(place, result.experiment, result)
    with TemporaryDirectory() as folder:
        page = write_report(folder, result.experiment, result).read_bytes()
    with explain_errors(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(place, page)
    return place


def save_video(shown: Target | View, path: str | Path, rate: float | None = None) -> Path:
    """Write the frames of a target or a view as a video, or side by side as one image.

    Args:
        shown: A target or a view.
        path: File ending in .mp4, .webp, .gif or .png.
        rate: Frames per second; None for real time.

    Returns:
        The path.

    Raises:
        InputError: There are no images, or the ending is another.
    """
    place = check_path("save: path", path)
    ending = place.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"save: got {str(path)!r}; expected a file ending in {', '.join(ENDINGS)}")
    if ending == ".png":
        return write_frames(place, _list_images(shown))
    return write_video(place, shown, rate)


def _list_images(shown: Any) -> Any:
    """Return the images (frames, height, width, 3 or 4) of a target or a view."""
    from diffloom_studio.report.media import find_images

    images, _ = find_images("save", shown)
    return images if images.dim() == 4 else images[..., None].expand(*images.shape, 3)
