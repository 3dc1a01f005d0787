from diffloom_studio.report.media import write_frames as write_frames
from diffloom_studio.report.report import write_report as write_report
