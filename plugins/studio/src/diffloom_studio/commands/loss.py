"""Commands `diffloom check-gradient` and `diffloom landscape`: the loss of an experiment and its gradient."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.dispatch import (
    EngineOptions,
    ExperimentOptions,
    add_engine_options,
    add_experiment_options,
    dispatch_by_kind,
)


@click.command(name="check-gradient")
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@add_experiment_options
@click.option("--step", type=float, help="Step of the differences, in the space of the search.")
@click.option("--tolerance", type=float, help="Largest relative error that passes.")
@click.option("--entries", type=int, default=12, show_default=True, help="Number of unknowns or directions to check.")
@click.option(
    "--wide", type=float, metavar="WIDTH",
    help="Compare with differences over +-WIDTH of every value, such as 0.02: is the gradient useful?",
)  # fmt: skip
def check_gradient(
    file: str, options: ExperimentOptions, step: float | None, tolerance: float | None, entries: int,
    wide: float | None,
) -> None:  # fmt: skip
    """Compare the gradient of FILE's loss at its start with finite differences; exit code 1 when they disagree."""
    if wide is not None:
        if not 0.0 < wide < 1.0:
            raise click.BadParameter(
                f"got {wide:g}; expected a part of each value between 0 and 1, such as 0.02", param_hint="--wide"
            )
        _check_wide(file, options, wide, entries)
        return
    from rich.console import Console
    from rich.table import Table

    from diffloom_experiments.kinds import build_any
    from diffloom_fitting import gradient_check

    experiment = build_any(options.load(file))
    found = gradient_check.check_gradient(
        experiment.objective(), experiment.start(), tolerance=tolerance, step=step, entries=entries,
        seed=experiment.seed,
    )  # fmt: skip
    table = Table(header_style="bold")
    for name in ("unknown", "adjoint", "differences", "error", "roughness"):
        table.add_column(name, justify="left" if name == "unknown" else "right")
    for row in found.rows:
        numbers = (f"{row.adjoint:.8e}", f"{row.difference:.8e}", f"{row.error:.1e}", f"{row.roughness:.1e}")
        table.add_row(row.label, *numbers)
    console = Console()
    console.print(table)
    console.print("error: |adjoint - differences| / |gradient|; roughness: difference between two step sizes")
    console.print(
        f"{'passed' if found.passed else 'FAILED'}: worst error {found.worst:.1e}, allowed {found.tolerance:.0e}"
    )
    if not found.passed:
        console.print(gradient_check.advise_on_gradient(None, found))
        raise SystemExit(1)


def _check_wide(file: str, options: ExperimentOptions, width: float, entries: int) -> None:
    """Compare the gradient with differences over wide steps, and print a table."""
    from rich.console import Console
    from rich.table import Table

    from diffloom_experiments.kinds import build_any
    from diffloom_fitting import check_wide_gradient
    from diffloom_fitting.gradient_check import advise_on_gradient
    from diffloom_testing.wide_differences import COSINE, RATIO

    experiment = build_any(options.load(file))
    found = check_wide_gradient(experiment.objective(), experiment.start(), width=width, entries=entries)
    table = Table(header_style="bold")
    for name in ("unknown", "adjoint", "differences"):
        table.add_column(name, justify="left" if name == "unknown" else "right")
    for row in zip(found.names, found.adjoint, found.differences, strict=True):
        table.add_row(row[0], f"{row[1]:.6e}", f"{row[2]:.6e}")
    console = Console()
    console.print(table)
    console.print("change of the loss per relative change of an unknown")
    console.print(
        f"{'passed' if found.agrees() else 'FAILED'}: {found}; expected a cosine of {COSINE:g} or more and a ratio "
        f"within {RATIO:g}"
    )
    if not found.agrees():
        console.print(advise_on_gradient(experiment))
        raise SystemExit(1)


@click.command()
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@add_experiment_options
@click.option(
    "--over",
    required=True,
    multiple=True,
    metavar="NAME=LOW:HIGH:COUNT",
    help="Unknown and its grid; once or twice.",
)
@click.option("--log", "spaced", is_flag=True, help="Space the grid by equal factors.")
@click.option("--profile", "profiled", is_flag=True, help="Fit FILE, then the other unknowns again at each point.")
@click.option("--out", type=click.Path(), help="Folder (default: landscapes/<file's name>).")
@add_engine_options
def landscape(
    file: str, options: ExperimentOptions, over: tuple[str, ...], spaced: bool, profiled: bool, out: str | None,
    workers: EngineOptions,
) -> None:  # fmt: skip
    """Evaluate the loss of FILE on a grid, the other unknowns at their true values (or starts), and plot it.

    With --profile the other unknowns are fitted again at each point: the profile likelihood, with its 95 % region.
    """
    from rich.progress import track

    from diffloom_experiments.kinds import build_any
    from diffloom_fitting.files import explain_errors
    from diffloom_fitting.landscape import Axis, evaluate_grid
    from diffloom_studio.report.charts import write_landscape

    if len(over) > 2:
        raise click.UsageError(f"--over: got {len(over)} parameters; expected one or two")
    if profiled and not workers.alone:
        raise click.UsageError("--profile fits from point to point, in this process; leave out --engine and --jobs")
    axes = [Axis.parse(text, spaced) for text in over]
    loaded = options.load(file)
    experiment = build_any(loaded)
    level = None
    if profiled:
        from diffloom_fitting import run_fit
        from diffloom_fitting.landscape import profile

        judged = profile(experiment, run_fit(experiment), axes, lambda points: track(points, "fitting", transient=True))
        found, level, between = judged.grid, judged.level, judged.interval()
        if between is not None:
            click.echo(f"95 % of {axes[0].name}: {between[0]:.6g} to {between[1]:.6g}")
    elif not workers.alone:
        from diffloom_scale import SentExperiment, evaluate_grid_on

        def report(done: int, of: int) -> None:
            click.echo(f"{done} of {of} points")

        found = evaluate_grid_on(workers.start(), SentExperiment.of(loaded), experiment, axes, report)
    else:
        found = evaluate_grid(experiment, axes, lambda points: track(points, "evaluating", transient=True))
    folder = Path(out) if out is not None else Path("landscapes") / Path(file).stem
    with explain_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    plot, data = write_landscape(folder, experiment, found, level)
    best = ", ".join(f"{axis.name} = {value:g}" for axis, value in zip(found.axes, found.lowest, strict=True))
    minima = found.minima()
    click.echo(f"lowest loss {found.least:.4g} at {best}; local minima on the grid: {minima}")
    click.echo(f"plot: {plot}\ndata: {data}")
