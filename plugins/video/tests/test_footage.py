"""Videos as phones make them: times out of order, lost frames, masks and tracks."""

import av
import numpy as np
import pytest
import torch
from PIL import Image

import diffloom_fitting as fitting
from diffloom import interfaces
from diffloom.interfaces import InputError
from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.build_target import choose_frames
from diffloom_experiments.values import FramesTable
from diffloom_fitting.losses.silhouette import SilhouetteError
from diffloom_fitting.scene import View
from diffloom_fitting.targets import Target, without_repeats
from diffloom_studio.report.media import write_video
from diffloom_video import read_masks, read_video
from diffloom_video.facts import KnownFacts
from diffloom_video.free_swing import frequency, with_free_swing
from diffloom_video.guesses import Sighting, find_first_bounce, guess_pendulum, guess_throw
from diffloom_video.lost_frames import with_lost_frames
from diffloom_video.new_clip import Proposal, format_experiment
from diffloom_video.readers import sort_frames
from diffloom_video.segmentation import BackgroundPlate, ColourKey, Motion, segment

HEIGHT, WIDTH, RADIUS = 60, 90, 7.0


def disc(column, row, blur=1.0):
    y, x = np.indices((HEIGHT, WIDTH)) + 0.5
    return np.clip((RADIUS - np.hypot(x - column, y - row)) / blur + 0.5, 0.0, 1.0)


def clip(places, blur=1.0, shadow=True, seed=0):
    """A green disc before a wall of two colours with noise, and a shadow that moves beside it."""
    random = np.random.default_rng(seed)
    wall = np.full((HEIGHT, WIDTH, 3), (0.75, 0.7, 0.62)) * np.linspace(0.8, 1.0, WIDTH)[None, :, None]
    frames = []
    for column, row in places:
        image = wall.copy()
        if shadow:
            image *= 1.0 - 0.3 * disc(column + 16.0, row + 8.0, 6.0)[..., None]
        a = disc(column, row, blur)[..., None]
        image = a * np.array((0.1, 0.45, 0.2)) + (1 - a) * image
        frames.append(image + 0.01 * random.standard_normal(image.shape))
    return np.clip(frames, 0, 1).astype(np.float32)


def target(places, rate=30.0, **settings):
    return Target(torch.arange(len(places)) / rate, torch.from_numpy(clip(places, **settings)))


ACROSS = [(15.0 + 2.1 * k, 20.0 + 0.03 * k * k) for k in range(28)]


def test_stamps_out_of_order_are_put_in_order_and_senseless_ones_refused(tmp_path):
    stamps = [0.0, 0.3, 0.2, 0.4, 0.1, 0.7, 0.6, 0.8, 0.5]
    with pytest.warns(UserWarning, match="out of order"):
        found = list(sort_frames(zip(stamps, "abcdefghi", strict=True), "clip"))
    assert [item for _, item in found] == list("abcdefghi")
    assert [time for time, _ in found] == sorted(stamps)
    with pytest.raises(InputError, match=r"do not increase.*rate = 30"):
        list(sort_frames([(0.0, "a"), (0.1, "b"), (0.1, "c")], "clip"))
    assert list(sort_frames([(0.0, "a"), (0.1, "b")], "clip")) == [(0.0, "a"), (0.1, "b")]
    frames = (255 * clip(ACROSS[:6])).astype(np.uint8)
    write_video(tmp_path / "a.mp4", frames, 30.0)
    assert read_video(tmp_path / "a.mp4", rate=10.0).times.tolist() == pytest.approx([k / 10 for k in range(6)])


def test_a_video_is_turned_and_cut_before_it_is_scaled(tmp_path):
    frames = np.zeros((2, 40, 60, 3), np.uint8)
    frames[:, 4:12, 50:56] = 255
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / f"{k}.png")
    whole = read_video(tmp_path, rate=10, rotate=90)
    assert torch.equal(whole.frames[0, :, :, 0], torch.from_numpy(np.rot90(frames[0, :, :, 0]).copy()) / 255.0)
    part = read_video(tmp_path, rate=10, crop=(0, 40, 20, 20), size=(10, 10))
    assert part.frames[0, 3, 6, 0] == 1.0
    assert float(part.frames[0, :, :2].max()) == 0.0
    assert read_video(tmp_path, rate=10, size=30).size == (20, 30)
    with pytest.raises(InputError, match="crop="):
        read_video(tmp_path, rate=10, crop=(30, 0, 20, 20))


def test_the_way_a_phone_was_held_is_read(tmp_path):
    frames = (255 * clip(ACROSS[:3])).astype(np.uint8)
    write_video(tmp_path / "a.mp4", frames, 30.0)
    with av.open(str(tmp_path / "a.mp4")) as source:
        angle = next(source.decode(video=0)).rotation
    assert angle == 0  # a file without an angle is not turned
    assert read_video(tmp_path / "a.mp4").size == (HEIGHT, WIDTH)


@pytest.mark.parametrize(
    ("segmenter", "close"),
    [
        (BackgroundPlate(), 0.15),
        (ColourKey((0.1, 0.45, 0.2), 0.2), 0.15),
        (Motion(gap=8), 0.6),
    ],
)
def test_segmenters_find_the_disc_and_leave_the_shadow(segmenter, close):
    found = segment(target(ACROSS), segmenter)
    off = found.tracks[:, :2].double().numpy() - np.array(ACROSS)
    # Motion has frames on both sides only in between.
    within = slice(8, -8) if isinstance(segmenter, Motion) else slice(4, -4)
    assert np.sqrt((off[within] ** 2).mean()) < close
    assert float((found.tracks[within, 2] - RADIUS).abs().max()) < 0.5
    assert float(found.confidence[within].min()) > 0.6


def test_soft_edges_keep_their_part():
    blurred = segment(target(ACROSS, blur=6.0, shadow=False), BackgroundPlate(cleaning={"edge": 5, "soft": 5}))
    wanted = np.array([disc(*place, 6.0) for place in ACROSS])
    assert float(np.abs(blurred.masks.numpy() - wanted)[4:-4].mean()) < 0.01
    edge = (wanted > 0.3) & (wanted < 0.7)
    assert float(np.abs(blurred.masks.numpy() - wanted)[edge].mean()) < 0.12


def test_confidence_falls_where_the_object_is_hidden_and_tracks_end_at_the_border():
    places = [*ACROSS]
    places[14] = (-50.0, 20.0)
    places[-1] = (WIDTH - 2.0, 30.0)
    found = segment(target(places), "plate")
    assert float(found.confidence[14]) == 0.0
    assert float(found.tracks[-1, 3]) == 0.0
    assert float(found.confidence[10]) > 0.8
    with pytest.raises(InputError, match="no frame shows an object"):
        segment(target([(-50.0, 0.0)] * 9), BackgroundPlate(threshold=0.5))


def test_thin_parts_and_dents_go_where_asked():
    frames = clip(ACROSS, shadow=False)
    for k, (column, row) in enumerate(ACROSS):
        frames[k, : int(row), int(column)] = (0.1, 0.1, 0.1)  # a thread
    video = Target(torch.arange(len(frames)) / 30.0, torch.from_numpy(frames))
    found = segment(video, BackgroundPlate(cleaning={"thin": 0.3, "convex": True}))
    assert float((found.tracks[4:-4, 2] - RADIUS).abs().max()) < 0.7
    with pytest.raises(InputError, match="cleaning: it has no 'tin'"):
        BackgroundPlate(cleaning={"tin": 0.3})


def test_a_small_bob_is_not_taken_for_its_thread():
    """The thread, a third as strong as the bob, has more pixels than it, and both have fewer than a thousandth."""
    frames = np.full((40, 300, 200, 3), 0.15, np.float32)
    places = [(100.0 + 70.0 * np.cos(0.4 * k), 250.0) for k in range(40)]
    y, x = np.indices(frames.shape[1:3]) + 0.5
    for k, (column, row) in enumerate(places):
        for line in range(20, 250):
            frames[k, line, int(100.0 + (column - 100.0) * (line - 20) / 230.0)] = 0.4
        frames[k][np.hypot(x - column, y - row) < 2.6] = 0.9
    video = Target(torch.arange(40) / 30.0, torch.from_numpy(frames))
    found = segment(video, BackgroundPlate(cleaning={"thin": 0.2, "convex": True}))
    off = found.tracks[:, :2].double().numpy() - np.array(places)
    assert np.abs(off).max() < 0.6
    # Low enough that the thread is cut out as well: it is no body, however long.
    wide = segment(video, BackgroundPlate(threshold=0.05, shadows=False, cleaning={"thin": 0.2, "close": 0}))
    assert np.abs(wide.tracks[:, :2].double().numpy() - np.array(places)).max() < 2.0


def test_masks_from_files_are_taken_as_they_are(tmp_path):
    (tmp_path / "masks").mkdir()
    for k, place in enumerate(ACROSS[:4]):
        Image.fromarray((255 * disc(*place)).round().astype(np.uint8)).save(tmp_path / "masks" / f"{k}.png")
    found = read_masks(target(ACROSS[:4]), tmp_path / "masks")
    assert np.abs(found.masks.numpy() - [disc(*place) for place in ACROSS[:4]]).max() < 0.003


def test_repeated_frames_are_left_out():
    doubled = [place for place in ACROSS[::2] for _ in range(2)]
    frames = clip(doubled)
    frames[1::2] = frames[::2]
    video = segment(Target(torch.arange(len(frames)) / 30.0, torch.from_numpy(frames)), "plate")
    assert float(video.tracks[1::2, 3].max()) == 0.0
    assert without_repeats(video, 15.0).times.tolist() == pytest.approx([k / 15 for k in range(len(ACROSS[::2]))])


def swing(t):
    angle = 0.3 * np.cos(6.1 * t + 0.4)
    return np.stack([45.0 + 80.0 * np.sin(angle), -40.0 + 80.0 * np.cos(angle)], axis=1)


def test_lost_frames_are_found_by_the_leap_and_nothing_else_is():
    random = np.random.default_rng(1)
    true = np.delete(np.arange(400), [100, 270, 271]) / 30.0
    stamps = np.arange(len(true)) / 30.0
    tracks = np.concatenate([swing(true) + 0.15 * random.standard_normal((len(true), 2)), np.ones((len(true), 2))], 1)
    with pytest.warns(UserWarning, match="lost frames"):
        found = with_lost_frames(Target(torch.from_numpy(stamps), tracks=torch.from_numpy(tracks)))
    assert np.abs(found.times.numpy() - true).max() < 2.0 / 30.0 + 1e-9
    assert found.times[-1] == pytest.approx(true[-1])
    assert found.times[90] == pytest.approx(true[90])
    whole = np.concatenate([swing(stamps) + 0.15 * random.standard_normal((len(true), 2)), np.ones((len(true), 2))], 1)
    same = with_lost_frames(Target(torch.from_numpy(stamps), tracks=torch.from_numpy(whole)))
    assert torch.equal(same.times, torch.from_numpy(stamps))


def swing_track(stamps, held, caught):
    """Tracks of a bob that a hand holds until one time, and again from another on."""
    places = swing(stamps)
    places[stamps < held] = swing(np.array([held])) + [0.0, 0.3]
    places[stamps > caught] = [45.0, 40.0]
    noise = 0.1 * np.random.default_rng(2).standard_normal(places.shape)
    return Target(
        torch.from_numpy(stamps),
        tracks=torch.from_numpy(np.concatenate([places + noise, np.ones((len(stamps), 2))], axis=1)),
        confidence=torch.ones(len(stamps), dtype=torch.float64),
    )


def test_the_free_part_of_a_swing_is_found():
    stamps = np.arange(300) / 30.0
    with pytest.warns(UserWarning, match="the swing is free from"):
        found = with_free_swing(swing_track(stamps, 1.3, 8.5))
    assert found.times[0] == 0.0
    assert len(found) == pytest.approx((8.5 - 1.3) * 30.0, abs=6)
    assert np.abs(found.tracks[:, :2].numpy() - swing(found.times.numpy() + 1.3)).max() < 5.0
    whole = swing_track(stamps, -1.0, 99.0)
    assert torch.equal(with_free_swing(whole).times, whole.times)
    astray = whole.tracks.clone()
    astray[100:104, 0] += 30.0
    kept = with_free_swing(fitting.Target(whole.times, tracks=astray, confidence=whole.confidence))
    assert torch.equal(kept.confidence == 0.0, (torch.arange(300) >= 100) & (torch.arange(300) < 104))
    wide = whole.tracks.clone()
    wide[:, 2] = 20.0
    with pytest.warns(UserWarning, match=r"swings by 23\.\d pixels to either side, hardly more than its radius of 20"):
        with_free_swing(fitting.Target(whole.times, tracks=wide))
    with pytest.raises(InputError, match="no part of the video shows a free swing"):
        with_free_swing(whole.select(range(20)))
    with pytest.raises(InputError, match="visible in 5 frames"):
        with_free_swing(whole.select(range(5)))


def test_frames_are_parted_by_share_and_later_ones_judge():
    short = Target(torch.arange(40) / 10.0, masks=torch.zeros(40, 2, 2))
    used, aside = choose_frames(short, FramesTable(until=5.0, share=0.7, every=3, holdout="later"))
    assert used.times.tolist() == pytest.approx([0.3 * k for k in range(10)])
    assert aside is not None
    assert aside.times.tolist() == pytest.approx([2.8 + 0.1 * k for k in range(12)])
    long = Target(torch.arange(400) / 10.0, masks=torch.zeros(400, 2, 2))
    assert float(choose_frames(long, FramesTable(until=5.0, share=0.7))[0].times[-1]) == 5.0


def test_frames_that_are_poorly_cut_out_can_be_left_out():
    masks = torch.zeros(3, 4, 4)
    target = Target(torch.arange(3.0), masks=masks, confidence=torch.tensor([1.0, 0.5, 0.8]))
    seen = View(interfaces.Image(silhouette=torch.ones(3, 4, 4)), torch.zeros(3, 1, 3), None, target.times)
    weighed = SilhouetteError(least_confidence=0.7).residuals(seen, target).square().mean(dim=(1, 2))
    assert weighed.tolist() == pytest.approx([1.0 / 0.6, 0.0, 0.8 / 0.6])
    assert float(SilhouetteError().residuals(seen, target).square().mean()) == pytest.approx(1.0)


def test_guesses_are_near():
    t = np.arange(150) / 30.0
    omega, left = frequency(t, swing(t)[:, 0])
    assert omega == pytest.approx(6.1, abs=0.01)
    assert left < 0.01
    pixels = np.concatenate([swing(t).T, np.full((1, 150), 6.0)])
    found = guess_pendulum(Sighting(t, pixels, 80.0, HEIGHT, WIDTH))
    assert found["length"] == pytest.approx(9.81 / 6.1**2, rel=0.02)
    assert found["joint_position"] == pytest.approx(0.3 * np.cos(0.4), rel=0.05)
    spherical = guess_pendulum(Sighting(t, pixels, 80.0, HEIGHT, WIDTH), round=True)
    assert spherical["joint_position"] == [found["joint_position"], 0.0]
    assert spherical["joint_velocity"] == [found["joint_velocity"], 0.0]
    fall = np.stack([20.0 + 30.0 * t[:20], 10.0 - 20.0 * t[:20] + 60.0 * t[:20] ** 2, np.full(20, 6.0)])
    thrown = guess_throw(Sighting(t[:20], fall, 80.0, HEIGHT, WIDTH), radius=0.05)
    assert thrown["gravity.y"] == pytest.approx(-120.0 * 0.05 / 6.0, rel=1e-6)
    assert thrown["velocity.x"] == pytest.approx(30.0 * 0.05 / 6.0, rel=1e-6)


def test_a_new_clip_is_looked_at_and_its_file_can_be_built(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from diffloom_studio.commands.files import new

    monkeypatch.chdir(tmp_path)
    t = np.arange(120) / 30.0
    write_video(tmp_path / "clip.mp4", (255 * clip(swing(t) + [0.0, -8.0])).astype(np.uint8), 30.0)
    done = CliRunner().invoke(new, ["clip.mp4"])
    assert done.exit_code == 0, done.output
    assert "a pendulum" in done.output
    assert (tmp_path / "clip-contact-sheet.png").exists()
    experiment = build_experiment(load_file("clip.toml"))
    start = {slot.name: float(slot.start) for slot in experiment.layout.slots}
    assert start["length"] == pytest.approx(9.81 / 6.1**2, rel=0.03)
    assert "already" in CliRunner().invoke(new, ["clip.mp4"]).output


def test_data_that_is_not_here_is_told(tmp_path, monkeypatch):
    from diffloom_experiments.load import MissingDataError, data_path

    monkeypatch.delenv("DIFFLOOM_REAL_DATA", raising=False)
    with pytest.raises(MissingDataError, match="DIFFLOOM_REAL_DATA is not set"):
        data_path(tmp_path, "$DIFFLOOM_REAL_DATA/clip.mp4")
    monkeypatch.setenv("DIFFLOOM_REAL_DATA", str(tmp_path))
    with pytest.raises(MissingDataError, match=r"no 'clip.mp4'"):
        data_path(tmp_path, "$DIFFLOOM_REAL_DATA/clip.mp4")
    assert data_path(tmp_path, "clip.mp4") == tmp_path / "clip.mp4"


@pytest.mark.parametrize(
    ("kind", "size", "sought"),
    [
        ("pendulum", (), "length"),
        ("throw", (), "appearance.size"),
        ("throw", (0.067,), "gravity.y"),
        ("bounces", (0.067,), "restitution"),
        ("slide", (0.1, 0.05, 0.08), "friction"),
    ],
)
def test_what_a_person_knows_of_a_clip_is_in_its_file(tmp_path, kind, size, sought):
    found = segment(target(ACROSS), BackgroundPlate())
    known = KnownFacts(kind, size, 38.0)
    seen = Proposal(found, "plate", kind, 0.1, 0.8, (), bounces=5)
    file = tmp_path / "clip.toml"
    file.write_text(format_experiment(seen, "clip.mp4", known))
    content = load_file(file).content
    assert content.renderer.name == "coverage"
    assert sought in content.unknowns
    assert content.camera.fov == 38.0
    assert content.assumed["camera.fov"] == pytest.approx(0.03 * 38.0, rel=0.1)
    if size:  # half of the last digit, at least 1 % and at most 5 %
        assert content.assumed["appearance.size"] == {1: 0.01, 3: 0.05}[len(size)]
    else:
        assert "appearance.size" not in content.assumed


def test_a_size_must_suit_the_kind():
    with pytest.raises(InputError, match="the ball's diameter"):
        KnownFacts("bounces").check("bounces")
    with pytest.raises(InputError, match="expected no size"):
        KnownFacts("pendulum", (0.1,)).check("pendulum")
    with pytest.raises(InputError, match="--kind: got 'fall'"):
        KnownFacts("fall")


def test_an_impact_between_two_frames_is_found():
    times = np.arange(12) / 60.0
    rows = np.array([100.0, 110.0, 121.0, 133.0, 145.2, 143.1, 134.5, 126.6, 119.0, 112.0, 105.6, 99.8])
    assert find_first_bounce(times, rows) == 4, "after the impact it rises by 2.1 px at first, then by 8.6"
    assert find_first_bounce(times, np.cumsum(np.linspace(-9.0, 9.0, 12))) == 12, "a throw's top is no bounce"
