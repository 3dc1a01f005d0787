import torch

from diffloom.interfaces import Camera
from diffloom_raster import clip_near, project, to_camera_axes

NEAR = 1.0


def scene(seed=0, frames=2, count=12):
    """Triangles around the near plane, each with vertices of its own."""
    draw = torch.Generator().manual_seed(seed)
    vertices = (torch.rand((frames, 3 * count, 3), generator=draw, dtype=torch.float64) - 0.5) * 4.0
    faces = torch.arange(3 * count).reshape(count, 3)
    camera = Camera.look_at((0.3, 0.2, NEAR), near=NEAR, size=(32, 32), dtype=torch.float64)
    return vertices, faces, camera


def areas(points, triangles):
    a, b, c = (points[triangles[:, k]] for k in range(3))
    return 0.5 * torch.linalg.cross(b - a, c - a).norm(dim=-1)


def front_area(corners, depth, samples=400):
    """Area of the part of a triangle in front, by midpoint sampling."""
    k = torch.arange(samples, dtype=torch.float64)
    i, j = torch.meshgrid(k, k, indexing="ij")
    u, v = (i + 1 / 3) / samples, (j + 1 / 3) / samples
    u2, v2 = (i + 2 / 3) / samples, (j + 2 / 3) / samples
    w = torch.cat([torch.stack([u, v])[:, i + j < samples], torch.stack([u2, v2])[:, i + j < samples - 1]], dim=1)
    d = depth[0] + w[0] * (depth[1] - depth[0]) + w[1] * (depth[2] - depth[0])
    return (d >= NEAR).double().mean() * areas(corners, torch.tensor([[0, 1, 2]]))[0]


def test_nothing_to_cut_is_none():
    vertices, faces, camera = scene()
    assert clip_near(vertices * 0.1 + torch.tensor([0.0, 0.0, -3.0]), faces, camera) is None


def test_the_part_in_front_is_kept_and_faces_its_way():
    vertices, faces, camera = scene()
    split = clip_near(vertices, faces, camera)
    points = split.extend(vertices)
    depth = -to_camera_axes(vertices, camera)[..., 2]
    flat = points.reshape(-1, 3)
    kept = -to_camera_axes(points, camera)[..., 2].reshape(-1)[split.corners.long()]
    assert (kept >= NEAR - 1e-12).all()
    kinds = set()
    for frame in range(2):
        part = slice(int(split.frame_start[frame]), int(split.frame_start[frame + 1]))
        for f, face in enumerate(faces):
            mine = split.corners[part][split.face[part] == f].long()
            kinds.add(int((depth[frame, face] >= NEAR).sum()))
            want = front_area(vertices[frame, face], depth[frame, face])
            assert abs(areas(flat, mine).sum() - want) < 0.01
            normal = torch.linalg.cross(*(vertices[frame, face[k]] - vertices[frame, face[0]] for k in (1, 2)))
            for t in mine:
                assert torch.linalg.cross(flat[t[1]] - flat[t[0]], flat[t[2]] - flat[t[0]]) @ normal > 0
    assert kinds == {0, 1, 2, 3}


def test_the_hidden_edge_joins_the_two_halves():
    vertices, faces, camera = scene()
    split = clip_near(vertices, faces, camera)
    points = split.extend(vertices).reshape(-1, 3)
    first = split.hidden.nonzero().ravel()[0::2]
    assert len(first) > 2
    for k in first.tolist():
        one, two = split.corners[k].long(), split.corners[k + 1].long()
        assert split.face[k] == split.face[k + 1]
        assert torch.allclose(points[one[2]], points[two[0]])
        assert torch.allclose(points[one[0]], points[two[2]])


def test_corner_values_follow_the_corners():
    vertices, faces, camera = scene(frames=1)
    split = clip_near(vertices, faces, camera)
    got = split.corner_values(vertices[0][faces])
    assert torch.allclose(got, split.extend(vertices).reshape(-1, 3)[split.corners.long()])


def test_gradients_through_the_cut():
    vertices, faces, camera = scene(frames=2, count=4)

    def run(v, eye, rotation):
        cam = Camera(rotation, eye, camera.focal, camera.centre, 32, 32, near=NEAR)
        split = clip_near(v, faces, cam)
        assert split.hidden.any()
        return project(split.extend(v), cam), split.corner_values(v[0][faces])

    inputs = tuple(t.clone().requires_grad_() for t in (vertices, camera.eye, camera.rotation))
    assert torch.autograd.gradcheck(run, inputs)


def test_all_behind_leaves_no_triangles():
    vertices, faces, camera = scene()
    split = clip_near(vertices + torch.tensor([0.0, 0.0, 9.0]), faces, camera)
    assert split.corners.shape == (0, 3)
    assert split.frame_start.tolist() == [0, 0, 0]
    assert split.extend(vertices).shape == vertices.shape
