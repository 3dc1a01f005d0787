"""Warm-up of the compile cache: experiments run for a few steps and frames, each in a process of its own.

A process that runs an experiment briefly compiles the programs that a fit will need, and leaves them in the cache; no
list of programs is needed here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from diffloom.interfaces import InputError, NoGradient, Params, SimulationError, Trajectory
from diffloom.plugins import PluginError
from diffloom_experiments import build_experiment, build_scene, load_file
from diffloom_experiments.load import Loaded
from diffloom_fitting import Experiment, Scene

__all__ = ["CompileJob", "JobOutcome", "plan_jobs", "run_jobs"]

STEPS = 2


@dataclass(frozen=True)
class CompileJob:
    """Work of one compiling process.

    Args:
        file: Experiment file.
        renderer: Registered name of a renderer instead of the file's; None for the file's.
        part: "physics" or "images", which can run in parallel, or "all", which every file needs in the end and which
            finds
            what the former have compiled.
    """

    file: Path
    renderer: str | None
    part: str

    @property
    def title(self) -> str:
        """File with its renderer, for messages."""
        return self.file.stem + (f" with {self.renderer}" if self.renderer else "")


@dataclass(frozen=True)
class JobOutcome:
    """Outcome of one compiling process.

    Args:
        job: Work of the process.
        trouble: Reason why it failed; None on success.
    """

    job: CompileJob
    trouble: str | None


def plan_jobs(cases: Sequence[tuple[Path, str | None]], processes: int) -> list[list[CompileJob]]:
    """Return the jobs for (file, renderer) pairs in rounds; jobs of one round can run in parallel.

    Args:
        cases: Experiment files with a renderer or None each.
        processes: Number of processes.

    Returns:
        Rounds of jobs, to be run one after another.
    """
    whole = [CompileJob(file, renderer, "all") for file, renderer in cases]
    if processes == 1:
        return [whole]
    return [[CompileJob(file, renderer, part) for part in ("physics", "images") for file, renderer in cases], whole]


def run_jobs(jobs: Sequence[CompileJob], processes: int) -> Iterator[JobOutcome]:
    """Run jobs in parallel processes.

    Args:
        jobs: Jobs of one round.
        processes: Number of processes.

    Yields:
        Outcome of each job when it ends.
    """
    with ThreadPoolExecutor(processes) as pool:
        for done in as_completed([pool.submit(_run, job) for job in jobs]):
            yield done.result()


def _run(job: CompileJob) -> JobOutcome:
    """Run one job in a process."""
    # One thread each, because the processes share the cores; compiled code does not depend on the number of threads.
    alone = {"DIFFLOOM_QUIET": "1", "DIFFLOOM_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "diffloom_experiments.warming", str(job.file), job.part, job.renderer or ""]
    done = subprocess.run(
        command, env={**os.environ, **alone}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if done.returncode == 0:
        return JobOutcome(job, None)
    return JobOutcome(job, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"code {done.returncode}")


def compile_part(job: CompileJob) -> None:
    """Compile what a job asks for, in this process."""
    changes = {} if job.renderer is None else {"renderer.name": job.renderer}
    loaded = load_file(job.file, changes=changes, quick=True)
    if job.part == "physics":
        scene = build_scene(loaded)
        leaves = _leaves(scene, loaded)
        if leaves is not None:
            _run_physics(scene, leaves)
    elif job.part == "images":
        _draw_images(build_scene(loaded))
    elif loaded.content.unknowns:
        _run_experiment(build_experiment(loaded))
    else:
        scene = build_scene(loaded)
        _run_physics(scene, {})
        _draw_images(scene)


def _leaves(scene: Scene, loaded: Loaded) -> dict[str, Tensor] | None:
    """Return the unknown parameters of the model as tensors that need a gradient.

    None if one has no value before its truth is drawn, such as a density; the part "all" covers it.
    """
    leaves = {}
    for name, table in loaded.content.unknowns.items():
        if name in {spec.name for spec in scene.model.specs}:
            if name not in scene.params:
                return None
            value = scene.params[name].detach()
            if table.each or table.only is not None:
                value = value.expand(scene.model.spec(name).full_shape(scene.model.axes))
            leaves[name] = value.clone().requires_grad_(True)
    return leaves


def _run_physics(scene: Scene, leaves: dict[str, Tensor]) -> None:
    """Run two steps with and without gradient."""
    trajectory, _ = scene.simulate(leaves, (0, STEPS))
    total = torch.stack([q.sum() + u.sum() for q, u in trajectory.sets.values()]).sum()
    if total.requires_grad:
        total.backward()
    with torch.no_grad():
        scene.simulate({}, (0, STEPS), NoGradient())


def _draw_images(scene: Scene) -> None:
    """Render two frames with gradient."""
    params: Params = scene.params
    with torch.no_grad():
        state = scene.model.initial_state(params)
    times = torch.zeros(STEPS, dtype=scene.dtype)
    q = {name: torch.stack([x] * STEPS).requires_grad_(True) for name, (x, _) in state.sets.items()}
    u = {name: torch.stack([v] * STEPS) for name, (_, v) in state.sets.items()}
    image, _ = scene.draw(Trajectory(q, u, times), params, {}, ("rgba",))
    assert image.rgba is not None
    image.rgba.sum().backward()


def _run_experiment(experiment: Experiment) -> None:
    """Evaluate each stage's loss and gradient over the first frames, and render what the report shows."""
    z = experiment.start()
    for stage in experiment.stages:
        objective = experiment.stage_objective(stage, None, 0).with_horizon(1e-9)
        objective.evaluate(z)
        objective.value(z)
    with torch.no_grad():
        for label, target in experiment.target.by_view().items():
            scene = experiment.scene.select_view(label)
            scene.render(experiment.layout.decode(z), target.times[:STEPS], ("rgba",), NoGradient())


def main(arguments: Sequence[str]) -> int:
    """Run one job.

    Args:
        arguments: FILE PART RENDERER.

    Returns:
        Exit code, 0 on success.
    """
    file, part, renderer = arguments
    try:
        compile_part(CompileJob(Path(file), renderer or None, part))
    except (InputError, SimulationError, PluginError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
