"""Bodies, cameras, forces and fields as the page draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom_fitting.scene import Scene
from diffloom_fitting.targets import Target
from diffloom_studio.playback import (
    Arrows,
    Playback,
    PlaybackBody,
    ShadedField,
    compute_contact_forces,
    compute_strain_field,
    compute_stress_field,
    find_common_scale,
    format_scale,
    place_camera_at,
    scale_colours,
)


@dataclass(frozen=True)
class CameraTrack:
    """Poses and images of one camera over time.

    rotation: (frames or 1, 3, 3), columns are its right, down and forward axes in the world. eye: (frames or 1, 3) [m].
    fov: vertical [rad]. focal: fx, fy [px]. times: (frames,) of the simulation [s]. images: (frames, height, width, 3)
    bytes, or None.
    """

    label: str
    rotation: NDArray[np.float64]
    eye: NDArray[np.float64]
    fov: float
    focal: tuple[float, float]
    size: tuple[int, int]
    times: NDArray[np.float64]
    images: NDArray[np.uint8] | None

    def at(self, time: float) -> int:
        """Return the frame nearest to ``time`` [s]."""
        return int(np.abs(self.times - time).argmin())


def find_recorders(playback: Playback) -> list[CameraTrack]:
    """Return all cameras, at the poses of the best known values."""
    scene = playback.experiment.scene
    values = next(playback.values[name] for name in ("fit", "truth", "start") if name in playback.values)
    targets = playback.experiment.target.by_view()
    return [_make_track(scene, label, values, targets[label]) for label in scene.viewpoints]


def _make_track(scene: Scene, label: str, values: Mapping[str, Tensor], target: Target) -> CameraTrack:
    camera = place_camera_at(scene, label, values, target.times)
    rows = camera.rotation.double().reshape(-1, 3, 3)
    # Axes right, up, back become right, down, forward.
    axes = (rows * torch.tensor([[1.0], [-1.0], [-1.0]], dtype=torch.float64)).transpose(1, 2)
    images = target.frames if target.frames is not None else target.masks
    shown = None
    if images is not None:
        colour = images[..., :3] if images.dim() == 4 else images[..., None].expand(*images.shape, 3)
        shown = (colour.clamp(0.0, 1.0) * 255.0).round().to(torch.uint8).numpy()
    fx, fy = (float(f) for f in camera.focal)
    return CameraTrack(
        label or "camera", axes.numpy(), camera.eye.double().reshape(-1, 3).numpy(),
        2.0 * float(np.arctan(0.5 * camera.height / fy)), (fx, fy), (camera.height, camera.width),
        (target.times + scene.viewpoints[label].time_offset).numpy(), shown,
    )  # fmt: skip


COLOURS = {"start": (217, 99, 43), "fit": (31, 95, 168), "truth": (44, 138, 87), "yours": (162, 59, 114)}
GHOST = 0.45  # opacity of bodies laid over the fit
REACH = 0.35  # length of the largest force's arrow, in the scene's size


class SceneDrawing:
    """Content of a viser server. Everything is redrawn by name, so nothing is left behind."""

    def __init__(self, server: Any, playback: Playback, cameras: Sequence[CameraTrack]) -> None:
        self._server, self._playback, self._cameras = server, playback, cameras
        self._handles: dict[str, Any] = {}
        self._fields: dict[tuple[str, str], ShadedField | None] = {}
        self._arrows: dict[str, list[Arrows]] = {}
        self._shifts: dict[str, float] = {}
        server.scene.set_up_direction("+y")
        server.scene.add_grid("/ground", 20.0, 20.0, plane="xz", cell_size=0.5)

    def place_eye(self, bodies: Mapping[str, PlaybackBody]) -> None:
        """Put the eye beside the first camera, at a distance from which all bodies are in view."""
        low = np.min([body.vertices.min(axis=(0, 1)) for body in bodies.values()], axis=0)
        high = np.max([body.vertices.max(axis=(0, 1)) for body in bodies.values()], axis=0)
        aim = 0.5 * (low + high).astype(np.float64)
        back = -self._cameras[0].rotation[0][:, 2] if self._cameras else np.array([0.0, 0.0, 1.0])
        side = np.cross(np.array([0.0, 1.0, 0.0]), back)
        way = back + 0.5 * side + np.array([0.0, 0.35, 0.0])
        start = self._server.initial_camera
        start.position = aim + 1.6 * float(np.linalg.norm(high - low)) * way / np.linalg.norm(way)
        start.look_at = aim
        start.up = (0.0, 1.0, 0.0)

    def axes(self, bodies: Mapping[str, PlaybackBody]) -> None:
        """Draw the axes x, y and z, with their names, at the world's origin on the ground."""
        length = 0.35 * self._extent(bodies)
        self._server.scene.add_frame(
            "/axes", axes_length=length, axes_radius=0.012 * length, origin_radius=0.02 * length
        )
        for name, end in zip("xyz", length * np.eye(3), strict=True):
            self._server.scene.add_label(f"/axes/{name}", name, position=1.08 * end)

    def forget(self, name: str) -> None:
        """Drop the fields and forces of a body that has changed."""
        for field in ("strain", "stress"):
            self._fields.pop((field, name), None)
        self._arrows.pop(name, None)

    def has_stress(self, body: PlaybackBody) -> bool:
        """Return True if the scene's model gives the stress of a body."""
        return self._field("stress", body) is not None

    def bodies(self, bodies: Mapping[str, PlaybackBody], frame: int, *, apart: bool, colouring: str) -> None:
        """Draw each body at a frame; side by side or one over the other; coloured by body, as recorded, or by a
        field.
        """
        import trimesh  # takes long, and only a page that is shown needs it

        if colouring in ("strain", "stress"):
            for body in bodies.values():
                self._field(colouring, body)
        for name in set(self._handles) - set(bodies):
            self._handles.pop(name).remove()
        self._shifts = shifts = _shifts(bodies, apart)
        for name, body in bodies.items():
            solid = apart or name == "fit" or len(bodies) == 1
            colours = self._colours(body, frame, colouring)
            if colours is None:
                handle = self._server.scene.add_mesh_simple(
                    f"/bodies/{name}", body.vertices[frame], body.faces.astype(np.int32),
                    color=COLOURS.get(name, (120, 120, 120)), opacity=None if solid else GHOST, flat_shading=True,
                    side="double", position=(shifts[name], 0.0, 0.0),
                )  # fmt: skip
            else:
                mesh = trimesh.Trimesh(
                    body.vertices[frame], body.faces, vertex_colors=to_linear(colours), process=False
                )
                handle = self._server.scene.add_mesh_trimesh(f"/bodies/{name}", mesh, position=(shifts[name], 0.0, 0.0))
            self._handles[name] = handle

    def _colours(self, body: PlaybackBody, frame: int, colouring: str) -> NDArray[np.uint8] | None:
        if colouring == "appearance":
            return body.colours
        if colouring not in ("strain", "stress"):
            return None
        field = self._field(colouring, body)
        return None if field is None else scale_colours(field.values[frame], self._most(colouring))

    def _field(self, name: str, body: PlaybackBody) -> ShadedField | None:
        """Return a field of a body, computed once and kept until the body changes."""
        if (name, body.name) not in self._fields:
            scene = self._playback.experiment.scene
            self._fields[name, body.name] = (
                compute_strain_field(body) if name == "strain" else compute_stress_field(scene, body)
            )
        return self._fields[name, body.name]

    def _most(self, name: str) -> float:
        """Return the upper end of the scale that all bodies share."""
        kept = {body: field for (kind, body), field in self._fields.items() if kind == name and field is not None}
        return find_common_scale(kept)

    def scale(self, colouring: str) -> str:
        """Return the meaning of the colours; an empty text where they are the bodies' own."""
        units = {field.unit for (kind, _), field in self._fields.items() if kind == colouring and field is not None}
        return format_scale(self._most(colouring), units.pop()) if units else ""

    def forces(self, bodies: Mapping[str, PlaybackBody], frame: int) -> None:
        """Draw contact forces as arrows from their points, the largest of all as long as a third of the scene."""
        for name, body in bodies.items():
            if name not in self._arrows:
                self._arrows[name] = compute_contact_forces(self._playback.experiment.scene, body)
        largest = max((_find_largest_force(arrows) for name in bodies for arrows in self._arrows[name]), default=0.0)
        for name in COLOURS:
            arrows = self._arrows[name][frame] if name in bodies else None
            place = f"/forces/{name}"
            if arrows is None or len(arrows.points) == 0 or largest == 0.0:
                self._server.scene.remove_by_name(place)
                continue
            reach = REACH * self._extent(bodies)
            ends = np.stack([arrows.points, arrows.points + reach / largest * arrows.forces], axis=1)
            self._server.scene.add_arrows(
                place, ends.astype(np.float32), COLOURS[name], shaft_radius=0.02 * reach, head_radius=0.05 * reach,
                head_length=0.12 * reach, position=(self._shifts[name], 0.0, 0.0),
            )  # fmt: skip

    @staticmethod
    def _extent(bodies: Mapping[str, PlaybackBody]) -> float:
        """Return the longest side of the box that holds the bodies at all times [m]."""
        low = np.min([body.vertices.min(axis=(0, 1)) for body in bodies.values()], axis=0)
        high = np.max([body.vertices.max(axis=(0, 1)) for body in bodies.values()], axis=0)
        return float((high - low).max())

    def scale_of_forces(self, bodies: Mapping[str, PlaybackBody]) -> str:
        """Return the size of the largest force as text; "none" where none acts."""
        largest = max(
            (_find_largest_force(arrows) for name in bodies for arrows in self._arrows.get(name, ())), default=0.0
        )
        return f"{largest:.3g} N" if largest > 0.0 else "none"

    def cameras(self, time: float, shown: bool) -> None:
        """Draw a frustum for each camera, with its frame nearest to ``time`` [s]."""
        import viser.transforms

        for one in self._cameras:
            k = one.at(time)
            moved = min(k, len(one.eye) - 1)
            self._server.scene.add_camera_frustum(
                f"/cameras/{one.label}", one.fov, one.size[1] / one.size[0], scale=0.3,
                image=None if one.images is None else one.images[k],
                wxyz=viser.transforms.SO3.from_matrix(one.rotation[moved]).wxyz, position=one.eye[moved], visible=shown,
            )  # fmt: skip


def to_linear(colours: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return colours of a screen as linear amounts of light, which vertex colours of glTF are."""
    part = colours.astype(np.float64) / 255.0
    light = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return np.asarray((255.0 * light).round(), dtype=np.uint8)


def _shifts(bodies: Mapping[str, PlaybackBody], apart: bool) -> dict[str, float]:
    """Return the displacement of each body along x [m]."""
    if not apart or len(bodies) < 2:
        return dict.fromkeys(bodies, 0.0)
    wide = 1.1 * max(float(np.ptp(body.vertices[..., 0])) for body in bodies.values())
    return {name: wide * (k - 0.5 * (len(bodies) - 1)) for k, name in enumerate(bodies)}


def _find_largest_force(arrows: Arrows) -> float:
    return float(np.linalg.norm(arrows.forces, axis=1).max()) if len(arrows.forces) else 0.0
