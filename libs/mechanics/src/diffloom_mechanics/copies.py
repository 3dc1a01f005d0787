"""Many scenes as one system: as many copies of its nodes and elements, each with numbers of its own.

What elements and nodes own by rows is put one after the other. Node terms that read more than rows of their nodes
(tables, workspaces, pairs) keep an axis of scenes, and see one scene each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom_mechanics.binding import Compiled, sees_one_scene
from diffloom_mechanics.gather import frozen, identity
from diffloom_mechanics.terms import ElementTerm, NodeTerm

_CORNERS: dict[object, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}


def copies(system: Compiled, tensors: Sequence[Tensor]) -> tuple[Compiled, tuple[Tensor, ...]]:
    """``system`` once for each scene, and its tensors. tensors: in the order of ``system.tensors``, scenes first."""
    scenes = int(tensors[0].shape[0])
    parts = system.split(tensors)
    count = len(system.sets)
    sets = tuple(
        (name, replace(nodes, arrays=_named(nodes.arrays, [t.flatten(0, 1) for t in part])))
        for (name, nodes), part in zip(system.sets, parts, strict=False)
    )
    before = {name: nodes.count for name, nodes in system.sets}
    elements = tuple(
        _of_elements(term, part, before, scenes) for term, part in zip(system.elements, parts[count:], strict=False)
    )
    nodes = tuple(
        _of_nodes(term, part, scenes, system.scenes > 1)
        for term, part in zip(system.nodes, parts[count + len(system.elements) :], strict=True)
    )
    made = Compiled(sets, elements, nodes, system.scenes * scenes)
    return made, made.tensors


def _named(given: Sequence[tuple[str, Tensor]], values: Sequence[Tensor]) -> tuple[tuple[str, Tensor], ...]:
    return tuple((name, value) for (name, _), value in zip(given, values, strict=True))


def _of_elements(term: ElementTerm, values: Sequence[Tensor], before: Mapping[str, int], scenes: int) -> ElementTerm:
    """before: number of nodes in each set, of one copy."""
    nodes = {
        name: _corners(corners, scenes, before[name] if name in before else next(iter(before.values())))
        for name, corners in term.corners.items()
    }
    params = [
        value.movedim(0, 1).flatten(1, 2) if name in term.per_step and old.dim() == 2 else value.flatten(0, 1)
        for (name, old), value in zip(term.params, values, strict=True)
    ]
    constants = tuple(np.concatenate([constant] * scenes) for constant in term.constants)
    return replace(term, nodes=nodes, constants=constants, params=_named(term.params, params), on=None)


def _corners(corners: NDArray[np.int32], scenes: int, count: int) -> NDArray[np.int32]:
    """Corners in every scene; the same array for the same question, by which their gather is known again."""
    key = (identity(corners), scenes, count)
    if key not in _CORNERS:
        if len(_CORNERS) > 32:
            _CORNERS.pop(next(iter(_CORNERS)))
        first = (count * np.arange(scenes, dtype=np.int32))[:, None, None]
        made = frozen((corners + first).reshape(-1, corners.shape[1]))
        _CORNERS[key] = (made, corners)  # holding the array keeps its id taken
    return _CORNERS[key][0]


def _of_nodes(term: NodeTerm, values: Sequence[Tensor], scenes: int, again: bool) -> NodeTerm:
    """again: whether there were scenes before, whose axis is then behind that of these."""
    only = None if term.only is None else np.tile(term.only, scenes)
    if sees_one_scene(term):
        params = [t.flatten(0, 1) if again else t for t in values]
    else:
        params = [
            t.movedim(0, 1).flatten(1, 2) if name in term.per_step else t.flatten(0, 1)
            for (name, _), t in zip(term.params, values, strict=True)
        ]
        term = replace(
            term,
            constants=tuple(np.concatenate([constant] * scenes) for constant in term.constants),
            work=tuple(((shape[0] * scenes, *shape[1:]), kind) for shape, kind in term.work),
            count=None if term.count is None else term.count * scenes,
        )
    return replace(term, params=_named(term.params, params), only=only)
