"""Objects that are nothing but settings, as integrators and renderers are: frozen, and equal to their copies."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

from diffloom.testing.checks import require


def frozen(found: Any, interface: type) -> None:
    """Failure unless ``found`` is a frozen dataclass that derives from ``interface``."""
    kind = type(found).__name__
    require(isinstance(found, interface), f"{kind} is no diffloom.interfaces.{interface.__name__}")
    options = getattr(type(found), "__dataclass_params__", None)
    require(options is not None and options.frozen, f"{kind} is not a frozen dataclass")
    require(dataclasses.replace(found) == found, f"two of {kind} with the same settings are not equal")


def equal_copies(found: Any) -> None:
    """Failure unless what comes out of pickle and of a deep copy equals ``found``."""
    kind = type(found).__name__
    require(pickle.loads(pickle.dumps(found)) == found, f"a pickled {kind} is not equal to the original")
    require(copy.deepcopy(found) == found, f"a copied {kind} is not equal to the original")
