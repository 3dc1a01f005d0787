"""Loss landscapes of the paper's Figures 4, 11 and 12, one command each:

    python experiments/landscapes.py mass     # a cube's mass, for four choices of frames
    python experiments/landscapes.py lame     # both elastic moduli of a beam

writes results/landscape-mass.png, .csv and so on. `diffloom landscape FILE --over NAME=LOW:HIGH:COUNT` does the same
for any experiment.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from diffloom_experiments import build_experiment, load_file
from diffloom_experiments.origin import write_origin
from diffloom_fitting.landscape import Axis, LossGrid, evaluate_grid

FOLDER = Path(__file__).resolve().parent
#: Frames that the loss sees, of 21.
FRAMES = {
    "every frame": {"every": 1},
    "every 5th frame": {"every": 5},
    "first and middle": {"use": [0, 10]},
    "first and last": {"use": [0, -1]},
}


def mass_grids(count: int) -> dict[str, LossGrid]:
    """The loss over the mass of a cube, 0.1 to 5 kg, truth 1 kg, for each choice of frames."""
    axis = Axis("mass", np.unique(np.append(np.linspace(0.1, 5.0, count).round(6), 1.0)))
    found = {}
    for name, frames in FRAMES.items():
        loaded = load_file(FOLDER / "cube.toml", changes={"target.frames": {**frames, "holdout": "none"}})
        found[name] = evaluate_grid(build_experiment(loaded), [axis])
    return found


def lame_grid(count: int) -> LossGrid:
    """The loss over both moduli of a beam around 1000 Pa, in a reduced version of fem-material."""
    loaded = load_file(FOLDER / "fem-material.toml", quick=True, changes={"time.duration": 1.0})
    ends = np.linspace(400.0, 1600.0, count)
    return evaluate_grid(build_experiment(loaded), [Axis("shear_modulus", ends), Axis("lame_modulus", ends)])


def draw_mass(grids: dict[str, LossGrid], file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = figure.subplots()
    for name, grid in grids.items():
        axes.plot(grid.axes[0].values, grid.losses, label=name)
    axes.axvline(1.0, color="0.5", linestyle="--", linewidth=0.8, label="truth")
    axes.set(xlabel="mass [kg]", ylabel="mean squared error of pixels")
    axes.legend(frameon=False)
    figure.savefig(file, dpi=100)


def draw_lame(grid: LossGrid, file: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.0, 4.0), layout="constrained")
    axes = figure.subplots()
    shear, lame = (axis.values for axis in grid.axes)
    shown = axes.contourf(lame, shear, np.log10(np.maximum(grid.losses, 1e-8)), levels=24)
    axes.plot(1000.0, 1000.0, "w+", markersize=12)
    axes.set(xlabel="λ [Pa]", ylabel="μ [Pa]")
    figure.colorbar(shown, label="log10 of the mean squared error")
    figure.savefig(file, dpi=100)


def write(file: Path, grids: dict[str, LossGrid]) -> None:
    """All points as a table, and on the console where the lowest is and how many minima there are."""
    with file.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["frames", *(axis.name for axis in next(iter(grids.values())).axes), "loss"])
        for name, grid in grids.items():
            for index in np.ndindex(grid.losses.shape):
                place = [f"{axis.values[i]:.6g}" for axis, i in zip(grid.axes, index, strict=True)]
                rows.writerow([name, *place, f"{grid.losses[index]:.6g}"])
            print(f"{name}: lowest at {grid.lowest}, local minima on the grid: {grid.minima()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("mass", "lame"))
    parser.add_argument("--count", type=int, help="values of each parameter (50 masses, 17 moduli)")
    parser.add_argument("--out", type=Path, default=FOLDER / "results")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / f"landscape-{given.which}.png"
    if given.which == "mass":
        grids = mass_grids(given.count or 50)
        draw_mass(grids, file)
    else:
        grids = {"each 2nd frame": lame_grid(given.count or 17)}
        draw_lame(grids["each 2nd frame"], file)
    write(file.with_suffix(".csv"), grids)
    write_origin(file, file.with_suffix(".csv"))


if __name__ == "__main__":
    main()
