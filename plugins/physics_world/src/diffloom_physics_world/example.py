"""Example of the conformance suite: a small world in which everything touches."""

from __future__ import annotations

from typing import Any

from diffloom.interfaces import ExampleSettings


def example_bodies() -> list[dict[str, Any]]:
    """Return a ball that lies and moves in a net of particles."""
    places = [[0.12 * i - 0.12, 0.01 * (i + j), 0.12 * j - 0.12] for j in range(3) for i in range(3)]
    pairs = [(3 * j + i, 3 * j + i + 1) for j in range(3) for i in range(2)]
    pairs += [(3 * j + i, 3 * j + i + 3) for j in range(2) for i in range(3)]
    pairs += [(3 * j + i, 3 * j + i + 4) for j in range(2) for i in range(2)]
    ball = {
        "shape": "sphere",
        "radius": 0.1,
        "position": [0.02, 0.105, 0.01],
        "mass": 0.3,
        "velocity": [0.4, -0.3, 0.1],
    }
    net = {"name": "springs", "positions": places, "springs": pairs, "on_ground": False, "radius": 0.02}
    return [
        {"name": "ball", "model": {"name": "rigid", "bodies": [ball], "ground": False}, "colour": [0.9, 0.4, 0.2]},
        {"name": "net", "model": net, "colour": [0.2, 0.5, 0.9]},
    ]


EXAMPLE_ATTACHMENTS = (
    {"name": "string", "kind": "spring", "between": ("net", "ball"), "points": (8, (0.0, 0.1, 0.0))},
)


def example_settings() -> ExampleSettings:
    """Return the settings of the example's run."""
    apart = {"ball.position": (0.0, 1.0, 0.0), "ball.velocity": (0.0, 0.0, 0.0)}
    return ExampleSettings(
        dt=2.5e-4,
        steps=80,
        fit="ball.mass",
        rest={"gravity": (0.0, 0.0, 0.0), **apart},
        free={"gravity": (0.0, 0.0, 0.0)},
        claims=("translation", "rotation", "boost", "momentum", "angular_momentum"),
        variants=(
            {"ball_net.contact_stiffness": 80.0, "ball_net.contact_dissipation": 0.5, "ball_net.friction": 0.3},
            {"ball_net.friction_stiffness": 0.5, "ball_net.friction": 5.0},
            {"ball_net.restitution": 0.5, "ball_net.reference_speed": 0.5},
            {"gravity": (0.0, -5.0, 1.0)},
            {"string.length": 0.1},
        ),
    )
