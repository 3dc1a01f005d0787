"""The JSON schema of `diffloom schema` accepts every file of this repository, and refuses the files that loading
refuses.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diffloom_experiments.keys import json_schema

ROOT = Path(__file__).resolve().parents[3]
SHIPPED = sorted(
    [
        *ROOT.glob("experiments/*.toml"),
        *ROOT.glob("plugins/studio/src/diffloom_studio/demo/*.toml"),
        *(path for path in ROOT.glob("examples/**/*.toml") if path.name != "pyproject.toml"),
    ]
)


def validator():
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator.check_schema(json_schema())
    return jsonschema.Draft202012Validator(json_schema())


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_file_is_accepted(path):
    faults = validator().iter_errors(tomllib.loads(path.read_text(encoding="utf-8")))
    assert [f"{list(fault.path)}: {fault.message}" for fault in faults] == []


def test_all_are_found():
    assert len(SHIPPED) >= 8


@pytest.mark.parametrize(
    "change",
    ['[tiem]\ndt = 1', "[model]", '[model]\nname = "fem"\n[time]\ndt = "fast"', '[model]\nname = 3\n[time]\ndt = 1'],
)  # fmt: skip
def test_wrong_files_are_refused(change):
    assert not validator().is_valid(tomllib.loads(change))


def test_a_property_may_be_drawn_and_a_named_thing_be_a_text():
    properties = json_schema()["properties"]
    assert {"$ref": "#/$defs/Draw"} in properties["seed"]["anyOf"]
    assert "variants" in properties
