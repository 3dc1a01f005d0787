"""The catalogue by which the core says what to install for a name that is missing."""

import json

import pytest
from catalogue import CATALOGUE, catalogue

from diffloom.plugins import MODELS, RENDERERS, Registry, UnknownNameError, installed_registry


def test_the_catalogue_equals_the_registrations_of_the_distributions():
    assert CATALOGUE.read_text(encoding="utf-8") == catalogue(), "run python tools/catalogue.py"


def test_every_name_of_this_project_says_what_to_install():
    registry, seen = installed_registry(), 0
    for kind in registry.kinds:
        for entry in registry.entries(kind):
            if entry.origin.distribution.startswith("diffloom-"):
                told = f"comes with {entry.origin.distribution}, which is not installed: pip install"
                with pytest.raises(UnknownNameError, match=told):
                    Registry().get(kind, entry.name)
                seen += 1
    assert seen > 60
    assert {MODELS, RENDERERS} <= set(registry.kinds)


def test_the_catalogue_names_the_definer_of_each_kind():
    published = json.loads(CATALOGUE.read_text(encoding="utf-8"))
    defined = {plural: name for name, entry in published.items() for plural in entry["defines"]}
    for kind in installed_registry().kinds:
        origin = installed_registry().definer(kind)
        assert defined.get(kind.plural) == (None if origin is None else origin.distribution)
