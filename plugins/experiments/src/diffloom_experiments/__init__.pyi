from diffloom_experiments.build import build_scene as build_scene
from diffloom_experiments.environments import make_env as make_env
from diffloom_experiments.experiments import build_experiment as build_experiment
from diffloom_experiments.load import (
    Loaded as Loaded,
    load_file as load_file,
)
from diffloom_experiments.run_folder import RunFolder as RunFolder
from diffloom_experiments.schema import ExperimentFile as ExperimentFile
