"""The list of algorithms: each is a function whose docstring is the one source of what is shown about it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from evenhand.algorithms.citations import PAPERS, Paper
from evenhand.core.dataclasses import dataclass
from evenhand.core.descriptions import complete, described
from evenhand.core.errors import ConfigurationError, EvenhandError, nearest
from evenhand.core.numbers import percent
from evenhand.core.parts import kinds
from evenhand.policy.composition import SLOTS, Policy
from evenhand.policy.merit import Power
from evenhand.theory.bounds import Bound

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

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

#: Parameters that mean the same in several published algorithms, whose docstrings need not describe them again.
COMMON: dict[str, str] = {
    "fractions": "(arms,), promised shares r_i of the rounds.",
    "tolerance": "α ≥ 0, plays that an arm may be behind before it goes first.",
    "eta": "η ≥ 0, such as 10: owed plays that outweigh one unit of reward; inf ignores the queue, "
    '``"auto"`` and ``"auto_sqrt"`` follow the scores.',
    "weights": "w_i ≥ 0, what a unit of reward of each arm counts.",
    "penalties": "A_k ≥ 0, price of a missing play, one number or one per arm.",
    "merit": "f, a positive function of the mean reward.",
    "cap": "let merits through under which a share could exceed one; the excess is shared among the others.",
    "groups": "tables with ``name``, ``arms``, and ``at_least``, ``at_most`` or ``exactly``, plays of them per round.",
    "caps": "(arms,), caps of the arms' shares; equal to the floor for a fixed share.",
    "horizon": "T, rounds.",
    "changes": "Υ ≥ 1, changes in these rounds.",
    "scope": '``"arm"``: only the arm that has changed begins anew; ``"all"``: all arms do.',
    "exploration": "c of UCB1.",
    "delta": 'δ in (0, 1], for ``"code"``.',
    "free_start": "one pull of every arm before round 1 that no measure sees, as in the published code.",
    "evidence": "what to believe of rewards that have not arrived; `fucb` explains the kinds.",
    "prior": "a and b > 0 of ``Beta(a, b)``, or a pair per arm, in their order or by name; (1, 1) is uniform.",
    "plays": "m, arms played per round.",
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
        return {name: " ".join(text.split()) for name, text in described(self.build).items()}

    def _sections(self) -> list[str]:
        return (inspect.getdoc(self.build) or "").split("\n\n")

    def _labelled(self, label: str) -> str:
        found = (one for one in self._sections() if one.startswith(f"{label}:"))
        return " ".join(next(found, "").removeprefix(f"{label}:").split())


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
        if known is not None:
            from evenhand.core.imports import same_definition  # which loads what reads files

            if not same_definition(known.build, build):
                raise EvenhandError(f"there are two algorithms named {build.__name__!r}; rename one of them")
        publication = None if paper is None else PAPERS[paper]
        if publication is not None:
            complete(build, COMMON)
        ALGORITHMS[build.__name__] = Algorithm(build.__name__, build, publication, bound)
        return build

    return enter


def find(name: str) -> Algorithm:
    """The algorithm of that name.

    Args:
        name: of the algorithm.

    Raises:
        ConfigurationError: there is none; names the nearest.

    Example:
        >>> find("fucb").source
        'Patil et al. 2019, section 5, Algorithm 3.'
    """
    known = ALGORITHMS if name in ALGORITHMS else algorithms()
    if name not in known:
        raise ConfigurationError(
            f"there is no algorithm {name!r}{_part_of(name) or nearest(name, known)}", key="algorithm"
        )
    return known[name]


def algorithms() -> dict[str, Algorithm]:
    """All algorithms by name, with those of installed packages (entry points ``evenhand.algorithms``)."""
    for entry in _installed():  # the package's own have registered themselves: it is loaded before this module
        if not callable(build := entry.load()):
            raise ConfigurationError(
                f"the entry point {entry.name} = {entry.value!r} must name a function, module:function"
            )
        ALGORITHMS.setdefault(entry.name, Algorithm(entry.name, build))
    return ALGORITHMS


def _part_of(name: str) -> str:
    """A hint that a name is a kind of part of a policy; empty for any other."""
    slot = next((slot for slot in SLOTS if name in kinds(slot)), "")
    return f"; it is a kind of {slot}: write {{'{slot}': {name!r}}}" if slot else ""


def _shown(policy: Policy) -> str:
    """What a policy is, for a notebook: formula, promise and source of its algorithm, and its parts."""
    from evenhand.core import html

    entry, slots = ALGORITHMS.get(policy.name), ("index", "fairness", "selection", "schedule", "hold")
    facts = {} if entry is None else {"": entry.equation, "Promise": entry.promise, "Source": entry.source}
    texts = (html.paragraph(f"{name}: {text}" if name else text) for name, text in facts.items() if text)
    parts = html.table(("part", ""), ((slot, repr(getattr(policy, slot))) for slot in slots), numbers=False)
    shares = [] if policy.fractions is None else [float(one) for one in np.atleast_2d(policy.fractions).mean(axis=0)]
    bars = [html.Bar(f"arm {arm}", share) for arm, share in enumerate(shares, start=1)]
    chart = html.chart(bars, (), "promised shares", percent)
    title = "A policy of parts" if entry is None else entry.summary
    return html.notebook(html.paragraph(title, strong=True), *texts, parts, chart)


Policy._repr_html_ = _shown  # type: ignore[attr-defined]  # policies know nothing of algorithms


@cache
def _installed() -> EntryPoints:
    from importlib.metadata import entry_points  # which loads readers of e-mail

    return entry_points(group=ENTRY_POINTS)
