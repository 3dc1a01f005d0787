"""Fits of the clips of made_clips.py as a person would make them, and a table of what they found.

    python experiments/made_study.py --folder clips              # the 12 clips for development
    python experiments/made_study.py --folder unseen --unseen    # 12 more, for one run with settings frozen

Each clip is drawn, `diffloom new` writes its file from facts that a person would know (field of view, size of the
object), and `diffloom run` fits it unchanged. A fit that ended before is not repeated. The tables in
experiments/results are written with the commit, the command and the date.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from made_clips import DEVELOPMENT, UNSEEN, make_clips

from diffloom_experiments.origin import write_origin

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results"
#: Radius in metres that the file of a throw draws where gravity is the ruler; its factor is sought.
DRAWN_RADIUS = 0.03
#: File of a run's folder with the processor time of its commands [s].
SPENT = "processor-seconds.txt"
FAR = 2.0


@dataclass(frozen=True)
class Row:
    """One number of one clip, beside the truth; deviation is None where the fit withheld it.

    ``seconds`` is the processor time of writing the file and of the fit.
    """

    clip: str
    name: str
    truth: float
    found: float
    deviation: float | None
    verdict: str
    reason: str
    seconds: float

    @property
    def error(self) -> float:
        """Relative error."""
        return self.found / self.truth - 1.0

    @property
    def right(self) -> bool:
        """True if the truth lies within two deviations, or within 2 % where none is given."""
        apart = abs(self.found - self.truth)
        return apart <= FAR * self.deviation if self.deviation is not None else abs(self.error) <= 0.02


def fit_clip(folder: Path, name: str, known: dict[str, Any]) -> Path:
    """Write the file of a clip and run it; the run's folder. A fit that failed leaves a file FAILED there."""
    file, run = folder / f"{name}.toml", folder / "runs" / name
    if (run / "result.json").exists() or (run / "FAILED").exists():
        return run
    options = [text for key, value in known.items() for text in (f"--{key}", str(value))]
    commands = [
        ["new", str(folder / f"{name}.mp4"), "--out", str(file), "--overwrite", *options],
        ["run", str(file), "--no-report", "--no-check", "--out", str(run), "--overwrite"],
    ]
    before = _spent()
    for command in commands:
        done = subprocess.run(
            [Path(sys.executable).with_name("diffloom"), *command], capture_output=True, text=True, check=False
        )
        if done.returncode:
            run.mkdir(parents=True, exist_ok=True)
            (run / "FAILED").write_text(f"{' '.join(command)}\n{done.stdout}\n{done.stderr}\n", encoding="utf-8")
            return run
    (run / SPENT).write_text(f"{_spent() - before:.1f}\n", encoding="utf-8")
    return run


def _spent() -> float:
    """Return the processor time of commands that ended [s]."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def rows_of(run: Path, name: str, told: dict[str, Any]) -> list[Row]:
    """The numbers that are asked for, of one clip."""
    asked = [(key, told["truth"][key]) for key in told["asked"]]
    if (run / "FAILED").exists():
        last = (run / "FAILED").read_text(encoding="utf-8").strip().splitlines()[-1]
        return [Row(name, key, truth, float("nan"), None, "failed", last, 0.0) for key, truth in asked]
    result = json.loads((run / "result.json").read_text(encoding="utf-8"))
    verdict, spent = result["verdict"], run / SPENT
    seconds = float(spent.read_text(encoding="utf-8")) if spent.exists() else 0.0
    parts = [verdict[part] for part, level in verdict["levels"].items() if level != "green"]
    found = []
    for key, truth in asked:
        own = "appearance.size" if key == "radius" else key
        unit = DRAWN_RADIUS if key == "radius" else 1.0
        one = next(each for each in result["estimates"] if each["name"] == own)
        sure = one["deviation"]
        deviation = None if sure is None else unit * sure
        found.append(Row(name, key, truth, unit * one["found"], deviation, verdict["level"], "; ".join(parts), seconds))
    return found


def summary(rows: list[Row]) -> list[str]:
    """Counts of clips; a clip is right where all its numbers are."""
    clips = {row.clip: [each for each in rows if each.clip == row.clip] for row in rows}
    right = {name: all(row.right for row in each) for name, each in clips.items()}
    level = {name: each[0].verdict for name, each in clips.items()}
    count = len(clips)
    spent = sorted(each[0].seconds for each in clips.values() if each[0].seconds)
    return [
        f"- within {FAR:g} deviations: {sum(right[name] and level[name] != 'red' for name in clips)} of {count}",
        f"- green: {sum(each == 'green' for each in level.values())}; amber: "
        f"{sum(each == 'amber' for each in level.values())}; red: {sum(each == 'red' for each in level.values())}; "
        f"failed: {sum(each == 'failed' for each in level.values())}",
        f"- green and wrong: {sum(level[name] == 'green' and not right[name] for name in clips)}",
        f"- red, ± withheld, and right within 2 %: {sum(level[name] == 'red' and right[name] for name in clips)}",
        *([f"- processor time of a clip: {spent[0]:.0f} to {spent[-1]:.0f} s"] if spent else []),
    ]


def table(rows: list[Row]) -> list[str]:
    """A line for each number."""
    lines = ["| clip | number | truth | found | error | deviations | verdict |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        sure = "" if row.deviation is None else f" ± {row.deviation:.2g}"
        far = "" if row.deviation is None else f"{abs(row.found - row.truth) / row.deviation:.1f}"
        told = row.verdict if row.verdict == "green" else f"{row.verdict}: {row.reason}"
        numbers = f"{row.truth:.5g} | {row.found:.5g}{sure} | {100.0 * row.error:+.2f} % | {far}"
        lines.append(f"| {row.clip} | {row.name} | {numbers} | {told} |")
    return lines


def main() -> None:
    """Draw, fit and tabulate."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where clips and runs are written")
    parser.add_argument("--unseen", action="store_true", help="the clips for one run at the end")
    parser.add_argument("--only", default="", help="fit clips whose name contains this, and write no table")
    given = parser.parse_args()
    chosen = UNSEEN if given.unseen else DEVELOPMENT
    make_clips(given.folder, chosen)
    told = json.loads((given.folder / "truth.json").read_text(encoding="utf-8"))
    rows: list[Row] = []
    for name, each in told.items():
        if given.only in name:
            new = rows_of(fit_clip(given.folder, name, each["known"]), name, each)
            print("\n".join(table(new)[2:]), flush=True)
            rows += new
    print("\n".join(summary(rows)))
    if given.only:
        return
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    name = f"made-clips-{'unseen' if given.unseen else 'development'}"
    command = f"python experiments/made_study.py --folder FOLDER{' --unseen' if given.unseen else ''}"
    head = [
        f"# Fits of clips drawn by a ray caster{', run once with settings frozen' if given.unseen else ''}",
        "",
        f"`{command}`, commit {commit.stdout.strip()}, {datetime.now(UTC):%Y-%m-%d}.",
        "",
    ]
    (RESULTS / f"{name}.md").write_text("\n".join([*head, *summary(rows), "", *table(rows)]) + "\n", encoding="utf-8")
    write_origin(RESULTS / f"{name}.md", command=command)


if __name__ == "__main__":
    main()
