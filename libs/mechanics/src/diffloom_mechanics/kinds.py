"""Kinds of plugin that diffloom-mechanics defines."""

from diffloom.plugins import Kind

CONTACT_LAWS = Kind(
    "contact_laws",
    "contact law",
    "diffloom_mechanics.contact:ContactLaw",
    "Contact laws: classes that implement ``diffloom_mechanics.contact.ContactLaw``.",
)
TERMS = Kind(
    "terms",
    "term",
    "diffloom_mechanics.force_terms:ForceTerm",
    "Force terms that act on the nodes of any model that they fit.",
)

get_contact_law = CONTACT_LAWS.get
get_term = TERMS.get
