"""Drive headless Chromium over its debugging pipe: no library, no port, no network. For tests and for screenshots."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage",
    "--no-first-run", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--allow-file-access-from-files",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
# Chromium reads commands from file 3 and answers on 4.
LAUNCH = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(read, 3); os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A running Chromium; leave the ``with`` block to end it."""

    def __init__(self, seconds: float = 120.0) -> None:
        if CHROMIUM is None:
            raise FileNotFoundError("Chromium is not installed: apt install chromium")
        self.seconds = seconds
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        told = [sys.executable, "-c", LAUNCH, str(commands), str(answers), CHROMIUM]
        self._process = subprocess.Popen(
            [*told, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"], pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._number, self._buffer = 0, b""
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.send("Browser.close")
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def send(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command and its answer; what happens meanwhile is kept in ``events``."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self.events.append(answer)

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + self.seconds
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"Chromium said nothing for {self.seconds:g} s")
            part = os.read(self._read, 1 << 20)
            if not part:
                raise OSError("Chromium has ended")
            self._buffer += part
        first, self._buffer = self._buffer.split(b"\0", 1)
        found: dict[str, Any] = json.loads(first)
        return found

    def open(self, address: str, width: int = 1200, height: int = 900, *, dark: bool = False) -> Page:
        """A new page of the given size [px]."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network"):
            page.send(f"{domain}.enable")
        page.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        page.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                      {"name": "prefers-reduced-motion", "value": "reduce"}],
        )  # fmt: skip
        page.send("Page.navigate", url=address)
        page.wait("document.readyState === 'complete'")
        return page


class Page:
    """One page: ask it, click it, take its image."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command to this page."""
        return self.browser.send(method, self.session, **params)

    def ask(self, script: str) -> Any:
        """The value of an expression."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(json.dumps(answer["exceptionDetails"])[:2000])
        return answer["result"].get("value")

    def wait(self, script: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + seconds
        while not self.ask(script):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited {seconds:g} s for {script}; {self.faults()}")
            time.sleep(0.05)

    def click(self, selector: str) -> None:
        """Click the middle of an element, as a mouse does."""
        self.ask(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'center'}})")
        x, y = self.ask(
            f"(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect())"
        )
        self.drag((x, y), (x, y))

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press at ``start``, let go at ``end`` [px of the window]."""
        for kind, (x, y) in (("mouseMoved", start), ("mousePressed", start), ("mouseMoved", end),
                             ("mouseReleased", end)):  # fmt: skip
            button = {"buttons": 1} if kind == "mouseMoved" and start != end else {}
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, **button)

    def press(self, key: str) -> None:
        """Press a key, such as "ArrowRight", on what has the focus."""
        code = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}[key]
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def faults(self) -> list[str]:
        """Errors that the page's scripts raised."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        return [
            e["params"]["exceptionDetails"].get("exception", {}).get("description", str(e))
            for e in mine if e["method"] == "Runtime.exceptionThrown"
        ]  # fmt: skip

    def fetched(self) -> list[str]:
        """The addresses that the page asked for."""
        mine = [e for e in self.browser.events if e.get("sessionId") == self.session]
        return [e["params"]["request"]["url"] for e in mine if e["method"] == "Network.requestWillBeSent"]

    def screenshot(self, path: Path | None = None, *, whole: bool = False) -> bytes:
        """PNG of the window, or of the whole page."""
        given: dict[str, Any] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.send("Page.getLayoutMetrics")["cssContentSize"]
            given["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        content = base64.b64decode(self.send("Page.captureScreenshot", **given)["data"])
        if path is not None:
            path.write_bytes(content)
        return content
