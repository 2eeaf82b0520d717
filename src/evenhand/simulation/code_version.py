"""The version of the code that decides results, by which kept results are known to be of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from evenhand.core.parts import HOMES, kinds
from evenhand.core.source import Root, digest_of, roots_of
from evenhand.core.version import __version__


def code_version(*parts: object) -> str:
    """The version, and a digest of the code that a simulation with some parts runs, wherever it stands."""
    return f"{__version__}+{digest_of(frozenset(roots_of(parts or everything())) | _rounds())}"


def everything() -> list[object]:
    """All registered parts, and the functions that make the policies of published algorithms."""
    from evenhand.algorithms.registry import algorithms

    return [*(cls for slot in HOMES for cls in kinds(slot).values()), *(one.build for one in algorithms().values())]


def named(names: Iterable[str]) -> list[object]:
    """What a configuration in which these strings stand can be made of."""
    from evenhand.algorithms.registry import algorithms
    from evenhand.environment.world import Environment
    from evenhand.policy.composition import Policy

    wanted = set(names)
    parts = [cls for slot in HOMES for kind, cls in kinds(slot).items() if wanted & {*kind.split("/"), kind}]
    return [Policy, Environment, *parts, *(one.build for name, one in algorithms().items() if name in wanted)]


@cache
def _rounds() -> frozenset[Root]:
    """What plays and measures the rounds, whatever the parts are."""
    from evenhand.core.streams import strand_seeds
    from evenhand.simulation.measures import MEASURES
    from evenhand.simulation.simulate import run_block
    from evenhand.theory.baseline import baseline_of

    return frozenset(roots_of([run_block, baseline_of, strand_seeds, *MEASURES.values()]))
