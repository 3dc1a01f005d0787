"""Command `diffloom view`: guess, fit and truth in 3D."""

from __future__ import annotations

import click

from diffloom_studio.dispatch import dispatch_by_kind


@click.command()
@dispatch_by_kind("place")
@click.argument("place", type=click.Path(exists=True))
@click.option("--port", default=8080, show_default=True, help="Port of the page; the next free one if it is taken.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to serve; by default this machine alone.")
@click.option(
    "--frames", default=61, show_default=True, type=click.IntRange(2), help="Number of frames, evenly over the time."
)
@click.option("--rerun", default=None, metavar="FILE.rrd", help="Write a recording for rerun instead of a page.")
def view(place: str, port: int, host: str, frames: int, rerun: str | None) -> None:
    """Look at PLACE, a run folder or an experiment file, in 3D.

    Opens a page with start, fit and truth over time, the cameras with their frames, contact forces, strain and stress,
    and the unknowns as sliders that simulate anew.
    """
    from diffloom_studio.playback import load_playback

    playback = load_playback(place)
    if rerun is not None:
        from diffloom_viewer.recording import record

        click.echo(f"wrote {record(playback, rerun, frames)}")
        return
    from diffloom_viewer.window import ViewerWindow

    window = ViewerWindow(playback, host=host, port=port, frames=frames)
    click.echo(f"open {window.address} in a browser; stop with Ctrl-C")
    window.wait()
