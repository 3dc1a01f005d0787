"""Parameters: declared once per model as specs, given as named tensors, of one scene or of a batch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from diffloom.errors import InputError, ParameterError
from diffloom.transforms import explain_batch_errors, is_mapped, unwrap_values
from diffloom.validation import as_float_tensor, as_whole_number, check_finite, suggest_name

if TYPE_CHECKING:
    from diffloom.interfaces.model import Model


@dataclass(frozen=True)
class ParamSpec:
    """Declaration of one parameter, which validation, help, documentation, fits and gradient checks read.

    Args:
        name: Name of the parameter.
        default: Default value; None for an optional parameter, which is absent unless given.
        unit: Unit, such as "kg"; "" for none.
        doc: Description in one sentence.
        shape: Axes of the full parameter, such as ``("tets",)`` or ``("particles", 3)``; values may have any shape that
            broadcasts to it.
        bounds: Inclusive bounds; None for no bound. ``(0.0, None)`` marks a non-negative quantity, fitted in log space.
        per_step: True if the parameter may be a control, with one value per step.
        differentiable: True if gradients with respect to the parameter exist.
        replaces: Parameter whose default is dropped if this one is given; giving both is an error.
        not_to_be_confused: Pairs of a name that is no parameter, such as the quantity in another unit, and the advice
            for
            users who give it.
    """

    name: str
    default: Any
    unit: str
    doc: str
    shape: tuple[str | int, ...] = ()
    bounds: tuple[float | None, float | None] = (None, None)
    per_step: bool = False
    differentiable: bool = True
    replaces: str | None = None
    not_to_be_confused: tuple[tuple[str, str], ...] = ()

    def full_shape(self, axes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the full shape, with the lengths of the model's axes.

        Args:
            axes: Lengths of named axes, ``Model.axes``.

        Returns:
            Shape.
        """
        return tuple(axes[n] if isinstance(n, str) else n for n in self.shape)

    def check(self, value: object, axes: Mapping[str, int], dtype: torch.dtype) -> Tensor:
        """Return ``value`` as a tensor of this parameter.

        Args:
            value: Number, list, array or tensor.
            axes: Lengths of named axes.
            dtype: Float type of the tensor.

        Returns:
            Tensor that broadcasts to the full shape.

        Raises:
            InputError: The value has a wrong shape, is not finite or out of bounds.
        """
        what = f"parameter {self.name!r}" + (f" [{self.unit}]" if self.unit else "")
        tensor = as_float_tensor(what, value, dtype)
        numbers = unwrap_values(tensor)
        one = numbers.item() if numbers.numel() == 1 else None
        if one is None or not math.isfinite(one):
            check_finite(what, tensor)
        full = self.full_shape(axes)
        if tensor.dim() == 0 and self.shape[-1:] == (3,) and bool((numbers != 0.0).any()):
            raise InputError(f"{what}: got one number, {numbers.reshape(-1)[0].item():g}, for a vector; expected its 3")
        if not broadcasts_to(tuple(tensor.shape), full):
            names = ", ".join(str(n) for n in self.shape)
            raise InputError(f"{what}: got shape {tuple(tensor.shape)}; expected ({names}) = {full} or a part of it "
                             "that broadcasts, such as one scalar for all")  # fmt: skip
        low, high = self.bounds
        if low is not None and numbers.numel() and (least := numbers.min().item() if one is None else one) < low:
            raise InputError(f"{what}: got {least:g}; expected at least {low:g}")
        if high is not None and numbers.numel() and (most := numbers.max().item() if one is None else one) > high:
            raise InputError(f"{what}: got {most:g}; expected at most {high:g}")
        return tensor


def broadcasts_to(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    """Return True if a tensor of ``shape`` broadcasts to ``full`` and no further."""
    return len(shape) <= len(full) and all(n in (1, want) for n, want in zip(shape[::-1], full[::-1], strict=False))


class MissingParameterError(KeyError, InputError):
    """Required parameter that was not given."""

    def __str__(self) -> str:
        return str(self.args[0])


class Params(Mapping[str, Tensor]):
    """Named parameter tensors of one dtype: an immutable mapping, made by ``Model.params``.

    Args:
        values: Tensors by name.
        dtype: Float type of all tensors.
        checked: Names of values known to fit their specs; a simulation checks the remaining ones.
        batch: Number of scenes; None for one scene.
        per_scene: Names of values with a leading axis of scenes.
    """

    def __init__(
        self,
        values: Mapping[str, Tensor],
        dtype: torch.dtype,
        checked: frozenset[str] = frozenset(),
        batch: int | None = None,
        per_scene: frozenset[str] = frozenset(),
    ) -> None:
        self._values = dict(values)
        self._checked = checked
        self.dtype = dtype
        self.batch = batch
        self.per_scene = per_scene

    def __getitem__(self, name: str) -> Tensor:
        try:
            return self._values[name]
        except KeyError:
            raise MissingParameterError(
                f"parameter {name!r} is missing and has no default; give it, for example in [params]. Present: "
                f"{', '.join(sorted(self._values))}{suggest_name(name, self._values)}"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def get(self, name: str, default: Any = None) -> Any:
        """Return a parameter, or ``default`` if it is absent.

        Args:
            name: Name of the parameter.
            default: Result for an absent parameter.

        Returns:
            Tensor or ``default``.
        """
        return self._values.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        rows = (f"{k}={v.item():g}" if v.numel() == 1 else f"{k}={tuple(v.shape)}" for k, v in self._values.items())
        many = "" if self.batch is None else f", batch={self.batch}"
        return f"Params({', '.join(rows)}, dtype={self.dtype}{many})"

    def _repr_html_(self) -> str:
        """Return the parameters as an HTML table, for notebooks."""
        from diffloom.notebook import format_params_html

        return format_params_html(self._values, self.dtype)

    def replace(self, **values: Tensor) -> Params:
        """Return a copy with some values replaced; models check their shapes and bounds again.

        Args:
            **values: Tensors by name.

        Returns:
            Changed parameters.
        """
        return Params({**self._values, **values}, self.dtype, self._checked - values.keys(), self.batch, self.per_scene)

    @property
    def checked(self) -> frozenset[str]:
        """Names of values known to fit their specs."""
        return self._checked

    def scene(self, number: int) -> Params:
        """Return the parameters of one scene of a batch.

        Args:
            number: Number of the scene.

        Returns:
            Parameters of that scene.
        """
        own = {name: value[number] if name in self.per_scene else value for name, value in self._values.items()}
        return Params(own, self.dtype, self._checked)

    def check(self, owner: str, specs: tuple[ParamSpec, ...], axes: Mapping[str, int]) -> None:
        """Raise ParameterError unless every value fits its spec; values that were checked before are skipped.

        Args:
            owner: Name of the model in messages.
            specs: Declared parameters.
            axes: Lengths of named axes.
        """
        known = {spec.name: spec for spec in specs}
        for name in self._values.keys() - self._checked:
            if name not in known:
                raise ParameterError(f"{owner} has no parameter {name!r}{suggest_name(name, known)}")
            try:
                known[name].check(self._values[name], axes, self.dtype)
            except InputError as error:
                raise ParameterError(str(error)) from error

    def to(self, dtype: torch.dtype) -> Params:
        """Return the parameters in another precision.

        Args:
            dtype: torch.float32 or torch.float64.

        Returns:
            Converted parameters.
        """
        values = {k: v.to(dtype) for k, v in self._values.items()}
        return Params(values, dtype, self._checked, self.batch, self.per_scene)


def make_params(
    owner: str,
    specs: tuple[ParamSpec, ...],
    axes: Mapping[str, int],
    values: Mapping[str, object],
    dtype: torch.dtype,
) -> Params:
    """Return the defaults overridden by ``values``, each checked against its spec.

    Args:
        owner: Name of the model in messages.
        specs: Declared parameters.
        axes: Lengths of named axes.
        values: Values by name; None counts as absent.
        dtype: Float type.

    Returns:
        Checked parameters.

    Raises:
        InputError: A name is unknown, or a value does not fit its spec.
    """
    known = {spec.name: spec for spec in specs}
    check_param_names(owner, known, values)
    replaced = {spec.replaces for name, spec in known.items() if values.get(name) is not None}
    checked: dict[str, Tensor] = {}
    for name, spec in known.items():
        value = values.get(name)
        if value is None and (spec.default is None or name in replaced):
            continue
        source = spec.default if value is None else value
        if value is None and isinstance(source, Tensor):
            source = source.to(dtype)
        checked[name] = spec.check(source, axes, dtype)
    return Params(checked, dtype, frozenset(checked))


def check_param_names(owner: str, known: Mapping[str, ParamSpec], values: Mapping[str, object]) -> None:
    """Raise InputError for values without a parameter, and for two values of which one replaces the other.

    Args:
        owner: Name of the model in messages.
        known: Specs by name.
        values: Values by name.
    """
    advice = {name: words for spec in known.values() for name, words in spec.not_to_be_confused}
    for name, value in values.items():
        if name not in known:
            if name in advice:
                raise InputError(f"{owner} has no parameter {name!r}: {advice[name]}")
            raise InputError(
                f"{owner} has no parameter {name!r}{suggest_name(name, known)} It has: {', '.join(sorted(known))}"
            )
        other = known[name].replaces
        if value is not None and other is not None and values.get(other) is not None:
            raise InputError(f"{owner}: got {name} and {other}, of which the one follows from the other; give one")


def batch_params(model: Model, batch: object, dtype: torch.dtype, values: Mapping[str, object]) -> Params:
    """Return the parameters of several scenes: each value is shared, or has a leading axis of scenes."""
    count = as_whole_number("batch", batch)
    if count < 1:
        raise InputError(f"batch: got {batch}; expected 1 or more scenes")
    full = {spec.name: spec.full_shape(model.axes) for spec in model.specs}
    own: dict[str, Tensor] = {}
    shared: dict[str, object] = {}
    for name, value in values.items():
        shape = tuple(value.shape) if isinstance(value, Tensor) else np.shape(value)  # type: ignore[call-overload]
        if value is not None and name in full and is_per_scene(f"parameter {name!r}", shape, full[name], count):
            own[name] = as_float_tensor(f"parameter {name!r}", value, dtype)
        else:
            shared[name] = value
    for_all: dict[str, Tensor] = {}

    def one(given: dict[str, Tensor]) -> dict[str, Tensor]:
        made = model.params(dtype, **shared, **given)
        for_all.update({name: value for name, value in made.items() if not is_mapped(value)})
        return {name: value for name, value in made.items() if is_mapped(value)}

    with explain_batch_errors(f"{type(model).__name__}.params"):
        different = torch.vmap(one)(own) if own else one({})
    found = {**for_all, **different}
    return Params(found, dtype, frozenset(found), count, frozenset(different))


def is_per_scene(what: str, shape: Sequence[int], full: Sequence[int], batch: int) -> bool:
    """Return True if a value has a leading axis of scenes before the shape of one scene's value.

    Raises:
        InputError: The shape can be read either way.
    """
    as_one = broadcasts_to(tuple(shape), tuple(full))
    as_many = len(shape) > 0 and shape[0] == batch and broadcasts_to(tuple(shape[1:]), tuple(full))
    if as_one and as_many and batch > 1:
        each = (batch, *[1] * (len(full) + 1 - len(shape)), *shape[1:])
        raise InputError(
            f"{what}: got shape {tuple(shape)} for a batch of {batch}, which may be one value a scene or one scene's "
            f"values; expected ({batch}, {', '.join(map(str, full))}) or {each} for one a scene, or (1, "
            f"{', '.join(map(str, full))}) for one for all"
        )
    return as_many and not (as_one and batch == 1)
