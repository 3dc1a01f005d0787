"""Errors name the field of the scene that is wrong."""

import pytest
import torch

from diffloom.interfaces import Camera, InputError, Surface, Texture
from diffloom_render_softras import pytorch3d_backend
from diffloom_render_softras.renderer import SoftRasRenderer

FACES = torch.tensor([[0, 1, 2]])


def surface(**changes):
    given = {"vertices": torch.tensor([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]]), "faces": FACES, **changes}
    return Surface(**given)


def render(what, **options):
    camera = options.pop("camera", Camera.look_at((0.0, 0.0, 3.0), size=(8, 8)))
    return SoftRasRenderer(**options.pop("settings", {})).render(what, camera, **options)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"sigma": 0.0}, r"sigma: got 0\.0; expected a number above 0"),
        ({"sigma": -1e-4}, "sigma: got -0.0001"),
        ({"sigma": float("nan")}, "sigma: got nan"),
        ({"gamma": 0.0}, "gamma: got"),
        ({"sigma_pixels": -1.0}, "sigma_pixels: got"),
        ({"least_probability": 0.5}, "least_probability: got 0.5"),
        ({"faces_per_pixel": 0}, "faces_per_pixel: got 0; expected 1 or more, or None"),
        ({"background": (1.0, 2.0)}, "background: got .* expected 3 of them"),
        ({"backend": "pytorch"}, "did you mean 'pytorch3d'"),
        ({"target": "gpu"}, "target: got 'gpu'"),
    ],
)
def test_settings(settings, words):
    with pytest.raises(InputError, match=words):
        SoftRasRenderer(**settings)


def test_no_faces():
    with pytest.raises(InputError, match="got no faces; expected at least one triangle"):
        render(surface(faces=torch.zeros((0, 3), dtype=torch.int64)))


def test_no_frames():
    with pytest.raises(InputError, match="got no frames"):
        render(surface(vertices=torch.zeros((0, 3, 3))))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_vertices_that_are_no_numbers(value):
    vertices = torch.zeros((1, 3, 3))
    vertices[0, 1, 2] = value
    with pytest.raises(InputError, match=r"Surface\.vertices: value at index \(0, 1, 2\)"):
        render(surface(vertices=vertices))


def test_wrong_batch():
    camera = Camera.look_at(torch.tensor([[0.0, 0, 3], [1, 0, 3]]), size=(8, 8))
    with pytest.raises(InputError, match=r"3 frames.*2 frames.*expected the same number"):
        render(surface(vertices=torch.zeros((3, 3, 3))), camera=camera)


def test_texture_without_coordinates_for_its_vertices():
    texture = Texture(torch.zeros((2, 2, 3)), torch.zeros((5, 2)))
    with pytest.raises(InputError, match=r"Texture\.uv: got 5 rows for 3 vertices.*uv_faces"):
        render(surface(texture=texture))


def test_texture_coordinates_out_of_range():
    texture = Texture(torch.zeros((2, 2, 3)), torch.zeros((5, 2)), torch.tensor([[0, 1, 5]]))
    with pytest.raises(InputError, match=r"indices run from 0 to 5; expected 0 to 4"):
        render(surface(texture=texture))


def test_mixed_precision():
    with pytest.raises(InputError, match=r"Camera\.rotation is torch\.float64 but Surface\.vertices is torch\.float32"):
        render(surface(), camera=Camera.look_at((0.0, 0.0, 3.0), size=(8, 8), dtype=torch.float64))


def test_unknown_output():
    with pytest.raises(InputError, match="did you mean 'silhouette'"):
        render(surface(), outputs=("silhouete",))
    with pytest.raises(InputError, match="outputs: got none"):
        render(surface(), outputs=())


@pytest.fixture
def no_library(monkeypatch):
    pytorch3d_backend.why_unavailable.cache_clear()
    monkeypatch.setitem(__import__("sys").modules, "pytorch3d.renderer", None)
    yield
    pytorch3d_backend.why_unavailable.cache_clear()


@pytest.mark.usefixtures("no_library")
def test_a_missing_library_is_said_with_how_to_get_it():
    with pytest.raises(InputError, match=r"unavailable: pytorch3d does not import.*pip install.*native"):
        render(surface(), settings={"backend": "pytorch3d"})


@pytest.mark.usefixtures("no_library")
def test_auto_does_without_the_library():
    assert render(surface(), settings={"backend": "auto"}).rgba.shape == (1, 8, 8, 4)


def test_faces_per_pixel_is_a_whole_number():
    for given in (2.5, True, "3"):
        with pytest.raises(InputError, match="faces_per_pixel: got .*a whole number"):
            SoftRasRenderer(faces_per_pixel=given)


def test_faces_changed_in_place_are_drawn_anew_or_refused():
    vertices = torch.tensor([[[-1.0, -1, 0], [1, -1, 0], [0, 1, 0], [0, 0, -1]]], dtype=torch.float64)
    faces = torch.tensor([[0, 1, 2]])
    surface, camera = Surface(vertices, faces), Camera.look_at((0, 0, 3), size=(16, 16), dtype=torch.float64)
    first = SoftRasRenderer().render(surface, camera).rgba
    faces[0, 2] = 3
    assert not torch.equal(SoftRasRenderer().render(surface, camera).rgba, first)
    faces[0, 2] = 4
    with pytest.raises(InputError, match="indices run from 0 to 4; expected 0 to 3"):
        SoftRasRenderer().render(surface, camera)


def test_a_texture_without_texels_is_refused():
    texture = Texture(torch.zeros((0, 4, 3)), torch.zeros((3, 2)))
    surface = Surface(torch.zeros((1, 3, 3)), torch.tensor([[0, 1, 2]]), texture=texture)
    with pytest.raises(InputError, match="Texture.image: got"):
        SoftRasRenderer().render(surface, Camera.look_at((0, 0, 3), size=(16, 16)))


def test_fragments_of_pytorch3d_take_the_colours_of_their_frame(sphere):
    """The adapter's own part, without the library: packed fragments of two frames."""
    (vertices, faces), draw = sphere(1), torch.Generator().manual_seed(0)
    fragments = pytorch3d_backend._Drawing.__new__(pytorch3d_backend._Drawing)
    fragments.vertices = vertices.expand(2, -1, -1)
    frame, face = torch.tensor([0, 0, 1, 1]), torch.tensor([3, 5, 3, 0])
    weights = torch.rand((4, 3), generator=draw, dtype=vertices.dtype)

    def mixed(values, rows):
        return (values[rows] * weights[..., None]).sum(1)

    for per, count in (("vertex", len(vertices)), ("face", len(faces))):
        colours = torch.rand((2, count, 3), generator=draw, dtype=vertices.dtype)
        found = []
        for given in (colours, colours[0], colours[1]):
            fragments.surface = Surface(fragments.vertices, faces, colours=given, colour_per=per)
            found.append(fragments._read_own_colours(frame, face, faces[face], mixed))
        assert torch.equal(found[0], torch.cat([found[1][:2], found[2][2:]]))
        assert not torch.equal(found[0], found[1])
