"""Settings for the tests of all distributions."""

import contextlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

sys.path[:0] = [str(Path(__file__).parent / "tests" / "support"), str(Path(__file__).parent / "tools")]

# Known to pytest by itself where diffloom-testing is installed; named here for environments that are older than it.
pytest_plugins = ["diffloom_testing.pytest_plugin", "application_fixtures"]

# Threads only where a test asks for them: two tests run at once, and code compiled for one target serves them all.
os.environ.setdefault("DIFFLOOM_PARALLEL_FROM", "1e9")
# The same for PyTorch's and numpy's own threads, which wait by running.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what `make test` leaves out; every other run takes it."""
    import quick_run  # found by the path set above

    for item in quick_run.find_repetitions(items, quick_run.read_listed()):
        item.add_marker(pytest.mark.full)


#: Most memory that each process that ran tests has had [MB]; goal: 2,000 with an empty cache of kernels.
_PEAKS: list[float] = []


#: What is left after memory was given back the last time [MB], and by how much a process may grow until the next.
_LEFT = [600.0]
GROWTH = 100.0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown():
    """Give back what a test has freed: worked examples in plain torch take hundreds of MB for a moment."""
    bound = sys.modules.get("diffloom_kernels.compile.memory_bound")
    if bound is not None and bound.measure_resident_memory() > _LEFT[0] + GROWTH:
        bound.release_memory()
        _LEFT[0] = max(bound.measure_resident_memory(), 600.0)


def pytest_sessionfinish(session):
    """Tell the process that sums up how much memory this one took."""
    with contextlib.suppress(ImportError):  # not on Windows
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        getattr(session.config, "workeroutput", {})["peak"] = peak
        if not session.config.getoption("numprocesses", None):
            _PEAKS.append(peak)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Keep what a worker told at its end; one that crashed told nothing."""
    _PEAKS.append(getattr(node, "workeroutput", {}).get("peak", 0.0))


def pytest_terminal_summary(terminalreporter):
    """One line on memory."""
    if _PEAKS:
        told = ", ".join(f"{peak:,.0f}" for peak in _PEAKS)
        terminalreporter.write_line(f"most memory of each process that ran tests [MB]: {told}")
