"""Which corners of faces use a row (a vertex, a colour, a texture coordinate): what gathering sums over."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import torch
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom_kernels import array_of

from .records import Corners

#: Topologies that are kept.
MOST = 32


@dataclass(frozen=True, eq=False)
class Topology:
    """Faces (faces, 3) into ``rows`` rows. Equal ones are the same object, so that what is made of it can be kept."""

    faces: Tensor
    rows: int
    corners: Corners


_known: list[Topology] = []  # the longest unused first
_lock = threading.Lock()


def topology_of(faces: Tensor, rows: int) -> Topology:
    """The topology of int64 faces (faces, 3), found again by their content: whoever makes faces may make them anew for
    each image, or change them in place. Raises InputError for indices that are not those of rows."""
    for known in reversed(_known):
        if known.rows == rows and known.faces.device == faces.device and torch.equal(known.faces, faces):
            if known is not _known[-1]:
                _keep(known)
            return known
    made = _topology(faces.detach().clone(), rows)
    _keep(made)
    return made


def _keep(topology: Topology) -> None:
    with _lock:
        if topology in _known:
            _known.remove(topology)
        _known.append(topology)
        del _known[:-MOST]


def _topology(faces: Tensor, rows: int) -> Topology:
    flat = faces.reshape(-1)
    if flat.numel() and not 0 <= int(flat.min()) <= int(flat.max()) < rows:
        raise InputError(
            f"faces: indices run from {int(flat.min())} to {int(flat.max())}; expected 0 to {rows - 1}: were they "
            "changed in place?"
        )
    start = torch.zeros(rows + 1, dtype=torch.int32, device=faces.device)
    torch.cumsum(torch.bincount(flat, minlength=rows), 0, out=start[1:])
    order = flat.argsort(stable=True)
    return Topology(faces, rows, Corners(*(array_of(t.to(torch.int32)) for t in (faces, start, order))))
