"""Catalogue of the shapes that have a name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_physics_rigid.shapes import objects, primitives
from diffloom_physics_rigid.shapes.shape import RigidShape

PRIMITIVES: tuple[Callable[..., RigidShape], ...] = (
    primitives.box, primitives.sphere, primitives.cylinder, primitives.cone, primitives.capsule, primitives.torus,
)  # fmt: skip
OBJECTS: tuple[Callable[..., RigidShape], ...] = (
    objects.pear, objects.bowl, objects.goblet, objects.hourglass, objects.mushroom, objects.dumbbell, objects.star,
    objects.gear, objects.cross, objects.ell, objects.tee, objects.arrow, objects.banana, objects.table, objects.chair,
)  # fmt: skip
SHAPES: Mapping[str, Callable[..., RigidShape]] = {make.__name__: make for make in PRIMITIVES + OBJECTS}


def build_shape(name: str, sizes: Mapping[str, object]) -> RigidShape:
    """Return the shape ``name``.

    Args:
        name: Key of SHAPES.
        sizes: Arguments of its function, such as radius and height [m].

    Raises:
        InputError: Unknown name or size.
    """
    make = SHAPES[check_choice("shape", name, SHAPES)]
    known = list(inspect.signature(make).parameters)
    for key, value in sizes.items():
        if key not in known:
            takes = ", ".join(known) if known else "none; use scale"
            raise InputError(f"shape {name!r}: got {key}={value!r}; its sizes are: {takes}{suggest_name(key, known)}")
        numbers = value if isinstance(value, (list, tuple)) else [value]
        if not all(isinstance(n, (int, float)) and n > 0 for n in numbers):
            raise InputError(f"shape {name!r}: got {key}={value!r}; expected positive numbers")
    return make(**sizes)
