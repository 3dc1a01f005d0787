"""Kinds of things that diffloom-fitting lets plugins register, and the display of objects in notebooks."""

from __future__ import annotations

from typing import Any

from diffloom.errors import InputError
from diffloom.plugins import Kind, UnknownNameError

CAMERAS = Kind(
    "cameras",
    "camera",
    "diffloom_fitting.scene:CameraPlacement",
    "Kinds of camera: classes that implement ``diffloom_fitting.CameraPlacement``.",
)
LOSSES = Kind(
    "losses",
    "loss",
    "diffloom_fitting.losses:Loss",
    "Losses: classes that implement ``diffloom_fitting.Loss``.",
)
OPTIMISERS = Kind(
    "optimisers",
    "optimiser",
    "diffloom_fitting.optimisers:Optimiser",
    "Optimisers: classes that implement ``diffloom_fitting.Optimiser``.",
)
DISPLAYS = Kind(
    "displays", "display", None, "Functions that show a scene, target, result or the progress of a fit, or write it."
)
TARGET_READERS = Kind(
    "target_readers", "target reader", None, "Functions (path, scene) -> Target that read the file given to `fit`."
)


get_camera = CAMERAS.get
get_loss = LOSSES.get
get_optimiser = OPTIMISERS.get


def format_html(kind: str, thing: Any) -> str:
    """Return ``thing`` as HTML for a notebook: by the display registered for its kind, else as plain text.

    Args:
        kind: Name of the display, such as "result".
        thing: The object to show.
    """
    try:
        shown: str = DISPLAYS.get(kind)(thing)
    except UnknownNameError:
        from html import escape  # a table of all entities, which listing plugins does not need

        return f"<pre>{escape(repr(thing))}</pre>"
    return shown


def use_display(kind: str, call: str, *arguments: Any) -> Any:
    """Call a display, which a plugin of a higher layer registers.

    Args:
        kind: Name of the display, such as "plot".
        call: Call that needs it, for errors.
        *arguments: Arguments of the display.

    Returns:
        Its answer.

    Raises:
        InputError: No installed plugin registers the display.
    """
    if kind not in DISPLAYS.names():
        raise InputError(f"{call} needs diffloom-studio, which is not installed: pip install 'diffloom[studio]'")
    return DISPLAYS.get(kind)(*arguments)
