"""From a file on disk to checked data: draws, and where data files lie."""

from __future__ import annotations

import copy
import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError
from torch import Tensor

from diffloom.errors import InputError
from diffloom_experiments.changes import collect_changes, override, put_variants, read_toml, take_variants
from diffloom_experiments.keys import explain_faults
from diffloom_experiments.models import flatten_part_tables
from diffloom_experiments.schema import ExperimentFile, RendererTable
from diffloom_experiments.values import DRAWS, is_draw
from diffloom_fitting.validation import place as given_place

VARIABLE = "DIFFLOOM_REAL_DATA"


class MissingDataError(InputError):
    """Data that is not part of the project is not here."""


def data_path(folder: Path, name: str) -> Path:
    """The path of a file's data: ``name`` from ``folder``, or "$DIFFLOOM_REAL_DATA/clip.mp4" from that variable's."""
    prefix = f"${VARIABLE}/"
    if not name.startswith(prefix):
        return folder / name
    root = os.environ.get(VARIABLE)
    if not root:
        raise MissingDataError(
            f"{name}: this data is not part of the project, and {VARIABLE} is not set; set it to the folder of the "
            "data, or give another file (--set target.video=clip.mp4)"
        )
    place = Path(root) / name.removeprefix(prefix)
    if not place.exists():
        raise MissingDataError(f"{name}: there is no {place.name!r} in the folder that {VARIABLE} names")
    return place


LATE = ("truth", "unknowns")  # their shapes are known only once the model is made


def generator_for(seed: int, place: str) -> torch.Generator:
    """A generator of its own for each seed and place."""
    digest = hashlib.sha256(f"{seed}:{place}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))


def draw(value: Mapping[str, Any], seed: int, place: str, shape: Sequence[int] = ()) -> Any:
    """A number, a tensor (float64) of ``shape``, or one of the choices."""
    generator = generator_for(seed, place)
    kind = next(k for k in DRAWS if k in value)
    given = value[kind]
    if kind == "choice":
        if not isinstance(given, list) or not given:
            raise InputError(f"{place}: got choice = {given!r}; expected a list of one or more values")
        return given[int(torch.randint(len(given), (), generator=generator))]
    if not (isinstance(given, list) and len(given) == 2 and all(isinstance(n, (int, float)) for n in given)):
        raise InputError(f"{place}: got {kind} = {given!r}; expected two numbers")
    first, second = (float(n) for n in given)
    if kind == "normal" and second < 0.0:
        raise InputError(f"{place}: got normal = {given!r}; expected a mean and a deviation of at least 0")
    if kind == "uniform" and first > second:
        raise InputError(f"{place}: got uniform = {given!r}; expected the lower number first")
    if kind == "normal":
        return first + second * torch.randn(list(shape), generator=generator, dtype=torch.float64)
    if kind == "log_uniform":
        if not 0.0 < first <= second:
            raise InputError(f"{place}: got log_uniform = {given!r}; expected two positive numbers")
        return torch.exp(_uniform(math.log(first), math.log(second), shape, generator))
    return _uniform(first, second, shape, generator)


def draw_opposite(value: Mapping[str, Any], drawn: Any) -> Any:
    """What lies across the middle of the range from a number that was drawn; a choice stays."""
    kind = next(k for k in DRAWS if k in value)
    if kind == "choice":
        return drawn
    first, second = (float(n) for n in value[kind])
    if kind == "normal":
        return 2.0 * first - drawn
    return first * second / drawn if kind == "log_uniform" else first + second - drawn


def _uniform(low: float, high: float, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(list(shape), generator=generator, dtype=torch.float64)


def resolve_draws(raw: Any, seed: int, place: str = "", late: Sequence[str] = LATE) -> Any:
    """Return the file's data with every draw replaced, except in the top-level tables of ``late``."""
    if is_draw(raw):
        # In [target.scene] a draw is the one that stands, or would stand, at that place of the fit.
        found = draw(raw, seed, place.removeprefix("target.scene."))
        return float(found) if isinstance(found, Tensor) else found
    if isinstance(raw, Mapping):
        return {
            key: value if not place and key in late else resolve_draws(value, seed, f"{place}.{key}" if place else key)
            for key, value in raw.items()
        }
    if isinstance(raw, list):
        return [resolve_draws(value, seed, f"{place}.{number}") for number, value in enumerate(raw)]
    return raw


#: The variant that is put in by itself, and the tables that say who draws.
CROSS_RENDERER = "cross_renderer"
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


def load_data(
    raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
) -> Loaded:  # fmt: skip
    """The same from data at hand."""
    data = copy.deepcopy(dict(raw))
    offered = take_variants(data, name)
    try:
        data = put_variants(data, offered, quick, variants)
        wanted = collect_changes(settings, changes)
        if CROSS_RENDERER in offered and _crosses_renderers(data, wanted):
            data = override(data, offered[CROSS_RENDERER])
        data = flatten_part_tables(override(data, wanted))
        seed = data.get("seed", 0)
        data = resolve_draws(data, seed if isinstance(seed, int) else 0)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error
    try:
        content = ExperimentFile.model_validate(data)
    except ValidationError as error:
        raise InputError(f"{name} cannot be used:\n{explain_faults(error, ExperimentFile)}") from error
    return Loaded(content, data, folder, name)


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
