"""What a fit is to match: films and masks from files, or a film synthesised with true values."""

from diffloom_fitting.targets.files import read_film
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
    "read_film",
    "read_masks",
    "synthesise",
    "synthesise_views",
]
