"""Registrations of diffloom-video, by import path, so that nothing heavy is imported before it is used."""

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
    register("video", "diffloom_video.readers:VideoFile", summary="mp4, gif and all else that FFmpeg decodes")
    register("folder", "diffloom_video.readers:ImageFolder", summary="A folder of images")


@hookimpl
def diffloom_register_segmenters(register: Register) -> None:
    """Register the segmenters."""
    register(
        "plate", "diffloom_video.segmentation:BackgroundPlate", summary="Pixels that differ from a background plate"
    )
    register("colour", "diffloom_video.segmentation:ColourKey", summary="Pixels of a colour")
    register("motion", "diffloom_video.segmentation:Motion", summary="Pixels that differ from frames before and after")


@hookimpl
def diffloom_register_target_readers(register: Register) -> None:
    """Register the reader of paths given to `fit`."""
    register("video", "diffloom_video.reading:read_for_scene", summary="A video or a folder of images")


@hookimpl
def diffloom_register_diagnostics(register: Register) -> None:
    """Register the doctor's finding on PyAV."""
    register("video-libraries", "diffloom_video.doctor:libraries", summary="PyAV")
