"""What pydantic found wrong, in the words of the file."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from diffloom.validation import nearest

WORDS = {
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


def explain(error: ValidationError, schema: type[BaseModel]) -> str:
    """One line per fault: where, what was given, what is allowed."""
    lines: dict[str, None] = {}
    for fault in error.errors():
        lines[_line(dict(fault), schema)] = None
    return "\n".join(f"  {line}" for line in lines)


def _line(fault: dict[str, Any], schema: type[BaseModel]) -> str:
    place = ".".join(str(part) for part in _words(fault["loc"], schema))
    kind = fault["type"]
    if kind == "extra_forbidden":
        allowed = _fields_at(schema, fault["loc"][:-1])
        key = str(fault["loc"][-1])
        return f"{place}: unknown key{nearest(key, allowed)} Allowed here: {', '.join(sorted(allowed))}".replace(
            "key Allowed", "key. Allowed"
        ).replace("? Allowed", "? Allowed")
    if kind == "missing":
        return f"{place}: this is missing; it must be given"
    given = fault.get("input")
    expected = WORDS.get(kind) or _expected(fault)
    return f"{place}: got {given!r}; expected {expected}"


def _expected(fault: dict[str, Any]) -> str:
    context = fault.get("ctx") or {}
    kind = fault["type"]
    if kind == "literal_error":
        return f"one of {str(context.get('expected', '')).replace(' or ', ', ')}" + (
            nearest(str(fault.get("input")), str(context.get("expected", "")).replace("'", "").split(" or "))
        )
    words = {"greater_than": "gt", "greater_than_equal": "ge", "less_than": "lt", "less_than_equal": "le"}
    if kind in words:
        told = {"gt": "more than", "ge": "at least", "lt": "less than", "le": "at most"}[words[kind]]
        return f"{told} {context[words[kind]]:g}"
    if kind in ("too_short", "too_long"):
        count = context.get("min_length", context.get("max_length"))
        return f"{count} values"
    return str(fault["msg"])


def _words(place: tuple[Any, ...], schema: type[BaseModel]) -> list[Any]:
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
            here = _table_in(here.model_fields[part].annotation)
    return [] if here is None else list(here.model_fields)


def _table_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _table_in(inner)
        if found is not None:
            return found
    return None
