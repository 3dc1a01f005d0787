"""Contact with planes, shared by every model."""

from diffloom.contact.ground_plane import contact_specs, ground, unit_normal

__all__ = ["contact_specs", "ground", "unit_normal"]
