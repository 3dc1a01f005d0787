"""Remove the test suites that installed libraries bring along from this environment, and say how much they took.

Of a fresh .venv they are a tenth, PyTorch's C++ tests most of it. Packages of this repository are left alone, and so is
every module named ``testing``, which libraries import.
"""

import shutil
import sysconfig
from pathlib import Path

SITE = Path(sysconfig.get_paths()["purelib"])
#: Programs in the wheel of PyTorch that only its own tests and build run.
PROGRAMS = ("torch/bin/test_*", "torch/bin/protoc*")


def find_tests(site: Path) -> list[Path]:
    """Return the folders and programs to remove."""
    folders = [path for name in ("test", "tests") for path in site.glob(f"*/**/{name}") if path.is_dir()]
    outermost = [path for path in folders if not any(parent in folders for parent in path.parents)]
    return [*outermost, *(path for pattern in PROGRAMS for path in site.glob(pattern))]


def measure(path: Path) -> float:
    """Return the size of a file, or of all files in a folder [MB]."""
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(file.stat().st_size for file in files) / 1e6


def main() -> None:
    """Remove them."""
    found = find_tests(SITE)
    size = sum(map(measure, found))
    for path in found:
        path.unlink() if path.is_file() or path.is_symlink() else shutil.rmtree(path)
    if found:
        print(f"Removed {size:.0f} MB of libraries' own tests.")


if __name__ == "__main__":
    main()
