"""Reading of experiment files: checks, draws, and locations of data files."""

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
from diffloom_fitting.validation import check_path as given_place

VARIABLE = "DIFFLOOM_REAL_DATA"


class MissingDataError(InputError):
    """Data that is not part of the project is not available."""


def data_path(folder: Path, name: str) -> Path:
    """Return the path of a data file: relative to ``folder``, or to the folder of the environment variable in
    its name.
    """
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


#: Tables whose draws wait for the model, on which their shapes depend.
LATE = ("truth", "unknowns")


def generator_for(seed: int, place: str) -> torch.Generator:
    """Return the random generator that belongs to a seed and a place.

    Args:
        seed: Seed of the file.
        place: Dotted key, such as "unknowns.mass.start".

    Returns:
        Generator, seeded by a hash of both.
    """
    digest = hashlib.sha256(f"{seed}:{place}".encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:7], "little"))


def draw(value: Mapping[str, Any], seed: int, place: str, shape: Sequence[int] = ()) -> Any:
    """Return a drawn value: a number, a float64 tensor of ``shape``, or one of the choices."""
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
    """Return the value opposite a drawn number in the range of its draw; a choice is unchanged."""
    kind = next(k for k in DRAWS if k in value)
    if kind == "choice":
        return drawn
    first, second = (float(n) for n in value[kind])
    if kind == "normal":
        return 2.0 * first - drawn
    return first * second / drawn if kind == "log_uniform" else first + second - drawn


def _uniform(low: float, high: float, shape: Sequence[int], generator: torch.Generator) -> Tensor:
    """Return uniformly distributed numbers."""
    return low + (high - low) * torch.rand(list(shape), generator=generator, dtype=torch.float64)


def resolve_draws(raw: Any, seed: int, place: str = "", late: Sequence[str] = LATE) -> Any:
    """Return a file's data with every draw replaced by its value.

    Args:
        raw: Data of the file.
        seed: Seed of the file.
        place: Dotted key of ``raw`` in the file.
        late: Top-level tables whose draws are kept, because their shapes depend on the model.

    Returns:
        Data without draws.
    """
    if is_draw(raw):
        # A draw in [target.scene] has the seed of the same key outside of it.
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


#: Variant that applies automatically, and the tables that name renderers.
CROSS_RENDERER = "cross_renderer"
_RENDERER_TABLES = ("renderer", "target", "views")


@dataclass(frozen=True)
class Loaded:
    """Checked experiment file.

    Args:
        content: Tables as objects.
        raw: Data with all changes and draws.
        folder: Folder of relative paths.
        name: Name of the file, for messages.
    """

    content: ExperimentFile
    raw: dict[str, Any]
    folder: Path
    name: str


def load_file(
    path: str | Path, *, settings: Sequence[str] = (), changes: Mapping[str, Any] | None = None, quick: bool = False,
    variants: Sequence[str] = (),
) -> Loaded:  # fmt: skip
    """Read and check an experiment file.

    loaded = load_file("experiment.toml", settings=["camera.size=[64,64]"], quick=True)

    The variant "cross_renderer" applies if another renderer than the fit's renders a synthesised video.

    Args:
        path: Path of the TOML file.
        settings: Changes as texts, such as "camera.size=[64,64]".
        changes: Changes as values by dotted key; they win over ``settings``.
        quick: True to apply the variant "quick", a reduced version of the file.
        variants: Names of further [variants.*] tables to apply, in this order.

    Returns:
        Checked file.

    Raises:
        InputError: The file cannot be read, or a value is wrong; one line per fault.
    """
    place = given_place("load_file", path)
    raw = read_toml(place)
    return load_data(raw, place.parent, place.name, settings=settings, changes=changes, quick=quick, variants=variants)


def load_data(
    raw: Mapping[str, Any], folder: Path, name: str, *, settings: Sequence[str] = (),
    changes: Mapping[str, Any] | None = None, quick: bool = False, variants: Sequence[str] = (),
) -> Loaded:  # fmt: skip
    """Check the data of an experiment file.

    Args:
        raw: Tables of the file.
        folder: Folder of relative paths.
        name: Name of the file, for messages.
        settings: Changes as texts, such as "camera.size=[64,64]".
        changes: Changes as values by dotted key; they win over ``settings``.
        quick: True to apply the variant "quick".
        variants: Names of further [variants.*] tables to apply, in this order.

    Returns:
        Checked file.

    Raises:
        InputError: A value is wrong; one line per fault.
    """
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
    """Return True if, with these changes, another renderer than the fit's renders a target."""
    changed = override(
        data, {place: value for place, value in changes.items() if place.split(".")[0] in _RENDERER_TABLES}
    )
    fit = _get_entry(changed.get("renderer"), "name", RendererTable().name)
    common = _get_entry(changed.get("target"), "renderer", None)
    views = changed.get("views") or [{}]
    drawn = [_get_entry(view.get("target"), "renderer", common) for view in views if isinstance(view, Mapping)]
    return any(name not in (None, fit) for name in drawn)


def _get_entry(table: Any, key: str, otherwise: Any) -> Any:
    """Return an entry of a table that may be absent or malformed."""
    return table.get(key, otherwise) if isinstance(table, Mapping) else otherwise
