import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from diffloom_physics_fem.model import FemModel


@pytest.fixture(scope="session")
def block() -> FemModel:
    """40 tetrahedra, 27 vertices, no ground."""
    return FemModel("box", size=(0.2, 0.3, 0.25), cells=(2, 2, 2), ground=False)
