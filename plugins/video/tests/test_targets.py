from fractions import Fraction

import av
import numpy as np
import pytest
import torch
from PIL import Image

from diffloom.interfaces import InputError
from diffloom_fitting.scene import sample_times
from diffloom_fitting.targets import Target
from diffloom_studio.report.media import write_video
from diffloom_video import read_masks, read_video


def moving_square(count=12, height=32, width=48):
    frames = np.zeros((count, height, width, 3), np.uint8)
    for k in range(count):
        frames[k, 8:24, 2 * k : 2 * k + 12] = (40 + 15 * k, 200, 90)
    return frames


def test_mp4_keeps_pixels_and_times(tmp_path):
    frames = moving_square()
    write_video(tmp_path / "a.mp4", frames, 24.0)
    video = read_video(tmp_path / "a.mp4", dtype=torch.float64)
    assert video.times.tolist() == pytest.approx([k / 24 for k in range(12)], abs=1e-6)
    assert np.abs(video.frames.numpy() * 255 - frames).mean() < 2.0
    assert video.step == 1 / 255


def test_uneven_time_stamps_stay_true(tmp_path):
    stamps = [0, 1, 2, 5, 6, 10, 11, 20]
    with av.open(str(tmp_path / "vfr.mp4"), "w") as out:
        stream = out.add_stream("libx264", rate=30)
        stream.height, stream.width, stream.pix_fmt = 32, 48, "yuv420p"
        stream.codec_context.time_base = Fraction(1, 30)
        for stamp, image in zip(stamps, moving_square(8), strict=True):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame.pts, frame.time_base = stamp, Fraction(1, 30)
            out.mux(stream.encode(frame))
        out.mux(stream.encode())
    video = read_video(tmp_path / "vfr.mp4")
    assert video.times.tolist() == pytest.approx([s / 30 for s in stamps], abs=1e-5)
    part = read_video(tmp_path / "vfr.mp4", begin=2 / 30, duration=8 / 30, every=2)
    assert part.times.tolist() == pytest.approx([0.0, 4 / 30], abs=1e-5)


def test_gif_and_folder_read_the_same(tmp_path):
    frames = moving_square(4)
    write_video(tmp_path / "a.gif", frames, 10.0)
    (tmp_path / "stills").mkdir()
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / "stills" / f"f{k + 8}.png")
    gif = read_video(tmp_path / "a.gif")
    folder = read_video(tmp_path / "stills", rate=10)
    assert gif.times.tolist() == pytest.approx(folder.times.tolist(), abs=1e-3)
    assert (gif.frames - folder.frames).abs().max() < 0.02
    assert torch.equal(folder.frames, torch.from_numpy(frames).float() / 255)


def test_a_video_is_scaled_by_averaging(tmp_path):
    frames = np.zeros((1, 32, 48, 3), np.uint8)
    frames[:, ::2] = 255
    Image.fromarray(frames[0]).save(tmp_path / "0.png")
    video = read_video(tmp_path, rate=1, size=(16, 24))
    assert video.frames.shape == (1, 16, 24, 3)
    assert (video.frames[0, 2:-2] - 0.5).abs().max() < 0.15
    with pytest.raises(InputError, match=r"set camera.size to \[16, 24\]"):
        read_video(tmp_path, rate=1, size=(16, 16))


def test_masks_join_a_video(tmp_path):
    frames = moving_square(3)
    (tmp_path / "stills").mkdir()
    (tmp_path / "masks").mkdir()
    for k, frame in enumerate(frames):
        Image.fromarray(frame).save(tmp_path / "stills" / f"{k}.png")
        Image.fromarray(((frame.sum(-1) > 0) * 255).astype(np.uint8)).save(tmp_path / "masks" / f"{k}.png")
    video = read_video(tmp_path / "stills", rate=10)
    with pytest.raises(InputError, match="no masks"):
        video.coverage()
    masked = read_masks(video, tmp_path / "masks")
    assert masked.coverage().sum(dim=(1, 2)).tolist() == [192.0, 192.0, 192.0]
    (tmp_path / "masks" / "2.png").unlink()
    with pytest.raises(InputError, match="got 2 masks for 3 frames"):
        read_masks(video, tmp_path / "masks")


@pytest.mark.parametrize("fault", ["missing", "text", "cut", "empty", "sound", "folder"])
def test_bad_videos_are_explained(tmp_path, fault):
    path = tmp_path / "a.mp4"
    message = "cannot be read as a video"
    if fault == "missing":
        message = "no such file"
    elif fault == "text":
        path.write_text("this is no video at all\n" * 50)
    elif fault == "empty":
        path.write_bytes(b"")
    elif fault == "folder":
        path.mkdir()
        message = "images have no times"
    elif fault == "sound":
        with av.open(str(path), "w", format="mp4") as out:
            stream = out.add_stream("aac", rate=44100)
            sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
            sound.rate = 44100
            out.mux(stream.encode(sound))
            out.mux(stream.encode())
        message = "no video in it"
    else:
        write_video(path, moving_square(), 24.0)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=message):
        read_video(path)


def test_a_damaged_image_is_named(tmp_path):
    (tmp_path / "3.png").write_bytes(b"\x89PNG broken")
    with pytest.raises(InputError, match=r"3\.png.*damaged"):
        read_video(tmp_path, rate=5)


@pytest.mark.parametrize(("dt", "rate"), [(1 / 960, 30), (1 / 1000, 24), (0.01, 60), (1 / 30, 30)])
def test_any_frame_rate_meets_any_physics_rate(dt, rate):
    steps = round(1.0 / dt)
    times = torch.arange(rate + 1, dtype=torch.float64) / rate
    sampling = sample_times(times[times <= steps * dt + 1e-12], dt, steps)
    saved = torch.tensor(sampling.save, dtype=torch.float64) * dt
    # Linear motion is interpolated exactly: the frame sees the right time.
    assert sampling.between(3.0 * saved).tolist() == pytest.approx((3.0 * times[: len(sampling.low)]).tolist())
    if dt in (1 / 960, 1 / 30):
        assert not bool((sampling.weight > 0).any())


def test_frames_after_the_end_are_refused():
    with pytest.raises(InputError, match="simulate longer"):
        sample_times(torch.tensor([0.0, 2.0]), 0.01, 100)


def test_frames_are_chosen_by_position():
    target = Target(torch.arange(5, dtype=torch.float64), torch.rand(5, 4, 4, 3))
    assert target.select([0, -1]).times.tolist() == [0.0, 4.0]
    assert len(target.first(2)) == 2
    with pytest.raises(InputError, match="frames 0 to 4"):
        target.select([7])
