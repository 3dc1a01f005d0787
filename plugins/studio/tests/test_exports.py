"""Exported files are read back by the libraries of each format, and has the same numbers."""

import csv
import json

import numpy as np
import pytest
import torch
import trimesh
from click.testing import CliRunner
from PIL import Image
from toy_file import TOY

from diffloom.interfaces import InputError
from diffloom_studio.commands.forward import export as command, render
from diffloom_studio.commands.run import run
from diffloom_studio.exports import export
from diffloom_studio.playback import compute_strain, load_playback, scale_colours
from diffloom_studio.presentation import read_size, resize_camera
from diffloom_video import read_video


@pytest.fixture
def folder(tmp_path, toy_registry, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.toml").write_text(TOY)
    done = CliRunner().invoke(run, ["toy.toml", "--out", "out", "--no-report"], catch_exceptions=False)
    assert done.exit_code == 0
    return tmp_path / "out"


@pytest.fixture
def playback(folder):
    return load_playback(folder)


def test_a_run_has_start_fit_and_truth_and_a_file_no_fit(playback, folder):
    assert list(playback.values) == ["start", "fit", "truth"]
    assert list(load_playback(folder.parent / "toy.toml").values) == ["start", "truth"]
    fit, truth = playback.body("fit"), playback.body("truth")
    assert np.abs(fit.vertices - truth.vertices).max() < 1e-3
    with pytest.raises(InputError, match="got the body 'guess'"):
        playback.body("guess")


def test_a_glb_holds_every_frame_as_a_morph_target(playback, tmp_path):
    body = playback.body("fit", playback.times(5))
    path = export(playback, tmp_path / "fit.glb", frames=5)
    loaded = trimesh.load(path)
    (mesh,) = loaded.geometry.values()
    np.testing.assert_allclose(mesh.vertices, body.vertices[0], atol=1e-6)
    content = path.read_bytes()
    length = int.from_bytes(content[12:16], "little")
    tree, data = json.loads(content[20 : 20 + length]), content[28 + length :]

    def values(number):
        accessor = tree["accessors"][number]
        view = tree["bufferViews"][accessor["bufferView"]]
        return np.frombuffer(data[view["byteOffset"] :][: view["byteLength"]], "<f4")

    (primitive,) = tree["meshes"][0]["primitives"]
    moved = np.stack([values(one["POSITION"]).reshape(-1, 3) for one in primitive["targets"]])
    np.testing.assert_allclose(body.vertices[0] + moved, body.vertices[1:], atol=1e-6)
    sampler = tree["animations"][0]["samplers"][0]
    np.testing.assert_allclose(values(sampler["input"]), body.times, rtol=1e-6)
    np.testing.assert_array_equal(values(sampler["output"]).reshape(5, 4), np.eye(5)[:, 1:])
    assert tree["buffers"][0]["byteLength"] == len(data)


@pytest.mark.parametrize("kind", ["ply", "obj"])
def test_a_sequence_of_meshes(playback, tmp_path, kind):
    body = playback.body("truth", playback.times(3))
    place = export(playback, tmp_path / f"truth.{kind}", "truth", frames=3)
    assert sorted(p.name for p in place.iterdir()) == [f"frame_{k:04d}.{kind}" for k in range(3)] + ["times.csv"]
    mesh = trimesh.load(place / f"frame_0002.{kind}", process=False)
    np.testing.assert_allclose(mesh.vertices, body.vertices[2], atol=1e-6)


def test_a_table_of_the_trajectory(playback, tmp_path):
    body = playback.body("fit", playback.times(4))
    rows = list(csv.DictReader(export(playback, tmp_path / "fit.csv", frames=4).open()))
    assert list(rows[0]) == ["time", "node", "q0", "q1", "q2", "u0", "u1", "u2"]
    assert len(rows) == 4
    assert [float(r["q1"]) for r in rows] == body.trajectory.q[:, 0, 1].tolist()
    assert [float(r["time"]) for r in rows] == body.times.tolist()


def test_parquet(playback, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    table = parquet.read_table(export(playback, tmp_path / "fit.parquet", frames=4))
    assert table.column("u1").to_pylist() == playback.body("fit", playback.times(4)).trajectory.u[:, 0, 1].tolist()


@pytest.mark.parametrize("kind", ["usda", "usdc"])
def test_usd_has_a_sample_for_each_time(playback, tmp_path, kind):
    pxr = pytest.importorskip("pxr", reason="usd-core is not installed")
    path = export(playback, tmp_path / f"fit.{kind}", frames=4)
    from pxr import Usd, UsdGeom

    assert pxr is not None
    stage = Usd.Stage.Open(str(path))
    points = UsdGeom.Mesh(stage.GetDefaultPrim()).GetPointsAttr()
    body = playback.body("fit", playback.times(4))
    assert points.GetTimeSamples() == pytest.approx(1000.0 * body.times)
    found = np.array(points.Get(1000.0 * float(body.times[3])))
    np.testing.assert_allclose(found, body.vertices[3], atol=1e-6)


@pytest.mark.parametrize("ending", ["mp4", "gif"])
def test_a_video_of_a_view(playback, tmp_path, ending):
    video = read_video(export(playback, tmp_path / f"fit.{ending}", frames=5))
    assert len(video) == 5
    assert video.size[0] >= 240
    assert float(video.frames.max()) > 0.3


def test_the_command_and_its_errors(folder, tmp_path):
    done = CliRunner().invoke(command, [str(folder), str(tmp_path / "x" / "motion.csv"), "--frames", "3"])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "x" / "motion.csv").exists()
    with pytest.raises(InputError, match="expected one of glb"):
        export(load_playback(folder), tmp_path / "fit.doc")
    with pytest.raises(InputError, match="at least 2"):
        export(load_playback(folder), tmp_path / "fit.csv", frames=1)


def test_strain_is_that_of_a_known_stretch():
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0.3, 0.2, 1]], dtype=np.float32)
    faces = np.array([[0, 1, 2], [0, 1, 3]])
    turn = torch.linalg.qr(torch.randn(3, 3, generator=torch.Generator().manual_seed(3)))[0].numpy()
    assert compute_strain(rest, rest @ turn + 2.0, faces) == pytest.approx(np.zeros(4), abs=1e-6)
    assert compute_strain(rest, (1.25 * rest) @ turn, faces) == pytest.approx(np.full(4, 0.25), abs=1e-6)
    longer = rest * np.array([1.5, 1.0, 1.0], dtype=np.float32)
    assert compute_strain(rest, longer, faces[:1])[:3] == pytest.approx(np.full(3, 0.5), abs=1e-6)
    colours = scale_colours(np.array([0.0, 0.25, 9.0]), 0.5)
    assert colours[0].tolist() == [68, 1, 84]
    assert colours[2].tolist() == [253, 231, 37]


def test_a_run_is_drawn_in_any_size(folder, tmp_path):
    done = CliRunner().invoke(
        render,
        [
            str(folder),
            "--renderer",
            "soft_spots",
            "--size",
            "96x64",
            "--frames",
            "3",
            "--out",
            str(tmp_path / "a.webp"),
        ],
    )
    assert done.exit_code == 0, done.output
    clip = Image.open(tmp_path / "a.webp")
    assert (clip.n_frames, clip.size, clip.is_animated) == (3, (96, 64), True)
    frames = []
    for k in range(3):
        clip.seek(k)
        frames.append(np.asarray(clip.convert("RGB")).astype(float))
    # The ground is lighter than the black behind the toys.
    assert frames[0][-8:].mean() > 120.0
    assert np.abs(frames[0] - frames[-1]).max() > 25.0


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--size", "big"], "expected one of 480p"), (["--size", "33x20"], "even sides"), (["--quick"], "own settings")],
)
def test_a_wrong_size_and_options_of_files_are_refused(folder, options, message):
    done = CliRunner().invoke(render, [str(folder), "--renderer", "soft_spots", *options])
    assert done.exit_code != 0
    assert message in done.output + str(done.exception)


def test_another_size_keeps_the_height_that_is_seen(playback):
    scene = playback.experiment.scene
    camera = scene.camera_at({}, torch.zeros(1, dtype=torch.float64))
    wide = resize_camera(camera, (2 * camera.height, 3 * camera.height))
    assert (wide.height, wide.width) == (2 * camera.height, 3 * camera.height)
    for row in (0.0, camera.height):
        assert float((row - camera.centre[1]) / camera.focal[1]) == pytest.approx(
            float((2 * row - wide.centre[1]) / wide.focal[1])
        )
    assert read_size("1080p") == (1080, 1920)
    assert read_size("1280x720") == (720, 1280)
