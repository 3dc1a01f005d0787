"""A compressed video: the clip of `diffloom demo`, an mp4 with all its artefacts, and the mattes read from it."""

import sys
from importlib.resources import as_file, files

import torch

from diffloom_studio import write_video
from diffloom_video import read_video

with as_file(files("diffloom_studio").joinpath("demo", "clip.mp4")) as clip:
    video = read_video(clip, size=(96, 128))
print(f"{len(video)} frames in {float(video.times[-1]):.2f} s")
large = video.frames[..., :3].repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
write_video((sys.argv + ["compressed_video.webp"])[1], torch.cat([large, large[-1:].expand(8, -1, -1, -1)]), rate=15)
