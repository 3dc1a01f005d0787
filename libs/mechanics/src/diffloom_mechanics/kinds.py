"""Kinds of things that diffloom-mechanics lets plugins register."""

from diffloom.plugins import Kind

CONTACT_LAWS = Kind(
    "contact_laws",
    "contact law",
    "diffloom_mechanics.contact:ContactLaw",
    "Contact laws: classes that implement ``diffloom_mechanics.contact.ContactLaw``.",
)

get_contact_law = CONTACT_LAWS.get
contact_laws = CONTACT_LAWS.names
