"""The verdict: its levels and its sentences."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace

import fitting_toys as toys
import pytest
import torch
from toy_scenes import START, TRUTH, noisy, toy_scene

from diffloom.interfaces import ParamSpec, SimulationError
from diffloom_fitting.experiment import Experiment
from diffloom_fitting.fits import fit, run_fit
from diffloom_fitting.losses import IoU, PixelError, StateError
from diffloom_fitting.optimisers import Adam, GaussNewton, Lbfgs
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.results import decode_result, result_data
from diffloom_fitting.scene import Orbit
from diffloom_fitting.stages import Stage, Stop
from diffloom_fitting.targets import synthesise
from diffloom_fitting.unknowns import Unknown
from diffloom_fitting.unknowns.unknown import as_unknowns


class Pulled(toys.ToyModel):
    """Gravity is a force over a mass, so that only their ratio shows."""

    @property
    def specs(self):
        return (*super().specs, ParamSpec("weight", 6.0, "N", "pull", (), (0.0, None)),
                ParamSpec("mass", 1.0, "kg", "inertia", (), (0.0, None)))  # fmt: skip

    def dynamics(self, params, control):
        return super().dynamics(params.replace(gravity=params["weight"] / params["mass"]), control)


def pulled_scene():
    model = Pulled()
    return replace(toy_scene(steps=20), model=model, params=model.params(torch.float64))


def test_a_good_fit_is_green_and_prints_its_deviations():
    scene = toy_scene(steps=20)
    result = fit(scene, noisy(synthesise(scene, TRUTH)), START)
    assert result.verdict.level == "green", str(result.verdict)
    assert all(e.deviation is not None and not e.caveat for e in result.estimates)
    assert str(result).startswith("verdict: green\n  converged: yes: ")
    assert "±" in str(result)
    told = json.loads(json.dumps(result_data(result)))["verdict"]
    assert told["level"] == "green"
    assert set(told) == {"level", "converged", "visible", "identifiable", "explained", "levels", "undetermined"}


@pytest.mark.parametrize("optimiser", [None, Adam(rate=0.02), Lbfgs()])
def test_a_fit_stopped_early_is_not_green(optimiser):
    scene = toy_scene(steps=20)
    result = fit(scene, noisy(synthesise(scene, TRUTH)), {"gravity": 12.0, "drag": 0.3}, optimiser=optimiser,
                 iterations=1, stop=Stop())  # fmt: skip
    assert result.verdict.converged.level == "red"
    assert "run more iterations" in result.verdict.converged.text
    assert all(e.deviation is None and e.caveat == "± withheld" for e in result.estimates)
    assert "reached" in str(result)


def test_only_a_ratio_is_determined_and_named():
    scene = pulled_scene()
    result = fit(scene, noisy(synthesise(scene, {"weight": 5.0})), {"weight": 6.0, "mass": 1.2, "drag": 0.4})
    assert result.verdict.identifiable.text.startswith("no: only weight / mass is determined; fix a value")
    assert result.verdict.undetermined == ("weight", "mass")
    by_name = {e.name: e for e in result.estimates}
    assert by_name["weight"].caveat == "not determined"
    assert by_name["drag"].deviation is not None
    assert abs(float(by_name["drag"].found) - 0.5) < 4.0 * float(by_name["drag"].deviation)


def test_a_prior_determines_what_the_pixels_leave_open():
    scene = pulled_scene()
    target = noisy(synthesise(scene, {"weight": 5.0}))
    prior = Gaussian({"mass": 1.0}, {"mass": 0.1}, noise=0.01)
    unknowns = [Unknown("weight", 6.0), Unknown("mass", 1.2)]
    result = run_fit(Experiment(scene, target, unknowns, gaussian=prior))
    assert result.verdict.level == "green", str(result.verdict)
    assert float(result["mass"]) == pytest.approx(1.0, abs=0.01)
    assert float(result.estimates[1].deviation) == pytest.approx(0.1, rel=0.1)
    assert float(result["weight"]) == pytest.approx(5.0, abs=0.1)


def test_the_gradient_of_a_prior_is_exact():
    scene = pulled_scene()
    prior = Gaussian({"mass": 1.0, "weight": 4.0}, {"mass": 0.1, "weight": 2.0}, noise=0.5)
    experiment = Experiment(
        scene, synthesise(scene, {"weight": 5.0}), [Unknown("weight", 6.0), Unknown("mass", 1.2)], gaussian=prior
    )
    objective, z = experiment.objective(), experiment.start()
    gradient = objective.evaluate(z).gradient
    for i in range(2):
        way = torch.zeros_like(z)
        way[i] = 1e-5
        slope = (objective.value(z + way).value - objective.value(z - way).value) / 2e-5
        assert float(gradient[i]) == pytest.approx(slope, rel=1e-6)
    assert float(objective.residuals(z).square().mean()) == pytest.approx(objective.value(z).value, rel=1e-4)


@pytest.mark.parametrize("kind", ["blank", "constant", "one frame", "far away"])
def test_nothing_to_see_is_nothing_found(kind):
    scene = toy_scene(steps=20)
    said = {
        "blank": "the video shows nothing but its background",
        "constant": "the video does not change over its 21 frames",
        "one frame": "one frame shows no motion",
        "far away": "the object covers at most",
    }
    target = synthesise(scene, TRUTH)
    frames = target.frames
    if kind == "blank":
        target = replace(target, frames=torch.zeros_like(frames), masks=None)
    elif kind == "constant":
        target = replace(target, frames=frames[:1].expand_as(frames).clone(), masks=None)
    elif kind == "one frame":
        target = target.select([4])
    else:
        scene = replace(scene, camera=Orbit(5.0, target=(500.0, 0.0, 0.0), size=16))
    result = fit(scene, target, {"gravity": 8.0})
    assert result.verdict.level == "red"
    assert said[kind] in result.verdict.visible.text
    assert result.estimates[0].deviation is None
    assert "±" not in str(result).replace("(± withheld)", "")


def test_what_a_model_cannot_explain_is_said():
    """The video has a drag that grows, and the model a constant one of zero: ± widens and the fit is not green."""
    scene = toy_scene(steps=24)
    target = synthesise(replace(scene, params=scene.model.params(torch.float64, drag=3.0)), {"gravity": 6.0})
    plain = replace(scene, params=scene.model.params(torch.float64, drag=0.0))
    result = fit(plain, noisy(target, 0.002), {"gravity": 6.0})
    assert result.verdict.explained.level != "green"
    blocks = fit(plain, noisy(target, 0.002), {"gravity": 6.0}, uncertainty="blocks")
    assert blocks.uncertainty.method == "blocks"


def test_losses_that_are_no_squares_and_states():
    scene = toy_scene(steps=20)
    target = synthesise(scene, TRUTH)
    overlap = fit(scene, target, START, loss=IoU(), optimiser=Lbfgs(), iterations=3)
    assert overlap.verdict.level != "green"
    assert overlap.estimates[0].deviation is None
    states = fit(scene, target, START, loss=StateError())
    assert states.verdict.visible.text == "yes: states were compared, not images"
    assert states.verdict.explained.text == "yes: the fit follows 100 % of the states' motion"
    assert states.verdict.level == "green"


def test_states_that_a_model_cannot_follow_are_said():
    scene = toy_scene(steps=20)
    target = synthesise(scene, TRUTH)
    backwards = replace(target, q=target.q.flip(0))
    result = fit(scene, backwards, {"drag": 0.3}, loss=StateError())
    assert result.verdict.explained.level == "red"
    assert "% of the states' motion" in result.verdict.explained.text
    assert result.estimates[0].caveat == "± withheld"


def test_a_motion_that_blows_up_with_its_step_is_an_error():
    scene = toy_scene(steps=20)
    target = synthesise(scene, TRUTH)
    stiff = replace(scene, params=scene.model.params(torch.float64, drag=55.0))
    with pytest.raises(SimulationError, match=r"dt = 0\.04 s is too long: the motion spans"):
        fit(stiff, target, {"gravity": 8.0})


def test_a_real_video_has_no_truth_of_a_models_defaults(toy_registry, tmp_path):
    from diffloom_experiments.experiments import _derive_values

    class Heavy(toys.ToyModel):
        @property
        def specs(self):
            return (*super().specs, ParamSpec("density", 2.0, "kg/m^3", "density"),
                    ParamSpec("mass", None, "kg", "mass"))  # fmt: skip

        def derived(self, params):
            return {"mass": 3.0 * params["density"]}

    model = Heavy()
    scene = replace(toy_scene(), model=model, params=model.params(torch.float64))
    density = {"density": torch.tensor(4.0, dtype=torch.float64)}
    assert _derive_values(scene, {}, {"mass": None}, recorded=True) == {}
    assert float(_derive_values(scene, density, {"mass": None}, recorded=True)["mass"]) == 12.0
    assert float(_derive_values(scene, {}, {"mass": None}, recorded=False)["mass"]) == 6.0


@dataclass(frozen=True)
class HalfGradient(toys.ToyRenderer):
    """A renderer with right images, whose gradient is half of the right one."""

    backend: str = "pytorch3d"

    def render(self, surface, camera, lights=(), outputs=("rgba",)):
        half = 0.5 * (surface.vertices + surface.vertices.detach())
        return super().render(replace(surface, vertices=half), camera, lights, outputs)


@pytest.mark.parametrize(("backend", "words"), [
    ("pytorch3d", r'drawn by HalfGradient\(backend="pytorch3d"\).*use backend = "native"'),
    ("native", "a plugin's adjoint is wrong"),
])  # fmt: skip
def test_a_failed_gradient_check_is_never_green(backend, words):
    """Such a fit may end at the right place, and does so here: nothing but the check can tell."""
    good = toy_scene(steps=20)
    scene = replace(good, renderer=HalfGradient(sigma=2.0, backend=backend))
    target = noisy(synthesise(good, TRUTH))
    found = {}
    for name, one in (("right", good), ("wrong", scene)):
        stage = Stage(GaussNewton(), 30, stop=Stop(change=1e-9, patience=3))
        experiment = Experiment(one, target, as_unknowns(START), PixelError(), (stage,))
        found[name] = run_fit(experiment, check=True)
    assert found["right"].verdict.level == "green", found["right"].verdict
    assert found["right"].gradient.passed
    told = found["wrong"]
    assert not told.gradient.passed
    assert told.verdict.converged.level != "green"
    assert re.search(words, str(told.verdict) + str(told)), told.verdict
    assert "contact = 'linear'" not in str(told)
    again = decode_result(json.loads(json.dumps(result_data(told))))
    assert again.gradient.drawn_by == told.gradient.drawn_by
