from diffloom_video.free_swing import with_free_swing as with_free_swing
from diffloom_video.kinds import (
    SEGMENTERS as SEGMENTERS,
    VIDEO_READERS as VIDEO_READERS,
    get_segmenter as get_segmenter,
    get_video_reader as get_video_reader,
)
from diffloom_video.lost_frames import with_lost_frames as with_lost_frames
from diffloom_video.readers import ImageFolder as ImageFolder, VideoFile as VideoFile, VideoReader as VideoReader
from diffloom_video.reading import read_masks as read_masks, read_video as read_video, warn_of_cut as warn_of_cut
from diffloom_video.segmentation import (
    BackgroundPlate as BackgroundPlate,
    ColourKey as ColourKey,
    Motion as Motion,
    Segmenter as Segmenter,
    segment as segment,
)
