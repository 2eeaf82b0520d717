"""Which algorithm to start with: what suits which answers to `QUESTIONS`. The one table of recommendations.

``evenhand which``, `which`, the form of the page and the documentation read it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from evenhand.algorithms.build import Surroundings, build_policy
from evenhand.algorithms.properties import decides_by_numbers, plays_several
from evenhand.algorithms.registry import SAMPLE, find
from evenhand.core.errors import ConfigurationError
from evenhand.core.parts import plain
from evenhand.messages.answers import Question, Recommendation
from evenhand.messages.questions import QUESTIONS
from evenhand.policy.merit import Merit


class Advice(NamedTuple):
    """A row of the table: an algorithm, and for which promise, rewards and means it is made."""

    promise: str
    rewards: Sequence[str]
    why: str
    algorithm: str = ""
    parts: Mapping[str, Any] = MappingProxyType({})  # of which it is made in place of an algorithm with a name
    evidence: Sequence[Sequence[str]] = ()  # experiments, each with the first words of its confirmed claim
    means: str = "fixed"
    parameters: Mapping[str, Any] = MappingProxyType({})
    biased: bool = False  # whether it also suits delays that depend on the reward, with optimistic evidence

    def rows(self) -> Iterator[Advice]:
        """The row, and the one for delays that depend on the reward."""
        yield self
        if self.biased:
            why, evidence = f"{self.why} {MISSING}", [*self.evidence, EARLY]
            yield self._replace(rewards=BIASED, why=why, evidence=evidence, parameters={"evidence": "optimistic"})


BIASED = ("dependent", "unnamed")
MISSING = "A missing reward counts as the largest one, so an arm whose good rewards come late does not look bad."
EARLY = ("C-2d", "At the beginning, bad arms look better")
WINDOW = 86_400  # a sample value, in seconds
#: The better one first where several suit.
TABLE = tuple(
    Advice(**row)
    for row in tomllib.loads(Path(__file__).with_name("recommendations.toml").read_text("utf-8"))["advice"]
)
#: A sample of features.
FEATURES = {"situation": {"country": {"kind": "category", "levels": ["DE", "FR"]}}}
#: Parameters of the examples that are more than a sample value.
SHOWN: dict[str, dict[str, Any]] = {
    "group": {"groups": [{"name": "drinks", "arms": ["tea", "coffee"], "at_least": 0.3}]}
}


@cache
def recommendations() -> tuple[Recommendation, ...]:
    """The table, each row with all answers that it suits."""
    return tuple(_of(one) for row in TABLE for one in row.rows())


def _of(row: Advice) -> Recommendation:
    if row.parts:
        arms, given = 3, dict(row.parts)
        policy = build_policy(row.parts, Surroundings(arms, columns=(1, 1)))
        name, several = " + ".join(one["kind"] for one in row.parts.values()), policy.repays
    else:
        entry, name, arms = find(row.algorithm), row.algorithm, 2
        needed = [key for key, one in entry.parameters.items() if one.default is one.empty]
        given = {key: _for_three(key) for key in needed} | SHOWN.get(row.promise, {}) | dict(row.parameters)
        policy, several = entry.example(), plays_several(entry)
    when = {
        "promise": (row.promise,),
        "rewards": tuple(row.rewards),
        "means": (row.means,),
        "features": ("yes",) if policy.contextual else ("no",),
        "several": ("no", "yes") if several else ("no",),
        "explainable": ("no", "yes") if decides_by_numbers(policy, arms) else ("no",),
    }
    return Recommendation(
        name, given, " ".join(row.why.split()), tuple(dict.fromkeys(name for name, _ in row.evidence)), when
    )


def _for_three(parameter: str) -> object:
    """A sample value, as plain values for three arms and a run of some length."""
    value = 10_000 if parameter == "horizon" else SAMPLE[parameter]
    return plain(value) if isinstance(value, Merit) else [*value, value[0]] if isinstance(value, list) else value


def which(
    promise: str = "share",
    rewards: str = "late",
    means: str = "fixed",
    *,
    features: bool = False,
    several: bool = False,
    explainable: bool = False,
) -> tuple[Recommendation, ...]:
    """The algorithms to start with, for what is promised and how rewards come; ``evenhand which`` asks the questions.

    Args:
        promise: ``"share"``, kept at every time, or in the ``"long_run"``, or unless it exceeds a ``"price"``; to a
            ``"group"``; a least ``"chance"``, a share by ``"merit"``, a ``"reward"``, or ``"none"``.
        rewards: ``"late"`` or at once; ``"dependent"`` delays, or these ``"unnamed"``; only ``"sums"``.
        means: ``"fixed"``, or they ``"jump"`` or ``"drift"``.
        features: whether each decision has features, such as who asks.
        several: whether several arms play in a round, or arms are sometimes absent.
        explainable: whether decisions must follow from numbers, without draws.

    Returns:
        The best one first, at most two; none where no published policy is made for it.

    Raises:
        ConfigurationError: an answer is none of these.

    Example:
        >>> [one.algorithm for one in which("share")], [one.algorithm for one in which("share", explainable=True)]
        (['f_ts', 'fucb'], ['fucb'])
        >>> print(which("none", means="jump")[0])
        glr_klucb: What was learned is dropped where a test finds a change. (experiments: X-D1)
    """
    flags = {"features": features, "several": several, "explainable": explainable}
    yes_no = {name: "yes" if flag else "no" for name, flag in flags.items()}
    answers = {"promise": promise, "rewards": rewards, "means": means, **yes_no}
    for question in QUESTIONS:
        check(question, answers[question.name])
    return tuple(one for one in recommendations() if not _given_up(one, answers))[:2]


def check(question: Question, given: str) -> None:
    """Refuse what is no answer to the question."""
    if given not in question.options:
        raise ConfigurationError(f"must be one of {', '.join(question.options)}, got {given!r}", question.name)


def _given_up(one: Recommendation, answers: Mapping[str, str]) -> dict[str, str]:
    """The answers that it does not suit, each with the one that it is made for."""
    return {key: one.when[key][0] for key, answer in answers.items() if answer not in one.when[key]}


def nearest(answers: Mapping[str, str]) -> list[tuple[dict[str, str], Recommendation]]:
    """What suits if as few answers as possible are given up: the first one for each choice of these."""
    close = [(_given_up(one, answers), one) for one in recommendations()]
    fewest = min(len(other) for other, _ in close)
    found: dict[tuple[str, ...], tuple[dict[str, str], Recommendation]] = {}
    for other, one in close:
        if len(other) == fewest:
            found.setdefault(tuple(other), (other, one))
    return sorted(found.values(), key=lambda pair: "promise" in pair[0])


def start(one: Recommendation, reported: str = "all") -> str:
    """The line of Python that starts the recommended algorithm, with sample values."""
    given = "".join(f", {key}={value!r}" for key, value in one.parameters.items())
    what = f'"{one.algorithm}"{given}'
    if of_parts(one):
        what = repr(dict(one.parameters))
    known = f", features={FEATURES!r}" if by_features(one) else ""
    missing = "" if reported == "all" else f', window={WINDOW}, missing="zero"'
    return f'Bandit(["tea", "coffee", "cocoa"], {what}{known}{missing})'


def command(one: Recommendation, reported: str = "all") -> str:
    """The command that starts it on a running service, with the same values."""
    given, name = "".join(f" --set '{key}={toml(value)}'" for key, value in one.parameters.items()), one.algorithm
    if of_parts(one):
        given, name = "", f"'{toml(dict(one.parameters))}'"
    given += f" --features '{toml(FEATURES)}'" if by_features(one) else ""
    missing = "never" if reported == "all" else f"zero --window {WINDOW}"
    return f"evenhand client create drinks {name} --arm tea --arm coffee --arm cocoa --missing {missing}{given}"


def of_parts(one: Recommendation) -> bool:
    """Whether it is made of parts, which are its parameters, and has no name of its own."""
    return "index" in one.parameters


def by_features(one: Recommendation) -> bool:
    """Whether it needs features."""
    return "yes" in one.when["features"]


def toml(value: Any) -> str:
    """A plain value as TOML writes it in a line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)
