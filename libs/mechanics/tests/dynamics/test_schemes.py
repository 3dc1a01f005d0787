"""Code that is written out for schemes of several stages."""

import re

import numpy as np
import pytest

from diffloom_mechanics import tableau
from diffloom_mechanics.pipelines import ROLLOUTS
from diffloom_mechanics.programs import samples
from diffloom_mechanics.schemes import nonzero_weights


def test_zero_weights_are_left_out():
    scheme = tableau([[1 / 3], [0.0, 2 / 3]], [0.25, 0.0, 0.75])
    assert [nonzero_weights(row) for row in scheme.a] == [(), (0,), (1,)]
    assert nonzero_weights(scheme.b) == (0, 2)


@pytest.mark.parametrize("pipeline", ["tableau_rollout", "tableau_rollout_adjoint"])
def test_stages_share_the_code_of_their_passes(net, pipeline):
    given = samples(net.system().compiled, np.float64)[pipeline]
    text, _, _ = ROLLOUTS.generated(pipeline, "cpu", given, "test")
    passes = [name for name in re.findall(r"def _dl_\w*pass_\d+_(\w+)", text) if "store_combined" not in name]
    assert passes
    assert not [name for name in passes if re.search(r"_\d+$", name)], "the second of a kind has a number"
