"""Contact with planes and obstacles, shared by every model."""

from diffloom_mechanics.contact.friction_laws import Anisotropic, Coulomb, SmoothCoulomb, Stribeck
from diffloom_mechanics.contact.ground_plane import contact_rows, contact_specs, ground, unit_normal
from diffloom_mechanics.contact.law import ContactLaw, FrictionFunctions, FrictionLaw, NormalFunctions, contact_law
from diffloom_mechanics.contact.laws import HuntCrossley, Linear
from diffloom_mechanics.contact.obstacle_contact import (
    Pose,
    Shape,
    contact_values,
    obstacle,
    obstacle_specs,
    refuses_obstacles,
)
from diffloom_mechanics.contact.point_clusters import ContactPoints, contact_points

__all__ = [
    "Anisotropic",
    "ContactLaw",
    "ContactPoints",
    "Coulomb",
    "FrictionFunctions",
    "FrictionLaw",
    "HuntCrossley",
    "Linear",
    "NormalFunctions",
    "Pose",
    "Shape",
    "SmoothCoulomb",
    "Stribeck",
    "contact_law",
    "contact_points",
    "contact_rows",
    "contact_specs",
    "contact_values",
    "ground",
    "obstacle",
    "obstacle_specs",
    "refuses_obstacles",
    "unit_normal",
]
