"""Results with chosen verdicts."""

import torch

from diffloom_fitting.results import Estimate, Result
from diffloom_fitting.trust.uncertainty import Uncertainty
from diffloom_fitting.trust.verdict import Verdict, VerdictPart

GOOD = VerdictPart("green", "yes")
SURE = Uncertainty({"mass": torch.tensor(0.1)}, 0.01, 1.0, torch.ones(1, 1))


def result(**levels):
    uncertainty = levels.pop("uncertainty", SURE)
    parts = dict.fromkeys(("converged", "visible", "identifiable", "explained"), GOOD)
    parts |= {part: VerdictPart(level, "no") for part, level in levels.items()}
    found = Estimate("mass", "kg", torch.tensor(1.0), torch.tensor(2.0))
    verdict = Verdict(**parts, undetermined=("mass",) if "identifiable" in levels else ())
    return Result((found,), torch.zeros(1), 1e-3, 1e-2, "done", 3, 4, 1.0, 0, uncertainty=uncertainty, verdict=verdict)
