"""The JSON schema of experiment files, for editors: all that a file may say before draws and variants are put in."""

from __future__ import annotations

from typing import Any

from diffloom_experiments.draws import KINDS
from diffloom_experiments.schema import ExperimentFile

DRAW = {"$ref": "#/$defs/Draw"}


def json_schema() -> dict[str, Any]:
    """The schema: that of the checked file, with a draw allowed for every value, and the file's [variants]."""
    found = ExperimentFile.model_json_schema()
    for table in (found, *found["$defs"].values()):
        properties = table.get("properties", {})
        for name, value in properties.items():
            properties[name] = _drawn(value)
    found["properties"]["variants"] = {
        "type": "object",
        "description": "changes by name, put in with --variant or --quick, such as [variants.quick]",
        "additionalProperties": {"type": "object"},
    }
    # Parameters of bodies and terms: [unknowns.ball.mass] beside [unknowns.mass].
    sought = found["properties"]["unknowns"]
    one = sought["additionalProperties"]
    sought["additionalProperties"] = {"anyOf": [one, {"type": "object", "additionalProperties": one}]}
    found["$defs"]["Draw"] = {
        "type": "object",
        "description": "a value drawn from the seed, such as {uniform = [2, 12]} or {choice = [...]}",
        "properties": {kind: {"type": "array"} for kind in KINDS}
        | {"each": {"type": "boolean"}, "of_truth": {"type": "boolean"}},
        "minProperties": 1,
        "additionalProperties": False,
        "anyOf": [{"required": [kind]} for kind in KINDS],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _drawn(value: dict[str, Any]) -> dict[str, Any]:
    """A property's schema, or a draw, where its value may stand for one."""
    if value.get("type") == "object" or not {"type", "anyOf", "$ref", "enum", "const"} & set(value):
        return value
    kept: dict[str, Any] = {key: value[key] for key in ("description", "title", "default") if key in value}
    inner = {key: item for key, item in value.items() if key not in kept}
    return {**kept, "anyOf": [inner, DRAW]}
