"""The scene: from parameters to moving images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import (
    Camera,
    Control,
    Gradient,
    Image,
    InputError,
    Integrator,
    Light,
    Model,
    Params,
    Renderer,
    StoreAll,
    Surface,
    Trajectory,
)
from diffloom.validation import suggest_name
from diffloom_fitting.kinds import use_display
from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.checks import check_fields, check_known
from diffloom_fitting.scene.device import move_to_device
from diffloom_fitting.scene.drawing import draw_frames, exposure, project_vertices
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.placement import make_camera
from diffloom_fitting.scene.policy import Policy
from diffloom_fitting.scene.projection import apply_lens_pose
from diffloom_fitting.scene.sensor import LENS_BLUR, SENSED, shutter_times
from diffloom_fitting.scene.simulating import Rollout, get_given_control, make_control, run_rollout
from diffloom_fitting.scene.values import as_scene_values, as_times
from diffloom_fitting.scene.viewpoint import Cameras, Viewpoint, camera_prefix, viewpoints_of

#: Number of cameras in the cache: for the frames of a target, for parts of them, and for batches.
KEPT_CAMERAS = 16


@dataclass(frozen=True)
class View:
    """View of a scene at some times.

    Args:
        image: Rendered images; None if none were requested.
        q: States (see ``coordinates``).
        vertices: Drawn vertices.
        times: (frames,) [s].
        control: Control of every step.
        outline: (frames, vertices, 2), columns and rows of the vertices [px], if requested instead of images.
    """

    image: Image | None
    q: Tensor
    vertices: Tensor | None
    times: Tensor
    control: Control = field(default_factory=Control)
    outline: Tensor | None = None

    def save(self, path: str | Path, rate: float | None = None) -> Path:
        """Write the images as a video or side by side as one image.

        Args:
            path: File ending in .mp4, .webp, .gif or .png.
            rate: Frames per second; None for real time.

        Returns:
            The path.
        """
        written: Path = use_display("video", "View.save", self, path, rate)
        return written


@dataclass(frozen=True)
class Scene:
    """A model, its start and motion, and its recording by cameras.

    Example:
        ball = get_model("fem")("ball", radius=0.3)
        scene = Scene(ball, "softras", Orbit(distance=2.0), {"position": [0, 0.5, 0]}, dt=1e-3, steps=400)

    Args:
        model: The model; the name of a registered one; or a name with settings, such as {"name": "fem", "mesh":
            "ball"}.
        renderer: A renderer, or the name of a registered one.
        camera: A ``CameraPlacement`` such as ``Orbit`` (whose position can be sought), any ``Camera``, a
            ``MovingCamera``, or several by label, such as {"front": Orbit(), "side": Viewpoint(Orbit(azimuth=90.0),
            time_offset=0.2)}. Each of several has its own target, and its quantities are called "camera.side.azimuth"
            and so on.
        params: Known parameters, from ``model.params(...)``, whose dtype is the scene's precision; or numbers, texts
            with units, lists, arrays or tensors by name, which are converted to single precision.
        dt: Physics step [s], or "auto" for the step that the model suggests.
        steps: Number of steps.
        integrator: The integrator; None for the model's default.
        gradient: Gradient policy of rollouts.
        lights: The lights; none for the renderer's own.
        appearance: Colour and shading of the surface.
        background: (height, width, 3), image behind the surface; None for the renderer's colour.
        control: Inputs per step: a ``Control``, or rows (steps, ...) by name.
        policy: Network that makes them instead: a ``Policy``; {"force": module} for a ``torch.nn.Module`` that drives a
            control, and gets as many ``Sinusoids`` as its first layer has inputs (the time [s] if it has one); or the
            module alone, if the model has one control.
        label: Label of the camera, set by ``seen_from``.
        device: "cpu", "cuda" or a ``torch.device``, for simulation and rendering; inputs and outputs stay on the CPU.
        windows: Times [s] at which windows with their own parameters begin: "restitution@2" is that of the second
            window, "restitution" that of all without their own; "velocity@2" sets the velocity at its beginning. The
            drawn shape is that of the first window.
    """

    model: Model
    renderer: Renderer
    camera: Cameras
    params: Params
    dt: float
    steps: int
    integrator: str | Integrator | None = None
    gradient: Gradient = field(default_factory=StoreAll)
    lights: tuple[Light, ...] = ()
    appearance: Appearance = field(default_factory=Appearance)
    background: Tensor | None = None
    control: Control = field(default_factory=Control)
    policy: Policy | None = None
    label: str = ""
    device: str = "cpu"
    windows: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        viewpoints_of(self.camera)
        for name, value in check_fields(self).items():
            object.__setattr__(self, name, value)
        if self.policy is not None:
            self.policy.check(self.model)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of all tensors of the scene."""
        return self.params.dtype

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of its images [px]."""
        return self.viewpoint.size

    @cached_property
    def state_size(self) -> int:
        """Number of numbers in its state."""
        sets = _start(self.model, self.params).sets.values()
        return sum(q.numel() + u.numel() for q, u in sets)

    @cached_property
    def breaks(self) -> tuple[int, ...]:
        """First steps of the windows after the first."""
        return tuple(round(begin / self.dt) for begin in self.windows)

    @cached_property
    def viewpoints(self) -> dict[str, Viewpoint]:
        """Cameras by label; a single one has the label "" (or that of ``seen_from``)."""
        found = viewpoints_of(self.camera)
        return {self.label: found[""]} if list(found) == [""] else found

    @property
    def viewpoint(self) -> Viewpoint:
        """The camera, the first one if there are several."""
        return next(iter(self.viewpoints.values()))

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("scene", self)

    def select_view(self, label: str) -> Scene:
        """Return the scene with one of its cameras.

        Args:
            label: Label of the camera.

        Returns:
            The scene; cached.
        """
        if label not in self.viewpoints:
            raise InputError(
                f"the scene has no view {label!r}{suggest_name(label, self.viewpoints) or ';'} it has: "
                f"{', '.join(self.viewpoints) or 'one without a label'}"
            )
        if label not in self._views:
            self._views[label] = replace(self, camera=self.viewpoints[label], label=label)
        return self._views[label]

    @cached_property
    def _views(self) -> dict[str, Scene]:
        """Cache of ``seen_from``, so that each keeps its own cached properties."""
        return {}

    @cached_property
    def rest_shape(self) -> Tensor:
        """(vertices, 3): shape that patterns are laid on, at the known parameters, so that patterns stay fixed during a
        fit.
        """
        return self.model.surface(_start(self.model, self.params), self.params).vertices[0].detach()

    @cached_property
    def _cameras(self) -> dict[tuple[float, ...], Camera]:
        """Cache of cameras by times."""
        return {}

    def camera_at(self, places: Mapping[str, Tensor], times: Tensor) -> Camera:
        """Return the camera at some times.

        Args:
            places: Unknowns of the camera and its sensor, by name.
            times: (frames,), times of the simulation [s].

        Returns:
            The camera.
        """
        view = self.viewpoint
        own = {k: v for k, v in places.items() if k not in SENSED}

        def make_camera_places() -> Camera:
            pose = make_camera(view.camera, self.dtype, own, times - view.time_offset)
            return move_to_device(apply_lens_pose(pose, view.sensor, places), self.device)

        if places or times.requires_grad:
            return make_camera_places()
        key = tuple(times.tolist())
        if key not in self._cameras:
            if len(self._cameras) >= KEPT_CAMERAS:
                self._cameras.pop(next(iter(self._cameras)))
            self._cameras[key] = make_camera_places()
        return self._cameras[key]

    def with_renderer(self, renderer: Renderer) -> Scene:
        """Return a copy with another renderer.

        Args:
            renderer: The renderer.

        Returns:
            The scene.
        """
        return replace(self, renderer=renderer)

    def with_params(self, values: Mapping[str, float]) -> Scene:
        """Return a copy with other known parameters.

        Args:
            values: One number for all entries of each parameter; "camera.lens_blur" sets that of all cameras.

        Returns:
            The scene.
        """
        if not values:
            return self
        given = {k: torch.full_like(self.params[k], value) for k, value in values.items() if k != LENS_BLUR}
        scene = replace(self, params=self.params.replace(**given))
        if LENS_BLUR not in values:
            return scene
        views = {
            label: replace(view, sensor=replace(view.sensor, lens_blur=values[LENS_BLUR]))
            for label, view in self.viewpoints.items()
        }
        return replace(scene, camera=views.get("", views))

    def check_known(self, values: Mapping[str, object], what: str = "scene") -> None:
        """Raise if ``values`` name something that the scene does not have.

        Args:
            values: Values by name.
            what: Name of the values in errors.
        """
        check_known(self, values, what)

    def params_with(self, values: Mapping[str, Tensor]) -> Params:
        """Return the model's parameters, on the scene's device.

        Args:
            values: Parameters by name that replace known ones.

        Returns:
            The parameters.
        """
        own = {spec.name for spec in self.model.specs}
        given = self.params.replace(**{k: v for k, v in values.items() if k in own})
        return given if self.device == "cpu" else Params({k: v.to(self.device) for k, v in given.items()}, given.dtype)

    def simulate(
        self, values: Mapping[str, object] | None = None, save: Sequence[int] | None = None,
        gradient: Gradient | None = None,
    ) -> tuple[Trajectory, Params]:  # fmt: skip
        """Simulate the scene.

        Args:
            values: Parameters by name that replace known ones, in any form that ``render`` takes.
            save: Increasing step counts to save; None for every step.
            gradient: Gradient policy; None for the scene's own.

        Returns:
            States and parameters.
        """
        made = self.rollout(values, save, gradient)
        return made.trajectory, made.params

    def rollout(
        self, values: Mapping[str, object] | None = None, save: Sequence[int] | None = None,
        gradient: Gradient | None = None,
    ) -> Rollout:  # fmt: skip
        """Simulate the scene and return its control too.

        Args:
            values: Parameters by name that replace known ones, in any form that ``render`` takes.
            save: Increasing step counts to save; None for every step.
            gradient: Gradient policy; None for the scene's own.

        Returns:
            States, parameters and control.
        """
        given = as_scene_values(self, values, "scene: values")
        steps = range(self.steps + 1) if save is None else save
        return run_rollout(self, given, steps, self.gradient if gradient is None else gradient)

    def get_given_control(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the controls that are given or sought ("control.<name>").

        Args:
            values: Unknowns by name; one row may stand for all steps.

        Returns:
            Controls (steps, ...) by name.
        """
        return get_given_control(self, values)

    def make_control(self, values: Mapping[str, Tensor], steps: int) -> Control:
        """Return the control of the first steps: given, sought or, open loop, made by the policy.

        Args:
            values: Unknowns by name.
            steps: Number of steps.

        Returns:
            The control.
        """
        return make_control(self, values, steps)

    def draw(
        self, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], outputs: Sequence[str],
        sampling: Sampling | None = None,
    ) -> tuple[Image, Tensor]:  # fmt: skip
        """Draw images by the scene's camera, the first one if there are several.

        Args:
            trajectory: The states.
            params: Parameters of the model.
            values: Unknowns by name.
            outputs: Outputs to render.
            sampling: Frames between the states; None draws every state.

        Returns:
            Images, on the CPU, and drawn vertices (frames, vertices, 3) [m].
        """
        surface, camera, subframes = exposure(self, trajectory, params, values, sampling)
        return draw_frames(self, surface, camera, values, outputs, subframes), surface.vertices

    def draw_surface(self, surface: Surface, times: Tensor, outputs: Sequence[str]) -> Image:
        """Draw a surface by a camera without unknowns.

        Args:
            surface: The surface.
            times: (frames,), times of its frames [s].
            outputs: Outputs to render.

        Returns:
            Images.
        """
        return draw_frames(self, surface, self.camera_at({}, times), {}, outputs)

    def outline(
        self, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], sampling: Sampling | None = None
    ) -> Tensor:
        """Project the surface's vertices.

        Args:
            trajectory: The states.
            params: Parameters of the model.
            values: Unknowns by name.
            sampling: Frames between the states; None takes every state.

        Returns:
            Columns and rows (frames, vertices, 2) [px].
        """
        return project_vertices(self, trajectory, params, values, sampling)

    def get_camera_values(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Select the unknowns of its camera and sensor.

        Args:
            values: Unknowns by name.

        Returns:
            Unknowns by the camera's own names.
        """
        prefix = camera_prefix(next(iter(self.viewpoints)))
        return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}

    def get_exposure_times(self, times: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """Return the times of exposure of frames.

        Args:
            times: (frames,), times of the simulation [s].
            values: Unknowns by name.

        Returns:
            Times [s]; several for each frame with subframes or a rolling shutter.
        """
        view, places = self.viewpoint, self.get_camera_values(values)
        found, subframes, rows = shutter_times(view.sensor, places, times, view.time_offset)
        # The exposure of a frame at the start begins before it, where the scene stands still, and a clock that is
        # sought may run past the end.
        sought = not places.keys().isdisjoint(("clock", "time_offset"))
        return found.clamp(0.0, self.steps * self.dt) if subframes > 1 or rows or sought else found

    def states(self, trajectory: Trajectory, sampling: Sampling, frames: int) -> Tensor:
        """Return the states at frames, averaged over subframes.

        Args:
            trajectory: The states.
            sampling: Frames between the states.
            frames: Number of frames.

        Returns:
            (frames, nodes, dq), on the CPU.
        """
        q = sampling.between(coordinates(trajectory)).cpu()
        return q if len(q) == frames else q.unflatten(0, (frames, -1)).mean(dim=1)

    @property
    def behind(self) -> Tensor:
        """Background: (height, width, 3), or the renderer's colour (3,)."""
        for image in (self.viewpoint.background, self.background):
            if image is not None:
                return image
        return torch.tensor(self.renderer.background, dtype=self.dtype)

    def render(
        self, values: Mapping[str, object] | None = None, times: object = None, outputs: Sequence[str] = ("rgba",),
        gradient: Gradient | None = None,
    ) -> View:  # fmt: skip
        """Simulate and draw the scene.

        Example:
            view = scene.render({"shear_modulus": "4 kPa"}, [0.0, 0.1, 0.2])
            frames = view.image.rgba  # (3, height, width, 4)

        Args:
            values: Parameters by name that replace known ones: numbers, texts with units, lists, arrays or tensors,
                which are converted to the scene's precision; None for none.
            times: Times of the simulation [s]: a list, range, array or tensor; None for every step.
            outputs: Outputs to render, or one of them; none for the states alone.
            gradient: Gradient policy; None for the scene's own.

        Returns:
            The view.
        """
        given = as_scene_values(self, values, "scene.render: values")
        at = as_times(times, "scene.render: times [s]", self.steps * self.dt, self.dt)
        outputs = (outputs,) if isinstance(outputs, str) else outputs
        sampling = sample_times(self.get_exposure_times(at, given), self.dt, self.steps)
        made = self.rollout(given, sampling.save, gradient)
        q = self.states(made.trajectory, sampling, len(at))
        if not outputs:
            return View(None, q, None, at, made.control)
        image, vertices = self.draw(made.trajectory, made.params, given, outputs, sampling)
        return View(image, q, vertices, at, made.control)


def _start(model: Model, params: Params) -> Trajectory:
    with torch.no_grad():
        state = model.initial_state(params)
    q, u = ({name: pair[k][None] for name, pair in state.sets.items()} for k in (0, 1))
    return Trajectory(q, u, torch.zeros(1, dtype=params.dtype))


def coordinates(trajectory: Trajectory) -> Tensor:
    """Return the coordinates of states.

    Args:
        trajectory: The states.

    Returns:
        (frames, nodes, dq); (frames, numbers) for several node sets. Batches have a leading axis of scenes.
    """
    if len(trajectory.sets) == 1:
        return trajectory.q
    return torch.cat([q.flatten(-2) for q, _ in trajectory.sets.values()], dim=-1)
