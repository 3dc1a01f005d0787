"""Calls that a newcomer writes: each works, or is refused by one clear message."""

import importlib.util
import pickle
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from PIL import Image
from torch import nn

import diffloom_fitting as fitting
from diffloom import get_model
from diffloom.interfaces import InputError
from diffloom_studio import write_video

PLACES, PAIRS = [[0, 0.5, 0], [0.3, 0.5, 0], [0.3, 0.8, 0]], [[0, 1], [1, 2], [0, 2]]
TIMES = np.linspace(0, 0.1, 4)
TRUTH = {"stiffness": 900.0, "velocity": [1, 0, 0]}


class Row:
    """Stand-in for a row of pandas: no mapping, but with the methods of one."""

    def __init__(self, values):
        self.values = values

    def keys(self):
        return self.values.keys()

    def items(self):
        return self.values.items()


class Numbers:
    """Stand-in for a column of pandas: no array, but converts to one."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def scene(params=None, **changes):
    springs = {"name": "springs", "positions": PLACES, "springs": PAIRS, "radius": 0.15}
    parts = {"model": springs, "renderer": "softras", "camera": fitting.Orbit(3.0, size=16), "params": params or {},
             "dt": 1 / 240, "steps": 24}  # fmt: skip
    return fitting.Scene(**(parts | changes))


@cache
def kept():
    return scene()


@cache
def video():
    return fitting.synthesise(kept(), TRUTH, rate=40)


@cache
def view():
    return kept().render(TRUTH, TIMES)


@cache
def images():
    return [Image.fromarray((frame[..., :3].numpy() * 255).astype("uint8")) for frame in view().image.rgba]


def states(values=None, times=(0, 0.05), **changes):
    return (scene(**changes) if changes else kept()).render(values, times, ()).q


def fit(unknowns=None, target=None, **keywords):
    given = {"velocity": [0.9, 0, 0]} if unknowns is None else unknowns
    return fitting.fit(kept(), video() if target is None else target, given, **({"iterations": 2} | keywords))


@cache
def found():
    return fit()


@cache
def solid():
    return trimesh.creation.icosphere(1, 0.3)


@pytest.fixture
def obj(tmp_path):
    solid().export(tmp_path / "ball.obj")
    return tmp_path / "ball.obj"


def model(name, *args, **settings):
    return get_model(name)(*args, **settings)


def stopped(reached):
    return fit(callback=reached, iterations=5).reason == "stopped by a callback"


# Calls that work; each answer is true.
WORKS = {
    "render: a list of times": lambda: kept().render({"stiffness": 4e3}, [0, 0.05]).image.rgba.shape == (2, 16, 16, 4),
    "render: a range of times": lambda: len(states({}, range(2), dt=1e-2, steps=100)) == 2,
    "render: an array of times": lambda: len(states({}, np.linspace(0, 0.1, 3))) == 3,
    "render: a tensor of times": lambda: len(states({}, torch.tensor([0.0, 0.1]))) == 2,
    "render: integers as times": lambda: len(states({}, torch.tensor([0]))) == 1,
    "render: a generator of times": lambda: len(states({}, (k / 100 for k in range(3)))) == 3,
    "render: a column of times": lambda: len(states({}, Numbers([0, 0.1]))) == 2,
    "render: one time": lambda: len(states({}, 0.1)) == 1,
    "render: every step": lambda: len(kept().render(outputs=()).q) == 25,
    "render: the name of an output": lambda: kept().render({}, [0], "silhouette").image.silhouette is not None,
    "render: integers": lambda: torch.equal(states({"stiffness": 900}), states({"stiffness": 900.0})),
    "render: a NumPy scalar": lambda: torch.equal(states({"stiffness": np.int64(9)}), states({"stiffness": 9})),
    "render: an array": lambda: torch.equal(states({"velocity": np.array([1, 0, 0])}), states({"velocity": [1, 0, 0]})),
    "render: a tuple": lambda: torch.equal(states({"velocity": (1, 0, 0)}), states({"velocity": [1, 0, 0]})),
    "render: a generator": lambda: torch.equal(states({"velocity": iter([1, 0, 0])}), states({"velocity": [1, 0, 0]})),
    "render: a double in single": lambda: states({"stiffness": torch.tensor(9.0).double()}).dtype == torch.float32,
    "render: a tensor of integers": lambda: states({"stiffness": torch.tensor(9)}).dtype == torch.float32,
    "render: a text with a unit": lambda: torch.equal(states({"stiffness": "9 N/m"}), states({"stiffness": 9})),
    "render: a row of a table": lambda: torch.equal(states(Row({"stiffness": 9})), states({"stiffness": 9})),
    "simulate: numbers": lambda: len(kept().simulate({"stiffness": 900}, [0, 5])[0]) == 2,
    "simulate: every step": lambda: len(kept().simulate()[0]) == 25,
    "scene: a model's name": lambda: len(scene({"position": [0, 0.5, 0]}, model="fem", dt=1e-3).model.mesh.tets) > 0,
    "scene: a name and settings": lambda: scene(model={"name": "fem", "mesh": "ball"}).model.mesh.name == "ball",
    "scene: a pair": lambda: scene(model=("fem", {"mesh": "ball"})).model.mesh.name == "ball",
    "scene: arrays": lambda: scene({"velocity": np.array([1, 0, 0])}).params["velocity"].dtype == torch.float32,
    "scene: a double tensor": lambda: scene({"mass": torch.ones(3).double()}).params["mass"].dtype == torch.float32,
    "scene: a text with a unit": lambda: float(scene({"stiffness": "2 kN/m"}).params["stiffness"]) == 2e3,
    "scene: a row of a table": lambda: float(scene(Row({"stiffness": 7})).params["stiffness"]) == 7,
    "scene: NumPy clock": lambda: scene(steps=np.int64(5), dt=np.float32(0.01)).steps == 5,
    "scene: torch.device": lambda: scene(device=torch.device("cpu")).device == "cpu",
    "scene: a PIL background": lambda: scene(background=images()[0]).background.shape == (16, 16, 3),
    "scene: control by name": lambda: len(states(control={"force": np.ones((24, 3, 3))})) == 2,
    "camera: NumPy": lambda: fitting.Orbit(np.float32(2), target=np.ones(3), size=np.array([8, 9])).size == (8, 9),
    "policy: a module": lambda: len(states(policy=nn.Linear(8, 9))) == 2,
    "policy: a module of the time": lambda: len(states(policy=nn.Sequential(nn.Linear(1, 9), nn.Tanh()))) == 2,
    "policy: a module by control": lambda: len(states(policy={"force": nn.Linear(3, 9)})) == 2,
    "policy: its weights are sought": lambda: any(
        e.name.startswith("policy") for e in fitting.fit(
            scene(policy=nn.Linear(1, 9)), video(), ["policy"], optimizer="adam", iterations=1).estimates
    ),
    "fem: a trimesh": lambda: len(model("fem", solid(), edge_length=0.3).mesh.tets) > 0,
    "fem: arrays as sizes": lambda: len(model("fem", size=np.full(3, 0.2), cells=np.ones(3, int)).mesh.tets) == 5,
    "cloth: a trimesh": lambda: len(model("cloth", solid()).sheet.faces) == 80,
    "cloth: a trimesh in a table": lambda: len(model("cloth", {"file": solid(), "scale": 2.0}).sheet.faces) == 80,
    "rigid: a trimesh": lambda: len(model("rigid", solid()).bodies[0].faces) == 80,
    "rigid: a trimesh in a table": lambda: len(model("rigid", [{"mesh": solid(), "density": 500}]).bodies) == 1,
    "rigid: a shape's name": lambda: model("rigid", "sphere").bodies[0].name == "sphere 0",
    "rigid: one table with arrays": lambda: len(model("rigid", {"shape": "box", "size": np.ones(3)}).bodies) == 1,
    "rigid: a NumPy radius": lambda: len(model("rigid", {"shape": "sphere", "radius": np.float32(1)}).bodies) == 1,
    "synthesise: a list of times": lambda: len(fitting.synthesise(kept(), TRUTH, [0, 0.05])) == 2,
    "synthesise: an array of times": lambda: len(fitting.synthesise(kept(), {"stiffness": np.int64(9)}, TIMES)) == 4,
    "target: PIL images": lambda: fitting.Target(TIMES, images()).frames.shape == (4, 16, 16, 3),
    "target: a generator": lambda: fitting.Target(range(4), (image for image in images())).frames.shape[0] == 4,
    "target: a list of arrays": lambda: fitting.Target(range(4), [np.asarray(i) for i in images()]).step == 1 / 255,
    "target: PIL masks": lambda: fitting.Target(range(4), None, [i.convert("L") for i in images()]).masks.dim() == 3,
    "fit: a view as target": lambda: len(fit(target=view()).estimates) == 1,
    "fit: PIL images": lambda: fit(target=fitting.Target(TIMES, images())).loss >= 0.0,
    "fit: an array as start": lambda: fit({"velocity": np.array([0.9, 0, 0])})["velocity"].shape == (3,),
    "fit: integers as start": lambda: fit({"velocity": torch.tensor([1, 0, 0])})["velocity"].shape == (3,),
    "fit: a double start": lambda: fit({"stiffness": torch.tensor(700.0).double()})["stiffness"].dtype == torch.float32,
    "fit: a generator as start": lambda: fit({"velocity": iter([0.9, 0, 0])})["velocity"].shape == (3,),
    "fit: a generator of unknowns": lambda: fit(fitting.Unknown(n, 700) for n in ["stiffness"]).iterations > 0,
    "fit: a row of a table": lambda: fit(Row({"stiffness": 700})).iterations > 0,
    "fit: optimizer and lr": lambda: fit(optimizer="adam", lr=np.float32(0.05)).history[0].optimiser == "Adam",
    "fit: optimiser and lr": lambda: fit(optimiser=fitting.Sgd(), lr=1).history[0].optimiser == "Sgd",
    "fit: a prior by name": lambda: 880 < fit({"stiffness": 700}, prior={"stiffness": (900, 1)})["stiffness"] < 920,
    "fit: a prior of arrays": lambda: fit(prior={"velocity": (np.array([1, 0, 0]), 0.1)}).loss >= 0.0,
    "fit: a function as prior": lambda: fit(prior=lambda values: values["velocity"].square().sum()).start_loss > 0.5,
    "fit: a callback": lambda: (lambda kept_: fit(callback=kept_.append).iterations == len(kept_))([]),
    "fit: a callback stops": lambda: stopped(lambda record: record.iteration >= 1),
    "fit: a callback stops by NumPy": lambda: stopped(lambda record: np.float64(record.loss) >= 0),
    "fit: other answers do not stop": lambda: not stopped(lambda record: record),
    "fit: whole floats": lambda: fit(iterations=1.0).iterations >= 1,
    "found: short repr": lambda: len(repr(found())) < 200 and "velocity" in repr(found()),
    "found: table": lambda: "verdict:" in str(found()) and "┃ unknown" in str(found()),
    "found: to_dict": lambda: found().to_dict()["estimates"][0]["name"] == "velocity",
    "found: plot": lambda: len(found().plot().axes) == 3 - 1,
    "found: pickle": lambda: repr(pickle.loads(pickle.dumps(found()))) == repr(found()),
}  # fmt: skip
# Calls that write files into a folder; each answer is true.
WRITES = {
    "found: plot to a file": lambda folder: found().plot(folder / "fit.png") and (folder / "fit.png").stat().st_size,
    "found: report as a page": lambda folder: found().report(folder / "fit.html").read_text().startswith("<!"),
    "video: mp4": lambda folder: video().save(folder / "a.mp4").stat().st_size > 0,
    "video: gif": lambda folder: video().save(str(folder / "a.gif"), rate=10).stat().st_size > 0,
    "view: png": lambda folder: Image.open(view().save(folder / "new" / "a.png")).size == (64, 16),
    "write_video: a tensor": lambda folder: write_video(folder / "a.mp4", video().frames, 20).stat().st_size > 0,
    "write_video: an array": lambda folder: write_video(str(folder / "a.gif"), video().frames.numpy()).exists(),
    "write_video: PIL images": lambda folder: write_video(folder / "a.mp4", images(), rate=10).exists(),
    "write_video: a target": lambda folder: write_video(folder / "a.mp4", video()).exists(),
}
# Calls with the path of a mesh, as a Path.
PATHS = {
    "fem: a path": lambda path: len(model("fem", path, edge_length=0.3).mesh.tets) > 0,
    "cloth: a path": lambda path: len(model("cloth", path).sheet.faces) == 80,
    "rigid: a path": lambda path: len(model("rigid", path).bodies) == 1,
    "rigid: a path in a table": lambda path: len(model("rigid", [{"mesh": path}]).bodies) == 1,
}
# Calls that are refused, with a part of the message.
REFUSED = {
    "render: a misspelt name": (lambda: states({"stifness": 9}), "did you mean 'stiffness'?"),
    "render: a word": (lambda: states({"stiffness": "stiff"}), "got 'stiff'; expected a number in N/m"),
    "render: a word as times": (lambda: states({}, "all"), "times [s]: got 'all'"),
    "scene: no settings": (lambda: scene(model="springs"), "'springs' missing 2 required positional arguments"),
    "scene: no name": (lambda: scene(model={"mesh": "ball"}), "without the model's \"name\""),
    "policy: of another size": (lambda: states(policy=nn.Linear(8, 5)), "makes rows of shape (5,); expected (3, 3)"),
    "policy: a number": (lambda: scene(policy=3), "this model's controls are: force"),
    "fit: both spellings": (lambda: fit(optimizer="adam", optimiser="adam"), "two spellings of one keyword"),
    "fit: misspelt": (lambda: fit(optimzer="adam"), "no keyword 'optimzer'; did you mean 'optimizer'?"),
    "fit: another library's word": (lambda: fit(max_iter=3), "did you mean 'iterations'?"),
    "fit: lr of Gauss-Newton": (lambda: fit(lr=0.1), "GaussNewton has no learning rate"),
    "fit: a prior without deviation": (lambda: fit(prior={"velocity": 3}), "expected (mean, deviation)"),
    "fit: a number as callback": (lambda: fit(callback=3), "callback: got 3; expected a function"),
    "fit: frames without times": (lambda: fit(target=images()), "give the frames' times too"),
    "found: report of a copy": (lambda: pickle.loads(pickle.dumps(found())).report("x"), "without its experiment"),
    "video: another ending": (lambda: video().save("a.txt"), "expected a file ending in .mp4, .webp, .gif, .png"),
}  # fmt: skip


@pytest.mark.parametrize("name", WORKS)
def test_a_natural_call_works(name):
    assert WORKS[name]()


@pytest.mark.parametrize("name", WRITES)
def test_a_natural_call_writes_a_file(name, tmp_path):
    assert WRITES[name](tmp_path)


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_taken(name, obj):
    assert isinstance(obj, Path)
    assert PATHS[name](obj)


@pytest.mark.parametrize("name", REFUSED)
def test_a_call_is_refused_in_one_message(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, message = REFUSED[name]
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("device", ["cuda", "cuda:0", torch.device("cuda")], ids=str)
def test_a_device_that_is_not_there(device):
    with pytest.raises(InputError, match="finds no GPU here"):
        scene(device=device)


def test_a_data_frame():
    if importlib.util.find_spec("pandas") is None:
        with pytest.raises(InputError, match="pip install pandas"):
            found().to_frame()
        return
    frame = found().to_frame()
    assert list(frame.index) == ["velocity[0]", "velocity[1]", "velocity[2]"]
    assert list(frame["start"]) == pytest.approx([0.9, 0, 0])


def test_gradients_reach_tensors_of_either_precision():
    for dtype in (torch.float32, torch.float64):
        start = torch.tensor([1.0, 0.0, 0.0], dtype=dtype, requires_grad=True)
        states({"velocity": start, "stiffness": 900}).sum().backward()
        assert start.grad.dtype == dtype
        assert float(start.grad[0]) > 0.0


def test_the_table_is_long():
    count = sum(map(len, (WORKS, WRITES, PATHS, REFUSED)))
    print(f"\n{count} natural calls: {len(REFUSED)} of them refused with advice")
    assert count >= 60
