from diffloom_motion.clips import Clip as Clip
from diffloom_motion.files import (
    LoadedMotion as LoadedMotion,
    MotionExperiment as MotionExperiment,
    build_motion as build_motion,
    load_motion as load_motion,
)
from diffloom_motion.fits import (
    MotionEstimate as MotionEstimate,
    MotionResult as MotionResult,
    MotionStage as MotionStage,
    fit_motion as fit_motion,
)
from diffloom_motion.problem import (
    MotionProblem as MotionProblem,
    Rules as Rules,
)
from diffloom_motion.recordings import Recording as Recording
from diffloom_motion.schema import MotionKind as MotionKind
from diffloom_motion.scoring import (
    Score as Score,
    score as score,
)
from diffloom_motion.unknowns import (
    Own as Own,
    Shared as Shared,
)
