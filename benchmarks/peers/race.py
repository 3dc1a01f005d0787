"""Race against Newton: its semi-implicit solver and ours run the same scene in turn, in one run.

Rates are steps per second of whole calls of simulate and backward on a scene that is built, the best of several;
float32. The peer's are of its captured graph alone, replayed. "both" is a rollout and its gradient. On a shared
machine, `--clock processor --threads 1` counts processor time of one thread, because a team of two threads of which one
waits for its turn is slowed several times, and Newton runs on one.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DT = 1.0 / 60 / 32
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
#: Quick calls are repeated for at least so long [s], so that a passing disturbance does not cover all of it.
AT_LEAST = 0.4


@dataclass(frozen=True)
class Race:
    """One comparison.

    script: the benchmark itself, which measures ours in processes of their own. peer: Newton's script, in this folder.
    sizes: the sizes there are. default: those that are run. case(size): what the peer's script needs to know.
    ours(size, target): a function run(grad, steps) that runs the scene and returns its seconds and lowest point.
    goal(size, mode): how many times the peer's rate is hoped for. beside(size, steps): a last column. peer_flags:
    options that are handed to the peer as part of its case, with their help.
    """

    script: str
    peer: str
    unit: str
    sizes: tuple[int, ...]
    default: tuple[int, ...]
    steps: Callable[[int], int]
    case: Callable[[int], dict[str, Any]]
    ours: Callable[[int, str], Callable[[bool, int], tuple[float, float]]]
    goal: Callable[[int, str], float]
    beside: Callable[[int, int], str] = lambda _, __: ""
    beside_title: str = ""
    peer_flags: Mapping[str, str] = field(default_factory=dict)

    def run(self, description: str | None) -> None:
        """Read the command line and race."""
        given = self._options(description)
        os.environ["DIFFLOOM_BENCH_CLOCK"] = given.clock
        if given.one:
            os.environ["DIFFLOOM_NUM_THREADS"] = str(given.threads)
            print(json.dumps(self._own_rates(given.sizes[0], given)))
            return
        peer = f" | {'newton':>9} {'ratio goal':>11}" if given.newton else ""
        print(
            f"float32, {given.threads} threads, dt {DT:.3e} s; steps per second of {given.clock} time; "
            f"load {os.getloadavg()[0]:.1f}"
        )
        print(f"{self.unit:>6} | {'forward':>9}{peer} | {'both':>9}{peer}{self.beside_title}")
        for size in given.sizes:
            mine: dict[str, float] = {}
            theirs: dict[str, float] = {}
            for _ in range(given.rounds):  # in turn, so that both see the machine's fast and slow phases
                _keep_best(mine, self._own_process(size, given))
                for mode in ("forward", "both") if given.newton else ():
                    _keep_best(theirs, {mode: self._peer_process(size, mode, given)})
            self._report(size, given.steps or self.steps(size), mine, theirs)
        if not given.newton:
            print("Newton was not measured: name a Python that has it with --newton or DIFFLOOM_BENCH_NEWTON.")

    def _options(self, description: str | None) -> argparse.Namespace:
        parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
        newton = os.environ.get("DIFFLOOM_BENCH_NEWTON")
        parser.add_argument("--newton", default=newton, help="a Python with newton in it")
        parser.add_argument("--sizes", type=int, nargs="+", default=self.default, choices=self.sizes)
        parser.add_argument("--threads", type=int, default=2)
        parser.add_argument("--repeats", type=int, default=5)
        parser.add_argument("--steps", type=int, help="of a rollout, in place of the benchmark's own number")
        parser.add_argument("--rounds", type=int, default=2, help="processes of each, in turn")
        parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help="what seconds are counted")
        parser.add_argument("--target", choices=["auto", "serial", "parallel"], default="auto", help="how ours runs")
        every = "how often the peer seeks contacts"
        parser.add_argument("--collide", choices=["every", "once"], default="every", help=every)
        for name, text in self.peer_flags.items():
            parser.add_argument(f"--{name}", action="store_true", help=text)
        parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
        return parser.parse_args()

    def _own_rates(self, size: int, given: argparse.Namespace) -> dict[str, float]:
        run, steps = self.ours(size, given.target), given.steps or self.steps(size)
        found: dict[str, float] = {}
        for mode, grad in (("forward", False), ("both", True)):
            run(grad, 2)  # compiles
            times: list[float] = []
            lowest = 0.0
            while len(times) < given.repeats or sum(times) < AT_LEAST:
                seconds, lowest = run(grad, steps)
                times.append(seconds)
            found |= {mode: steps / min(times), "lowest": lowest}
        return found

    def _own_process(self, size: int, given: argparse.Namespace) -> dict[str, float]:
        command = [sys.executable, self.script, "--one", "--sizes", str(size), "--target", given.target]
        command += ["--threads", str(given.threads), "--repeats", str(given.repeats), "--clock", given.clock]
        command += ["--steps", str(given.steps)] if given.steps else []
        return _json_of(command)

    def _peer_process(self, size: int, mode: str, given: argparse.Namespace) -> float:
        case = {**self.case(size), "steps": given.steps or self.steps(size), "dt": DT}
        case |= {name: getattr(given, name) for name in self.peer_flags}
        script = Path(__file__).with_name(self.peer)
        command = [given.newton, str(script), "--case", json.dumps(case), "--mode", mode, "--collide", given.collide]
        command += ["--clock", given.clock] if given.clock != "wall" else []
        return float(_json_of([*command, "--repeats", str(given.repeats), "--at-least", str(AT_LEAST)])["rate"])

    def _report(self, size: int, steps: int, mine: dict[str, float], theirs: dict[str, float]) -> None:
        cells = [f"{size:6d}"]
        for mode in ("forward", "both"):
            cells.append(f"{mine[mode]:9.0f}")
            if theirs:
                ratio, goal = mine[mode] / theirs[mode], self.goal(size, mode)
                cells.append(f"{theirs[mode]:9.0f} {ratio:6.1f}x{' ' if ratio >= goal else '<'}{goal:<3.0f}")
        print(" | ".join(filter(None, [*cells, self.beside(size, steps)])), flush=True)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds, and what came out."""
    now = CLOCKS[os.environ.get("DIFFLOOM_BENCH_CLOCK", "wall")]
    start = now()
    result = work()
    return now() - start, result


def material_rollouts(
    model: Any, scheme: Any, axis: str, moduli: tuple[float, float], constants: Mapping[str, Any]
) -> Callable[[bool, int], tuple[float, float]]:
    """A function run(grad, steps): seconds of a rollout, with its gradient with respect to the moduli of every element
    along ``axis`` and all start velocities where asked, and the lowest point at its end."""
    import torch

    from diffloom import simulate
    from diffloom.interfaces import NoGradient, StoreAll

    def run(grad: bool, steps: int) -> tuple[float, float]:
        mu, lam = (torch.full((model.axes[axis],), value, requires_grad=grad) for value in moduli)
        velocity = torch.zeros(model.axes["particles"], 3, requires_grad=grad)
        params = model.params(shear_modulus=mu, lame_modulus=lam, velocity=velocity, **constants)
        policy = StoreAll() if grad else NoGradient()

        def work() -> torch.Tensor:
            end = simulate(model, params, dt=DT, steps=steps, save=[steps], gradient=policy, integrator=scheme).last
            if grad:
                (end.q**2).sum().backward()
            return end.q.detach()

        seconds, q = timed(work)
        return seconds, float(q[:, 1].min())

    return run


def _keep_best(best: dict[str, float], found: dict[str, float]) -> None:
    for name, value in found.items():
        best[name] = max(value, best.get(name, value))


def _json_of(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{command[0]} could not run the comparison:\n{done.stderr[-2000:]}")
    result: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return result
