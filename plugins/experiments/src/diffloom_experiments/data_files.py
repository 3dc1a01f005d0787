"""Where a file's data lies: beside it, anywhere, or in the folder of real data, which is no part of the project."""

from __future__ import annotations

import os
from pathlib import Path

from diffloom.interfaces import InputError

VARIABLE = "DIFFLOOM_REAL_DATA"


class MissingDataError(InputError):
    """Data that is not part of the project is not here."""


def data_path(folder: Path, name: str) -> Path:
    """The path of a file's data: ``name`` from ``folder``, or "$DIFFLOOM_REAL_DATA/clip.mp4" from that variable's."""
    prefix = f"${VARIABLE}/"
    if not name.startswith(prefix):
        return folder / name
    root = os.environ.get(VARIABLE)
    if not root:
        raise MissingDataError(
            f"{name}: this data is not part of the project, and {VARIABLE} is not set; set it to the folder of the "
            "data, or give another file (--set target.video=clip.mp4)"
        )
    place = Path(root) / name.removeprefix(prefix)
    if not place.exists():
        raise MissingDataError(f"{name}: there is no {place.name!r} in the folder that {VARIABLE} names")
    return place
