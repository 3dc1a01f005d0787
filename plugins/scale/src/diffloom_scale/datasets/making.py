"""Making a dataset: shards on an engine, those that are there left as they are, and what is told of the whole."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from diffloom.interfaces import InputError
from diffloom.validation import check_choice
from diffloom_experiments import build_scene, load_file
from diffloom_experiments.run_folder.versions import versions
from diffloom_fitting.file_writing import explained, write_bytes, write_text
from diffloom_scale.datasets.datasheet import datasheet
from diffloom_scale.datasets.shards import FORMATS, ShardTask, checksum, make_shard, samples_of
from diffloom_scale.engines import Engine
from diffloom_scale.engines.local import LocalPool

Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Recipe:
    """What to make: ``count`` samples of a file, from ``seed`` on, ``shard`` of them in each tar file."""

    file: str
    count: int
    shard: int = 100
    seed: int = 0
    format: str = "mp4"
    settings: tuple[str, ...] = ()
    quick: bool = False

    def __post_init__(self) -> None:
        check_choice("dataset: --format", self.format, FORMATS)
        for name in ("count", "shard"):
            if getattr(self, name) < 1:
                raise InputError(f"dataset: --{name}: got {getattr(self, name)}; expected 1 or more")


def make_dataset(recipe: Recipe, folder: Path, engine: Engine, watch: Watch) -> dict[str, Any]:
    """Make what is missing of a dataset, and write dataset.json and datasheet.md. watch: told (samples that are there,
    those made just now)."""
    text = Path(recipe.file).read_text(encoding="utf-8")
    content = checksum(json.dumps([text, asdict(recipe), _libraries()], sort_keys=True, default=str).encode())
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    there, missing = _there(recipe, folder, content)
    done = sum(_size(recipe, number) for number in there)
    watch(done, 0)
    threads = None if isinstance(engine, LocalPool) and engine.jobs <= 1 else 1
    tasks = [_task(recipe, text, number, threads) for number in missing]
    for k, made in engine.run(make_shard, tasks):
        number = missing[k]
        write_bytes(folder / _name(number), made)
        told = {"of": content, "sha256": checksum(made), "bytes": len(made), "samples": samples_of(made)}
        write_text(folder / f"{_name(number)}.json", json.dumps(told) + "\n")
        done += _size(recipe, number)
        watch(done, _size(recipe, number))
    return _finish(recipe, folder, tomllib.loads(text))


def _libraries() -> dict[str, Any]:
    """Versions of what makes the numbers; they do not depend on the machine."""
    return {name: number for name, number in versions().items() if name not in ("processor", "system", "threads")}


def _name(number: int) -> str:
    return f"shard-{number:06d}.tar"


def _size(recipe: Recipe, number: int) -> int:
    return min(recipe.shard, recipe.count - number * recipe.shard)


def _task(recipe: Recipe, text: str, number: int, threads: int | None) -> ShardTask:
    return ShardTask(
        recipe.file, text, recipe.settings, recipe.quick, recipe.seed, number * recipe.shard, _size(recipe, number),
        recipe.format, threads,
    )  # fmt: skip


def _shards(recipe: Recipe) -> range:
    return range(-(-recipe.count // recipe.shard))


def _there(recipe: Recipe, folder: Path, content: str) -> tuple[list[int], list[int]]:
    """Shards that are whole, and those to make; InputError where they are of something else."""
    there: list[int] = []
    missing: list[int] = []
    for number in _shards(recipe):
        try:
            told = json.loads((folder / f"{_name(number)}.json").read_text(encoding="utf-8"))
            whole = checksum((folder / _name(number)).read_bytes()) == told["sha256"]
        except (OSError, ValueError, KeyError):
            missing.append(number)
            continue
        if told.get("of") != content:
            raise InputError(
                f"{str(folder)!r} holds a dataset of another file, other settings or other library versions; choose "
                "another --out, or remove it"
            )
        (there if whole else missing).append(number)
    return there, missing


def _records(recipe: Recipe, folder: Path) -> Iterator[dict[str, Any]]:
    for number in _shards(recipe):
        told = json.loads((folder / f"{_name(number)}.json").read_text(encoding="utf-8"))
        yield {"name": _name(number), **{key: told[key] for key in ("sha256", "bytes", "samples")}}


def _finish(recipe: Recipe, folder: Path, raw: dict[str, Any]) -> dict[str, Any]:
    """Write what is told of the whole; the same as data."""
    records = list(_records(recipe, folder))
    samples = [sample for record in records for sample in record["samples"]]
    loaded = load_file(recipe.file, settings=recipe.settings, changes={"seed": recipe.seed}, quick=recipe.quick)
    scene = build_scene(loaded)
    units = {spec.name: spec.unit for spec in scene.model.specs}
    about = {
        "title": loaded.content.title, "file": Path(recipe.file).name, "seed": recipe.seed, "count": recipe.count,
        "format": recipe.format, "size": list(scene.size), "frames": len(samples[0]["times"]),
        "bytes": sum(record["bytes"] for record in records),
        "units": {name: units.get(name, "") for name in loaded.content.truth},
        "draws": raw.get("truth", {}), "versions": _libraries(),
        "command": f"diffloom dataset {Path(recipe.file).name} --count {recipe.count} --seed {recipe.seed}",
        "shards": [{key: record[key] for key in ("name", "sha256", "bytes")} for record in records],
    }  # fmt: skip
    write_text(folder / "dataset.json", json.dumps(about, indent=1) + "\n")
    write_text(folder / "datasheet.md", datasheet(about, samples))
    return about
