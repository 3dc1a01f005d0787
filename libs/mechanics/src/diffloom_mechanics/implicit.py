"""Implicit steps: the force z at some point of the step solves z = F(S(z)), where S moves there under z."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.interfaces import SimulationError
from diffloom_mechanics.evaluation import SystemEvaluation
from diffloom_mechanics.jacobian import ForceJacobian, move_blocks
from diffloom_mechanics.schemes import Move
from diffloom_mechanics.stepper import FrameCotangents, Segment, Stepper, Tensors
from diffloom_mechanics.system import Mechanics

Vector = NDArray[np.float64]
Solve = Callable[[Vector], Vector]

DENSE = 60
"""Up to this many unknowns matrices are dense."""


@dataclass(frozen=True)
class ImplicitScheme:
    """Implicit scheme of one force per step.

    to_point: moves from the start of a step to the point where its force is evaluated. to_end: moves to its end.
    tolerance: largest accepted velocity residual, relative to the fastest node or 1 m/s.
    """

    name: str
    to_point: tuple[Move, ...]
    to_end: tuple[Move, ...]
    tolerance: float
    iterations: int
    dt: float

    @property
    def at(self) -> float:
        """Time at which the force is evaluated, in steps."""
        return sum(move.drift for move in self.to_point)


class NewtonPoint(NamedTuple):
    """Trial of Newton's method: the force z, the state it leads to, and the residual F(S(z)) - z.

    size: difference of the velocities that the two forces lead to [m/s].
    """

    z: Tensors
    q: Tensors
    u: Tensors
    residual: Tensors
    size: float


class ImplicitStepper(Stepper):
    """Stepper of an implicit scheme. It computes in float64, because a solve in float32 loses the digits it solves
    for.
    """

    updates_memory = True

    def __init__(self, system: Mechanics, tensors: Sequence[Tensor], scheme: ImplicitScheme) -> None:
        wide = [t.detach().double() for t in tensors]
        self._at: SystemEvaluation = system.evaluation(wide, scheme.dt, implicit=True)
        compiled = system.compiled
        count = len(compiled.tensors)
        self._jacobian = ForceJacobian(compiled, wide[:count], bool(system.torch_terms), scheme.dt)
        self._scheme = scheme
        self._dtype = tensors[0].dtype

    def advance(self, segment: Segment) -> None:
        for j in range(segment.count):
            q, u = self.step(segment.k0 + j, *_double(segment.state(j)))
            for rows, value in zip((*segment.q, *segment.u), (*q, *u), strict=True):
                rows[segment.row(j + 1)] = value.to(self._dtype)

    def step(self, k: int, q: Tensors, u: Tensors) -> tuple[Tensors, Tensors]:
        """Return the state at the end of step k."""
        z = self._solve(k, q, u)
        q_end, u_end = self._at.move(k, self._scheme.to_end, q, u, z)
        return self._at.remember(k, q, q_end, u_end), u_end

    def _solve(self, k: int, q: Tensors, u: Tensors) -> Tensors:
        """Return the force of step k by Newton's method: with a line search from either guess, else by steps of fixed
        shares.

        Contact makes the equation non-smooth. A line search may stop where kinks meet; steps that need not reduce the
        residual jump over these places.
        """
        scheme = self._scheme
        guesses = self._guesses(k, q, u)
        first: list[float] = []
        for share in (None, 1.0, 0.5, 0.25):
            for guess in guesses:
                history = [guess.size]
                found = self._newton(k, q, u, guess, share, history)
                if found is not None:
                    return found
                first = first or history
        history = first
        raise SimulationError(
            f"{scheme.name} did not converge in step {k + 1} (t = {(k + 1) * scheme.dt:.6g} s): the velocity "
            f"residual went {', '.join(f'{h:.1e}' for h in history[-5:])} m/s in {len(history) - 1} Newton steps; "
            f"expected {scheme.tolerance:g} or less. Try a smaller dt than {scheme.dt:.3g} s, or more iterations."
        )

    def _newton(
        self, k: int, q: Tensors, u: Tensors, at: NewtonPoint, share: float | None, history: list[float]
    ) -> Tensors | None:
        """Return the force, or None where the iteration fails.

        share: fraction of each Newton step that is taken; None for a line search.
        """
        scheme = self._scheme
        for _ in range(scheme.iterations):
            if not np.isfinite(at.size):
                return None
            fastest = max(1.0, max(float(v.abs().max()) for v in at.u))
            if at.size <= scheme.tolerance * fastest:
                return at.z
            change = _parts(self._factor(k, q, u, at.z, at.q, at.u)(_flat(at.residual)), at.z)
            best = self._search(k, q, u, at, change) if share is None else self._take_share(k, q, u, at, change, share)
            stuck = best is None or best.size > 0.5 * at.size
            if stuck and at.size <= 1e-7 * fastest:
                return at.z  # rounding of very stiff forces prevents a smaller residual
            if best is None:
                return None
            at = best
            history.append(at.size)
        return None

    def _guesses(self, k: int, q: Tensors, u: Tensors) -> list[NewtonPoint]:
        """Return free flight and the force at the start of the step as guesses, the better one first.

        Free flight stays close to the state when forces are stiff; the force at the start is right at rest.
        """
        trials = [self._point(k, q, u, z) for z in (tuple(map(torch.zeros_like, u)), self._at.force(k, q, u))]
        return sorted(trials, key=lambda trial: trial.size if np.isfinite(trial.size) else np.inf)

    def _take_share(
        self, k: int, q: Tensors, u: Tensors, at: NewtonPoint, change: Tensors, share: float
    ) -> NewtonPoint:
        """Return the end of a share of a Newton step."""
        return self._point(k, q, u, tuple(z + share * c for z, c in zip(at.z, change, strict=True)))

    def _point(self, k: int, q: Tensors, u: Tensors, z: Tensors) -> NewtonPoint:
        """Return the trial of a force."""
        scheme = self._scheme
        at_q, at_u = self._at.move(k, scheme.to_point, q, u, z)
        f = self._at.force(k, at_q, at_u, scheme.at)
        other = self._at.move(k, scheme.to_point, q, u, f)[1]
        size = max(float((a - b).abs().max()) for a, b in zip(other, at_u, strict=True))
        return NewtonPoint(z, at_q, at_u, tuple(a - b for a, b in zip(f, z, strict=True)), size)

    def _search(self, k: int, q: Tensors, u: Tensors, at: NewtonPoint, change: Tensors) -> NewtonPoint | None:
        """Halve the Newton step until the residual falls; None if it never does."""
        share = 1.0
        for _ in range(20):
            trial = self._take_share(k, q, u, at, change, share)
            if trial.size < at.size:
                return trial
            share *= 0.5
        return None

    def advance_adjoint(self, segment: Segment, frames: FrameCotangents, adj_q: Tensors, adj_u: Tensors) -> None:
        """Transpose by the implicit function theorem.

        With J = I - F' S_z and E the moves to the end: solve J^T l = E_z^T a; the result is E^T a + S^T F'^T l.
        """
        scheme = self._scheme
        for j in range(segment.count - 1, -1, -1):
            k = segment.k0 + j
            q, u = _double(segment.state(j))
            q_end, u_end = _double(segment.state(j + 1))
            self._remember_adjoint(k, q, q_end, u_end, adj_q, adj_u)
            # Forces of a step read the memory of its start.
            z, at_q, at_u = self._force_of(k, q, u, (*q_end[: len(u)], *q[len(u) :]), u_end)
            a = _double((adj_q, adj_u))
            b_q, b_u, through_z = self._at.move_adjoint(k, scheme.to_end, (q, u), z, a)
            multiplier = _parts(self._factor(k, q, u, z, at_q, at_u, transposed=True)(_flat(through_z)), z)
            at = self._at.force_adjoint(k, at_q, at_u, multiplier, at=scheme.at)
            c_q, c_u, _ = self._at.move_adjoint(k, scheme.to_point, (q, u), z, at)
            for total, direct, through in zip((*adj_q, *adj_u), (*b_q, *b_u), (*c_q, *c_u), strict=True):
                total.copy_(direct + through)
            frames.inject(k, adj_q, adj_u)

    def _remember_adjoint(
        self, k: int, q: Tensors, q_end: Tensors, u_end: Tensors, adj_q: Tensors, adj_u: Tensors
    ) -> None:
        """Transpose of the update of memory, in place, computed in float64."""
        wide_q, wide_u = _double((adj_q, adj_u))
        self._at.remember_adjoint(k, q, q_end, u_end, wide_q, wide_u)
        for total, found in zip((*adj_q, *adj_u), (*wide_q, *wide_u), strict=True):
            total.copy_(found)

    def _force_of(
        self, k: int, q: Tensors, u: Tensors, q_next: Tensors, u_next: Tensors
    ) -> tuple[Tensors, Tensors, Tensors]:
        """Return the force of a step that was taken, and the state at which it was evaluated.

        Where the force is that at the end of the step it is evaluated there; else it is solved for again.
        """
        if self._scheme.to_point == self._scheme.to_end:
            return self._at.force(k, q_next, u_next, self._scheme.at), q_next, u_next
        z = self._solve(k, q, u)
        return z, *self._at.move(k, self._scheme.to_point, q, u, z)

    def gradients(self) -> list[Tensor | None]:
        return [None if g is None else g.to(self._dtype) for g in self._at.gradients()]

    def _factor(
        self, k: int, q: Tensors, u: Tensors, z: Tensors, at_q: Tensors, at_u: Tensors, transposed: bool = False
    ) -> Solve:
        """Return a solver with J (or its transpose) at this point."""
        size = sum(v.numel() for v in u)
        direct = factorise(*self._matrix(k, q, u, z, at_q, at_u), size, transposed)
        if self._jacobian.complete:
            return direct
        tolerance = 1e-13 if transposed else 1e-6  # accuracy of differences; Newton corrects the rest
        if transposed:
            return lambda b: solve_krylov(
                lambda p: self._transposed_product(k, q, u, z, at_q, at_u, p), direct, b, tolerance
            )
        return lambda b: solve_krylov(lambda p: self._product(k, q, u, z, p), direct, b, tolerance)

    def _matrix(
        self, k: int, q: Tensors, u: Tensors, z: Tensors, at_q: Tensors, at_u: Tensors
    ) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
        """Return values, rows and columns of F' S_z; places may repeat."""
        by_z = move_blocks(self._at, k, self._scheme.to_point, q, u, z)
        starts = np.cumsum([0, *(v.numel() for v in u)])
        values, rows, columns = [np.zeros(0)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for found in self._jacobian.blocks(k, at_q, at_u, self._scheme.at):
            of_q, of_u = by_z[found.by]
            blocks = found.by_q @ of_q[found.columns] + found.by_u @ of_u[found.columns]
            tall, wide = blocks.shape[1:]
            i = starts[found.of] + found.rows[:, None, None] * tall + np.arange(tall)[None, :, None]
            j = starts[found.by] + found.columns[:, None, None] * wide + np.arange(wide)[None, None, :]
            values.append(blocks.reshape(-1))
            rows.append(np.broadcast_to(i, blocks.shape).reshape(-1))
            columns.append(np.broadcast_to(j, blocks.shape).reshape(-1))
        return np.concatenate(values), np.concatenate(rows), np.concatenate(columns)

    def _transposed_product(
        self, k: int, q: Tensors, u: Tensors, z: Tensors, at_q: Tensors, at_u: Tensors, p: Vector
    ) -> Vector:
        """Return J^T p, exact."""
        a = self._at.force_adjoint(k, at_q, at_u, _parts(p, u), keep=False, at=self._scheme.at)
        back = self._at.move_adjoint(k, self._scheme.to_point, (q, u), z, a, keep=False)[2]
        return np.asarray(p - _flat(back))

    def _product(self, k: int, q: Tensors, u: Tensors, z: Tensors, p: Vector) -> Vector:
        """Return J p by central differences. Only the convergence of Newton's method depends on it, not its result."""
        way, flat = _parts(p, z), _flat(z)
        h = 1e-6 * max(1.0, float(np.abs(flat).max())) / max(float(np.abs(p).max()), 1e-300)
        change = np.zeros_like(p)
        for sign in (1.0, -1.0):
            trial = tuple(a + sign * h * b for a, b in zip(z, way, strict=True))
            state = self._at.move(k, self._scheme.to_point, q, u, trial)
            change += sign * _flat(self._at.force(k, *state, self._scheme.at))
        return np.asarray(p - change / (2 * h))


def _double(state: tuple[Tensors, Tensors]) -> tuple[Tensors, Tensors]:
    """Return a state in float64."""
    return tuple(x.double() for x in state[0]), tuple(v.double() for v in state[1])


def _flat(parts: Tensors) -> Vector:
    """Return forces on each node set as one vector."""
    return np.concatenate([p.numpy().reshape(-1) for p in parts])


def _parts(flat: Vector, like: Tensors) -> Tensors:
    """Split a vector of all unknowns into forces on each node set."""
    ends = np.cumsum([v.numel() for v in like])[:-1]
    pieces = np.split(np.ascontiguousarray(flat), ends)
    return tuple(torch.from_numpy(piece.copy()).view_as(v) for piece, v in zip(pieces, like, strict=True))


def factorise(
    values: Vector, rows: NDArray[np.int64], columns: NDArray[np.int64], size: int, transposed: bool
) -> Solve:
    """Return a solver with I - A (or its transpose), A given by its entries; dense where that is faster."""
    if size <= DENSE:
        from scipy.linalg import lu_factor, lu_solve

        dense = np.eye(size)
        np.subtract.at(dense, (rows, columns), values)
        factors = lu_factor(dense, check_finite=False)
        return lambda b: np.asarray(lu_solve(factors, b, trans=int(transposed), check_finite=False))
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import splu

    full = coo_array((values, (rows, columns)), shape=(size, size))
    try:
        lu = splu((eye_array(size, format="csc") - full.tocsc()).tocsc())
    except RuntimeError:  # singular: return non-finite values, as the dense solver does; the message names the step
        return lambda b: np.full_like(b, np.nan)
    return lambda b: np.asarray(lu.solve(b, trans="T" if transposed else "N"))


def solve_krylov(product: Callable[[Vector], Vector], precondition: Solve, b: Vector, tolerance: float) -> Vector:
    """Solve by preconditioned GMRES, for matrices of which only a part is known."""
    from scipy.sparse.linalg import LinearOperator, gmres

    shape = (b.size, b.size)
    operator = LinearOperator(shape, matvec=product, dtype=np.float64)
    x, _ = gmres(
        operator, b, M=LinearOperator(shape, matvec=precondition), rtol=tolerance, atol=0.0, restart=60, maxiter=4
    )
    return np.asarray(x)
