"""Make the screenshots of the documentation from a run of `diffloom demo`, in headless Chromium, and those of a site:

python tools/screenshots.py runs/demo                      report and viewer, into docs/images
python tools/screenshots.py --site site FOLDER             pages of the site and the README, into FOLDER, to look at
"""

import io
import sys
import time
from pathlib import Path

from browser import Browser, Page
from PIL import Image

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
MOMENT = 0.5  # moment of the demo's 1.2 s at which the ball is on the ground
SIZES = ((1200, 900), (390, 844))
PAGES = ("index", "gallery/index", "gallery/world_hammer", "reproducing", "trust", "notebooks/own_plugin")
#: A forge's page of Markdown, as far as widths and tables go.
FORGE = """<meta charset="utf-8"><meta name="viewport" content="width=device-width"><style>
body { font: 16px/1.5 sans-serif; max-width: 850px; margin: 0 auto; padding: 24px; }
img { max-width: 100%; } table { display: block; overflow: auto; border-collapse: collapse; }
td, th { border: 1px solid #d0d7de; padding: 6px 13px; } pre { background: #f6f8fa; padding: 16px; overflow: auto; }
@media (prefers-color-scheme: dark) { body { background: #0d1117; color: #e6edf3; } a { color: #4493f8; }
pre { background: #151b23; } td, th { border-color: #3d444d; } }</style>"""


def main(run: Path) -> None:
    """The report, wide and narrow, light and dark; and the viewer."""
    with Browser() as browser:
        for width, height in SIZES:
            for dark in (False, True):
                page = browser.open((run / "report.html").resolve().as_uri(), width, height, dark=dark)
                page.wait("diffloom.ready")
                page.ask(f"diffloom.moveTo({MOMENT})")
                name = f"report-{width}-{'dark' if dark else 'light'}"
                shoot(page, IMAGES / f"{name}.png")
                page.click("input[name=colour][value=stress]")
                page.ask("document.querySelector('.stage').scrollIntoView({block: 'center'})")
                shoot(page, IMAGES / f"{name}-3d.png")
        viewer(browser, run)


def viewer(browser: Browser, run: Path) -> None:
    """Three bodies side by side, by stress, with contact forces and a what-if; and the same page on a phone."""
    from diffloom_studio.playback import load_playback
    from diffloom_viewer import ViewerWindow

    window = ViewerWindow(load_playback(run), port=18100)
    page = browser.open(window.address, 1200, 1000)
    page.wait("document.querySelectorAll('[role=slider]').length >= 2")
    window.slider.value = round(MOMENT / float(window._times[-1]) * (len(window._times) - 1))
    window.layout.value, window.colouring.value, window.forces.value = "side by side", "stress", True
    first = next(iter(window.knobs.values()))
    first.value = 3.0 * first.value
    window.simulate()
    for client in window.server.get_clients().values():
        client.camera.position = 1.35 * client.camera.position
        client.camera.look_at = client.camera.look_at + (1.4, 0.0, -0.9)
    settle(page)
    shoot(page, IMAGES / "viewer.png")
    phone = browser.open(window.address, 390, 844)
    phone.wait("document.querySelector('canvas') !== null")
    settle(phone)
    shoot(phone, IMAGES / "viewer-390.png")
    window.close()


def settle(page: Page, most: float = 240.0) -> None:
    """Wait until nothing changes any more: drawn without a graphics card, bodies fade in slowly."""
    # A notice of viser's about drawing without a graphics card.
    page.ask("document.querySelectorAll('[class*=Notification]').forEach(n => n.remove())")
    before, began = b"", time.monotonic()
    while (now := page.screenshot()) != before and time.monotonic() - began < most:
        before = now
        time.sleep(10.0)


def look_at_site(site: Path, folder: Path) -> None:
    """Pages of a built site and the README, wide and narrow, light and dark; each says whether it scrolls sideways."""
    from markdown_it import MarkdownIt

    folder.mkdir(parents=True, exist_ok=True)
    forge = ROOT / ".readme.html"
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    forge.write_text(FORGE + MarkdownIt("commonmark").enable("table").render(text), encoding="utf-8")
    places = {name.replace("/", "-"): site / f"{name}.html" for name in PAGES} | {"readme": forge}
    with Browser() as browser:
        for width, height in SIZES:
            for dark in (False, True):
                for name, place in places.items():
                    page = browser.open(place.resolve().as_uri(), width, height, dark=dark)
                    over = page.ask("document.documentElement.scrollWidth") - width
                    print(f"{name}, {width} px: {'no sideways scroll' if over <= 0 else f'{over} px too wide'}")
                    shoot(page, folder / f"{name}-{width}-{'dark' if dark else 'light'}.png")
    forge.unlink()


def shoot(page: Page, place: Path) -> None:
    """Write one image, in few colours, so that it stays small."""
    page.ask("new Promise(done => setTimeout(done, 400))")
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    image.quantize(200).save(place, optimize=True)
    print(f"{place.name}: {place.stat().st_size // 1024} kB")


if __name__ == "__main__":
    if sys.argv[1] == "--site":
        look_at_site(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        main(Path(sys.argv[1]))
