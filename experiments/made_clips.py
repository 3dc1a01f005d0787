"""Clips whose truth is known, drawn by a ray caster that shares no code with diffloom.

    python experiments/made_clips.py --folder clips              # the 12 clips for development
    python experiments/made_clips.py --folder unseen --unseen    # 12 more, for one run at the very end

Each clip shows one object in perspective before a textured wall, above a textured floor: spheres and boxes are
intersected analytically, 16 rays to a pixel and 12 instants to an exposure. The object has a texture, spins, and casts
the soft shadow of a square lamp. The camera looks down a little and is rolled a little; its lens blurs; light is
encoded with a power of 1/2.2, grain is added, and H.264 compresses the frames. Motions are closed formulas, that of the
pendulum an ordinary differential equation solved to 1e-10. `truth.json` holds, for each clip, the facts that a person
would know, which the fit is told, and the true values, which it is not. Beside each clip, a file NAME.npz holds the
exact area and centroid of the object in each frame.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.ndimage import gaussian_filter

Array = NDArray[np.float64]

WIDTH, HEIGHT = 640, 480
GRAVITY, GAMMA = 9.81, 2.2
GRID, INSTANTS, LAMPS = 4, 12, 5  # rays along a pixel's side, instants of an exposure, lamps along the lamp's side
KINDS = ("throw-size", "throw-gravity", "bounce", "pendulum", "slide")
DEVELOPMENT = tuple(zip((KINDS * 3)[:12], range(100, 112), strict=True))
UNSEEN = tuple(zip((KINDS * 3)[:12], range(7400, 7412), strict=True))


@dataclass(frozen=True)
class Lens:
    """A camera: its place and angles, in metres and radians, and how it records."""

    place: tuple[float, float, float]
    fov: float
    pitch: float
    roll: float
    blur: float
    exposure: float
    grain: float
    crf: int

    @property
    def focal(self) -> float:
        return 0.5 * HEIGHT / np.tan(0.5 * np.radians(self.fov))

    def axes(self) -> Array:
        """Rows: right, up and backwards. A positive pitch looks down; a positive roll turns the camera clockwise."""
        (sp, cp), (sr, cr) = ((np.sin(a), np.cos(a)) for a in (self.pitch, self.roll))
        right, up, back = np.array([1.0, 0.0, 0.0]), np.array([0.0, cp, -sp]), np.array([0.0, sp, cp])
        return np.array([cr * right - sr * up, sr * right + cr * up, back])

    def rays(self, columns: Array, rows: Array) -> Array:
        """(..., 3) directions through image points, of length 1 along the viewing axis."""
        right, up, back = self.axes()
        across = (columns - 0.5 * WIDTH) / self.focal
        down = (rows - 0.5 * HEIGHT) / self.focal
        return np.asarray(across[..., None] * right - down[..., None] * up - back)

    def image_of(self, point: Array) -> tuple[float, float, float]:
        """Column, row and depth of a point."""
        x, y, z = self.axes() @ (point - np.array(self.place))
        return 0.5 * WIDTH + self.focal * x / -z, 0.5 * HEIGHT - self.focal * y / -z, -z


@dataclass(frozen=True)
class Clip:
    """A scene that moves, how it is recorded, known facts of it and true values.

    place: centre of the object at times (n,), (n, 3). half: radius of the ball, or half the sides of the box. known:
    what the fit is told, options of `diffloom new`. truth: by name of the unknown; asked: those that are judged.
    """

    kind: str
    seed: int
    lens: Lens
    place: Callable[[Array], Array]
    half: tuple[float, ...]
    duration: float
    rate: float
    wall: float
    floor: float
    spin: float
    colours: Array
    known: dict[str, str | float] = field(default_factory=dict)
    truth: dict[str, float] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    pivot: Array | None = None

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.seed}"


def draw_clip(kind: str, seed: int) -> Clip:
    """The clip of one kind and seed."""
    random = np.random.default_rng(seed)
    return {"throw": _throw, "bounce": _bounce, "pendulum": _pendulum, "slide": _slide}[kind.split("-")[0]](
        kind, seed, lambda low, high: float(random.uniform(low, high)), random
    )


Draw = Callable[[float, float], float]


def _colours(random: np.random.Generator) -> Array:
    """(4, 3): encoded colours of the wall, the floor and the object's two paints."""
    wall = 0.55 + 0.25 * random.random() + 0.05 * random.standard_normal(3)
    floor = 0.40 + 0.2 * random.random() + 0.05 * random.standard_normal(3)
    paints = np.array([[0.75, 0.25, 0.10], [0.12, 0.45, 0.20], [0.10, 0.25, 0.65], [0.15, 0.13, 0.12]])
    paint = paints[random.integers(len(paints))]
    return np.clip(np.array([wall, floor, paint, 0.72 * paint]), 0.03, 0.95)


def _lens(u: Draw, centre: tuple[float, float], distance: float, random: np.random.Generator) -> tuple[Lens, float]:
    """A camera that aims about at ``centre``; and the field of view that its maker states."""
    stated = round(u(34.0, 46.0))
    pitch = np.radians(u(-1.0, 2.5))
    place = (centre[0] + u(-0.03, 0.03) * distance, centre[1] + distance * np.tan(pitch), distance)
    fov = stated * (1.0 + 0.015 * random.standard_normal())
    exposure = 1.0 / u(90.0, 250.0)
    roll = np.radians(0.7 * random.standard_normal())
    return Lens(place, fov, pitch, roll, u(0.4, 1.0), exposure, u(0.006, 0.015), round(u(20, 25))), stated


def _distance(extent: float, fov: float) -> float:
    """The distance from which a height fills three quarters of the image."""
    return extent / 0.75 / (2.0 * np.tan(0.5 * np.radians(fov)))


def _typed(length: float) -> float:
    """A length as a person reads it off a ruler: to a millimetre."""
    return round(length, 3)


def _throw(kind: str, seed: int, u: Draw, random: np.random.Generator) -> Clip:
    radius, span, before = u(0.022, 0.05), u(0.5, 0.75), u(0.3, 0.55)
    top = before * span
    rise, fall = 0.5 * GRAVITY * top**2, 0.5 * GRAVITY * (span - top) ** 2
    extent = max(rise, fall) + 2.0 * radius
    distance = _distance(extent, 40.0)
    along = (1.0 if random.random() < 0.5 else -1.0) * u(0.7, 0.9) * extent / 0.75 * WIDTH / HEIGHT
    speed, rising = along / span, GRAVITY * top
    lens, stated = _lens(u, (0.0, -0.5 * extent + rise), distance, random)
    early = 0.25  # it flies in before the clip's first frame that shows all of it

    def place(t: Array) -> Array:
        s = t - early
        return np.stack([-0.5 * along + speed * s, rising * s - 0.5 * GRAVITY * s**2, 0.0 * s], axis=-1)

    ruler = kind.split("-")[1]
    known: dict[str, str | float] = {"fov": stated, "kind": "throw"}
    truth = {"velocity.x": speed, "gravity.y": -GRAVITY, "radius": radius}
    if ruler == "size":
        known["size"] = _typed(2.0 * radius)
    asked = ("gravity.y", "velocity.x") if ruler == "size" else ("radius", "velocity.x")
    floor = rise - extent - u(0.1, 0.4)
    return Clip(
        kind, seed, lens, place, (radius,), early + span, 60.0, -u(0.4, 1.0), floor, u(-12.0, 12.0), _colours(random),
        known, truth, asked,
    )  # fmt: skip


def _bounce(kind: str, seed: int, u: Draw, random: np.random.Generator) -> Clip:
    radius, height, kept = u(0.02, 0.045), u(0.45, 0.8), u(0.6, 0.85)
    fall = np.sqrt(2.0 * (height - radius) / GRAVITY)
    times, impact = [fall], GRAVITY * fall
    speeds = [impact * kept]
    for _ in range(2):
        times.append(times[-1] + 2.0 * speeds[-1] / GRAVITY)
        speeds.append(speeds[-1] * kept)
    duration = times[-1] + 0.6 * 2.0 * speeds[-1] / GRAVITY
    extent = height + radius
    distance = _distance(extent, 40.0)
    along = (1.0 if random.random() < 0.5 else -1.0) * u(0.4, 0.7) * extent / 0.75 * WIDTH / HEIGHT
    speed = along / duration
    lens, stated = _lens(u, (0.0, 0.5 * extent), distance, random)

    def place(t: Array) -> Array:
        s = np.maximum(t, 0.0)
        y = height - 0.5 * GRAVITY * s**2
        for begin, up in zip(times, speeds, strict=True):
            later = s - begin
            y = np.where(later > 0.0, radius + up * later - 0.5 * GRAVITY * later**2, y)
        return np.stack([-0.5 * along + speed * s, y, 0.0 * s], axis=-1)

    known: dict[str, str | float] = {"fov": stated, "kind": "bounces", "size": _typed(2.0 * radius)}
    truth = {"gravity.y": -GRAVITY, "restitution": kept, "velocity.x": speed, "radius": radius}
    return Clip(
        kind, seed, lens, place, (radius,), duration, 60.0, -u(0.4, 1.0), 0.0, 0.0, _colours(random), known, truth,
        ("gravity.y", "restitution"),
    )  # fmt: skip


def _pendulum(kind: str, seed: int, u: Draw, random: np.random.Generator) -> Clip:
    length, radius, swing = u(0.25, 0.7), u(0.018, 0.035), np.radians(u(12.0, 35.0))
    damping, rate = u(0.02, 0.08), (30.0, 60.0)[int(random.integers(2))]
    duration = 4.2 * 2.0 * np.pi * np.sqrt(length / GRAVITY)
    turned = np.radians(u(-4.0, 4.0))  # the plane of the swing [rad]
    across = 2.0 * length * np.sin(swing) + 2.0 * radius
    seen = max(across * HEIGHT / WIDTH, 0.6 * length)
    lens, stated = _lens(u, (0.0, -length + 0.3 * seen), _distance(seen, 40.0), random)

    def slope(t: float, s: Array) -> list[float]:
        return [s[1], -GRAVITY / length * np.sin(s[0]) - damping * s[1]]

    found = solve_ivp(slope, (0.0, duration + 1.0), [swing, 0.0], rtol=1e-10, atol=1e-12, dense_output=True)

    def place(t: Array) -> Array:
        angle = found.sol(np.maximum(t, 0.0))[0]
        x, y = length * np.sin(angle), -length * np.cos(angle)
        return np.stack([x * np.cos(turned), y, x * np.sin(turned)], axis=-1)

    return Clip(
        kind, seed, lens, place, (radius,), duration, rate, -u(0.3, 0.8), -length - u(0.15, 0.4), 0.0, _colours(random),
        {"fov": stated, "kind": "pendulum"}, {"length": length, "radius": radius}, ("length",), np.zeros(3),
    )  # fmt: skip


def _slide(kind: str, seed: int, u: Draw, random: np.random.Generator) -> Clip:
    half = (u(0.03, 0.05), u(0.02, 0.035), u(0.025, 0.045))
    friction, time = u(0.15, 0.45), u(0.5, 0.8)
    speed = friction * GRAVITY * time
    way = 0.5 * speed * time
    extent = 1.25 * way * HEIGHT / WIDTH
    lens, stated = _lens(u, (0.0, half[1]), _distance(extent, 40.0), random)
    sign, early = (1.0 if random.random() < 0.5 else -1.0), 0.45

    def place(t: Array) -> Array:
        s = np.minimum(t - early, time)
        x = speed * s - 0.5 * friction * GRAVITY * s**2
        return np.stack([sign * (x - 0.5 * way), 0.0 * s + half[1], 0.0 * s], axis=-1)

    sides = " ".join(str(_typed(2.0 * h)) for h in half)
    known: dict[str, str | float] = {"fov": stated, "kind": "slide", "size": sides}
    truth = {"friction": friction, "velocity.x": sign * speed}
    return Clip(
        kind, seed, lens, place, half, early + time + 0.1, 60.0, -u(0.3, 0.7), 0.0, 0.0, _colours(random), known, truth,
        ("friction",),
    )  # fmt: skip


# Drawing: intensities are linear in light.


def _texture(points: Array, seed: int, coarse: float) -> Array:
    """(...,): a pattern of tiles, grain and blotches between 0.75 and 1, of points (..., 2) [m]."""
    random = np.random.default_rng(seed)
    tile = (np.floor(points[..., 0] / coarse) + np.floor(points[..., 1] / (0.5 * coarse))) % 2.0
    ways = [random.standard_normal(2) * 2.0 * np.pi / (coarse * random.uniform(0.1, 0.8)) for _ in range(5)]
    waves = sum(np.sin(points @ way + k) for k, way in enumerate(ways))
    return np.clip(0.88 + 0.05 * tile + 0.02 * waves, 0.7, 1.0)


def _lamps() -> Array:
    """(n, 3): points of the square lamp."""
    grid = np.linspace(-0.18, 0.18, LAMPS)
    return np.array([[-0.9 + a, 2.2, 1.4 + b] for a in grid for b in grid])


AMBIENT, LIGHT = 0.45, 0.75


def _background(clip: Clip, columns: Array, rows: Array) -> tuple[Array, Array, Array]:
    """(places (..., 3), light that shadows leave, light that they take), each colour (..., 3)."""
    eye, ways = np.array(clip.lens.place), clip.lens.rays(columns, rows)
    to_wall = (clip.wall - eye[2]) / ways[..., 2]
    down = np.where(ways[..., 1] < -1e-9, ways[..., 1], -1e-9)
    to_floor = (clip.floor - eye[1]) / down
    on_wall = to_wall < to_floor
    places = eye + np.where(on_wall, to_wall, to_floor)[..., None] * ways
    normal = np.where(on_wall[..., None], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0])
    flat = np.where(on_wall[..., None], places[..., :2], places[..., [0, 2]])
    paint = np.where(on_wall[..., None], clip.colours[0], clip.colours[1]) ** GAMMA
    paint = paint * _texture(flat, clip.seed, 0.11)[..., None]
    light = _facing(places, normal)[..., None]
    return places, AMBIENT * paint, LIGHT * light * paint


def _facing(places: Array, normals: Array) -> Array:
    """Cosine between normals and the way to the middle of the lamp."""
    way = np.array([-0.9, 2.2, 1.4]) - places
    return np.clip((way * normals).sum(-1) / np.linalg.norm(way, axis=-1), 0.0, 1.0)


def _visible(clip: Clip, places: Array, centre: Array) -> Array:
    """Share of the lamp that points (n, 3) see beside the object."""
    seen = np.zeros(len(places))
    for lamp in _lamps():
        seen += ~np.isfinite(_hit(clip, places, lamp - places, centre)[0])
    return seen / LAMPS**2


def _hit(clip: Clip, start: Array, ways: Array, centre: Array) -> tuple[Array, Array]:
    """The place along each ray where it meets the object, infinite where it does not, and the normal there."""
    rel = start - centre
    if len(clip.half) == 1:
        a, b = (ways * ways).sum(-1), (rel * ways).sum(-1)
        c = (rel * rel).sum(-1) - clip.half[0] ** 2
        root = b * b - a * c
        along = np.where(root > 0.0, (-b - np.sqrt(np.maximum(root, 0.0))) / a, np.inf)
        along = np.where(along > 1e-6, along, np.inf)
        met = rel + np.where(np.isfinite(along), along, 0.0)[..., None] * ways
        return along, met / clip.half[0]
    half = np.array(clip.half)
    safe = np.where(np.abs(ways) < 1e-12, 1e-12, ways)
    one, two = (-half - rel) / safe, (half - rel) / safe
    enter, leave = np.minimum(one, two), np.maximum(one, two)
    near, axis = enter.max(-1), enter.argmax(-1)
    along = np.where((near < leave.min(-1)) & (near > 1e-6), near, np.inf)
    normal = np.zeros_like(ways)
    np.put_along_axis(normal, axis[..., None], -np.sign(np.take_along_axis(ways, axis[..., None], -1)), -1)
    return along, normal


def _painted(clip: Clip, points: Array, normals: Array, turned: float) -> Array:
    """(n, 3): light from the object at points relative to its centre."""
    cosine, sine = np.cos(turned), np.sin(turned)
    x, y = cosine * points[..., 0] + sine * points[..., 1], cosine * points[..., 1] - sine * points[..., 0]
    size = max(clip.half)
    stripes = (np.sin(5.0 * y / size + 2.0 * np.sin(2.0 * x / size)) > 0.3)[..., None]
    paint = np.where(stripes, clip.colours[3], clip.colours[2]) ** GAMMA
    return paint * (AMBIENT + LIGHT * _facing(points, normals))[..., None]


def _window(lens: Lens, places: Array, reach: float, margin: int) -> tuple[int, int, int, int] | None:
    """First and last + 1 column and row of what balls of radius ``reach`` around places cover; None outside."""
    ends = []
    for place in places:
        column, row, depth = lens.image_of(place)
        wide = 1.1 * lens.focal * reach / depth + margin
        ends.append((column - wide, column + wide, row - wide, row + wide))
    low, high = np.min(ends, axis=0), np.max(ends, axis=0)
    left, right = max(0, int(low[0])), min(WIDTH, int(high[1]) + 1)
    top, bottom = max(0, int(low[2])), min(HEIGHT, int(high[3]) + 1)
    return (left, right, top, bottom) if left < right and top < bottom else None


def draw_frame(clip: Clip, time: float, still: tuple[Array, Array, Array]) -> tuple[Array, Array]:
    """(light (height, width, 3), how much of each pixel is object (height, width)), before the lens blurs.

    still: what `_background` says of all pixels.
    """
    spots, kept, taken = still
    instants = time + clip.lens.exposure * ((np.arange(INSTANTS) + 0.5) / INSTANTS - 0.5)
    places = clip.place(instants)
    light, covered = kept + taken, np.zeros((HEIGHT, WIDTH))
    reach = float(np.linalg.norm(clip.half))
    middle = clip.place(np.array([time]))[0]
    # Where its shadow may fall: on lines from the lamp through the object's surroundings.
    away = np.linalg.norm(np.cross(spots - middle, middle - _lamps().mean(0)), axis=-1)
    away /= np.linalg.norm(middle - _lamps().mean(0))
    shade = (away < 3.0 * reach + 0.12).nonzero()
    if len(shade[0]):
        light[shade] = kept[shade] + taken[shade] * _visible(clip, spots[shade], middle)[:, None]
    if clip.pivot is not None:
        light = _with_thread(clip, light, middle)
    window = _window(clip.lens, places, reach, 2)
    if window is None:
        return light, covered
    left, right, top, bottom = window
    inner = (np.arange(GRID) + 0.5) / GRID
    columns, rows = np.meshgrid(
        (np.arange(left, right)[:, None] + inner).ravel(), (np.arange(top, bottom)[:, None] + inner).ravel()
    )
    eye = np.array(clip.lens.place)
    ways = clip.lens.rays(columns, rows)
    total = np.zeros((bottom - top, right - left, 3))
    part = np.zeros((bottom - top, right - left))
    for instant, place in zip(instants, places, strict=True):
        along, normal = _hit(clip, eye, ways, place)
        met = np.isfinite(along)
        colour = np.zeros(met.shape + (3,))
        points = eye + along[met][:, None] * ways[met] - place
        colour[met] = _painted(clip, points, normal[met], clip.spin * instant)
        shape = (bottom - top, GRID, right - left, GRID)
        total += colour.reshape(*shape, 3).mean(axis=(1, 3))
        part += met.reshape(shape).mean(axis=(1, 3))
    view = (slice(top, bottom), slice(left, right))
    covered[view] = part / INSTANTS
    light[view] = (1.0 - covered[view])[..., None] * light[view] + total / INSTANTS
    return light, covered


def _with_thread(clip: Clip, light: Array, bob: Array) -> Array:
    """The thread of a pendulum: a dark line, 0.6 px wide, from its pivot to the bob."""
    assert clip.pivot is not None
    ends = [np.array(clip.lens.image_of(point)[:2]) for point in (clip.pivot, bob)]
    way = ends[1] - ends[0]
    columns, rows = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    x, y = columns - ends[0][0], rows - ends[0][1]
    length = np.hypot(*way)
    along, aside = (x * way[0] + y * way[1]) / length, (x * way[1] - y * way[0]) / length
    share = np.clip(0.8 - np.abs(aside), 0.0, 0.6) * ((along > 0.0) & (along < length))
    return np.asarray(light * (1.0 - share[..., None]))


def record(clip: Clip, folder: Path) -> None:
    """Write the clip, and the exact area [px^2] and centroid [px] of the object in each frame."""
    fine_columns, fine_rows = np.meshgrid((np.arange(2 * WIDTH) + 0.5) / 2, (np.arange(2 * HEIGHT) + 0.5) / 2)
    _, kept, taken = _background(clip, fine_columns, fine_rows)
    columns, rows = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    halved = [each.reshape(HEIGHT, 2, WIDTH, 2, 3).mean(axis=(1, 3)) for each in (kept, taken)]
    still = (_background(clip, columns, rows)[0], *halved)
    random = np.random.default_rng(clip.seed + 1_000_000)
    count = int(clip.duration * clip.rate) + 1
    tracks = np.zeros((count, 4))
    with av.open(str(folder / f"{clip.name}.mp4"), "w") as out:
        coding = {"crf": str(clip.lens.crf), "preset": "medium"}
        stream = out.add_stream("libx264", rate=round(clip.rate), options=coding)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for k in range(count):
            light, covered = draw_frame(clip, k / clip.rate, still)
            area = covered.sum()
            if area > 0.0:
                tracks[k] = ((covered * columns).sum() / area, (covered * rows).sum() / area, area, k / clip.rate)
            light = gaussian_filter(light, (clip.lens.blur, clip.lens.blur, 0.0))
            encoded = np.clip(light, 0.0, 1.0) ** (1.0 / GAMMA) + clip.lens.grain * random.standard_normal(light.shape)
            frame = av.VideoFrame.from_ndarray((np.clip(encoded, 0.0, 1.0) * 255.0).round().astype(np.uint8), "rgb24")
            for packet in stream.encode(frame):
                out.mux(packet)
        for packet in stream.encode():
            out.mux(packet)
    np.savez_compressed(folder / f"{clip.name}.npz", tracks=tracks)


def make_clips(folder: Path, chosen: Sequence[tuple[str, int]]) -> None:
    """Write clips that are not there yet, and truth.json."""
    folder.mkdir(parents=True, exist_ok=True)
    clips = [draw_clip(kind, seed) for kind, seed in chosen]
    told = {
        clip.name: {"kind": clip.kind, "known": clip.known, "truth": clip.truth, "asked": clip.asked,
                    "lens": asdict(clip.lens)}
        for clip in clips
    }  # fmt: skip
    (folder / "truth.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    for clip in clips:
        if not (folder / f"{clip.name}.npz").exists():
            record(clip, folder)
            print(clip.name, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips are written")
    parser.add_argument("--unseen", action="store_true", help="the clips for one run at the end")
    given = parser.parse_args()
    make_clips(given.folder, UNSEEN if given.unseen else DEVELOPMENT)
