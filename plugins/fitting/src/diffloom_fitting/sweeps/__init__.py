"""Many runs of one experiment: over seeds and pairs of renderers, in a table."""

from diffloom_fitting.sweeps.baselines import BASELINES
from diffloom_fitting.sweeps.case import Case, place_of, run_case
from diffloom_fitting.sweeps.running import outcomes_of
from diffloom_fitting.sweeps.table import sweep_data, sweep_table

__all__ = ["BASELINES", "Case", "outcomes_of", "place_of", "run_case", "sweep_data", "sweep_table"]
