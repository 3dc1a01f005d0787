"""Scene and experiment files: TOML, checked, and made into objects."""

from diffloom_fitting.files.build import build_scene
from diffloom_fitting.files.build_experiment import build_experiment
from diffloom_fitting.files.load import Loaded, load_file
from diffloom_fitting.files.schema import ExperimentFile

__all__ = ["ExperimentFile", "Loaded", "build_experiment", "build_scene", "load_file"]
