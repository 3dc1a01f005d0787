from diffloom_studio.report.media import write_frames as write_frames, write_video as write_video
from diffloom_studio.report.report import write_report as write_report
