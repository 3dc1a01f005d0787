"""Playback of a run or an experiment: surfaces over time, strain, stress, contact forces. For viewers and exports."""

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
    "compute_strain",
    "compute_strain_field",
    "compute_stress_field",
    "find_common_scale",
    "format_scale",
    "load_playback",
    "make_playback",
    "place_camera_at",
    "play",
    "scale_colours",
]


@dataclass(frozen=True)
class PlaybackBody:
    """Motion under one set of values.

    Args:
        name: Name of the values: "start", "fit" or "truth".
        times: (frames,) [s].
        vertices: (frames, vertices, 3) [m].
        faces: (faces, 3).
        colours: (vertices, 3) bytes, or None where vertices have no colours.
        trajectory: States at these times.
        params: Parameters of the simulation.
        control: Control at these times, a row for each.
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
    """Simulate a scene and keep its surface.

    Args:
        name: Name of the body.
        scene: Scene to simulate.
        values: Values of the unknowns, by name.
        times: (frames,) at which the surface is kept [s].

    Returns:
        The motion.
    """
    sampling = sample_times(times, scene.dt, scene.steps)
    with torch.no_grad():
        made = scene.rollout(values, sampling.save, NoGradient())
        surface = scene.model.surface(made.trajectory, made.params)
        colours = read_surface_colours(scene, values, surface)
    return make_body(name, times, sampling, made, surface, colours)


def make_body(
    name: str, times: Tensor, sampling: Sampling, made: Rollout, surface: Surface, colours: NDArray[np.uint8] | None
) -> PlaybackBody:
    """Return the body of a simulation whose states were saved as ``sampling`` says."""
    saved = made.trajectory
    q, u = ({name: sampling.between(pair[k]).cpu() for name, pair in saved.sets.items()} for k in (0, 1))
    memory = {name: sampling.between(value).cpu() for name, value in saved.memory.items()}
    kept = Trajectory(q, u, sampling.between(saved.times).cpu(), memory=memory)
    vertices = sampling.between(surface.vertices) if len(surface.vertices) > 1 else surface.vertices
    moved = vertices.detach().cpu().to(torch.float32).expand(len(times), -1, -1)
    faces, params = surface.faces.cpu().numpy(), Params({k: v.cpu() for k, v in made.params.items()}, made.params.dtype)
    return PlaybackBody(
        name, times.numpy(), moved.numpy(), faces, colours, kept, params, _sample_control(made.control, sampling)
    )


def _sample_control(control: Control, sampling: Sampling) -> Control:
    """Return the row of the step that begins at or before each frame; at the very end, that of the last step."""
    step = torch.tensor(sampling.save)[sampling.low]
    return Control({name: rows[step.clamp(max=len(rows) - 1)].cpu() for name, rows in control.items() if len(rows)})


def read_surface_colours(scene: Scene, values: Mapping[str, Tensor], surface: Surface) -> NDArray[np.uint8] | None:
    """Return the first colours that the scene gives a surface, (vertices, 3) bytes; None unless each vertex has one."""
    shown = scene.appearance.apply(surface, surface.vertices[0], values.get("appearance.colour"))
    colours = shown.colours
    if colours is None or (shown.colour_per == "face" and colours.dim() > 1):
        return None
    first = colours[0] if colours.dim() == 3 else colours
    found = (first.detach().cpu().clamp(0.0, 1.0) * 255.0).round().to(torch.uint8)
    return found.expand(surface.vertices.shape[1], 3).numpy()


def place_camera_at(scene: Scene, label: str, values: Mapping[str, Tensor], times: Tensor) -> Camera:
    """Return a camera at given times, placed by the values of its unknowns.

    Args:
        scene: Scene of the camera.
        label: Label of the camera's view.
        values: Values of the unknowns, by name.
        times: (frames,) of its video [s].

    Returns:
        The camera.
    """
    prefix = camera_prefix(label)
    places = {k.removeprefix(prefix): v.detach() for k, v in values.items() if k.startswith(prefix)}
    return make_camera(scene.viewpoints[label].camera, scene.dtype, places, times)


NAMED = ("ground", "collisions", "self_collision")
LEAST = 1e-9  # force below which there is no contact [N]


@dataclass(frozen=True)
class Arrows:
    """Contact forces at one time.

    Args:
        points: (arrows, 3) points at which they act [m].
        forces: (arrows, 3) [N].
    """

    points: NDArray[np.float64]
    forces: NDArray[np.float64]


NOTHING = Arrows(np.zeros((0, 3)), np.zeros((0, 3)))


def compute_contact_forces(scene: Scene, body: PlaybackBody) -> list[Arrows]:
    """Return the contact forces on the nodes of a body; none on nodes that are neither points nor bodies.

    The model's contact terms are evaluated without its other terms. In a world, bodies that touch push each other, so
    every force is there twice, once on each.

    Args:
        scene: Scene of the body.
        body: Motion of the body.

    Returns:
        The forces at each time.
    """
    dynamics = scene.model.dynamics(body.params, Control({name: rows[:1] for name, rows in body.control.items()}))
    if not isinstance(dynamics, Mechanics):
        return [NOTHING] * len(body.times)
    terms = tuple(t for t in dynamics.terms if isinstance(t, NodeTerm) and _is_contact(t))
    drawn = [name for name, nodes in dynamics.sets.items() if (nodes.dq, nodes.du) in ((3, 3), (7, 6))]
    if not terms or not drawn:
        return [NOTHING] * len(body.times)
    alone = Mechanics(dynamics.nodes, terms)
    return [_compute_arrows(alone, body.trajectory[k], drawn, scene.dt) for k in range(len(body.times))]


def _compute_arrows(alone: Mechanics, state: State, drawn: list[str], dt: float) -> Arrows:
    """Return the forces of one state."""
    q, u = ({name: pair[k].contiguous() for name, pair in state.sets.items()} for k in (0, 1))
    whole = State(q, u)
    with torch.no_grad():
        forces = alone.forces(whole, dt=dt)
    force = torch.cat([forces[name][:, :3] for name in drawn]).cpu().double().numpy()
    place = torch.cat([whole.sets[name][0][:, :3] for name in drawn]).cpu().double().numpy()
    acts = np.linalg.norm(force, axis=1) > LEAST
    return Arrows(place[acts], force[acts])


def _is_contact(term: NodeTerm) -> bool:
    # A world puts the names of its bodies before those of their terms: "ball.ground".
    """Return True for terms of contact."""
    return term.name.rpartition(".")[2] in NAMED or any(name == "contact" for name, _ in term.params)


#: Colours from a small to a large value: dark blue, green, yellow.
MAP = np.array([[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]], dtype=np.float64)
NONE = 150.0  # grey of vertices without a value


def compute_strain(
    rest: NDArray[np.float32], now: NDArray[np.float32], faces: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the strain of a surface: the largest |principal stretch - 1| of each face, averaged around each vertex.

    With the edges of a face at rest as a 2 x 2 matrix D in its plane and the present ones as a 3 x 2 matrix E, F = E
    D^-1; the squares of the stretches are the eigenvalues of F^T F.

    Args:
        rest: (vertices, 3) at rest [m].
        now: (..., vertices, 3) at present [m].
        faces: (faces, 3).

    Returns:
        (..., vertices), no unit.
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
    found = np.where(flat, _find_largest_stretch(one, other, inverse), 0.0)
    around = np.bincount(faces.ravel(), minlength=len(rest))
    each = [np.bincount(faces.ravel(), np.repeat(row, 3), len(rest)) for row in found.reshape(-1, len(faces))]
    return np.reshape(each, (*now.shape[:-2], len(rest))) / np.maximum(around, 1)


def _find_largest_stretch(
    first: NDArray[np.float64], second: NDArray[np.float64], inverse: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the larger |stretch - 1| (..., faces) from present edges (..., faces, 3) and D^-1 (faces, 2, 2)."""
    u, v = (first * inverse[:, 0, k, None] + second * inverse[:, 1, k, None] for k in (0, 1))
    uu, vv, uv = (u * u).sum(axis=-1), (v * v).sum(axis=-1), (u * v).sum(axis=-1)
    mean, apart = 0.5 * (uu + vv), np.sqrt(0.25 * (uu - vv) ** 2 + uv**2)
    large, small = np.sqrt(mean + apart), np.sqrt(np.maximum(mean - apart, 0.0))
    return np.asarray(np.maximum(np.abs(large - 1.0), np.abs(small - 1.0)))


def scale_colours(values: NDArray[np.float64], most: float) -> NDArray[np.uint8]:
    """Return colours of values: dark for 0, yellow for ``most`` and above, grey where there is no value.

    Args:
        values: (vertices,), NaN for none.
        most: Value at the upper end of the scale.

    Returns:
        (vertices, 3) bytes.
    """
    known = np.isfinite(values)
    part = np.clip(np.where(known, values, 0.0) / max(most, 1e-12), 0.0, 1.0) * (len(MAP) - 1)
    low = np.minimum(part.astype(int), len(MAP) - 2)
    mixed = MAP[low] + (part - low)[:, None] * (MAP[low + 1] - MAP[low])
    return np.asarray(np.where(known[:, None], mixed, NONE).round(), dtype=np.uint8)


FIELDS = ("strain", "stress")
PEAKS = 0.005  # share of values that may lie above a scale
STIFF = 1e-3  # strain below which a body counts as rigid: small triangles far from the origin are rounded by 1e-5


@dataclass(frozen=True)
class ShadedField:
    """Values of a field on a surface over time.

    Args:
        name: "strain" or "stress".
        unit: Unit of the values; "" for a fraction.
        values: (frames, vertices), NaN where a vertex has none.
    """

    name: str
    unit: str
    values: NDArray[np.float64]

    @property
    def most(self) -> float:
        """Value that all but one in two hundred stay below, so that a single peak does not darken the rest; 0 without
        values.
        """
        known = self.values[np.isfinite(self.values)]
        return float(np.quantile(known, 1.0 - PEAKS)) if known.size else 0.0


def compute_strain_field(body: PlaybackBody) -> ShadedField:
    """Return the strain of a surface since the first of its times.

    Args:
        body: Motion of the surface.

    Returns:
        The strain, a fraction.
    """
    return ShadedField("strain", "", compute_strain(body.vertices[0], body.vertices, body.faces))


def compute_stress_field(scene: Scene, body: PlaybackBody) -> ShadedField | None:
    """Return the stress of a body by its model.

    Args:
        scene: Scene of the body.
        body: Motion of the body.

    Returns:
        The stress; None where the model gives none.
    """
    with torch.no_grad():
        found = scene.model.stress(body.trajectory, body.params, body.control)
    if found is None:
        return None
    return ShadedField("stress", found.unit, found.values.double().expand(len(body.times), -1).cpu().numpy())


def compute_field(name: str, scene: Scene, body: PlaybackBody) -> ShadedField | None:
    """Return a field of a body by its name.

    Args:
        name: "strain" or "stress".
        scene: Scene of the body.
        body: Motion of the body.

    Returns:
        The field; None where the body has none.
    """
    return compute_strain_field(body) if name == "strain" else compute_stress_field(scene, body)


def find_common_scale(fields: Mapping[str, ShadedField]) -> float:
    """Return the upper end of one scale for all bodies, so that their colours can be compared.

    It is that of the fit where there is one, because a wild first guess would darken the rest.

    Args:
        fields: Fields by the body's name.

    Returns:
        Value at the upper end.
    """
    known = {name: field.most for name, field in fields.items()}
    return known.get("fit", 0.0) or max(known.values(), default=0.0)


def format_scale(most: float, unit: str) -> str:
    """Return the meaning of colours as text, such as "from 0 to 3.2 kPa and above".

    Args:
        most: Value at the upper end of the scale.
        unit: Unit of the values; "" for a fraction.

    Returns:
        The text.
    """
    if unit == "":
        return f"from 0 to {100.0 * most:.2g} % and above"
    for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if most >= factor:
            return f"from 0 to {most / factor:.3g} {prefix}{unit} and above"
    return f"from 0 to {most:.3g} {unit} and above"


FRAMES = 61  # default number of frames


@dataclass(frozen=True)
class Playback:
    """Experiment with the known values of its unknowns.

    Args:
        experiment: The experiment.
        values: Values by name: "start", "fit", "truth".
        result: Result of the fit, if there is one.
    """

    experiment: Experiment
    values: Mapping[str, Mapping[str, Tensor]]
    result: Result | None = None

    def times(self, frames: int = FRAMES) -> Tensor:
        """Return times that lie evenly over the simulation.

        Args:
            frames: Number of times.

        Returns:
            (frames,) [s].
        """
        scene = self.experiment.scene
        return torch.linspace(0.0, scene.steps * scene.dt, frames, dtype=torch.float64)

    def body(self, name: str, times: Tensor | None = None) -> PlaybackBody:
        """Simulate with one set of values.

        Args:
            name: Name of the values.
            times: (frames,) [s]; default those of ``times()``.

        Returns:
            The motion.
        """
        if name not in self.values:
            raise InputError(f"playback: got the body {name!r}; expected one of {', '.join(self.values)}")
        return play(name, self.experiment.scene, self.values[name], self.times() if times is None else times)


def load_playback(place: str | Path) -> Playback:
    """Load the playback of a run folder, or of an experiment file, which has no fit yet.

    Args:
        place: Run folder or experiment file.

    Returns:
        The playback.

    Example:
        playback = load_playback("runs/demo")
        body = playback.body("fit")
    """
    path = Path(place)
    if path.is_dir():
        experiment = build_experiment(RunFolder(path).config())
        result = Result.load(path)
        return Playback(experiment, _collect_values(experiment, result.z), result)
    experiment = build_experiment(load_file(path))
    return Playback(experiment, _collect_values(experiment, None))


def make_playback(experiment: Experiment, z: Tensor | None = None) -> Playback:
    """Return the playback of an experiment in memory.

    Args:
        experiment: The experiment.
        z: Vector that a fit found; None for none.

    Returns:
        The playback.
    """
    return Playback(experiment, _collect_values(experiment, z))


def read_true_values(experiment: Experiment) -> dict[str, Tensor] | None:
    """Return the unknowns' true values, or None unless all of them are known."""
    layout, truth = experiment.layout, experiment.target.truth
    if not all(slot.name in truth and slot.only is None for slot in layout.slots):
        return None
    with torch.no_grad():
        return layout.decode(layout.encode(truth))


def _collect_values(experiment: Experiment, z: Tensor | None) -> dict[str, Mapping[str, Tensor]]:
    """Return the known values by name."""
    layout, truth = experiment.layout, read_true_values(experiment)
    with torch.no_grad():
        found: dict[str, Mapping[str, Tensor]] = {"start": layout.decode(experiment.start(0))}
        if z is not None:
            found["fit"] = layout.decode(z.to(layout.dtype))
    return found if truth is None else found | {"truth": truth}
