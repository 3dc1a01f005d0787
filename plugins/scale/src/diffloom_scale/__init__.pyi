from diffloom_scale.datasets import VideoDataset as VideoDataset
from diffloom_scale.kinds import (
    LOGGERS as LOGGERS,
)
from diffloom_scale.kinds import (
    get_logger as get_logger,
)
from diffloom_scale.kinds import (
    loggers as loggers,
)
from diffloom_scale.loggers import Logger as Logger
