"""The run folder: everything a fit leaves behind, each file whole or absent."""

from diffloom_experiments.run_folder.checkpoint import read_checkpoint, write_checkpoint
from diffloom_experiments.run_folder.folder import RunFolder
from diffloom_fitting.file_writing import FolderError, write_bytes, write_text
from diffloom_fitting.history import read_history

__all__ = ["FolderError", "RunFolder", "read_checkpoint", "read_history", "write_bytes", "write_checkpoint",
           "write_text"]  # fmt: skip
