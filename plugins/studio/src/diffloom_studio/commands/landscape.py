"""`diffloom landscape`: the loss over one or two parameters."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.commands.options import Options, Workers, engine_options, experiment_options


@click.command()
@click.argument("file", type=click.Path())
@experiment_options
@click.option(
    "--over",
    required=True,
    multiple=True,
    metavar="NAME=LOW:HIGH:COUNT",
    help="An unknown and its grid; once or twice.",
)
@click.option("--log", "spaced", is_flag=True, help="Space the grid by equal factors.")
@click.option("--profile", "profiled", is_flag=True, help="Fit FILE, then the other unknowns anew at each point.")
@click.option("--out", type=click.Path(), help="Folder (default: landscapes/<file's name>).")
@engine_options
def landscape(
    file: str, options: Options, over: tuple[str, ...], spaced: bool, profiled: bool, out: str | None,
    workers: Workers,
) -> None:  # fmt: skip
    """Evaluate the loss of FILE on a grid, the other unknowns at their true values (or starts), and plot it.

    With --profile the other unknowns are fitted anew at each point: the profile likelihood, with its 95 % region.
    """
    from rich.progress import track

    from diffloom_experiments import build_experiment
    from diffloom_fitting.file_writing import explained
    from diffloom_fitting.landscape import Axis, evaluate_grid
    from diffloom_studio.report.landscape_plot import write_landscape

    if len(over) > 2:
        raise click.UsageError(f"--over: got {len(over)} parameters; expected one or two")
    if profiled and not workers.alone:
        raise click.UsageError("--profile fits from point to point, in this process; leave out --engine and --jobs")
    axes = [Axis.parse(text, spaced) for text in over]
    loaded = options.load(file)
    experiment = build_experiment(loaded)
    level = None
    if profiled:
        from diffloom_fitting.fits import run_fit
        from diffloom_fitting.trust.profile import profile

        judged = profile(experiment, run_fit(experiment), axes, lambda points: track(points, "fitting", transient=True))
        found, level, between = judged.grid, judged.level, judged.interval()
        if between is not None:
            click.echo(f"95 % of {axes[0].name}: {between[0]:.6g} to {between[1]:.6g}")
    elif not workers.alone:
        from diffloom_scale.distributed import Sent, grid_on

        def told(done: int, of: int) -> None:
            click.echo(f"{done} of {of} points")

        found = grid_on(workers.start(), Sent.of(loaded), experiment, axes, told)
    else:
        found = evaluate_grid(experiment, axes, lambda points: track(points, "evaluating", transient=True))
    folder = Path(out) if out is not None else Path("landscapes") / Path(file).stem
    with explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    plot, data = write_landscape(folder, experiment, found, level)
    best = ", ".join(f"{axis.name} = {value:g}" for axis, value in zip(found.axes, found.lowest, strict=True))
    minima = found.minima()
    click.echo(f"lowest loss {found.least:.4g} at {best}; local minima on the grid: {minima}")
    click.echo(f"plot: {plot}\ndata: {data}")
