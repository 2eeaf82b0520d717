"""What a log of decisions teaches a policy: the rewards of each arm."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from evenhand.bandit.evaluation.columns import kept_with
from evenhand.bandit.evaluation.log import Log, read_as
from evenhand.bandit.history import Counts, check_learns, learn_counts, learn_pulls
from evenhand.bandit.record import Record
from evenhand.core.errors import HINTED, DataError, nearest
from evenhand.core.files import path_of
from evenhand.features.declaration import Features


@dataclass(frozen=True)
class Learned:
    """What was learned from a log; printed, it is a sentence or more.

    Example:
        >>> print(Learned("log.csv", {"tea": 3}, ("arm 'mate' is not in the log",)))
        learned from 3 plays of log.csv: tea 3; arm 'mate' is not in the log
    """

    source: str  # name of the log
    plays: dict[str, int]  # learned from, by arm
    notes: tuple[str, ...]  # which rows were changed or left out, and which arms are not in the log

    def __str__(self) -> str:
        """What was learned, and what was not."""
        counts = ", ".join(f"{arm} {number:,}" for arm, number in self.plays.items())
        head = f"learned from {sum(self.plays.values()):,} plays of {self.source}: {counts}"
        return "; ".join([head, *self.notes])


def log_for(
    path: str | os.PathLike[str], meaning: str, missing: str | None = None, features: Features | None = None
) -> Log:
    """The log in a file for a bandit; its ``missing`` says what a blank reward means where nothing else does."""
    path = path_of(path)
    kept = kept_with(path)
    means = missing or kept.missing or (None if meaning == "never" else meaning)
    return read_as(path, kept.with_(missing=means, features=features))


def counts_of(log: Log) -> dict[str, tuple[int, float]]:
    """Plays with known rewards, and the sums of these, by arm."""
    plays = np.bincount(log.item, minlength=len(log.items)).tolist()
    sums = np.bincount(log.item, weights=log.reward, minlength=len(log.items)).tolist()
    rows = zip(log.items, plays, sums, strict=True)
    return {arm: (number, total) for arm, number, total in rows if number}


def learn_log(record: Record, log: Log | str | os.PathLike[str], missing: str | None = None) -> Learned:
    """Let a bandit learn from a log; see `evenhand.bandit.Bandit.learn`."""
    features = record.contexts.features if record.policy.contextual and record.contexts is not None else None
    check_learns(record, by_features=features is not None)
    if not isinstance(log, Log):
        log = log_for(log, record.missing, missing, features)
    if features is not None and (log.known is None or log.known.features != features):
        raise DataError(f"{log.source} was not read with the features of this bandit: read_log(path, features=…)")
    unknown = [item for item in log.items if item not in record.arms.place]
    if unknown:
        hint = nearest(unknown[0], record.names) * (len(record.arms) <= HINTED)
        raise DataError(
            f"{log.source} has arms that this bandit does not: {', '.join(map(repr, unknown[:10]))}"
            + (f" and {len(unknown) - 10:,} more" if len(unknown) > 10 else hint)
        )
    record.reward_range.check_log(log.source, log.reward, " when the bandit is made")
    counts = {arm: Counts(float(number), total) for arm, (number, total) in counts_of(log).items()}
    if log.known is not None and features is not None:
        places = np.array([record.arms.place[item] for item in log.items], dtype=np.intp)[log.item]
        learn_pulls(record, places, log.reward, log.known.of_plays(log.round, log.item), log.source)
    else:
        learn_counts(record, counts, log.source)
    absent = [arm for arm in record.names if arm not in counts]
    notes = log.notes + ((f"without plays in the log: {', '.join(absent[:10])}",) if absent else ())
    return Learned(log.source, {arm: int(one.plays) for arm, one in counts.items()}, notes)
