"""Device of a scene: cpu or cuda."""

from __future__ import annotations

import importlib.util
from dataclasses import fields, replace
from typing import TypeVar

import torch
from torch import Tensor

from diffloom.interfaces import InputError

Record = TypeVar("Record")


def check_device(name: str) -> str:
    """Return the name of a device, or raise InputError if it is not available."""
    if name == "cpu":
        return name
    kind = name.partition(":")[0]
    if kind != "cuda":
        raise InputError(f"device: got {name!r}; expected cpu or cuda")
    if not torch.cuda.is_available():
        build = f"built for CUDA {torch.version.cuda}" if torch.version.cuda else "a CPU build"
        raise InputError(
            f"device: got {name!r}, but PyTorch {torch.__version__} ({build}) finds no GPU here; leave device out, or "
            "see what `diffloom doctor` says about CUDA"
        )
    if all(importlib.util.find_spec(package) is None for package in ("numba_cuda_mlir", "numba_cuda")):
        raise InputError(f"device: got {name!r}, which needs a compiler for it: pip install 'diffloom-core[cuda]'")
    return name


def move_to_device(record: Record, device: str | torch.device) -> Record:
    """Return a frozen dataclass with its tensors on ``device``; the same object if they are there."""
    values = {field.name: getattr(record, field.name) for field in fields(record)}  # type: ignore[arg-type]
    kind = torch.device(device).type
    there = {n: v.to(device) for n, v in values.items() if isinstance(v, Tensor) and v.device.type != kind}
    return replace(record, **there) if there else record  # type: ignore[type-var]
