"""Memory of states is used again, and never while somebody still looks at it."""

import torch

from diffloom.dynamics import state_memory
from diffloom.dynamics.state_memory import HELD, SMALL, states_like


def test_memory_is_used_again_once_it_is_let_go(monkeypatch):
    monkeypatch.setattr(state_memory, "_free", {})
    one = torch.zeros(1000, 3)
    first = states_like(one, 100)
    place = first.data_ptr()
    part = first[10:20]
    del first
    other = states_like(one, 100)
    assert other.data_ptr() != place  # a part of the first is still looked at
    del part
    again = states_like(one, 90)
    assert again.data_ptr() == place
    assert again.shape == (90, 1000, 3)
    assert again.dtype == torch.float32


def test_pieces_of_other_sizes_and_small_ones_are_left_alone(monkeypatch):
    monkeypatch.setattr(state_memory, "_free", {})
    one = torch.zeros(1000, 3, dtype=torch.float64)
    states_like(one, 1000)
    assert len(state_memory._free) == 1
    few = states_like(one, 100)
    assert len(state_memory._free) == 1
    assert few.dtype == torch.float64
    del few
    states_like(torch.zeros(2, 3), SMALL // 48)
    assert len(state_memory._free) == 2


def test_what_is_held_is_bounded(monkeypatch):
    monkeypatch.setattr(state_memory, "_free", {})
    monkeypatch.setattr(state_memory, "HELD", HELD >> 6)
    pieces = [states_like(torch.zeros(1 << 18), k + 2) for k in range(4)]
    del pieces
    assert sum(map(len, state_memory._free.values())) <= HELD >> 6
