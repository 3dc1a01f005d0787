"""Datasets: videos of an experiment with random values, written in shards, with a datasheet."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom import batch_surface, simulate
from diffloom.interfaces import BatchError, InputError, NoGradient, SimulationError
from diffloom.regular_files import read_bytes, read_text
from diffloom.validation import check_choice
from diffloom_experiments import Loaded, build_renderer, build_scene, build_truth, load_data, load_file
from diffloom_experiments.changes import read_experiment
from diffloom_experiments.run_folder import collect_versions
from diffloom_fitting.files import explain_errors, write_bytes, write_text
from diffloom_fitting.scene import MOST_SCENES, Scene, Sensor, draw_batch, join_scenes, sample_times
from diffloom_fitting.targets import list_video_times
from diffloom_scale.engines import Engine, LocalPool
from diffloom_scale.video_dataset import MOST_SHARD, MOST_TOLD

__all__ = ["Recipe", "make_dataset"]


def format_datasheet(about: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> str:
    """Return a page on a dataset: its content, its making, and the distribution of every random value (Gebru et al.
    2021).
    """
    failed = sum(sample["failed"] is not None for sample in samples)
    height, width = about["size"]
    lines = [
        f"# {about['title']}: dataset",
        "",
        f"{about['count']} videos of {about['frames']} frames, {width} x {height}, "
        f"{about['bytes'] / 2**20:.1f} MiB in {len(about['shards'])} shards.",
        f"{failed} of them could not be simulated; they have no video, and their JSON gives the reason."
        if failed
        else "",
        "",
        f"* Made by `{about['command']}` from {about['file']}, with the seeds {about['seed']} to "
        f"{about['seed'] + about['count'] - 1}: sample k depends on the file, the library versions and seed "
        f"{about['seed']} + k alone, not on shards, workers or the order of work.",
        "* Each shard is a tar file in the layout of WebDataset: `<index>.json` with the true values, and "
        f"`<index>.{about['format']}`.",
        "* Nothing was recorded: all images are synthetic, of no person and no place.",
        "",
        "## Values",
        "",
        "| value | unit | drawn | mean | deviation | least | quarter | median | three quarters | most |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in about["units"]:
        numbers = np.concatenate([np.ravel(sample["values"][name]) for sample in samples])
        parts = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        figures = [numbers.mean(), numbers.std(), *parts]
        drawn = f"`{json.dumps(about['draws'].get(name))}`"
        lines.append(f"| {name} | {about['units'][name]} | {drawn} | " + " | ".join(f"{n:.4g}" for n in figures) + " |")
    lines += ["", "## Made with", "", *(f"* {name} {number}" for name, number in about["versions"].items())]
    return "\n".join(lines) + "\n"


Frames = NDArray[np.uint8]
#: Keys of a file that differ between videos of one scene.
_DRAWN_LATE = ("seed", "truth", "unknowns")


@dataclass(frozen=True)
class SimulatedVideo:
    """Video of one sample.

    frames: (frames, height, width, 3). values: the true values by name. model: the file's table with the random values.
    failed: reason why there is no video of these values, or None.
    """

    index: int
    frames: Frames
    times: list[float]
    values: dict[str, Any]
    model: dict[str, Any]
    failed: str | None = None


def draw_videos(files: Sequence[tuple[int, Loaded]]) -> list[SimulatedVideo]:
    """Return the videos of some indices, in their order. files: pairs of an index and the file with its random
    values.
    """
    groups: dict[str, list[tuple[int, Loaded]]] = {}
    for index, loaded in files:
        groups.setdefault(_group_key(loaded), []).append((index, loaded))
    found: list[SimulatedVideo] = []
    with torch.no_grad():
        for members in groups.values():
            scene = _build_scene(members[0][1])
            for first in range(0, len(members), MOST_SCENES):
                found += _draw_together(scene, members[first : first + MOST_SCENES])
    return sorted(found, key=lambda video: video.index)


def _group_key(loaded: Loaded) -> str:
    """Return a text that is equal for files of one scene."""
    return json.dumps({k: v for k, v in loaded.raw.items() if k not in _DRAWN_LATE}, sort_keys=True, default=str)


def _build_scene(loaded: Loaded) -> Scene:
    """Return the scene of a file, with the renderer of its target."""
    if loaded.content.views:
        raise InputError(f"{loaded.name}: dataset: got several views; expected one camera")
    table = loaded.content.target
    if table is not None and table.video is not None:
        raise InputError(f"{loaded.name}: dataset: target.video is a recording; expected a synthesised target")
    scene = build_scene(loaded)
    renderer = None if table is None else table.renderer
    return scene if renderer is None else scene.with_renderer(build_renderer(loaded, renderer))


def _draw_together(scene: Scene, members: Sequence[tuple[int, Loaded]]) -> list[SimulatedVideo]:
    """Return the videos of one scene, simulated in a batch where that is possible."""
    values = [build_truth(loaded, scene) for _, loaded in members]
    table = members[0][1].content.target
    rate = 1.0 / scene.dt if table is None or table.rate is None else float(table.rate)
    offset = scene.viewpoint.time_offset
    times = list_video_times(scene.steps * scene.dt, offset, rate)
    failed: list[str | None] = [None] * len(members)
    pixels = _simulate_batch(scene, values, times + offset)
    if pixels is None:
        pixels = [np.zeros((0, *scene.size, 3), np.uint8)] * len(members)
        for k, value in enumerate(values):
            try:
                image = scene.render(value, times + offset, ("rgba",), NoGradient()).image
                assert image is not None
                pixels[k] = image.bytes()[..., :3].numpy()
            except SimulationError as error:
                failed[k] = str(error)
    return [
        SimulatedVideo(
            index, pixels[k], times.tolist(), {name: value.tolist() for name, value in values[k].items()},
            dict(loaded.raw.get("model", {})), failed[k],
        )
        for k, (index, loaded) in enumerate(members)
    ]  # fmt: skip


def _simulate_batch(scene: Scene, values: Sequence[dict[str, Tensor]], times: Tensor) -> list[Frames] | None:
    """Return the frames of each video, or None where they cannot be simulated in a batch."""
    # A shutter needs separate times for each video, which a batch does not have.
    plain = scene.viewpoint.sensor == Sensor()
    params = join_scenes(scene, values) if len(values) > 1 and plain else None
    if params is None:
        return None
    sampling = sample_times(times, scene.dt, scene.steps)
    try:
        path = simulate(
            scene.model, params, dt=scene.dt, steps=sampling.save[-1], save=sampling.save, integrator=scene.integrator,
            gradient=NoGradient(), control=scene.make_control({}, sampling.save[-1]),
        )  # fmt: skip
        drawn = draw_batch(scene, path, batch_surface(scene.model, path, params), sampling, ("rgba",))
        return [image.bytes()[..., :3].numpy() for image, _ in drawn]
    except (SimulationError, BatchError):
        return None


FORMATS = ("mp4", "npz")


@dataclass(frozen=True)
class ShardTask:
    """Task of a worker: the file's text, changes to it, and the indices to make.

    Files that it names, such as meshes, must be found from its folder by every worker.
    """

    file: str
    text: str
    settings: tuple[str, ...]
    quick: bool
    seed: int
    first: int
    count: int
    format: str
    threads: int | None = None


def make_shard(task: ShardTask) -> bytes:
    """Return the tar file of a shard."""
    import torch

    if task.threads is not None:
        torch.set_num_threads(task.threads)
    raw = tomllib.loads(task.text)
    videos = draw_videos([(index, _load(task, index, raw)) for index in range(task.first, task.first + task.count)])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for video in videos:
            for name, content in _list_members(video, task):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _load(task: ShardTask, index: int, raw: dict[str, Any]) -> Loaded:
    """Return the file with the random values of one sample."""
    place = Path(task.file)
    changes = {"seed": task.seed + index}
    return load_data(raw, place.parent, place.name, settings=task.settings, changes=changes, quick=task.quick)


def _list_members(video: SimulatedVideo, task: ShardTask) -> list[tuple[str, bytes]]:
    """Return names and contents of a sample's files."""
    key = f"{video.index:08d}"
    told = {
        "index": video.index, "seed": task.seed + video.index, "values": video.values, "times": video.times,
        "model": video.model, "failed": video.failed,
    }  # fmt: skip
    members = [(f"{key}.json", json.dumps(told, sort_keys=True).encode())]
    if video.failed is None:
        members.append((f"{key}.{task.format}", encode_video(video.frames, video.times, task.format)))
    return members


def encode_video(frames: Frames, times: list[float], kind: str) -> bytes:
    """Return frames (frames, height, width, 3) as an mp4, or as a compressed, lossless npz."""
    out = io.BytesIO()
    if kind == "npz":
        np.savez_compressed(out, frames=frames)
        return out.getvalue()
    import av

    rate = 1.0 / (times[1] - times[0]) if len(times) > 1 else 1.0
    even = np.pad(frames, ((0, 0), (0, frames.shape[1] % 2), (0, frames.shape[2] % 2), (0, 0)))
    with av.open(out, "w", format="mp4", options={"fflags": "+bitexact"}) as video:
        stream = video.add_stream("libx264", rate=Fraction(rate).limit_denominator(1000))
        stream.height, stream.width = even.shape[1], even.shape[2]
        stream.pix_fmt = "yuv420p"
        # One thread, because the bytes depend on the number of threads.
        stream.options = {"crf": "16", "preset": "veryfast", "threads": "1"}
        for image in even:
            video.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        video.mux(stream.encode())
    return out.getvalue()


def compute_checksum(content: bytes) -> str:
    """Return the SHA-256 as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def read_samples(content: bytes) -> list[dict[str, Any]]:
    """Return the contents of a shard's JSON files."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        found = [(tar.extractfile(m), m.name) for m in tar.getmembers() if m.name.endswith(".json")]
        return [json.loads(file.read()) for file, _ in found if file is not None]


Watch = Callable[[int, int], None]


@dataclass(frozen=True)
class Recipe:
    """Parameters of a dataset.

    Args:
        file: Path of the experiment file.
        count: Number of samples.
        shard: Number of samples in each tar file.
        seed: Seed of the first sample; each sample has the next.
        format: Format of the videos, "mp4" or "npz" (lossless).
        settings: Changes "KEY=VALUE" of the file.
        quick: Use the file's reduced version.
    """

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
    """Make the missing shards of a dataset, and write dataset.json and datasheet.md.

    Args:
        recipe: Parameters of the dataset.
        folder: Folder to write into; made if missing.
        engine: Engine that makes the shards.
        watch: Called with the number of samples that exist, and of those made since the last call.

    Returns:
        Content of dataset.json.

    Raises:
        InputError: The folder holds another dataset.
    """
    text = read_experiment(recipe.file)
    content = compute_checksum(
        json.dumps([text, asdict(recipe), _list_libraries()], sort_keys=True, default=str).encode()
    )
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    there, missing = _find_shards(recipe, folder, content)
    done = sum(_count_samples(recipe, number) for number in there)
    watch(done, 0)
    threads = None if isinstance(engine, LocalPool) and engine.jobs <= 1 else 1
    tasks = [_make_task(recipe, text, number, threads) for number in missing]
    for k, made in engine.run(make_shard, tasks):
        number = missing[k]
        write_bytes(folder / _name_shard(number), made)
        told = {"of": content, "sha256": compute_checksum(made), "bytes": len(made), "samples": read_samples(made)}
        write_text(folder / f"{_name_shard(number)}.json", json.dumps(told) + "\n")
        done += _count_samples(recipe, number)
        watch(done, _count_samples(recipe, number))
    return _finish(recipe, folder, tomllib.loads(text))


def _list_libraries() -> dict[str, Any]:
    """Return versions of the libraries that determine the numbers, without those of the machine."""
    return {
        name: number for name, number in collect_versions().items() if name not in ("processor", "system", "threads")
    }


def _name_shard(number: int) -> str:
    return f"shard-{number:06d}.tar"


def _count_samples(recipe: Recipe, number: int) -> int:
    return min(recipe.shard, recipe.count - number * recipe.shard)


def _make_task(recipe: Recipe, text: str, number: int, threads: int | None) -> ShardTask:
    return ShardTask(
        recipe.file, text, recipe.settings, recipe.quick, recipe.seed, number * recipe.shard,
        _count_samples(recipe, number), recipe.format, threads,
    )  # fmt: skip


def _number_shards(recipe: Recipe) -> range:
    return range(-(-recipe.count // recipe.shard))


def _find_shards(recipe: Recipe, folder: Path, content: str) -> tuple[list[int], list[int]]:
    """Return the numbers of complete shards and of those to make; InputError where they belong to another dataset."""
    there: list[int] = []
    missing: list[int] = []
    for number in _number_shards(recipe):
        try:
            told = json.loads(read_text(folder / f"{_name_shard(number)}.json", MOST_TOLD, follow=False))
            shard = read_bytes(folder / _name_shard(number), MOST_SHARD, follow=False)
            whole = compute_checksum(shard) == told["sha256"]
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


def _read_records(recipe: Recipe, folder: Path) -> Iterator[dict[str, Any]]:
    for number in _number_shards(recipe):
        told = json.loads(read_text(folder / f"{_name_shard(number)}.json", MOST_TOLD, follow=False))
        yield {"name": _name_shard(number), **{key: told[key] for key in ("sha256", "bytes", "samples")}}


def _finish(recipe: Recipe, folder: Path, raw: dict[str, Any]) -> dict[str, Any]:
    """Write dataset.json and the datasheet; return the content of dataset.json."""
    records = list(_read_records(recipe, folder))
    samples = [sample for record in records for sample in record["samples"]]
    loaded = load_file(recipe.file, settings=recipe.settings, changes={"seed": recipe.seed}, quick=recipe.quick)
    scene = build_scene(loaded)
    units = {spec.name: spec.unit for spec in scene.model.specs}
    about = {
        "title": loaded.content.title, "file": Path(recipe.file).name, "seed": recipe.seed, "count": recipe.count,
        "format": recipe.format, "size": list(scene.size), "frames": len(samples[0]["times"]),
        "bytes": sum(record["bytes"] for record in records),
        "units": {name: units.get(name, "") for name in loaded.content.truth},
        "draws": raw.get("truth", {}), "versions": _list_libraries(),
        "command": f"diffloom dataset {Path(recipe.file).name} --count {recipe.count} --seed {recipe.seed}",
        "shards": [{key: record[key] for key in ("name", "sha256", "bytes")} for record in records],
    }  # fmt: skip
    write_text(folder / "dataset.json", json.dumps(about, indent=1) + "\n")
    write_text(folder / "datasheet.md", format_datasheet(about, samples))
    return about
