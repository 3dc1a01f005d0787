"""`diffloom new clip.mp4`: from a video to an experiment that runs."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("clip", type=click.Path())
@click.option("--out", type=click.Path(), help="The experiment file (default: the clip's name with .toml).")
@click.option("--overwrite", is_flag=True, help="Replace a file that is there.")
def new(clip: str, out: str | None, overwrite: bool) -> None:
    """Look at the video CLIP, say what it shows, and write an experiment for it with a contact sheet.

    It proposes a background, masks, a scale and a model (a pendulum or a throw); the file is commented, runs as it is,
    and is meant to be changed.
    """
    from diffloom_video.new_clip.contact_sheet import write_contact_sheet
    from diffloom_video.new_clip.proposal import look_at
    from diffloom_video.new_clip.writing import write_experiment

    place = Path(out) if out is not None else Path(clip).with_suffix(".toml")
    sheet = place.with_name(f"{place.stem}-contact-sheet.png")
    for there in (place, sheet):
        if there.exists() and not overwrite:
            raise click.UsageError(f"{there} is there already; give --out another.toml, or --overwrite")
    seen = look_at(Path(clip))
    for sentence in seen.sentences:
        click.echo(sentence)
    write_contact_sheet(sheet, seen.video)
    write_experiment(seen, Path(clip), place)
    click.echo(f"contact sheet: {sheet}  (look at it first: are the rings around the object?)")
    click.echo(f"experiment: {place}  (run it: diffloom run {place})")
