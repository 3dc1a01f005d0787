"""A state that is laid out sparsely is refused in words."""

import pytest
import torch

from diffloom import simulate
from diffloom.interfaces import InputError, State
from diffloom.plugins import get_model


@pytest.mark.parametrize("which", ["q", "u"])
def test_a_sparse_state_is_refused(which):
    model = get_model("springs").chain(count=3)
    params = model.params(torch.float64)
    start = model.initial_state(params)
    given = {"q": start.q, "u": start.u}
    given[which] = given[which].to_sparse()
    with pytest.raises(InputError, match="sparse numbers; expected a dense tensor"):
        simulate(model, params, dt=1e-3, steps=2, state=State(**given))
