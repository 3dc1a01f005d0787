"""Listing plugins is light and quick, with everything that is installed."""

import os
import platform
import resource
import subprocess
import sys

import pytest

from diffloom.plugins import COMMANDS, installed_registry

HEAVY = ("torch", "numba", "scipy", "numpy", "matplotlib", "av", "trimesh", "pydantic", "jinja2")

#: Help of a command imports its module, which must leave all that is heavy to the moment it runs.
SUBCOMMANDS = [[name, "--help"] for name in installed_registry().names(COMMANDS) if name != "plugins"]

PROBE = """
import sys
from diffloom.cli.group import diffloom
diffloom.main({arguments}, standalone_mode=False)
print("HEAVY", [name for name in {heavy} if name in sys.modules], file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments", [["plugins"], ["plugins", "--json"], ["--help"], ["plugins", "--help"], *SUBCOMMANDS]
)
def test_listing_imports_nothing_heavy(arguments):
    probe = PROBE.format(arguments=arguments, heavy=HEAVY)
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert "HEAVY []" in result.stderr


@pytest.mark.parametrize("module", ["diffloom", "diffloom.plugins", "diffloom.cli.group"])
def test_importing_the_plugin_system_imports_nothing_heavy(module):
    probe = f"import sys, {module}; sys.exit(str([n for n in {HEAVY} if n in sys.modules] or '') or 0)"
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")


def test_listing_answers_in_half_a_second():
    seconds = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "diffloom", "plugins"], capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Processor time, because on a busy machine wall-clock time measures other processes too.
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.5, f"took {min(seconds):.2f} s"


def test_what_a_command_imports_is_never_looked_through_for_garbage():
    probe = """
import gc
from diffloom.cli import pause_garbage_collection
for trouble in (None, ImportError("no such thing")):
    gc.unfreeze()
    try:
        with pause_garbage_collection():
            assert not gc.isenabled()
            if trouble:
                raise trouble
    except ImportError:
        pass
    assert gc.isenabled() and gc.get_freeze_count() > 1000
gc.disable()
with pause_garbage_collection():
    pass
assert not gc.isenabled()
"""
    subprocess.run([sys.executable, "-c", probe], check=True)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="settings of the GNU C library")
def test_a_fit_uses_freed_memory_again():
    probe = """
import resource
import numpy as np
from diffloom.cli.start import keep_freed_memory

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(2_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

assert keep_freed_memory()
faults()
print(faults())
"""
    found = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert int(found.stdout) < 4000  # 16 MB are 3,900 pages: asked for at most once, not twenty times


ENDING = """
import atexit, sys, threading, time
from diffloom.cli.start import fast_exit

class Taken:
    def __del__(self):
        print("taken apart")

atexit.register(print, "registered")
kept = Taken()
kept.itself = kept
{before}
with fast_exit():
    print("done", end="")
    {end}
"""


@pytest.mark.parametrize(
    ("before", "end", "code", "told"),
    [
        ("", "sys.exit()", 0, "doneregistered\n"),
        ("", "sys.exit(3)", 3, "doneregistered\n"),
        ("", "sys.exit('in words')", 1, "doneregistered\ntaken apart\n"),
        ("", "raise ValueError", 1, "doneregistered\ntaken apart\n"),
        ("sys.setprofile(slice)", "sys.exit()", 0, "doneregistered\ntaken apart\n"),
        ("threading.Thread(target=lambda: (time.sleep(0.2), print(' waited'))).start()", "sys.exit()", 0,
         "done waited\nregistered\ntaken apart\n"),
    ],
)  # fmt: skip
def test_a_command_ends_at_once_with_all_that_was_registered(before, end, code, told):
    probe = ENDING.format(before=before, end=end)
    result = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (code, told)


@pytest.mark.parametrize(
    "chosen, policy",
    [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active"), ({"GOMP_SPINCOUNT": "1000"}, "None")],
)
def test_threads_sleep_while_they_wait_unless_one_has_chosen(chosen, policy):
    probe = """
import atexit, os, sys
from diffloom.cli import main
atexit.register(lambda: print("policy", os.environ.get("OMP_WAIT_POLICY")))
sys.argv = ["diffloom", "--version"]
main()
"""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "GOMP_"))}
    result = subprocess.run(
        [sys.executable, "-c", probe], env=environment | chosen, capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == f"policy {policy}"
