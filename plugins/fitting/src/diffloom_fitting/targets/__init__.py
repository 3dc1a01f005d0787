"""Targets of a fit: videos and masks from files, or videos synthesised with true values."""

from diffloom_fitting.targets.confidence import find_repeats, without_repeats
from diffloom_fitting.targets.masks import with_masks
from diffloom_fitting.targets.several import AnyTarget, Targets, with_truth
from diffloom_fitting.targets.synthesis import list_video_times, make_true_values, synthesise, synthesise_views
from diffloom_fitting.targets.target import Target, get_tracks
from diffloom_fitting.targets.tracks import Ruler

__all__ = [
    "AnyTarget",
    "Ruler",
    "Target",
    "Targets",
    "find_repeats",
    "get_tracks",
    "list_video_times",
    "make_true_values",
    "synthesise",
    "synthesise_views",
    "with_masks",
    "with_truth",
    "without_repeats",
]
