"""A compressed video: the clip of `diffloom demo`, an mp4 with all its artefacts, read and shown frame by frame."""

import sys
from importlib.resources import as_file, files

import torch

from diffloom_studio import write_frames
from diffloom_video import read_video

with as_file(files("diffloom_studio").joinpath("demo", "clip.mp4")) as clip:
    video = read_video(clip, size=(72, 96))
print(f"{len(video)} frames in {float(video.times[-1]):.2f} s")
moments = torch.linspace(0, len(video) - 1, 8).round().long()
large = video.frames[moments].repeat_interleave(2, dim=1).repeat_interleave(2, dim=2)
write_frames(sys.argv[1] if len(sys.argv) > 1 else "compressed_video.png", large, columns=4)
