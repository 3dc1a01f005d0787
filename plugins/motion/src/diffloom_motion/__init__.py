"""Measured motion: fits of models to recorded poses and markers, many clips at once."""

from diffloom_motion.clips import Clip
from diffloom_motion.fits import MotionEstimate, MotionResult, MotionStage, fit_motion
from diffloom_motion.problem import MotionProblem, Rules
from diffloom_motion.recordings import Recording
from diffloom_motion.scoring import Score, score
from diffloom_motion.unknowns import Own, Shared

__all__ = [
    "Clip",
    "MotionEstimate",
    "MotionProblem",
    "MotionResult",
    "MotionStage",
    "Own",
    "Recording",
    "Rules",
    "Score",
    "Shared",
    "fit_motion",
    "score",
]
