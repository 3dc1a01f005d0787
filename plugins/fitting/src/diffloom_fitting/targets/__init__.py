"""What a fit is to match: videos and masks from files, or a video synthesised with true values."""

from diffloom_fitting.targets.confidence import doubled, without_repeats
from diffloom_fitting.targets.masks import with_masks
from diffloom_fitting.targets.several import AnyTarget, Targets, with_truth
from diffloom_fitting.targets.synthesis import synthesise, synthesise_views, true_values, video_times
from diffloom_fitting.targets.target import Target, tracked
from diffloom_fitting.targets.tracks import Ruler

__all__ = [
    "AnyTarget",
    "Ruler",
    "Target",
    "Targets",
    "doubled",
    "synthesise",
    "synthesise_views",
    "tracked",
    "true_values",
    "video_times",
    "with_masks",
    "with_truth",
    "without_repeats",
]
