"""Masks: where the object is in each frame."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from diffloom.interfaces import InputError
from diffloom_fitting.targets.target import Target
from diffloom_video.folder import images_in, read_image
from diffloom_video.reading import read_video
from diffloom_video.resize import resize


def read_masks(target: Target, path: str | Path, *, dtype: torch.dtype = torch.float32) -> Target:
    """``target`` with masks, from a video or a folder of grey images, one per frame of the target; white is object."""
    place = Path(path)
    if not place.exists():
        raise InputError(f"masks {str(path)!r}: no such file or folder")
    if place.is_dir():
        found = [torch.from_numpy(read_image(p, "L")).to(dtype)[..., None] / 255.0 for p in images_in(place)]
    else:
        frames = read_video(place, dtype=dtype).frames
        assert frames is not None
        found = [frame.mean(dim=-1, keepdim=True) for frame in frames]
    if len(found) != len(target):
        raise InputError(f"masks {str(path)!r}: got {len(found)} masks for {len(target)} frames; expected one each")
    size = target.size
    scaled = found if size is None else [resize(mask, size) for mask in found]
    return replace(target, masks=torch.stack(scaled)[..., 0])
