"""Rich display of scenes, targets, results and progress, by functions that another plugin registers."""

from __future__ import annotations

from html import escape
from typing import Any

from diffloom.plugins import UnknownNameError
from diffloom_fitting.kinds import DISPLAYS


def html_of(kind: str, thing: Any) -> str:
    """Return ``thing`` as HTML for a notebook: by the display registered for its kind, else as plain text.

    Args:
        kind: Name of the display, such as "result".
        thing: The object to show.
    """
    try:
        shown: str = DISPLAYS.get(kind)(thing)
    except UnknownNameError:
        return f"<pre>{escape(repr(thing))}</pre>"
    return shown
