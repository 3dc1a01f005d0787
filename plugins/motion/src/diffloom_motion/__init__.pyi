from diffloom_motion.clips import Clip as Clip
from diffloom_motion.experiment import (
    MotionExperiment as MotionExperiment,
    MotionStage as MotionStage,
    fit_motion as fit_motion,
    settle_starts as settle_starts,
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
    OwnStart as OwnStart,
    StartRules as StartRules,
)
from diffloom_motion.schema import MotionKind as MotionKind
from diffloom_motion.scores import (
    Score as Score,
    score_clips as score_clips,
)
