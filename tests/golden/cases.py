"""Small deterministic fits, each a function that returns its numbers by name.

Every case returns a flat dict of lists of floats, ints, texts and None. Names that begin with ``found.`` hold values at
which a fit has converged: another processor reaches them too, to a tolerance. All other numbers are comparable only
between runs with the same processor features and library versions. Wording of messages and times are not recorded.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import diffloom_fitting as fitting
from diffloom.plugins import get_model, get_renderer
from diffloom.simulation import simulate
from diffloom_experiments import RunFolder, build_experiment, load_file
from diffloom_fitting import GaussNewton, Stop, Unknown, get_optimiser, run_search
from diffloom_fitting.testing import small_fit
from diffloom_motion import Clip, MotionScene, MotionStage, OwnStart, StartRules, fit_motion, score_clips

# isort: split
# Internals: all imports that a change of the package's modules may have to follow.
from diffloom_fitting.testing.valley import START, TRUTH, shorter, start, valley
from diffloom_fitting.trust.hamiltonian import sample
from diffloom_fitting.trust.posterior import make_energy

# Toy model and renderer that tests share.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from fitting_toys import ToyModel, ToyRenderer, ToySteps

Numbers = dict[str, list[Any]]
FOUND = "found."
D = torch.float64


@dataclass(frozen=True)
class Case:
    """A function that returns numbers. slow: takes more than a few seconds."""

    function: Callable[[], Numbers]
    slow: bool = False

    def numbers(self, threads: int = 1) -> Numbers:
        """Compute with so many threads of PyTorch, here and in processes that are started.

        The noise of images, and with it deviations, depends on them in the last bits: PyTorch's inverse Fourier
        transform of several images gives other bits with two threads than with one.
        """
        before, kept = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
        torch.set_num_threads(threads)
        os.environ["OMP_NUM_THREADS"] = str(threads)
        try:
            return self.function()
        finally:
            torch.set_num_threads(before)
            if kept is None:
                del os.environ["OMP_NUM_THREADS"]
            else:
                os.environ["OMP_NUM_THREADS"] = kept


CASES: dict[str, Case] = {}


def case(name: str, slow: bool = False) -> Callable[[Callable[[], Numbers]], Callable[[], Numbers]]:
    """Register the decorated function as the case ``name``."""

    def register(function: Callable[[], Numbers]) -> Callable[[], Numbers]:
        assert name not in CASES
        CASES[name] = Case(function, slow)
        return function

    return register


def flat(value: Any) -> list[Any]:
    """Return the numbers of a tensor, array, sequence or single number as one list."""
    if isinstance(value, Tensor | np.ndarray):
        return flat(value.tolist())
    if isinstance(value, Mapping):
        return [item for key in sorted(value) for item in (str(key), *flat(value[key]))]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [item for entry in value for item in flat(entry)]
    return [value]


def prefixed(prefix: str, numbers: Mapping[str, list[Any]]) -> Numbers:
    """Return the same under longer names; ``found.`` stays in front."""
    return {
        f"{FOUND}{prefix}.{name.removeprefix(FOUND)}" if name.startswith(FOUND) else f"{prefix}.{name}": value
        for name, value in numbers.items()
    }


def columns(rows: Iterable[Mapping[str, Any]]) -> Numbers:
    """Return one list for each key of rows that share their keys."""
    found: Numbers = {}
    for row in rows:
        for name, value in row.items():
            found.setdefault(name, []).extend(flat(value))
    return found


# Numbers of optimisers, fits and run folders


def follow(optimiser: Any, objective: Any, z: Tensor, steps: int, then: Any = None, seed: int = 3) -> Numbers:
    """Run ``begin`` and ``steps`` steps of an optimiser, renew it on the objective ``then`` if given, and step on."""
    here = run_search(objective, optimiser.begin(objective, z, seed))
    rows = [here]
    for number in range(2 * steps if then is not None else steps):
        if number == steps:
            objective, here = then, run_search(then, optimiser.renew(then, here))
            rows.append(here)
        if here.done is not None:
            break
        here = run_search(objective, optimiser.step(objective, here, 1.0 if number % 3 else 0.9))
        rows.append(here)
    return columns(
        {
            "loss": row.value,
            "z": row.z,
            "gradient": [] if row.gradient is None else row.gradient,
            "evaluations": row.evaluations,
            "rejected": row.rejected,
            "done": int(row.done is not None),
        }
        for row in rows
    )


def told(history: Iterable[Any]) -> Numbers:
    """Return the numbers of the records of a history, without times and words."""
    return columns(
        {
            "total": record.total,
            "start": record.start,
            "stage": record.stage,
            "optimiser": record.optimiser,
            "iteration": record.iteration,
            "loss": record.loss,
            "values": record.values,
            "gradient": record.gradient,
            "evaluations": record.evaluations,
            "rejected": record.rejected,
            "horizon": record.horizon,
            "settings": record.renderer,
            "ends": int(bool(record.note)),
        }
        for record in history
    )


def outcome(result: Any, converged: bool = False, history: bool = True) -> Numbers:
    """Return the numbers of a result: history, vector, losses, deviations and verdict. converged: whether another
    processor finds the same values."""
    end = FOUND if converged else ""
    numbers = prefixed("history", told(result.history)) if history else {}
    numbers["z"] = flat(result.z)
    numbers["losses"] = [result.loss, result.start_loss, result.holdout_loss, result.holdout_start_loss]
    numbers["counts"] = [result.iterations, result.evaluations, result.steps, int(result.interrupted)]
    numbers["views"] = flat(result.views)
    for estimate in result.estimates:
        numbers[f"{end}value.{estimate.name}"] = flat(estimate.found)
        deviation = [] if estimate.deviation is None else estimate.deviation
        numbers[f"deviation.{estimate.name}"] = [estimate.caveat, *flat(deviation)]
        if estimate.interval is not None:
            numbers[f"interval.{estimate.name}"] = flat(estimate.interval)
    verdict = result.verdict
    numbers["verdict"] = [verdict.level, *(finding.level for _, finding in verdict.findings())]
    numbers["undetermined"] = list(verdict.undetermined)
    sure = result.uncertainty
    if not isinstance(sure, str):
        numbers["uncertainty"] = [
            sure.noise, sure.condition, sure.inflation, sure.unrest, sure.relative_step, sure.windows, sure.step_bias,
            sure.camera_bias, sure.displaced, sure.displaced_times, sure.method,
        ]  # fmt: skip
        numbers["correlation"] = flat(sure.correlation)
        numbers["all deviations"] = flat(sure.deviation)
    return numbers


def drawn(draws: Any, every: int = 1) -> Numbers:
    """Return the numbers of draws from Hamiltonian Monte Carlo, of places each ``every``-th."""
    return {
        "places": flat(draws.places[:, ::every]),
        "accepted": [draws.accepted, draws.diverged, draws.evaluations],
        "agreement": flat(draws.agreement()),
        "effective": flat(draws.effective()),
    }


#: Keys of result.json with times, memory and words.
UNRECORDED = {
    "seconds", "compile_seconds", "seconds_by_part", "peak_memory_bytes", "processor_seconds", "reason", "open",
    "converged", "visible", "identifiable", "explained", "title",
}  # fmt: skip


def of_json(data: Any, name: str = "") -> Numbers:
    """Return the numbers and texts of a result.json by their paths."""
    if isinstance(data, dict):
        parts = [(key, value) for key, value in data.items() if key not in UNRECORDED or name.endswith("levels")]
    elif isinstance(data, list) and any(isinstance(item, dict) for item in data):
        parts = [(str(number), value) for number, value in enumerate(data)]
    else:
        return {name: flat(data)}
    found: Numbers = {}
    for key, value in parts:
        found |= of_json(value, f"{name}.{key}" if name else key)
    return found


# Scenes


MIDDLE = (0.5, 0.05, 0.0)
SPRINGS_TRUTH = {"stiffness": 120.0, "mass": 0.2}
SPRINGS_START = {"stiffness": 100.0, "mass": 0.15}
STARTS = tuple({"stiffness": torch.tensor(60.0 + 30.0 * k), "mass": torch.tensor(0.3)} for k in range(3))
LOST = {"stiffness": torch.tensor(1e15), "mass": torch.tensor(0.3)}


def springs_scene(camera: Any = None, dtype: torch.dtype = D, steps: int = 150) -> Any:
    """Return a stretched chain of four balls on the ground, drawn by the soft rasteriser: compiled kernels only."""
    model = get_model("springs").chain(count=4, height=0.02, radius=0.12)
    camera = camera or fitting.Orbit(distance=2, elevation=10, target=MIDDLE, size=(20, 24))
    params = model.params(dtype, rest_length=0.2)
    return fitting.Scene(model, get_renderer("softras")(), camera, params, dt=1e-3, steps=steps)


def noisy(target: Any, level: float, seed: int = 0) -> Any:
    """Return a target with normal noise in its frames."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(target.frames.shape, generator=generator, dtype=D).to(target.frames.dtype)
    return replace(target, frames=target.frames + level * noise)


def springs(*stages: Any, noise: float = 0.0, steps: int = 150, **more: Any) -> Any:
    """Return an experiment of two unknowns on the chain."""
    scene = springs_scene(steps=steps)
    video = fitting.synthesise(scene, SPRINGS_TRUTH, rate=60.0)
    target = noisy(video, noise) if noise else video
    chosen = stages or (fitting.Stage(fitting.GaussNewton(), 8, stop=fitting.Stop(loss=1e-26)),)
    return fitting.Experiment(scene, target, SPRINGS_START, stages=chosen, **more)


def toy_scene(count: int = 1, steps: int = 10, camera: Any = None, dt: float = 0.04, **values: Any) -> Any:
    """Return thrown points drawn as spots: plain PyTorch throughout, and no batches."""
    model = ToyModel(count)
    camera = camera or fitting.Orbit(5.0, 10.0, size=(16, 16))
    return fitting.Scene(
        model, ToyRenderer(sigma=2.0), camera, model.params(D, **values), dt, steps, ToySteps(),
        appearance=fitting.Appearance((0.9, 0.6, 0.3)),
    )  # fmt: skip


TOY_TRUTH = {"gravity": 6.0, "drag": 0.8}
TOY_START = {"gravity": 9.0, "drag": 0.4}

# Optimisers, step by step

#: Variants of each registered optimiser with the steps to take: on the toy objective, and on a rendered scene.
OPTIMISERS: dict[str, list[tuple[dict[str, Any], int, int]]] = {
    "adam": [({}, 6, 6), ({"rate": 0.4, "betas": (0.7, 0.9)}, 4, 3)],
    "sgd": [({}, 6, 6), ({"rate": 20.0, "momentum": 0.5, "longest": 0.3}, 5, 5)],
    "lbfgs": [({}, 6, 6), ({"memory": 1, "rate": 1.0, "longest": 0.5, "trials": 5}, 5, 4)],
    "line_scan": [({"trials": 4}, 5, 4), ({"each": True}, 3, 0), ({"scatter": True, "trials": 3, "factor": 4.0}, 8, 6)],
    "gauss_newton": [({}, 6, 5), ({"width": 1e-3}, 4, 4), ({"keep": 0.0, "damping": 1.0, "longest": 0.1}, 4, 4)],
    "basin_hopping": [({}, 3, 3), ({"step_size": 0.5, "steps": 3, "patience": 2.0}, 4, 3)],
    "cma": [({}, 6, 5), ({"sigma": 0.2, "population": 5}, 5, 4), ({"separable": True}, 4, 3)],
}


def toy_numbers(name: str) -> Numbers:
    """Return the steps of an optimiser on the toy objective: on a smooth one whose horizon changes midway, beside and
    before a cliff where simulations fail, and in single precision."""
    found: Numbers = {}
    for number, (settings, steps, _) in enumerate(OPTIMISERS[name]):
        optimiser = get_optimiser(name)(**settings)
        objective, z, _ = small_fit()
        found |= prefixed(f"{number}.smooth", follow(optimiser, objective, z, steps, shorter(objective)))
        beside = valley(cliff=1.05 * START["gravity"])
        found |= prefixed(f"{number}.cliff", follow(optimiser, beside, start(beside), steps))
        # A cliff behind the minimum: steps that overshoot are rejected, and those after them grow again.
        behind = valley(cliff=1.02 * TRUTH["gravity"])
        found |= prefixed(f"{number}.behind", follow(optimiser, behind, start(behind), 2 * steps))
        objective, z, _ = small_fit(torch.float32)
        found |= prefixed(f"{number}.single", follow(optimiser, objective, z, steps))
    return found


def scene_numbers(name: str) -> Numbers:
    """Return the steps of an optimiser on the chain of springs, drawn by the soft rasteriser."""
    experiment, found = springs(), {}
    for number, (settings, _, steps) in enumerate(OPTIMISERS[name]):
        if steps:
            optimiser = get_optimiser(name)(**settings)
            found |= prefixed(str(number), follow(optimiser, experiment.objective(), experiment.start(), steps))
    return found


for _name in OPTIMISERS:
    case(f"toy-{_name}")(lambda name=_name: toy_numbers(name))
    case(f"scene-{_name}")(lambda name=_name: scene_numbers(name))


@case("fit-defaults")
def fit_defaults() -> Numbers:
    """Return the results of ``fit`` with each optimiser by its name, and with no more than a scene and a video."""
    scene = springs_scene()
    video, found = fitting.synthesise(scene, SPRINGS_TRUTH, rate=60.0), {}
    found |= prefixed("default", outcome(fitting.fit(scene, video, SPRINGS_START), converged=True))
    for name in OPTIMISERS:
        chosen = fitting.LineScan(trials=4) if name == "line_scan" else name
        result = fitting.fit(scene, video, SPRINGS_START, optimiser=chosen, iterations=4, seed=5)
        found |= prefixed(name, outcome(result))
    single = springs_scene(dtype=torch.float32)
    video = fitting.synthesise(single, SPRINGS_TRUTH, rate=60.0)
    return found | prefixed("single", outcome(fitting.fit(single, video, SPRINGS_START)))


# Several starts


@case("starts-together")
def starts_together() -> Numbers:
    """Return fits of four starts: followed in lockstep, probed first, one after the other until one is enough, and with
    a start among them that cannot be simulated."""
    plans: dict[str, dict[str, Any]] = {
        "all": {"starts": STARTS},
        "probe": {"starts": STARTS, "probe": 2},
        "enough": {"starts": STARTS, "enough": 1e-1},
        "not enough": {"starts": STARTS, "enough": 1e-30},
        "lost": {"starts": (STARTS[0], LOST, STARTS[1])},
        "lost and probed": {"starts": (STARTS[0], LOST, STARTS[1]), "probe": 2},
        "many": {"starts": STARTS * 3, "probe": 1},
    }
    found: Numbers = {}
    for name, plan in plans.items():
        found |= prefixed(name, outcome(fitting.run_fit(springs(**plan)), converged=name in ("all", "not enough")))
    return found


@case("starts-optimisers")
def starts_optimisers() -> Numbers:
    """Return fits of three starts in lockstep by each optimiser, one of which cannot be simulated."""
    found: Numbers = {}
    for name in OPTIMISERS:
        stage = fitting.Stage(get_optimiser(name)(**OPTIMISERS[name][0][0]), 3)
        experiment = springs(stage, starts=(STARTS[1], LOST), seed=11)
        found |= prefixed(name, outcome(fitting.run_fit(experiment, sure=False)))
    return found


@case("starts-alone")
def starts_alone() -> Numbers:
    """Return a fit of several starts of a model whose scenes cannot be simulated as a batch."""
    scene = toy_scene()
    starts = tuple({"gravity": torch.tensor(g, dtype=D)} for g in (4.0, 12.0))
    stage = fitting.Stage(fitting.GaussNewton(), 8, stop=fitting.Stop(change=1e-9))
    target, found = fitting.synthesise(scene, TOY_TRUTH), {}
    for probe in (0, 1):
        experiment = fitting.Experiment(scene, target, TOY_START, stages=(stage,), starts=starts, probe=probe)
        found |= prefixed(f"probe {probe}", outcome(fitting.run_fit(experiment), converged=True))
    return found


# Stages and schedules


def scheduled() -> tuple[Any, ...]:
    """Return stages of several optimisers whose horizon, blur, rate and loss change on the way."""
    stairs = fitting.Schedule(0.4, 1.0, "steps", count=3, over=0.8)
    return (
        fitting.Stage(
            fitting.Adam(), 6, rate=fitting.Schedule(1.0, 0.3, "exponential"), horizon=stairs,
            renderer={"sigma": fitting.Schedule(1e-3, 1e-4, "exponential", over=0.5)},
        ),
        fitting.Stage(
            fitting.Lbfgs(), 8, horizon=stairs, renderer={"sigma": fitting.Schedule(3e-4, 1e-4, "steps", count=2)},
            stop=fitting.Stop(change=0.3, patience=1),
        ),
        fitting.Stage(fitting.CmaEs(sigma=0.05, population=4), 2, horizon=fitting.Schedule(0.5, 1.0, "steps", count=2)),
        fitting.Stage(fitting.LineScan(trials=3), 2, loss=fitting.SilhouetteError(), only=("stiffness",)),
        fitting.Stage(
            fitting.GaussNewton(), 12, horizon=stairs, params={"damping": fitting.Schedule(0.2, 0.1, "steps")},
            stop=fitting.Stop(loss=1e-26),
        ),
    )  # fmt: skip


@case("stages-scene")
def stages_scene() -> Numbers:
    """Return fits through five stages with schedules, from one start and from three in lockstep."""
    found = prefixed("one", outcome(fitting.run_fit(springs(*scheduled())), converged=True))
    several = springs(*scheduled(), starts=STARTS[:2])
    return found | prefixed("three", outcome(fitting.run_fit(several, sure=False), converged=True))


@case("stages-rows")
def stages_rows() -> Numbers:
    """Return fits in stages that move one unknown, one shared value, and rows together."""
    scene = toy_scene(count=3)
    truth = {"velocity": [[1.0, 2.0, 0.0], [0.5, 2.5, 0.0], [1.5, 1.5, 0.0]], "gravity": 8.0}
    target = fitting.synthesise(scene, truth)
    unknowns = [fitting.Unknown("velocity", [0.8, 1.8, 0.1], each=True), fitting.Unknown("gravity", 9.0)]
    still = fitting.Stop(change=1e-3, patience=2)
    stages = (
        fitting.Stage(fitting.GaussNewton(), 5, shared=("velocity",), stop=still),
        fitting.Stage(fitting.Lbfgs(), 4, together=("velocity",), only=("velocity",)),
        fitting.Stage(fitting.GaussNewton(), 30, stop=fitting.Stop(gradient=1e-14)),
    )
    experiment = fitting.Experiment(scene, target, unknowns, stages=stages)
    return outcome(fitting.run_fit(experiment), converged=True)


@case("differences")
def differences() -> Numbers:
    """Return fits whose gradients come from finite differences."""
    found: Numbers = {}
    for name in ("gauss_newton", "lbfgs", "adam"):
        stage = fitting.Stage(get_optimiser(name)(), 4)
        experiment = springs(stage, differences=True, starts=STARTS[:1])
        found |= prefixed(name, outcome(fitting.run_fit(experiment)))
    return found


@case("controls")
def controls() -> Numbers:
    """Return a fit of a force at each step with costs, and one of the weights of a policy."""
    scene = toy_scene()
    wanted = torch.linspace(0.0, 8.0, 10, dtype=D)[:, None]
    target = fitting.synthesise(scene, {"control.push": wanted})
    stage = fitting.Stage(fitting.Lbfgs(), 10)
    costs = fitting.ControlCosts(effort=1e-4, smoothness=1e-4)
    experiment = fitting.Experiment(scene, target, ["control.push"], stages=(stage,), costs=costs)
    found = prefixed("forces", outcome(fitting.run_fit(experiment)))
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(4, 1), torch.nn.Tanh())
    guided = replace(scene, policy=fitting.Policy("push", module, fitting.Sinusoids(4, 2.0)))
    goal = fitting.synthesise(scene, {"push": 0.9}).select([-1])
    result = fitting.fit(guided, goal, ["policy"], optimiser=fitting.Adam(), iterations=8, stop=fitting.Stop())
    return found | prefixed("policy", outcome(result))


@case("two-views")
def two_views() -> Numbers:
    """Return fits of scenes with two cameras of different sizes, one of which starts later."""
    front, side = (fitting.Orbit(5.0, 10.0, size=(16, 16)), fitting.Orbit(4.0, 5.0, azimuth=90.0, size=(12, 20)))
    scene = toy_scene(steps=20, dt=0.02, camera={"front": front, "side": fitting.Viewpoint(side, time_offset=0.1)})
    video = fitting.synthesise_views(scene, {"velocity": [[1.1, 1.8, -0.6]]}, rate=25.0)
    found = prefixed("toy", outcome(fitting.fit(scene, video, ["velocity"]), converged=True))
    scene = springs_scene(
        {
            "front": fitting.Orbit(2, 10, target=MIDDLE, size=(20, 24)),
            "above": fitting.Orbit(3, 40, target=MIDDLE, size=(16, 16)),
        }
    )
    video = fitting.synthesise_views(scene, SPRINGS_TRUTH, rate=60.0)
    stage = fitting.Stage(fitting.GaussNewton(), 6, stop=fitting.Stop(loss=1e-26))
    experiment = fitting.Experiment(scene, video, SPRINGS_START, stages=(stage,), starts=STARTS[:2])
    found |= prefixed("springs", outcome(fitting.run_fit(experiment), converged=True))
    # Each start waits for the one before: several views give other last bits in lockstep than alone.
    waiting = replace(experiment, enough=1e-30)
    return found | prefixed("springs alone", outcome(fitting.run_fit(waiting), converged=True))


@case("weak-unknowns")
def weak_unknowns() -> Numbers:
    """Return fits of unknowns of which some hardly show, or not at all."""
    scene = toy_scene()
    target, found = fitting.synthesise(scene, {"velocity": [[1.1, 1.8, -0.3]], "gravity": 8.0}), {}
    sought = {
        "depth": ["velocity", "gravity"],
        "unseen": ["velocity", "bounce"],
        "tiny": {"gravity": 9.0, "drag": 1e-3},
    }
    for name, unknowns in sought.items():
        stage = fitting.Stage(fitting.GaussNewton(damping=0.1), 8)
        experiment = fitting.Experiment(scene, target, unknowns, stages=(stage,))
        found |= prefixed(name, outcome(fitting.run_fit(experiment)))
    return found


# Trust


@case("trust")
def trust() -> Numbers:
    """Return deviations and verdicts of noisy fits: by curvature and blocks, with a prior, with frames kept aside, with
    assumed numbers, with another loss, and of a fit that has not converged."""
    base = springs(noise=0.01)
    holdout = base.target.select([1, 3])
    aside = replace(base, target=base.target.select([0, 2, 4, 5, 6, 8]), holdout=holdout)
    prior = fitting.Gaussian({"mass": 0.2}, {"mass": 0.01}, noise=0.01)
    plans = {
        "laplace": base,
        "blocks": replace(base, uncertainty="blocks"),
        "prior": replace(base, gaussian=prior),
        "holdout": aside,
        "assumed": replace(base, assumed={"rest_length": 0.01}),
        "silhouette": replace(base, loss=fitting.SilhouetteError()),
        "weak": springs(noise=0.03, steps=60),
        "unfinished": replace(base, stages=(fitting.Stage(fitting.Adam(), 3),)),
    }
    found: Numbers = {}
    for name, plan in plans.items():
        found |= prefixed(name, outcome(fitting.run_fit(plan), history=name == "prior"))
    scene = toy_scene(steps=20)
    video = noisy(fitting.synthesise(scene, TOY_TRUTH), 0.01)
    found |= prefixed("toy", outcome(fitting.fit(scene, video, {"gravity": 8.0, "drag": 0.5})))
    checked = fitting.run_fit(springs(), check=True).gradient
    return found | {"gradient check": [checked.worst, int(checked.passed)]}


# Draws


def normal(place: Tensor) -> tuple[float, Tensor]:
    """Return energy and slope of two correlated normal numbers."""
    covariance = torch.tensor([[1.0, 1.2], [1.2, 4.0]], dtype=D)
    apart = place - torch.tensor([1.0, -1.0], dtype=D)
    pull = torch.linalg.solve(covariance, apart)
    return 0.5 * float(apart @ pull), pull


def walled(place: Tensor) -> tuple[float, Tensor]:
    """Return energy and slope of a normal number cut off at 1, beyond which nothing can be."""
    return (0.5 * float(place[0] ** 2) if float(place[0]) < 1.0 else math.inf), place.clone()


def settled(energy: Callable[[Tensor], tuple[float, Tensor]]) -> Any:
    """Return the search for an energy that is known without evaluating anything."""

    def search(place: Tensor) -> Any:
        yield from ()
        return energy(place)

    return search


@case("chains")
def chains() -> Numbers:
    """Return a few draws by Hamiltonian Monte Carlo: of a normal law, of one with a wall, and of a fit with chains one
    after the other and in lockstep."""
    found = prefixed("normal", drawn(sample(settled(normal), torch.zeros((3, 2), dtype=D), 12, 8, seed=3)))
    found |= prefixed("walled", drawn(sample(settled(walled), torch.zeros((2, 1), dtype=D), 12, 6, seed=4)))
    experiment = springs(noise=0.01)
    law = make_energy(experiment.objective(), experiment.start(), 1e-2 * torch.eye(2, dtype=D), 0.01, 2000)
    starts = torch.tensor([[0.5, -0.2], [-1.0, 0.3], [0.1, 0.9]], dtype=D)
    for name, together in (("alone", False), ("lockstep", True)):
        found |= prefixed(name, drawn(sample(law, starts, 4, 3, 1, together)))
    return found


def posterior_of(experiment: Any, every: int) -> Numbers:
    """Return the numbers of a fit with draws from its posterior."""
    result = fitting.run_fit(experiment)
    found = outcome(result, history=False)
    return found | prefixed("draws", drawn(result.uncertainty.posterior.draws, every))


@case("posterior")
def posterior() -> Numbers:
    """Return a fit of the chain with draws from its posterior, with and without a prior."""
    experiment = springs(noise=0.01, uncertainty="posterior")
    prior = fitting.Gaussian({"mass": 0.2}, {"mass": 0.002}, noise=0.01)
    found = prefixed("plain", posterior_of(experiment, 10))
    return found | prefixed("prior", posterior_of(replace(experiment, gaussian=prior), 10))


@case("posterior-alone")
def posterior_alone() -> Numbers:
    """Return a fit with draws from its posterior, of a model whose scenes cannot be simulated as a batch."""
    scene = toy_scene(steps=10)
    video = noisy(fitting.synthesise(scene, TOY_TRUTH), 0.01)
    return posterior_of(fitting.Experiment(scene, video, TOY_START, uncertainty="posterior"), 10)


# Run folders and the command line

CHAIN = """
title = "A chain"
seed = 4
[model]
name = "springs"
positions = [[0, 0.5, 0], [0.4, 0.5, 0], [0.8, 0.5, 0]]
springs = [[0, 1], [1, 2]]
on_ground = false
radius = 0.15
[params]
rest_length = 0.2
[time]
dt = 2e-3
steps = 40
[camera]
distance = 2
elevation = 10
target = [0.4, 0.4, 0.0]
size = [16, 16]
[renderer]
name = "softras"
[target]
rate = 50
[truth]
stiffness = 120.0
[unknowns.stiffness]
start = { uniform = [20.0, 400.0] }
[unknowns.velocity]
start = [0.1, 0.0, 0.0]
[[stages]]
optimiser = "adam"
iterations = 3
horizon = { first = 0.5, last = 1.0, shape = "steps", count = 2 }
[[stages]]
optimiser = "gauss_newton"
iterations = 20
stop = { loss = 1e-24 }
[starts]
count = 3
"""


class _Enough(KeyboardInterrupt):
    """Stands for the user's Ctrl-C."""


def in_folder(folder: Path, text: str, after: int | None = None, resumed: bool = False) -> Any:
    """Run or resume a fit that keeps each iteration in a run folder. after: iterations until it is interrupted."""
    kept = RunFolder(folder) if resumed else RunFolder.create(folder, loaded_from(folder, text))
    state, history = kept.resume() if resumed else (None, [])

    def keep(here: Any, record: Any) -> None:
        kept.keep(here, record)
        if after is not None and record.total == after:
            raise _Enough

    experiment = build_experiment(kept.config())
    return fitting.run_fit(experiment, state=state, history=history, observer=keep)


def loaded_from(folder: Path, text: str) -> Any:
    """Return the checked experiment file ``text``."""
    file = folder.with_suffix(".toml")
    file.write_text(text)
    return load_file(file)


def interrupted(text: str, stops: Sequence[int]) -> Numbers:
    """Return a fit without interruption, and the same fit stopped after each of ``stops`` iterations, saved, loaded and
    continued; AssertionError unless all agree in every bit."""
    with tempfile.TemporaryDirectory() as place:
        whole = outcome(in_folder(Path(place, "whole"), text))
        found = prefixed("whole", whole)
        folder = Path(place, "part")
        for number, stop in enumerate(stops):
            part = in_folder(folder, text, stop, resumed=number > 0)
            assert part.interrupted
            found |= prefixed(f"after {stop}", outcome(part))
        resumed = outcome(in_folder(folder, text, resumed=True))
    for name, value in whole.items():
        assert list(map(repr, resumed[name])) == list(map(repr, value)), f"{name} of the resumed fit is another"
    return found | prefixed("resumed", resumed)


def resume_numbers(name: str) -> Numbers:
    """Return an interrupted fit of two starts by one optimiser."""
    text = CHAIN[: CHAIN.index("[[stages]]")]
    settings = ", trials = 3" if name == "line_scan" else ""
    text += f'[[stages]]\niterations = 4\noptimiser = {{ name = "{name}"{settings} }}\n[starts]\ncount = 2\n'
    return interrupted(text, [2, 7])


for _name in OPTIMISERS:
    case(f"resume-{_name}")(lambda name=_name: resume_numbers(name))


@case("resume-stages")
def resume_stages() -> Numbers:
    """Return an interrupted fit of three starts through two stages with a schedule, with and without probes."""
    found = prefixed("all", interrupted(CHAIN, [1, 5, 14, 33]))
    return found | prefixed("probe", interrupted(CHAIN + "probe = 2\n", [2, 8, 11]))


def command(arguments: Sequence[str], text: str, **files: Any) -> Numbers:
    """Run ``diffloom run`` on an experiment file in a process of its own and return what it wrote."""
    with tempfile.TemporaryDirectory() as place:
        for name, arrays in files.items():
            np.savez(Path(place, f"{name}.npz"), **arrays)
        Path(place, "experiment.toml").write_text(text)
        line = [sys.executable, "-m", "diffloom", "run", "experiment.toml", "--out", "out", *arguments]
        done = subprocess.run(line, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        found = prefixed("result", of_json(json.loads(Path(place, "out", "result.json").read_text())))
        history = Path(place, "out", "history.jsonl")
        lines = [json.loads(line) for line in history.read_text().splitlines()] if history.exists() else []
    for number, record in enumerate(lines):
        told_by = {key: value for key, value in record.items() if key not in ("seconds", "note", "checksum")}
        found |= prefixed(f"history.{number}", of_json(told_by))
    converged = [name for name in found if name.startswith("result.estimates") and name.endswith(".found")]
    return found | {FOUND + name: found.pop(name) for name in converged}


@case("command")
def command_run() -> Numbers:
    """Return what ``diffloom run`` writes of a fit from three starts."""
    return command(["--no-report"], CHAIN)


@case("command-jobs", slow=True)
def command_jobs() -> Numbers:
    """Return what ``diffloom run --jobs 2`` writes of the same fit, with all starts and with probed ones."""
    found = prefixed("all", command(["--no-report", "--jobs", "2"], CHAIN))
    return found | prefixed("probe", command(["--no-report", "--jobs", "2"], CHAIN + "probe = 2\n"))


# Measured motion

RATE, FRAMES, SUBSTEPS = 100.0, 30, 10
KNOWN = {"gravity": [0.0, 0.0, -9.81], "ground_normal": [0.0, 0.0, 1.0]}
CUBE_TRUTH = {"friction": 0.25, "contact_dissipation": 1.5, "centre_of_mass": [0.0, 0.0, 0.0], "scale": 0.97}
CUBE_UNKNOWNS = {
    "friction": Unknown("friction", 0.4),
    "contact_dissipation": Unknown("contact_dissipation", 1.0),
    "centre_of_mass": Unknown("centre_of_mass", [0.003, -0.002, 0.006], scale=0.01),
    "scale": Unknown("scale", 1.0, scale=0.1),
}


def cube() -> Any:
    """Return a cube that touches the ground."""
    body = {"shape": "box", "size": 0.1, "mass": 0.4, "contact_stiffness": 4e3}
    return get_model("rigid")([body], contact={"law": "hunt_crossley", "toe": 2e-3})


def tosses(count: int = 5) -> list[Clip]:
    """Return clips of random tosses of a cube, recorded 3 % too small."""
    random = np.random.default_rng(23)
    model = cube().copies(count)
    values = {name: value for name, value in CUBE_TRUTH.items() if name != "scale"}
    began = {
        "position": np.c_[np.zeros((count, 2)), random.uniform(0.16, 0.2, count)],
        "orientation": random.normal(size=(count, 4)),
        "velocity": random.normal(0.0, 0.5, (count, 3)) - [0.0, 0.0, 0.5],
        "angular_velocity": random.normal(0.0, 3.0, (count, 3)),
    }
    params = model.params(D, **KNOWN, **values, **began)
    path = simulate(model, params, dt=1.0 / (RATE * SUBSTEPS), steps=SUBSTEPS * (FRAMES - 1), save_every=SUBSTEPS)
    poses, speed = model.frames(path, params).numpy(), path.u.numpy()
    scale = CUBE_TRUTH["scale"]
    return [
        Clip(str(i), RATE, scale * poses[:, i, :3], poses[:, i, 3:], np.ones(FRAMES), scale * speed[:, i, :3],
             speed[:, i, 3:])
        for i in range(count)
    ]  # fmt: skip


def motion_numbers(result: Any, converged: bool = False) -> Numbers:
    """Return the numbers of a fit of measured motion."""
    found: Numbers = {"losses": [result.start_loss, result.loss], "iterations": [result.iterations]}
    for estimate in result.estimates:
        found[f"{FOUND if converged else ''}value.{estimate.name}"] = flat(estimate.found)
        found[f"deviation.{estimate.name}"] = [] if estimate.deviation is None else flat(estimate.deviation)
    for name, kept in result.scores.items():
        found |= prefixed(name, score_numbers(kept))
    return found | {"verdict": [result.verdict.level, result.reason]}


def score_numbers(kept: Any) -> Numbers:
    """Return the numbers of a score."""
    return {name: flat(errors) for name, errors in kept.items()}


def followed_motion(*given: Any, converged: bool = False, **how: Any) -> Numbers:
    """Return the numbers of a fit of measured motion and of each of its steps."""
    rows: list[dict[str, Any]] = []

    def observe(state: Any, record: Any) -> None:
        rows.append({"stage": record.stage, "step": record.iteration, "loss": record.loss, "values": record.values})

    result = fit_motion(*given, observer=observe, **how)
    return motion_numbers(result, converged) | prefixed("steps", columns(rows))


@case("motion")
def motion() -> Numbers:
    """Return fits to recorded tosses: several stages with clips kept aside, robust losses with an outlier, starts of
    the clips' own, and a score."""
    clips, shared = tosses(), list(CUBE_UNKNOWNS.values())
    rules = StartRules(KNOWN, SUBSTEPS, rotation_length=0.05)
    sampled = replace(rules, start="sample")
    problem, aside = MotionScene(cube(), clips[:4], sampled), MotionScene(cube(), clips[4:], sampled)
    stages = [
        MotionStage(frames=15, iterations=8, fixed=("contact_dissipation",)), MotionStage(frames=22, iterations=8),
        MotionStage(iterations=12, stop=Stop(change=1e-9)),
    ]  # fmt: skip
    found = prefixed("stages", followed_motion(problem, shared, stages, holdout=aside, converged=True))
    few = [CUBE_UNKNOWNS["friction"], CUBE_UNKNOWNS["scale"]]
    found |= prefixed("sure", followed_motion(problem, few, [MotionStage(frames=15, iterations=4)]))
    broken = clips[0].position.copy()
    broken[20] += 0.5
    bad = [replace(clips[0], position=broken), *clips[1:3]]
    for loss in ("huber", "cauchy"):
        outlier = MotionScene(cube(), bad, rules)
        how = {"loss": loss, "threshold": 2e-3}
        stage = MotionStage(GaussNewton(width=1e-4), 4, frames=22)
        found |= prefixed(loss, followed_motion(outlier, few, [stage], **how))
    own = replace(rules, own=OwnStart({"velocity": 0.02, "angular_velocity": 0.1}, noise=1e-3))
    free = MotionScene(cube(), clips[:3], own)
    stages = [MotionStage(frames=12, iterations=2, flight=True), MotionStage(frames=20, iterations=3)]
    found |= prefixed("own", followed_motion(free, few, stages))
    values = {name: torch.tensor(value, dtype=D).reshape(-1) for name, value in CUBE_TRUTH.items()}
    return found | prefixed("score", score_numbers(score_clips(MotionScene(cube(), clips, rules), values)))


MOTION = """
substeps = 10
width = 0.1
[model]
name = "rigid"
contact = { law = "hunt_crossley", toe = 2e-3 }
[[model.bodies]]
shape = "box"
size = 0.1
mass = 0.4
contact_stiffness = 4e3
[params]
gravity = [0.0, 0.0, -9.81]
ground_normal = [0.0, 0.0, 1.0]
contact_dissipation = "1.5 s/m"
[recording]
file = "tosses.npz"
rate = 100
columns = { position = [0, 1, 2], orientation = [3, 4, 5, 6], velocity = [7, 8, 9], angular_velocity = [10, 11, 12] }
[clips]
fit = "0:4"
holdout = "4:"
[start]
rule = "sample"
[loss]
rotation_length = 0.05
[unknowns.friction]
start = 0.4
[unknowns.scale]
start = 1.0
scale = 0.1
[[stages]]
frames = 18
iterations = 4
[[stages]]
iterations = 8
stop.change = 1e-6
"""


@case("command-motion")
def command_motion() -> Numbers:
    """Return what ``diffloom run`` writes of a fit to a file of recorded tosses."""
    clips = tosses()
    rows = np.concatenate([np.c_[c.position, c.orientation, c.velocity, c.angular_velocity] for c in clips])
    return command(["--no-report"], MOTION, tosses={"rows": rows, "lengths": [len(c) for c in clips]})


def elbow() -> Any:
    """Return two boxes joined by a hinge, free to move."""
    box = {"shape": "box", "size": [0.1, 0.05, 0.05]}
    links = [
        {"name": "upper", "joint": "free", "shapes": [{**box, "mass": 0.3}]},
        {"name": "fore", "parent": "upper", "axis": [0, 1, 0], "position": [-0.035, 0.06, 0.0],
         "shapes": [{**box, "position": [0.035, 0.0, 0.0], "mass": 0.3}]},
    ]  # fmt: skip
    return get_model("articulated")([{"links": links}], ground=True, contact={"toe": 1e-3})


@case("motion-tree")
def motion_tree() -> Numbers:
    """Return a fit to tosses of an elbow: joints as targets, and starts that follow the flight."""
    random, count, frames, substeps = np.random.default_rng(4), 3, 24, 12
    known = {**KNOWN, "damping[6]": 2e-3}
    model = elbow().copies(count)
    began = {
        "position": np.array([0.0, 0.0, 0.16]) + 0.01 * random.normal(size=(count, 3)),
        "orientation": random.normal(size=(count, 4)),
        "velocity": random.normal(size=(count, 3)) * [0.5, 0.5, 0.1],
        "angular_velocity": 2.0 * random.normal(size=(count, 3)),
        "joint_position": random.normal(size=(count, 1)),
        "joint_velocity": 2.0 * random.normal(size=(count, 1)),
    }
    values = model.copied_values({**known, "frame_position[fore]": (-0.032, 0.055, 0.002), "friction": 0.25})
    starts = model.start_values({key: torch.tensor(value) for key, value in began.items()})
    params = model.params(D, **values, **starts)
    path = simulate(model, params, dt=1.0 / (RATE * substeps), steps=substeps * (frames - 1), save_every=substeps)
    poses, joints = model.frames(path, params).numpy(), model.joint_coordinates(path).numpy()
    wrapped = (joints + np.pi) % (2.0 * np.pi) - np.pi
    clips = [
        Clip(str(i), RATE, poses[:, i, :3], poses[:, i, 3:], np.ones(frames), joint_position=wrapped[:, i])
        for i in range(count)
    ]
    free = {"position": 0.01, "orientation": 0.1, "velocity": 0.3, "angular_velocity": 3.0, "joint_position": 0.1,
            "joint_velocity": 3.0}  # fmt: skip
    problem = MotionScene(elbow(), clips, StartRules(known, substeps, 0.05, "fitted", 0.01, OwnStart(free, joints=1)))
    hinge = Unknown("frame_position[fore]", [-0.035, 0.06, 0.0], scale=0.01)
    stages = [MotionStage(frames=16, iterations=3), MotionStage(iterations=3)]
    return followed_motion(problem, [hinge, Unknown("friction", 0.4)], stages)
