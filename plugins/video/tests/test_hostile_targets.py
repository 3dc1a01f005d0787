"""Images and videos from strangers: claimed sizes, playlists that point elsewhere, streams that do not end."""

import contextlib
import struct
import zlib

import av
import numpy as np
import pytest
from PIL import Image

from diffloom import regular_files
from diffloom.interfaces import InputError
from diffloom_experiments import load_file
from diffloom_motion.recordings import Recording
from diffloom_scale.video_dataset import VideoDataset
from diffloom_studio.report.media import write_video
from diffloom_video import limits, read_video
from diffloom_video.images import read_image


def png(width: int, height: int) -> bytes:
    """A black picture of any size in a few bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    packer = zlib.compressobj(9)
    row = b"\0" * (1 + (width + 7) // 8)
    rows = b"".join(packer.compress(row) for _ in range(height)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize("size", [13_000, 30_000])
def test_images_that_unfold_are_refused_before_they_do(tmp_path, size):
    (tmp_path / "bomb.png").write_bytes(png(size, size))
    with pytest.raises(InputError, match=f"bomb.png.*{size} x {size} pixels|bomb.png.*cannot be read"):
        read_image(tmp_path / "bomb.png")


def test_damaged_images_are_told(tmp_path):
    path = tmp_path / "a.png"
    Image.fromarray(np.full((16, 16, 3), 90, np.uint8)).save(path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        with contextlib.suppress(InputError):
            assert read_image(path).shape[2] == 3
    for at in range(0, len(whole) // 2, 3):
        path.write_bytes(whole[:at])
        with pytest.raises(InputError, match=r"a\.png"):
            read_image(path)


@pytest.fixture
def clip(tmp_path):
    path = tmp_path / "clip.mp4"
    write_video(path, np.full((8, 32, 32, 3), 128, np.uint8), 24.0)
    return path


@pytest.mark.parametrize("name", ["list.m3u8", "list.mp4", "list.ffconcat"])
def test_playlists_open_no_other_file(tmp_path, clip, name):
    texts = {
        "m3u8": f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{clip}\n#EXT-X-ENDLIST\n",
        "ffconcat": f"ffconcat version 1.0\nfile {clip.name}\n",
    }
    (tmp_path / name).write_text(texts.get(name.split(".")[1], texts["m3u8"]))
    with pytest.raises(InputError, match="cannot be read as a video"):
        read_video(tmp_path / name)


def test_names_are_no_addresses(tmp_path, monkeypatch, clip):
    monkeypatch.chdir(tmp_path)
    for name in ("concat:clip.mp4", "-i.mp4", "pipe:0"):
        (tmp_path / name).write_bytes(clip.read_bytes())
        assert len(read_video(name)) == 8


def test_streams_end(clip, monkeypatch):
    monkeypatch.setattr(limits, "MOST_FRAMES", 5)
    with pytest.raises(InputError, match=r"clip.mp4.*more than 5 frames; cut it"):
        read_video(clip)
    monkeypatch.setattr(limits, "MOST_FRAMES", 100)
    monkeypatch.setattr(limits, "MOST_MEMORY", 3 * 32 * 32 * 4 * 2)
    with pytest.raises(InputError, match="frames take more than"):
        read_video(clip)
    monkeypatch.setattr(limits, "MOST_MEMORY", 2**30)
    monkeypatch.setattr(limits, "MOST_SECONDS", -1.0)
    with pytest.raises(InputError, match="reading takes more than"):
        read_video(clip)


def test_claimed_sizes_are_held_to_the_limit(clip, monkeypatch):
    monkeypatch.setattr(regular_files, "MOST_PIXELS", 1000)
    with pytest.raises(InputError, match="32 x 32 pixels"):
        read_video(clip)


def test_a_webm_that_claims_to_be_huge_is_refused(tmp_path):
    """The container's fields of size hold up to 65535, those of the codec's first frame up to 16383."""
    path = tmp_path / "a.webm"
    with av.open(str(path), "w") as out:
        stream = out.add_stream("libvpx", rate=24)
        stream.width = stream.height = 300
        for _ in range(4):
            out.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((300, 300, 3), 90, np.uint8), format="rgb24")))
        out.mux(stream.encode(None))
    assert read_video(path).frames.shape[0] == 4
    whole = path.read_bytes()
    width, height, start = b"\xb0\x82\x01\x2c", b"\xba\x82\x01\x2c", b"\x9d\x01\x2a\x2c\x01\x2c\x01"
    assert whole.count(width) == whole.count(height) == whole.count(start) == 1
    container = whole.replace(width, width[:2] + b"\xff\xff").replace(height, height[:2] + b"\xff\xff")
    path.write_bytes(container)
    with contextlib.suppress(InputError):
        assert read_video(path).frames.shape[1:3] == (300, 300)  # the codec's own size counts
    path.write_bytes(container.replace(start, b"\x9d\x01\x2a\xff\x3f\xff\x3f"))
    with pytest.raises(InputError, match=r"a.webm.*(pixels|cannot be read)"):
        read_video(path)


def test_a_gif_that_claims_to_be_huge_is_refused(tmp_path):
    path = tmp_path / "a.gif"
    Image.fromarray(np.full((20, 20), 90, np.uint8)).save(path)
    whole = bytearray(path.read_bytes())
    whole[6:10] = b"\xff" * 4
    path.write_bytes(bytes(whole))
    with pytest.raises(InputError, match=r"a.gif.*pixels"):
        read_video(path)


def test_pictures_of_100000_pixels_a_side_are_refused_by_their_head(tmp_path):
    head = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", len(head)) + b"IHDR" + head + struct.pack(">I", zlib.crc32(b"IHDR" + head))
    path = tmp_path / "claim.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk + png(1, 1)[33:])
    with pytest.raises(InputError, match=r"claim.png.*(100000 x 100000 pixels|cannot be read)"):
        read_image(path)
    path.rename(tmp_path / "claim.mp4")
    with pytest.raises(InputError, match=r"claim.mp4"):
        read_video(tmp_path / "claim.mp4")


def test_damaged_videos_are_told_or_read(clip):
    whole = clip.read_bytes()
    draw = np.random.default_rng(7)
    for _ in range(60):
        content = bytearray(whole)
        for at in draw.integers(0, len(whole), 4):
            content[at] ^= int(draw.integers(1, 256))
        clip.write_bytes(bytes(content[: int(draw.integers(1, len(whole) + 1))]))
        with contextlib.suppress(InputError):
            assert len(read_video(clip)) <= 1000


def test_av_takes_the_options():
    """Listed options must be known to FFmpeg: unknown options are passed over in silence."""
    assert {"mov", "matroska", "gif"} <= {name.split(",")[0] for name in av.formats_available}


@pytest.mark.parametrize("content", ["a = " + "[" * 20_000 + "]" * 20_000, "a = {" * 5000, "\0", "a" * 100])
def test_experiment_files_that_are_none(tmp_path, content):
    (tmp_path / "bad.toml").write_text(content)
    with pytest.raises(InputError, match="not valid TOML"):
        load_file(tmp_path / "bad.toml")


def test_huge_experiment_files_are_not_read(tmp_path):
    with (tmp_path / "huge.toml").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(InputError, match="larger than 16 MB"):
        load_file(tmp_path / "huge.toml")


POSITION = {"position": [0, 1, 2]}


def test_measured_motion_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, rows=np.zeros((100_000, 3)), lengths=np.array([100_000]))
    assert len(Recording(str(path), 100.0, POSITION).read()) == 1
    monkeypatch.setattr(limits, "MOST_BYTES", 10**6)
    with pytest.raises(InputError, match="it unpacks to more than"):
        Recording(str(path), 100.0, POSITION).read()


@pytest.mark.parametrize(
    "name, content, told",
    [
        ("a.npz", b"PK\x03\x04 nothing", "it cannot be read"),
        ("a.csv", b"x,y,z\n1,2,three\n", "could not convert string to float"),
        ("a.csv", b"x,y,z\n\xff\xfe\n", "it cannot be read"),
    ],
)
def test_damaged_motion_is_refused_by_name(tmp_path, name, content, told):
    (tmp_path / name).write_bytes(content)
    columns = POSITION if name.endswith("npz") else {"position": ["x", "y", "z"]}
    with pytest.raises(InputError, match=rf"{name}: .*{told}"):
        Recording(name, 100.0, columns).read(tmp_path)


def test_clips_without_frames_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", rows=np.zeros((4, 3)), lengths=np.array([5, -1]))
    with pytest.raises(InputError, match="lengths add up to 4"):
        Recording("a.npz", 100.0, POSITION).read(tmp_path)


def test_a_damaged_dataset_is_refused(tmp_path):
    (tmp_path / "dataset.json").write_text('{"shards": [{"name": "000000.tar"}], "format": "npz", "size": [4, 4]}')
    (tmp_path / "000000.tar").write_bytes(b"no archive" * 100)
    with pytest.raises(InputError, match="expected a folder that `diffloom dataset` made"):
        VideoDataset(tmp_path)
