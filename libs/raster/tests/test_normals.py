import torch

from diffloom_raster import compute_vertex_normals

D = torch.float64
TETRAHEDRON = torch.tensor([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=D)
FACES = torch.tensor([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def frames():
    shake = torch.rand((2, 4, 3), generator=torch.Generator().manual_seed(0), dtype=D)
    return TETRAHEDRON + 0.2 * shake


def test_normals_point_outwards_with_length_one():
    n = compute_vertex_normals(TETRAHEDRON[None], FACES)[0]
    assert torch.allclose(n.norm(dim=-1), torch.ones(4, dtype=D))
    assert ((n * (TETRAHEDRON - TETRAHEDRON.mean(0))).sum(-1) > 0).all()
    assert torch.allclose(n[0], -torch.ones(3, dtype=D) / 3**0.5)


def test_faces_weigh_by_area():
    v = torch.tensor([[[0.0, 0, 0], [3, 0, 0], [0, 1, 0], [0, 0, 1]]], dtype=D)
    n = compute_vertex_normals(v, torch.tensor([[0, 1, 2], [0, 2, 3]]))[0, 0]
    assert torch.allclose(n, torch.tensor([1.0, 0.0, 3.0], dtype=D) / 10**0.5)


def test_gradients():
    assert torch.autograd.gradcheck(lambda v: compute_vertex_normals(v, FACES), (frames().requires_grad_(),))


def test_vertices_without_a_proper_face_have_none():
    v = torch.cat([TETRAHEDRON, torch.ones((3, 3), dtype=D)])[None].requires_grad_()
    n = compute_vertex_normals(v, torch.cat([FACES, torch.tensor([[4, 5, 4]])]))
    (n * torch.arange(21, dtype=D).reshape(1, 7, 3)).sum().backward()
    assert (n[0, 4:] == 0).all()
    assert torch.isfinite(v.grad).all()
