"""The model of a file: the one in [model], or the world that [[bodies]] make up."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError, Model
from diffloom.plugins import get_model
from diffloom_experiments.make import make, with_paths
from diffloom_experiments.schema import ExperimentFile

_OF_BODIES = ("contacts", "attachments")


def bare_model(content: ExperimentFile, folder: Path) -> Model:
    """The model of a file without its terms."""
    if (content.model is None) == (not content.bodies):
        raise InputError("model: give either [model] or, for several bodies that touch, [[bodies]]")
    if content.model is not None:
        for key in _OF_BODIES:
            if getattr(content, key):
                raise InputError(f"{key}: these are between [[bodies]], and the file has one [model]")
        settings = with_paths(content.model.settings, folder)
        made: Model = make("model", content.model.name, get_model(content.model.name), settings)
        return made
    tables = [with_paths(body.settings, folder) for body in content.bodies]
    further = {key: getattr(content, key) for key in _OF_BODIES if getattr(content, key)}
    world: Model = make("bodies", "world", get_model("world"), {"bodies": tables, **further})
    return world


def part_names(data: Mapping[str, Any]) -> set[str]:
    """What the parameters of a file's terms, bodies, contacts and attachments begin with, before it is checked."""
    found = {
        table["name"]
        for key in ("terms", "bodies", *_OF_BODIES)
        for table in _tables(data.get(key))
        if isinstance(table.get("name"), str)
    }
    bodies = [table.get("name") for table in _tables(data.get("bodies"))]
    return found | {f"{a}_{b}" for a, b in itertools.combinations(bodies, 2)}


def _tables(given: object) -> Iterable[Mapping[str, Any]]:
    return (table for table in given if isinstance(table, Mapping)) if isinstance(given, list) else ()
