"""Measured motion: fits of models to recorded poses and markers, many clips at once."""

from diffloom_fitting.motion.clips import Clip
from diffloom_fitting.motion.fits import MotionEstimate, MotionResult, MotionStage, fit_motion
from diffloom_fitting.motion.problem import MotionProblem, Rules
from diffloom_fitting.motion.recordings import Recording
from diffloom_fitting.motion.scoring import Score, score
from diffloom_fitting.motion.unknowns import Own, Shared

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
