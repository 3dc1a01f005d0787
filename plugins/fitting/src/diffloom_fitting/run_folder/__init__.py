"""The run folder: everything a fit leaves behind, each file whole or absent."""

from diffloom_fitting.run_folder.checkpoint import read_checkpoint, write_checkpoint
from diffloom_fitting.run_folder.folder import RunFolder
from diffloom_fitting.run_folder.history import read_history
from diffloom_fitting.run_folder.writing import FolderError, write_bytes, write_text

__all__ = ["FolderError", "RunFolder", "read_checkpoint", "read_history", "write_bytes", "write_checkpoint",
           "write_text"]  # fmt: skip
