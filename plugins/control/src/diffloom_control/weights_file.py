"""A policy's weights in a file: numbers by name, and nothing that executes."""

from __future__ import annotations

import io
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import nearest
from diffloom_fitting.file_writing import write_bytes
from diffloom_fitting.scene.policy import PREFIX, Policy

#: Largest file that is read [bytes].
MOST_BYTES = 2**30


def save_policy(path: str | Path, policy: Policy, values: Mapping[str, Tensor] | None = None) -> None:
    """Write the weights of ``policy``, with those in ``values`` ("policy.0.weight" and so on) in their place."""
    weights = {name: value.detach().clone() for name, value in policy.module.named_parameters()}
    found = {k.removeprefix(PREFIX): v.detach().clone() for k, v in (values or {}).items() if k.startswith(PREFIX)}
    buffer = io.BytesIO()
    torch.save({**weights, **found}, buffer)
    write_bytes(Path(path), buffer.getvalue())


def load_policy(path: str | Path, policy: Policy) -> Policy:
    """``policy`` with the weights of a file that ``save_policy`` wrote, in a module of its own."""
    place, what = Path(path), f"weights {str(path)!r}"
    if not place.is_file():
        raise InputError(f"{what}: no such file")
    if place.stat().st_size > MOST_BYTES:
        raise InputError(f"{what}: it is larger than {MOST_BYTES / 2**30:.0f} GB")
    try:
        found = torch.load(place, weights_only=True)
        given = {str(name): value for name, value in found.items() if isinstance(value, Tensor)}
    except Exception as error:  # made up by somebody: whatever it raises, these are no weights
        raise InputError(f"{what}: these are no weights ({str(error)[:200] or type(error).__name__})") from error
    module = deepcopy(policy.module)
    wanted = dict(module.named_parameters())
    for name in {*wanted, *given}:
        if name not in wanted or name not in given or wanted[name].shape != given[name].shape:
            shapes = [tuple(where[name].shape) if name in where else "nothing" for where in (given, wanted)]
            raise InputError(f"{what}: {name!r} is {shapes[0]}, and this network wants {shapes[1]}; the file is that "
                             f"of another policy{nearest(name, wanted)}")  # fmt: skip
    with torch.no_grad():
        for name, value in given.items():
            wanted[name].data = value.clone()
    return replace(policy, module=module)
