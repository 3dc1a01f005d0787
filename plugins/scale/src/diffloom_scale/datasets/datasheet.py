"""What a dataset holds, in words and figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


def datasheet(about: Mapping[str, Any], samples: Sequence[Mapping[str, Any]]) -> str:
    """A page: what was made, how, and the distribution of every value that was drawn."""
    failed = sum(sample["failed"] is not None for sample in samples)
    height, width = about["size"]
    lines = [
        f"# {about['title']}: dataset",
        "",
        f"{about['count']} videos of {about['frames']} frames, {width} x {height}, "
        f"{about['bytes'] / 2**20:.1f} MiB in {len(about['shards'])} shards.",
        f"{failed} of them could not be simulated; they have no video, and their JSON says why." if failed else "",
        "",
        f"* Made by `{about['command']}` from {about['file']}, with the seeds {about['seed']} to "
        f"{about['seed'] + about['count'] - 1}: sample k depends on the file, the library versions and seed "
        f"{about['seed']} + k alone, not on shards, workers or the order of work.",
        "* Each shard is a tar file in the layout of WebDataset: `<index>.json` with the true values, and "
        f"`<index>.{about['format']}`.",
        "* Nothing was recorded: all images are synthetic, of no person and no place.",
        "",
        "## Values",
        "",
        "| value | unit | drawn | mean | deviation | least | quarter | median | three quarters | most |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in about["units"]:
        numbers = np.concatenate([np.ravel(sample["values"][name]) for sample in samples])
        parts = np.quantile(numbers, [0.0, 0.25, 0.5, 0.75, 1.0])
        figures = [numbers.mean(), numbers.std(), *parts]
        drawn = f"`{json.dumps(about['draws'].get(name))}`"
        lines.append(f"| {name} | {about['units'][name]} | {drawn} | " + " | ".join(f"{n:.4g}" for n in figures) + " |")
    lines += ["", "## Made with", "", *(f"* {name} {number}" for name, number in about["versions"].items())]
    return "\n".join(lines) + "\n"
