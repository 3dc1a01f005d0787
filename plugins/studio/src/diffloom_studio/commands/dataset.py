"""`diffloom dataset`: many videos of one experiment, with the values behind them."""

from __future__ import annotations

from pathlib import Path

import click

from diffloom_studio.commands.options import Workers, engine_options


@click.command()
@click.argument("file", type=click.Path())
@click.option("--count", type=int, required=True, help="How many videos.")
@click.option("--out", type=click.Path(), required=True, help="The folder of the dataset.")
@click.option("--seed", default=0, show_default=True, help="The first video's seed; each has the next.")
@click.option("--shard", default=100, show_default=True, help="Videos in a tar file.")
@click.option("--format", "kind", default="mp4", show_default=True, help="mp4, or npz, which loses nothing.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value of the file.")
@click.option("--quick", is_flag=True, help="The file's own reduced version.")
@engine_options
def dataset(
    file: str, count: int, out: str, seed: int, shard: int, kind: str, settings: tuple[str, ...], quick: bool,
    workers: Workers,
) -> None:  # fmt: skip
    """Draw the values of FILE's [truth] anew COUNT times, simulate, render, and write videos and values in shards.

    What was made is kept, so that a dataset that was stopped goes on where it was. Video k depends on the file and on
    seed + k alone.
    """
    import time

    from diffloom_scale.datasets.making import Recipe, make_dataset

    recipe = Recipe(file, count, shard, seed, kind, settings, quick)
    began = time.perf_counter()
    made = 0

    def watch(there: int, new: int) -> None:
        nonlocal made
        made += new
        if new:
            rate = made / (time.perf_counter() - began)
            click.echo(f"{there} of {count} videos, {rate:.1f} videos/s, {(count - there) / rate:.0f} s left")
        elif there:
            click.echo(f"{there} of {count} videos are there already")

    about = make_dataset(recipe, Path(out), workers.start(), watch)
    seconds = time.perf_counter() - began
    if made:
        click.echo(f"made {made} videos in {seconds:.1f} s, {made / seconds:.1f} videos/s")
    click.echo(f"dataset: {out}, {about['bytes'] / 2**20:.1f} MiB in {len(about['shards'])} shards")
