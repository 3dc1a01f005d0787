"""`diffloom check-gradient`: is the gradient of this very experiment right?"""

from __future__ import annotations

import click

from diffloom_studio.commands.options import Options, experiment_options


@click.command(name="check-gradient")
@click.argument("file", type=click.Path())
@experiment_options
@click.option("--step", type=float, help="Step of the differences, in the searched space.")
@click.option("--tolerance", type=float, help="Largest relative error that passes.")
@click.option("--entries", type=int, default=12, show_default=True, help="Unknowns or directions to check.")
@click.option(
    "--wide", type=float, metavar="WIDTH",
    help="Compare with differences over +-WIDTH of every value instead, such as 0.02: is the gradient of use?",
)  # fmt: skip
def check_gradient(
    file: str, options: Options, step: float | None, tolerance: float | None, entries: int, wide: float | None,
) -> None:  # fmt: skip
    """Compare the gradient of FILE's loss at its start with finite differences; exit code 1 when they disagree."""
    if wide is not None:
        if not 0.0 < wide < 1.0:
            raise click.BadParameter(f"got {wide:g}; expected a part of each value, such as 0.02", param_hint="--wide")
        _check_wide(file, options, wide, entries)
        return
    from rich.console import Console
    from rich.table import Table

    from diffloom_experiments import build_experiment
    from diffloom_fitting import gradient_check

    experiment = build_experiment(options.load(file))
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
    console.print("error: |adjoint - differences| / |gradient|; roughness: how far two step sizes are apart")
    console.print(
        f"{'passed' if found.passed else 'FAILED'}: worst error {found.worst:.1e}, allowed {found.tolerance:.0e}"
    )
    if not found.passed:
        raise SystemExit(1)


def _check_wide(file: str, options: Options, width: float, entries: int) -> None:
    from rich.console import Console
    from rich.table import Table

    from diffloom_experiments import build_experiment
    from diffloom_fitting.wide_check import ADVICE, check_wide
    from diffloom_testing.wide import COSINE, RATIO

    experiment = build_experiment(options.load(file))
    found = check_wide(experiment.objective(), experiment.start(), width=width, entries=entries)
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
        console.print(ADVICE)
        raise SystemExit(1)
