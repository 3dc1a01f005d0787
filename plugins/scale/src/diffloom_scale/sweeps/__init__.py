"""Many runs of one experiment: over seeds and pairs of renderers, in a table."""

from diffloom_scale.sweeps.baselines import BASELINES
from diffloom_scale.sweeps.case import Case, place_of, run_case
from diffloom_scale.sweeps.running import outcomes_of
from diffloom_scale.sweeps.table import sweep_data, sweep_table

__all__ = ["BASELINES", "Case", "outcomes_of", "place_of", "run_case", "sweep_data", "sweep_table"]
