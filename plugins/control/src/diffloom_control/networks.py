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
from diffloom.regular_files import load_tensors, read_bytes
from diffloom.validation import suggest_name
from diffloom_control.observations import ImageObservation, SplineFeatures, StateObservation
from diffloom_fitting.files import write_bytes
from diffloom_fitting.scene import POLICY_PREFIX, Policy, Sinusoids, find_driven_shape

Groups = tuple[tuple[int, ...], ...]
"""Groups of numbers of a control's row; each group is driven as one number."""


class ControlRows(nn.Module):
    """Last layer of a policy: ``scale`` tanh(x), each row in the shape of a control's row.

    With ``only``, x has one number for each of these groups of a row's numbers, and all other numbers are 0.
    """

    def __init__(self, shape: tuple[int, ...], scale: float, only: Groups | None = None) -> None:
        super().__init__()
        self.shape, self.scale, self.only = shape, scale, only

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, numbers) as (rows, *shape)."""
        return find_control_rows(self.scale * torch.tanh(x), self.shape, self.only)


def find_control_rows(driven: Tensor, shape: tuple[int, ...], only: Groups | None) -> Tensor:
    """Return controls (rows, *shape) from driven numbers (rows, numbers): each group gets its number, the rest of a row
    is 0.
    """
    if only is not None:
        whole = driven.new_zeros(len(driven), int(torch.Size(shape).numel()))
        of = torch.tensor([k for k, group in enumerate(only) for _ in group])
        driven = whole.index_copy(1, torch.tensor([number for group in only for number in group]), driven[:, of])
    return driven.reshape(len(driven), *shape)


class ImageMoments(nn.Module):
    """Layer that reduces each channel to six numbers: its brightness, the centre of its light, and the spread of its
    light.

    They are smooth in every motion and finer than a pixel. Those of two images determine velocities. Positions are from
    -1 to 1 across the longer side. floor: brightness that keeps a black channel finite.
    """

    def __init__(self, floor: float = 1e-4) -> None:
        super().__init__()
        self.floor = floor

    def forward(self, x: Tensor) -> Tensor:
        """Return (rows, channels, height, width) as (rows, 6 channels)."""
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
    """Settings of a policy that is a network.

    Args:
        drives: Name of the control.
        sees: Input: "time" (sines), "spline" (B-splines over the simulation, so that the weights are the control),
            "state" or "image".
        every: Steps between two observations of "state" or "image".
        phases: Number of sines, for "time".
        frequency: Frequency of the sines [Hz].
        knots: Number of B-splines, for "spline".
        hidden: Widths of hidden layers; none makes the network linear.
        reads: Layers that read images: "convolutions" of stride 2, or "moments" (brightness, position and spread of
            each colour).
        channels: Channels of the convolutions.
        image_size: Height and width of images [px].
        frames: Number of latest images that are seen at once.
        bias: Layers have a bias.
        gain: Factor of the first weights; with a small one the policy begins at rest.
        scale: Largest value of the control, which is scale times a tanh.
        only: Numbers of the control's row that are driven, such as the cart's alone of cart and pole, or names of the
            model's regions, each of which is driven as one number (a muscle). All other numbers stay 0.
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
    """Return the policy of a network with random weights.

    Args:
        model: Model that is driven.
        params: Parameters of the model.
        network: Settings of the network.
        span: Duration of the simulation [s].
        seed: Seed of the weights.

    Returns:
        The policy.

    Example:
        network = Network("activation", frequency=2.0, scale=0.2)
        policy = make_network_policy(walker, params, network, span=0.5, seed=0)
    """
    shape = find_driven_shape(model, network.drives)
    only = list_driven_numbers("policy.only", model, network.drives, network.only)
    numbers = int(torch.Size(shape).numel()) if only is None else len(only)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        if network.sees == "image" and network.reads == "moments":
            told = 6 * 4 * network.frames
            layers = [ImageMoments(), *_make_dense([told, *network.hidden, numbers], network.bias)]
        elif network.sees == "image":
            layers = _make_convolutions(network, numbers)
        else:
            layers = _make_dense([_count_inputs(network, model, params), *network.hidden, numbers], network.bias)
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
    """Return ``only`` as groups of numbers of a control's row: numbers, or names of regions whose numbers form a
    group.
    """
    if only is None:
        return None
    most = int(torch.Size(find_driven_shape(model, drives)).numel())
    groups = tuple(
        _list_region_numbers(what, model, drives, one)
        if isinstance(one, str)
        else (one,)
        if isinstance(one, int)
        else tuple(one)
        for one in only
    )
    numbers = [number for group in groups for number in group]
    if not all(groups) or not numbers or not all(0 <= number < most for number in numbers):
        raise InputError(f"{what}: got {list(only)}; expected different numbers of a row, 0 to {most - 1}")
    if len(set(numbers)) < len(numbers):
        twice = next(number for number in numbers if numbers.count(number) > 1)
        raise InputError(f"{what}: got {list(only)}; expected different numbers of a row, and {twice} is driven twice")
    return groups


def _list_region_numbers(what: str, model: Model, drives: str, name: str) -> tuple[int, ...]:
    """Return the numbers of a control's row that belong to a region of the model."""
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


def _count_inputs(network: Network, model: Model, params: Params) -> int:
    """Return the number of inputs of the first layer."""
    if network.sees == "state":
        with torch.no_grad():
            state = model.initial_state(params)
        return sum(q.numel() + u.numel() for q, u in state.sets.values())
    return network.phases if network.sees == "time" else network.knots


def _make_dense(widths: Sequence[int], bias: bool) -> list[nn.Module]:
    """Return dense layers with tanh between them."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after, bias=bias), nn.Tanh()]
    return layers[:-1]


def _make_convolutions(network: Network, numbers: int) -> list[nn.Module]:
    """Return convolutions that halve the image, and dense layers on their result."""
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
    return [*layers, nn.Flatten(), *_make_dense([flat, *network.hidden, numbers], network.bias)]


#: Largest file that is read [bytes].
MOST_BYTES = 2**30


def save_policy(path: str | Path, policy: Policy, values: Mapping[str, Tensor] | None = None) -> None:
    """Write the weights of a policy.

    Args:
        path: File to write.
        policy: The policy.
        values: Weights by name ("policy.0.weight" and so on) that replace the policy's own.
    """
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
    """Return a policy with the weights of a file that ``save_policy`` wrote; the given policy is not changed.

    Args:
        path: File of the weights.
        policy: Policy with a network of the same shape.

    Returns:
        The policy with these weights.

    Raises:
        InputError: The file is missing, too large, or of another network.
    """
    what = f"weights {str(path)!r}"
    content = read_bytes(path, MOST_BYTES, what="weights")
    try:
        found = load_tensors(content, MOST_BYTES)
        given = {str(name): value for name, value in found.items() if isinstance(value, Tensor)}
    except Exception as error:  # files may be made up, so any error means that these are no weights
        raise InputError(f"{what}: these are no weights ({str(error)[:200] or type(error).__name__})") from error
    module = deepcopy(policy.module)
    wanted = dict(module.named_parameters())
    for name in {*wanted, *given}:
        if name not in wanted or name not in given or wanted[name].shape != given[name].shape:
            shapes = [tuple(where[name].shape) if name in where else "nothing" for where in (given, wanted)]
            raise InputError(f"{what}: {name!r} is {shapes[0]}, and this network expects {shapes[1]}; the file is "
                             f"of another policy{suggest_name(name, wanted)}")  # fmt: skip
    with torch.no_grad():
        for name, value in given.items():
            wanted[name].data = value.clone()
    return replace(policy, module=module)
