"""`diffloom run`: fit, show, keep, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from diffloom_fitting.commands.options import Options, experiment_options

if TYPE_CHECKING:
    from diffloom_fitting.experiment import Experiment
    from diffloom_fitting.result import Result
    from diffloom_fitting.run_folder import RunFolder


#: What a run writes, and --overwrite takes away.
RUN_FILES = (
    "config.json", "versions.json", "history.jsonl", "checkpoint.pt", "result.json", "report.html", "loss.svg",
    "parameters.svg", "video*.mp4", "strip*.png", "history.csv",
)  # fmt: skip
COLOURS = {"green": "green", "amber": "yellow", "red": "red"}


@click.command()
@click.argument("file", required=False, type=click.Path())
@experiment_options
@click.option("--out", type=click.Path(), help="Folder for the run (default: runs/<file's name>).")
@click.option("--resume", type=click.Path(), metavar="FOLDER", help="Go on with an interrupted run.")
@click.option("--overwrite", is_flag=True, help="Start anew in a folder that holds a run.")
@click.option("--check/--no-check", default=True, help="Check the gradient against finite differences first.")
@click.option("--report/--no-report", default=True, help="Write videos, plots and the report.")
@click.option("--log", "logs", multiple=True, metavar="NAME", help="Also tell a logger: csv, tensorboard or mlflow.")
def run(
    file: str | None, options: Options, out: str | None, resume: str | None, overwrite: bool, check: bool, report: bool,
    logs: tuple[str, ...],
) -> None:  # fmt: skip
    """Fit the unknowns of the experiment FILE to its video.

    Shows the fit as it goes and writes a folder with the result, videos, plots and a report. Ctrl-C keeps what was
    found; --resume FOLDER goes on.
    """
    from diffloom_fitting.run_folder import RunFolder

    if file is None and resume is None:
        raise click.UsageError("give an experiment FILE, or --resume FOLDER")
    if file is not None and resume is not None:
        raise click.UsageError(
            f"--resume goes on with the experiment that {resume!r} holds; leave out {file!r}, or start it anew with "
            f"--out {resume} --overwrite instead of --resume"
        )
    if resume is not None:
        if options != Options() or out or overwrite:
            raise click.UsageError("--resume goes on with the very same experiment; other options cannot be given")
        folder, experiment = RunFolder(Path(resume)), None
    else:
        assert file is not None
        loaded = options.load(file)
        # Built before a folder is made, so that a bad file leaves nothing behind.
        from diffloom_fitting.files import build_experiment

        experiment = build_experiment(loaded)
        place = Path(out) if out is not None else RunFolder.free_path(Path("runs"), Path(file).stem)
        clear_run(place, overwrite)
        folder = RunFolder.create(place, loaded)
    result = carry_out(folder, experiment, resumed=resume is not None, check=check, report=report, logs=logs)
    if result.interrupted:
        raise SystemExit(130)


def clear_run(place: Path, overwrite: bool) -> None:
    """Take away the files of a run in ``place``: one that failed before its first iteration, or any with overwrite."""
    begun = (place / "checkpoint.pt").exists() or (place / "result.json").exists()
    if not (place / "config.json").exists() or (begun and not overwrite):
        return
    for pattern in RUN_FILES:
        for path in place.glob(pattern):
            path.unlink()


def carry_out(
    folder: RunFolder, experiment: Experiment | None = None, *, resumed: bool = False, check: bool = True,
    report: bool = True, logs: Sequence[str] = (),
) -> Result:  # fmt: skip
    """Fit the experiment of ``folder``, built anew unless given, keep each iteration, and write the report. logs: names
    of loggers that are told too."""
    from rich.console import Console

    from diffloom_fitting.console import result_table, watcher
    from diffloom_fitting.console.tables import result_lines, verdict_lines
    from diffloom_fitting.files import build_experiment
    from diffloom_fitting.fits import run_fit
    from diffloom_fitting.loggers import logged
    from diffloom_fitting.loop import FitState, Record
    from diffloom_fitting.report import write_report
    from diffloom_fitting.report.results_file import write_result
    from diffloom_fitting.run_folder.versions import use_threads_of

    loaded = folder.config()
    if resumed:
        use_threads_of(folder.path)
    if experiment is None:
        experiment = build_experiment(loaded)
    state, history = folder.resume() if resumed else (None, [])
    console = Console()
    count, views = experiment.layout.size, experiment.scene.viewpoints
    seen = " and ".join(
        f"{len(target)} frames of {views[label].size[1]}x{views[label].size[0]} pixels{f' ({label})' if label else ''}"
        for label, target in experiment.target.by_view().items()
    )
    what = f"{count} unknown number{'s' if count > 1 else ''}, {seen}"
    console.print(f"{experiment.title}: {what}", highlight=False, soft_wrap=True, markup=False)
    with watcher(experiment, console) as shown, logged(logs, folder.path, experiment.title, loaded.raw) as told:

        def observe(here: FitState, record: Record) -> None:
            folder.keep(here, record)
            shown.show(here, record)
            told.record(record)

        result = run_fit(experiment, state=state, history=history, observer=observe, check=check and not resumed)
        told.end(result)
    for line in verdict_lines(result):
        console.print(line, highlight=False, soft_wrap=True, style=COLOURS[result.verdict.level])
    console.print(result_table(result))
    for line in result_lines(result):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    write_result(folder.path / "result.json", result)
    if result.interrupted:
        console.print(f"go on with: diffloom run --resume {folder.path}", highlight=False, soft_wrap=True, markup=False)
    if report:
        page = write_report(folder.path, experiment, result, text=loaded.content.text, config=loaded.raw)
        console.print(f"report: {page.resolve()}", highlight=False, soft_wrap=True, markup=False)
    return result
