"""Policies that are neural networks, and the files of their weights."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor, nn

from diffloom.interfaces import InputError, Model, Params
from diffloom.validation import suggest_name
from diffloom_control.observations import ImageObservation, SplineFeatures, StateObservation
from diffloom_fitting.files import write_bytes
from diffloom_fitting.scene import POLICY_PREFIX, Policy, Sinusoids, find_driven_shape

Groups = tuple[tuple[int, ...], ...]
"""Numbers of a control's row that are driven together, as one."""


class ControlRows(nn.Module):
    """``scale`` tanh(x), each row in the shape of a control's row; with ``only``, x is of these groups of a row's
    numbers and the others are 0."""

    def __init__(self, shape: tuple[int, ...], scale: float, only: Groups | None = None) -> None:
        super().__init__()
        self.shape, self.scale, self.only = shape, scale, only

    def forward(self, x: Tensor) -> Tensor:
        """(rows, numbers) -> (rows, *shape)."""
        return find_control_rows(self.scale * torch.tanh(x), self.shape, self.only)


def find_control_rows(driven: Tensor, shape: tuple[int, ...], only: Groups | None) -> Tensor:
    """(rows, *shape) of what is driven, (rows, numbers): each group takes its number, and the others are 0."""
    if only is not None:
        whole = driven.new_zeros(len(driven), int(torch.Size(shape).numel()))
        of = torch.tensor([k for k, group in enumerate(only) for _ in group])
        driven = whole.index_copy(1, torch.tensor([number for group in only for number in group]), driven[:, of])
    return driven.reshape(len(driven), *shape)


class ImageMoments(nn.Module):
    """Of each channel how bright it is on the whole, where its light lies, and how it is spread: six numbers, smooth in
    whatever moves and finer than a pixel. Two images of them tell velocities.

    Places are from -1 to 1 across the longer side. floor: brightness that keeps a black channel finite.
    """

    def __init__(self, floor: float = 1e-4) -> None:
        super().__init__()
        self.floor = floor

    def forward(self, x: Tensor) -> Tensor:
        """(rows, channels, height, width) -> (rows, 6 channels)."""
        height, width = x.shape[-2:]
        longer = max(height, width)
        across = (2.0 * torch.arange(width, dtype=x.dtype) + 1.0 - width) / longer
        down = ((2.0 * torch.arange(height, dtype=x.dtype) + 1.0 - height) / longer)[:, None]
        light = x.mean(dim=(-2, -1)) + self.floor
        u, v = ((x * axis).mean(dim=(-2, -1)) / light for axis in (across, down))
        second = [(x * axis).mean(dim=(-2, -1)) / light for axis in (across * across, across * down, down * down)]
        spread = [second[0] - u * u, second[1] - u * v, second[2] - v * v]
        return torch.stack([light, u, v, *spread], dim=-1).flatten(1)


@dataclass(frozen=True)
class Network:
    """What a file says of its policy.

    sees: "time" (``phases`` sines of ``frequency`` [Hz]), "spline" (``knots`` over the simulation: what the weights are
    is then the control itself), "state" or "image", the last two every ``every`` steps. hidden: widths of hidden
    layers, none makes it linear. Images of ``image_size`` (height, width), ``frames`` of them at once, are read by
    convolutions of stride 2 with so many ``channels``, or, with reads="moments", as brightness, place and spread of
    each colour. bias: whether layers have one. gain: factor on the first weights; a
    small one begins at rest. scale: largest value of the control, which is scale times a tanh. only: which numbers of
    the control's row it drives, such as the cart's alone of cart and pole, or names of the model's regions, each of
    which is driven as one, a muscle; the others stay 0.
    """

    drives: str
    sees: Literal["time", "spline", "state", "image"] = "time"
    every: int = 16
    phases: int = 8
    frequency: float = 1.0
    knots: int = 8
    hidden: Sequence[int] = ()
    reads: Literal["convolutions", "moments"] = "convolutions"
    channels: Sequence[int] = (8, 16)
    image_size: tuple[int, int] = (32, 32)
    frames: int = 1
    bias: bool = True
    gain: float = 1.0
    scale: float = 1.0
    only: Sequence[int | str] | None = None


def make_network_policy(model: Model, params: Params, network: Network, span: float, seed: int) -> Policy:
    """The policy. span: of the simulation [s]. seed: of its first weights."""
    shape = find_driven_shape(model, network.drives)
    only = list_driven_numbers("policy.only", model, network.drives, network.only)
    numbers = int(torch.Size(shape).numel()) if only is None else len(only)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if network.sees == "image" and network.reads == "moments":
            told = 6 * 4 * network.frames
            layers = [ImageMoments(), *_dense([told, *network.hidden, numbers], network.bias)]
        elif network.sees == "image":
            layers = _convolutions(network, numbers)
        else:
            layers = _dense([_told(network, model, params), *network.hidden, numbers], network.bias)
    module = nn.Sequential(*layers, ControlRows(shape, network.scale, only))
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(network.gain)
    if network.sees == "time":
        return Policy(network.drives, module, Sinusoids(network.phases, network.frequency))
    if network.sees == "spline":
        return Policy(network.drives, module, SplineFeatures(network.knots, span))
    seen = (
        StateObservation() if network.sees == "state" else ImageObservation(network.image_size, frames=network.frames)
    )
    return Policy(network.drives, module, observe=seen, every=network.every)


def list_driven_numbers(
    what: str, model: Model, drives: str, only: Sequence[int | str | Sequence[int]] | None
) -> Groups | None:
    """``only`` as groups of numbers of a control's row: numbers, or names of regions whose numbers go together."""
    if only is None:
        return None
    most = int(torch.Size(find_driven_shape(model, drives)).numel())
    groups = tuple(
        _of_region(what, model, drives, one) if isinstance(one, str) else (one,) if isinstance(one, int) else tuple(one)
        for one in only
    )
    numbers = [number for group in groups for number in group]
    if not all(groups) or not numbers or not all(0 <= number < most for number in numbers):
        raise InputError(f"{what}: got {list(only)}; expected different numbers of a row, 0 to {most - 1}")
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise InputError(f"{what}: got {list(only)}; expected different numbers of a row, and {twice} is driven twice")
    return groups


def _of_region(what: str, model: Model, drives: str, name: str) -> tuple[int, ...]:
    """The numbers of a control's row that belong to a region of the model."""
    regions = getattr(model, "regions", {})
    if name not in regions:
        known = ", ".join(regions) or "none"
        raise InputError(
            f"{what}: there is no region {name!r}{suggest_name(name, regions)} Regions of this model: {known}"
        )
    axis = model.spec(drives).shape
    inside = getattr(regions[name], str(axis[0]), None) if len(axis) == 1 else None
    if inside is None:
        raise InputError(f"{what}: got the region {name!r}, but {drives!r} is not a number for each of its elements")
    return tuple(int(k) for k in inside.nonzero()[0])


def _told(network: Network, model: Model, params: Params) -> int:
    """How many numbers the first layer is told."""
    if network.sees == "state":
        with torch.no_grad():
            state = model.initial_state(params)
        return sum(q.numel() + u.numel() for q, u in state.sets.values())
    return network.phases if network.sees == "time" else network.knots


def _dense(widths: Sequence[int], bias: bool) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after, bias=bias), nn.Tanh()]
    return layers[:-1]


def _convolutions(network: Network, numbers: int) -> list[nn.Module]:
    """Convolutions that halve the image, and dense layers on what they leave."""
    layers: list[nn.Module] = []
    height, width = network.image_size
    for before, after in pairwise((4 * network.frames, *network.channels)):
        layers += [nn.Conv2d(before, after, 3, stride=2, padding=1, bias=network.bias), nn.Tanh()]
        height, width = (height + 1) // 2, (width + 1) // 2
    if height * width < 1 or not network.channels:
        raise InputError(
            f"policy.channels: got {list(network.channels)}; expected the channels of one or more convolutions"
        )
    flat = network.channels[-1] * height * width
    return [*layers, nn.Flatten(), *_dense([flat, *network.hidden, numbers], network.bias)]


#: Largest file that is read [bytes].
MOST_BYTES = 2**30


def save_policy(path: str | Path, policy: Policy, values: Mapping[str, Tensor] | None = None) -> None:
    """Write the weights of ``policy``, with those in ``values`` ("policy.0.weight" and so on) in their place."""
    weights = {name: value.detach().clone() for name, value in policy.module.named_parameters()}
    found = {
        k.removeprefix(POLICY_PREFIX): v.detach().clone()
        for k, v in (values or {}).items()
        if k.startswith(POLICY_PREFIX)
    }
    buffer = io.BytesIO()
    torch.save({**weights, **found}, buffer)
    write_bytes(Path(path), buffer.getvalue())


def load_policy(path: str | Path, policy: Policy) -> Policy:
    """``policy`` with the weights of a file that ``save_policy`` wrote, in a module of its own."""
    place, what = Path(path), f"weights {str(path)!r}"
    if not place.is_file():
        raise InputError(f"{what}: no such file")
    if place.stat().st_size > MOST_BYTES:
        raise InputError(f"{what}: it is larger than {MOST_BYTES / 2**30:.0f} GB")
    try:
        found = torch.load(place, weights_only=True)
        given = {str(name): value for name, value in found.items() if isinstance(value, Tensor)}
    except Exception as error:  # made up by somebody: whatever it raises, these are no weights
        raise InputError(f"{what}: these are no weights ({str(error)[:200] or type(error).__name__})") from error
    module = deepcopy(policy.module)
    wanted = dict(module.named_parameters())
    for name in {*wanted, *given}:
        if name not in wanted or name not in given or wanted[name].shape != given[name].shape:
            shapes = [tuple(where[name].shape) if name in where else "nothing" for where in (given, wanted)]
            raise InputError(f"{what}: {name!r} is {shapes[0]}, and this network wants {shapes[1]}; the file is that "
                             f"of another policy{suggest_name(name, wanted)}")  # fmt: skip
    with torch.no_grad():
        for name, value in given.items():
            wanted[name].data = value.clone()
    return replace(policy, module=module)
