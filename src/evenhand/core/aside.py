"""The mark of what decides no results, so that the version of the code does not depend on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def aside(function: F) -> F:
    """Mark a function that decides no results: digests of the code leave it out, with what only it uses.

    A field of a class that is annotated ``Annotated[str, aside]`` decides none either.
    """
    return function
