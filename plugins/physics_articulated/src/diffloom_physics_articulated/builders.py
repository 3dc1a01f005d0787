"""Trees by name: pendulums, chains, a cart with a pole, arms. They hang along -y and swing about z."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from diffloom.interfaces import InputError
from diffloom.validation import check_choice, suggest_name
from diffloom_physics_articulated.link import Tree
from diffloom_physics_articulated.tree_tables import read_link, sort_links

Table = dict[str, Any]
BRASS, STEEL, SLATE = (0.95, 0.7, 0.25), (0.7, 0.75, 0.8), (0.25, 0.35, 0.5)


def bob_link(name: str, length: float, mass: float, bob: float, rod: float, **rest: Any) -> Table:
    """Return the table of a point mass at the end of a massless rod.

    The ball that is drawn moves with the end, and the rod stretches. A rod of radius 0 is a thread that is not drawn.
    """
    thread = {
        "shape": "cylinder", "radius": rod, "height": length, "position": [0.0, -0.5 * length, 0.0], "segments": 8,
        "colour": STEEL,
    }  # fmt: skip
    return {
        "name": name, "mass": mass, "centre_of_mass": [0.0, -length, 0.0], "inertia": [0.0] * 6, "length": length,
        "shapes": [
            {"shape": "sphere", "radius": bob, "position": [0.0, -length, 0.0], "rides": True, "colour": BRASS},
            *([thread] if rod > 0.0 else []),
        ],
        **rest,
    }  # fmt: skip


def pendulum(
    length: float = 1.0,
    mass: float = 1.0,
    *,
    angle: float = 0.5,
    rate: float = 0.0,
    damping: float = 0.0,
    pivot: Sequence[float] = (0.0, 0.0, 0.0),
    bob: float = 0.12,
    rod: float = 0.02,
    round: bool = False,
) -> Tree:
    """Return a point mass on a rod that swings about a pivot.

    Args:
        length: Length of the rod [m].
        mass: Mass [kg].
        angle: Angle from the vertical towards +x at the start [rad].
        rate: Its rate [rad/s].
        damping: Damping of the joint [N m s/rad].
        pivot: Position of the pivot [m].
        bob: Radius of the ball that is drawn [m].
        rod: Radius of the rod that is drawn [m]; 0 draws none.
        round: True for a joint with a second angle, about x, which starts at 0: a bob on a thread.
    """
    if round:
        link = bob_link(
            "bob 1", length, mass, bob, rod, joint="universal", axis=[[0, 0, 1], [1, 0, 0]], start=[angle, 0.0],
            velocity=[rate, 0.0], damping=damping, position=list(pivot),
        )  # fmt: skip
        return sort_links("pendulum", [read_link(0, link)])
    return double_pendulum(
        (length,), (mass,), angles=(angle,), rates=(rate,), damping=damping, pivot=pivot, bob=bob, rod=rod
    )


def double_pendulum(
    lengths: Sequence[float] = (1.0, 1.0),
    masses: Sequence[float] = (1.0, 1.0),
    *,
    angles: Sequence[float] = (0.8, 0.5),
    rates: Sequence[float] = (0.0, 0.0),
    damping: float = 0.0,
    pivot: Sequence[float] = (0.0, 0.0, 0.0),
    bob: float = 0.12,
    rod: float = 0.02,
) -> Tree:
    """Return point masses, each hung from the one before; any number of them.

    Args:
        lengths: Lengths of the rods [m].
        masses: Masses [kg].
        angles: Angles between neighbouring rods at the start [rad].
        rates: Their rates [rad/s].
        damping: Damping of each joint [N m s/rad].
        pivot: Position of the pivot [m].
        bob: Radius of the balls that are drawn [m].
        rod: Radius of the rods that are drawn [m].
    """
    count = len(lengths)
    for key, given in (("masses", masses), ("angles", angles), ("rates", rates)):
        if len(given) != count:
            raise InputError(f"{key}: got {len(given)} numbers for {count} lengths; expected one each")
    links = [
        bob_link(
            f"bob {k + 1}", lengths[k], masses[k], bob, rod, start=angles[k], velocity=rates[k], damping=damping,
            parent=f"bob {k}" if k else None, position=[0.0, -lengths[k - 1], 0.0] if k else list(pivot),
        )
        for k in range(count)
    ]  # fmt: skip
    return sort_links("pendulum", [read_link(k, link) for k, link in enumerate(links)])


def rod_link(name: str, length: float, mass: float, radius: float, **rest: Any) -> Table:
    """Return the table of a capsule along the link, with its mass spread over it."""
    shape = {
        "shape": "capsule", "radius": radius, "length": max(length - 2.0 * radius, 0.1 * length),
        "position": [0.0, -0.5 * length, 0.0], "colour": STEEL,
    }  # fmt: skip
    return {"name": name, "mass": mass, "length": length, "slender": True, "shapes": [shape], **rest}


def chain(
    count: int = 8,
    *,
    length: float = 0.2,
    mass: float = 0.1,
    joint: str = "revolute",
    angle: float = 0.3,
    damping: float = 0.0,
    pivot: Sequence[float] = (0.0, 0.0, 0.0),
    radius: float = 0.03,
) -> Tree:
    """Return equal rods, each hung from the end of the one before.

    Args:
        count: Number of rods.
        length: Length of a rod [m].
        mass: Mass of a rod [kg].
        joint: "revolute", "universal" or "ball".
        angle: Angle of each joint at the start [rad]; a chain of balls hangs straight.
        damping: Damping of each joint [N m s/rad].
        pivot: Position of the pivot [m].
        radius: Radius of the rods [m].
    """
    if count < 1:
        raise InputError(f"count: got {count}; expected 1 or more links")
    check_choice("joint", joint, ("revolute", "universal", "ball"))
    start: Table = {} if joint == "ball" else {"start": angle if joint == "revolute" else [angle, angle]}
    links = [
        rod_link(
            f"link {k + 1}", length, mass, radius, joint=joint, damping=damping, parent=f"link {k}" if k else None,
            position=[0.0, -length, 0.0] if k else list(pivot), **start,
        )
        for k in range(count)
    ]  # fmt: skip
    return sort_links("chain", [read_link(k, link) for k, link in enumerate(links)])


def cartpole(
    cart: float = 1.0,
    pole: float = 0.2,
    *,
    length: float = 1.0,
    angle: float = 0.1,
    damping: float = 0.0,
    height: float = 0.0,
    radius: float = 0.03,
) -> Tree:
    """Return a cart on a rail along x with a pole on it.

    Args:
        cart: Mass of the cart [kg].
        pole: Mass of the pole [kg].
        length: Length of the pole [m].
        angle: Angle of the pole from upright towards -x at the start [rad].
        damping: Damping of the pole's joint [N m s/rad].
        height: Height of the rail [m].
        radius: Radius of the pole [m].
    """
    body = {
        "name": "cart", "joint": "prismatic", "axis": [1, 0, 0], "position": [0.0, height, 0.0], "mass": cart,
        "shapes": [{"shape": "box", "size": [0.4, 0.2, 0.25], "colour": SLATE}], "damping": damping,
    }  # fmt: skip
    upright = rod_link(
        "pole", length, pole, radius, parent="cart", orientation=[0.0, 0.0, 0.0, 1.0], start=angle, damping=damping
    )
    return sort_links("cartpole", [read_link(0, body), read_link(1, upright)])


def arm(
    count: int = 2,
    *,
    lengths: Sequence[float] | float = 0.4,
    masses: Sequence[float] | float = 1.0,
    planar: bool = True,
    angle: float = 0.4,
    damping: float = 0.0,
    servo_stiffness: float = 0.0,
    servo_damping: float = 0.0,
    radius: float = 0.05,
) -> Tree:
    """Return rods with motors between them.

    Args:
        count: Number of rods.
        lengths: Length [m] of each, or of all.
        masses: Mass [kg] of each, or of all.
        planar: True for axes along z; otherwise the first axis is y and the rest are z, x, z, ...
        angle: Angle of each joint at the start [rad].
        damping: Damping of each joint [N m s/rad].
        servo_stiffness: Position gain of each motor [N m/rad].
        servo_damping: Velocity gain of each motor [N m s/rad].
        radius: Radius of the rods [m].
    """
    if count < 1:
        raise InputError(f"count: got {count}; expected 1 or more links")
    long, heavy = (np.broadcast_to(np.asarray(x, dtype=float), (count,)).tolist() for x in (lengths, masses))
    turns = [(0, 0, 1)] * count if planar else [(0, 1, 0), *[(0, 0, 1), (1, 0, 0)] * count][:count]
    links = [
        rod_link(
            f"link {k + 1}", long[k], heavy[k], radius, axis=turns[k], start=angle, damping=damping,
            servo_stiffness=servo_stiffness, servo_damping=servo_damping, target_position=angle,
            parent=f"link {k}" if k else None, position=[0.0, -long[k - 1], 0.0] if k else [0.0, 0.0, 0.0],
        )
        for k in range(count)
    ]  # fmt: skip
    return sort_links("arm", [read_link(k, link) for k, link in enumerate(links)])


BUILDERS: Mapping[str, Callable[..., Tree]] = {
    make.__name__: make for make in (pendulum, double_pendulum, chain, cartpole, arm)
}


def build(name: str, arguments: Mapping[str, Any]) -> Tree:
    """Return the tree of a builder; raise InputError for an unknown argument."""
    make = BUILDERS[check_choice("builder", name, BUILDERS)]
    known = list(inspect.signature(make).parameters)
    for key in arguments:
        if key not in known:
            raise InputError(f"builder {name!r}: unknown argument {key!r}{suggest_name(key, known)}; it takes "
                             f"{', '.join(known)}")  # fmt: skip
    return make(**arguments)
