"""A table of wrong calls and wrong files: each is refused with the given value and advice."""

from __future__ import annotations

import copy
import tomllib
from dataclasses import replace
from pathlib import Path

import fitting_toys as toys
import numpy as np
import pytest
import torch

import diffloom_fitting as f
from diffloom.interfaces import AmbientLight, DirectionalLight, InputError, Params, ParamSpec
from diffloom.plugins import PluginError
from diffloom_control import Goal
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.load import load_data
from diffloom_fitting.gradient_check import check_gradient
from diffloom_fitting.optimisers import GaussNewton
from diffloom_fitting.priors import Gaussian
from diffloom_studio import write_report
from diffloom_video import read_video

D = torch.float64
MODEL = toys.ToyModel()
PARAMS = MODEL.params(D)
TIMES = torch.arange(3, dtype=D) / 10
ONE = torch.ones((), dtype=D)
FRAMES = torch.zeros(3, 16, 16, 3, dtype=D)


class Named(toys.ToyModel):
    """A model with a part called like a camera."""

    @property
    def specs(self):
        return (*super().specs, ParamSpec("camera.mass", 1.0, "kg", "of the part"))


def scene(**changes):
    parts = {"model": MODEL, "renderer": toys.ToyRenderer(2.0), "camera": f.Orbit(5.0, size=16), "params": PARAMS,
             "dt": 0.04, "steps": 10, "integrator": toys.ToySteps()}  # fmt: skip
    return f.Scene(**(parts | changes))


def target(**changes):
    return f.Target(**({"times": TIMES, "frames": FRAMES} | changes))


def fit(unknowns=None, seen=None, **options):
    given = {"gravity": 9.0} if unknowns is None else unknowns
    return f.fit(scene(), target() if seen is None else seen, given, **options)


def experiment(**changes):
    parts = {"scene": scene(), "target": target(), "unknowns": [f.Unknown("gravity")]}
    return f.Experiment(**(parts | changes))


def made(**truth):
    return f.synthesise(scene(), truth)


CAMERA = {
    "distance 0": (lambda: f.Orbit(0.0), "Orbit.distance: got 0; expected a number above 0"),
    "distance negative": (lambda: f.Orbit(-2.0), "Orbit.distance: got -2"),
    "distance a text": (lambda: f.Orbit("near"), "Orbit.distance: got 'near'; expected a number"),
    "distance nan": (lambda: f.Orbit(float("nan")), "Orbit.distance: got nan"),
    "distance none": (lambda: f.Orbit(None), "Orbit.distance: got None"),
    "elevation a list": (lambda: f.Orbit(elevation=[1]), "Orbit.elevation: got [1]"),
    "azimuth infinite": (lambda: f.Orbit(azimuth=float("inf")), "Orbit.azimuth: got inf"),
    "fov 0": (lambda: f.Orbit(fov=0), "Orbit.fov: got 0; expected a number above 0, and below 180"),
    "fov 180": (lambda: f.Orbit(fov=180), "Orbit.fov: got 180"),
    "target two numbers": (lambda: f.Orbit(target=(0.0, 1.0)), "Orbit.target: got (0.0, 1.0); expected 3 numbers"),
    "target one number": (lambda: f.Orbit(target=1.0), "Orbit.target: got 1.0; expected 3 numbers"),
    "target a text": (lambda: f.Orbit(target="xyz"), "Orbit.target: got 'xyz'; expected 3 numbers"),
    "target with nan": (lambda: f.Orbit(target=(0, float("nan"), 0)), "Orbit.target[1]: got nan"),
    "size 0": (lambda: f.Orbit(size=0), "Orbit.size: got 0; expected a whole number, 1 or more"),
    "size negative": (lambda: f.Orbit(size=(16, -1)), "Orbit.size[1]: got -1"),
    "size half": (lambda: f.Orbit(size=(16.5, 16)), "Orbit.size[0]: got 16.5; expected a whole number"),
    "size three": (lambda: f.Orbit(size=(16, 16, 3)), "expected (height, width) in pixels"),
    "size a text": (lambda: f.Orbit(size="16x16"), "Orbit.size: got '16x16'"),
    "size beyond memory": (
        lambda: f.Orbit(size=100000),
        "got 100000 x 100000; expected at most 67108864",
    ),
    "size true": (lambda: f.Orbit(size=True), "Orbit.size: got True"),
    "near beyond far": (lambda: f.Orbit(near=5.0, far=1.0), "got near=5 and far=1 m; expected near < far"),
    "near 0": (lambda: f.Orbit(near=0.0), "Orbit.near: got 0"),
    "path of numbers": (lambda: f.Orbit(path=(0.0, 1.0)), "Orbit.path: expected waypoints"),
    "path of one": (lambda: f.Orbit(path=(f.Waypoint(0.0),)), "expected at least two"),
    "path backwards": (lambda: f.Orbit(path=(f.Waypoint(1.0), f.Waypoint(0.0))), "each later than the one before"),
    "viewpoint of a text": (lambda: f.Viewpoint("front"), "scene.camera: got 'front'; expected a camera"),
    "viewpoint of a class": (lambda: f.Viewpoint(f.Orbit), "scene.camera: got the class Orbit"),
    "offset nan": (lambda: f.Viewpoint(f.Orbit(), float("nan")), "Viewpoint.time_offset [s]: got nan"),
    "offset a text": (lambda: f.Viewpoint(f.Orbit(), "1 s"), "Viewpoint.time_offset [s]: got '1 s'"),
}
SCENE = {
    "params of another model": (lambda: scene(params=Params({"stiffnes": ONE}, D)), "nothing called 'stiffnes'"),
    "params true": (
        lambda: scene(params={"gravity": True}),
        "parameter 'gravity' [m/s^2]: got True; expected a number",
    ),
    "params one number for a vector": (lambda: scene(params={"velocity": 2.0}), "got one number, 2, for a vector"),
    "steps beyond counting": (lambda: scene(steps=10**12), "scene.steps: got 1000000000000; expected at most"),
    "background of another size": (lambda: scene(background=FRAMES[0, :8]), "got 16x8 pixels; the camera has 16x16"),
    "colour by name": (lambda: f.Appearance(colour="red"), "appearance.colour: got 'red'; expected 3 numbers"),
    "colour in 0..255": (lambda: f.Appearance(colour=(255, 0, 0)), "expected red, green and blue in 0..1"),
    "shading": (lambda: f.Appearance(shading="shiny"), "Appearance.shading: got 'shiny'; expected one of unlit"),
    "ambient a text": (lambda: f.Appearance(ambient="dim"), "Appearance.ambient: got 'dim'; expected a number"),
    "light from nowhere": (lambda: scene(lights=DirectionalLight((0, 0, 0))), "expected a direction other than"),
    "waypoint's time": (lambda: f.Waypoint("0 s"), "Waypoint.time: got '0 s'; expected a number"),
    "goal's time": (lambda: Goal("late"), "goal.at [s]: got 'late'"),
    "names of other unknowns": (
        lambda: scene(model=Named()),
        "scene.model: the prefix 'camera' in 'camera.mass' is reserved for the scene; choose another",
    ),
    "two models": (lambda: scene(model=[MODEL, MODEL]), "scene.model: got a list of 2; expected one model"),
    "model's name": (lambda: scene(model="femm"), "femm"),
    "model's table without a name": (lambda: scene(model={"mesh": "ball"}), "got a table without the model's"),
    "model's class": (lambda: scene(model=toys.ToyModel), "got the class ToyModel; expected an object: ToyModel()"),
    "no model": (lambda: scene(model=None), "scene.model: got None; expected a Model"),
    "renderer's class": (
        lambda: scene(renderer=toys.ToyRenderer),
        "scene.renderer: got the class ToyRenderer; expected an object: ToyRenderer()",
    ),
    "no renderer": (lambda: scene(renderer=None), "scene.renderer: got None; expected the name of a registered"),
    "unknown renderer": (lambda: scene(renderer="sofras"), "sofras"),
    "renderer a number": (lambda: scene(renderer=3), "scene.renderer: got 3"),
    "two cameras in a list": (lambda: scene(camera=[f.Orbit(), f.Orbit()]), 'several by label, such as {"front"'),
    "no cameras": (lambda: scene(camera={}), "scene.camera: got no cameras"),
    "camera's label": (lambda: scene(camera={"a b": f.Orbit()}), "got the label 'a b'"),
    "camera's label a number": (lambda: scene(camera={1: f.Orbit()}), "got the label 1"),
    "camera a text": (lambda: scene(camera="front"), "scene.camera: got"),
    "camera none": (lambda: scene(camera=None), "scene.camera: got None; expected a camera"),
    "params a list": (lambda: scene(params=[1.0]), "scene.params: got [1.0]; expected model.params(...)"),
    "params none": (lambda: scene(params=None), "scene.params: got None"),
    "params unknown": (lambda: scene(params={"gravty": 1.0}), "has no parameter 'gravty'; did you mean 'gravity'?"),
    "dt 0": (lambda: scene(dt=0.0), "scene.dt [s]: got 0; expected a number above 0"),
    "dt negative": (lambda: scene(dt=-1e-3), "scene.dt [s]: got -0.001"),
    "dt a text": (lambda: scene(dt="1 ms"), "scene.dt [s]: got '1 ms'"),
    "dt auto": (lambda: scene(dt="auto"), 'dt = "auto": ToyModel suggests no time step'),
    "steps a half": (lambda: scene(steps=1.5), "scene.steps: got 1.5; expected a whole number, 1 or more"),
    "steps 0": (lambda: scene(steps=0), "scene.steps: got 0"),
    "steps true": (lambda: scene(steps=True), "scene.steps: got True"),
    "steps a text": (lambda: scene(steps="10"), "scene.steps: got '10'"),
    "lights a colour": (lambda: scene(lights=(0.5,)), "scene.lights: got (0.5,); expected lights"),
    "lights of classes": (lambda: scene(lights=[AmbientLight]), "scene.lights: got"),
    "appearance a colour": (lambda: scene(appearance=(1, 0, 0)), "scene.appearance: got (1, 0, 0); expected a Appear"),
    "pattern": (lambda: f.Appearance(pattern="dots"), "appearance.pattern: got 'dots'; expected one of uniform"),
    "background a path": (lambda: scene(background="room.png"), "scene.background: got 'room.png'"),
    "background in 0..255": (lambda: scene(background=255 * torch.ones(16, 16, 3)), "divide by 255, or pass uint8"),
    "integrator a number": (lambda: scene(integrator=4), "scene.integrator: got 4; expected a Integrator"),
    "device": (lambda: scene(device="tpu"), "device: got 'tpu'; expected cpu or cuda"),
    "another view": (lambda: scene().select_view("side"), "the scene has no view 'side'"),
}
UNKNOWN = {
    "no name": (lambda: f.Unknown(""), "Unknown: got the name ''; expected that of a parameter"),
    "name a number": (lambda: f.Unknown(3), "Unknown: got the name 3"),
    "each a text": (lambda: f.Unknown("push", each="yes"), "unknown 'push': got each='yes'; expected True or False"),
    "scale 0": (lambda: f.Unknown("push", scale=0), "unknown 'push': scale: got 0"),
    "space": (lambda: f.Unknown("gravity", space="cubic"), "expected one of free, log, bounded"),
    "bounds one": (lambda: f.Unknown("gravity", bounds=(1.0,)), "expected (low, high), each a number or None"),
    "bounds a number": (lambda: f.Unknown("gravity", bounds=3.0), "got bounds=3.0"),
    "bounds reversed": (
        lambda: f.Unknown("gravity", bounds=(3.0, 1.0)),
        "got bounds 3 and 1; expected the first",
    ),
    "bounds nan": (lambda: f.Unknown("gravity", bounds=(float("nan"), 1.0)), "bounds: got nan"),
    "only a text": (lambda: f.Unknown("push", only="all"), "got only='all'; expected rows"),
    "only none of them": (lambda: f.Unknown("push", only=()), "got only=(); expected rows"),
    "only half a row": (lambda: f.Unknown("push", only=(0.5,)), "unknown 'push': only: got 0.5"),
    "only beyond": (lambda: fit([f.Unknown("push", only=(4,))]), "expected rows 0 to 0"),
    "only of one number": (lambda: fit([f.Unknown("gravity", only=(0,))]), "it is a single number for the whole model"),
    "no such parameter": (
        lambda: fit({"gravty": 1.0}),
        "unknown 'gravty': the scene has nothing of this name; did you mean 'gravity'?",
    ),
    "no such camera": (lambda: fit({"camera.tilt": 1.0}), "unknown 'camera.tilt': the scene has nothing of this name"),
    "start below bounds": (lambda: fit({"gravity": -1.0}), "it is searched in log space above 0"),
    "start on a bound": (lambda: fit({"bounce": 1.0}), "strictly between"),
    "start nan": (lambda: fit({"gravity": float("nan")}), "got a start of nan; expected finite numbers"),
    "start true": (lambda: fit({"gravity": True}), "unknown 'gravity'"),
    "start a word": (lambda: fit({"gravity": "much"}), "unknown 'gravity': got 'much'; expected a number in m/s^2"),
    "start in another unit": (lambda: fit({"gravity": "9 ft"}), "got '9 ft', in ft; expected in m/s^2"),
    "start of another shape": (lambda: fit({"gravity": [1.0, 2.0]}), "expected a number or shape ()"),
    "one number for a vector": (lambda: fit({"velocity": 1.0}), "got one number, 1, for a vector; expected its 3"),
    "one number for a target": (lambda: fit({"camera.target": 0.0}), "got one number, 0, for a vector"),
    "one number for a colour": (lambda: fit({"appearance.colour": 0.5}), "got one number, 0.5, for a vector"),
    "no start": (lambda: fit(["size"]), "it has no value in the scene; give it a start"),
    "twice": (lambda: fit(["gravity", "gravity"]), "unknown 'gravity' is given 2 times"),
    "a set": (lambda: fit({"gravity", "drag"}), "expected starts by name"),
    "a number": (lambda: fit(4.0), "unknowns: got 4.0; expected starts by name"),
    "nothing": (lambda: fit({}), "experiment.unknowns: got none; expected at least one parameter"),
    "policy without one": (lambda: fit(["policy"]), "the scene has no policy"),
}
FIT = {
    "scene a dict": (lambda: f.fit({}, target(), {"gravity": 1.0}), "fit: scene: got {}; expected a Scene"),
    "target none": (lambda: f.fit(scene(), None, {"gravity": 1.0}), "fit: target: got None; expected a Target or the"),
    "target an array": (lambda: fit(seen=np.zeros((3, 16, 16, 3))), "give the frames' times too: Target(times, frame"),
    "target a tensor": (lambda: fit(seen=FRAMES), "got a tensor of shape (3, 16, 16, 3); expected a Target"),
    "target absent": (lambda: fit(seen="no.mp4"), "video 'no.mp4': no such file or folder"),
    "target of another size": (lambda: fit(seen=target(frames=FRAMES[:, :8])), "the target is 16x8 pixels and the cam"),
    "target of other views": (lambda: fit(seen={"side": target()}), "the scene has no view 'side'"),
    "loss unknown": (lambda: fit(loss="silhouete"), "silhouete"),
    "loss's class": (lambda: fit(loss=f.PixelError), "fit: loss: got the class PixelError; expected an object: Pixel"),
    "loss a number": (lambda: fit(loss=2), "fit: loss: got 2; expected the name of a registered loss or a Loss"),
    "optimiser unknown": (lambda: fit(optimiser="adams"), "adams"),
    "optimiser's class": (lambda: fit(optimiser=f.Adam), "fit: optimiser: got the class Adam; expected an object: A"),
    "optimiser from torch": (lambda: fit(optimiser=torch.optim.Adam), "fit: optimiser: got the class Adam"),
    "iterations a half": (lambda: fit(iterations=1.5), "fit: iterations: got 1.5; expected a whole number"),
    "iterations 0": (lambda: fit(iterations=0), "fit: iterations: got 0"),
    "seed a text": (lambda: fit(seed="one"), "fit: seed: got 'one'"),
    "stop a number": (lambda: fit(stop=1e-6), "stage.stop: got 1e-06; expected a Stop"),
    "uncertainty none": (lambda: fit(uncertainty=None), "uncertainty: got None; expected one of blocks, laplace"),
    "no frames": (lambda: fit(seen=target(times=[], frames=FRAMES[:0])), "experiment.target: got no frames"),
    "truth one number for a vector": (lambda: made(velocity=1.0), "got one number, 1, for a vector; expected its 3"),
    "truth true": (lambda: made(gravity=True), "parameter 'gravity' [m/s^2]: got True"),
    "rate beyond counting": (lambda: f.synthesise(scene(), {}, rate=1e12), "which is 4e+11 frames in 0.4 s"),
    "rate and times": (lambda: f.synthesise(scene(), {}, [0.0, 0.1], rate=5), "got both times and rate"),
    "times a text": (lambda: f.synthesise(scene(), {}, "all"), "target.times: got 'all'"),
    "levels beyond 16 bits": (lambda: f.synthesise(scene(), {}, levels=10**40), "expected at most 65535"),
    "no video": (lambda: read_video(None), "read_video: got None; expected the path of a file or folder"),
    "no file": (lambda: load_file(None), "load_file: got None; expected the path of a file or folder"),
    "experiment of a dict": (lambda: build_experiment({}), "build_experiment: got {}; expected a Loaded"),
    "experiment of no file": (lambda: build_experiment("no.toml"), "experiment 'no.toml': no such file"),
    "uncertainty": (lambda: fit(uncertainty="bootstrap"), "uncertainty: got 'bootstrap'; expected one of blocks, lap"),
    "masks needed": (lambda: fit(loss="silhouette"), "target: got no masks"),
    "states needed": (lambda: fit(loss="state"), "a video has none"),
    "run a scene": (lambda: f.run_fit(scene()), "run_fit: experiment: got"),
    "truth misspelt": (
        lambda: made(gravty=4.0),
        "truth: the scene has nothing called 'gravty'; did you mean 'gravity'",
    ),
    "truth of a camera": (lambda: f.synthesise(scene(), {"camera.tilt": 4.0}), "nothing called 'camera.tilt'"),
    "truth a list": (lambda: f.synthesise(scene(), ["gravity"]), "synthesise: truth: got ['gravity']; expected values"),
    "truth a number": (lambda: f.synthesise(scene(), 4.0), "synthesise: truth: got 4.0"),
    "truth out of bounds": (lambda: made(gravity=-4.0), "parameter 'gravity' [m/s^2]: got -4; expected at least 0"),
    "truth nan": (lambda: made(gravity=float("nan")), "parameter 'gravity'"),
    "truth of a shape": (lambda: made(gravity=[1.0, 2.0]), "got shape (2,)"),
    "truth in another unit": (lambda: made(gravity="3 Pa"), "truth.gravity: got '3 Pa', in Pa; expected in m/s^2"),
    "rate 0": (lambda: f.synthesise(scene(), {}, rate=0), "synthesise: rate [frames/s]: got 0; expected a number ab"),
    "rate negative": (lambda: f.synthesise(scene(), {}, rate=-1), "rate [frames/s]: got -1"),
    "levels 0": (lambda: f.synthesise(scene(), {}, levels=0), "synthesise: levels: got 0"),
    "levels a half": (lambda: f.synthesise(scene(), {}, levels=2.5), "synthesise: levels: got 2.5"),
    "times too late": (lambda: f.synthesise(scene(), {}, times=[0.0, 9.0]), "but the simulation covers 0 s to 0.4 s"),
}
TARGET = {
    "frames in 0..255": (lambda: target(frames=200.0 * torch.ones(3, 16, 16, 3)), "divide by 255, or pass uint8"),
    "frames of 3 axes": (lambda: target(frames=FRAMES[0]), "target.frames: got shape (16, 16, 3); expected 4 axes"),
    "frames of 2 channels": (lambda: target(frames=FRAMES[..., :2]), "expected (frames, height, width, 3 or 4)"),
    "frames of integers": (
        lambda: target(frames=torch.zeros(3, 4, 4, 3, dtype=torch.int32)),
        "expected uint8",
    ),
    "frames with nan": (lambda: target(frames=FRAMES / 0.0), "got NaN or infinity"),
    "frames a list": (lambda: target(frames=[1, 2, 3]), "target.frames: got [1, 2, 3]; expected an array or tensor"),
    "frames a path": (lambda: target(frames="clip.mp4"), "target.frames: got 'clip.mp4'"),
    "masks of another size": (lambda: target(masks=FRAMES[:, :8, :, 0]), "expected frames and masks of one size"),
    "no pixels": (lambda: target(frames=FRAMES[:, :0]), "got images of 16x0 pixels"),
    "too few times": (lambda: target(times=TIMES[:2]), "target.frames: got 3 for 2 times; expected one per time"),
    "times backwards": (lambda: target(times=[0.2, 0.1, 0.0]), "target.times: expected each later than the one before"),
    "times alike": (lambda: target(times=[0.0, 0.0, 0.1]), "target.times: expected each later"),
    "times nan": (lambda: target(times=[0.0, float("nan"), 1.0]), "target.times: got shape (3,); expected one finite"),
    "times a table": (lambda: target(times=[[0.0], [1.0], [2.0]]), "target.times: got shape (3, 1)"),
    "times a text": (lambda: target(times="all"), "target.times: got 'all'; expected the frames' times [s]"),
    "masks of 4 axes": (lambda: target(masks=FRAMES), "target.masks: got shape (3, 16, 16, 3); expected 3 axes"),
    "frame beyond": (lambda: target().select([3]), "target frames: got 3; this target has frames 0 to 2"),
    "no targets": (lambda: f.Targets({}), "targets: got none"),
    "no such video": (lambda: read_video("absent.mp4"), "video 'absent.mp4': no such file or folder"),
    "every 0": (lambda: read_video(Path(__file__), every=0), "got every=0; expected 1 or more"),
}
STAGE = {
    "optimiser unknown": (lambda: f.Stage("adams"), "adams"),
    "optimiser's class": (lambda: f.Stage(GaussNewton), "stage.optimiser: got the class GaussNewton; expected an obj"),
    "iterations 0": (lambda: f.Stage(GaussNewton(), 0), "stage.iterations: got 0"),
    "iterations a half": (lambda: f.Stage(GaussNewton(), 2.5), "stage.iterations: got 2.5"),
    "loss a number": (lambda: f.Stage(GaussNewton(), loss=1), "stage.loss: got 1"),
    "adam's rate a text": (lambda: f.Adam("fast"), "Adam.rate: got 'fast'; expected a number"),
    "adam's rate negative": (lambda: f.Adam(-1.0), "adam.rate: got -1; expected a number above 0"),
    "gradient descent's rate": (lambda: f.Sgd(0.0), "sgd.rate: got 0; expected a number above 0"),
    "cma's sigma": (lambda: f.CmaEs(sigma=-1.0), "cma.sigma: got -1; expected a number above 0"),
    "cma's population": (lambda: f.CmaEs(population=2.5), "CmaEs.population: got 2.5; expected a whole number"),
    "loss's setting": (lambda: f.PixelError(coverage="yes"), "PixelError.coverage: got 'yes'; expected True or False"),
    "schedule of texts": (lambda: f.Schedule("a", "b"), "Schedule.first: got 'a'; expected a number"),
    "schedule from nan": (lambda: f.Schedule(float("nan"), 1.0), "Schedule.first: got nan; expected a number"),
    "horizon 2": (lambda: f.Stage(GaussNewton(), horizon=2.0), "got a horizon of 2; expected a part of the time"),
    "horizon 0": (lambda: f.Stage(GaussNewton(), horizon=0.0), "stage.horizon: got 0"),
    "rate a text": (lambda: f.Stage(GaussNewton(), rate="fast"), "stage.rate: got 'fast'"),
    "stop a dict": (lambda: f.Stage(GaussNewton(), stop={"loss": 1}), "stage.stop: got {'loss': 1}; expected a Stop"),
    "patience 0": (lambda: f.Stop(patience=0), "stop.patience: got 0; expected a whole number, 1 or more"),
    "patience a half": (lambda: f.Stop(patience=1.5), "stop.patience: got 1.5"),
    "change negative": (lambda: f.Stop(change=-1.0), "stop.change: got -1; expected a number of at least 0"),
    "seconds a text": (lambda: f.Stop(seconds="1 min"), "stop.seconds: got '1 min'"),
    "no stages": (lambda: experiment(stages=()), "experiment: got no stages"),
    "stages of optimisers": (lambda: experiment(stages=(GaussNewton(),)), "experiment.stages[0]: got"),
    "scene none": (lambda: experiment(scene=None), "experiment.scene: got None; expected a Scene"),
    "loss none": (lambda: experiment(loss=None), "experiment.loss: got None"),
    "only nobody": (
        lambda: f.run_fit(experiment(stages=(f.Stage(GaussNewton(), only=("drag",)),))),
        "stage: there is no unknown 'drag'",
    ),
    "renderer's setting": (
        lambda: f.run_fit(experiment(stages=(f.Stage(GaussNewton(), renderer={"sigm": f.Schedule(1, 2)}),))),
        "has no setting 'sigm'; did you mean 'sigma'?",
    ),
    "step 0": (lambda: check(step=0.0), "check_gradient: step: got 0; expected a number above 0"),
    "entries 0": (lambda: check(entries=0), "check_gradient: entries: got 0; expected a whole number, 1 or more"),
    "tolerance 0": (lambda: check(tolerance=0.0), "check_gradient: tolerance: got 0"),
    "report of nothing": (lambda: write_report("x", experiment(), None), "write_report: result: got None"),
    "report of a scene": (lambda: write_report("x", scene(), None), "write_report: experiment: got"),
    "report nowhere": (lambda: write_report(None, experiment(), None), "write_report: folder: got None"),
    "prior without deviation": (lambda: Gaussian({"gravity": 1.0}, {}), "expected both for each"),
    "prior of no width": (
        lambda: Gaussian({"gravity": 1.0}, {"gravity": 0.0}),
        "got a deviation of 0.0",
    ),
    "prior in words": (lambda: Gaussian({"gravity": "much"}, {"gravity": 1.0}), "gravity: mean: got 'much'"),
    "prior of nobody": (
        lambda: experiment(gaussian=Gaussian({"drg": 1.0}, {"drg": 1.0})),
        "prior.gaussian.drg: not an unknown",
    ),
    "prior of another shape": (
        lambda: experiment(gaussian=Gaussian({"gravity": 1.0}, {"gravity": [1.0, 2.0]})),
        "got a deviation of shape (2,); expected () or ()",
    ),
    "prior against no noise": (lambda: Gaussian({}, {}, 0.0), "prior.noise: got 0; expected more than 0"),
}
CALLS = {
    f"{kind}: {name}": row
    for kind, table in (
        ("camera", CAMERA),
        ("scene", SCENE),
        ("unknown", UNKNOWN),
        ("fit", FIT),
        ("target", TARGET),
        ("stage", STAGE),
    )
    for name, row in table.items()
}


def check(**options):
    made_up = experiment()
    return check_gradient(made_up.objective(), made_up.start(), **options)


FILE = """
[model]
name = "toy"
[time]
dt = 0.04
steps = 10
integrator = "toy_steps"
[camera]
distance = 5
size = [16, 16]
[renderer]
name = "spots"
[target]
rate = 25
[truth]
gravity = 6.0
[unknowns.gravity]
start = 9.0
"""
FILES = {
    "no model": ('del model', "model: give either [model] or, for several bodies that touch, [[bodies]]"),
    "no time": ('del time', "time: this is missing"),
    "model unknown": ('model.name = "toyy"', "toyy"),
    "model's setting": ("model.cout = 2", "model.cout: 'toy' has no such setting; did you mean 'count'?"),
    "key": ("camra = {}", "camra: unknown key; did you mean 'camera'?"),
    "params unknown": ("params.gravty = 1.0", "has no parameter 'gravty'; did you mean 'gravity'?"),
    "params a text": ('params.gravity = "much"', "params.gravity: got 'much'; expected a number in m/s^2"),
    "params in another unit": ('params.gravity = "3 ft"', "params.gravity: got '3 ft', in ft; expected in m/s^2"),
    "params true": ("params.gravity = true", "params.gravity: got True; expected a number"),
    "dt 0": ("time.dt = 0.0", "time.dt"),
    "dt negative": ("time.dt = -0.1", "time.dt"),
    "dt a word": ('time.dt = "fast"', "time.dt"),
    "dt auto": ('time.dt = "auto"', "ToyModel suggests no time step"),
    "steps and duration": ("time.duration = 1.0", "time: give either steps or duration"),
    "steps a half": ("time.steps = 1.5", "time.steps: got 1.5; expected a whole number"),
    "steps 0": ("time.steps = 0", "time.steps: got 0; expected at least 1"),
    "integrator": ('time.integrator = "rk5"', "rk5"),
    "gradient": ('time.gradient = "all"', "time.gradient: got 'all'; expected one of 'store_all', 'checkpointed'"),
    "precision": ('precision = "float16"', "precision: got 'float16'"),
    "device": ('device = "tpu"', "device: got 'tpu'; expected cpu or cuda"),
    "seed a text": ('seed = "one"', "seed: got 'one'; expected a whole number"),
    "fov": ("camera.fov = 200", "camera.fov: got 200; expected less than 180"),
    "distance": ("camera.distance = -1", "camera.distance: got -1; expected more than 0"),
    "size": ("camera.size = [16]", "camera.size"),
    "size 0": ("camera.size = [0, 16]", "Orbit.size[0]: got 0"),
    "camera kind": ('camera.kind = "drone"', "drone"),
    "camera key": ("camera.zoomed = 2", "camera.zoomed: unknown key"),
    "renderer's setting out of place": ("renderer.sigma = 2.0", "put settings in a table of the renderer's name"),
    "renderer's table misspelt": ("renderer.spotz.sigma = 2.0", "no renderer is called 'spotz'; did you mean 'spots'?"),
    "renderer's value a text": ('renderer.spots.sigma = "soft"', "renderer.spots.sigma: got 'soft'; expected a number"),
    "video's key": ("target.begin = 1.0", "target.begin: only a video has one; give target.video"),
    "frame twice": ("target.frames.use = [1, 1]", "target.frames.use: got [1, 1]; expected each frame once"),
    "params one number for a vector": ("params.velocity = 2.0", "got one number, 2, for a vector; expected its 3"),
    "truth one number for a vector": ("truth.velocity = 2.0", "got one number, 2, for a vector; expected its 3"),
    "optimiser's value": ('stages = [{ optimiser = { name = "adam", rate = "fast" } }]', "got 'fast'; expected a num"),
    "draw reversed": ("params.gravity = { uniform = [2.0, 1.0] }", "expected the lower number first"),
    "draw of negative width": ("params.gravity = { normal = [2.0, -1.0] }", "a deviation of at least 0"),
    "prior of another shape": ("prior.gaussian.gravity = { mean = 1.0, deviation = [1, 2] }", "expected () or ()"),
    "renderer unknown": ('renderer.name = "spot"', "spot"),
    "renderer's setting": ("renderer.spots.sigm = 1.0", "has no such setting; did you mean 'sigma'?"),
    "renderer's value": ("renderer.spots.sigma = -1.0", "got sigma=-1; expected a positive number of pixels"),
    "pattern": ('appearance.pattern = "dots"', "appearance.pattern: got 'dots'"),
    "light": ('lights = [{ kind = "lamp" }]', "lights.0.kind: got 'lamp'"),
    "light's key": ('lights = [{ kind = "ambient", position = [0, 0, 0] }]', "has no 'position'"),
    "no target": ("del target", "target: this is missing"),
    "no video": ('target.video = "absent.mp4"', "no such file or folder"),
    "masks alone": ('target.masks = "m"', "target.masks: only a video has one"),
    "frames beyond": ("target.frames.use = [99]", "target.frames.use: got 99; the target has frames 0 to 10"),
    "frames too late": ("target.frames.first = 99", "no frame is left of 11"),
    "rate 0": ("target.rate = 0", "target.rate: got 0; expected more than 0"),
    "levels 0": ("target.levels = 0", "target.levels: got 0; expected at least 1"),
    "no truth": ("del truth", "truth: this is empty"),
    "truth misspelt": ("truth.gravty = 1.0", "truth.gravty: the scene has nothing called 'gravty'; did you mean 'grav"),
    "nothing unknown": ("del unknowns", "unknowns: nothing is unknown"),
    "unknown misspelt": ("unknowns.drg = { start = 1.0 }", "unknowns.drg: the scene has nothing called 'drg'; did you"),
    "unknown's key": ("unknowns.gravity.begin = 1.0", "unknowns.gravity.begin: unknown key"),
    "unknown's start": ("unknowns.gravity.start = -1.0", "it is searched in log space above 0"),
    "unknown's space": ('unknowns.gravity.space = "cubic"', "unknowns.gravity.space: got 'cubic'"),
    "unknown's bounds": ("unknowns.gravity.bounds = [3.0, 1.0]", "got bounds 3 and 1; expected the first smaller"),
    "one number for a vector": ("unknowns.velocity = { start = 1.0 }", "got one number, 1, for a vector"),
    "loss unknown": ('loss = "mes"', "mes"),
    "loss's setting": ('loss = { name = "mse", scale = 1 }', "loss.scale: 'mse' has no such setting"),
    "optimiser unknown": ('stages = [{ optimiser = "adams" }]', "adams"),
    "optimiser's setting": ('stages = [{ optimiser = { name = "adam", lr = 1 } }]', "optimiser.lr: 'adam' has no such"),
    "no stages": ("stages = []", "stages"),
    "iterations 0": ('stages = [{ optimiser = "adam", iterations = 0 }]', "iterations: got 0; expected at least 1"),
    "stop's key": ('stages = [{ optimiser = "adam", stop = { los = 1 } }]', "stop.los: unknown key"),
    "prior of nobody": ("prior.gaussian.drag = { mean = 1.0, deviation = 0.1 }", "prior.gaussian.drag: not an unknown"),
    "prior of no width": ("prior.gaussian.gravity = { mean = 1.0, deviation = 0.0 }", "got a deviation of 0.0"),
    "prior without deviation": ("prior.gaussian.gravity = { mean = 1.0 }", "gravity.deviation: this is missing"),
    "uncertainty": ('uncertainty = "bootstrap"', "uncertainty: got 'bootstrap'"),
    "draw": ("unknowns.gravity.start = { uniform = [1.0] }", "expected two numbers"),
    "of truth": ("unknowns.drag = { start = { uniform = [1, 2], of_truth = true } }", "of_truth needs the true value"),
}  # fmt: skip


def test_the_table_is_long_enough(capsys):
    with capsys.disabled():
        print(f"{len(CALLS)} wrong calls and {len(FILES)} wrong files")
    assert len(CALLS) + len(FILES) >= 150


@pytest.mark.parametrize("name", CALLS)
def test_a_wrong_call_is_refused_in_words(name, toy_registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, message = CALLS[name]
    with pytest.raises((InputError, PluginError)) as caught:
        call()
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_file_is_refused_in_words(name, toy_registry, tmp_path):
    change, message = FILES[name]
    data = tomllib.loads(FILE)
    if change.startswith("del "):
        del data[change[4:]]
    else:
        _merge(data, tomllib.loads(change))
    with pytest.raises((InputError, PluginError)) as caught:
        build_experiment(load_data(data, tmp_path, "wrong.toml"))
    assert message in str(caught.value)


def _merge(data, change):
    for key, value in change.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            _merge(data[key], value)
        else:
            data[key] = copy.deepcopy(value)


def test_what_people_pass_is_taken(toy_registry):
    """Names, one number for a square, arrays, bytes, numbers from NumPy, units with a prefix."""
    assert f.Orbit(np.float64(5.0), target=np.zeros(3), size=np.int64(48)).size == (48, 48)
    drawn = scene(renderer="spots", lights=AmbientLight(0.5), steps=10.0, params={"gravity": 6.0})
    assert isinstance(drawn.renderer, toys.ToyRenderer)
    assert (drawn.steps, len(drawn.lights), drawn.dtype) == (10, 1, torch.float32)
    seen = f.Target(np.arange(3) / 10, np.full((3, 16, 16, 3), 51, dtype=np.uint8))
    assert float(seen.frames.max()) == pytest.approx(0.2)
    assert seen.step == pytest.approx(1 / 255)
    assert float(f.synthesise(scene(), {"gravity": "6 m/s^2"}).truth["gravity"]) == 6.0
    video = f.synthesise(scene(), {"gravity": 6.0})
    found = f.fit(scene(), video, "gravity", loss="mse", optimiser="gauss_newton", iterations=np.int64(8))
    assert float(found["gravity"]) == pytest.approx(6.0, rel=1e-6)
    sized = f.fit(scene(), video, {"size": "500 mm"}, iterations=1)
    assert float(sized.estimates[0].start) == 0.5
    assert replace(f.Stage("adam", horizon=0.5)).horizon.at(0, 1) == 0.5
