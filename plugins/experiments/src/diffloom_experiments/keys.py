"""Keys of experiment files: descriptions, a JSON schema for editors, and messages about wrong values."""

from __future__ import annotations

import json
import types
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from diffloom_experiments.kinds import ExperimentKind
from diffloom_experiments.schema import ExperimentFile
from diffloom_experiments.values import DRAWS, Named

__all__ = ["FileKey", "combined_schema", "explain_faults", "file_keys", "json_schema"]

EXPECTED = {
    "float_parsing": "a number",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}


def explain_faults(error: ValidationError, schema: type[BaseModel]) -> str:
    """Return one line per fault of a file: the key, the value given, the values allowed.

    Args:
        error: Error of pydantic.
        schema: Model of the whole file.

    Returns:
        Indented lines.
    """
    lines: dict[str, None] = {}
    for fault in error.errors():
        lines[_line(dict(fault), schema)] = None
    return "\n".join(f"  {line}" for line in lines)


def _line(fault: dict[str, Any], schema: type[BaseModel]) -> str:
    """Return the line about one fault."""
    from diffloom.validation import suggest_name  # imports torch

    place = ".".join(str(part) for part in _place_words(fault["loc"], schema))
    kind = fault["type"]
    if kind == "extra_forbidden":
        allowed = _fields_at(schema, fault["loc"][:-1])
        key = str(fault["loc"][-1])
        return f"{place}: unknown key{suggest_name(key, allowed)} Allowed here: {', '.join(sorted(allowed))}".replace(
            "key Allowed", "key. Allowed"
        ).replace("? Allowed", "? Allowed")
    if kind == "missing":
        example = _example_at(schema, fault["loc"])
        return f"{place}: this is missing; it must be given" + (f", such as {example}" if example else "")
    given = fault.get("input")
    expected = EXPECTED.get(kind) or _describe_expected(fault)
    return f"{place}: got {given!r}; expected {expected}"


def _describe_expected(fault: dict[str, Any]) -> str:
    """Return the expected value, in words."""
    from diffloom.validation import suggest_name

    context = fault.get("ctx") or {}
    kind = fault["type"]
    if kind == "literal_error":
        return f"one of {str(context.get('expected', '')).replace(' or ', ', ')}" + (
            suggest_name(str(fault.get("input")), str(context.get("expected", "")).replace("'", "").split(" or "))
        )
    words = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
    if kind in words:
        return f"{LIMITS[words[kind]]} {context[words[kind]]:g}"
    if kind in ("too_short", "too_long"):
        count = context.get("min_length", context.get("max_length"))
        return f"{count} values"
    return str(fault["msg"])


def _place_words(place: tuple[Any, ...], schema: type[BaseModel]) -> list[Any]:
    """Return the parts of a key without the names that pydantic gives to members of a union."""
    return [part for part in place if not (isinstance(part, str) and (part[:1].isupper() or "[" in part or part in
            ("float", "int", "str", "list", "dict", "none")))]  # fmt: skip


def _fields_at(schema: type[BaseModel], place: tuple[Any, ...]) -> list[str]:
    """Return the keys allowed in the table at ``place``."""
    here: type[BaseModel] | None = schema
    for part in place:
        if here is None:
            return []
        if isinstance(part, str) and part in here.model_fields:
            here = _table_in(here.model_fields[part].annotation)[0]
    return [] if here is None else list(here.model_fields)


def _example_at(schema: type[BaseModel], place: tuple[Any, ...]) -> str | None:
    """Return the example that the schema has for a key, if it has one."""
    here: type[BaseModel] | None = schema
    field: FieldInfo | None = None
    for part in place:
        if here is not None and isinstance(part, str) and part in here.model_fields:
            field = here.model_fields[part]
            here = _table_in(field.annotation)[0]
    examples = None if field is None else field.examples
    return str(examples[0]) if examples else None


WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    Any: "a value",
}
LIMITS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


@dataclass(frozen=True)
class FileKey:
    """Key of an experiment file.

    Args:
        place: Dotted key, such as "unknowns.<name>.start".
        text: Description.
        kind: Allowed values, in words.
        default: Default as text; None if the key is required.
        keys: Keys inside, if it is a table.
    """

    place: str
    text: str
    kind: str
    default: str | None
    keys: tuple[str, ...] = ()


def file_keys(schema: type[BaseModel] = ExperimentFile) -> dict[str, FileKey]:
    """Return all keys of a kind of file.

    Args:
        schema: Model of the whole file.

    Returns:
        Keys by dotted place without names that a user chooses, such as "unknowns.start" and "time.dt".
    """
    found: dict[str, FileKey] = {}
    _walk(schema, "", "", found)
    return found


def _walk(table: type[BaseModel], short: str, place: str, found: dict[str, FileKey]) -> None:
    """Collect the keys of a table and of the tables inside it."""
    for name, field in table.model_fields.items():
        here, there = f"{short}{name}", f"{place}{name}"
        inner, step = _table_in(field.annotation)
        keys = () if inner is None else tuple(inner.model_fields)
        text = field.description or ((inner.__doc__ or "").strip() if inner is not None else "") or name
        found[here] = FileKey(there, text, _words(field.annotation) + _limits(field), _default(field), keys)
        if inner is not None and inner is not Named:
            _walk(inner, f"{here}.", f"{there}{step}.", found)


def _table_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """Return the table inside an annotation with the path to it: "" for a table, ".<name>" for tables by name."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    origin = get_origin(annotation)
    step = ".<name>" if origin is dict else ".<number>" if origin is list else ""
    for inner in get_args(annotation):
        table, deeper = _table_in(inner)
        if table is not None:
            return table, step + deeper
    return None, ""


def _words(annotation: Any) -> str:
    """Return the allowed values of an annotation, in words."""
    if get_origin(annotation) is Annotated:
        return "a number"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "a name, or a table of a name and its settings" if annotation is Named else "a table"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(str(each) for each in inner)
    if origin in (Union, types.UnionType):
        return ", or ".join(dict.fromkeys(_words(each) for each in inner if each is not type(None)))
    if origin is list:
        return f"a list: each {_words(inner[0])}"
    if origin is tuple:
        return f"a list of {len(inner)}: each {_words(inner[0])}"
    if origin is dict:
        return f"a table by name: each {_words(inner[1])}"
    return WORDS.get(annotation, str(annotation))


def _limits(field: FieldInfo) -> str:
    """Return the numerical limits of a field, in words."""
    said = [
        f"{words} {getattr(each, name):g}"
        for each in field.metadata
        for name, words in LIMITS.items()
        if getattr(each, name, None) is not None
    ]
    return f", {' and '.join(said)}" if said else ""


def _default(field: FieldInfo) -> str | None:
    """Return the default of a field as text; None if it is required."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return None
    if value is None:
        return "absent"
    if isinstance(value, Named):
        return value.name
    if isinstance(value, BaseModel):
        return "a table of the defaults"
    if isinstance(value, list) and value and isinstance(value[0], BaseModel):
        return "; ".join(str(each.model_dump(exclude_defaults=True)) for each in value)
    return str(value)


DRAW = {"$ref": "#/$defs/Draw"}


def combined_schema(kinds: Mapping[str, ExperimentKind]) -> dict[str, Any]:
    """Return one JSON schema for files of several kinds, which the tables of a file select.

    Args:
        kinds: Kinds of experiment file by name.

    Returns:
        JSON schema (2020-12).
    """
    whole = {name: _with_definitions_of(name, json_schema(kind.schema())) for name, kind in kinds.items()}
    definitions = {key: value for schema in whole.values() for key, value in schema.pop("$defs").items()}
    ordinary = next(name for name, kind in kinds.items() if not kind.tables)
    chosen: dict[str, Any] = {"$ref": f"#/$defs/{ordinary}"}
    for name, kind in kinds.items():
        if kind.tables:
            there = {"anyOf": [{"required": [table]} for table in kind.tables]}
            chosen = {"if": there, "then": {"$ref": f"#/$defs/{name}"}, "else": chosen}
    head = {"$schema": whole[ordinary]["$schema"], "title": "ExperimentFile"}
    return head | {"$defs": definitions | whole} | chosen


def _with_definitions_of(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the kind's name as prefix of its definitions, so that several schemas can be merged."""
    renamed: dict[str, Any] = json.loads(json.dumps(schema).replace('"#/$defs/', f'"#/$defs/{kind}.'))
    return renamed | {"$defs": {f"{kind}.{name}": value for name, value in renamed["$defs"].items()}}


def json_schema(schema: type[BaseModel] = ExperimentFile) -> dict[str, Any]:
    """Return the JSON schema of one kind of file, with draws in place of values and with [variants].

    Args:
        schema: Model of the whole file.

    Returns:
        JSON schema (2020-12).
    """
    found = schema.model_json_schema()
    definitions = found.setdefault("$defs", {})
    for table in (found, *definitions.values()):
        properties = table.get("properties", {})
        for name, value in properties.items():
            properties[name] = _allow_draw(value)
    found["properties"]["variants"] = {
        "type": "object",
        "description": "changes by name, put in with --variant or --quick, such as [variants.quick]",
        "additionalProperties": {"type": "object"},
    }
    if schema is ExperimentFile:
        # Parameters of bodies and terms: [unknowns.ball.mass] beside [unknowns.mass].
        sought = found["properties"]["unknowns"]
        one = sought["additionalProperties"]
        sought["additionalProperties"] = {"anyOf": [one, {"type": "object", "additionalProperties": one}]}
    found["$defs"]["Draw"] = {
        "type": "object",
        "description": "a value drawn from the seed, such as {uniform = [2, 12]} or {choice = [...]}",
        "properties": {kind: {"type": "array"} for kind in DRAWS}
        | {"each": {"type": "boolean"}, "of_truth": {"type": "boolean"}},
        "minProperties": 1,
        "additionalProperties": False,
        "anyOf": [{"required": [kind]} for kind in DRAWS],
    }
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def _allow_draw(value: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a property that may also be a draw."""
    if value.get("type") == "object" or not {"type", "anyOf", "$ref", "enum", "const"} & set(value):
        return value
    kept: dict[str, Any] = {key: value[key] for key in ("description", "title", "default") if key in value}
    inner = {key: item for key, item in value.items() if key not in kept}
    return {**kept, "anyOf": [inner, DRAW]}
