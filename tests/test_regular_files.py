"""Every reader refuses devices, pipes, sockets, folders and files that are too large, at once and by name."""

import ast
import io
import json
import os
import signal
import socket
import zipfile
from pathlib import Path

import pytest
import torch

from diffloom.interfaces import InputError
from diffloom.regular_files import append_text, load_tensors, open_regular, read_bytes, read_text

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def alarm():
    """A reader that hangs fails the test after 30 seconds."""

    def ring(*_):
        raise AssertionError("the reader hangs")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def make_pipe(place):
    os.mkfifo(place)


def make_socket(place):
    here = Path.cwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(place.name)
    finally:
        os.chdir(here)


def make_large(place):
    with place.open("wb") as file:
        file.truncate(2**50 if os.statvfs(place.parent).f_bsize else 0)


SPECIAL = {
    "pipe": make_pipe,
    "socket": make_socket,
    "device": lambda place: place.symlink_to("/dev/zero"),
    "folder": lambda place: place.mkdir(),
}


def read_policy(place):
    from diffloom_control.networks import load_policy

    load_policy(place, None)


def read_plain_experiment(place):
    from diffloom_experiments.changes import read_toml

    read_toml(place)


def read_model(place):
    from diffloom_physics_articulated.xml_files import parse

    parse(place)


def read_surface(place):
    from diffloom_geometry.mesh_files import read_triangles

    read_triangles(place.rename(place.with_suffix(".obj")))


def read_solid(place):
    from diffloom_geometry import tet_files

    tet_files.read_solid(place.rename(place.with_suffix(".msh")))


def read_picture(place):
    from diffloom_video.images import read_image

    read_image(place)


def read_arrays_file(place):
    from diffloom_video.limits import read_arrays

    read_arrays(place, "arrays", ("a",))


def read_video_file(place):
    from diffloom_video.readers import VideoFile

    list(VideoFile().frames(place, None))


def read_smoke(place):
    from diffloom_physics_smoke.patterns import make_pattern

    make_pattern(place, 8, 8)


def read_texture(place):
    from diffloom_physics_world.appearance import _image

    _image(str(place), "body")


def read_track_file(place):
    from diffloom_control.goals import _read_track

    _read_track(place)


def read_checkpoint_file(place):
    from diffloom_experiments.run_folder import read_checkpoint

    read_checkpoint(place)


def read_history_file(place):
    from diffloom_fitting.checkpoints import read_history

    read_history(place)


def read_result_file(place):
    from diffloom_fitting.results import load_result

    if place.is_dir():
        (place / "result.json").mkdir()
    load_result(place)


def read_recording(place):
    from diffloom_motion import Recording

    Recording(str(place), 30.0, {"position": ("x", "y", "z")}).read()


def read_dataset(place):
    from diffloom_scale.video_dataset import VideoDataset

    place.rename(place.with_name("dataset.json"))
    VideoDataset(place.parent)


def read_dataset_shard(place):
    from diffloom_scale.video_dataset import VideoDataset

    place.rename(place.with_name("shard-000000.tar"))
    about = {"shards": [{"name": "shard-000000.tar"}], "format": "npz"}
    (place.parent / "dataset.json").write_text(json.dumps(about))
    VideoDataset(place.parent)


def read_columns(place):
    from diffloom_scale.loggers import CsvTable

    place.rename(place.with_name("history.csv"))
    CsvTable().begin(place.parent, "", {})


READERS = [
    value for name, value in list(globals().items()) if name.startswith("read_") and value.__module__ == __name__
]


@pytest.mark.parametrize("kind", SPECIAL)
@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_what_is_no_regular_file_is_refused(reader, kind, tmp_path):
    place = tmp_path / "given"
    SPECIAL[kind](place)
    with pytest.raises(InputError, match=r"regular file|folder"):
        reader(place)


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_file_that_is_too_large_is_refused_before_it_is_read(reader, tmp_path):
    place = tmp_path / "given"
    with place.open("wb") as file:
        try:
            file.truncate(2**42)  # sparse
        except OSError:
            pytest.skip("the disk has no sparse files of 4 TB")
    with pytest.raises(InputError, match="larger than"):
        reader(place)


def test_a_file_without_a_length_is_limited_while_it_is_read():
    """Files of /proc say that they are empty."""
    with pytest.raises(InputError, match="larger than"):
        read_bytes("/proc/self/status", 10)
    assert len(read_bytes("/proc/self/status", 2**20)) > 10


def test_kind_and_size_are_those_of_what_was_opened(tmp_path, monkeypatch):
    """A file that is swapped for a pipe after the look is refused too."""
    place = tmp_path / "swapped"
    place.write_text("fine")
    plain = Path.stat

    def look(self, **keys):
        found = plain(self, **keys)
        if self == place:
            place.unlink()
            os.mkfifo(place)
        return found

    monkeypatch.setattr(Path, "stat", look)
    with pytest.raises(InputError, match="it is a pipe"):
        open_regular(place, 100)


def test_a_link_put_in_place_after_the_look_is_not_followed(tmp_path, monkeypatch):
    place, secret = tmp_path / "swapped", tmp_path / "secret"
    place.write_text("fine")
    secret.write_text("secret")
    plain = Path.stat

    def look(self, **keys):
        found = plain(self, **keys)
        if self == place and not os.path.islink(place):
            place.unlink()
            place.symlink_to(secret)
        return found

    monkeypatch.setattr(Path, "stat", look)
    with pytest.raises(InputError, match="cannot be read"):
        open_regular(place, 100, follow=False)


@pytest.mark.parametrize("name", ["config.json", "checkpoint.pt", "history.jsonl", "result.json", "history.csv"])
def test_a_link_in_a_run_folder_is_refused(name, tmp_path):
    from diffloom_experiments.run_folder import read_checkpoint, read_config
    from diffloom_fitting.checkpoints import read_history
    from diffloom_fitting.results import load_result

    outside, run = tmp_path / "outside", tmp_path / "run"
    outside.write_text("{}\n")
    run.mkdir()
    (run / name).symlink_to(outside)
    readers = {
        "config.json": lambda: read_config(run),
        "checkpoint.pt": lambda: read_checkpoint(run / name),
        "history.jsonl": lambda: read_history(run / name),
        "result.json": lambda: load_result(run),
        "history.csv": lambda: read_columns(run / name),
    }
    with pytest.raises(InputError, match="it is a link"):
        readers[name]()


def test_appending_follows_no_link_and_takes_no_pipe(tmp_path):
    outside, link, pipe = tmp_path / "outside", tmp_path / "history.csv", tmp_path / "pipe"
    outside.write_text("before")
    link.symlink_to(outside)
    os.mkfifo(pipe)
    for place in (link, pipe):
        with pytest.raises(InputError, match="expected a regular file"):
            append_text(place, "after")
    assert outside.read_text() == "before"
    append_text(outside, " and after")
    assert outside.read_text() == "before and after"


def test_a_temporary_name_cannot_be_known_beforehand(tmp_path):
    from diffloom_fitting.files import new_file, write_text

    names = set()
    for _ in range(3):
        with new_file(tmp_path / "result.json") as beside:
            names.add(beside.name)
            beside.write_text("")
    assert len(names) == 3
    for name in (f".result.{os.getpid()}.json",):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    write_text(tmp_path / "result.json", "content")
    assert not (tmp_path / "victim").exists()


def test_leftovers_of_killed_processes_go_with_the_next_run(tmp_path):
    from diffloom_fitting.files import remove_leftovers

    gone = [".checkpoint.4194305.pt", ".checkpoint.4194305-0123abcd.pt", f".checkpoint.{os.getppid()}-0123abcd.pt"]
    kept = [".hidden.txt", "checkpoint.4194305.pt", f".result.{os.getppid()}-0123abcd.json"]
    for name in gone + kept:
        (tmp_path / name).write_text("")
    os.utime(tmp_path / gone[-1], (0, 0))  # the number of a process that began later
    remove_leftovers(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(kept)


def test_weights_that_unpack_to_more_than_they_hold_are_refused():
    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(2**16)}, buffer)
    assert load_tensors(buffer.getvalue(), 2**30)["a"].shape == (2**16,)
    packed = io.BytesIO()
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            new.writestr(part.filename, old.read(part))
    assert len(packed.getvalue()) < 10_000
    with pytest.raises(ValueError, match="unpacks to"):
        load_tensors(packed.getvalue(), 2**30)
    with pytest.raises(ValueError, match="no archive"):
        load_tensors(b"\x80\x02}q\x00.", 2**30)


def test_text_that_is_not_text_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text in UTF-8"):
        read_text(tmp_path / "a", 100)
    with pytest.raises(InputError, match="no such file"):
        read_text(tmp_path / "b", 100)
    with pytest.raises(InputError, match="cannot be read"):
        read_text(tmp_path / "b\x00", 100)


#: Functions that open files in their own way, and the modules that may call them: for files of the package, of the
#: operating system, or written by this process. Everything else is read through diffloom.regular_files.
OPENERS = {"open", "read_text", "read_bytes", "fromfile", "loadtxt", "genfromtxt", "memmap"}
LOADERS = {"np.load", "numpy.load", "torch.load", "trimesh.load", "ElementTree.parse"}
OWN = {
    "core/src/diffloom/lazy.py": {"read_text"},
    "core/src/diffloom/plugins/catalogue.py": {"read_text"},
    "core/src/diffloom/plugins/loader.py": {"read_text"},
    "core/src/diffloom/regular_files.py": {"os.open", "torch.load"},
    "libs/kernels/src/diffloom_kernels/backends/cuda_check.py": {"read_bytes", "read_text"},
    "libs/kernels/src/diffloom_kernels/backends/cuda_findings.py": {"read_text"},
    "libs/kernels/src/diffloom_kernels/backends/threads.py": {"read_text"},
    "libs/kernels/src/diffloom_kernels/compile/cache.py": {"read_bytes", "open", "os.open"},
    "libs/kernels/src/diffloom_kernels/compile/fingerprint.py": {"read_bytes"},
    "libs/kernels/src/diffloom_kernels/compile/memory_bound.py": {"read_text"},
    "libs/testing/src/diffloom_testing/cli/new.py": {"read_text"},
    "plugins/experiments/src/diffloom_experiments/run_folder.py": {"open", "beside.open"},
    "plugins/studio/src/diffloom_studio/notebook.py": {"place.read_bytes"},
    "plugins/studio/src/diffloom_studio/saving.py": {"read_bytes"},
    "plugins/studio/src/diffloom_studio/report/media.py": {"av.open"},
    "plugins/studio/src/diffloom_studio/report/report.py": {"read_text"},
    "plugins/video/src/diffloom_video/new_clip.py": {"read_text"},
}
#: Calls by these names that open no file, or one that ``open_regular`` opened.
HARMLESS = {
    "Image.open",
    "np.load",
    "tarfile.open",
    "gzip.open",
    "trimesh.load",
    "av.open",
    "loaded.load",
    "read_text",
    "read_bytes",
}


def list_openings(source):
    """Return the calls in a module that may open a file by its path."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            name = called.rpartition(".")[2]
            handed = node.args and ast.unparse(node.args[0]) in ("file", "content", "io.BytesIO(content)", "out")
            harmless = called in HARMLESS and (called == name or handed or "fileobj=" in ast.unparse(node))
            if (name in OPENERS or called in LOADERS) and not harmless:
                found.append((called, node.lineno))
    return found


def test_no_module_opens_files_in_another_way():
    folders = [folder for kind in ("core", "libs/*", "plugins/*") for folder in ROOT.glob(f"{kind}/src")]
    paths = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
    assert len(paths) > 300
    wrong = []
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        for called, line in list_openings(path.read_text(encoding="utf-8")):
            allowed = OWN.get(name, set())
            if called not in allowed and called.rpartition(".")[2] not in allowed:
                wrong.append(f"{name}:{line} calls {called}")
    assert not wrong, "read these files through diffloom.regular_files:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    "line",
    ["open(path)", "path.read_text()", "np.load(path)", "torch.load(path)", "Image.open(path)", "av.open(str(path))",
     "tarfile.open(path)", "np.fromfile(path)", "path.open('rb')"],
)  # fmt: skip
def test_the_search_for_openings_finds_them(line):
    assert list_openings(line)


BASE = '[model]\nname = "springs"\n[unknowns]\nstiffness = {}\n'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('title = "invoice\\u202Egpj.exe"', "title holds U\\+202E \\(right-to-left override\\)"),
        ('title = "a\\u001b[31mred"', "title holds U\\+001B"),
        ('title = "a\\nverdict: green"', "title holds U\\+000A"),
        ('title = "a\\u2066b"', "title holds U\\+2066"),
        ('[target]\nfile = "a\\u0000b"', "target.file holds U\\+0000"),
        ('"a\\u202Eb" = 1', "a key holds U\\+202E"),
    ],
)
def test_texts_that_steer_a_terminal_or_turn_their_order_are_refused(line, words, tmp_path):
    from diffloom_experiments.changes import read_toml

    place = tmp_path / "a.toml"
    place.write_text(line + "\n" + BASE)
    with pytest.raises(InputError, match=words):
        read_toml(place)
    plain = 'title = "Ein Ball fällt: größer – 100 %, 球 👩‍🔬"\nnote = """two\nlines"""\n'
    place.write_text(plain + BASE)
    assert read_toml(place)["title"].startswith("Ein Ball")


@pytest.mark.parametrize("name", ["config.json", "result.json"])
def test_texts_in_a_strangers_run_folder_are_checked(name, tmp_path):
    from diffloom_experiments.run_folder import read_config
    from diffloom_fitting.results import load_result

    config = {"experiment": {"title": "a\x1b[2Jb"}, "folder": ".", "name": "a"}
    (tmp_path / name).write_text(json.dumps(config))
    with pytest.raises(InputError, match="experiment.title holds U\\+001B"):
        {"config.json": read_config, "result.json": load_result}[name](tmp_path)


def test_names_in_a_strangers_model_file_are_checked(tmp_path):
    from diffloom_physics_articulated.xml_files import parse

    (tmp_path / "a.urdf").write_text('<robot name="r"><link name="a\u202eb"/></robot>', encoding="utf-8")
    with pytest.raises(InputError, match="name holds U\\+202E"):
        parse(tmp_path / "a.urdf")
