"""Choice between compiling programs as one piece, by private parts of numba, and its plain mode.

A release of numba that was not tried, or one that lacks a private name, is met with the plain mode: compiling is slower
then, and nothing breaks. ``DIFFLOOM_PLAIN_NUMBA=1`` chooses it as well.
"""

from __future__ import annotations

import functools
import os
from importlib import import_module
from types import ModuleType

import numba

from ..compile.notices import notice
from . import plain_numba

#: Releases of numba that the private parts were tried with.
TRIED_NUMBA = ("0.68",)
#: Command that installs such a release.
REMEDY = f"pip install 'numba=={TRIED_NUMBA[-1]}.*'"


def was_tried(version: str) -> bool:
    """Whether the private parts were tried with this release of numba."""
    return version.rsplit(".", 1)[0] in TRIED_NUMBA


def _choose() -> tuple[ModuleType, str]:
    """Return the module that compiles, and why it is the plain one unless the user said so."""
    if os.environ.get("DIFFLOOM_PLAIN_NUMBA", "") not in ("", "0"):
        return plain_numba, ""
    known = f"numba {', '.join(TRIED_NUMBA)}"
    if not was_tried(numba.__version__):
        return plain_numba, f"programs are tried with {known}, and this is {numba.__version__}"
    try:
        return import_module(".whole_program", __package__), ""
    except Exception as error:  # whatever a release may have changed
        return plain_numba, f"numba {numba.__version__} lacks a private part that {known} had ({error})"


#: Module that compiles: ``whole_program`` or ``plain_numba``. reason: why it is the latter, if nobody asked for it.
compiler, reason = _choose()


def is_plain() -> bool:
    """Whether programs are compiled with what numba documents alone."""
    return compiler is plain_numba


@functools.cache
def tell_reason() -> None:
    """Say on stderr, once in a process, that numba's plain mode was chosen and why, unless the user chose it."""
    if reason:
        notice(f"compiling takes longer, with the plain mode of numba: {reason} ({REMEDY})")
