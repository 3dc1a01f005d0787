"""Contact with planes and obstacles, shared by every model."""

from diffloom.contact.contact_points import ContactPoints, contact_points
from diffloom.contact.ground_plane import contact_specs, ground, unit_normal
from diffloom.contact.obstacle import Pose, Shape, contact_values, obstacle, obstacle_specs, refuses_obstacles

__all__ = [
    "ContactPoints",
    "Pose",
    "Shape",
    "contact_points",
    "contact_specs",
    "contact_values",
    "ground",
    "obstacle",
    "obstacle_specs",
    "refuses_obstacles",
    "unit_normal",
]
