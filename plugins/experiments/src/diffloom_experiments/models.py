"""Models of files: the one in [model] or the world of [[bodies]], with its [[terms]]."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError, Model
from diffloom.plugins import get_model
from diffloom_experiments.make import make, resolve_paths
from diffloom_experiments.schema import ExperimentFile, TermTable
from diffloom_experiments.values import is_draw
from diffloom_mechanics import ForceTerm, get_term

_OF_BODIES = ("contacts", "attachments")


def build_bare_model(content: ExperimentFile, folder: Path) -> Model:
    """Build the model of a file without its terms."""
    if (content.model is None) == (not content.bodies):
        raise InputError("model: give either [model] or, for several bodies that touch, [[bodies]]")
    if content.model is not None:
        for key in _OF_BODIES:
            if getattr(content, key):
                raise InputError(f"{key}: these connect [[bodies]], but the file has one [model]; leave them out")
        settings = resolve_paths(content.model.settings, folder)
        made: Model = make("model", content.model.name, get_model(content.model.name), settings)
        return made
    tables = [resolve_paths(body.settings, folder) for body in content.bodies]
    further = {key: getattr(content, key) for key in _OF_BODIES if getattr(content, key)}
    world: Model = make("bodies", "world", get_model("world"), {"bodies": tables, **further})
    return world


def list_part_names(data: Mapping[str, Any]) -> set[str]:
    """Return the names of a file's terms, bodies, contacts and attachments, by which their parameters begin."""
    found = {
        table["name"]
        for key in ("terms", "bodies", *_OF_BODIES)
        for table in _tables(data.get(key))
        if isinstance(table.get("name"), str)
    }
    bodies = [table.get("name") for table in _tables(data.get("bodies"))]
    return found | {f"{a}_{b}" for a, b in itertools.combinations(bodies, 2)}


def _tables(given: object) -> Iterable[Mapping[str, Any]]:
    """Return the tables in a list that is not checked yet."""
    return (table for table in given if isinstance(table, Mapping)) if isinstance(given, list) else ()


#: Paths of the tables whose keys are names of parameters.
NAMING = (("params",), ("truth",), ("unknowns",), ("prior", "even"), ("prior", "gaussian"))


def add_terms(model: Model, tables: Sequence[TermTable], folder: Path) -> Model:
    """Return ``model`` with the terms of a file; ``model`` itself if there are none."""
    if not tables:
        return model
    from diffloom_mechanics import WithTerms

    terms: dict[str, ForceTerm] = {}
    for number, table in enumerate(tables):
        place = f"terms.{number}"
        if table.name in terms:
            raise InputError(f"{place}.name: two terms are called {table.name!r}; give each a name of its own")
        terms[table.name] = make(place, table.kind, get_term(table.kind), resolve_paths(table.settings, folder))
    return WithTerms(model, terms, {table.name: table.on for table in tables if table.on is not None})


def flatten_part_tables(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a file's data with parameters of parts under dotted names: [unknowns.ball.radius] becomes
    "ball.radius".
    """
    names = list_part_names(data)
    made = dict(data)
    for path in NAMING if names else ():
        _lift(made, path, names)
    return made


def _lift(data: dict[str, Any], path: Sequence[str], names: set[Any]) -> None:
    """Flatten the table at ``path``, copying the tables that lead to it."""
    key, *rest = path
    table = data.get(key)
    if not isinstance(table, Mapping):
        return
    if rest:
        data[key] = dict(table)
        _lift(data[key], rest, names)
        return
    lifted: dict[str, Any] = {}
    for name, value in table.items():
        if name in names and isinstance(value, Mapping) and not is_draw(value):
            lifted |= {f"{name}.{parameter}": given for parameter, given in value.items()}
        else:
            lifted[name] = value
    data[key] = lifted
