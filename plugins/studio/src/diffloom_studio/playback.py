"""A run or an experiment played back: surfaces over time, strain, stress, contact forces. For viewers and exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import Camera, Control, InputError, NoGradient, Params, State, Surface, Trajectory
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.run_folder import RunFolder
from diffloom_fitting import Experiment, Result
from diffloom_fitting.scene import Rollout, Sampling, Scene, camera_prefix, make_camera, sample_times
from diffloom_mechanics import Mechanics, NodeTerm

__all__ = [
    "Arrows",
    "Playback",
    "PlaybackBody",
    "ShadedField",
    "compute_contact_forces",
    "compute_field",
    "compute_strain_field",
    "compute_stress_field",
    "find_common_scale",
    "format_scale",
    "load_playback",
    "make_playback",
    "place_camera_at",
    "play",
    "scale_colours",
    "strain",
]


@dataclass(frozen=True)
class PlaybackBody:
    """What moved under one set of values.

    times: (frames,) [s]. vertices: (frames, vertices, 3) [m]. faces: (faces, 3). colours: (vertices, 3) bytes, or None
    where the scene colours it otherwise. trajectory, params: the states at these times, and what they were made with.
    control: the control at these times, a row for each.
    """

    name: str
    times: NDArray[np.float64]
    vertices: NDArray[np.float32]
    faces: NDArray[np.int64]
    colours: NDArray[np.uint8] | None
    trajectory: Trajectory
    params: Params
    control: Control = field(default_factory=Control)


def play(name: str, scene: Scene, values: Mapping[str, Tensor], times: Tensor) -> PlaybackBody:
    """Simulate ``scene`` with ``values`` and keep its surface at ``times`` [s]."""
    sampling = sample_times(times, scene.dt, scene.steps)
    with torch.no_grad():
        made = scene.rollout(values, sampling.save, NoGradient())
        surface = scene.model.surface(made.trajectory, made.params)
        colours = read_surface_colours(scene, values, surface)
    return make_body(name, times, sampling, made, surface, colours)


def make_body(
    name: str, times: Tensor, sampling: Sampling, made: Rollout, surface: Surface, colours: NDArray[np.uint8] | None
) -> PlaybackBody:
    """The body of a simulation whose states were saved as ``sampling`` says."""
    saved = made.trajectory
    q, u = ({name: sampling.between(pair[k]).cpu() for name, pair in saved.sets.items()} for k in (0, 1))
    kept = Trajectory(q, u, sampling.between(saved.times).cpu())
    vertices = sampling.between(surface.vertices) if len(surface.vertices) > 1 else surface.vertices
    moved = vertices.detach().cpu().to(torch.float32).expand(len(times), -1, -1)
    faces, params = surface.faces.cpu().numpy(), Params({k: v.cpu() for k, v in made.params.items()}, made.params.dtype)
    return PlaybackBody(
        name, times.numpy(), moved.numpy(), faces, colours, kept, params, _control(made.control, sampling)
    )


def _control(control: Control, sampling: Sampling) -> Control:
    """The row of the step that begins at or before each frame; at the very end, that of the last step."""
    step = torch.tensor(sampling.save)[sampling.low]
    return Control({name: rows[step.clamp(max=len(rows) - 1)].cpu() for name, rows in control.items() if len(rows)})


def read_surface_colours(scene: Scene, values: Mapping[str, Tensor], surface: Surface) -> NDArray[np.uint8] | None:
    """(vertices, 3) bytes: the colours that the scene gives a surface at first, where each vertex has one."""
    shown = scene.appearance.apply(surface, surface.vertices[0], values.get("appearance.colour"))
    colours = shown.colours
    if colours is None or (shown.colour_per == "face" and colours.dim() > 1):
        return None
    first = colours[0] if colours.dim() == 3 else colours
    found = (first.detach().cpu().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return found.expand(surface.vertices.shape[1], 3).numpy()


def place_camera_at(scene: Scene, label: str, values: Mapping[str, Tensor], times: Tensor) -> Camera:
    """The camera called ``label`` at ``times`` [s] of its video, with what ``values`` say of its place."""
    prefix = camera_prefix(label)
    places = {k.removeprefix(prefix): v.detach() for k, v in values.items() if k.startswith(prefix)}
    return make_camera(scene.viewpoints[label].camera, scene.dtype, places, times)


NAMED = ("ground", "collisions", "self_collision")
LEAST = 1e-9  # N: what is smaller is no contact


@dataclass(frozen=True)
class Arrows:
    """Contact forces at one time. points: (arrows, 3) where they act [m]. forces: (arrows, 3) [N]."""

    points: NDArray[np.float64]
    forces: NDArray[np.float64]


NOTHING = Arrows(np.zeros((0, 3)), np.zeros((0, 3)))


def compute_contact_forces(scene: Scene, body: PlaybackBody) -> list[Arrows]:
    """The contact forces on the nodes of ``body`` at each of its times; none on nodes that are no points or bodies.

    The model's own contact terms are evaluated without its other terms, so these are the very forces that acted. In a
    world, bodies that touch each other push each other: every force is there twice, once on each.
    """
    dynamics = scene.model.dynamics(body.params, Control({name: rows[:1] for name, rows in body.control.items()}))
    if not isinstance(dynamics, Mechanics):
        return [NOTHING] * len(body.times)
    terms = tuple(t for t in dynamics.terms if isinstance(t, NodeTerm) and _is_contact(t))
    drawn = [name for name, nodes in dynamics.sets.items() if (nodes.dq, nodes.du) in ((3, 3), (7, 6))]
    if not terms or not drawn:
        return [NOTHING] * len(body.times)
    alone = Mechanics(dynamics.nodes, terms)
    return [_at(alone, body.trajectory[k], drawn, scene.dt) for k in range(len(body.times))]


def _at(alone: Mechanics, state: State, drawn: list[str], dt: float) -> Arrows:
    """The forces of one state."""
    q, u = ({name: pair[k].contiguous() for name, pair in state.sets.items()} for k in (0, 1))
    whole = State(q, u)
    with torch.no_grad():
        forces = alone.forces(whole, dt=dt)
    force = torch.cat([forces[name][:, :3] for name in drawn]).cpu().double().numpy()
    place = torch.cat([whole.sets[name][0][:, :3] for name in drawn]).cpu().double().numpy()
    acts = np.linalg.norm(force, axis=1) > LEAST
    return Arrows(place[acts], force[acts])


def _is_contact(term: NodeTerm) -> bool:
    # A world calls the terms of its bodies by the bodies' names too: "ball.ground".
    return term.name.rpartition(".")[2] in NAMED or any(name == "contact" for name, _ in term.params)


#: From a small to a large value: dark blue, green, yellow.
MAP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
NONE = 150.0  # grey, for what has no value


def strain(rest: NDArray[np.float32], now: NDArray[np.float32], faces: NDArray[np.int64]) -> NDArray[np.float64]:
    """(..., vertices): the largest |principal stretch - 1| of the faces around each vertex, their mean.

    rest: (vertices, 3), now: (..., vertices, 3) [m]. With the edges of a face at rest as a 2 x 2 matrix D in its plane
    and those now as a 3 x 2 matrix E, F = E D^-1; the squares of the stretches are the eigenvalues of F^T F.
    """
    first, second = (rest[faces[:, k]].astype(np.float64) - rest[faces[:, 0]] for k in (1, 2))
    along = first / np.maximum(np.linalg.norm(first, axis=1, keepdims=True), 1e-300)
    normal = np.cross(first, second)
    across = np.cross(normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300), along)
    planar = np.stack([np.stack([(e * a).sum(1) for e in (first, second)], 1) for a in (along, across)], 1)
    flat = np.abs(np.linalg.det(planar)) > 1e-18
    inverse = np.zeros_like(planar)
    inverse[flat] = np.linalg.inv(planar[flat])
    one, other = (now[..., faces[:, k], :].astype(np.float64) - now[..., faces[:, 0], :] for k in (1, 2))
    found = np.where(flat, _largest_stretch(one, other, inverse), 0.0)
    around = np.bincount(faces.ravel(), minlength=len(rest))
    each = [np.bincount(faces.ravel(), np.repeat(row, 3), len(rest)) for row in found.reshape(-1, len(faces))]
    return np.reshape(each, (*now.shape[:-2], len(rest))) / np.maximum(around, 1)


def _largest_stretch(
    first: NDArray[np.float64], second: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(..., faces): |stretch - 1|, the larger of both, of edges (..., faces, 3) now and D^-1 (faces, 2, 2)."""
    u, v = (first * inverse[:, 0, k, None] + second * inverse[:, 1, k, None] for k in (0, 1))
    uu, vv, uv = (u * u).sum(axis=-1), (v * v).sum(axis=-1), (u * v).sum(axis=-1)
    mean, apart = 0.5 * (uu + vv), np.sqrt(0.25 * (uu - vv) ** 2 + uv**2)
    large, small = np.sqrt(mean + apart), np.sqrt(np.maximum(mean - apart, 0.0))
    return np.asarray(np.maximum(np.abs(large - 1.0), np.abs(small - 1.0)))


def scale_colours(values: NDArray[np.float64], most: float) -> NDArray[np.uint8]:
    """(vertices, 3) bytes: dark for 0, yellow for ``most`` and above, grey where there is no value."""
    known = np.isfinite(values)
    part = np.clip(np.where(known, values, 0.0) / max(most, 1e-12), 0.0, 1.0) * (len(MAP) - 1)
    low = np.minimum(part.astype(int), len(MAP) - 2)
    mixed = MAP[low] + (part - low)[:, None] * (MAP[low + 1] - MAP[low])
    return np.asarray(np.where(known[:, None], mixed, NONE).round(), dtype=np.uint8)


FIELDS = ("strain", "stress")
PEAKS = 0.005  # the share of values that may lie above a scale
STIFF = 1e-3  # strain below which a body counts as rigid: small triangles far from the origin are rounded by 1e-5


@dataclass(frozen=True)
class ShadedField:
    """values: (frames, vertices), NaN where a vertex has none. unit: "" for a fraction."""

    name: str
    unit: str
    values: NDArray[np.float64]

    @property
    def most(self) -> float:
        """What all but one value in two hundred stay below: a single peak does not darken the rest. 0 where there is
        none."""
        known = self.values[np.isfinite(self.values)]
        return float(np.quantile(known, 1.0 - PEAKS)) if known.size else 0.0


def compute_strain_field(body: PlaybackBody) -> ShadedField:
    """The strain of a surface since the first of its times."""
    return ShadedField("strain", "", strain(body.vertices[0], body.vertices, body.faces))


def compute_stress_field(scene: Scene, body: PlaybackBody) -> ShadedField | None:
    """The stress that the scene's model tells; None where it has none."""
    with torch.no_grad():
        found = scene.model.stress(body.trajectory, body.params, body.control)
    if found is None:
        return None
    return ShadedField("stress", found.unit, found.values.double().expand(len(body.times), -1).cpu().numpy())


def compute_field(name: str, scene: Scene, body: PlaybackBody) -> ShadedField | None:
    """The field called "strain" or "stress"; None where the body has none."""
    return compute_strain_field(body) if name == "strain" else compute_stress_field(scene, body)


def find_common_scale(fields: Mapping[str, ShadedField]) -> float:
    """The value at the upper end of one scale for all bodies, by name, so that their colours can be compared: that of
    the fit where it has one, which a wild first guess does not darken."""
    known = {name: field.most for name, field in fields.items()}
    return known.get("fit", 0.0) or max(known.values(), default=0.0)


def format_scale(most: float, unit: str) -> str:
    """What the colours mean, such as "from 0 to 3.2 kPa and above"."""
    if unit == "":
        return f"from 0 to {100.0 * most:.2g} % and above"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= factor:
            return f"from 0 to {most / factor:.3g} {prefix}{unit} and above"
    return f"from 0 to {most:.3g} {unit} and above"


FRAMES = 61  # that are played unless told otherwise


@dataclass(frozen=True)
class Playback:
    """An experiment with the values that are known of its unknowns, by name: "start", "fit", "truth"."""

    experiment: Experiment
    values: Mapping[str, Mapping[str, Tensor]]
    result: Result | None = None

    def times(self, frames: int = FRAMES) -> Tensor:
        """(frames,) [s]: evenly over the simulation."""
        scene = self.experiment.scene
        return torch.linspace(0.0, scene.steps * scene.dt, frames, dtype=torch.float64)

    def body(self, name: str, times: Tensor | None = None) -> PlaybackBody:
        """What moved under the values called ``name``."""
        if name not in self.values:
            raise InputError(f"playback: there is no {name!r}; there are: {', '.join(self.values)}")
        return play(name, self.experiment.scene, self.values[name], self.times() if times is None else times)


def load_playback(place: str | Path) -> Playback:
    """Of a run folder, or of an experiment file, which has no fit yet."""
    path = Path(place)
    if path.is_dir():
        experiment = build_experiment(RunFolder(path).config())
        result = Result.load(path)
        return Playback(experiment, _values(experiment, result.z), result)
    experiment = build_experiment(load_file(path))
    return Playback(experiment, _values(experiment, None))


def make_playback(experiment: Experiment, z: Tensor | None = None) -> Playback:
    """Return the playback of an experiment in memory; z: the vector found."""
    return Playback(experiment, _values(experiment, z))


def read_true_values(experiment: Experiment) -> dict[str, Tensor] | None:
    """The unknowns' true values, or None unless all of them are known."""
    layout, truth = experiment.layout, experiment.target.truth
    if not all(slot.name in truth and slot.only is None for slot in layout.slots):
        return None
    with torch.no_grad():
        return layout.decode(layout.encode(truth))


def _values(experiment: Experiment, z: Tensor | None) -> dict[str, Mapping[str, Tensor]]:
    layout, truth = experiment.layout, read_true_values(experiment)
    with torch.no_grad():
        found: dict[str, Mapping[str, Tensor]] = {"start": layout.decode(experiment.start(0))}
        if z is not None:
            found["fit"] = layout.decode(z.to(layout.dtype))
    return found if truth is None else found | {"truth": truth}
