"""Keywords of ``fit``: both spellings, the learning rate, priors in short forms, and advice for unknown names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, ParamSpec, TypeVar, cast

import numpy as np
from torch import Tensor

from diffloom.interfaces import InputError
from diffloom.validation import suggest_name
from diffloom_fitting.kinds import get_optimiser
from diffloom_fitting.optimisers import GaussNewton, Optimiser
from diffloom_fitting.priors import Gaussian
from diffloom_fitting.validation import check_instance, check_real, describe_value

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

Prior = Gaussian | Callable[[Mapping[str, Tensor]], Tensor] | Mapping[str, tuple[Any, Any]]

#: Names of other libraries for keywords of ``fit``.
SYNONYMS = {
    "learning_rate": "lr", "rate": "lr", "step_size": "lr", "max_iter": "iterations", "maxiter": "iterations",
    "n_iter": "iterations", "epochs": "iterations", "num_epochs": "iterations", "steps": "iterations",
    "num_steps": "iterations", "criterion": "loss", "loss_fn": "loss", "method": "optimiser", "solver": "optimiser",
    "on_iteration": "callback", "callbacks": "callback", "verbose": "progress", "random_state": "seed",
    "priors": "prior", "tol": "stop", "x0": "unknowns", "params": "unknowns", "video": "target",
}  # fmt: skip


def explain_keywords(
    options: type[Any],
) -> Callable[[Callable[Arguments, Returned]], Callable[Arguments, Returned]]:
    """Return a decorator: a keyword that the function does not take raises InputError with the nearest name.

    Args:
        options: Typed dictionary of the keywords that the function takes as ``**options``.

    Returns:
        The decorator.
    """

    def decorate(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
        named = (name for name, each in inspect.signature(function).parameters.items() if each.kind != each.VAR_KEYWORD)
        known = [*named, *options.__annotations__]

        @functools.wraps(function)
        def checked(*args: Arguments.args, **keywords: Arguments.kwargs) -> Returned:
            for name in keywords:
                if name not in known:
                    other = SYNONYMS.get(name)
                    hint = f"; did you mean {other!r}?" if other in known else suggest_name(name, known) or "."
                    raise InputError(
                        f"{function.__name__}: there is no keyword {name!r}{hint} It takes: {', '.join(known)}"
                    )
            return function(*args, **keywords)

        return checked

    return decorate


def choose_optimiser(optimiser: Optimiser | str | None, optimizer: Optimiser | str | None, lr: object) -> Optimiser:
    """Return the optimiser that the keywords of ``fit`` describe.

    Args:
        optimiser: An optimiser, its registered name, or None.
        optimizer: Other spelling of ``optimiser``.
        lr: Learning rate, or None for the optimiser's own.

    Returns:
        The optimiser, by default Gauss-Newton.

    Raises:
        InputError: Both spellings are given, or the optimiser has no learning rate.
    """
    if optimiser is not None and optimizer is not None:
        raise InputError("fit: got optimiser and optimizer, which are two spellings of one keyword; give one")
    given = optimizer if optimiser is None else optimiser
    what = "fit: optimiser" if optimizer is None else "fit: optimizer"
    chosen: Any = check_instance(what, GaussNewton() if given is None else given, Optimiser, get_optimiser)  # type: ignore[type-abstract]
    if lr is None:
        return cast("Optimiser", chosen)
    rate = check_real("fit: lr", lr, above=0.0)
    if not is_dataclass(chosen) or "rate" not in {field.name for field in fields(chosen)}:
        raise InputError(
            f"fit: lr: got {rate:g}, but {type(chosen).__name__} has no learning rate; leave lr out, or give an "
            'optimiser that has one, such as optimiser="adam"'
        )
    made: Any = replace
    return cast("Optimiser", made(chosen, rate=rate))


def split_prior(prior: Prior | None) -> dict[str, Any]:
    """Return the fields of an ``Experiment`` for a prior.

    Args:
        prior: A ``Gaussian``; (mean, deviation) by name of the unknown; a function from values by name to a term of
            the loss; or None.

    Returns:
        Fields by name.

    Raises:
        InputError: It is none of these.
    """
    if prior is None:
        return {}
    if isinstance(prior, Gaussian):
        return {"gaussian": prior}
    if isinstance(prior, Mapping):
        for name, pair in prior.items():
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise InputError(f"fit: prior: {name}: got {describe_value(pair)}; expected (mean, deviation)")
        means, deviations = ({name: _plain(pair[k]) for name, pair in prior.items()} for k in (0, 1))
        return {"gaussian": Gaussian(means, deviations)}
    if callable(prior) and not isinstance(prior, type):
        return {"prior": prior}
    raise InputError(
        f"fit: prior: got {describe_value(prior)}; expected (mean, deviation) by name, such as "
        '{"density": (2.0, 0.1)}, a Gaussian, or a function from values by name to a term of the loss'
    )


def _plain(value: Any) -> Any:
    """Return numbers and lists for NumPy arrays and tensors."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic | Tensor) else value


def is_stop(answer: object) -> bool:
    """Return True if the answer of a callback is True, also as a NumPy or torch value; other answers do not stop.

    Args:
        answer: The value that the callback returned.

    Returns:
        True to stop.
    """
    if isinstance(answer, np.bool_) or (isinstance(answer, Tensor) and answer.numel() == 1):
        return bool(answer)
    return answer is True
