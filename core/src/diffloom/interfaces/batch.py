"""Parameters of many scenes of one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from diffloom.errors import InputError
from diffloom.interfaces.params import Params, broadcasts_to
from diffloom.transforms import mapped, told_of_scenes
from diffloom.validation import as_float_tensor, whole_number

if TYPE_CHECKING:
    from diffloom.interfaces.model import Model


def batch_params(model: Model, batch: object, dtype: torch.dtype, values: Mapping[str, object]) -> Params:
    """``model.params`` of ``batch`` scenes at once: each value for all, or with a leading axis of scenes."""
    count = whole_number("batch", batch)
    if count < 1:
        raise InputError(f"batch: got {batch}; expected 1 or more scenes")
    full = {spec.name: spec.full_shape(model.axes) for spec in model.specs}
    own: dict[str, Tensor] = {}
    shared: dict[str, object] = {}
    for name, value in values.items():
        shape = tuple(value.shape) if isinstance(value, Tensor) else np.shape(value)  # type: ignore[call-overload]
        if value is not None and name in full and is_per_scene(f"parameter {name!r}", shape, full[name], count):
            own[name] = as_float_tensor(f"parameter {name!r}", value, dtype)
        else:
            shared[name] = value
    for_all: dict[str, Tensor] = {}

    def one(given: dict[str, Tensor]) -> dict[str, Tensor]:
        made = model.params(dtype, **shared, **given)
        for_all.update({name: value for name, value in made.items() if not mapped(value)})
        return {name: value for name, value in made.items() if mapped(value)}

    with told_of_scenes(f"{type(model).__name__}.params"):
        different = torch.vmap(one)(own) if own else one({})
    found = {**for_all, **different}
    return Params(found, dtype, frozenset(found), count, frozenset(different))


def is_per_scene(what: str, shape: Sequence[int], full: Sequence[int], batch: int) -> bool:
    """Whether a value of ``shape`` has a leading axis of ``batch`` scenes before what one scene takes, ``full`` or a
    part of it that broadcasts; InputError where it may be read either way."""
    as_one = broadcasts_to(tuple(shape), tuple(full))
    as_many = len(shape) > 0 and shape[0] == batch and broadcasts_to(tuple(shape[1:]), tuple(full))
    if as_one and as_many and batch > 1:
        each = (batch, *[1] * (len(full) + 1 - len(shape)), *shape[1:])
        raise InputError(
            f"{what}: got shape {tuple(shape)} for a batch of {batch}, which may be one value a scene or one scene's "
            f"values; expected ({batch}, {', '.join(map(str, full))}) or {each} for one a scene, or (1, "
            f"{', '.join(map(str, full))}) for one for all"
        )
    return as_many and not (as_one and batch == 1)
