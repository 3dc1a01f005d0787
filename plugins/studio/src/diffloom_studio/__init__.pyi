from diffloom_studio.ground import (
    draw_on_ground as draw_on_ground,
    draw_surface_on_ground as draw_surface_on_ground,
)
from diffloom_studio.report import (
    write_frames as write_frames,
    write_report as write_report,
    write_video as write_video,
)
