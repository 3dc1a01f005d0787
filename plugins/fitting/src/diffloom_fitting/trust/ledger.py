"""Ledger of assumptions: how much of ± comes from each number that a fit takes as known, and what the pixels say of it.

Kennedy and O'Hagan (2001) treat known inputs with an error as nuisance parameters; here they are linearised at the end
of the fit, with their tolerances as Gaussian priors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from torch import Tensor

from diffloom.interfaces import Camera, InputError, SimulationError
from diffloom_fitting.objective import Objective
from diffloom_fitting.scene import CameraPlacement, Viewpoint
from diffloom_fitting.scene.checks import list_camera_specs
from diffloom_fitting.trust.camera_error import list_camera_changes
from diffloom_fitting.trust.displacement import discount_places
from diffloom_fitting.trust.linearised import Linearised
from diffloom_fitting.trust.outlines import SIZE
from diffloom_fitting.trust.tolerances import (
    RULER,
    SHAPES,
    Assumption,
    differs_from_earth,
    list_assumptions,
    normalise,
    scale_by_units,
)
from diffloom_fitting.unknowns import Unknown, resolve

STEP = 1e-3  # step of a central difference, in tolerances
COARSE = 0.03  # step in single precision
WEAK = 1e-6  # precision of an error of the camera, whose slope has unit length
ALIKE = 0.02  # share of a slope that is error of its computation, where unknowns make up for the rest
BENT = 0.25  # error of a linear price, relative to it, from which on it is added to ±
BEYOND = 3.0  # distance, in deviations, from which on the pixels contradict an assumption


@dataclass(frozen=True)
class LedgerEntry:
    """Number that a fit took as known, and its effect.

    Args:
        name: Name of the number.
        kind: Kind of its tolerance, a row of the table in docs/trust.md.
        value: The number, or a name such as that of the integrator.
        unit: Its unit.
        origin: "given" by the user, "default", "file" for what a video's file says, or "measured" for errors that have
            a test of their own.
        tolerance: Its standard deviation, in its unit.
        share: Part of each unknown's ± that comes from it, in the unknowns' units, in the order of `Ledger.labels`.
        change: Change of each unknown if the number is larger by its tolerance.
        off: Difference of the number from what the pixels say, in its unit.
        off_deviation: Standard deviation of that difference by the pixels alone; infinite if they do not show it.
        stated: True if the user stated the tolerance.
        alone: The same difference if only this number may err.
        alone_deviation: Standard deviation of ``alone``.
        explains: Squared residuals, in units of the noise, that disappear if only this number may err.
    """

    name: str
    kind: str
    value: float | str
    unit: str
    origin: str
    tolerance: float
    share: tuple[float, ...]
    change: tuple[float, ...] = ()
    off: float = 0.0
    off_deviation: float = math.inf
    stated: bool = False
    alone: float = 0.0
    alone_deviation: float = math.inf
    explains: float = 0.0

    @property
    def percent(self) -> tuple[float, ...]:
        """Change of each unknown if the number is one per cent larger; empty for 0 and names."""
        if isinstance(self.value, str) or not self.value or not self.tolerance:
            return ()
        return tuple(0.01 * abs(self.value) / self.tolerance * change for change in self.change)

    @property
    def seek(self) -> str:
        """Name by which a fit can seek the number; empty if it cannot."""
        whole, bracket, place = self.name.partition("[")
        if self.origin == "measured" or " about " in self.name or "," in place:
            return ""
        named = {"size": "appearance.size"}.get(whole, whole)
        return named if not bracket else f"{named}.{'xyz'[int(place[:-1])] if int(place[:-1]) < 3 else place[:-1]}"

    @property
    def contradicted(self) -> bool:
        """True if the pixels contradict the number by more than its tolerance and noise allow."""
        return abs(self.off) > BEYOND * math.hypot(self.tolerance, self.off_deviation)

    @property
    def shown(self) -> bool:
        """True if the pixels show that the number is off."""
        return abs(self.off) > BEYOND * self.off_deviation


@dataclass(frozen=True)
class Ledger:
    """Record of the numbers that a fit took as known.

    Args:
        labels: Labels of the unknowns' numbers.
        entries: One for each assumption, the largest share of ± first.
        shift: Largest change of an unknown, in its deviations, if all assumptions were sought within their tolerances.
        doubts: Sentences on values that are unlikely in themselves.
        checked: Name of the assumption with the largest part of ±, whose linear price was checked by a step at its
            tolerance.
        bend: Part of that price that the slope misses; from 0.25 on it is added to ±.
    """

    labels: tuple[str, ...] = ()
    entries: tuple[LedgerEntry, ...] = ()
    shift: float = 0.0
    doubts: tuple[str, ...] = ()
    checked: str = ""
    bend: float = 0.0


@dataclass(frozen=True)
class Priced:
    """Effect of all assumptions on the estimate, in scaled coordinates.

    Args:
        found: The assumptions.
        shares: (k, n), part of each deviation that comes from each.
        slopes: (k, n), change of the estimate by one tolerance of each.
        noise: (n,), deviation by the noise of what the pixels say of the assumptions.
        shift: (n,), change of the estimate if they were sought within their tolerances, beyond that by noise.
        off: (k,), what the pixels say, in tolerances.
        off_deviation: (k,), its deviation by the pixels alone.
        alone: (k, 3), the same if only this assumption may err, its deviation, and the squared residuals, in units of
            the noise, that disappear then.
        left: (N,), residuals that remain after the step in the unknowns and the assumptions; None without assumptions.
        largest: Number of the assumption with the largest part of ±; -1 without assumptions.
        bent: (n,), part of the change of the estimate by the largest assumption's tolerance that its slope misses.
    """

    found: tuple[Assumption, ...]
    shares: Tensor
    slopes: Tensor
    noise: Tensor
    shift: Tensor
    off: Tensor
    off_deviation: Tensor
    alone: Tensor
    left: Tensor | None = None
    largest: int = -1
    bent: Tensor | None = None

    @property
    def bend(self) -> float:
        """Largest part of the price of the largest assumption that its slope misses, over its change of an unknown."""
        if self.bent is None:
            return 0.0
        price = self.shares[self.largest]
        matters = price > 0.1 * self.shares.square().sum(dim=0).sqrt()
        return float((self.bent / price.clamp(min=1e-300))[matters].max()) if bool(matters.any()) else 0.0

    @property
    def added_variance(self) -> Tensor:
        """(n,), variance that the assumptions add."""
        plain = self.shares.square().sum(dim=0) + self.noise.square()
        return plain if self.bent is None or self.bend <= BENT else plain + self.bent.square()

    @property
    def correction(self) -> Tensor:
        """(n,), largest change of the estimate by correcting one assumption that the pixels contradict, or the one that
        explains the residuals best; 0 if nothing is contradicted.
        """
        against = self.off.abs() > BEYOND * (1.0 + self.off_deviation.square()).sqrt()
        if not bool(against.any()):
            return torch.zeros_like(self.shift)
        best = int(self.alone[:, 2].argmax())
        alone = self.slopes[best] * self.alone[best, 0]
        moved = torch.cat([self.slopes[against] * self.off[against, None], alone[None]])
        return moved.abs().amax(dim=0)

    @property
    def larger_shift(self) -> Tensor:
        """(n,), the larger of shift and correction."""
        return torch.maximum(self.shift, self.correction)

    @property
    def variance(self) -> Tensor:
        """(n,), variance that the assumptions add, with the squared shift or correction."""
        return self.added_variance + self.larger_shift.square()


def price(
    objective: Objective, end: Linearised, kept: Tensor, noise: float, stated: Mapping[str, float | str]
) -> Priced:
    """Price all assumptions of a fit by one Gauss-Newton step in the unknowns and the assumptions.

    With J the slopes of the residuals by the unknowns, G those by the assumptions, in tolerances, E those by errors of
    the camera, and s the noise, the normal matrix is that of (J, G, E) with s^2 added to the diagonal of G. Where the
    pixels do not show an assumption, its share of ± is -(J'J + P)^-1 J'G, by the implicit function theorem.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        kept: (n, m), the directions that are determined.
        noise: Standard deviation of a residual, widened for correlated noise.
        stated: Tolerances that the user stated, by name; "exact" removes an assumption.

    Returns:
        The priced assumptions.
    """
    found = select(objective, end.z, stated)
    empty = end.unit.new_zeros
    n = len(end.size)
    columns = []
    priced = []
    for one in found if kept.shape[1] else ():
        column = slope(objective, end, one)
        if column is not None and bool(column.any()):
            priced.append(one)
            columns.append(column)
    if not priced:
        return Priced((), empty(0, n), empty(0, n), empty(n), empty(n), empty(0), empty(0), empty(0, 3))
    made = _solve(objective, end, kept, max(noise, 1e-12), tuple(priced), torch.stack(columns))
    return _check_largest(objective, end, kept, made, columns)


def _check_largest(
    objective: Objective, end: Linearised, kept: Tensor, made: Priced, columns: Sequence[Tensor]
) -> Priced:
    """Check the linear price of the largest assumption by a Gauss-Newton step at its tolerance, on both sides.

    Each step starts where the linear price says that a refit ends, so it measures what the slopes miss.
    """
    total = made.shares.square().sum(dim=0).sqrt().clamp(min=1e-300)
    largest = int((made.shares / total).amax(dim=1).argmax())
    price = made.slopes[largest].abs()
    # Pixels that show the assumption leave only a part of its tolerance.
    left = (made.shares[largest] / price.clamp(min=1e-300))[price > 0.1 * total]
    part = float(left.clamp(max=1.0).max()) if left.numel() else 1.0
    step = part * made.slopes[largest]
    inner = kept.T @ (end.unit @ end.unit.T + end.prior) @ kept
    bent = torch.full_like(total, math.inf)
    for sign in (1.0, -1.0):
        try:
            there = residuals(objective, end.z + sign * step / end.size, made.found[largest], sign * part)
        except (InputError, SimulationError):
            return made
        missed = there - end.residuals - sign * (step @ end.unit + part * columns[largest])
        moved = kept @ torch.linalg.solve(inner, kept.T @ (end.unit @ missed))
        # A bend shows on both sides, and a dent of contact on one of them.
        bent = torch.minimum(bent, moved.abs())
    return replace(made, largest=largest, bent=bent)


def select(objective: Objective, z: Tensor, stated: Mapping[str, float | str]) -> list[Assumption]:
    """List the assumptions of a fit with the tolerances that the user stated."""
    with torch.no_grad():
        values = objective.values(z)
    found = [] if stated.get("all") == "exact" else list_assumptions(objective, values)
    for name, tolerance in stated.items():
        if name == "all":
            continue
        found = _state(objective, found, name, tolerance)
    return [one for one in found if one.tolerance > 0.0]


def _solve(
    objective: Objective, end: Linearised, kept: Tensor, noise: float, found: tuple[Assumption, ...], columns: Tensor
) -> Priced:
    k, m, inner = len(found), kept.shape[1], kept.T @ (end.unit @ end.unit.T + end.prior) @ kept
    rows = torch.cat([kept.T @ end.unit, columns])
    columns, alike = _absorb(rows[:m], columns)
    rows[m:] = columns
    slopes_by = -(kept @ torch.linalg.solve(inner, rows[:m] @ columns.T)).T
    # The pixels count as evidence on the assumptions as far as places of mattes are known.
    weighed = discount_places(objective, end, torch.cat([rows, end.residuals[None]]), noise)
    normal, pulls = weighed[:-1] @ rows.T, weighed[:-1] @ end.residuals
    normal[:m, :m] += kept.T @ end.prior @ kept
    pulls[:m] += kept.T @ end.half - rows[:m] @ end.residuals
    cross, own, slopes = list_camera_changes(objective, replace(end, residuals=weighed[-1]), weighed[:-1])
    # Errors of the camera are fitted freely beside both, so that a codec's blur is not taken for another distance.
    solved = torch.linalg.solve(
        own + WEAK * torch.eye(len(own), dtype=own.dtype), torch.cat([cross.T, slopes[:, None]], 1)
    )
    data = normal - cross @ solved[:, :-1]
    pulls = pulls - cross @ solved[:, -1]
    prior = torch.zeros_like(data)
    prior[m:, m:] = noise**2 * torch.eye(k, dtype=data.dtype)
    inverse = torch.linalg.inv(data + prior)
    alone = torch.linalg.inv(data[:m, :m])
    step, first = -inverse @ pulls, -alone @ pulls[:m]
    spread = noise**2 * (inverse @ data @ inverse)
    by_noise = (kept @ (spread[:m, :m] - noise**2 * alone) @ kept.T).diagonal().clamp(min=0.0)
    shift = ((kept @ (step[:m] - first)).square() - by_noise).clamp(min=0.0).sqrt()
    shares = noise**2 * (kept @ inverse[:m, m:]).T.abs()
    stated = torch.tensor([one.stated for one in found])
    shares[stated] = torch.maximum(shares, slopes_by.abs())[stated]
    variance = (noise**2 * inverse.diagonal()[m:]).clamp(max=1.0 - 1e-9)
    alone_variance = 1.0 / (1.0 / variance - 1.0)
    off = -step[m:] * alone_variance / variance
    left = end.residuals + step @ rows
    single = _take_alone(data, pulls, m, noise)
    off[alike], alone_variance[alike] = 0.0, math.inf
    single[alike] = single.new_tensor([0.0, math.inf, 0.0])
    return Priced(found, shares, slopes_by, by_noise.sqrt(), shift, off, alone_variance.sqrt(), single, left)


def _absorb(slopes: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Replace columns that the unknowns can make up for by what the unknowns do.

    States are interpolated linearly between steps, so that a clock's slope is not exactly that of another start.

    Args:
        slopes: (m, N), slopes by the unknowns.
        columns: (k, N), slopes by the assumptions.

    Returns:
        The columns (k, N), and true for those that were replaced (k,), of which the pixels say nothing.
    """
    shares = torch.linalg.lstsq(slopes @ slopes.T, slopes @ columns.T, driver="gelsd").solution
    made_up = shares.T @ slopes
    alike = (columns - made_up).norm(dim=1) < ALIKE * columns.norm(dim=1)
    return torch.where(alike[:, None], made_up, columns), alike


def _take_alone(data: Tensor, pulls: Tensor, m: int, noise: float) -> Tensor:
    """Return (k, 3): each assumption's difference if only it may err, its deviation, and what it explains.

    Args:
        data: (m + k, m + k), normal matrix of unknowns and assumptions.
        pulls: (m + k,), its right side.
        m: Number of unknowns.
        noise: Standard deviation of a residual.
    """
    cross = torch.linalg.solve(data[:m, :m], torch.cat([data[:m, m:], pulls[:m, None]], dim=1))
    bend = (data[m:, m:].diagonal() - (data[m:, :m] * cross[:, :-1].T).sum(dim=1)).clamp(min=1e-30)
    pull = pulls[m:] - data[m:, :m] @ cross[:, -1]
    return torch.stack([pull / bend, noise / bend.sqrt(), pull.square() / (bend + noise**2) / noise**2], dim=1)


def slope(objective: Objective, end: Linearised, one: Assumption) -> Tensor | None:
    """Return the change of the residuals (N,) by one tolerance of an assumption.

    Args:
        objective: Objective of the fit.
        end: The linearised end of the fit.
        one: The assumption.

    Returns:
        The change by a central difference, or by one of second order to one side for clocks, whose frames must stay
        within the simulation; None if the scene cannot be changed so.
    """
    h = STEP if end.residuals.dtype == torch.float64 else COARSE
    side = {"clock": -h, "start of the video": h}.get(one.kind, 0.0)
    try:
        if side:
            near, far = (residuals(objective, end.z, one, steps * side) for steps in (1.0, 2.0))
            change = (4.0 * near - far - 3.0 * end.residuals) / (2.0 * side)
        else:
            ahead, behind = (residuals(objective, end.z, one, step) for step in (h, -h))
            change = (ahead - behind) / (2.0 * h)
    except (InputError, SimulationError):
        return None
    return change if bool(torch.isfinite(change).all()) else None


def residuals(objective: Objective, z: Tensor, one: Assumption, step: float) -> Tensor:
    """Return the residuals (N,) with an assumption changed by ``step`` tolerances."""
    with torch.no_grad():
        values = objective.values(z if objective.tie is None else objective.tie.expand(z))
        if one.whole == "":
            objective, values = _with_ruler(objective, values, 1.0 + step * one.tolerance)
        else:
            assert one.direction is not None
            here = values.get(one.whole, _present(objective, one.whole))
            values = {**values, one.whole: here + step * one.tolerance * one.direction}
        fields = objective.fields_of(objective.views_of(values, gradient=False))
    return torch.cat([field.reshape(-1) for field in fields])


def _present(objective: Objective, name: str) -> Tensor:
    """Return the value of a known number."""
    scene = objective.scene
    if name in scene.params:
        return scene.params[name].detach()
    return torch.as_tensor(list_camera_specs(scene)[name].default, dtype=scene.dtype)


def _with_ruler(
    objective: Objective, values: Mapping[str, Tensor], factor: float
) -> tuple[Objective, dict[str, Tensor]]:
    """Return the objective and values for objects ``factor`` times as large, by a change of the unit of length."""
    scene = objective.scene
    specs = {
        spec.name: spec for spec in scene.model.specs if spec.name.rpartition(".")[2] not in (*SHAPES, "push_point")
    }
    units = {name: spec.unit for name, spec in specs.items()}
    given = {name: scene.params[name].detach() for name in scene.params if name in specs and name not in values}
    cameras = {}
    for label, view in scene.viewpoints.items():
        cameras[label] = view
        if isinstance(view.camera, Camera):
            cameras[label] = replace(view, camera=replace(view.camera, eye=view.camera.eye / factor))
        elif not isinstance(view.camera, CameraPlacement):
            raise InputError("a moving camera has no unit of length")
    for name, spec in list_camera_specs(scene).items():
        units[name] = spec.unit
        if spec.unit == "m" and name not in values:
            given[name] = torch.as_tensor(spec.default, dtype=scene.dtype)
    scaled = scale_by_units({**given, **values}, units, factor)
    changed = {name: value for name, value in scaled.items() if name in values or value is not given.get(name)}
    fixed: dict[str, Viewpoint] = cameras
    if any(view is not scene.viewpoints[label] for label, view in fixed.items()):
        scene = replace(scene, camera=fixed.get("", fixed))
    return replace(objective, scene=scene), changed


def _state(objective: Objective, found: Sequence[Assumption], name: str, tolerance: float | str) -> list[Assumption]:
    """Return the assumptions with one tolerance stated by the user; a number without a default one is added."""
    exact = tolerance == "exact"
    wanted = RULER if name == SIZE else normalise(name)
    some = [one for one in found if wanted in (one.name, one.whole)]
    if exact or tolerance == "seek":
        return [one for one in found if one not in some]
    assert isinstance(tolerance, int | float)
    if some:
        return [replace(one, tolerance=float(tolerance), stated=True) if one in some else one for one in found]
    if wanted == RULER:
        return [*found, Assumption(RULER, "size", 1.0, "", "given", float(tolerance), stated=True)]
    slot = resolve([Unknown(name)], objective.scene).slots[0]
    whole = name if slot.of is None else slot.of
    base = slot.start if slot.of is None else slot.base
    assert base is not None
    way = torch.ones_like(base)
    if slot.of is not None:
        way = (torch.arange(base.shape[-1]) == slot.part).to(base).expand_as(base)
    here = float(slot.start.reshape(-1)[0])
    return [*found, Assumption(wanted, "stated", here, slot.unit, "given", float(tolerance), way, whole, stated=True)]


def build_ledger(
    priced: Priced,
    labels: Sequence[str],
    scale: Tensor,
    known: Tensor,
    settled: Tensor,
    measured: Mapping[str, tuple[float | str, Tensor]],
) -> Ledger:
    """Return the ledger in the unknowns' units.

    Args:
        priced: The priced assumptions.
        labels: Labels of the unknowns' numbers.
        scale: (n,), units of each unknown per scaled coordinate.
        known: (n,), deviations of the unknowns by noise and assumptions, in scaled coordinates.
        settled: (n,), the whole deviations without the change that the pixels suggest, in scaled coordinates.
        measured: Value and share (n,) of errors that have a test of their own, by name.

    Returns:
        The ledger.
    """
    entries = []
    for i, one in enumerate(priced.found):
        share, change = (tuple((part[i] * scale).tolist()) for part in (priced.shares, priced.slopes))
        off, off_deviation = (float(part[i]) * one.tolerance for part in (priced.off, priced.off_deviation))
        entries.append(LedgerEntry(one.name, one.kind, one.value, one.unit, one.origin, one.tolerance, share, change,
                                   off, off_deviation, one.stated, float(priced.alone[i, 0]) * one.tolerance,
                                   float(priced.alone[i, 1]) * one.tolerance, float(priced.alone[i, 2])))  # fmt: skip
    for name, (value, part) in measured.items():
        entries.append(LedgerEntry(name, name, value, "", "measured", 0.0, tuple((part * scale).tolist())))
    whole = (known * scale).clamp(min=1e-300)
    entries.sort(key=lambda entry: -max((s / float(w) for s, w in zip(entry.share, whole, strict=True)), default=0.0))
    times = priced.shift / settled.clamp(min=1e-300)
    # The camera is a means where something else is sought, and ± of its numbers includes their change.
    asked = torch.tensor([not label.startswith("camera.") for label in labels])
    times = times[asked] if bool(asked.any()) else times
    doubts = tuple(
        f"gravity is {one.value:.4g} m/s^2, and that of the Earth 9.81: the difference counts as its tolerance; set "
        f'assumed."{one.name}" = "exact" if it is meant'
        for one in priced.found
        if differs_from_earth(one)
    )
    if not entries and not doubts:
        return Ledger()
    checked = priced.found[priced.largest].name if priced.largest >= 0 else ""
    shift = float(times.max()) if len(times) else 0.0
    return Ledger(tuple(labels), tuple(entries), shift, doubts, checked, priced.bend)


def encode_ledger(ledger: Ledger) -> dict[str, Any]:
    """Return a ledger as plain data for JSON.

    Args:
        ledger: The ledger.

    Returns:
        Labels, shift, doubts, and each assumption with its effect.
    """
    rows = [{**asdict(one), "percent": one.percent} for one in ledger.entries]
    for row in rows:
        for key in ("off_deviation", "alone_deviation"):
            row[key] = row[key] if math.isfinite(row[key]) else None
    kept = {name: getattr(ledger, name) for name in ("labels", "shift", "doubts", "checked", "bend")}
    return {**kept, "assumptions": rows}


def decode_ledger(data: Mapping[str, Any]) -> Ledger:
    """Invert `encode_ledger`; an empty mapping gives an empty ledger.

    Args:
        data: Plain data.

    Returns:
        The ledger.
    """
    if not data:
        return Ledger()
    rows = [{key: value for key, value in row.items() if key != "percent"} for row in data["assumptions"]]
    for row in rows:
        for key in ("off_deviation", "alone_deviation"):
            row[key] = math.inf if row[key] is None else row[key]
        row["share"], row["change"] = tuple(row["share"]), tuple(row["change"])
    entries = tuple(LedgerEntry(**row) for row in rows)
    return Ledger(tuple(data["labels"]), entries, data["shift"], tuple(data["doubts"]), data["checked"], data["bend"])
