"""`diffloom check-gradient`: is the gradient of this very experiment right?"""

from __future__ import annotations

import click

from diffloom_fitting.commands.options import Options, experiment_options


@click.command(name="check-gradient")
@click.argument("file", type=click.Path())
@experiment_options
@click.option("--step", type=float, help="Step of the differences, in the searched space.")
@click.option("--tolerance", type=float, help="Largest relative error that passes.")
@click.option("--entries", type=int, default=12, show_default=True, help="Unknowns or directions to check.")
def check_gradient(
    file: str, options: Options, step: float | None, tolerance: float | None, entries: int,
) -> None:  # fmt: skip
    """Compare the gradient of FILE's loss at its start with finite differences; exit code 1 when they disagree."""
    from rich.console import Console
    from rich.table import Table

    from diffloom_fitting import gradient_check
    from diffloom_fitting.files import build_experiment

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
