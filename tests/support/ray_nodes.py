"""A Ray cluster of two nodes on this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: The cluster's processes are started by the Python that runs the tests, and import what it imports.
NO_RAY = "Ray is not installed where the tests run: pip install 'diffloom-scale[ray]' there (`make test-services`)"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextmanager
def two_nodes() -> Iterator[str]:
    """Two nodes of one core each on this machine: a head, and a second raylet that joins it."""
    ray = pytest.importorskip("ray", reason=NO_RAY)
    script, port = Path(sys.executable).parent / "ray", free_port()
    address = f"127.0.0.1:{port}"
    common = ["--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats", "--block"]
    # Ray's workers are usually polite; beside other work they would take half an hour here.
    env = {**os.environ, "RAY_DISABLE_IMPORT_WARNING": "1", "RAY_worker_niceness": "0"}
    nodes: list[subprocess.Popen[bytes]] = []
    try:
        for how in (["--head", f"--port={port}", "--include-dashboard=false"], [f"--address={address}"]):
            nodes.append(subprocess.Popen([script, "start", *how, *common], env=env, start_new_session=True,
                                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))  # fmt: skip
            wait_for_nodes(ray, address, len(nodes))
        yield address
    finally:
        for node in reversed(nodes):
            os.killpg(node.pid, signal.SIGTERM)
        for node in nodes:
            node.wait(60)


def wait_for_nodes(ray: Any, address: str, count: int) -> None:
    for _ in range(120):
        try:
            ray.init(address=address, log_to_driver=False)
            alive = sum(node["Alive"] for node in ray.nodes())
            ray.shutdown()
            if alive == count:
                return
        except (ConnectionError, ValueError):
            ray.shutdown()
        time.sleep(1.0)
    raise AssertionError(f"{count} nodes did not come up")
