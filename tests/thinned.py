"""Cases of which the main run takes some, and `nox -s slow` the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest


def thinned(cases: Iterable[Any], kept: Callable[[Any], bool], name: Callable[[Any], str] = str) -> list[Any]:
    """The cases as parameters of a test, marked slow but for those that are kept.

    A test that holds for every algorithm in every variant and world takes minutes; the main run needs each rule once.
    """
    return [pytest.param(case, id=name(case), marks=() if kept(case) else pytest.mark.slow) for case in cases]
