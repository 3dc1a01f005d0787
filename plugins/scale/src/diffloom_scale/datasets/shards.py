"""Shards: tar files in the layout of WebDataset, one video and one JSON a sample, the same bytes every time."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tomllib
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from diffloom_experiments import Loaded
from diffloom_experiments.load import load_data
from diffloom_scale.datasets.drawing import Frames, Video, draw_videos

FORMATS = ("mp4", "npz")


@dataclass(frozen=True)
class ShardTask:
    """What a worker is told: the file's text, what is changed in it, and which indices to make. Other files that it
    names, such as meshes, must be found from its place by every worker."""

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
    """The tar file of a shard."""
    import torch

    if task.threads is not None:
        torch.set_num_threads(task.threads)
    raw = tomllib.loads(task.text)
    videos = draw_videos([(index, _loaded(task, index, raw)) for index in range(task.first, task.first + task.count)])
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for video in videos:
            for name, content in _members(video, task):
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def _loaded(task: ShardTask, index: int, raw: dict[str, Any]) -> Loaded:
    """The file as drawn for one sample."""
    place = Path(task.file)
    changes = {"seed": task.seed + index}
    return load_data(raw, place.parent, place.name, settings=task.settings, changes=changes, quick=task.quick)


def _members(video: Video, task: ShardTask) -> list[tuple[str, bytes]]:
    key = f"{video.index:08d}"
    told = {
        "index": video.index, "seed": task.seed + video.index, "values": video.values, "times": video.times,
        "model": video.model, "failed": video.failed,
    }  # fmt: skip
    members = [(f"{key}.json", json.dumps(told, sort_keys=True).encode())]
    if video.failed is None:
        members.append((f"{key}.{task.format}", encode(video.frames, video.times, task.format)))
    return members


def encode(frames: Frames, times: list[float], kind: str) -> bytes:
    """(frames, height, width, 3) as an mp4, or as a compressed npz that loses nothing."""
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
        # One thread: with more the bytes depend on how many there are.
        stream.options = {"crf": "16", "preset": "veryfast", "threads": "1"}
        for image in even:
            video.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")))
        video.mux(stream.encode())
    return out.getvalue()


def checksum(content: bytes) -> str:
    """SHA-256, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def samples_of(content: bytes) -> list[dict[str, Any]]:
    """What the JSON files of a shard say."""
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        found = [(tar.extractfile(m), m.name) for m in tar.getmembers() if m.name.endswith(".json")]
        return [json.loads(file.read()) for file, _ in found if file is not None]
