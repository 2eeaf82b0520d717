"""What other policies would have earned, and by how much they differ, from the log of one policy."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evenhand.bandit.arguments import RewardRange
from evenhand.bandit.evaluation.decider import Decider
from evenhand.bandit.evaluation.estimators import ESTIMATORS, PART, SLOPE, Scores, bias_bound, limited, ratio, slope
from evenhand.bandit.evaluation.followed import LOGGED, Followed, Model, as_logged, followed
from evenhand.bandit.evaluation.grade import ANSWERS, Grade, graded, listed
from evenhand.bandit.evaluation.intervals import Wanted, interval_of
from evenhand.bandit.evaluation.log import Log, check_propensities
from evenhand.bandit.evaluation.said import ASKED, lines, measured
from evenhand.bandit.evaluation.targets import Target, as_target
from evenhand.core import html, validate
from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.core.html import Bar
from evenhand.core.intervals import Difference, Interval
from evenhand.core.state import Array
from evenhand.inference.means import CONFIDENCE
from evenhand.inference.sums import simultaneous
from evenhand.judgement.differences import compared, sentence
from evenhand.messages.words import Words
from evenhand.simulation.files import without_infinities

if TYPE_CHECKING:
    from evenhand.bandit.bandit import Bandit

PART_NOTE = "the first fifth of the rounds chose the clip, and the others are judged"
Targets: TypeAlias = "Mapping[str, Any] | Sequence[Any] | Target | Bandit | str"


@dataclass(frozen=True)
class Estimate:
    """A mean reward per round, with its standard error and its interval; NaN where it is unknown."""

    value: float
    stderr: float
    interval: Interval
    bias: float = 0.0  # the most that clipping can have moved it, which the interval includes

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            The fields by their names; None for what is unknown.
        """
        found: dict[str, Any] = without_infinities(asdict(self))
        return found


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What targets would have earned by a log; shown in a notebook, it is a table and a figure."""

    estimator: str
    rounds: int  # decisions that were judged
    rows: int  # their plays
    items: tuple[str, ...]  # names of all items
    estimates: Mapping[str, Estimate]  # of each target's mean reward per round, by its name
    logged: Estimate  # the mean reward per play of the policy that made the log
    differences: tuple[Difference, ...]  # of the targets from one of them or from the log's policy, paired by round
    grades: Mapping[str, Grade]  # whether the log can answer, by target
    shares: Mapping[str, Array]  # (items,), the target's share of the rounds of each item, by target
    logged_shares: Array  # (items,), each item's share of the plays in the log
    clips: Mapping[str, float | None]  # largest weight, by target; None where nothing is clipped
    notes: tuple[str, ...] = ()  # how the log was changed when it was read, and what is known of the intervals
    unit: str = ""  # of the rewards

    @property
    def grade(self) -> Grade:
        """The worst of the grades."""
        return max(self.grades.values(), key=lambda one: ANSWERS.index(one.answer))

    def __str__(self) -> str:
        """Whether the log can answer, the estimates, their differences, and what they rest on, a line each."""
        return "\n".join(lines(self))

    def _repr_html_(self) -> str:
        """Whether the log can answer, the estimates with their intervals, and their differences, for a notebook."""
        texts = (html.paragraph(str(one)) for one in self.grades.values())
        bars = [
            Bar(name, one.value, low=one.interval.low, high=one.interval.high, colour=bool(place))
            for place, (name, one) in enumerate({LOGGED: self.logged, **self.estimates}.items())
        ]
        chart = html.chart(bars, caption=f"mean {measured(self)}; {self.estimator.upper()}; line: interval")
        said = (sentence(one, Words(self.unit)) for one in self.differences)
        rest = (html.paragraph(one) for one in (*said, *self.notes))
        return html.notebook(html.paragraph(ASKED, strong=True), *texts, chart, *rest)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values.

        Returns:
            The result by the names of the fields; shares by item.
        """
        columns = {"logged": self.logged_shares, **self.shares}
        return {
            "answer": self.grade.answer,
            "grades": {name: one.to_json() for name, one in self.grades.items()},
            "estimator": self.estimator,
            "rounds": self.rounds,
            "rows": self.rows,
            "unit": self.unit,
            "logged": self.logged.to_json(),
            "estimates": {name: one.to_json() for name, one in self.estimates.items()},
            "differences": without_infinities([one.to_json() for one in self.differences]),
            "shares": {
                item: {name: float(column[place]) for name, column in columns.items()}
                for place, item in enumerate(self.items)
            },
            "clips": dict(self.clips),
            "notes": list(self.notes),
        }


def evaluate(
    log: Log,
    targets: Targets,
    *,
    against: str | None = None,
    estimator: str = "dr",
    clip: float | str | None = None,
    confidence: float = CONFIDENCE,
    rewards: tuple[float, float] | None = None,
    interval: str | None = None,
) -> Evaluation:
    """Estimate the mean reward per round of policies from the log of another, and their differences.

    Differences are paired: their error is that of the difference of two scores of the same round, which is often much
    smaller than the errors of the two. Together they have the confidence asked for.

    Args:
        log: of another policy, from `read_log` or `Log.of`.
        targets: shares by item, ``"uniform"``, a `Target`, or a `evenhand.Bandit`, which decides the rounds as it
            stands and learns nothing more; several of them in a list, or by name in a mapping.
        against: the name of the target with which the others are compared. None: the first of several, the log's own
            policy for a single one.
        estimator: ``"ips"``, ``"snips"``, ``"dr"``, ``"sndr"`` or ``"switch"``.
        clip: the largest weight, above 0: less variance, and a bias with a bound, by which the interval is wider; for
            ``"switch"`` the weight above which the model alone counts. ``"slope"`` chooses it on the first fifth of the
            rounds, and the others are judged. None clips nothing.
        confidence: of the intervals, in (0, 1).
        rewards: the smallest and the largest possible reward, which sequences and clipping need; None: as the log says,
            else 0 and 1.
        interval: ``"normal"``, for many rounds and a policy that did not learn; ``"sequence"``, which holds for
            policies that learn and however often one looks; ``"one look"``, for policies that learn, at a size of the
            log that was fixed beforehand. None: a sequence where the chances in the log changed, else normal.

    Returns:
        Whether the log can answer, the estimates, their differences, and shares.

    Raises:
        EvenhandError: an argument is out of range, a reward is outside ``rewards`` where they are needed, or a target
            cannot be evaluated on the log.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["a", "b"], "reward": [1, 0], "propensity_score": [0.5, 0.5]}
        >>> fair = {"a": 0.75, "b": 0.25}
        >>> found = evaluate(Log.of(pd.DataFrame(rows)), {"fair": fair, "b": {"b": 1}}, estimator="ips")
        >>> found.estimates["fair"].value, found.differences[0].value
        (0.75, -0.75)
    """
    validate.one_of("estimator", estimator, tuple(ESTIMATORS))
    validate.number("confidence", confidence, 1e-9, 1.0 - 1e-9)
    check_propensities(log)
    rewards = log.reading.rewards if rewards is None else rewards
    limits = None if rewards is None and clip is None else RewardRange.of(rewards or (0.0, 1.0))
    named = named_targets(targets)
    pairs = _pairs(list(named), against)
    log, notes = _with_items(log, named)
    wanted = Wanted.of(log, interval, confidence, limits)
    model = Model.of(log)
    whole = {name: followed(log, name, target, model) for name, target in named.items()}
    judged = _judged(whole, clip, estimator, wanted)
    part, together = judged[LOGGED].target.log, wanted._replace(confidence=simultaneous(confidence, len(pairs)))
    return Evaluation(
        estimator=estimator,
        rounds=part.rounds,
        rows=part.rows,
        items=log.items,
        estimates={name: judged[name].estimate for name in named},
        logged=judged[LOGGED].estimate,
        differences=tuple(_compared(judged[one], judged[other], together) for one, other in pairs),
        grades={name: graded(one, wanted.kind, judged[name].interval, log.reading.unit) for name, one in whole.items()},
        shares={name: one.shares for name, one in whole.items()},
        logged_shares=as_logged(log).shares,
        clips={name: judged[name].clip for name in named},
        notes=(*log.notes, *notes, *_taught(log, named), *([PART_NOTE] if clip == SLOPE else [])),
        unit=log.reading.unit,
    )


def grade(log: Log, target: Targets = "uniform") -> Grade:
    """Whether a log can answer what a target would have earned.

    Args:
        log: from `read_log` or `Log.of`.
        target: as in `evaluate`; of several, the worst is graded.

    Returns:
        The answer, its reasons, and what it was judged by.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": range(200), "item_id": ["a", "b"] * 100, "reward": [1, 0] * 100}
        >>> print(grade(Log.of(pd.DataFrame(rows | {"propensity_score": 0.5})), {"a": 0.75, "b": 0.25}))
        Yes: the log can say what fixed shares would earn; for that its 200 plays count as 160.
    """
    return evaluate(log, target, estimator="ips").grade


@dataclass(frozen=True, eq=False)
class _Judged:
    """A target on the rounds that are judged, with its scores."""

    wanted: Wanted
    target: Followed  # with all weights
    scores: Scores  # with limited ones
    clip: float | None = None
    bias: Scores | None = None  # the most that this can have moved them; None where no weight is limited

    @cached_property
    def interval(self) -> Interval:
        """The interval of the estimate."""
        return interval_of((self.target, None), self.scores, self.bias, self.wanted)

    @property
    def estimate(self) -> Estimate:
        """The estimate with its interval."""
        bias = 0.0 if self.bias is None else max(self.bias.value, 0.0)
        return Estimate(self.scores.value, self.scores.stderr, self.interval, bias)


def _compared(one: _Judged, other: _Judged, wanted: Wanted) -> Difference:
    """By how much a target is above another, paired by round; without an interval where one of the two has none."""
    known = [bias for bias in (one.bias, other.bias) if bias is not None]
    scores, bias = one.scores - other.scores, reduce(Scores.__add__, known) if known else None
    interval = next((part for part in (one.interval, other.interval) if part.claim == "not_claimed"), None)
    if interval is None:
        interval = interval_of((one.target, other.target), scores, bias, wanted)
    return replace(compared(one.target.name, other.target.name, scores.value, interval), value=scores.value)


def _judged(
    whole: Mapping[str, Followed], clip: float | str | None, estimator: str, wanted: Wanted
) -> dict[str, _Judged]:
    """The targets and the log's policy with their scores, where SLOPE chose the clip on the other rounds."""
    if isinstance(clip, str):
        validate.one_of("clip", clip, (SLOPE,))
        if (rounds := next(iter(whole.values())).log.rounds) < 2 * PART:
            raise EvenhandError(f"clip='slope' needs at least {2 * PART} rounds, got {rounds}")
    elif clip is not None and validate.number("clip", clip, low=0.0) == 0.0:
        raise EvenhandError("clip must be above 0, got 0")
    if estimator == "switch" and clip is None:
        raise EvenhandError("switch needs the weight above which the model alone counts: clip=10, or clip='slope'")
    found = {}
    for name, one in whole.items():
        if isinstance(clip, str):
            first = one.log.rounds // PART
            limit, one = slope(one.rounds(0, first), estimator), one.rounds(first, one.log.rounds)
        else:
            limit = clip
        used, limits = limited(one, limit, estimator), wanted.limits
        bias = bias_bound(used, estimator, limits) if limits and used.weight is not one.weight else None
        unseen = Scores(math.nan, np.full(one.log.rounds, math.nan))  # what a model says of it is of other items
        scores = ESTIMATORS[estimator][0](used) if one.weight.any() else unseen
        found[name] = _Judged(wanted, one, scores, limit, bias)
    logged = as_logged(one.log)
    found[LOGGED] = _Judged(wanted, logged, ratio(logged.sums(logged.log.reward), logged.weights))
    return found


def named_targets(targets: Targets) -> dict[str, Target]:
    """Targets by name, from one of them, several in a list, or a mapping."""
    if isinstance(targets, Mapping) and any(not isinstance(one, int | float) for one in targets.values()):
        return {str(name): as_target(one) for name, one in targets.items()}
    given: Sequence[Any] = targets if isinstance(targets, list | tuple) else [targets]
    several = [as_target(one) for one in given]
    if not several:
        raise EvenhandError("targets is empty; give shares by item, 'uniform', or a list of targets")
    names = [one.name for one in several]
    return {
        name if names.count(name) == 1 else f"{name} {names[: place + 1].count(name)}": one
        for place, (name, one) in enumerate(zip(names, several, strict=True))
    }


def _pairs(names: list[str], against: str | None) -> list[tuple[str, str]]:
    """What is compared with what."""
    if LOGGED in names:
        raise EvenhandError(f"{LOGGED!r} is the name of the policy that made the log; call the target something else")
    if against is None:
        against = names[0] if len(names) > 1 else LOGGED
    if against not in (*names, LOGGED):
        raise EvenhandError(f"against must be a target, got {against!r}{nearest(against, [*names, LOGGED])}")
    return [(name, against) for name in names if name != against]


def _taught(log: Log, targets: Mapping[str, Target]) -> list[str]:
    """Notes of bandits that learned from a log of this name."""
    return [
        f"{name} learned from {log.source}: if that was these rows, it knows their rewards, and earns less on others"
        for name, one in targets.items()
        if isinstance(one, Decider) and log.source in one.record.sources
    ]


def _with_items(log: Log, targets: Mapping[str, Target]) -> tuple[Log, list[str]]:
    """The log with all items of the targets, and a note of those that it never lists as available."""
    items = list(dict.fromkeys(item for target in targets.values() for item in target.items()))
    others = [name for name in log.items if name not in items]
    for name in items if len(others) <= HINTED else ():
        near = [one for one in others if one.casefold() == name.casefold()]
        near = [] if name in log.items else near or difflib.get_close_matches(name, others, n=1, cutoff=0.8)
        if near and re.sub(r"\d", "", name) != re.sub(r"\d", "", near[0]):  # variant 3 is not meant for variant 2
            raise EvenhandError(f"{name!r} is not in {log.source}; did you mean {near[0]!r}?")
    log = log.with_items(items)
    absent = [name for name in items if not log.sets[np.unique(log.available), log.items.index(name)].any()]
    return log, [f"{listed(absent)} is never available in the log; the others get its share"] if absent else []
