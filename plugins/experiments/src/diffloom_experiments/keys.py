"""Every key that an experiment file may have, in words, read off the schema. Imports no torch."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from diffloom_experiments.schema import ExperimentFile
from diffloom_experiments.values import Named

WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a text",
    bool: "true or false",
    Any: "a value",
}
LIMITS = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}


@dataclass(frozen=True)
class Key:
    """One key. place: where it stands, such as "unknowns.<name>.start". text: what it means. kind: what may be given.
    default: what holds without it, as text; None when it must be given. keys: those inside, where it is a table."""

    place: str
    text: str
    kind: str
    default: str | None
    keys: tuple[str, ...] = ()


def file_keys() -> dict[str, Key]:
    """All keys by place without the names that a user chooses: "unknowns.start", "stages.optimiser", "time.dt"."""
    found: dict[str, Key] = {}
    _walk(ExperimentFile, "", "", found)
    return found


def _walk(table: type[BaseModel], short: str, place: str, found: dict[str, Key]) -> None:
    for name, field in table.model_fields.items():
        here, there = f"{short}{name}", f"{place}{name}"
        inner, step = _table_in(field.annotation)
        keys = () if inner is None else tuple(inner.model_fields)
        text = field.description or ((inner.__doc__ or "").strip() if inner is not None else "") or name
        found[here] = Key(there, text, _words(field.annotation) + _limits(field), _default(field), keys)
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
