"""The scene itself: from values to moving images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from diffloom.deprecation import renamed_arguments
from diffloom.interfaces import (
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
from diffloom.interfaces.errors import nearest
from diffloom_fitting.scene.appearance import Appearance
from diffloom_fitting.scene.checks import checked_fields
from diffloom_fitting.scene.device import check_device, moved
from diffloom_fitting.scene.frame_times import Sampling, sample_times
from diffloom_fitting.scene.placement import camera_of
from diffloom_fitting.scene.policy import Policy
from diffloom_fitting.scene.viewpoint import Cameras, Viewpoint, viewpoints_of

CONTROL = "control."


@dataclass(frozen=True)
class View:
    """What is seen of a scene at some times: images (None when not asked for), states and drawn vertices; and the
    control of every step on the way."""

    image: Image | None
    q: Tensor
    vertices: Tensor | None
    times: Tensor
    control: Control = field(default_factory=Control)


@dataclass(frozen=True)
class Rollout:
    """The saved states, what they were simulated with, and the control of every step."""

    trajectory: Trajectory
    params: Params
    control: Control


@renamed_arguments(look="appearance")
@dataclass(frozen=True)
class Scene:
    """A model, how it starts and moves, and how it is recorded.

    renderer: or the name of a registered one, with its defaults. params: known values, made by ``model.params(...)``,
    whose dtype is the scene's precision; or a mapping of them, in single precision. dt: physics step [s], or "auto"
    for what the model suggests. steps: how many. camera: a ``CameraPlacement`` such as ``Orbit`` (whose place can be
    sought), any ``Camera``, a ``Tracked`` one, or several by label, such as {"front": Orbit(), "side":
    Viewpoint(Orbit(azimuth=90.0), time_offset=0.2)}: then each has a target of its own, and "camera.side.azimuth"
    names its place. lights: none means the renderer's own. background: (height, width, 3) image behind the surface,
    or None for the renderer's colour; images show the surface laid over it. integrator: the model's default if None.
    gradient: how rollouts are differentiated. control: inputs per step. policy: a network that makes them instead.
    label: of the one camera of
    ``seen_from``. device: "cpu" or "cuda", where it is simulated and drawn; what is given, and what is seen, stays on
    the CPU.
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

    def __post_init__(self) -> None:
        check_device(self.device)
        viewpoints_of(self.camera)
        for name, value in checked_fields(self).items():
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
    def viewpoints(self) -> dict[str, Viewpoint]:
        """Its cameras by label; a single one has the label "" (or that of ``seen_from``)."""
        found = viewpoints_of(self.camera)
        return {self.label: found[""]} if list(found) == [""] else found

    @property
    def viewpoint(self) -> Viewpoint:
        """Its camera, the first one where there are several."""
        return next(iter(self.viewpoints.values()))

    def seen_from(self, label: str) -> Scene:
        """The scene as one of its cameras sees it."""
        if label not in self.viewpoints:
            raise InputError(
                f"the scene has no view {label!r}{nearest(label, self.viewpoints) or ';'} it has: "
                f"{', '.join(self.viewpoints) or 'one without a label'}"
            )
        return replace(self, camera=self.viewpoints[label], label=label)

    def with_renderer(self, renderer: Renderer) -> Scene:
        """The same scene, drawn by another renderer."""
        return replace(self, renderer=renderer)

    def known(self, values: Mapping[str, object], what: str = "scene") -> None:
        """Raise when ``values`` name something that the scene does not have."""
        from diffloom_fitting.accepting import known
        from diffloom_fitting.unknowns import seekable

        own = [spec.name for spec in self.model.specs]
        known(what, list(values), list(dict.fromkeys([*own, *seekable(self)])))

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
        from diffloom.simulation import simulate

        params, chosen = self.params_with(values), self.gradient if gradient is None else gradient
        if self.policy is not None and self.policy.observe is not None and save[-1] > 0:
            from diffloom_fitting.control.closed_loop import Loop

            trajectory, made = Loop(self, tuple(save), chosen).run(values)
            given = {name: value[: save[-1]] for name, value in self.given_control(values).items()}
            return Rollout(trajectory, params, Control({**given, **made}))
        control = self.control_with(values, save[-1])
        trajectory = simulate(
            self.model, params, dt=self.dt, steps=save[-1], save=tuple(save), integrator=self.integrator,
            gradient=chosen, control=Control({name: value.to(self.device) for name, value in control.items()}),
        )  # fmt: skip
        return Rollout(trajectory, params, control)

    def given_control(self, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The controls of all steps that are given or sought ("control.<name>"); one row may stand for all steps."""
        rows = dict(self.control.items())
        for key, value in values.items():
            if key.startswith(CONTROL):
                name = key.removeprefix(CONTROL)
                rows[name] = value.expand(self.steps, *self.model.spec(name).full_shape(self.model.axes))
        return rows

    def control_with(self, values: Mapping[str, Tensor], steps: int) -> Control:
        """The control for the first ``steps`` steps: given, sought or, open loop, made by the policy."""
        rows = self.given_control(values)
        if self.policy is not None and steps > 0:
            # All rows are made and then cut, so that a shorter horizon sees the very same controls.
            rows |= self.policy.control(values, self.dt, self.steps, self.dtype)
        return Control({name: value[:steps] for name, value in rows.items()})

    def draw(
        self, trajectory: Trajectory, params: Params, values: Mapping[str, Tensor], outputs: Sequence[str],
        sampling: Sampling | None = None,
    ) -> tuple[Image, Tensor]:  # fmt: skip
        """Images of the trajectory (at the sampling's frames) by the scene's camera, the first one where there are
        several, and the vertices drawn, (frames, vertices, 3) [m]. Images are handed over on the CPU."""
        surface = self.model.surface(trajectory, params)
        # Patterns are laid on with the known values, so that they stay put while a pose is sought.
        rest = self.model.surface(_start(self.model, self.params), self.params).vertices[0].detach()
        times = trajectory.times
        if sampling is not None:
            surface, times = _at_frames(surface, sampling, len(trajectory)), sampling.between(times)
        coloured = self.appearance.apply(surface, rest, values.get("appearance.colour"))
        view, prefix = self.viewpoint, camera_prefix(next(iter(self.viewpoints)))
        places = {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}
        camera = moved(camera_of(view.camera, self.dtype, places, times - view.time_offset), self.device)
        image = moved(on_black(self.renderer).render(coloured, camera, self.lights, outputs), "cpu")
        if image.rgba is not None:
            image = replace(image, rgba=over(image.rgba, self.behind))
        return image, surface.vertices

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
        sampling = sample_times(times, self.dt, self.steps)
        made = self.rollout(values, sampling.save, gradient)
        q = sampling.between(made.trajectory.q).cpu()
        if not outputs:
            return View(None, q, None, times, made.control)
        image, vertices = self.draw(made.trajectory, made.params, values, outputs, sampling)
        return View(image, q, vertices, times, made.control)


def camera_prefix(label: str) -> str:
    """What the names of a camera's place begin with, such as "camera.side."."""
    return f"camera.{label}." if label else "camera."


def _at_frames(surface: Surface, sampling: Sampling, saved: int) -> Surface:
    """A surface of ``saved`` states at the sampling's frames; whatever does not change stays as it is."""

    def between(value: Tensor, dims: int) -> Tensor:
        return sampling.between(value) if value.dim() == dims and value.shape[0] == saved else value

    colours, texture = surface.colours, surface.texture
    if colours is not None:
        colours = between(colours, 3)
    if texture is not None:
        texture = replace(texture, image=between(texture.image, 4))
    return replace(surface, vertices=between(surface.vertices, 3), colours=colours, texture=texture)


def on_black(renderer: Renderer) -> Renderer:
    """The same renderer with a black background, over which an image can be laid."""
    black = (0.0, 0.0, 0.0)
    if tuple(renderer.background) == black:
        return renderer
    return replace(renderer, background=black)  # type: ignore[type-var]


def over(rgba: Tensor, background: Tensor) -> Tensor:
    """``rgba`` drawn on black, laid over an image (height, width, 3) or a colour (3,).

    The colour counts as much as the surface covers: a soft rasteriser paints all that it touches in full, so that
    without this a pixel would switch when an outline comes near it.
    """
    alpha = rgba[..., 3:]
    return torch.cat([alpha * rgba[..., :3] + (1.0 - alpha) * background, alpha], dim=-1)


def _start(model: Model, params: Params) -> Trajectory:
    with torch.no_grad():
        state = model.initial_state(params)
    return Trajectory(state.q[None], state.u[None], torch.zeros(1, dtype=state.q.dtype))
