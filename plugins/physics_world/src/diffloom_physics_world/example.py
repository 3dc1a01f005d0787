"""What the conformance suite looks at: a world of every kind of contact."""

from __future__ import annotations

from typing import Any

from diffloom.interfaces import ExampleSettings

STILL = (0.0, 0.0, 0.0)


def example_bodies() -> list[dict[str, Any]]:
    """A ball in a sheet, a block of jelly on a brick: all touch within a few steps."""
    ball = {"shape": "sphere", "radius": 0.1, "position": [0.02, 0.198, 0.01], "mass": 0.3, "velocity": [0.2, -0.5, 0.1]}
    brick = {"shape": "box", "size": [0.3, 0.1, 0.3], "position": [0.05, -0.13, 0.02], "mass": 0.5}
    sheet = {"shape": "grid", "cells": [3, 3], "size": [0.4, 0.4], "position": [0.0, 0.1, 0.0]}
    return [
        {"name": "ball", "model": {"name": "rigid", "bodies": [ball], "ground": False}, "colour": [0.9, 0.4, 0.2]},
        {"name": "sheet", "model": {"name": "cloth", "mesh": sheet, "pins": ["top_left", "top_right"]}},
        {"name": "jelly", "model": {"name": "fem", "size": (0.16, 0.08, 0.16), "cells": (1, 1, 1), "ground": False}},
        {"name": "brick", "model": {"name": "rigid", "bodies": [brick], "ground": False}, "colour": [0.3, 0.5, 0.9]},
    ]


def example_settings() -> ExampleSettings:
    """How the example is run."""
    return ExampleSettings(dt=5e-4, steps=60, fit="ball.mass")
