"""What a fit is to match: films and masks from files, or a film synthesised with true values."""

from diffloom_fitting.targets.files import read_film
from diffloom_fitting.targets.masks import read_masks
from diffloom_fitting.targets.readers import ImageFolder, VideoFile, VideoReader
from diffloom_fitting.targets.synthesis import synthesise
from diffloom_fitting.targets.target import Target

__all__ = ["ImageFolder", "Target", "VideoFile", "VideoReader", "read_film", "read_masks", "synthesise"]
