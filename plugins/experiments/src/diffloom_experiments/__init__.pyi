from diffloom_experiments.build import (
    build_renderer as build_renderer,
    build_scene as build_scene,
)
from diffloom_experiments.environments import make_env as make_env
from diffloom_experiments.experiments import build_experiment as build_experiment
from diffloom_experiments.kinds import (
    EXPERIMENT_KINDS as EXPERIMENT_KINDS,
    ExperimentKind as ExperimentKind,
)
from diffloom_experiments.load import (
    Loaded as Loaded,
    MissingDataError as MissingDataError,
    generator_for as generator_for,
    load_data as load_data,
    load_file as load_file,
    resolve_draws as resolve_draws,
)
from diffloom_experiments.run_folder import RunFolder as RunFolder
from diffloom_experiments.schema import ExperimentFile as ExperimentFile
from diffloom_experiments.starts import build_truth as build_truth
