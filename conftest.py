"""Settings for the tests of all distributions."""

from hypothesis import settings

# The same examples on every run, and no deadline: the first call of a kernel compiles it.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
