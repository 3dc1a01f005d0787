"""Random trees of every kind of joint."""

from __future__ import annotations

import numpy as np

from diffloom_physics_articulated.link import VELOCITIES, Link, Tree
from diffloom_physics_articulated.tree_tables import read_axes, sort_links

JOINTS = ("revolute", "prismatic", "ball", "fixed", "universal", "planar")


def random_inertia(random: np.random.Generator, mass: float) -> np.ndarray:
    points = random.normal(size=(6, 3)) * 0.2
    points -= points.mean(axis=0)
    C = mass / len(points) * points.T @ points
    I = np.trace(C) * np.eye(3) - C
    return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def random_direction(random: np.random.Generator) -> np.ndarray:
    vector = random.normal(size=3)
    return vector / np.linalg.norm(vector)


def random_tree(random: np.random.Generator, count: int, floating: bool, joints: tuple[str, ...] = JOINTS) -> Tree:
    links = []
    for k in range(count):
        joint = "free" if floating and k == 0 else str(random.choice(joints))
        free = joint == "free"
        mass = float(random.uniform(0.3, 2.0))
        n = VELOCITIES[joint]
        axis = random.normal(size=(2, 3)) if joint == "universal" else random.normal(size=3)
        values = {
            "velocity": random.normal(size=n),
            "armature": np.zeros(n) if free else random.uniform(0.0, 0.1, size=1).repeat(n),
            "damping": np.zeros(n) if free else random.uniform(0.0, 0.5, size=1).repeat(n),
            "stiffness": np.zeros(n) if free or joint == "ball" else random.uniform(0.0, 2.0, size=1).repeat(n),
            "rest": random.uniform(-0.5, 0.5, size=1).repeat(n),
        }
        links.append(
            Link(
                name=f"link {k}",
                parent=None if k == 0 else f"link {random.integers(k)}",
                joint=joint,
                axes=read_axes("link", joint, axis),
                position=np.zeros(3) if free else random.normal(size=3) * 0.4,
                orientation=np.array([1.0, 0, 0, 0]) if free else random.normal(size=4),
                mass=mass,
                centre=random.normal(size=3) * 0.2,
                inertia=random_inertia(random, mass),
                coordinates=random.normal(size=n - (3 if joint in ("ball", "free") else 0)),
                turn=random.normal(size=4),
                values=values,
                along=random_direction(random),
                slender=bool(random.integers(2)),
            )
        )
    if all(VELOCITIES[link.joint] == 0 for link in links):
        return random_tree(random, count, floating, joints)
    return sort_links("random", links)
