"""Reader of datasets for PyTorch."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from diffloom.interfaces import InputError
from diffloom.regular_files import open_regular, read_text
from diffloom_video.limits import ReadingLimits, check_pixels, convert_errors, read_arrays

#: Largest shard and largest description of one [bytes].
MOST_SHARD, MOST_TOLD = 2**36, 2**30


class VideoDataset(Dataset[dict[str, Any]]):
    """Videos of a folder that ``diffloom dataset`` made.

    An item has ``video`` (frames, height, width, 3) uint8, ``values``, the true values by name as float64 tensors,
    ``times`` (frames,) [s] and ``index``. Videos that could not be simulated are left out.

    Args:
        folder: Folder of the dataset.

    Example:
        videos = VideoDataset("datasets/balls")
        video, mass = videos[0]["video"], videos[0]["values"]["mass"]
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.about: dict[str, Any] = json.loads(read_text(self.folder / "dataset.json", MOST_TOLD, follow=False))
        except (OSError, ValueError) as error:
            raise InputError(
                f"{str(folder)!r}: not a dataset ({error}); expected a folder with a dataset.json, made by "
                "`diffloom dataset`"
            ) from error
        self._places: list[tuple[Path, tuple[int, int], tuple[int, int]]] = []
        with convert_errors(str(folder), "a folder that `diffloom dataset` made"):
            for shard in self.about["shards"]:
                self._places += _find_samples(self.folder / Path(shard["name"]).name, self.about["format"])

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> dict[str, Any]:
        path, told, seen = self._places[number]
        with (
            convert_errors(f"{path.name}, video {number}", "a sample that `diffloom dataset` made"),
            open_regular(path, MOST_SHARD, what="shard", follow=False) as file,
        ):
            data = json.loads(_read(file, told))
            frames = _read_frames(_read(file, seen), self.about["format"], self.about["size"])
            values = {name: torch.tensor(value, dtype=torch.float64) for name, value in data["values"].items()}
            times = torch.tensor(data["times"], dtype=torch.float64)
            return {"video": frames, "values": values, "times": times, "index": data["index"]}


def _find_samples(path: Path, kind: str) -> list[tuple[Path, tuple[int, int], tuple[int, int]]]:
    """Return offsets and lengths of JSON and video of each sample in a shard."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    with (
        open_regular(path, MOST_SHARD, what="shard", follow=False) as file,
        tarfile.open(fileobj=file, mode="r:") as tar,
    ):
        for member in tar:
            key, _, suffix = member.name.partition(".")
            found.setdefault(key, {})[suffix] = (member.offset_data, member.size)
    return [(path, parts["json"], parts[kind]) for key, parts in sorted(found.items()) if {"json", kind} <= set(parts)]


def _read(file: BinaryIO, place: tuple[int, int]) -> bytes:
    """Read a part of a file."""
    file.seek(place[0])
    return file.read(place[1])


def _read_frames(content: bytes, kind: str, size: list[int]) -> Tensor:
    """Return the frames of a video."""
    if kind == "npz":
        return torch.from_numpy(read_arrays(content, "frames", ("frames",))["frames"])
    import av

    limits, frames = ReadingLimits("a sample"), []
    with av.open(io.BytesIO(content), "r") as video:
        for frame in video.decode(video=0):
            limits.count_decoded()
            check_pixels("a sample's frame", frame.width, frame.height)
            frames.append(frame.to_ndarray(format="rgb24"))
            limits.count_kept(frames[-1].nbytes)
    return torch.from_numpy(np.stack(frames)[:, : size[0], : size[1]].copy())
