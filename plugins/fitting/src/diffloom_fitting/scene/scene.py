"""The scene itself: from values to moving images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

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
from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.checks import check_fields, check_known
from diffloom_fitting.scene.device import check_device, moved
from diffloom_fitting.scene.drawing import drawn, exposure, project_vertices
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.placement import make_camera
from diffloom_fitting.scene.policy import Policy
from diffloom_fitting.scene.projection import apply_lens_pose
from diffloom_fitting.scene.response import averaged
from diffloom_fitting.scene.sensor import LENS_BLUR, SENSED, shutter_times
from diffloom_fitting.scene.simulating import Rollout, get_given_control, make_control, run_rollout
from diffloom_fitting.scene.viewpoint import Cameras, Viewpoint, camera_prefix, viewpoints_of

#: Cameras that are kept: of the frames of a target, of some of them, of those of several places drawn together.
KEPT_CAMERAS = 16


@dataclass(frozen=True)
class View:
    """What is seen of a scene at some times: images (None when not asked for), states (see ``coordinates``), drawn
    vertices, and the control of every step on the way. outline: (frames, vertices, 2) column and row of the vertices
    [px], when asked for instead of images."""

    image: Image | None
    q: Tensor
    vertices: Tensor | None
    times: Tensor
    control: Control = field(default_factory=Control)
    outline: Tensor | None = None


@dataclass(frozen=True)
class Scene:
    """A model, how it starts and moves, and how it is recorded.

    renderer: or the name of a registered one, with its defaults. params: known values, made by ``model.params(...)``,
    whose dtype is the scene's precision; or a mapping of them, in single precision. dt: physics step [s], or "auto"
    for what the model suggests. steps: how many. camera: a ``CameraPlacement`` such as ``Orbit`` (whose place can be
    sought), any ``Camera``, a ``MovingCamera`` one, or several by label, such as {"front": Orbit(), "side":
    Viewpoint(Orbit(azimuth=90.0), time_offset=0.2)}: then each has a target of its own, and "camera.side.azimuth"
    names its place. lights: none means the renderer's own. background: (height, width, 3) image behind the surface,
    or None for the renderer's colour; images show the surface laid over it. integrator: the model's default if None.
    gradient: how rollouts are differentiated. control: inputs per step. policy: a network that makes them instead.
    label: of the one camera of
    ``seen_from``. device: "cpu" or "cuda", where it is simulated and drawn; what is given, and what is seen, stays on
    the CPU. windows: times [s] from which on parameters may be others: "restitution@2" is that of the second window,
    "restitution" that of all others; "velocity@2" is what the velocity then becomes. What is drawn has the shape of the
    first.
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
        check_device(self.device)
        viewpoints_of(self.camera)
        for name, value in check_fields(self).items():
            object.__setattr__(self, name, value)
        if self.policy is not None:
            self.policy.check(self.model)

    @property
    def dtype(self) -> torch.dtype:
        """Precision of everything in the scene."""
        return self.params.dtype

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of its images [px]."""
        return self.viewpoint.size

    @cached_property
    def state_size(self) -> int:
        """How many numbers its state has."""
        sets = _start(self.model, self.params).sets.values()
        return sum(q.numel() + u.numel() for q, u in sets)

    @cached_property
    def breaks(self) -> tuple[int, ...]:
        """The first steps of its windows after the first."""
        return tuple(round(begin / self.dt) for begin in self.windows)

    @cached_property
    def viewpoints(self) -> dict[str, Viewpoint]:
        """Its cameras by label; a single one has the label "" (or that of ``seen_from``)."""
        found = viewpoints_of(self.camera)
        return {self.label: found[""]} if list(found) == [""] else found

    @property
    def viewpoint(self) -> Viewpoint:
        """Its camera, the first one where there are several."""
        return next(iter(self.viewpoints.values()))

    def _repr_html_(self) -> str:
        from diffloom_fitting.kinds import format_html

        return format_html("scene", self)

    def seen_from(self, label: str) -> Scene:
        """The scene as one of its cameras sees it."""
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
        """Those of ``seen_from``: what each has found out about itself is not found out again."""
        return {}

    @cached_property
    def rest_shape(self) -> Tensor:
        """(vertices, 3): where patterns are laid on, with the known values, so that they stay put while a pose is
        sought."""
        return self.model.surface(_start(self.model, self.params), self.params).vertices[0].detach()

    @cached_property
    def _cameras(self) -> dict[tuple[float, ...], Camera]:
        """Of the last times at which it was looked through."""
        return {}

    def camera_at(self, places: Mapping[str, Tensor], times: Tensor) -> Camera:
        """At ``times`` of the simulation [s]. places: what is sought of it."""
        view = self.viewpoint
        own = {k: v for k, v in places.items() if k not in SENSED}

        def made() -> Camera:
            pose = make_camera(view.camera, self.dtype, own, times - view.time_offset)
            return moved(apply_lens_pose(pose, view.sensor, places), self.device)

        if places or times.requires_grad:
            return made()
        key = tuple(times.tolist())
        if key not in self._cameras:
            if len(self._cameras) >= KEPT_CAMERAS:
                self._cameras.pop(next(iter(self._cameras)))
            self._cameras[key] = made()
        return self._cameras[key]

    def with_renderer(self, renderer: Renderer) -> Scene:
        """The same scene, drawn by another renderer."""
        return replace(self, renderer=renderer)

    def with_params(self, values: Mapping[str, float]) -> Scene:
        """The same scene with other known parameters, each one number for all that it holds; "camera.lens_blur" is that
        of all cameras."""
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

    def known(self, values: Mapping[str, object], what: str = "scene") -> None:
        """Raise when ``values`` name something that the scene does not have."""
        check_known(self, values, what)

    def params_with(self, values: Mapping[str, Tensor]) -> Params:
        """The known parameters with the model's own among ``values`` put in, on the scene's device."""
        own = {spec.name for spec in self.model.specs}
        given = self.params.replace(**{k: v for k, v in values.items() if k in own})
        return given if self.device == "cpu" else Params({k: v.to(self.device) for k, v in given.items()}, given.dtype)

    def simulate(
        self, values: Mapping[str, Tensor], save: Sequence[int], gradient: Gradient | None = None
    ) -> tuple[Trajectory, Params]:
        """The states at step counts ``save`` (increasing), with ``values`` in place of known ones."""
        made = self.rollout(values, save, gradient)
        return made.trajectory, made.params

    def rollout(self, values: Mapping[str, Tensor], save: Sequence[int], gradient: Gradient | None = None) -> Rollout:
        """The same, with the control that drove it."""
        return run_rollout(self, values, save, self.gradient if gradient is None else gradient)

    def get_given_control(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The controls of all steps that are given or sought ("control.<name>"); one row may stand for all steps."""
        return get_given_control(self, values)

    def make_control(self, values: Mapping[str, Tensor], steps: int) -> Control:
        """The control for the first ``steps`` steps: given, sought or, open loop, made by the policy."""
        return make_control(self, values, steps)

    def draw(
        self, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], outputs: Sequence[str],
        sampling: Sampling | None = None,
    ) -> tuple[Image, Tensor]:  # fmt: skip
        """Images of the trajectory (at the sampling's frames) by the scene's camera, the first one where there are
        several, and the vertices drawn, (frames, vertices, 3) [m]. Images are handed over on the CPU."""
        surface, camera, subframes = exposure(self, trajectory, params, values, sampling)
        image = drawn(self, surface, camera, values, outputs)
        return (image if subframes == 1 else averaged(image, subframes)), surface.vertices

    def draw_surface(self, surface: Surface, times: Tensor, outputs: Sequence[str]) -> Image:
        """Images of a surface of the model, by a camera of which nothing is sought. times: of its frames [s]."""
        return drawn(self, surface, self.camera_at({}, times), {}, outputs)

    def outline(
        self, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], sampling: Sampling | None = None
    ) -> Tensor:
        """(frames, vertices, 2): column and row [px] in which the camera sees the surface's vertices."""
        return project_vertices(self, trajectory, params, values, sampling)

    def get_camera_values(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What is sought of its camera and sensor, by their own names."""
        prefix = camera_prefix(next(iter(self.viewpoints)))
        return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}

    def exposed(self, times: Tensor, values: Mapping[str, Tensor]) -> Tensor:
        """When the camera sees what frames at ``times`` [s] of the simulation show: those, or several for each where it
        exposes for a while, row by row, or at another time."""
        view, places = self.viewpoint, self.get_camera_values(values)
        found, subframes, rows = shutter_times(view.sensor, places, times, view.time_offset)
        # A frame at the start is exposed from before it; there the scene stands still.
        return found.clamp(0.0, self.steps * self.dt) if subframes > 1 or rows else found

    def states(self, trajectory: Trajectory, sampling: Sampling, frames: int) -> Tensor:
        """(frames, nodes, dq): the states at the frames, their mean where a frame is exposed for a while."""
        q = sampling.between(coordinates(trajectory)).cpu()
        return q if len(q) == frames else q.unflatten(0, (frames, -1)).mean(dim=1)

    @property
    def behind(self) -> Tensor:
        """What shows where the surface does not: (height, width, 3), or the renderer's colour (3,)."""
        for image in (self.viewpoint.background, self.background):
            if image is not None:
                return image
        return torch.tensor(self.renderer.background, dtype=self.dtype)

    def render(
        self, values: Mapping[str, Tensor], times: Tensor, outputs: Sequence[str] = ("rgba",),
        gradient: Gradient | None = None,
    ) -> View:  # fmt: skip
        """What is seen at ``times`` [s] of the simulation; with no ``outputs`` only the states."""
        sampling = sample_times(self.exposed(times, values), self.dt, self.steps)
        made = self.rollout(values, sampling.save, gradient)
        q = self.states(made.trajectory, sampling, len(times))
        if not outputs:
            return View(None, q, None, times, made.control)
        image, vertices = self.draw(made.trajectory, made.params, values, outputs, sampling)
        return View(image, q, vertices, times, made.control)


def _start(model: Model, params: Params) -> Trajectory:
    with torch.no_grad():
        state = model.initial_state(params)
    q, u = ({name: pair[k][None] for name, pair in state.sets.items()} for k in (0, 1))
    return Trajectory(q, u, torch.zeros(1, dtype=params.dtype))


def coordinates(trajectory: Trajectory) -> Tensor:
    """(frames, nodes, dq); of several node sets all numbers of a frame in a row, (frames, numbers). Of a batch
    both with a leading axis of scenes."""
    if len(trajectory.sets) == 1:
        return trajectory.q
    return torch.cat([q.flatten(-2) for q, _ in trajectory.sets.values()], dim=-1)
