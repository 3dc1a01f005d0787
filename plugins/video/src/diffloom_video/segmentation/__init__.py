"""Where the object is in each frame of a video: masks without a neural network, or by one that a plugin brings."""

from diffloom_video.segmentation.colour import ColourKey
from diffloom_video.segmentation.motion import Motion
from diffloom_video.segmentation.plate import BackgroundPlate, background_plate
from diffloom_video.segmentation.segmenter import Segmenter
from diffloom_video.segmentation.target_masks import segment

__all__ = ["BackgroundPlate", "ColourKey", "Motion", "Segmenter", "background_plate", "segment"]
