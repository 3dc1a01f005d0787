"""Scenes: a model that moves, a camera, a renderer, and their clock."""

from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.batches import MOST_SCENES, draw_batch, join_scenes, render_batch_views
from diffloom_fitting.scene.checks import list_seekable, suggest_step
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.free_camera import FreeCamera
from diffloom_fitting.scene.moving import MovingCamera, Waypoint
from diffloom_fitting.scene.orbit import Orbit
from diffloom_fitting.scene.placement import CameraPlacement, make_camera
from diffloom_fitting.scene.policy import (
    POLICY_PREFIX,
    Observation,
    Policy,
    Sinusoids,
    find_driven_shape,
    update_memory,
)
from diffloom_fitting.scene.rollouts import Rollouts
from diffloom_fitting.scene.scene import Scene, View, coordinates
from diffloom_fitting.scene.sensor import Sensor
from diffloom_fitting.scene.simulating import Rollout
from diffloom_fitting.scene.viewpoint import Cameras, Viewpoint, camera_prefix
from diffloom_fitting.scene.windows import OF_WINDOW

__all__ = [
    "MOST_SCENES",
    "OF_WINDOW",
    "POLICY_PREFIX",
    "Appearance",
    "CameraPlacement",
    "Cameras",
    "FreeCamera",
    "MovingCamera",
    "Observation",
    "Orbit",
    "Policy",
    "Rollout",
    "Rollouts",
    "Sampling",
    "Scene",
    "Sensor",
    "Sinusoids",
    "View",
    "Viewpoint",
    "Waypoint",
    "camera_prefix",
    "coordinates",
    "draw_batch",
    "find_driven_shape",
    "join_scenes",
    "list_seekable",
    "make_camera",
    "render_batch_views",
    "sample_times",
    "suggest_step",
    "update_memory",
]
