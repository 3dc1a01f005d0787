"""Optimisers, video readers and cameras that a plugin brings, used by name from an experiment file."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from toy_file import TOY

from diffloom.interfaces import Camera, InputError, ParamSpec
from diffloom.plugins import hookimpl
from diffloom_experiments import build_experiment, build_scene, load_file
from diffloom_fitting import Adam, CameraPlacement, Optimiser, Progress, first_evaluation, run_fit, take_step
from diffloom_fitting.kinds import CAMERAS, OPTIMISERS
from diffloom_video import VideoReader, read_video
from diffloom_video.kinds import VIDEO_READERS


@dataclass(frozen=True)
class SignDescent(Optimiser):
    """Steps of one length against the gradient's sign."""

    length: float = 0.02

    def begin(self, problem, z, seed):
        return first_evaluation(problem, z)

    def step(self, problem, progress: Progress, rate):
        return take_step(progress, -self.length * rate * progress.gradient.sign(), progress.memory)


@dataclass(frozen=True)
class NumpyVideo(VideoReader):
    """An array (frames, height, width, 3) in a .npy file."""

    flip: bool = False

    def frames(self, path, rate):
        for number, frame in enumerate(np.load(path)):
            yield number / (rate or 1.0), frame[::-1] if self.flip else frame


@dataclass(frozen=True)
class Rail(CameraPlacement):
    """A camera that looks along -z from a place on a rail."""

    along: float = 0.0
    back: float = 6.0
    size: tuple[int, int] = (32, 32)

    @property
    def specs(self):
        return (ParamSpec("along", self.along, "m", "to the right"),)

    def camera(self, dtype, values=None, times=None):
        along = torch.as_tensor((values or {}).get("along", self.along), dtype=dtype)
        eye = torch.stack([along, torch.zeros((), dtype=dtype), torch.tensor(self.back, dtype=dtype)])
        aim = torch.stack([along, torch.zeros((), dtype=dtype), torch.zeros((), dtype=dtype)])
        return Camera.look_at(eye, aim, size=self.size, dtype=dtype)


@dataclass(frozen=True)
class Recording(Rail):
    """Orbit that records the times for which it is asked."""

    asked: list = field(default_factory=list)

    def camera(self, dtype, values=None, times=None):
        self.asked.append(times)
        return super().camera(dtype, values)


class Offers:
    @hookimpl
    def diffloom_register_optimisers(self, register):
        register("sign", SignDescent, summary="Steps of one length")

    @hookimpl
    def diffloom_register_video_readers(self, register):
        register("npy", NumpyVideo, summary="Arrays")

    @hookimpl
    def diffloom_register_cameras(self, register):
        register("rail", Rail, summary="On a rail")


@pytest.fixture
def toy_file(tmp_path, toy_registry):
    toy_registry.install(Offers(), "offers")
    path = tmp_path / "toy.toml"
    path.write_text(TOY)
    return path


def test_an_optimiser_is_chosen_and_set_by_name(toy_file):
    settings = ["stages=[]", 'stages.0={optimiser={name="sign", length=0.01}, iterations=3}']
    experiment = build_experiment(load_file(toy_file, settings=settings))
    assert experiment.stages[0].optimiser == SignDescent(0.01)
    result = run_fit(experiment, sure=False)
    assert result.reason == "3 iterations are done"
    assert result.loss < result.start_loss


def test_its_settings_are_checked_like_any_others(toy_file):
    settings = ["stages=[]", 'stages.0={optimiser={name="sign", lenght=0.01}}']
    with pytest.raises(InputError, match=r"stages\.0\.optimiser\.lenght: 'sign' has no such setting; did you mean"):
        build_experiment(load_file(toy_file, settings=settings))


def test_a_name_that_nobody_offers_lists_those_there_are(toy_file):
    with pytest.raises(InputError, match=r"no optimiser 'singn'\. Did you mean 'sign'\? Installed optimisers: adam,"):
        build_experiment(load_file(toy_file, settings=["stages=[]", 'stages.0={optimiser="singn"}']))


def test_a_reader_reads_what_it_is_for(toy_file, tmp_path):
    video = np.random.default_rng(0).random((3, 8, 10, 3))
    np.save(tmp_path / "clip.npy", video)
    found = read_video(tmp_path / "clip.npy", rate=4.0, reader="npy", dtype=torch.float64)
    assert torch.equal(found.frames, torch.from_numpy(video))
    assert found.times.tolist() == [0.0, 0.25, 0.5]
    assert found.step == 0.0, "floating-point frames have no grey levels"
    turned = read_video(tmp_path / "clip.npy", reader=NumpyVideo(flip=True), dtype=torch.float64)
    assert torch.equal(turned.frames, torch.from_numpy(video).flip(1))
    np.save(tmp_path / "clip.npy", (255.0 * video).astype(np.uint8))
    assert read_video(tmp_path / "clip.npy", reader="npy").step == pytest.approx(1.0 / 255.0)
    np.save(tmp_path / "clip.npy", video[..., 0])
    with pytest.raises(InputError, match=r"its reader gives frames of shape \(8, 10\); expected \(height, width, 3\)"):
        read_video(tmp_path / "clip.npy", reader="npy")


def test_a_file_names_a_reader_and_its_settings(toy_file, tmp_path):
    np.save(tmp_path / "clip.npy", np.random.default_rng(0).random((6, 16, 16, 3)))
    chosen = ["target.video=clip.npy", "target.rate=60"]
    turned = load_file(toy_file, settings=[*chosen, 'target.reader={name="npy", flip=true}'])
    upright = load_file(toy_file, settings=[*chosen, 'target.reader="npy"'])
    first, second = (build_experiment(each).target.frames for each in (turned, upright))
    assert len(first) > 1
    assert torch.equal(first, second.flip(1))
    with pytest.raises(InputError, match=r"target\.reader: only a video has one"):
        build_experiment(load_file(toy_file, settings=['target.reader="npy"']))


def test_a_camera_of_another_kind_is_used_and_sought(toy_file):
    loaded = load_file(toy_file, changes={"camera": {"kind": "rail", "size": [24, 24], "settings": {"back": 5.0}}})
    scene = build_scene(loaded)
    assert scene.camera == Rail(back=5.0, size=(24, 24))
    changes = {"camera": {"kind": "rail", "size": [24, 24]}, "truth": {"camera.along": 0.3},
               "unknowns": {"camera.along": {"start": 0.0}}}  # fmt: skip
    result = run_fit(build_experiment(load_file(toy_file, changes=changes)), sure=False)
    assert float(result["camera.along"]) == pytest.approx(0.3, abs=1e-6)


def test_a_camera_is_told_the_times_of_the_frames(toy_file):
    camera = Recording(size=(16, 16))
    # The second frame lies between two steps.
    times = torch.tensor([0.0, 0.1, 0.32], dtype=torch.float64)
    replace(build_scene(load_file(toy_file)), camera=camera).render({}, times)
    (asked,) = camera.asked
    assert torch.allclose(asked, times, rtol=1e-12)


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ({"kind": "rail", "distance": 3.0}, r"camera\.distance: this belongs to an orbit, and camera\.kind is 'rail'"),
        ({"kind": "rail", "settings": {"bak": 3.0}}, r"camera\.bak: 'rail' has no such setting; did you mean 'back'"),
        ({"settings": {"back": 3.0}}, r"camera\.settings: these belong to other kinds"),
        ({"kind": "rial"}, r"camera: there is no camera 'rial'\. Did you mean 'rail'\?"),
    ],
)
def test_faults_of_a_camera_are_explained(toy_file, camera, message):
    with pytest.raises(InputError, match=message):
        build_scene(load_file(toy_file, changes={"camera": camera}))


def test_the_projects_own_optimisers_are_registered(toy_registry):
    assert toy_registry.get(OPTIMISERS, "adam") is Adam
    assert set(toy_registry.names(OPTIMISERS)) == {
        "adam",
        "cma",
        "gauss_newton",
        "basin_hopping",
        "lbfgs",
        "line_scan",
        "sgd",
    }
    assert toy_registry.names(VIDEO_READERS) == ("folder", "video")
    assert toy_registry.names(CAMERAS) == ("free", "orbit")
