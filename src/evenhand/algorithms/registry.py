"""The list of algorithms: each is a function whose docstring is the one source of what is shown about it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import TypeVar

from evenhand.algorithms.citations import PAPERS, Paper
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.core.imports import same_definition
from evenhand.policy.composition import Policy
from evenhand.policy.merit import Power
from evenhand.theory.bounds import Bound

F = TypeVar("F", bound=Callable[..., Policy])

#: Values for the parameters without defaults, for examples with two arms.
SAMPLE: dict[str, object] = {
    "fractions": [0.1, 0.1],
    "horizon": 100,
    "eta": 10.0,
    "penalties": 0.3,
    "pulls": 5,
    "merit": Power(),
    "delay": 10,
    "discount": 0.99,
    "window": 100,
    "rates": [0.1, 0.1],
}


@dataclass(frozen=True)
class Algorithm:
    """A published algorithm: a function from its parameters to a policy."""

    name: str
    build: Callable[..., Policy]
    paper: Paper | None = None
    bound: Bound | None = None

    @property
    def summary(self) -> str:
        """One line of what it is."""
        return self._sections()[0]

    @property
    def equation(self) -> str:
        """Its rule."""
        return " ".join([*self._sections(), ""][1].replace("``", "").split())

    @property
    def promise(self) -> str:
        """What it promises to the arms."""
        return self._labelled("Promise")

    @property
    def source(self) -> str:
        """Paper, section, equation."""
        return self._labelled("Source")

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Its parameters by name."""
        return dict(inspect.signature(self.build).parameters)

    def example(self) -> Policy:
        """The algorithm with the values of `SAMPLE` for the parameters that have no default."""
        needed = [name for name, parameter in self.parameters.items() if parameter.default is parameter.empty]
        return self.build(**{name: SAMPLE[name] for name in needed})

    def parameter_help(self) -> dict[str, str]:
        """What each parameter is, from the docstring."""
        text = self._labelled("Args", keep_lines=True)
        found = re.findall(r"^(\w+): (.+?)(?=^\w+: |\Z)", text, flags=re.MULTILINE | re.DOTALL)
        return {name: " ".join(words.split()) for name, words in found}

    def _sections(self) -> list[str]:
        return (inspect.getdoc(self.build) or "").split("\n\n")

    def _labelled(self, label: str, keep_lines: bool = False) -> str:
        for section in self._sections():
            if section.startswith(f"{label}:"):
                text = inspect.cleandoc(section.removeprefix(f"{label}:"))
                return text if keep_lines else " ".join(text.split())
        return ""


ALGORITHMS: dict[str, Algorithm] = {}
ENTRY_POINTS = "evenhand.algorithms"


def algorithm(paper: str | None = None, bound: Bound | None = None) -> Callable[[F], F]:
    """Register a function that returns a policy as an algorithm, under its own name.

    Args:
        paper: key of its publication in ``citations.bib``; None for one's own.
        bound: a theorem's bound on one of its measures; see `evenhand.theory.bounds`.

    Raises:
        EvenhandError: another algorithm has the name.

    Example:
        >>> from evenhand.policy import EmpiricalMean
        >>> @algorithm()
        ... def greedy() -> Policy:
        ...     '''Greedy: the arm with the largest mean plays.'''
        ...     return Policy(EmpiricalMean())
        >>> find("greedy").summary
        'Greedy: the arm with the largest mean plays.'
        >>> find("greedy").build().index
        EmpiricalMean(evidence=Received())
        >>> del ALGORITHMS["greedy"]
    """

    def enter(build: F) -> F:
        known = ALGORITHMS.get(build.__name__)
        if known is not None and not same_definition(known.build, build):
            raise EvenhandError(f"there are two algorithms named {build.__name__!r}; rename one of them")
        publication = None if paper is None else PAPERS[paper]
        ALGORITHMS[build.__name__] = Algorithm(build.__name__, build, publication, bound)
        return build

    return enter


def find(name: str) -> Algorithm:
    """The algorithm of that name.

    Args:
        name: of the algorithm.

    Returns:
        The algorithm.

    Raises:
        ConfigurationError: there is none; names the nearest.

    Example:
        >>> find("fucb").source
        'Patil et al. 2019, section 5, Algorithm 3.'
    """
    known = algorithms()
    if name not in known:
        raise ConfigurationError(f"there is no algorithm {name!r}{nearest(name, known)}", key="algorithm")
    return known[name]


def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name, with those of installed packages (entry points ``evenhand.algorithms``)."""
    for entry in _installed():  # the package's own have registered themselves: it is loaded before this module
        ALGORITHMS.setdefault(entry.name, Algorithm(entry.name, entry.load()))
    return ALGORITHMS


@cache
def _installed() -> EntryPoints:
    return entry_points(group=ENTRY_POINTS)
