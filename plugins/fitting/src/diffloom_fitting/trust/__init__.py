"""Whether a fit's answer can be trusted: what converged, what was visible, what the pixels determine."""

from diffloom_fitting.trust.verdict import Finding, Verdict

__all__ = ["Finding", "Verdict"]
