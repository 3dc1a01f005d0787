"""The scene of a synthesised target, where it is not that of the fit: another model, other values, another renderer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from diffloom.interfaces import InputError
from diffloom_experiments.build import build_scene
from diffloom_experiments.errors import explain
from diffloom_experiments.load import Loaded
from diffloom_experiments.overrides import override
from diffloom_experiments.schema import ExperimentFile
from diffloom_experiments.terms import with_dotted_names
from diffloom_fitting.scene import Scene

#: Tables that make a scene; the rest of a file is about the fit.
TABLES = ("model", "terms", "params", "time", "appearance", "lights", "renderer")


def target_scene(loaded: Loaded, scene: Scene, changes: Mapping[str, Any]) -> Scene:
    """The scene of a file with the ``changes`` of [target.scene] put in, seen as ``scene`` is seen."""
    for place in changes:
        if place.split(".")[0] not in TABLES:
            raise InputError(
                f'target.scene: got {place!r}; expected places in {", ".join(TABLES)}, such as "params.friction"'
            )
    try:
        data = with_dotted_names(override(loaded.raw, changes))
        content = ExperimentFile.model_validate(data)
    except InputError as error:
        raise InputError(f"target.scene: {error}") from error
    except ValidationError as error:
        raise InputError(f"target.scene cannot be used:\n{explain(error, ExperimentFile)}") from error
    made = build_scene(replace(loaded, content=content, raw=data, name="target.scene"))
    return made.seen_from(scene.label) if content.views else made
