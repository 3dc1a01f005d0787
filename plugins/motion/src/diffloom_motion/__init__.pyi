from diffloom_motion.clips import Clip as Clip
from diffloom_motion.experiment import (
    MotionExperiment as MotionExperiment,
    MotionStage as MotionStage,
    fit_motion as fit_motion,
    settle as settle,
)
from diffloom_motion.files import (
    LoadedMotion as LoadedMotion,
    build_motion as build_motion,
    load_motion as load_motion,
)
from diffloom_motion.objective import (
    FrameLoss as FrameLoss,
    MotionObjective as MotionObjective,
)
from diffloom_motion.recordings import Recording as Recording
from diffloom_motion.scene import (
    MotionScene as MotionScene,
    Own as Own,
    Rules as Rules,
)
from diffloom_motion.schema import MotionKind as MotionKind
from diffloom_motion.scores import (
    Score as Score,
    score as score,
)
