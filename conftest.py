"""Settings for the tests of all distributions."""

from hypothesis import settings

# Known to pytest by itself where diffloom-core is installed; named here for environments that are older than it.
pytest_plugins = ["diffloom.testing.pytest_plugin"]

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
