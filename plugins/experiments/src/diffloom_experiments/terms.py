"""Force terms in a file: [[terms]] adds them to the model, under names that their parameters begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError, Model
from diffloom_experiments.draws import is_draw
from diffloom_experiments.make import make, with_paths
from diffloom_experiments.schema import TermTable
from diffloom_experiments.worlds import part_names
from diffloom_mechanics import ForceTerm, get_term

#: Tables in which parameters are named, by the path to them.
NAMING = (("params",), ("truth",), ("unknowns",), ("prior", "even"), ("prior", "gaussian"))


def with_terms(model: Model, tables: Sequence[TermTable], folder: Path) -> Model:
    """``model`` with the terms of a file; itself when there are none."""
    if not tables:
        return model
    from diffloom_mechanics import WithTerms

    terms: dict[str, ForceTerm] = {}
    for number, table in enumerate(tables):
        place = f"terms.{number}"
        if table.name in terms:
            raise InputError(f"{place}.name: two terms are called {table.name!r}; give each a name of its own")
        terms[table.name] = make(place, table.kind, get_term(table.kind), with_paths(table.settings, folder))
    return WithTerms(model, terms, {table.name: table.on for table in tables if table.on is not None})


def with_dotted_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """A file's data with parameters of terms and bodies called ``term.parameter``, also where the file has them in
    tables of the term's name: [unknowns.ball.radius] is ["unknowns"]["ball.radius"]."""
    names = part_names(data)
    made = dict(data)
    for path in NAMING if names else ():
        _lift(made, path, names)
    return made


def _lift(data: dict[str, Any], path: Sequence[str], names: set[Any]) -> None:
    """Replace the table at ``path``, copying what leads to it."""
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
