"""Device of a scene. PyTorch's "meta" device, whose tensors have no contents, stands in for a GPU."""

from dataclasses import dataclass, field

import fitting_toys as toys
import pytest
import torch
from toy_file import TOY

from diffloom.interfaces import Control, Image, InputError, Surface, Trajectory
from diffloom_experiments import build_scene, load_file
from diffloom_fitting.scene import Appearance, Orbit, Scene, device


@dataclass(frozen=True)
class Noting(toys.ToyRenderer):
    """Notes on which devices it is asked to draw."""

    seen: list = field(default_factory=list)

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        self.seen.extend(t.device.type for t in (surface.vertices, surface.colours, camera.eye, camera.rotation))
        return Image(rgba=torch.zeros(len(surface.vertices), 16, 16, 4, dtype=torch.float64))


class Bare(toys.ToyModel):
    """Shows its points themselves, wherever they are."""

    def surface(self, trajectory, params):
        return Surface(trajectory.q, torch.zeros(1, 3, dtype=torch.long))


def scene_on(place, **changes):
    model = Bare()
    settings = {"appearance": Appearance((0.9, 0.6, 0.3)), "device": place, **changes}
    params = model.params(torch.float64)
    return Scene(model, Noting(), Orbit(5.0, 10.0, size=(16, 16)), params, 0.04, 4, toys.ToySteps(), **settings)


@pytest.fixture
def stand_in(monkeypatch):
    monkeypatch.setattr("diffloom_fitting.scene.checks.check_device", lambda name: name)


@pytest.mark.usefixtures("stand_in")
def test_what_is_simulated_and_drawn_is_moved_there():
    scene = scene_on("meta", control=Control({"push": torch.ones(4, 1, dtype=torch.float64)}))
    sought = torch.tensor(3.0, dtype=torch.float64, requires_grad=True)
    params = scene.params_with({"gravity": sought})
    assert {value.device.type for value in params.values()} == {"meta"}
    assert params["gravity"].requires_grad
    assert scene.make_control({}, 2)["push"].device.type == "meta"
    q = torch.zeros(2, 1, 3, dtype=torch.float64, device="meta")
    plain = toys.ToyModel().params(torch.float64)
    image, vertices = scene.draw(Trajectory(q, q, torch.zeros(2, dtype=torch.float64)), plain, {}, ("rgba",))
    assert scene.renderer.seen == ["meta"] * 4
    assert vertices.device.type == "meta"
    assert image.rgba.device.type == "cpu"


def test_by_default_nothing_is_moved():
    scene = scene_on("cpu")
    assert scene.params_with({})["gravity"] is scene.params["gravity"]
    camera = scene.camera.camera(torch.float64)
    assert device.move_to_device(camera, "cpu") is camera


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_machine_without_a_gpu_says_so(tmp_path, toy_registry):
    with pytest.raises(InputError, match="device: got 'cuda', but PyTorch .* finds no GPU here; leave device out"):
        scene_on("cuda")
    (tmp_path / "toy.toml").write_text(TOY.replace("[model]", 'device = "cuda"\n[model]', 1))
    with pytest.raises(InputError, match=r"toy.toml: device: got 'cuda'"):
        build_scene(load_file(tmp_path / "toy.toml"))


def test_other_devices_are_refused():
    with pytest.raises(InputError, match="device: got 'gpu'; expected cpu or cuda"):
        scene_on("gpu")
