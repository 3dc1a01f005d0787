"""Trees by name."""
from __future__ import annotations
from typing import Any
