"""What plugin authors test their work with."""

from diffloom.testing.gradients import Comparison, check_gradient, compare_gradient

__all__ = ["Comparison", "check_gradient", "compare_gradient"]
