"""Import paths ``"package.module:attribute"``: their form, and how they become objects."""

import importlib
import re
from typing import Any

_FORM = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def is_import_path(text: str) -> bool:
    """Whether ``text`` has the form ``"package.module:attribute"``; nothing is imported."""
    return _FORM.fullmatch(text) is not None


def import_object(path: str) -> Any:
    """The object that ``path`` names; whatever its import raises is passed on."""
    module, _, attributes = path.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return found
