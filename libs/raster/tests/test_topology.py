import pytest
import torch

from diffloom.interfaces import InputError
from diffloom_raster import find_topology


def test_corners_of_each_row_in_order():
    faces = torch.tensor([[0, 1, 2], [2, 1, 4]])
    corners = find_topology(faces, 5).corners
    found = [corners.corner[corners.start[i] : corners.start[i + 1]].tolist() for i in range(5)]
    assert found == [[0], [1, 4], [2, 3], [], [5]]
    assert corners.faces.tolist() == faces.tolist()


def test_found_again_by_content():
    faces = torch.tensor([[0, 1, 2]])
    first = find_topology(faces, 3)
    assert find_topology(faces, 3) is first
    assert find_topology(faces.clone(), 3) is first
    assert find_topology(faces, 4) is not first
    faces[0, 0] = 2
    assert find_topology(faces, 3).corners.faces.tolist() == [[2, 1, 2]]
    assert first.corners.faces.tolist() == [[0, 1, 2]]
    faces.numpy()[0, 0] = 1  # behind torch's back
    assert find_topology(faces, 3).corners.faces.tolist() == [[1, 1, 2]]


def test_indices_changed_to_no_row_are_refused():
    faces = torch.tensor([[0, 1, 2]])
    find_topology(faces, 3)
    faces[0, 1] = 3
    with pytest.raises(InputError, match="indices run from 0 to 3; expected 0 to 2"):
        find_topology(faces, 3)
