"""What is wrong must be refused, in words."""

from __future__ import annotations

from collections.abc import Callable

from diffloom.interfaces import InputError
from diffloom.testing.checks import Failure, compared, require


def refused(what: str, attempt: Callable[[], object], *words: str) -> None:
    """Failure unless ``attempt`` raises InputError whose message holds all ``words``."""
    try:
        attempt()
    except InputError as error:
        compared()
        missing = [word for word in words if word not in str(error)]
        require(not missing, f"{what} is refused, but the message does not name {missing}: {error}")
        return
    except Exception as error:
        raise Failure(f"{what} raises {type(error).__name__} ({error}); expected InputError") from error
    raise Failure(f"{what} is taken without a word; expected InputError")
