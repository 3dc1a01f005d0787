"""What a fit is to match: videos and masks from files, or a video synthesised with true values."""

from diffloom_fitting.targets.several import Targets
from diffloom_fitting.targets.synthesis import synthesise, synthesise_views
from diffloom_fitting.targets.target import Target
from diffloom_video.masks import read_masks
from diffloom_video.readers import ImageFolder, VideoFile, VideoReader
from diffloom_video.reading import read_video

__all__ = [
    "ImageFolder",
    "Target",
    "Targets",
    "VideoFile",
    "VideoReader",
    "read_masks",
    "read_video",
    "synthesise",
    "synthesise_views",
]
