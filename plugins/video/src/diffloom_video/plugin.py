"""Registrations of diffloom-video. Import paths only: nothing heavy is imported before it is used."""

from diffloom.plugins import Kind, Register, hookimpl
from diffloom_video.kinds import SEGMENTERS, VIDEO_READERS

DIFFLOOM_PLUGIN_API = 3


@hookimpl
def diffloom_define_kinds() -> list[Kind]:
    """Return the kinds that this plugin defines."""
    return [SEGMENTERS, VIDEO_READERS]


@hookimpl
def diffloom_register_video_readers(register: Register) -> None:
    """Register the video readers."""
    register("video", "diffloom_video.readers:VideoFile", summary="mp4, gif and whatever else FFmpeg decodes")
    register("folder", "diffloom_video.readers:ImageFolder", summary="A folder of images")


@hookimpl
def diffloom_register_segmenters(register: Register) -> None:
    """Register the segmenters."""
    register("plate", "diffloom_video.segmentation:BackgroundPlate", summary="What differs from a background plate")
    register("colour", "diffloom_video.segmentation:ColourKey", summary="What has a colour")
    register("motion", "diffloom_video.segmentation:Motion", summary="What differs from frames before and after")


@hookimpl
def diffloom_register_target_readers(register: Register) -> None:
    """Register the reader of paths given to `fit`."""
    register("video", "diffloom_video.reading:read_for_scene", summary="A video or a folder of images")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register what the doctor says of PyAV."""
    register("video-libraries", "diffloom_video.doctor:libraries", summary="PyAV")
