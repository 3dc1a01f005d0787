"""From a file on disk to checked data."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diffloom.interfaces import InputError
from diffloom_fitting.files.draws import resolve_draws
from diffloom_fitting.files.errors import explain
from diffloom_fitting.files.overrides import override, parse_setting
from diffloom_fitting.files.schema import ExperimentFile, RendererTable
from diffloom_fitting.files.terms import with_dotted_names


@dataclass(frozen=True)
class Loaded:
    """A checked file. raw: its data with all changes and draws put in. folder: what relative paths start from."""

    content: ExperimentFile
    raw: dict[str, Any]
    folder: Path
    name: str


def load_file(
    path: str | Path, *, settings: Sequence[str] = (), changes: Mapping[str, Any] | None = None, quick: bool = False
) -> Loaded:
    """Read and check an experiment file.

    settings: texts such as "camera.size=[64,64]". changes: the same as values by place. quick: put the file's own
    [quick] table in first, a reduced version for a try. Its [foreign] table is put in when another renderer than the
    fit's draws the film.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"experiment {str(path)!r}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"experiment {str(path)!r}: cannot be read ({error})") from error
    try:
        raw: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{place.name}: this is not valid TOML: {error}") from error
    return load_data(raw, place.parent, place.name, settings=settings, changes=changes, quick=quick)


def load_data(
    raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None, quick: bool = False,
) -> Loaded:  # fmt: skip
    """The same from data at hand."""
    data = dict(raw)
    short, foreign = _asides(data, name)
    try:
        if quick:
            data = override(data, short)
        wanted = {**dict(parse_setting(text) for text in settings), **dict(changes or {})}
        if foreign and _is_foreign(data, wanted):
            data = override(data, foreign)
        data = with_dotted_names(override(data, wanted))
        seed = data.get("seed", 0)
        data = resolve_draws(data, seed if isinstance(seed, int) else 0)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    try:
        content = ExperimentFile.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name} cannot be used:\n{explain(error, ExperimentFile)}") from error
    return Loaded(content, data, folder, name)


def _asides(data: dict[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The tables of changes that a file brings along, taken out of it: [quick] and [foreign]."""
    found: list[Mapping[str, Any]] = []
    for table in ("quick", "foreign"):
        changes = data.pop(table, {})
        if not isinstance(changes, Mapping):
            raise InputError(f'{name}: {table}: got {changes!r}; expected a table such as {{"camera.size" = [64, 64]}}')
        found.append(changes)
    return found


def _is_foreign(data: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Whether, with these changes, another renderer than the fit's draws the film."""
    said = override(data, {place: value for place, value in changes.items() if place in ("target", "renderer")})
    named = {}
    for table, key, otherwise in (("target", "renderer", None), ("renderer", "name", RendererTable().name)):
        found = said.get(table)
        own = found.get(key, otherwise) if isinstance(found, Mapping) else otherwise
        named[table] = changes.get(f"{table}.{key}", own)
    return named["target"] is not None and named["target"] != named["renderer"]
