from diffloom_scale.distributed import (
    Sent as Sent,
    grid_on as grid_on,
    starts_on as starts_on,
)
from diffloom_scale.kinds import (
    LOGGERS as LOGGERS,
    get_logger as get_logger,
)
from diffloom_scale.loggers import Logger as Logger
from diffloom_scale.video_dataset import VideoDataset as VideoDataset
