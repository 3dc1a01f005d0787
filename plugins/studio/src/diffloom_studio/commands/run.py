"""Commands `diffloom run` and `diffloom demo`: fit, show, keep, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from diffloom_studio.dispatch import (
    EngineOptions,
    ExperimentOptions,
    add_engine_options,
    add_experiment_options,
    dispatch_by_kind,
)

if TYPE_CHECKING:
    from diffloom_experiments.run_folder import RunFolder
    from diffloom_fitting import AbstractExperiment, Result
    from diffloom_scale.engines import Engine


COLOURS = {"green": "green", "amber": "yellow", "red": "red"}


@click.command()
@dispatch_by_kind("file", "resume")
@click.argument("file", required=False, type=click.Path())
@add_experiment_options
@click.option("--out", type=click.Path(), help="Folder for the run (default: runs/<file's name>).")
@click.option("--resume", type=click.Path(), metavar="FOLDER", help="Continue an interrupted run.")
@click.option("--overwrite", is_flag=True, help="Replace the run that the folder holds.")
@click.option("--check/--no-check", default=True, help="Check the gradient against finite differences first.")
@click.option("--report/--no-report", default=True, help="Write videos, plots and the report.")
@click.option("--view", is_flag=True, help="Watch the fit in 3D, in a browser (needs diffloom[viewer]).")
@click.option("--log", "logs", multiple=True, metavar="NAME", help="Also log to csv, tensorboard or mlflow.")
@add_engine_options
def run(
    file: str | None, options: ExperimentOptions, out: str | None, resume: str | None, overwrite: bool, check: bool,
    report: bool, view: bool, logs: tuple[str, ...], workers: EngineOptions,
) -> None:  # fmt: skip
    """Fit the unknowns of the experiment FILE to its video, or to the motion of its [recording].

    Shows the progress and writes a folder with the result, videos, plots and a report. Ctrl-C keeps the best values so
    far; --resume FOLDER continues. With --jobs or --engine the starts of an experiment with several run in parallel.
    """
    from diffloom.cli import keep_freed_memory, pause_garbage_collection

    keep_freed_memory()
    with pause_garbage_collection():
        from diffloom_experiments.run_folder import RunFolder

    if file is None and resume is None:
        raise click.UsageError("give an experiment FILE, or --resume FOLDER")
    if file is not None and resume is not None:
        raise click.UsageError(
            f"--resume continues the experiment that {resume!r} holds; leave out {file!r}, or start again "
            f"with --out {resume} --overwrite instead of --resume"
        )
    if resume is not None:
        if not workers.alone:
            raise click.UsageError("--resume continues in this process; leave out --engine, --jobs and --address")
        if options != ExperimentOptions() or out or overwrite:
            raise click.UsageError("--resume continues an unchanged experiment; leave out other options")
        folder, experiment = RunFolder(Path(resume)), None
    else:
        assert file is not None
        loaded = options.load(file)
        # Built before a folder is made, so that a bad file leaves no folder.
        with pause_garbage_collection():
            from diffloom_experiments import MissingDataError
            from diffloom_experiments.kinds import build_any

        try:
            experiment = build_any(loaded)
        except MissingDataError as error:
            click.echo(f"skipped: {error}")
            return
        folder = RunFolder.prepare(out, Path(file).stem, overwrite, loaded)
    result = carry_out(
        folder, experiment, resumed=resume is not None, check=check, report=report, view=view, logs=logs,
        engine=None if workers.alone else workers.start(),
    )  # fmt: skip
    if result.interrupted:
        raise SystemExit(130)


def carry_out(
    folder: RunFolder, experiment: AbstractExperiment | None = None, *, resumed: bool = False, check: bool = True,
    report: bool = True, view: bool = False, logs: Sequence[str] = (), engine: Engine | None = None,
) -> Result:  # fmt: skip
    """Fit the experiment of a run folder, keep each iteration, and write the report.

    view: show the fit in 3D, also afterwards until Ctrl-C. logs: names of loggers. engine: runs several starts.
    """
    from rich.console import Console

    from diffloom_experiments.kinds import build_any
    from diffloom_experiments.run_folder import restore_thread_count
    from diffloom_fitting import Experiment, run_fit
    from diffloom_fitting.loop import FitState, Record
    from diffloom_fitting.result_tables import result_lines, result_table, verdict_lines
    from diffloom_fitting.results import write_result
    from diffloom_scale.loggers import open_loggers
    from diffloom_studio.console import make_watcher
    from diffloom_studio.report import write_report
    from diffloom_studio.report.advice import give_advice

    loaded = folder.config()
    if resumed:
        restore_thread_count(folder.path)
    if experiment is None:
        experiment = build_any(loaded)
    assert experiment is not None
    state, history = folder.resume() if resumed else (None, [])
    console = Console()
    count = experiment.layout.size
    what = f"{count} unknown number{'s' if count > 1 else ''}, {experiment.describe()}"
    console.print(f"{experiment.title}: {what}", highlight=False, soft_wrap=True, markup=False)
    live = _open_viewer(experiment) if view else None
    with (
        make_watcher(experiment, console) as shown,
        open_loggers(logs, folder.path, experiment.title, loaded.raw) as told,
    ):

        def observe(here: FitState, record: Record) -> None:
            folder.keep(here, record)
            shown.show(here, record)
            if live is not None:
                live.observe(here, record)
            told.record(record)

        if engine is not None and experiment.starts:
            from diffloom_scale import SentExperiment, fit_starts_on

            for state, record in fit_starts_on(engine, SentExperiment.of(loaded), experiment):
                observe(state, record)
                history.append(record)
        result = run_fit(experiment, state=state, history=history, observer=observe, check=check and not resumed)
        told.end(result)
    write_result(folder.path / "result.json", result)  # before anything else can fail
    for line in verdict_lines(result):
        console.print(line, highlight=False, soft_wrap=True, markup=False, style=COLOURS[result.verdict.level])
    console.print(result_table(result))
    for line in (*result_lines(result), *experiment.lines(result)):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    if result.uncertainty != "not asked for":
        for line in give_advice(result, experiment):
            console.print(f"next: {line}", highlight=False, soft_wrap=True, markup=False)
    if isinstance(experiment, Experiment) and experiment.scene.policy is not None:
        from diffloom_control import save_policy

        save_policy(folder.path / "policy.pt", experiment.scene.policy, experiment.layout.decode(result.z))
    if result.interrupted:
        console.print(
            f"continue with: diffloom run --resume {folder.path}", highlight=False, soft_wrap=True, markup=False
        )
    if report:
        page = write_report(folder.path, experiment, result, text=loaded.content.text, config=loaded.raw)
        console.print(f"report: {page.resolve()}", highlight=False, soft_wrap=True, markup=False)
    if live is not None and not result.interrupted:
        console.print(
            f"the viewer stays open at {live.address} until Ctrl-C", highlight=False, soft_wrap=True, markup=False
        )
        live.wait()
    return result


def _open_viewer(experiment: AbstractExperiment) -> Any:
    """Open the registered display "live" of diffloom-viewer."""
    from diffloom.interfaces import InputError
    from diffloom_fitting import DISPLAYS

    if "live" not in DISPLAYS.names():
        raise InputError('run --view: the viewer is not installed; pip install "diffloom[viewer]"')
    live = DISPLAYS.get("live")(experiment)
    click.echo(f"viewer: {live.address}")
    return live


@click.command()
@add_experiment_options
@click.option("--out", type=click.Path(), help="Folder for the run (default: runs/demo).")
def demo(options: ExperimentOptions, out: str | None) -> None:
    """Find a jelly ball's stiffness, friction and speed from a bundled clip, and write a report."""
    from importlib.resources import as_file, files

    from diffloom.cli import keep_freed_memory, pause_garbage_collection

    keep_freed_memory()
    with pause_garbage_collection():
        from diffloom_experiments import build_experiment
        from diffloom_experiments.run_folder import RunFolder

    with as_file(files("diffloom_studio").joinpath("demo")) as folder:
        loaded = options.load(str(folder / "demo.toml"))
        experiment = build_experiment(loaded)
        place = Path(out) if out is not None else RunFolder.free_path(Path("runs"), "demo")
        carry_out(RunFolder.create(place, loaded), experiment)
