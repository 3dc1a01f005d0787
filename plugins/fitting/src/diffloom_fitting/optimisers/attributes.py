"""An object's attributes as tensors and numbers, and back: how a search of another library is kept in a checkpoint."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def store(thing: object) -> dict[str, Any]:
    """Attributes of ``thing`` as plain data."""
    return {name: _store(value) for name, value in vars(thing).items()}


def restore(kind: type[Any], stored: dict[str, Any]) -> Any:
    """An object of ``kind`` with the stored attributes."""
    thing = object.__new__(kind)
    for name, value in stored.items():
        setattr(thing, name, _restore(value))
    return thing


def _store(value: Any) -> Any:
    if isinstance(value, np.random.RandomState):
        _, keys, position, has_gauss, gauss = value.get_state(legacy=True)
        kept = torch.from_numpy(np.asarray(keys).astype(np.int64))
        return {"random": kept, "rest": [int(position), int(has_gauss), float(gauss)]}
    if isinstance(value, np.ndarray):
        return {"array": torch.from_numpy(value.copy())}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise TypeError(f"cannot store an attribute of {type(value).__name__}")


def _restore(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return value["array"].numpy().copy()
    random = np.random.RandomState()
    position, has_gauss, gauss = value["rest"]
    random.set_state(("MT19937", value["random"].numpy().astype(np.uint32), position, has_gauss, gauss))
    return random
