"""One implicit step: the end-of-step force z solves z = F(S(z)), where S is the law's explicit step under z."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffloom.integrators.jacobian import ForceJacobian, step_blocks
from diffloom.interfaces import SimulationError
from diffloom.mechanics.evaluation import Evaluation
from diffloom.mechanics.stepper import FrameCotangents, Segment, Stepper
from diffloom.mechanics.stepwise import inject
from diffloom.mechanics.system import Mechanics

Vector = NDArray[np.float64]
Solve = Callable[[Vector], Vector]

DENSE = 60
"""Up to this many unknowns matrices are dense."""


@dataclass(frozen=True)
class NewtonSettings:
    """tolerance: largest mismatch of velocities accepted, relative to the fastest node or 1 m/s."""

    tolerance: float
    iterations: int
    dt: float


class ImplicitStepper(Stepper):
    """Backward Euler. Everything inside is float64: an implicit solve in float32 loses what it solves for."""

    def __init__(self, system: Mechanics, tensors: Sequence[Tensor], settings: NewtonSettings) -> None:
        wide = [t.detach().double() for t in tensors]
        self._at: Evaluation = system.evaluation(wide, settings.dt, implicit=True)
        compiled = system.compiled
        count = len(compiled.tensors)
        self._jacobian = ForceJacobian(compiled, wide[:count], bool(system.torch_terms), settings.dt)
        self._settings = settings
        self._dtype = tensors[0].dtype

    def advance(self, segment: Segment) -> None:
        for j in range(segment.count):
            a, b = segment.row(j), segment.row(j + 1)
            q, u = self.step(segment.k0 + j, segment.q[a].double(), segment.u[a].double())
            segment.q[b], segment.u[b] = q.to(self._dtype), u.to(self._dtype)

    def step(self, k: int, q: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """The state at the end of step k, by Newton's method with a line search."""
        z, q_next, u_next, residual, size = self._guess(k, q, u)
        history = [size]
        for _ in range(self._settings.iterations):
            if not np.isfinite(size):
                break
            if size <= self._settings.tolerance * max(1.0, float(u_next.abs().max())):
                return q_next, u_next
            solve = self._factor(k, q, u, z, q_next, u_next)
            change = torch.from_numpy(solve(residual.numpy().reshape(-1))).view_as(z)
            best = self._search(k, q, u, z, change, size)
            stuck = best is None or best[-1] > 0.5 * size
            if stuck and size <= 1e-7 * max(1.0, float(u_next.abs().max())):
                return q_next, u_next  # rounding of very stiff forces: no step gets much closer any more
            if best is None:
                break
            z, q_next, u_next, residual, size = best
            history.append(size)
        raise SimulationError(
            f"backward Euler did not converge in step {k + 1} (t = {(k + 1) * self._settings.dt:.6g} s): the velocity "
            f"mismatch went {', '.join(f'{h:.1e}' for h in history[-5:])} m/s in {len(history) - 1} Newton steps, "
            f"{self._settings.tolerance:g} was asked for. Try a smaller dt than {self._settings.dt:.3g} s, "
            "or more iterations."
        )

    def _guess(self, k: int, q: Tensor, u: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, float]:
        """Start from free flight or from the force at the start of the step, whichever fits better: the first stays
        close to where the system is when forces are stiff, the second is right at rest."""
        trials = []
        for z in (torch.zeros_like(u), self._at.force(k, q, u)):
            trials.append((z, *self._mismatch(k, q, u, z)))
        return min(trials, key=lambda trial: trial[-1] if np.isfinite(trial[-1]) else np.inf)

    def _mismatch(self, k: int, q: Tensor, u: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor, float]:
        """State under z, residual F(S(z)) - z, and how far the two forces bring the velocities apart [m/s]."""
        q_next, u_next = self._at.step(k, q, u, z)
        f = self._at.force(k, q_next, u_next)
        apart = self._at.step(k, q, u, f)[1] - u_next
        return q_next, u_next, f - z, float(apart.abs().max())

    def _search(
        self, k: int, q: Tensor, u: Tensor, z: Tensor, change: Tensor, size: float
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, float] | None:
        """Halve the Newton step until the mismatch falls; None if it never does."""
        share = 1.0
        for _ in range(20):
            trial = z + share * change
            q_next, u_next, residual, found = self._mismatch(k, q, u, trial)
            if found < size:
                return trial, q_next, u_next, residual, found
            share *= 0.5
        return None

    def pull_back(self, segment: Segment, frames: FrameCotangents, adj_q: Tensor, adj_u: Tensor) -> None:
        """With J = I - F' S_z: solve J^T l = S_z^T a, then a + F'^T l goes back through the explicit step."""
        for j in range(segment.count - 1, -1, -1):
            k = segment.k0 + j
            q, u = segment.q[j].double(), segment.u[j].double()
            q_next, u_next = segment.q[j + 1].double(), segment.u[j + 1].double()
            z = self._at.force(k, q_next, u_next)
            a_q, a_u = adj_q.double(), adj_u.double()
            through_z = self._at.step_adjoint(k, q, u, z, a_q, a_u, keep=False)[2]
            solve = self._factor(k, q, u, z, q_next, u_next, transposed=True)
            multiplier = torch.from_numpy(solve(through_z.numpy().reshape(-1))).view_as(z)
            b_q, b_u = self._at.force_adjoint(k, q_next, u_next, multiplier)
            c_q, c_u, _ = self._at.step_adjoint(k, q, u, z, a_q + b_q, a_u + b_u)
            adj_q.copy_(c_q)
            adj_u.copy_(c_u)
            inject(frames, k, adj_q, adj_u)

    def gradients(self) -> list[Tensor | None]:
        return [None if g is None else g.to(self._dtype) for g in self._at.gradients()]

    def _factor(
        self, k: int, q: Tensor, u: Tensor, z: Tensor, q_next: Tensor, u_next: Tensor, transposed: bool = False
    ) -> Solve:
        """A solver with J (or its transpose) at this state."""
        direct = factorised(*self._matrix(k, q, u, z, q_next, u_next), u.numel(), transposed)
        if self._jacobian.complete:
            return direct
        product = self._transposed_product if transposed else self._product
        tolerance = 1e-13 if transposed else 1e-6  # differences are no more exact than that; Newton corrects the rest
        return lambda b: krylov(lambda p: product(k, q, u, z, q_next, u_next, p), direct, b, tolerance)

    def _matrix(
        self, k: int, q: Tensor, u: Tensor, z: Tensor, q_next: Tensor, u_next: Tensor
    ) -> tuple[Vector, NDArray[np.int64], NDArray[np.int64]]:
        """Values, rows and columns of F' S_z; places may repeat."""
        rows, columns, by_q, by_u = self._jacobian.blocks(k, q_next, u_next)
        of_q, of_u = step_blocks(self._at, k, q, u, z)
        blocks = by_q @ of_q[columns] + by_u @ of_u[columns]
        du = u.shape[1]
        i = rows[:, None, None] * du + np.arange(du)[None, :, None]
        j = columns[:, None, None] * du + np.arange(du)[None, None, :]
        i, j = np.broadcast_to(i, blocks.shape), np.broadcast_to(j, blocks.shape)
        return blocks.reshape(-1), i.reshape(-1), j.reshape(-1)

    def _transposed_product(
        self, k: int, q: Tensor, u: Tensor, z: Tensor, q_next: Tensor, u_next: Tensor, p: Vector
    ) -> Vector:
        """J^T p, exact."""
        a_q, a_u = self._at.force_adjoint(k, q_next, u_next, torch.from_numpy(p).view_as(u), keep=False)
        back = self._at.step_adjoint(k, q, u, z, a_q, a_u, keep=False)[2]
        return np.asarray(p - back.numpy().reshape(-1))

    def _product(self, k: int, q: Tensor, u: Tensor, z: Tensor, q_next: Tensor, u_next: Tensor, p: Vector) -> Vector:
        """J p by central differences: only the convergence of Newton's method depends on it, not its result."""
        way = torch.from_numpy(p).view_as(z)
        h = 1e-6 * max(1.0, float(z.abs().max())) / max(float(way.abs().max()), 1e-300)
        change = torch.zeros_like(z)
        for sign in (1.0, -1.0):
            change += sign * self._at.force(k, *self._at.step(k, q, u, z + sign * h * way))
        return np.asarray(p - (change / (2 * h)).numpy().reshape(-1))


def factorised(
    values: Vector, rows: NDArray[np.int64], columns: NDArray[np.int64], size: int, transposed: bool
) -> Solve:
    """A solver with I - A (or its transpose), A given by its entries; dense where that is quicker."""
    if size <= DENSE:
        from scipy.linalg import lu_factor, lu_solve

        dense = np.eye(size)
        np.subtract.at(dense, (rows, columns), values)
        factors = lu_factor(dense, check_finite=False)
        return lambda b: np.asarray(lu_solve(factors, b, trans=int(transposed), check_finite=False))
    from scipy.sparse import coo_array, eye_array
    from scipy.sparse.linalg import splu

    full = coo_array((values, (rows, columns)), shape=(size, size))
    lu = splu((eye_array(size, format="csc") - full.tocsc()).tocsc())
    return lambda b: np.asarray(lu.solve(b, trans="T" if transposed else "N"))


def krylov(product: Callable[[Vector], Vector], precondition: Solve, b: Vector, tolerance: float) -> Vector:
    """Preconditioned GMRES, for matrices of which only a part is known."""
    from scipy.sparse.linalg import LinearOperator, gmres

    shape = (b.size, b.size)
    operator = LinearOperator(shape, matvec=product, dtype=np.float64)
    x, _ = gmres(
        operator, b, M=LinearOperator(shape, matvec=precondition), rtol=tolerance, atol=0.0, restart=60, maxiter=4
    )
    return np.asarray(x)
