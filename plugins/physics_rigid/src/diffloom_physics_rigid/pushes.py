"""External forces and impulses on points of bodies in windows of time: tables and force term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_mechanics import NodeTerm
from diffloom_mechanics.contact import accumulate_offsets
from diffloom_physics_rigid.body_files import RigidBody, Vector

KEYS = ("body", "force", "impulse", "start", "end", "vertex", "point", "frame")


@dataclass(frozen=True)
class BodyPush:
    """A force on one body during a window of time.

    Args:
        body: Index of the body.
        start: Begin of the window [s].
        end: End of the window [s].
        force: Force (3,) [N].
        point: Point of attack (3,), in the body's frame from its centre [m].
        follows: True if the force turns with the body; otherwise it keeps its direction in the world.
    """

    body: int
    start: float
    end: float
    force: Vector
    point: Vector
    follows: bool


def read_push(number: int, table: Mapping[str, Any], bodies: Sequence[RigidBody]) -> BodyPush:
    """Return the push that a table describes: body (number or name), force or impulse, start, end, and vertex or
    point.
    """
    what = f"pushes[{number}]"
    for key in table:
        if key not in KEYS:
            raise InputError(f"{what}: unknown key {key!r}{suggest_name(key, KEYS)}; expected {', '.join(KEYS)}")
    body = find_body(what, table.get("body", 0), bodies)
    start, end = float(table.get("start", 0.0)), float(table.get("end", 0.0))
    if not end > start >= 0.0:
        raise InputError(f"{what}: start = {start:g} s and end = {end:g} s; expected 0 <= start < end; a window of "
                         "one step is enough for an impulse")  # fmt: skip
    if ("force" in table) == ("impulse" in table):
        given = "both force and impulse" if "force" in table else "neither force nor impulse"
        raise InputError(f"{what}: got {given}; expected one of them, three numbers: force [N] or impulse [N s]")
    key = "force" if "force" in table else "impulse"
    force = read_vector(f"{what}: {key}", table[key]) / (1.0 if key == "force" else end - start)
    frame = table.get("frame", "world")
    if frame not in ("world", "body"):
        raise InputError(f"{what}: frame: got {frame!r}; expected 'world' or 'body'")
    return BodyPush(body, start, end, force, read_push_point(what, table, bodies[body]), frame == "body")


def read_push_point(what: str, table: Mapping[str, Any], body: RigidBody) -> Vector:
    """Return the point of attack in the body's frame; by default the centre of mass."""
    if "vertex" in table and "point" in table:
        raise InputError(f"{what}: got both vertex and point; give one of them")
    if "vertex" not in table:
        return read_vector(f"{what}: point", table.get("point", (0.0, 0.0, 0.0)))
    vertex, count = int(table["vertex"]), len(body.shape.vertices)
    if not 0 <= vertex < count:
        raise InputError(f"{what}: vertex {vertex} of body {body.name!r}; expected 0 to {count - 1}")
    return np.asarray(body.shape.vertices[vertex])


def find_body(what: str, given: Any, bodies: Sequence[RigidBody]) -> int:
    """Return the index of a body from its number or name."""
    names = [body.name for body in bodies]
    if isinstance(given, str):
        if given not in names:
            raise InputError(
                f"{what}: no body is called {given!r}{suggest_name(given, names)}; there are {', '.join(names)}"
            )
        return names.index(given)
    if not isinstance(given, int) or not 0 <= given < len(bodies):
        raise InputError(f"{what}: body {given!r}; expected 0 to {len(bodies) - 1}, or a name")
    return given


def read_vector(what: str, value: Any) -> Vector:
    """Return three finite numbers as an array."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        vector = np.zeros(0)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise InputError(f"{what}: got {value!r}; expected three numbers")
    return vector


def pack_push_times(pushes: Sequence[BodyPush], count: int) -> tuple[NDArray[Any], ...]:
    """Return, as arrays, which of the pushes act on each of ``count`` bodies, when, and which turn with the body."""
    body = np.array([p.body for p in pushes], dtype=np.int64)
    return (
        accumulate_offsets(np.bincount(body, minlength=count).tolist()),
        np.argsort(body, kind="stable").astype(np.int32),
        np.array([p.start for p in pushes]),
        np.array([p.end for p in pushes]),
        np.array([p.follows for p in pushes], dtype=np.int32),
    )


def build_push_term(times: tuple[NDArray[Any], ...], force: Tensor, point: Tensor, count: int) -> NodeTerm:
    """Return the force term of all pushes.

    Args:
        times: Result of pack_push_times.
        force: Forces (pushes, 3) [N].
        point: Points of attack (pushes, 3) [m].
        count: Number of bodies.
    """
    from diffloom_physics_rigid.push_kernels import body_push_force, body_push_force_adjoint

    return NodeTerm(
        "pushes",
        force=body_push_force,
        adjoint=body_push_force_adjoint,
        constants=times,
        params=(("force", force), ("point", point)),
        shared=("force", "point"),
        count=count,
        lanes=True,
    )
