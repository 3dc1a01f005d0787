"""`diffloom export`: what moved, for other programs."""

from __future__ import annotations

import click


@click.command()
@click.argument("place", type=click.Path(exists=True))
@click.argument("out", type=click.Path())
@click.option("--body", default=None, help="start, fit or truth (default: the fit, where there is one).")
@click.option(
    "--format", "kind", default=None, metavar="NAME", help="Where OUT does not end so, such as ply for a folder."
)
@click.option("--frames", default=61, show_default=True, type=click.IntRange(2), help="How many, evenly over the time.")
@click.option("--view", default=None, metavar="LABEL", help="The camera of a video (default: the first).")
def export(place: str, out: str, body: str | None, kind: str | None, frames: int, view: str | None) -> None:
    """Write what moved in PLACE, a run folder or an experiment file, to OUT.

    By its ending: glb, usd, usda, usdc (animated meshes), ply, obj (a folder of frames), csv, parquet (trajectories),
    mp4, gif (what a camera sees).
    """
    from diffloom_studio.exports import export as write
    from diffloom_studio.playback import load_playback

    playback = load_playback(place)
    chosen = body or ("fit" if "fit" in playback.values else "start")
    written = write(playback, out, chosen, kind=kind, frames=frames, view=view)
    click.echo(f"wrote {written}")
