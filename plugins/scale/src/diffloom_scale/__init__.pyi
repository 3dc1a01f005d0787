from diffloom_scale.distributed import (
    SentExperiment as SentExperiment,
    evaluate_grid_on as evaluate_grid_on,
    fit_starts_on as fit_starts_on,
)
from diffloom_scale.kinds import (
    LOGGERS as LOGGERS,
    get_logger as get_logger,
)
from diffloom_scale.loggers import Logger as Logger
from diffloom_scale.video_dataset import VideoDataset as VideoDataset
