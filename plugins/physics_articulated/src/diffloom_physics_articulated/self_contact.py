"""Contact of the links of one tree with each other, as a term on trees."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_mechanics import NodeSet, NodeTerm, build_carried_term
from diffloom_mechanics.contact import ContactLaw, TouchingBodies, accumulate_offsets, pack_contact_rows
from diffloom_physics_articulated.layout import Index
from diffloom_physics_articulated.link import Link, Tree

Pairs = bool | Sequence[Sequence[str]]


def select_touching_links(trees: Sequence[Tree], asked: Pairs) -> set[tuple[int, int]]:
    """Return the pairs of links that touch each other: for True all of a tree but neighbours, otherwise the named
    pairs.
    """
    found: set[tuple[int, int]] = set()
    if asked is False:
        return found
    names = {link.name for tree in trees for link in tree.links}
    wanted = [] if asked is True else [_pair(pair, names) for pair in asked]
    first = 0
    for tree in trees:
        for (i, a), (j, b) in itertools.combinations(enumerate(tree.links, first), 2):
            if (not are_neighbours(a, b)) if asked is True else ({a.name, b.name} in wanted):
                found.add((i, j))
        first += len(tree.links)
    return found


def are_neighbours(a: Link, b: Link) -> bool:
    """Return True if a joint connects two links of one tree."""
    return a.parent == b.name or b.parent == a.name


def _pair(given: object, names: set[str]) -> set[str]:
    """Return two names of links as a set; raise InputError for anything else."""
    if not isinstance(given, (list, tuple)) or len(set(given)) != 2:
        raise InputError(f"self_contact: got {given!r}; expected the names of two links")
    for name in given:
        if name not in names:
            raise InputError(f"self_contact: no link is called {name!r}{suggest_name(str(name), sorted(names))}; "
                             f"there are {', '.join(sorted(names))}")  # fmt: skip
    return set(given)


def list_partners(link: Index, pairs: set[tuple[int, int]]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return, in compressed rows, the bodies that each body may touch; ``link`` (bodies,) is the link of each."""
    both = pairs | {(b, a) for a, b in pairs}
    rows = [[j for j, other in enumerate(link.tolist()) if (own, other) in both] for own in link.tolist()]
    return accumulate_offsets([len(row) for row in rows]), np.array(
        [j for row in rows for j in row] or [0], dtype=np.int32
    )


def build_link_contact_term(law: ContactLaw, bodies: NodeSet, link: Index, pairs: set[tuple[int, int]]) -> NodeTerm:
    """Return the contact term between links.

    Args:
        law: Contact law.
        bodies: Node set of the links' shapes.
        link: Number of each shape's link (bodies,).
        pairs: Pairs of links that touch.
    """
    from diffloom_physics_articulated.link_pair_kernels import link_pairs

    touches = bodies.touches
    assert isinstance(touches, TouchingBodies)
    values = law.resolve(touches.values)
    share = torch.as_tensor(touches.share(), dtype=bodies.arrays[0][1].dtype)
    each = {name: values[name] * (share if law.per_point(name) else 1.0) for name in law.names}
    force, adjoint = link_pairs(*law.device_functions())
    margin = float(touches.points.roundness.max())
    constants = (*list_partners(link, pairs), *touches.points.arrays, *touches.shapes(margin).arrays)
    rows = pack_contact_rows(law, each, bodies.count)
    return build_carried_term(NodeTerm("self_contact", force, adjoint, constants, rows), touches.carried)
