"""The history: one line of JSON per iteration."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from diffloom_fitting.loop import Record
from diffloom_fitting.run_folder.writing import explained, write_text


def append_record(path: Path, record: Record) -> None:
    """Add one line, in one write."""
    line = json.dumps(asdict(record)) + "\n"
    with explained(path), path.open("a", encoding="utf-8") as file:
        file.write(line)


def read_history(path: Path, total: int | None = None) -> list[Record]:
    """The records, up to the ``total``-th; a last line cut off by a crash is left out."""
    if not path.exists():
        return []
    names = {f.name for f in fields(Record)}
    records = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            found = json.loads(line)
        except json.JSONDecodeError:
            break
        record = Record(**{k: v for k, v in found.items() if k in names})
        if total is not None and record.total > total:
            break
        records.append(record)
    return records


def rewrite_history(path: Path, records: list[Record]) -> None:
    """Replace the file by ``records``: what a resumed fit knows to be true."""
    write_text(path, "".join(json.dumps(asdict(record)) + "\n" for record in records))
