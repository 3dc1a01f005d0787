"""What moved, as files that other programs read."""

from diffloom_studio.exports.export import FORMATS, export

__all__ = ["FORMATS", "export"]
