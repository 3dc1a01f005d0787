"""Example trees of the conformance suite: small, with every kind of joint and force."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def example_trees() -> list[Mapping[str, Any]]:
    """Return a sliding cart with an arm whose joint is at its limit, and a flying body with a limb in a ball joint."""
    box = {"shape": "box", "size": [0.3, 0.1, 0.1]}
    arm = {"shape": "box", "size": [0.06, 0.5, 0.06], "position": [0.0, -0.25, 0.0]}
    cart = {
        "name": "cart", "joint": "prismatic", "axis": [1, 0, 0], "mass": 1.2, "shapes": [box], "start": 0.1,
        "velocity": 0.6, "damping": 0.3, "friction": 1.4, "friction_speed": 0.5, "stiffness": 4.0, "rest": 0.2,
    }  # fmt: skip
    upper = {
        "name": "upper", "parent": "cart", "axis": [0.1, 0.2, 1.0], "mass": 0.5, "shapes": [arm], "start": 0.7,
        "velocity": 1.5, "lower": -0.4, "upper": 0.6, "limit_stiffness": 30.0, "limit_damping": 0.2, "armature": 0.02,
        "position": [0.05, -0.05, 0.02], "orientation": [0.95, 0.1, 0.2, 0.1], "length": 0.5, "slender": True,
    }  # fmt: skip
    lower = {
        "name": "lower", "parent": "upper", "joint": "universal", "axis": [[0, 0, 1], [1, 0, 0]], "mass": 0.3,
        "position": [0.0, -0.5, 0.0], "shapes": [arm], "start": [-0.5, 0.3], "velocity": [-1.0, 0.8],
        "servo_stiffness": [3.0, 2.0], "servo_damping": [0.1, 0.2], "target_position": [0.2, -0.1],
        "target_velocity": [0.3, -0.2], "torque": [0.2, 0.1], "damping": 0.05, "length": 0.5,
    }  # fmt: skip
    body = {
        "name": "body", "joint": "free", "mass": 2.0, "shapes": [{"shape": "box", "size": [0.4, 0.2, 0.3]}],
        "start": [1.0, 0.4, 0.2], "start_orientation": [0.9, 0.2, 0.3, 0.1],
        "velocity": [0.3, 0.5, -0.2, 1.0, -0.7, 0.4], "centre_of_mass": [0.02, 0.01, -0.03],
    }  # fmt: skip
    limb = {
        "name": "limb", "parent": "body", "joint": "ball", "mass": 0.6, "position": [0.2, -0.1, 0.0],
        "shapes": [arm], "start_orientation": [0.8, 0.1, -0.4, 0.2], "velocity": [0.5, 1.0, -0.8], "stiffness": 1.5,
        "damping": 0.05, "torque": [0.1, -0.1, 0.2],
    }  # fmt: skip
    hand = {
        "name": "hand", "parent": "limb", "joint": "fixed", "mass": 0.2, "position": [0.0, -0.5, 0.0],
        "orientation": [0.9, 0.0, 0.3, 0.2], "shapes": [{"shape": "sphere", "radius": 0.08, "subdivisions": 1}],
    }  # fmt: skip
    return [{"links": [cart, upper, lower]}, {"links": [body, limb, hand]}]
