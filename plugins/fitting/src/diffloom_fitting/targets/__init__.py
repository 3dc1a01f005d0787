"""What a fit is to match: videos and masks from files, or a video synthesised with true values."""

from diffloom_fitting.targets.several import Targets
from diffloom_fitting.targets.synthesis import synthesise, synthesise_views
from diffloom_fitting.targets.target import Target

__all__ = [
    "Target",
    "Targets",
    "synthesise",
    "synthesise_views",
]
