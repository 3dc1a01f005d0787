"""Commands `diffloom schema`, `diffloom new` and `diffloom warm`: experiment files before they are run."""

from __future__ import annotations

import os
from pathlib import Path

import click

from diffloom_studio.dispatch import find_action


@click.command()
@click.option("--kind", metavar="NAME", help="Print the schema of this kind alone, such as video or motion.")
def schema(kind: str | None) -> None:
    """Print the JSON schema of experiment files of all kinds (editors use it to complete and check them)."""
    import json

    from diffloom.validation import check_choice
    from diffloom_experiments.keys import combined_schema, json_schema
    from diffloom_experiments.kinds import experiment_kinds

    kinds = experiment_kinds()
    if kind is not None:
        found = json_schema(kinds[check_choice("schema: --kind", kind, kinds)].schema())
    else:
        found = combined_schema(kinds)
    click.echo(json.dumps(found, indent=2))


@click.command()
@click.argument("clip", type=click.Path())
@click.option("--out", type=click.Path(), help="The experiment file (default: the clip's name with .toml).")
@click.option("--overwrite", is_flag=True, help="Replace an existing file.")
@click.option("--kind", metavar="KIND", help="Motion: pendulum, throw, bounces or slide (default: recognise it).")
@click.option(
    "--size",
    metavar="METRES",
    help="A ball's diameter, or a box's width, height and depth, for the scale: 0.067 or '0.1 0.05 0.08'.",
)
@click.option(
    "--fov", type=float, metavar="DEGREES", help="The camera's vertical field of view (default: 40, roughly)."
)
def new(
    clip: str, out: str | None, overwrite: bool, kind: str | None, size: str | None, fov: float | None
) -> None:  # fmt: skip
    """Look at the video CLIP, describe it, and write an experiment for it with a contact sheet.

    It proposes a background, masks, a scale and a model. The file has comments, runs unchanged, and is meant to be
    edited. A pendulum or a throw is recognised; --kind names bounces and slides. --size makes the object's size the
    scale.
    """
    from diffloom_video.facts import KnownFacts
    from diffloom_video.new_clip import inspect_clip, write_contact_sheet, write_experiment

    place = Path(out) if out is not None else Path(clip).with_suffix(".toml")
    sheet = place.with_name(f"{place.stem}-contact-sheet.png")
    for there in (place, sheet):
        if there.exists() and not overwrite:
            raise click.UsageError(f"{there} exists already; give --out another.toml, or --overwrite")
    try:
        lengths = tuple(float(each) for each in (size or "").replace(",", " ").split())
    except ValueError:
        raise click.UsageError(f"--size: got {size!r}; expected metres, such as 0.067 or '0.1 0.05 0.08'") from None
    known = KnownFacts(kind, lengths, fov)
    seen = inspect_clip(Path(clip), known)
    for sentence in seen.sentences:
        click.echo(sentence)
    write_contact_sheet(sheet, seen.part())
    write_experiment(seen, Path(clip), place, known)
    click.echo(f"contact sheet: {sheet}  (look at it first: are the rings around the object?)")
    click.echo(f"experiment: {place}  (run it: diffloom run {place})")


@click.command()
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--renderer", "renderers", metavar="NAME", multiple=True, help="Compile for this renderer.")
@click.option("--jobs", type=click.IntRange(min=1), help="Number of processes at once (default: one per processor).")
def warm(files: tuple[str, ...], renderers: tuple[str, ...], jobs: int | None) -> None:
    """Compile the programs that the experiment FILES need, so that running them starts at once.

    Without FILES: those of `diffloom demo` with each of its renderers, and of every file in ./experiments if there is
    such a folder.
    """
    import time
    from importlib.resources import as_file, files as package_files

    from diffloom_experiments import load_file
    from diffloom_kernels import cache_folder

    began, before = time.perf_counter(), _count_programs(cache_folder())
    with as_file(package_files("diffloom_studio").joinpath("demo")) as folder:
        given = [Path(file) for file in files]
        for file in given:
            if file.exists():
                find_action(file)  # a kind of file that is not compiled beforehand is refused
        chosen: list[str | None] = [*renderers] or [None]
        cases = [(file, renderer) for file in given for renderer in chosen]
        if not files:
            demo = folder / "demo.toml"
            told = load_file(demo).content.renderer.model_extra or {}
            cases = [(demo, renderer) for renderer in renderers or told]
            there = [file for file in sorted(Path("experiments").glob("*.toml")) if _is_warmed(file)]
            cases += [(file, renderer) for file in there for renderer in chosen]
        for file, _ in cases:
            load_file(file)  # report a bad file before anything runs
        troubles = _carry_out(cases, jobs or _count_processors())
    made = _count_programs(cache_folder()) - before
    click.echo(f"compiled {made} programs in {time.perf_counter() - began:.0f} s; kept in {cache_folder()}")
    for trouble in troubles:
        click.echo(trouble, err=True)
    if troubles:
        raise SystemExit(1)


def _carry_out(cases: list[tuple[Path, str | None]], processes: int) -> list[str]:
    """Run all jobs behind a bar; return a line for each failure."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from diffloom_experiments.warming import plan_jobs, run_jobs

    stages = plan_jobs(cases, processes)
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


def _is_warmed(file: Path) -> bool:
    """Return True if a file is of a kind that can be compiled beforehand."""
    from diffloom.errors import InputError
    from diffloom_experiments.kinds import recognise_place

    kind = recognise_place(file)
    try:
        kind.action("warm")
    except InputError:
        return False
    return True


def _count_programs(folder: Path) -> int:
    """Return the number of compiled programs in a folder."""
    return sum(1 for _ in folder.rglob("*.code"))


def _count_processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
