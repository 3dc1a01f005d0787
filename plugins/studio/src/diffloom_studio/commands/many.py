"""Commands `diffloom sweep` and `diffloom dataset`: many runs of one experiment."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from diffloom_studio.dispatch import EngineOptions, add_engine_options, dispatch_by_kind


@dataclass(frozen=True)
class SweepSection:
    """Section of the sweep's table: a heading, the folder of its finished runs, and its changes."""

    label: str
    folder: str
    seeds: range
    renderer: str | None = None
    target: str | None = None
    settings: tuple[str, ...] = ()
    baseline: str | None = None


@click.command()
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@click.option("--seeds", default="0:10", show_default=True, metavar="FIRST:END", help="Range of seeds, without END.")
@click.option(
    "--pair", "pairs", multiple=True, metavar="FIT[:TARGET]",
    help="Renderer of the fit and renderer of the target; each pair makes a section.",
)  # fmt: skip
@click.option(
    "--also", "others", multiple=True, metavar="LABEL:KEY=VALUE",
    help="Add a section with a value changed, such as '3D states:loss=state'; changes with one LABEL are combined.",
)  # fmt: skip
@click.option(
    "--baseline", "baselines", multiple=True, metavar="NAME[:FIRST:END]",
    help="Add a section to compare with, for these seeds: state (true states instead of images), cma (a search "
    "without gradients, with as many simulations) or differences (instead of the adjoint).",
)  # fmt: skip
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value of the file.")
@click.option("--quick", is_flag=True, help="Use the file's reduced version.")
@click.option("--finished", is_flag=True, help="Run no fit; write the table of the finished ones.")
@add_engine_options
@click.option("--note", default="", help="Sentence to add to the table.")
@click.option("--work", type=click.Path(), help="Folder of finished runs (default: runs/sweeps/<file's name>).")
@click.option("--out", type=click.Path(), help="Path of the table (default: results/<file's name>.md beside FILE).")
def sweep(
    file: str, seeds: str, pairs: tuple[str, ...], others: tuple[str, ...], baselines: tuple[str, ...],
    settings: tuple[str, ...], quick: bool, finished: bool, workers: EngineOptions, note: str, work: str | None,
    out: str | None,
) -> None:  # fmt: skip
    """Fit FILE with many seeds, and write a table of errors, times and memory, with the figures beside it as JSON.

    Finished runs are kept, so that an interrupted sweep continues.
    """
    from diffloom_experiments.origin import write_origin
    from diffloom_fitting.files import explain_errors, write_text
    from diffloom_scale.sweeps import Case, collect_outcomes, format_sweep_table, locate_case, make_sweep_data

    engine = workers.start()
    stem = Path(file).stem
    store = Path(work) if work is not None else Path("runs") / "sweeps" / stem
    table = Path(out) if out is not None else Path(file).parent / "results" / f"{stem}.md"
    sections = []
    spent: dict[int, int] = {}
    for s in _make_sections(_parse_seeds(seeds), pairs, others, baselines):
        cases = [
            Case(file, seed, s.renderer, s.target, (*settings, *s.settings), quick, s.baseline, spent.get(seed))
            for seed in s.seeds
        ]
        if finished:
            cases = [case for case in cases if locate_case(case, str(store / s.folder))[0].exists()]
        found: dict[int, dict[str, Any]] = {}
        for number, outcome in collect_outcomes(cases, str(store / s.folder), engine):
            found[number] = outcome
            click.echo(_format_line(s.label, outcome, len(found), len(cases)))
        outcomes = [found[number] for number in sorted(found)]
        if outcomes:
            sections.append((s.label, outcomes))
        # A search without gradients gets as many simulations as the fits of the first section.
        spent = spent or {o["seed"]: o["evaluations"] for o in outcomes}
    if not sections:
        raise click.ClickException(f"no fit is finished in {store}; leave out --finished to run them")
    with explain_errors(table):
        table.parent.mkdir(parents=True, exist_ok=True)
    write_text(table, format_sweep_table(sections[0][1][0]["title"], sections, note))
    records = ",\n".join(json.dumps(record) for record in make_sweep_data(sections))
    write_text(table.with_suffix(".json"), f"[\n{records}\n]\n")
    write_origin(table, table.with_suffix(".json"))
    click.echo(f"table: {table}")


def _make_sections(
    seeds: range, pairs: Sequence[str], others: Sequence[str], baselines: Sequence[str]
) -> list[SweepSection]:
    """Return the sections of the table that the options ask for."""
    from diffloom_scale.sweeps import BASELINES

    found: list[SweepSection] = []
    for pair in pairs or (() if others else ("",)):
        fit, _, target = pair.partition(":")
        label = f"{fit} <- {target or fit}" if fit else "as in the file"
        found.append(SweepSection(label, pair.replace(":", "-") or "file", seeds, fit or None, target or None))
    changes: dict[str, list[str]] = {}
    for other in others:
        label, sign, setting = other.partition(":")
        if not sign or "=" not in setting:
            raise click.BadParameter(f"--also {other!r}: expected LABEL:KEY=VALUE, such as '3D states:loss=state'")
        changes.setdefault(label.strip(), []).append(setting.strip())
    for label, settings in changes.items():
        found.append(SweepSection(label, label.replace(" ", "-"), seeds, settings=tuple(settings)))
    for text in baselines:
        name, sign, span = text.partition(":")
        if name not in BASELINES:
            raise click.BadParameter(f"--baseline {text!r}: expected one of {', '.join(BASELINES)}")
        found.append(SweepSection(BASELINES[name], name, _parse_seeds(span) if sign else seeds, baseline=name))
    return found


def _parse_seeds(text: str) -> range:
    """Return the seeds of FIRST:END."""
    first, _, end = text.partition(":")
    try:
        found = range(int(first), int(end))
    except ValueError:
        raise click.BadParameter(f"got {text!r}; expected FIRST:END, such as 0:10") from None
    if not found:
        raise click.BadParameter(f"got {text!r}, which holds no seed; expected END above FIRST, such as 0:10")
    return found


def _format_line(label: str, outcome: dict[str, Any], done: int, count: int) -> str:
    """Return one finished run as a line."""
    errors = ", ".join(f"{e['name']} {e['error']:.1e}" for e in outcome["estimates"])
    return f"{label} seed {outcome['seed']}: {errors}  ({outcome['seconds']:.1f} s; {done} of {count})"


@click.command()
@dispatch_by_kind("file")
@click.argument("file", type=click.Path())
@click.option("--count", type=int, required=True, help="Number of videos.")
@click.option("--out", type=click.Path(), required=True, help="Folder of the dataset.")
@click.option("--seed", default=0, show_default=True, help="Seed of the first video; each video has the next.")
@click.option("--shard", default=100, show_default=True, help="Number of videos in a tar file.")
@click.option("--format", "kind", default="mp4", show_default=True, help="Format of videos: mp4, or npz (lossless).")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a value of the file.")
@click.option("--quick", is_flag=True, help="Use the file's reduced version.")
@add_engine_options
def dataset(
    file: str, count: int, out: str, seed: int, shard: int, kind: str, settings: tuple[str, ...], quick: bool,
    workers: EngineOptions,
) -> None:  # fmt: skip
    """Draw the values of FILE's [truth] at random COUNT times, simulate, render, and write videos and values in shards.

    Finished shards are kept, so that an interrupted dataset continues. Video k depends on the file and on seed + k
    alone.
    """
    import time

    from diffloom_scale.datasets import Recipe, make_dataset

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
            click.echo(f"{there} of {count} videos exist already")

    about = make_dataset(recipe, Path(out), workers.start(), watch)
    seconds = time.perf_counter() - began
    if made:
        click.echo(f"made {made} videos in {seconds:.1f} s, {made / seconds:.1f} videos/s")
    click.echo(f"dataset: {out}, {about['bytes'] / 2**20:.1f} MiB in {len(about['shards'])} shards")
