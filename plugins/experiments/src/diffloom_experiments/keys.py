"""Keys of experiment files: in words, as a JSON schema for editors, and in the messages about wrong ones."""

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
    """One line per fault: where, what was given, what is allowed."""
    lines: dict[str, None] = {}
    for fault in error.errors():
        lines[_line(dict(fault), schema)] = None
    return "\n".join(f"  {line}" for line in lines)


def _line(fault: dict[str, Any], schema: type[BaseModel]) -> str:
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
        return f"{place}: this is missing; it must be given"
    given = fault.get("input")
    expected = EXPECTED.get(kind) or _expected(fault)
    return f"{place}: got {given!r}; expected {expected}"


def _expected(fault: dict[str, Any]) -> str:
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
    """The place without the names pydantic gives to the members of a union."""
    return [part for part in place if not (isinstance(part, str) and (part[:1].isupper() or "[" in part or part in
            ("float", "int", "str", "list", "dict", "none")))]  # fmt: skip


def _fields_at(schema: type[BaseModel], place: tuple[Any, ...]) -> list[str]:
    """Names of the keys allowed in the table at ``place``."""
    here: type[BaseModel] | None = schema
    for part in place:
        if here is None:
            return []
        if isinstance(part, str) and part in here.model_fields:
            here = _table_in(here.model_fields[part].annotation)[0]
    return [] if here is None else list(here.model_fields)


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
    """One key. place: where it stands, such as "unknowns.<name>.start". text: what it means. kind: what may be given.
    default: what holds without it, as text; None when it must be given. keys: those inside, where it is a table."""

    place: str
    text: str
    kind: str
    default: str | None
    keys: tuple[str, ...] = ()


def file_keys(schema: type[BaseModel] = ExperimentFile) -> dict[str, FileKey]:
    """Return all keys of a kind of file by place, without names that a user chooses: "unknowns.start", "time.dt"."""
    found: dict[str, FileKey] = {}
    _walk(schema, "", "", found)
    return found


def _walk(table: type[BaseModel], short: str, place: str, found: dict[str, FileKey]) -> None:
    for name, field in table.model_fields.items():
        here, there = f"{short}{name}", f"{place}{name}"
        inner, step = _table_in(field.annotation)
        keys = () if inner is None else tuple(inner.model_fields)
        text = field.description or ((inner.__doc__ or "").strip() if inner is not None else "") or name
        found[here] = FileKey(there, text, _words(field.annotation) + _limits(field), _default(field), keys)
        if inner is not None and inner is not Named:
            _walk(inner, f"{here}.", f"{there}{step}.", found)


def _table_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The table inside an annotation, and how one steps into it: "" for a table, ".<name>" for tables by name."""
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
    said = [
        f"{words} {getattr(each, name):g}"
        for each in field.metadata
        for name, words in LIMITS.items()
        if getattr(each, name, None) is not None
    ]
    return f", {' and '.join(said)}" if said else ""


def _default(field: FieldInfo) -> str | None:
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
    """Return one JSON schema for files of all ``kinds``: the tables that a file has decide which of them holds."""
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
    """Return a schema whose definitions begin with the name of its kind, so that those of several kinds can be one."""
    renamed: dict[str, Any] = json.loads(json.dumps(schema).replace('"#/$defs/', f'"#/$defs/{kind}.'))
    return renamed | {"$defs": {f"{kind}.{name}": value for name, value in renamed["$defs"].items()}}


def json_schema(schema: type[BaseModel] = ExperimentFile) -> dict[str, Any]:
    """Return the JSON schema of a kind of file: a draw is allowed for every value, and so are the file's [variants]."""
    found = schema.model_json_schema()
    definitions = found.setdefault("$defs", {})
    for table in (found, *definitions.values()):
        properties = table.get("properties", {})
        for name, value in properties.items():
            properties[name] = _drawn(value)
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


def _drawn(value: dict[str, Any]) -> dict[str, Any]:
    """A property's schema, or a draw, where its value may stand for one."""
    if value.get("type") == "object" or not {"type", "anyOf", "$ref", "enum", "const"} & set(value):
        return value
    kept: dict[str, Any] = {key: value[key] for key in ("description", "title", "default") if key in value}
    inner = {key: item for key, item in value.items() if key not in kept}
    return {**kept, "anyOf": [inner, DRAW]}
