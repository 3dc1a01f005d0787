"""Contact with planes and obstacles, shared by every model."""

from diffloom.contact.contact_points import ContactPoints, contact_points
from diffloom.contact.ground_plane import contact_specs, ground, unit_normal

__all__ = ["ContactPoints", "contact_points", "contact_specs", "ground", "unit_normal"]
