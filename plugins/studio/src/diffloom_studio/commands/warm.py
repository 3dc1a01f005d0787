"""`diffloom warm`: compile now what experiments will need."""

from __future__ import annotations

import os
from pathlib import Path

import click


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--renderer", "renderers", metavar="NAME", multiple=True, help="With this renderer; may be repeated.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes at once (default: one for each processor).")
def warm(files: tuple[str, ...], renderers: tuple[str, ...], jobs: int | None) -> None:
    """Compile what the experiment FILES need, so that running them starts at once.

    Without FILES: what `diffloom demo` needs with each of its renderers, and every file of ./experiments if there is
    such a folder.
    """
    import time
    from importlib.resources import as_file, files as package_files

    from diffloom_experiments import load_file
    from diffloom_kernels import cache_folder

    began, before = time.perf_counter(), _programs(cache_folder())
    with as_file(package_files("diffloom_fitting").joinpath("demo")) as folder:
        given = [Path(file) for file in files]
        chosen: list[str | None] = [*renderers] or [None]
        cases = [(file, renderer) for file in given for renderer in chosen]
        if not files:
            demo = folder / "demo.toml"
            told = load_file(demo).content.renderer.model_extra or {}
            cases = [(demo, renderer) for renderer in renderers or told]
            cases += [(file, renderer) for file in sorted(Path("experiments").glob("*.toml")) for renderer in chosen]
        for file, _ in cases:
            load_file(file)  # a bad file is told before anything runs
        troubles = _carry_out(cases, jobs or _processors())
    made = _programs(cache_folder()) - before
    click.echo(f"compiled {made} programs in {time.perf_counter() - began:.0f} s; kept in {cache_folder()}")
    for trouble in troubles:
        click.echo(trouble, err=True)
    if troubles:
        raise SystemExit(1)


def _carry_out(cases: list[tuple[Path, str | None]], processes: int) -> list[str]:
    """Run all jobs behind a bar; what went wrong, a line each."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from diffloom_experiments.warming import rounds, run_jobs

    stages = rounds(cases, processes)
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    troubles: dict[str, None] = {}
    with Progress(*columns, TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=sum(len(jobs) for jobs in stages))
        for jobs in stages:
            for outcome in run_jobs(jobs, processes):
                bar.update(task, advance=1, description=outcome.job.title)
                if outcome.trouble is not None:
                    troubles[f"{outcome.job.title}: {outcome.trouble}"] = None
    return list(troubles)


def _programs(folder: Path) -> int:
    """How many compiled programs a folder holds."""
    return sum(1 for _ in folder.rglob("*.code"))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
