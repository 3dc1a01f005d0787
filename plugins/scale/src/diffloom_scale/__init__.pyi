from diffloom_scale.datasets import VideoDataset as VideoDataset
from diffloom_scale.kinds import (
    LOGGERS as LOGGERS,
    get_logger as get_logger,
)
from diffloom_scale.loggers import Logger as Logger
