"""Command `diffloom measure`: from a clip to numbers with their ±, a verdict and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from diffloom.errors import InputError

if TYPE_CHECKING:
    from diffloom_video.facts import KnownFacts
    from diffloom_video.new_clip import Proposal

#: Diameters [m] beyond which an object is unlikely, so that a clip's speed is doubted.
SMALLEST, LARGEST = 0.004, 0.5


@click.command()
@click.argument("clip", type=click.Path())
@click.option("--what", metavar="THING", help="ball, box, pendulum, throw, bounces or slide (default: recognise it).")
@click.option(
    "--known",
    multiple=True,
    metavar="FACT",
    help="'diameter = 68.7 mm', 'sides = 100 50 80 mm', 'length = 0.5 m', 'fov = 38', 'rate = 240'.",
)
@click.option("--out", type=click.Path(), help="Folder for the run (default: runs/<clip's name>).")
@click.option("--overwrite", is_flag=True, help="Replace the run that the folder holds.")
@click.option("--report/--no-report", default=True, help="Write videos, plots and the report.")
def measure(
    clip: str, what: str | None, known: tuple[str, ...], out: str | None, overwrite: bool, report: bool
) -> None:
    """Look at the video CLIP, and find the numbers of its motion with their ±.

    Says what it sees and how sure it is, asks for lengths that the clip cannot tell, fits in stages, and judges the
    result. The folder holds the experiment file that was run, for editing, the contact sheet and the report.
    """
    from diffloom_experiments import load_file
    from diffloom_experiments.kinds import build_any
    from diffloom_experiments.run_folder import RunFolder
    from diffloom_studio.commands.run import carry_out
    from diffloom_video.facts import parse_facts
    from diffloom_video.new_clip import inspect_clip, write_contact_sheet, write_experiment

    place = Path(clip)
    folder = Path(out) if out is not None else RunFolder.free_path(Path("runs"), place.stem)
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise click.UsageError(f"{folder} holds a run; give --out another folder, or --overwrite")
    facts = parse_facts(what, known)
    seen = inspect_clip(place, facts)
    for sentence in seen.sentences:
        click.echo(sentence)
    folder.mkdir(parents=True, exist_ok=True)
    sheet, file = folder.with_name(f"{folder.name}-contact-sheet.png"), folder.with_name(f"{folder.name}.toml")
    write_contact_sheet(sheet, seen.part())
    click.echo(f"contact sheet: {sheet}  (are the rings around the object?)")
    if not seen.sure:
        click.echo(
            "not sure: no kind of motion that is known here describes this track, so nothing was fitted. If you know "
            "what it is, say it: --what pendulum, ball or box"
        )
        return
    check_facts(seen, facts)
    write_experiment(seen, place, file, facts)
    click.echo(f"experiment: {file}")
    loaded = load_file(str(file))
    experiment = build_any(loaded)
    carry_out(RunFolder.prepare(str(folder), place.stem, True, loaded), experiment, report=report)


@click.command()
@click.argument("clip", type=click.Path())
def audit(clip: str) -> None:
    """Judge whether the video CLIP obeys one physical law: a throw, bounces, a swing or a slide.

    The law is fitted with free gravity and scale. Says "consistent", or what contradicts it: a clock that runs unevenly
    ("g changes along the clip"), frames that are missing, energy that grows, or "no law of ours explains it".
    """
    from diffloom_video.auditing import audit_track
    from diffloom_video.new_clip import find_believed_frames, inspect_clip

    seen = inspect_clip(Path(clip))
    assert seen.video.tracks is not None
    tracks, times = seen.video.tracks.double().numpy(), seen.video.times.double().numpy()
    kept = find_believed_frames(tracks)
    for sentence in seen.sentences:
        click.echo(sentence)
    click.echo(str(audit_track(times[kept], tracks[kept, 0], tracks[kept, 1])))


def check_facts(seen: Proposal, facts: KnownFacts) -> None:
    """Ask for facts that a clip cannot tell.

    Args:
        seen: What the clip shows.
        facts: What the person said.

    Raises:
        InputError: A length is missing, or the clip was probably not recorded at the speed at which it is played.
    """
    facts.check(seen.kind)
    ruled = facts.size or facts.length is not None or facts.rate is not None
    if seen.across is None or ruled:
        return
    told = f"with gravity as the ruler the object is {1e3 * seen.across:.0f} mm across"
    if not SMALLEST < seen.across < LARGEST:
        raise InputError(
            f"{told}, if the clip is played as fast as it was recorded. If it is slow motion, give the frames per "
            'second at which it was recorded: --known "rate = 240"; if it is not, say so with the rate of the file'
        )
    click.echo(f"{told}, if the clip is played as fast as it was recorded")
