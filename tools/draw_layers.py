"""Draw the distributions by layer, with their imports, into docs/images/layers.svg: ``python tools/draw_layers.py``.

Boxes stand in the layers of tools/import_graph.py. An arrow is an import; an import that follows from other
arrows (a imports c, where a imports b and b imports c) is left out. The table has all imports.
"""

from __future__ import annotations

import sys
from pathlib import Path

from import_graph import LAYERS, ROOT, Repository

IMAGE = ROOT / "docs" / "images" / "layers.svg"

#: Centre of each box, from the left, and what it is for. Plugins of one prefix share a frame.
PLACES: dict[str, tuple[int, str]] = {
    "viewer": (905, "a fit in 3D, in a browser"),
    "studio": (905, "commands, reports, exports"),
    "motion": (800, "fits to measured motion"),
    "scale": (1010, "sweeps, datasets, loggers"),
    "experiments": (905, "experiment files, run folders"),
    "control": (905, "policies, goals, gym"),
    "video": (905, "reading, segmentation"),
    "render": (185, ""),
    "physics": (560, ""),
    "fitting": (905, "scenes, losses, optimisers"),
    "testing": (905, "conformance suites"),
    "mechanics": (640, "forces, contact, integrators"),
    "raster": (185, "parts of rasterisers"),
    "geometry": (840, "meshes and their files"),
    "kernels": (415, "compiled device code"),
    "core": (630, "interfaces, plugins, simulate"),
}
WIDTH, HEIGHT, ROW = 200, 48, 76
MEMBER_WIDTH, MEMBER_HEIGHT, LINES, GAP = 90, 26, 2, 6
CELL, LABEL = 16, 134
MARGIN, PAGE = 24, 1134
#: Layer of the frames, and how far it and the layers below it are moved down, to leave space for the table.
FRAMES, DOWN = 5, 124

STYLE = """
text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1c2733 }
.page { fill: #fbfcfd; stroke: #d5dce3 } .band { fill: #eef2f6 }
.frame { fill: none; stroke: #8fa1b3; stroke-dasharray: 4 3 }
.box { fill: #ffffff; stroke: #4a6785; stroke-width: 1.3 } .core .box { fill: #dcebf8 }
.member { fill: #ffffff; stroke: #8fa1b3 }
.name { font-size: 16px; font-weight: 600 } .role { font-size: 12.5px; fill: #53667a } .small { font-size: 13px }
.note { font-size: 13px; fill: #53667a } .arrow { stroke: #4a6785; stroke-width: 1.4; fill: none }
.head { fill: #4a6785 }
.grid { stroke: #dde4ea; stroke-width: 1 } .own { fill: #ccd6df } .dot { fill: #2b6cb0 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .page { fill: #12181f; stroke: #2c3742 } .band { fill: #19212a } .frame { stroke: #6d8196 }
.box { fill: #1f2a35; stroke: #8fb4d9 } .core .box { fill: #23405c } .member { fill: #1f2a35; stroke: #6d8196 }
.role, .note { fill: #a3b4c4 } .arrow { stroke: #8fb4d9 } .head { fill: #8fb4d9 }
.grid { stroke: #2a343e } .own { fill: #3b4957 } .dot { fill: #79b8f5 }
}
"""


def draw(repository: Repository) -> str:
    """Return the drawing as SVG."""
    layer = {one.name: one.layer for one in repository.distributions.values()}
    imports = {name: {b for a, b in repository.edges() if a == name} for name in layer}
    order = sorted(layer, key=lambda name: (-layer[name], name))
    height = MARGIN * 2 + ROW * len(LAYERS) + DOWN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {PAGE} {height}" role="img" '
        'aria-label="Distributions of diffloom by layer, with their imports">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path class="head" d="M0,0.8 L8,4 L0,7.2 z"/></marker></defs>',
        f'<rect class="page" x="0.5" y="0.5" width="{PAGE - 1}" height="{height - 1}" rx="8"/>',
    ]
    frames = {name: _frame(name) for name in layer}
    places = {name: _center(name, layer[name], layer) for name in layer}
    parts += _arrows(imports, places, frames)
    for frame in sorted(set(frames.values()) - {""}):
        parts += _group(frame, [name for name in sorted(layer) if frames[name] == frame], places)
    parts += [line for name in order if not frames[name] for line in _box(name, places[name])]
    parts += _table(order, layer, imports)
    return "\n".join([*parts, "</svg>"]) + "\n"


def reduce_imports(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """Return the imports that do not follow from other imports (the transitive reduction)."""

    def reached(name: str) -> set[str]:
        return imports[name].union(*(reached(other) for other in imports[name]))

    return {
        name: {one for one in found if not any(one in reached(other) for other in found - {one})}
        for name, found in imports.items()
    }


def _frame(name: str) -> str:
    """Return the prefix whose frame a box stands in; empty for a box of its own."""
    prefix = name.partition("_")[0]
    return prefix if prefix != name else ""


def _center(name: str, layer: int, layers: dict[str, int]) -> tuple[float, float]:
    """Return the centre of a box."""
    y = MARGIN + ROW * (len(LAYERS) - 1 - layer) + ROW / 2 + (DOWN if layer <= FRAMES else 0)
    frame = _frame(name)
    key = frame or name
    if key not in PLACES:
        raise LookupError(f"{key} has no place in the drawing: add it to PLACES in tools/draw_layers.py")
    x = PLACES[key][0]
    if not frame:
        return x, y
    members = sorted(other for other in layers if _frame(other) == frame)
    across = -(-len(members) // LINES)
    line, place = divmod(members.index(name), across)
    return x + (place - (across - 1) / 2) * (MEMBER_WIDTH + GAP), y + (line - 0.5) * (MEMBER_HEIGHT + GAP)


def _arrows(imports: dict[str, set[str]], places: dict[str, tuple[float, float]], frames: dict[str, str]) -> list[str]:
    """Return the arrows of the reduced imports; members of a frame that import the same share one from the frame."""
    reduced = reduce_imports(imports)
    starts = set[tuple[float, float, str]]()
    for name, targets in reduced.items():
        members = [other for other in imports if frames[name] and frames[other] == frames[name]]
        for target in targets:
            x, y = places[name]
            if sum(target in reduced[other] for other in members) > 1:
                x = PLACES[frames[name]][0]
                start = max(places[other][1] for other in members) + MEMBER_HEIGHT / 2 + 8
            else:
                start = y + (MEMBER_HEIGHT if members else HEIGHT) / 2
            starts.add((x, start, target))
    lines = []
    for x, start, target in sorted(starts):
        x1, end = places[target][0], places[target][1] - HEIGHT / 2 - 1
        x1 += max(20 - WIDTH / 2, min(WIDTH / 2 - 20, (x - x1) / 2))
        bend = (end - start) * 0.45
        lines.append(
            f'<path class="arrow" marker-end="url(#head)" d="M{x:.0f},{start:.0f} '
            f'C{x:.0f},{start + bend:.0f} {x1:.0f},{end - bend:.0f} {x1:.0f},{end:.0f}"/>'
        )
    return lines


def _box(name: str, place: tuple[float, float]) -> list[str]:
    x, y = place
    return [
        f'<g class="{"core" if name == "core" else "plugin"}">'
        f'<rect class="box" x="{x - WIDTH / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<text class="name" x="{x:.0f}" y="{y - 3:.0f}" text-anchor="middle">{name}</text>'
        f'<text class="role" x="{x:.0f}" y="{y + 15:.0f}" text-anchor="middle">{PLACES[name][1]}</text></g>'
    ]


def _group(frame: str, members: list[str], places: dict[str, tuple[float, float]]) -> list[str]:
    xs, ys = zip(*(places[name] for name in members), strict=True)
    left, top = min(xs) - MEMBER_WIDTH / 2 - 8, min(ys) - MEMBER_HEIGHT / 2 - 28
    width, height = max(xs) + MEMBER_WIDTH / 2 + 8 - left, max(ys) + MEMBER_HEIGHT / 2 + 8 - top
    lines = [
        f'<rect class="frame" x="{left:.0f}" y="{top:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6"/>',
        f'<text class="name" x="{left + 10:.0f}" y="{top + 19:.0f}">{frame}_*</text>',
    ]
    for name in members:
        x, y = places[name]
        lines.append(
            f'<rect class="member" x="{x - MEMBER_WIDTH / 2:.0f}" y="{y - MEMBER_HEIGHT / 2:.0f}" '
            f'width="{MEMBER_WIDTH}" height="{MEMBER_HEIGHT}" rx="4"/>'
            f'<text class="small" x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{name.partition("_")[2]}</text>'
        )
    return lines


def _table(order: list[str], layer: dict[str, int], imports: dict[str, set[str]]) -> list[str]:
    """Return the table of all imports; rows and columns are sorted from the top layer down."""
    left, top, size = MARGIN + LABEL, MARGIN + LABEL - 18, CELL * len(order)
    lines = []
    for number, name in enumerate(order):
        y, x = top + CELL * number, left + CELL * number
        if layer[name] % 2:
            lines.append(f'<rect class="band" x="{MARGIN}" y="{y}" width="{LABEL + size}" height="{CELL}"/>')
        lines.append(f'<text class="small" x="{left - 6}" y="{y + 12}" text-anchor="end">{name}</text>')
        lines.append(f'<text class="small" transform="translate({x + 12},{top - 6}) rotate(-60)">{name}</text>')
    for number in range(len(order) + 1):
        at = CELL * number
        lines.append(f'<path class="grid" d="M{left},{top + at}h{size}M{left + at},{top}v{size}"/>')
    for row, name in enumerate(order):
        for column, other in enumerate(order):
            across, down = left + CELL * column + CELL / 2, top + CELL * row + CELL / 2
            if row == column:
                lines.append(f'<rect class="own" x="{across - 6}" y="{down - 6}" width="12" height="12" rx="2"/>')
            elif other in imports[name]:
                lines.append(f'<circle class="dot" cx="{across}" cy="{down}" r="4"/>')
    note = "A dot: the row imports the column. Arrows: the same, without imports that follow from other imports."
    return [*lines, f'<text class="note" x="{MARGIN}" y="{top + size + 22}">{note}</text>']


def main() -> int:
    """Write the drawing."""
    IMAGE.write_text(draw(Repository()), encoding="utf-8")
    print(Path(IMAGE).relative_to(ROOT))
    return 0


if __name__ == "__main__":
    sys.exit(main())
