"""Which algorithm to start with: what suits which answers to `QUESTIONS`. The one table of recommendations.

``evenhand which``, `which`, the form of the page and the documentation read it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from evenhand.algorithms.properties import decides_by_numbers, plays_several
from evenhand.algorithms.registry import SAMPLE, find
from evenhand.core.errors import ConfigurationError
from evenhand.core.parts import plain
from evenhand.messages.answers import Recommendation
from evenhand.messages.questions import QUESTIONS
from evenhand.policy.merit import Merit


class Advice(NamedTuple):
    """A row of the table: an algorithm, and for which promise, rewards and means it is made."""

    algorithm: str
    promise: str
    rewards: tuple[str, ...]
    why: str
    evidence: tuple[tuple[str, str], ...] = ()  # experiments, each with the first words of its confirmed claim
    means: str = "fixed"
    parameters: Mapping[str, Any] = MappingProxyType({})


LATE, BIASED = ("late",), ("dependent", "unnamed")
OPTIMISTIC = {"evidence": "optimistic"}
MISSING = " A missing reward counts as the largest one, so an arm whose good rewards come late does not look bad."
NEVER_BEHIND = ("P-2b", "FUCB and F-TS never leave an arm a whole play behind")
LOWER = ("P-2a", "F-TS has a lower regret than UCB1")
EARLY = ("C-2d", "At the beginning, bad arms look better")
KEPT = ("H-3", "TSCSF-B and LFG keep the promises to all arms")
REWARD_FOR_PRICE = ("F-5", "At the same unfairness, hard-threshold UCB has a larger total reward than Fair-Learn")
BY_GROUP = ("X-G", "Equal floors for a group's arms cost more than twice")
MIXED_IN = ("X-V", "If the floor is mixed in, arms that are clearly worse get 10%")
HEAVY = ("C-2b", "Both regrets of FCUCB-D and FCTS-D grow sublinearly")
ALSO_LATE = ("C-9", "OP-FCUCB-D and OP-FCTS-D can be used where delays do not depend")
FIRST = "The arm that is furthest behind goes first, so no arm is ever a whole play behind;"
DRAWS = f"{FIRST} Thompson sampling uses the other rounds, with less regret than UCB1."
BOUNDS = f"{FIRST} the largest upper confidence bound uses the other rounds."
QUEUES = "Queues of owed plays outweigh rewards as they grow; eta says how soon."
PRICE = "An arm below its share gets the price as a bonus, so it is left out only where it costs more than that."
GROUPS = "A floor for a group is kept mostly by its best arm, which costs less than a floor for each."
OLD_ENOUGH = "It learns from plays that are old enough for their reward to be known, so early rewards do not mislead."
EITHER = "It allows for any value of a missing reward, and is therefore slow to settle."
WINDOW = {"evidence": {"kind": "forgetting", "window": 1000}}

#: The better one first where several suit.
TABLE = (
    Advice("f_ts", "share", LATE, DRAWS, (NEVER_BEHIND, LOWER)),
    Advice("fucb", "share", LATE, BOUNDS, (NEVER_BEHIND,)),
    Advice("f_ts", "share", BIASED, DRAWS + MISSING, (NEVER_BEHIND, EARLY), parameters=OPTIMISTIC),
    Advice("fucb", "share", BIASED, BOUNDS + MISSING, (NEVER_BEHIND, EARLY), parameters=OPTIMISTIC),
    Advice(
        "ars_fucb",
        "share",
        ("sums",),
        "The arm that is furthest behind goes first. Choices last ever longer, so that a sum belongs to one arm; an "
        "arm may be behind by the length of a choice.",
    ),
    Advice(
        "fair_glr",
        "share",
        LATE,
        "What is owed goes first and doubles as exploration; what was learned is dropped where a test finds a change.",
        (("X-D1", "With promised shares, fair GLR has less dynamic r-regret"),),
        "jump",
    ),
    Advice(
        "f_ts",
        "share",
        LATE,
        f"{FIRST} rewards before the window are forgotten, promises are not.",
        (("X-D2", "With promised shares, FUCB and F-TS have less"), ("X-D2", "Promises are kept although")),
        "drift",
        WINDOW,
    ),
    Advice(
        "fucb",
        "share",
        LATE,
        f"{FIRST} rewards before the window are forgotten, promises are not.",
        (("X-D2", "With promised shares, FUCB and F-TS have less"), ("X-D2", "Promises are kept although")),
        "drift",
        WINDOW,
    ),
    Advice("tscsf_b", "long_run", LATE, QUEUES, (KEPT, ("H-7", "TSCSF-B has a lower time-averaged regret than LFG."))),
    Advice("lfg", "long_run", LATE, QUEUES, (KEPT,)),
    Advice("tscsf_b", "long_run", BIASED, QUEUES + MISSING, (KEPT, EARLY), parameters=OPTIMISTIC),
    Advice("lfg", "long_run", BIASED, QUEUES + MISSING, (KEPT, EARLY), parameters=OPTIMISTIC),
    Advice("hard_threshold_ucb", "price", LATE, PRICE, (REWARD_FOR_PRICE,)),
    Advice("hard_threshold_ucb", "price", BIASED, PRICE + MISSING, (REWARD_FOR_PRICE, EARLY), parameters=OPTIMISTIC),
    Advice("group_ts", "group", LATE, GROUPS, (BY_GROUP,)),
    Advice("group_ucb", "group", LATE, GROUPS, (BY_GROUP,)),
    Advice("group_ts", "group", BIASED, GROUPS + MISSING, (BY_GROUP, EARLY), parameters=OPTIMISTIC),
    Advice("group_ucb", "group", BIASED, GROUPS + MISSING, (BY_GROUP, EARLY), parameters=OPTIMISTIC),
    Advice(
        "floor_ts",
        "chance",
        LATE,
        "The minimum is mixed in, so no arm falls below it, and the probability of each decision is known exactly.",
        (MIXED_IN,),
    ),
    Advice(
        "floor_ts", "chance", BIASED, "The minimum is mixed in." + MISSING, (MIXED_IN, EARLY), parameters=OPTIMISTIC
    ),
    Advice(
        "fcts_d",
        "merit",
        LATE,
        "It is nearer to the fair shares than FCUCB-D, and delays may even have an infinite mean.",
        (("C-1", "FCUCB-D has a higher fairness regret than FCTS-D"), HEAVY),
    ),
    Advice(
        "fcucb_d",
        "merit",
        LATE,
        "It earns more than FCTS-D, has a proved bound, and the probability of each decision is known exactly.",
        (("C-1", "FCUCB-D has a lower reward regret than FCTS-D"), HEAVY),
    ),
    Advice(
        "m_fcts_d", "merit", ("dependent",), OLD_ENOUGH, (("X-M1", "M-FCTS-D has at most two thirds of OP-FCTS-D's f"),)
    ),
    Advice(
        "m_fcucb_d",
        "merit",
        ("dependent",),
        OLD_ENOUGH,
        (("X-M1", "M-FCUCB-D has at most two thirds of OP-FCUCB-D's r"),),
    ),
    Advice("op_fcts_d", "merit", ("unnamed",), EITHER, (EARLY, ALSO_LATE)),
    Advice("op_fcucb_d", "merit", ("unnamed",), EITHER, (EARLY, ALSO_LATE)),
    Advice("bandit_q", "reward", LATE, "Rewards are weighed by what is owed, so that every arm earns its guarantee."),
    Advice("thompson", "none", LATE, "It has a lower regret than UCB1 (which F-TS is without promises).", (LOWER,)),
    Advice("ucb1", "none", LATE, "The largest upper confidence bound plays: counts and means decide, and no draws."),
    Advice("thompson", "none", BIASED, MISSING.strip(), (EARLY,), parameters=OPTIMISTIC),
    Advice("ucb1", "none", BIASED, MISSING.strip(), (EARLY,), parameters=OPTIMISTIC),
    Advice(
        "ars_ucb",
        "none",
        ("sums",),
        "An arm plays for many rounds in a row, so that a sum belongs to it, which costs little.",
        (
            ("W-3", "Keeping an arm for many steps"),
            ("W-3", "ARS-UCB with f(k) = k² and α = 4 significantly outperforms ODAAF, which"),
        ),
    ),
    Advice(
        "glr_klucb",
        "none",
        LATE,
        "What was learned is dropped where a test finds a change.",
        (("X-D1", "GLR-klUCB has less dynamic regret than SW-UCB"),),
        "jump",
    ),
    Advice("d_ts", "none", LATE, "Old rewards count less and less; it lost less than D-UCB and SW-UCB.", (), "drift"),
    Advice(
        "d_ucb",
        "none",
        LATE,
        "Old rewards count less and less, and no draw decides.",
        (("X-D2", "D-UCB and SW-UCB have less dynamic regret than UCB1"),),
        "drift",
    ),
)
#: Parameters of the examples that are more than a sample value.
SHOWN: dict[str, dict[str, Any]] = {
    "group": {"groups": [{"name": "drinks", "arms": ["tea", "coffee"], "at_least": 0.3}]}
}


@cache
def recommendations() -> tuple[Recommendation, ...]:
    """The table, each row with all answers that it suits."""
    return tuple(map(_of, TABLE))


def _of(row: Advice) -> Recommendation:
    entry = find(row.algorithm)
    needed = [key for key, one in entry.parameters.items() if one.default is one.empty]
    given = {key: _for_three(key) for key in needed} | SHOWN.get(row.promise, {}) | dict(row.parameters)
    when = {
        "promise": (row.promise,),
        "rewards": row.rewards,
        "means": (row.means,),
        "several": ("no", "yes") if plays_several(entry) else ("no",),
        "explainable": ("no", "yes") if decides_by_numbers(entry) else ("no",),
    }
    return Recommendation(row.algorithm, given, row.why, tuple(dict.fromkeys(name for name, _ in row.evidence)), when)


def _for_three(parameter: str) -> Any:
    """A sample value, as plain values for three arms and a run of some length."""
    value = 10_000 if parameter == "horizon" else SAMPLE[parameter]
    return plain(value) if isinstance(value, Merit) else [*value, value[0]] if isinstance(value, list) else value


def which(
    promise: str = "share",
    rewards: str = "late",
    means: str = "fixed",
    *,
    several: bool = False,
    explainable: bool = False,
) -> tuple[Recommendation, ...]:
    """The algorithms to start with, for what is promised and how rewards come; ``evenhand which`` asks the questions.

    Args:
        promise: ``"share"``, kept at every time, or in the ``"long_run"``, or unless it exceeds a ``"price"``; to a
            ``"group"``; a least ``"chance"``, a share by ``"merit"``, a ``"reward"``, or ``"none"``.
        rewards: ``"late"`` or at once; ``"dependent"`` delays, or these ``"unnamed"``; only ``"sums"``.
        means: ``"fixed"``, or they ``"jump"`` or ``"drift"``.
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
    yes_no = {"several": "yes" if several else "no", "explainable": "yes" if explainable else "no"}
    answers = {"promise": promise, "rewards": rewards, "means": means, **yes_no}
    for question in QUESTIONS:
        if (given := answers[question.name]) not in question.options:
            raise ConfigurationError(f"must be one of {', '.join(question.options)}, got {given!r}", question.name)
    suiting = [one for one in recommendations() if all(answer in one.when[key] for key, answer in answers.items())]
    return tuple(suiting[:2])


def start(one: Recommendation) -> str:
    """The line of Python that starts the recommended algorithm, with sample values."""
    given = "".join(f", {key}={value!r}" for key, value in one.parameters.items())
    return f'Bandit(["tea", "coffee", "cocoa"], "{one.algorithm}"{given})'


def command(one: Recommendation) -> str:
    """The command that starts it on a running service, with the same values."""
    given = "".join(f" --set '{key}={toml(value)}'" for key, value in one.parameters.items())
    return f"evenhand client create drinks {one.algorithm} --arm tea --arm coffee --arm cocoa --missing never{given}"


def toml(value: Any) -> str:
    """A plain value as TOML writes it in a line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {toml(part)}" for key, part in value.items()) + "}"
    return "[" + ", ".join(map(toml, value)) + "]" if isinstance(value, list) else json.dumps(value)
