"""Gradients against differences of the same function, over many random scenes with occlusion."""

import math
from dataclasses import replace

import pytest
import torch
from coverage_scenes import LIGHTS, VIEW, D

from diffloom.interfaces import FaceMaterials, Material, Surface, Texture
from diffloom_render_coverage import last_tally
from diffloom_render_coverage.renderer import CoverageRenderer
from diffloom_testing.scenes import make_occluded, octahedron_faces

#: Scenes of the long comparison, and steps of its differences: the best counts.
SCENES, STEPS = 200, (1e-5, 1e-6, 1e-7)


def slope(make, given, seed, outputs=("rgba", "depth")):
    """Slope of a weighted sum of images along a random direction of ``given``: by the adjoint, and the best of several
    differences; and the image's own scale."""
    random = torch.Generator().manual_seed(seed)
    leaves = {name: value.clone().requires_grad_() for name, value in given.items()}
    along = {name: torch.randn(value.shape, generator=random, dtype=D) for name, value in given.items()}
    weights = {}

    def loss(values):
        image = make(values)
        total = 0.0
        for name in outputs:
            found = getattr(image, name)
            if name not in weights:
                weights[name] = torch.randn(found.shape, generator=random, dtype=D)
            total = total + (found * weights[name]).sum()
        return total

    exact = torch.autograd.grad(loss(leaves), list(leaves.values()))
    adjoint = float(sum((g * along[name]).sum() for g, name in zip(exact, given, strict=True)))
    scale = math.sqrt(sum(float(g.square().sum()) for g in exact))
    found = []
    with torch.no_grad():
        for step in STEPS:
            ends = [loss({n: v + sign * step * along[n] for n, v in given.items()}) for sign in (1.0, -1.0)]
            found.append(float(ends[0] - ends[1]) / (2.0 * step))
    best = min(found, key=lambda each: abs(each - adjoint))
    return adjoint, best, scale


def worst_of(seeds):
    """The largest error relative to the gradient's length, and how many scenes have a slope that jumps."""
    worst, jumps = 0.0, 0
    for seed in seeds:
        scene = make_occluded(seed)

        def make(values, scene=scene):
            surface = replace(scene, vertices=values["vertices"], colours=values["colours"])
            view = replace(VIEW, eye=values["eye"], focal=values["focal"])
            return CoverageRenderer(background=(0.2, 0.3, 0.5)).render(surface, view, outputs=("rgba", "depth"))

        given = {"vertices": scene.vertices, "colours": scene.colours, "eye": VIEW.eye, "focal": VIEW.focal}
        adjoint, best, scale = slope(make, given, seed)
        off = abs(adjoint - best) / scale
        worst, jumps = max(worst, off), jumps + (off > 1e-6)
    return worst, jumps


def test_gradients_of_random_scenes_are_exact():
    worst, jumps = worst_of(range(20))
    assert (worst < 1e-6, jumps) == (True, 0), worst


@pytest.mark.slow
def test_gradients_of_200_random_scenes_are_exact():
    worst, jumps = worst_of(range(SCENES))
    print(f"worst of {SCENES} scenes: {worst:.2e} of the gradient's length; {jumps} with a slope that jumps")
    assert (worst < 1e-6, jumps) == (True, 0), worst


def make_crossing(seed):
    """Triangles through each other, as bodies in contact are."""
    random = torch.Generator().manual_seed(seed)
    middle = 0.3 * torch.randn((5, 1, 3), generator=random, dtype=D)
    vertices = (middle + 0.8 * torch.randn((5, 3, 3), generator=random, dtype=D)).reshape(1, -1, 3)
    return vertices, torch.arange(15).reshape(5, 3), torch.rand((15, 3), generator=random, dtype=D)


def test_lines_of_intersection_move():
    """The line on which two triangles intersect moves with all corners of both, in depth too."""
    worst, seen = 0.0, 0
    for seed in range(20):
        vertices, faces, colours = make_crossing(seed)

        def make(values, faces=faces):
            view = replace(VIEW, eye=values["eye"], focal=values["focal"])
            surface = Surface(values["vertices"], faces, colours=values["colours"])
            return CoverageRenderer(background=(0.2, 0.3, 0.5)).render(surface, view, outputs=("rgba", "depth"))

        given = {"vertices": vertices, "colours": colours, "eye": VIEW.eye, "focal": VIEW.focal}
        adjoint, best, scale = slope(make, given, seed)
        seen += last_tally().crossing > 0
        worst = max(worst, abs(adjoint - best) / scale)
    assert seen >= 15
    assert worst < 1e-6


@pytest.mark.parametrize("shading", ["lambert", "phong"])
def test_lights_and_materials(shading):
    scene = make_occluded(1)
    kinds = FaceMaterials(
        (Material(shading, 0.7, 0.8, 0.4, 6.0), Material("unlit")), (torch.arange(len(scene.faces)) % 3 == 0).long()
    )

    def make(values):
        surface = replace(scene, vertices=values["vertices"], material=kinds)
        ambient, lamp, sun = LIGHTS
        lights = (
            replace(ambient, colour=values["ambient"]), replace(lamp, position=values["place"]),
            replace(sun, direction=values["direction"], diffuse=values["glow"]),
        )  # fmt: skip
        return CoverageRenderer().render(surface, VIEW, lights, outputs=("rgba",))

    given = {
        "vertices": scene.vertices, "ambient": LIGHTS[0].colour, "place": LIGHTS[1].position,
        "direction": LIGHTS[2].direction, "glow": torch.full((3,), 0.4, dtype=D),
    }  # fmt: skip
    adjoint, best, scale = slope(make, given, 3, outputs=("rgba",))
    assert abs(adjoint - best) < 1e-6 * scale


@pytest.mark.parametrize("frames", [1, 2])
def test_textures(frames):
    scene = make_occluded(2)
    random = torch.Generator().manual_seed(4)
    image = torch.rand((frames, 5, 4, 3), generator=random, dtype=D)
    uv = 0.1 + 0.8 * torch.rand((scene.vertices.shape[1], 2), generator=random, dtype=D)
    vertices = torch.cat([scene.vertices, scene.vertices + 0.05])[:frames]

    def make(values):
        texture = Texture(values["image"] if frames > 1 else values["image"][0], values["uv"])
        surface = Surface(values["vertices"], scene.faces, texture=texture, material=Material("lambert"))
        return CoverageRenderer().render(surface, VIEW, LIGHTS, outputs=("rgba",))

    adjoint, best, scale = slope(make, {"vertices": vertices, "image": image, "uv": uv}, 5, outputs=("rgba",))
    assert abs(adjoint - best) < 1e-6 * scale


def test_faces_cut_at_the_near_plane():
    points = torch.tensor([[-0.5, -0.4, 2.0], [0.6, -0.3, 3.4], [0.1, 0.5, 2.2], [-0.2, -0.6, 3.3]], dtype=D)
    faces = torch.tensor([[0, 1, 2], [0, 3, 1]])
    colours = torch.rand((4, 3), generator=torch.Generator().manual_seed(6), dtype=D)

    def make(values):
        surface = Surface(values["vertices"], faces, colours=values["colours"])
        return CoverageRenderer().render(surface, replace(VIEW, eye=values["eye"]), outputs=("rgba", "depth"))

    given = {"vertices": points[None], "colours": colours, "eye": VIEW.eye}
    adjoint, best, scale = slope(make, given, 7)
    assert float(make(given).rgba[..., 3].sum()) > 1.0
    assert abs(adjoint - best) < 1e-6 * scale


def test_an_area_grows_with_its_outline():
    """d area / d radius of a sphere's polygons: the shoelace formula's own derivative, found without pixels."""
    vertices, faces = make_occluded(0).vertices[:, 6:12], octahedron_faces()
    factor = torch.ones((), dtype=D, requires_grad=True)
    alpha = CoverageRenderer().render(Surface(factor * vertices, faces), VIEW, outputs=("silhouette",)).silhouette
    found = float(torch.autograd.grad(alpha.sum(), factor)[0])

    def area(scale):
        way = (scale * vertices[0] - VIEW.eye) @ VIEW.rotation.T
        x, y = -VIEW.focal[0] * way[:, 0] / way[:, 2], VIEW.focal[1] * way[:, 1] / way[:, 2]
        a, b, c = faces.unbind(1)
        double = (x[b] - x[a]) * (y[c] - y[a]) - (y[b] - y[a]) * (x[c] - x[a])
        return 0.5 * double.abs().sum() / 2.0  # front and back cover the same

    scale = torch.ones((), dtype=D, requires_grad=True)
    wanted = float(torch.autograd.grad(area(scale), scale)[0])
    assert float(alpha.sum()) == pytest.approx(float(area(torch.ones((), dtype=D))), rel=1e-9)
    assert found == pytest.approx(wanted, rel=1e-9)


def test_intersections_are_counted():
    cross = torch.tensor(
        [[-0.6, -0.5, -0.4], [0.6, -0.5, 0.4], [0.0, 0.6, 0.0], [-0.6, -0.5, 0.4], [0.6, -0.5, -0.4], [0.0, 0.6, 0.1]],
        dtype=D,
    )  # fmt: skip
    CoverageRenderer().render(Surface(cross[None], torch.arange(6).reshape(2, 3)), VIEW)
    assert last_tally().crossing > 3
    assert last_tally().crowded == 0
    CoverageRenderer().render(make_occluded(0), VIEW)
    assert last_tally().crossing == 0
