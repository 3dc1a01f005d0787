"""`diffloom demo`: a fit of a bundled clip, from nothing to a report."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--renderer", metavar="NAME", help="Draw with this renderer (default: softras).")
@click.option("--out", type=click.Path(), help="Folder for the run (default: runs/demo).")
@click.option("--quick", is_flag=True, help="Fewer frames and iterations.")
def demo(renderer: str | None, out: str | None, quick: bool) -> None:
    """Find a jelly ball's stiffness, friction and speed from a bundled clip, and write a report."""
    from importlib.resources import as_file, files

    from diffloom.cli import importing, keep_freed_memory

    keep_freed_memory()
    with importing():
        from diffloom_experiments import build_experiment
        from diffloom_experiments.run_folder import RunFolder
        from diffloom_studio.commands.options import Options
        from diffloom_studio.commands.run import carry_out

    with as_file(files("diffloom_fitting").joinpath("demo")) as folder:
        loaded = Options(quick=quick, renderer=renderer).load(str(folder / "demo.toml"))
        experiment = build_experiment(loaded)
        place = Path(out) if out is not None else RunFolder.free_path(Path("runs"), "demo")
        carry_out(RunFolder.create(place, loaded), experiment)
