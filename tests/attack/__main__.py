"""Attacks for a given time: ``python tests/attack --seconds 600 --seed 1``.

Attacks run in worker processes. A worker that dies or hangs is a failure of the attack it was at, and the next worker
goes on. Seeds are printed; a failure is tried again with simpler choices, and the simplest that still fails is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from tape import Tape, simpler  # noqa: E402

#: Attacks by name: module and function, how many a worker does, and how many workers there are in a round.
ATTACKS = {
    "physics gradient": ("physics_attacks", "gradient", 8, 1),
    "physics extremes": ("physics_attacks", "extremes", 16, 1),
    "render gradient": ("render_attacks", "gradient", 16, 1),
    "render invariances": ("render_attacks", "invariances", 24, 1),
    "render extremes": ("render_attacks", "extremes", 32, 1),
    "misused terms": ("misuse_attacks", "terms", 1, 8),
    "misused rollouts": ("misuse_attacks", "rollouts", 1, 8),
    "damaged files": ("file_attacks", "reading", 100, 1),
    "damaged cache": ("file_attacks", "cache", 1, 1),
}
#: Longest that one attack may take [s]: the first of a kind compiles.
LONGEST = 300.0
#: Memory that a worker may ask for [bytes].
MEMORY = 14 * 2**30


def work(name: str, seeds: list[int], tape: list[float] | None) -> None:
    """The worker: do attacks, telling of each before and after."""
    import importlib
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    module, function = ATTACKS[name][:2]
    for seed in seeds:
        told: dict[str, object] = {"seed": seed}
        print(json.dumps({**told, "begin": True}), flush=True)
        choices = Tape(seed, tape)
        try:
            told["outcome"] = getattr(importlib.import_module(module), function)(choices)
        except BaseException as error:
            told["failure"] = f"{type(error).__name__}: {str(error)[:600]}"
            told["trace"] = traceback.format_exc()[-1500:]
        print(json.dumps({**told, "tape": choices.noted}), flush=True)


def attack(name: str, seeds: list[int], tape: list[float] | None = None, longest: float = LONGEST) -> list[dict]:
    """Outcomes of a worker on these seeds; one that died or hung leaves a failure for the seed it was at."""
    command = [sys.executable, str(HERE), "--work", name, "--seeds", json.dumps(seeds), "--tape", json.dumps(tape)]
    settings = {**os.environ, "DIFFLOOM_QUIET": "1"}
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=settings)
    assert worker.stdout is not None and worker.stderr is not None
    found: list[dict] = []
    at, buffer, fault = None, b"", None
    os.set_blocking(worker.stdout.fileno(), False)
    limit = time.monotonic() + longest
    while fault is None:
        ready, _, _ = select.select([worker.stdout], [], [], 1.0)
        if ready:
            part = worker.stdout.read() or b""
            if not part:
                break
            *lines, buffer = (buffer + part).split(b"\n")
            for line in lines:
                try:
                    told = json.loads(line)
                except ValueError:
                    continue
                at = told["seed"] if "begin" in told else None
                limit = time.monotonic() + longest
                if at is None:
                    found.append(told)
        elif time.monotonic() > limit:
            fault = f"hung for more than {longest:.0f} s"
            worker.kill()
    noise = worker.stderr.read().decode(errors="replace")[-400:]
    code = worker.wait()
    if at is not None:
        found.append({"seed": at, "failure": fault or f"the process died (code {code}): {noise}"})
    return found


def one_round(name: str, seed: int, count: int | None) -> Iterator[dict]:
    """Outcomes of the workers of one round, from ``seed`` on; of ``count`` attacks instead where that is given."""
    _, _, batch, workers = ATTACKS[name]
    left = batch * workers if count is None else count
    while left > 0:
        found = attack(name, list(range(seed, seed + min(batch, left))))
        yield from found
        seed, left = seed + max(1, len(found)), left - max(1, len(found))


def shrunk(name: str, failure: dict, seconds: float) -> dict:
    """The simplest failure found by playing the choices again, simpler each time, within a time."""
    end, best = time.monotonic() + seconds, failure
    if "tape" not in best:  # the process died: its choices were not told, and follow from the seed
        return best
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for tape in simpler(best["tape"]):
            if time.monotonic() > end:
                break
            (again,) = attack(name, [failure["seed"]], tape) or [{}]
            kind = str(again.get("failure", "")).split(":")[0]
            if kind and kind == str(failure["failure"]).split(":")[0]:
                best, progress = {**again, "tape": tape}, True
                break
    return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=None, help="where seeds begin; by the clock when not given")
    parser.add_argument("--count", type=int, default=None, help="so many of each kind instead, whatever it takes")
    parser.add_argument("--only", default="", help="kinds whose names hold this word")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--seeds", help=argparse.SUPPRESS)
    parser.add_argument("--tape", default="null", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.work, json.loads(given.seeds), json.loads(given.tape))
        return 0
    first = int(time.time()) % 10**6 * 1000 if given.seed is None else given.seed
    names = [name for name in ATTACKS if given.only in name]
    print(f"attacks from seed {first} on: {', '.join(names)}", flush=True)
    return campaign(names, first, given.seconds, given.count)


def campaign(names: list[str], first: int, seconds: float, count: int | None) -> int:
    """Rounds over all kinds until the time is over, then the sums; 1 if anything failed."""
    end = time.monotonic() + seconds
    done: dict[str, Counter[str]] = {name: Counter() for name in names}
    failures: list[tuple[str, dict]] = []
    seed = dict.fromkeys(names, first)
    while time.monotonic() < end:
        for name in names:
            if time.monotonic() > end and count is None:
                break
            for told in one_round(name, seed[name], count):
                seed[name] = told["seed"] + 1
                outcome = "FAILED" if "failure" in told else str(told["outcome"]).split(":")[0].split(" ")[-1]
                done[name][outcome] += 1
                if "failure" in told:
                    print(f"FAILED {name}, seed {told['seed']}: {told['failure']}", flush=True)
                    failures.append((name, told))
        if count is not None:
            break
        print(f"so far: {', '.join(f'{sum(c.values())} {name}' for name, c in done.items())}", flush=True)
    for name, outcomes in done.items():
        print(f"{name}: {sum(outcomes.values())} ({', '.join(f'{n} {what}' for what, n in outcomes.most_common())})")
    for name, told in failures[:5]:
        least = shrunk(name, told, 60.0)
        print(f"\n{name}, seed {least['seed']}, choices {[round(c, 3) for c in least.get('tape', [])]}")
        print(f"{least['failure']}\n{least.get('trace', '')}")
    print(f"{sum(sum(c.values()) for c in done.values())} attacks, {len(failures)} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
