"""Contact with planes and obstacles, shared by every model."""

from diffloom.contact.ground_plane import contact_specs, ground, unit_normal
from diffloom.contact.obstacle_contact import Pose, Shape, contact_values, obstacle, obstacle_specs, refuses_obstacles
from diffloom.contact.point_clusters import ContactPoints, contact_points

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
