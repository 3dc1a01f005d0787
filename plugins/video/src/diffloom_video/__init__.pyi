from diffloom_video.kinds import (
    SEGMENTERS as SEGMENTERS,
    VIDEO_READERS as VIDEO_READERS,
    get_segmenter as get_segmenter,
    get_video_reader as get_video_reader,
)
from diffloom_video.readers import (
    ImageFolder as ImageFolder,
    VideoFile as VideoFile,
    VideoReader as VideoReader,
)
from diffloom_video.reading import read_masks as read_masks, read_video as read_video
from diffloom_video.segmentation import (
    BackgroundPlate as BackgroundPlate,
    ColourKey as ColourKey,
    Motion as Motion,
    Segmenter as Segmenter,
    segment as segment,
)
