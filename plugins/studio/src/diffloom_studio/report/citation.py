"""A run in one line, by which others can tell whether they have the same."""

from __future__ import annotations

import hashlib
import json
from importlib.metadata import version
from typing import Any

from diffloom_fitting.result import Result


def cite(title: str, result: Result, config: Any) -> str:
    """Title, version, and a fingerprint of the experiment and of what was found: the same run has the same line."""
    data = json.dumps(config, sort_keys=True, default=str) + json.dumps([e.found.tolist() for e in result.estimates])
    mark = hashlib.sha256(data.encode()).hexdigest()[:12]
    judged = "" if result.uncertainty == "not asked for" else f", verdict {result.verdict.level}"
    return f"“{title}”, a fit by diffloom {version('diffloom-fitting')}, run {mark}, loss {result.loss:.4g}{judged}."
