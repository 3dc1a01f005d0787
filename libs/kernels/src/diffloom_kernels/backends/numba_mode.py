"""Choice between whole-program compilation, which relies on private parts of numba, and the plain mode.

The plain mode is chosen for releases of numba that were not tried or that lack a private name: compiling is slower
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
#: The pip command that installs a supported release.
REMEDY = f"pip install 'numba=={TRIED_NUMBA[-1]}.*'"


def was_tried(version: str) -> bool:
    """Return True if the private parts were tried with this release of numba."""
    return version.rsplit(".", 1)[0] in TRIED_NUMBA


def _choose() -> tuple[ModuleType, str]:
    """Return the module that compiles, and the reason for the plain mode unless the user chose it."""
    if os.environ.get("DIFFLOOM_PLAIN_NUMBA", "") not in ("", "0"):
        return plain_numba, ""
    known = f"numba {', '.join(TRIED_NUMBA)}"
    if not was_tried(numba.__version__):
        return plain_numba, f"fast compiling is tested with {known}, and {numba.__version__} is installed"
    try:
        return import_module(".whole_program", __package__), ""
    except Exception as error:  # a release may change anything
        return plain_numba, f"numba {numba.__version__} lacks a private part that {known} has ({error})"


#: Module that compiles, ``whole_program`` or ``plain_numba``, and the reason for the latter unless the user chose it.
compiler, reason = _choose()


def is_plain() -> bool:
    """Return True in numba's plain mode."""
    return compiler is plain_numba


@functools.cache
def tell_reason() -> None:
    """Report on stderr, once per process, why the plain mode was chosen, unless the user chose it."""
    if reason:
        notice(f"compiling takes longer, because numba's plain mode is used: {reason} ({REMEDY})")
