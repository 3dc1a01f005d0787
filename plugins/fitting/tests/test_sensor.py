"""Sensor of a camera: each quantity known, sought or off, with exact gradients."""

import dataclasses

import fitting_toys
import pytest
import torch

import diffloom_fitting as fitting
from diffloom.interfaces import InputError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.gradient_check import check_gradient
from diffloom_fitting.losses.track import measure_outline_tracks
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.scene.projection import distort

SIZE = (20, 28)
TRUTH = {
    "camera.roll": 7.0,
    "camera.centre": [0.6, -0.9],
    "camera.distortion": [0.08, -0.02, 0.01, -0.015, 0.005],
    "camera.lens_blur": 0.9,
    "camera.exposure": 0.031,
    "camera.readout": 0.023,
    "camera.gain": 0.8,
    "camera.gamma": 1.3,
    "camera.time_offset": 0.0123,
    "camera.clock": 1.043,
    "camera.zoom": 0.21,
    "appearance.size": 1.2,
}
OFF = {
    "camera.gain": 1.0,
    "camera.gamma": 1.0,
    "camera.clock": 1.017,
    "appearance.size": 1.0,
    "camera.lens_blur": 0.4,
    "camera.exposure": 0.04,
    "camera.readout": 0.0273,
}


def toy_scene(camera=None, **sensor):
    view = fitting.Viewpoint(
        camera or fitting.Orbit(distance=4.0, elevation=12.0, size=SIZE), sensor=fitting.Sensor(**sensor)
    )
    model = fitting_toys.ToyModel()
    params = model.params(torch.float64, velocity=[1.1, 1.7, 0.4])
    return fitting.Scene(model, fitting_toys.ToyRenderer(), view, params, dt=0.01, steps=60, integrator="toy_steps")


def objective_of(scene, truth, start, loss="mse"):
    target = fitting.synthesise(scene, truth, torch.linspace(0.05, 0.5, 7, dtype=torch.float64))
    sought = [fitting.Unknown(name, value) for name, value in start.items()]
    experiment = Experiment(scene, target, sought, loss=loss)
    return experiment.objective(), experiment.start()


@pytest.mark.parametrize("name", TRUTH)
@pytest.mark.usefixtures("toy_registry")
def test_each_quantity_has_an_exact_gradient(name):
    scene = toy_scene(subframes=3 if name == "camera.exposure" else 1)
    start = {name: OFF.get(name, torch.zeros_like(torch.as_tensor(TRUTH[name])).tolist()), "velocity": [1.0, 1.8, 0.3]}
    if name == "camera.time_offset":
        start[name] = 0.004
    objective, z = objective_of(scene, {name: TRUTH[name]}, start)
    found = check_gradient(objective, z, tolerance=1e-6)
    assert found.passed, found
    assert all(abs(row.adjoint) > 1e-9 for row in found.rows), "a gradient of nothing is no test"


@pytest.mark.usefixtures("toy_registry")
def test_all_at_once_and_a_free_pose():
    camera = fitting.FreeCamera(eye=(0.3, 0.8, 4.0), yaw=3.0, pitch=-9.0, focal=24.0, size=SIZE)
    scene = toy_scene(camera, subframes=2)
    place = {"camera.eye": [0.2, 0.7, 4.2], "camera.yaw": 2.0, "camera.pitch": -8.0, "camera.focal": 22.0}
    lens = {"camera.roll": 2.0, "camera.distortion": [0.02, 0.0, 0.0, 0.01, 0.0]}
    shutter = {"camera.exposure": 0.0287, "camera.readout": 0.0213, "camera.time_offset": 0.0041, "camera.gain": 0.9}
    objective, z = objective_of(scene, {}, place | lens | shutter)
    assert check_gradient(objective, z, tolerance=1e-6, entries=20).passed


@pytest.mark.usefixtures("toy_registry")
def test_a_free_camera_looks_where_an_orbit_does():
    orbit = fitting.Orbit(distance=4.0, elevation=20.0, azimuth=30.0, fov=50.0, size=SIZE).camera(torch.float64)
    focal = float(orbit.focal[0])
    free = fitting.FreeCamera(tuple(orbit.eye.tolist()), 30.0, -20.0, focal, SIZE).camera(torch.float64)
    assert torch.allclose(free.rotation, orbit.rotation, atol=1e-12)
    assert torch.allclose(free.focal, orbit.focal)


@pytest.mark.usefixtures("toy_registry")
def test_what_is_off_changes_nothing_and_what_is_sought_is_found():
    plain, ideal = toy_scene(), toy_scene(distortion=(0.0,) * 5, gain=1.0)
    times = torch.linspace(0.05, 0.5, 5, dtype=torch.float64)
    assert torch.equal(plain.render({}, times).image.rgba, ideal.render({}, times).image.rgba)
    target = fitting.synthesise(plain, {"camera.time_offset": 0.013, "camera.roll": 4.0}, times)
    found = fitting.fit(plain, target, {"camera.time_offset": 0.002, "camera.roll": 0.0})
    assert float(found["camera.time_offset"]) == pytest.approx(0.013, abs=1e-4)  # between steps motion is a chord
    assert float(found["camera.roll"]) == pytest.approx(4.0, abs=0.05)


@pytest.mark.usefixtures("toy_registry")
def test_motion_blur_and_a_rolling_shutter_do_what_they_say():
    times = torch.tensor([0.2], dtype=torch.float64)
    moving = {"velocity": torch.tensor([6.0, 0.0, 0.0], dtype=torch.float64)}
    within = 0.2 + 0.1 * ((torch.arange(8, dtype=torch.float64) + 0.5) / 8 - 0.5)
    blurred = toy_scene(exposure=0.1, subframes=8).render(moving, times).image.rgba
    assert torch.allclose(blurred[0], toy_scene().render(moving, within).image.rgba.mean(0), atol=1e-12)
    # The upper half was read out earlier, when the object had moved less.
    still, rolled = (toy_scene(readout=r).render(moving, times).image.alpha[0].sum(0) for r in (0.0, 0.05))
    assert not torch.equal(still, rolled)
    # Upside down it is read from below: as if turned over, for a motion that is not.
    upside_down = toy_scene(readout=-0.05).render(moving, times).image.alpha[0].sum(0)
    assert float((upside_down - still).abs().max()) > 0.5 * float((rolled - still).abs().max())
    assert float(((upside_down - still) * (rolled - still)).sum()) < 0.0
    with pytest.raises(InputError, match="subframes"):
        fitting.Sensor(exposure=0.01)


def test_distortion_is_that_of_brown_and_conrady():
    place = torch.tensor([[0.3, -0.2]], dtype=torch.float64)
    k = torch.tensor([0.1, 0.02, 0.003, -0.004, 0.01], dtype=torch.float64)
    x, y, r = 0.3, -0.2, 0.13
    radial = 1 + 0.1 * r + 0.02 * r**2 + 0.01 * r**3
    expected = [
        x * radial + 2 * 0.003 * x * y - 0.004 * (r + 2 * x * x),
        y * radial + 0.003 * (r + 2 * y * y) - 2 * 0.004 * x * y,
    ]
    assert distort(place, k)[0].tolist() == pytest.approx(expected, abs=1e-15)


@pytest.mark.usefixtures("toy_registry")
def test_one_number_of_a_vector_is_sought():
    scene = toy_scene()
    truth = {"velocity": [0.8, 1.7, 0.4]}
    objective, z = objective_of(scene, truth, {"velocity.x": 1.0, "camera.target.y": 0.05})
    assert check_gradient(objective, z, tolerance=1e-6).passed
    found = fitting.fit(scene, objective.target, {"velocity.x": 1.0})
    assert float(found["velocity.x"]) == pytest.approx(0.8, abs=1e-6)
    with pytest.raises(InputError, match="seek the vector or its components"):
        fitting.fit(scene, objective.target, {"velocity.x": 1.0, "velocity": [1.0, 1.0, 1.0]})
    with pytest.raises(InputError, match="the scene has nothing of this name"):
        fitting.fit(scene, objective.target, {"velocity.w": 1.0})


@pytest.mark.usefixtures("toy_registry")
def test_tracks_find_what_is_out_of_the_image():
    scene = toy_scene(fitting.Orbit(distance=4.0, elevation=0.0, size=SIZE))
    target = fitting.synthesise(scene, {"velocity": [0.3, 0.4, 0.0]}, torch.linspace(0.0, 0.4, 9, dtype=torch.float64))
    with torch.no_grad():
        seen = Experiment(scene, target, [fitting.Unknown("velocity", [0.3, 0.4, 0.0])], loss="track").objective()
        outline = seen.views(torch.tensor([0.3, 0.4, 0.0], dtype=torch.float64))[""].outline
    tracks = torch.cat([measure_outline_tracks(outline), torch.ones(9, 1, dtype=torch.float64)], dim=1)
    target = dataclasses.replace(target, tracks=tracks)
    objective = Experiment(scene, target, [fitting.Unknown("velocity", [9.0, -7.0, 0.0])], loss="track").objective()
    assert check_gradient(objective, torch.tensor([9.0, -7.0, 0.0], dtype=torch.float64), tolerance=1e-6).passed
    found = fitting.fit(scene, target, {"velocity": [9.0, -7.0, 0.0]}, loss="track")
    assert found["velocity"][:2].tolist() == pytest.approx([0.3, 0.4], abs=1e-3)


@pytest.mark.usefixtures("toy_registry")
def test_a_prior_weighs_as_much_as_so_many_tracks_as_there_are():
    scene = toy_scene(fitting.Orbit(distance=4.0, elevation=0.0, size=SIZE))
    target = fitting.synthesise(scene, {"velocity": [0.3, 0.4, 0.0]}, torch.linspace(0.0, 0.4, 9, dtype=torch.float64))
    prior = Gaussian({"velocity": 0.0}, {"velocity": 0.1}, noise=0.5)
    unknowns = [fitting.Unknown("velocity", [0.3, 0.4, 0.0])]
    of_tracks, of_pixels = (
        Experiment(scene, target, unknowns, loss=loss, gaussian=prior).objective() for loss in ("track", "mse")
    )
    assert of_tracks.prior_weight == pytest.approx(0.25 / (9 * 3))
    assert of_pixels.prior_weight == pytest.approx(0.25 / target.frames.numel())
