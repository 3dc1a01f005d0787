import pytest
import torch

from diffloom.interfaces import Camera

OCTAHEDRON = [[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
SIDES = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]


def subdivided(vertices, faces):
    """Every triangle in four, with new vertices on the unit sphere."""
    vertices, middles, smaller = list(vertices), {}, []
    for face in faces:
        between = []
        for a, b in ((0, 1), (1, 2), (2, 0)):
            key = tuple(sorted((face[a], face[b])))
            if key not in middles:
                middles[key] = len(vertices)
                vertices.append(torch.nn.functional.normalize(vertices[key[0]] + vertices[key[1]], dim=0))
            between.append(middles[key])
        a, b, c = between
        smaller += [[face[0], a, c], [face[1], b, a], [face[2], c, b], [a, b, c]]
    return vertices, smaller


@pytest.fixture
def sphere():
    """sphere(level) -> vertices (n, 3) float64 and faces, 8 x 4^level of them, turned outwards."""

    def make(level=1):
        vertices, faces = [torch.tensor(v, dtype=torch.float64) for v in OCTAHEDRON], SIDES
        for _ in range(level):
            vertices, faces = subdivided(vertices, faces)
        return torch.stack(vertices), torch.tensor(faces)

    return make


@pytest.fixture
def camera():
    """camera(frames, dtype): one that looks at the origin from a little above, a moving one for several frames."""

    def make(frames=1, dtype=torch.float64, size=(20, 28), **options):
        eye = torch.tensor([[0.6, 0.9, 2.4], [0.9, 0.7, 2.5], [-0.3, 1.1, 2.6]], dtype=dtype)[:frames]
        options = {"near": 0.5, "far": 8.0, **options}
        seen = Camera.look_at(eye if frames > 1 else eye[0], size=size, dtype=dtype, **options)
        # Off-centre and with pixels that are not square.
        focal, centre = (
            seen.focal * seen.focal.new_tensor([1.1, 0.95]),
            seen.centre + seen.centre.new_tensor([1.3, -0.7]),
        )
        return Camera(seen.rotation, seen.eye, focal, centre, seen.height, seen.width, seen.near, seen.far)

    return make
