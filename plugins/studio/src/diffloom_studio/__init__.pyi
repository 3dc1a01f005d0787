from diffloom_studio.report import (
    write_frames as write_frames,
    write_report as write_report,
    write_video as write_video,
)
