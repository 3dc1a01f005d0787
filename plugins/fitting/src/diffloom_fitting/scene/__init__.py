"""A scene: a model that moves, a camera that looks, a renderer that draws, and the clock they share."""

from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.batches import MOST_SCENES, batch_of, draw_batch, views_of_batch
from diffloom_fitting.scene.checks import seekable, suggested_step
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.free_camera import FreeCamera
from diffloom_fitting.scene.moving import Tracked, Waypoint
from diffloom_fitting.scene.orbit import Orbit
from diffloom_fitting.scene.placement import CameraPlacement, camera_of
from diffloom_fitting.scene.policy import POLICY_PREFIX, Observation, Policy, Sinusoids, driven_shape, remembered
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
    "Observation",
    "Orbit",
    "Policy",
    "Rollout",
    "Rollouts",
    "Sampling",
    "Scene",
    "Sensor",
    "Sinusoids",
    "Tracked",
    "View",
    "Viewpoint",
    "Waypoint",
    "batch_of",
    "camera_of",
    "camera_prefix",
    "coordinates",
    "draw_batch",
    "driven_shape",
    "remembered",
    "sample_times",
    "seekable",
    "suggested_step",
    "views_of_batch",
]
