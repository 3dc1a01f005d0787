from diffloom_video.kinds import (
    SEGMENTERS as SEGMENTERS,
)
from diffloom_video.kinds import (
    VIDEO_READERS as VIDEO_READERS,
)
from diffloom_video.kinds import (
    get_segmenter as get_segmenter,
)
from diffloom_video.kinds import (
    get_video_reader as get_video_reader,
)
from diffloom_video.kinds import (
    segmenters as segmenters,
)
from diffloom_video.kinds import (
    video_readers as video_readers,
)
from diffloom_video.masks import read_masks as read_masks
from diffloom_video.readers import (
    ImageFolder as ImageFolder,
)
from diffloom_video.readers import (
    VideoFile as VideoFile,
)
from diffloom_video.readers import (
    VideoReader as VideoReader,
)
from diffloom_video.reading import read_video as read_video
from diffloom_video.segmentation import (
    BackgroundPlate as BackgroundPlate,
)
from diffloom_video.segmentation import (
    ColourKey as ColourKey,
)
from diffloom_video.segmentation import (
    Motion as Motion,
)
from diffloom_video.segmentation import (
    Segmenter as Segmenter,
)
from diffloom_video.segmentation import (
    segment as segment,
)
