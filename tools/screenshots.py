"""Make the screenshots of the documentation from a run of `diffloom demo`, in headless Chromium:

python tools/screenshots.py runs/demo
"""

import io
import sys
import time
from pathlib import Path

from browser import Browser, Page
from PIL import Image

IMAGES = Path(__file__).parents[1] / "docs" / "images"
MOMENT = 0.5  # moment of the demo's 1.2 s at which the ball is on the ground


def main(run: Path) -> None:
    """The report, wide and narrow, light and dark; and the viewer."""
    with Browser() as browser:
        for width, height in ((1200, 900), (390, 844)):
            for dark in (False, True):
                page = browser.open((run / "report.html").resolve().as_uri(), width, height, dark=dark)
                page.wait("diffloom.ready")
                page.ask(f"diffloom.moveTo({MOMENT})")
                name = f"report-{width}-{'dark' if dark else 'light'}"
                shoot(page, f"{name}.png")
                page.click("input[name=colour][value=stress]")
                page.ask("document.querySelector('.panels').scrollIntoView({block: 'start'}), scrollBy(0, 80)")
                shoot(page, f"{name}-3d.png")
        viewer(browser, run)


def viewer(browser: Browser, run: Path) -> None:
    """Three bodies side by side, by stress, with contact forces."""
    from diffloom_studio.playback import load_playback
    from diffloom_viewer import ViewerWindow

    window = ViewerWindow(load_playback(run), port=18100)
    page = browser.open(window.address, 1200, 800)
    page.wait("document.querySelectorAll('[role=slider]').length >= 2")
    window.slider.value = round(MOMENT / float(window._times[-1]) * (len(window._times) - 1))
    window.layout.value, window.colouring.value, window.forces.value = "side by side", "stress", True
    window.redraw()
    for client in window.server.get_clients().values():
        client.camera.position = 1.35 * client.camera.position
        client.camera.look_at = client.camera.look_at + (1.4, 0.0, -0.9)
    # A notice of viser's about drawing without a graphics card.
    page.ask("document.querySelectorAll('[class*=Notification]').forEach(n => n.remove())")
    settle(page)
    shoot(page, "viewer.png")
    window.close()


def settle(page: Page, most: float = 240.0) -> None:
    """Wait until nothing changes any more: drawn without a graphics card, bodies fade in slowly."""
    before, began = b"", time.monotonic()
    while (now := page.screenshot()) != before and time.monotonic() - began < most:
        before = now
        time.sleep(10.0)


def shoot(page: Page, name: str) -> None:
    """Write one image, in few colours, so that it stays small."""
    page.ask("new Promise(done => setTimeout(done, 400))")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(200).save(IMAGES / name, optimize=True)
    print(f"{name}: {(IMAGES / name).stat().st_size // 1024} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
