"""Kinds of things that diffloom-video lets plugins register."""

from diffloom.plugins import Kind

SEGMENTERS = Kind(
    "segmenters",
    "segmenter",
    "diffloom_video.segmentation:Segmenter",
    "Segmenters: classes that implement ``diffloom_video.Segmenter``.",
)
VIDEO_READERS = Kind(
    "video_readers",
    "video reader",
    "diffloom_video.readers:VideoReader",
    "Video readers: classes that implement ``diffloom_video.VideoReader``.",
)

get_segmenter = SEGMENTERS.get
get_video_reader = VIDEO_READERS.get
