from diffloom_scale.kinds import (
    LOGGERS as LOGGERS,
    get_logger as get_logger,
)
from diffloom_scale.loggers import Logger as Logger
from diffloom_scale.video_dataset import VideoDataset as VideoDataset
