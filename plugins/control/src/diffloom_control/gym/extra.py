"""Gymnasium, which comes with an extra."""

from diffloom.interfaces import InputError

try:
    import gymnasium
except ImportError as error:
    raise InputError('gym: environments need gymnasium; pip install "diffloom[gym]"') from error

__all__ = ["gymnasium"]
