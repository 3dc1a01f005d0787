"""Settings for the tests of all distributions."""

import os

from hypothesis import settings

# Known to pytest by itself where diffloom-core is installed; named here for environments that are older than it.
pytest_plugins = ["diffloom.testing.pytest_plugin"]

# Threads only where a test asks for them: two tests run at once, and code compiled for one target serves them all.
os.environ.setdefault("DIFFLOOM_PARALLEL_FROM", "1e9")

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
