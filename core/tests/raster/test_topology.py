import torch

from diffloom.shading.topology import corners_of


def test_corners_of_each_row_in_order():
    faces = torch.tensor([[0, 1, 2], [2, 1, 4]])
    corners = corners_of(faces, 5)
    found = [corners.corner[corners.start[i] : corners.start[i + 1]].tolist() for i in range(5)]
    assert found == [[0], [1, 4], [2, 3], [], [5]]
    assert corners.index.tolist() == faces.tolist()


def test_found_again_while_unchanged():
    faces = torch.tensor([[0, 1, 2]])
    first = corners_of(faces, 3)
    assert corners_of(faces, 3) is first
    assert corners_of(faces, 4) is not first
    faces[0, 0] = 2
    assert corners_of(faces, 3).index.tolist() == [[2, 1, 2]]
    assert first.index.tolist() == [[0, 1, 2]]
