"""What a fit is to match: videos and masks from files, or a video synthesised with true values."""

from diffloom_fitting.targets.files import read_video
from diffloom_fitting.targets.masks import read_masks
from diffloom_fitting.targets.readers import ImageFolder, VideoFile, VideoReader
from diffloom_fitting.targets.several import Targets
from diffloom_fitting.targets.synthesis import synthesise, synthesise_views
from diffloom_fitting.targets.target import Target

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
