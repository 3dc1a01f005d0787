"""`diffloom sheet`: a contact sheet of a scene."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--frames", type=click.IntRange(min=2), default=6, show_default=True, help="How many, evenly apart.")
@click.option("--columns", type=click.IntRange(min=1), default=3, show_default=True, help="How many side by side.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("sheet.png"), show_default=True)
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value of the file.")
def sheet(file: Path, frames: int, columns: int, out: Path, settings: tuple[str, ...]) -> None:
    """Draw frames of the scene of FILE, from its start to its end, in rows."""
    # Imported here, so that `diffloom --help` stays quick.
    import torch
    from PIL import Image

    from diffloom.interfaces import NoGradient
    from diffloom_experiments import build_scene, load_file

    scene = build_scene(load_file(file, settings=settings))
    times = torch.linspace(0.0, scene.dt * scene.steps, frames, dtype=torch.float64)
    image = scene.render({}, times, gradient=NoGradient()).image
    assert image is not None
    cells = list(image.bytes()[..., :3])
    cells += [torch.zeros_like(cells[0])] * (-len(cells) % columns)
    rows = [torch.cat(cells[first : first + columns], dim=1) for first in range(0, len(cells), columns)]
    Image.fromarray(torch.cat(rows).numpy()).save(out)
    click.echo(f"drew {frames} frames of {scene.dt * scene.steps:g} s into {out}")
