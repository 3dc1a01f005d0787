"""Fit the parameters of a simulation to a video.

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer

ball = get_model("fem")("ball", radius=0.3)
view = fitting.Orbit(distance=2, elevation=10, size=(48, 48))
scene = fitting.Scene(ball, get_renderer("softras")(), view, ball.params(position=[0, 0.5, 0]), dt=1e-3, steps=400)
video = fitting.read_video("clip.mp4", size=(48, 48))
print(fitting.fit(scene, video, {"shear_modulus": 2e3}))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from diffloom.deprecation import renamed_names

if TYPE_CHECKING:
    from diffloom_fitting.control.costs import ControlCosts
    from diffloom_fitting.control.features import Splines
    from diffloom_fitting.control.goals import Goal, goal_target, pose_goal
    from diffloom_fitting.control.networks import Network, network_policy
    from diffloom_fitting.control.observations import SeesImage, SeesState
    from diffloom_fitting.control.outcome import Reached
    from diffloom_fitting.control.tracks import track_target
    from diffloom_fitting.control.weights_file import load_policy, save_policy
    from diffloom_fitting.datasets import VideoDataset
    from diffloom_fitting.experiment import Experiment
    from diffloom_fitting.files import build_experiment, build_scene, load_file
    from diffloom_fitting.fits import fit, run_fit
    from diffloom_fitting.gradient_check import check_gradient
    from diffloom_fitting.loggers import Logger
    from diffloom_fitting.losses import (
        CentreError,
        InteriorError,
        IoU,
        Loss,
        Moments,
        MultiScale,
        PixelError,
        Region,
        SilhouetteError,
        StateError,
        TrackError,
    )
    from diffloom_fitting.objective import Evaluation, Objective
    from diffloom_fitting.optimisers import (
        Adam,
        BasinHopping,
        CmaEs,
        FitError,
        GaussNewton,
        Lbfgs,
        LineScan,
        Optimiser,
        Progress,
        Sgd,
        first_evaluation,
        take_step,
    )
    from diffloom_fitting.priors import Gaussian
    from diffloom_fitting.report import write_frames, write_report
    from diffloom_fitting.result import Estimate, Result
    from diffloom_fitting.scene import (
        Appearance,
        CameraPlacement,
        FreeCamera,
        Observation,
        Orbit,
        Policy,
        Rollout,
        Scene,
        Sensor,
        Sinusoids,
        Tracked,
        View,
        Viewpoint,
        Waypoint,
    )
    from diffloom_fitting.schedules import Schedule
    from diffloom_fitting.segmentation import BackgroundPlate, ColourKey, Motion, Segmenter, segment
    from diffloom_fitting.stages import Stage, Stop
    from diffloom_fitting.targets import (
        ImageFolder,
        Target,
        Targets,
        VideoFile,
        VideoReader,
        read_masks,
        read_video,
        synthesise,
        synthesise_views,
    )
    from diffloom_fitting.trust import Finding, Verdict
    from diffloom_fitting.unknowns import Unknown

_HOMES = {
    "control.costs": ("ControlCosts",),
    "control.features": ("Splines",),
    "control.goals": ("Goal", "goal_target", "pose_goal"),
    "control.tracks": ("track_target",),
    "control.networks": ("Network", "network_policy"),
    "control.observations": ("SeesImage", "SeesState"),
    "control.outcome": ("Reached",),
    "control.weights_file": ("load_policy", "save_policy"),
    "experiment": ("Experiment",),
    "files": ("build_experiment", "build_scene", "load_file"),
    "fits": ("fit", "run_fit"),
    "gradient_check": ("check_gradient",),
    "losses": (
        "CentreError",
        "InteriorError",
        "IoU",
        "Loss",
        "Moments",
        "MultiScale",
        "PixelError",
        "Region",
        "SilhouetteError",
        "StateError",
        "TrackError",
    ),
    "objective": ("Evaluation", "Objective"),
    "optimisers": (
        "Adam",
        "CmaEs",
        "FitError",
        "GaussNewton",
        "BasinHopping",
        "Lbfgs",
        "LineScan",
        "Optimiser",
        "Progress",
        "Sgd",
        "first_evaluation",
        "take_step",
    ),
    "datasets": ("VideoDataset",),
    "loggers": ("Logger",),
    "report": ("write_frames", "write_report"),
    "priors": ("Gaussian",),
    "result": ("Estimate", "Result"),
    "scene": (
        "CameraPlacement",
        "Appearance",
        "FreeCamera",
        "Observation",
        "Orbit",
        "Policy",
        "Rollout",
        "Scene",
        "Sensor",
        "Sinusoids",
        "Tracked",
        "View",
        "Viewpoint",
        "Waypoint",
    ),
    "schedules": ("Schedule",),
    "segmentation": ("BackgroundPlate", "ColourKey", "Motion", "Segmenter", "segment"),
    "stages": ("Stage", "Stop"),
    "targets": (
        "ImageFolder",
        "Target",
        "Targets",
        "VideoFile",
        "VideoReader",
        "read_video",
        "read_masks",
        "synthesise",
        "synthesise_views",
    ),
    "trust": ("Finding", "Verdict"),
    "unknowns": ("Unknown",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Adam",
    "Appearance",
    "BackgroundPlate",
    "BasinHopping",
    "CameraPlacement",
    "CentreError",
    "CmaEs",
    "ColourKey",
    "ControlCosts",
    "Estimate",
    "Evaluation",
    "Experiment",
    "Finding",
    "FitError",
    "FreeCamera",
    "GaussNewton",
    "Gaussian",
    "Goal",
    "ImageFolder",
    "InteriorError",
    "IoU",
    "Lbfgs",
    "LineScan",
    "Logger",
    "Loss",
    "Moments",
    "Motion",
    "MultiScale",
    "Network",
    "Objective",
    "Observation",
    "Optimiser",
    "Orbit",
    "PixelError",
    "Policy",
    "Progress",
    "Reached",
    "Region",
    "Result",
    "Rollout",
    "Scene",
    "Schedule",
    "SeesImage",
    "SeesState",
    "Segmenter",
    "Sensor",
    "Sgd",
    "SilhouetteError",
    "Sinusoids",
    "Splines",
    "Stage",
    "StateError",
    "Stop",
    "Target",
    "Targets",
    "TrackError",
    "Tracked",
    "Unknown",
    "Verdict",
    "VideoDataset",
    "VideoFile",
    "VideoReader",
    "View",
    "Viewpoint",
    "Waypoint",
    "build_experiment",
    "build_scene",
    "check_gradient",
    "first_evaluation",
    "fit",
    "goal_target",
    "load_file",
    "load_policy",
    "network_policy",
    "pose_goal",
    "read_masks",
    "read_video",
    "run_fit",
    "save_policy",
    "segment",
    "synthesise",
    "synthesise_views",
    "take_step",
    "track_target",
    "write_frames",
    "write_report",
]


_renamed = renamed_names(
    __name__, {"Hops": "BasinHopping", "Look": "Appearance", "Overlap": "IoU", "read_film": "read_video"}
)


def __getattr__(name: str) -> Any:
    # Loaded when asked for: the plugin's own module must not bring in torch.
    if name in _HOME:
        return getattr(import_module(f"diffloom_fitting.{_HOME[name]}"), name)
    return _renamed(name)
