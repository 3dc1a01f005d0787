"""Many runs of one experiment: over seeds and pairs of renderers, in a table."""

from diffloom_fitting.sweeps.case import Case, run_case
from diffloom_fitting.sweeps.table import sweep_data, sweep_table

__all__ = ["Case", "run_case", "sweep_data", "sweep_table"]
