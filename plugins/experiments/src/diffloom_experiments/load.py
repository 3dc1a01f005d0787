"""From a file on disk to checked data."""

from __future__ import annotations

import copy
import tomllib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diffloom.interfaces import InputError
from diffloom.validation import nearest
from diffloom_experiments.draws import resolve_draws
from diffloom_experiments.errors import explain
from diffloom_experiments.overrides import override, parse_setting
from diffloom_experiments.schema import ExperimentFile, RendererTable
from diffloom_experiments.terms import with_dotted_names
from diffloom_fitting.validation import place as given_place

#: The variant that is put in by itself, and the tables that say who draws.
CROSS_RENDERER = "cross_renderer"
#: Largest experiment file that is read [bytes].
MOST_BYTES = 16 * 2**20
_DRAWING = ("renderer", "target", "views")


@dataclass(frozen=True)
class Loaded:
    """A checked file. raw: its data with all changes and draws put in. folder: what relative paths start from."""

    content: ExperimentFile
    raw: dict[str, Any]
    folder: Path
    name: str


def load_file(
    path: str | Path, *, settings: Sequence[str] = (), changes: Mapping[str, Any] | None = None, quick: bool = False,
    variants: Sequence[str] = (),
) -> Loaded:  # fmt: skip
    """Read and check an experiment file.

    settings: texts such as "camera.size=[64,64]". changes: the same as values by place. variants: of
    the file's [variants.*] tables, those to put in first, in this order; quick: the one called "quick", a reduced
    version for a try. The one called "cross_renderer" is put in when another renderer than the fit's draws a video.
    """
    place = given_place("load_file", path)
    raw = read_toml(place)
    return load_data(raw, place.parent, place.name, settings=settings, changes=changes, quick=quick, variants=variants)


def read_toml(place: Path) -> dict[str, Any]:
    """The tables of a TOML file, or an InputError that says what is wrong with it."""
    try:
        if place.stat().st_size > MOST_BYTES:
            raise InputError(f"experiment {str(place)!r}: it is larger than {MOST_BYTES / 2**20:.0f} MB")
        text = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"experiment {str(place)!r}: no such file") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"experiment {str(place)!r}: cannot be read ({error})") from error
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{place.name}: this is not valid TOML: {error}") from error


def load_data(
    raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
) -> Loaded:  # fmt: skip
    """The same from data at hand."""
    data = copy.deepcopy(dict(raw))
    offered = _variants(data, name)
    try:
        for variant in (*(["quick"] if quick else []), *variants):
            data = override(data, _variant(offered, variant))
        wanted = {**dict(parse_setting(text) for text in settings), **dict(changes or {})}
        if CROSS_RENDERER in offered and _crosses_renderers(data, wanted):
            data = override(data, offered[CROSS_RENDERER])
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


def _variants(data: dict[str, Any], name: str) -> dict[str, Mapping[str, Any]]:
    """The tables of changes that a file brings along, taken out of it."""
    found = data.pop("variants", {})
    if not isinstance(found, Mapping):
        raise InputError(f"{name}: variants: got {found!r}; expected tables of changes such as [variants.quick]")
    for variant, changes in found.items():
        if not isinstance(changes, Mapping):
            given = f"{name}: variants.{variant}: got {changes!r}"
            raise InputError(f'{given}; expected a table such as {{"camera.size" = [64, 64]}}')
    return dict(found)


def _variant(offered: Mapping[str, Mapping[str, Any]], wanted: str) -> Mapping[str, Any]:
    """One of a file's variants; "quick" may be absent, and then changes nothing, which is told."""
    if wanted not in offered and wanted == "quick":
        warnings.warn("the file has no [variants.quick]: it is taken as it is", stacklevel=4)
    elif wanted not in offered:
        there = ", ".join(offered) or "none"
        raise InputError(f"variants: got {wanted!r}; expected one of the file's own, {there}{nearest(wanted, offered)}")
    return offered.get(wanted, {})


def _crosses_renderers(data: Mapping[str, Any], changes: Mapping[str, Any]) -> bool:
    """Whether, with these changes, another renderer than the fit's draws the video, or that of one of the views."""
    said = override(data, {place: value for place, value in changes.items() if place.split(".")[0] in _DRAWING})
    fit = _named(said.get("renderer"), "name", RendererTable().name)
    common = _named(said.get("target"), "renderer", None)
    views = said.get("views") or [{}]
    drawn = [_named(view.get("target"), "renderer", common) for view in views if isinstance(view, Mapping)]
    return any(name not in (None, fit) for name in drawn)


def _named(table: Any, key: str, otherwise: Any) -> Any:
    return table.get(key, otherwise) if isinstance(table, Mapping) else otherwise
