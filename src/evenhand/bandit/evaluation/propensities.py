"""The chances in a log: estimated, of several policies together, whether they changed, and where there are none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd

from evenhand.bandit.evaluation.followed import Followed
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.table import Index
from evenhand.core.errors import DataError, number_of
from evenhand.core.numbers import amount
from evenhand.core.state import Array, Mask

STRETCHES = (1, 4, 16, 64)  # of time, within which the policy is taken for the same
REST = 0.001  # of the chances of a policy, which rounding may leave


def estimated(log: Log, seed: int = 0) -> Log:
    """The log with propensities estimated by cross-fitting: how often an item played in the same circumstances.

    The circumstances are who was available, the position, and one of so many stretches of time. Each fifth of the
    rounds gets the shares in the other four, ``(n(i) + 1/m)/(n + 1)`` with m available items; and of 1, 4, 16 and 64
    stretches those under which the plays of the fifths that were left out are most likely.

    Where the policy looked at anything else, as at features of the user, the estimates of `evaluate` are biased by an
    unknown amount, which no diagnostic shows. So the log is never graded better than *with care*.

    Args:
        log: with one row per round.
        seed: of the folds.

    Raises:
        DataError: rounds have several rows.

    Example:
        >>> import pandas as pd
        >>> log = Log.of(pd.DataFrame({"timestamp": range(100), "item_id": ["a", "a", "b", "a"] * 25, "reward": 1.0}))
        >>> round(float(estimated(log).propensity[0]), 1)
        0.7

    Source: Chernozhukov et al., Double/debiased machine learning for treatment and structural parameters, The
    Econometrics Journal 2018 (cross-fitting).
    """
    if log.rows > log.rounds:
        raise DataError(
            f"{log.source} has decisions with several rows, whose propensities cannot be estimated; where "
            "they were chosen position by position, estimate each position by itself: rounds='row'"
        )
    if log.known is not None:
        raise DataError(
            f"{log.source} was read with features, and chances that depend on them cannot be estimated by counting: "
            "log the propensities, or read it without features if its policy did not look at them"
        )
    base, fold = circumstances(log), np.random.default_rng(seed).integers(FOLDS, size=log.rows)
    able = log.sets.sum(axis=1)[log.available]
    tries = [_shares(log, base * count + np.arange(log.rows) * count // log.rows, fold, able) for count in STRETCHES]
    best = int(np.argmax([np.log(one).sum() for one in tries]))
    stretches = number_of(STRETCHES[best], "stretch", "stretches")
    note = (
        f"the propensities were estimated, in {stretches} of time: the estimates hold only if the "
        "policy looked at nothing but who was available, the position and the time"
    )
    return replace(log, propensity=tries[best], plays=None, notes=(*log.notes, note), estimated=True)


def _shares(log: Log, key: Index, fold: Index, able: Array) -> Array:
    """The share of each row's item among the rows with the same key in other folds."""
    others = []
    for codes in (key * len(log.items) + log.item, key):
        group = np.unique(codes, return_inverse=True)[1]
        counts = np.bincount(group * FOLDS + fold, minlength=(group.max() + 1) * FOLDS).reshape(-1, FOLDS)
        others.append(counts.sum(axis=1)[group] - counts[group, fold])
    return np.asarray((others[0] + 1.0 / able) / (others[1] + 1.0))


def balanced(logs: Sequence[Log]) -> Log:
    """Logs of several policies as the log of their mixture, whose propensities have a smaller variance.

    The propensity of a play of item i is ``Σ_k n_k p_k(i)/Σ_k n_k``, with p_k the chances under the k-th policy, which
    has n_k rounds; so a play that one policy made rarely and another often has no large weight.

    Args:
        logs: each of a policy that did not learn, with one row per round and all items available.

    Raises:
        DataError: chances changed in a log, it lists the available items or has rounds of several rows, or the chance
            of an item that it never plays is unknown.

    Example:
        >>> import pandas as pd
        >>> rows = {"timestamp": [1, 2], "item_id": ["a", "b"], "reward": [1, 0]}
        >>> one, two = (Log.of(pd.DataFrame(rows | {"propensity_score": [p, 1 - p]})) for p in (0.5, 0.9))
        >>> balanced([one, two]).propensity
        array([0.7, 0.3, 0.7, 0.3])

    Source: Agarwal, Basu, Schnabel & Joachims, Effective evaluation using logged bandit feedback from multiple loggers,
    KDD 2017 (the balanced estimator).
    """
    items = list(dict.fromkeys(name for log in logs for name in log.items))
    logs = [log.with_items(items) for log in logs]
    place = {name: number for number, name in enumerate(items)}
    moved = [np.array([place[name] for name in log.items])[log.item] for log in logs]
    rounds = np.array([log.rounds for log in logs])
    mixture = rounds / rounds.sum() @ np.array([_chances(*pair, items) for pair in zip(logs, moved, strict=True)])
    item, total = np.concatenate(moved), int(rounds.sum())
    return Log(
        source=" and ".join(log.source for log in logs),
        items=tuple(items),
        item=item,
        reward=np.concatenate([log.reward for log in logs]),
        propensity=mixture[item],
        round=np.arange(total),
        sets=np.ones((1, len(items)), dtype=bool),
        available=np.zeros(total, dtype=np.intp),
        notes=tuple(dict.fromkeys(note for log in logs for note in log.notes)),
        reading=logs[0].reading,
        estimated=any(log.estimated for log in logs),
    )


def _chances(log: Log, item: Index, items: Sequence[str]) -> Array:
    """(items,), the chances of a policy that did not change."""
    if log.has_available or log.rows > log.rounds:
        raise DataError(f"{log.source} has sets of available items or rounds of several rows, and cannot be balanced")
    plays = np.bincount(item, minlength=len(items))
    least, most = np.full(len(items), np.inf), np.zeros(len(items))
    np.minimum.at(least, item, log.propensity)
    np.maximum.at(most, item, log.propensity)
    if (most - least > ALIKE * most).any():
        raise DataError(f"chances change in {log.source}: only logs of policies that did not learn can be balanced")
    rest, unplayed = 1.0 - most.sum(), np.flatnonzero(plays == 0)
    if rest > REST and len(unplayed) != 1:
        raise DataError(
            f"the chances in {log.source} sum to {most.sum():.4g}, and it never plays "
            f"{', '.join(repr(items[one]) for one in unplayed[:5]) or 'any other item'}: how are the others shared?"
        )
    most[unplayed] = rest if rest > REST else 0.0
    return most


SURE = 1.0 - 1e-9  # a propensity of which the others have no chance
ALIKE = 0.01  # relative difference of chances that are taken for the same
RANGES = 3  # of rounds that a message names
FOLDS = 5  # parts of a log, of which each gets propensities that are estimated from the others
UNSEEN = "the target never plays what the log played: its reward cannot be estimated"


def circumstances(log: Log) -> Index:
    """(rows,), the number of the circumstances of each row: who was available, and the position."""
    position = np.zeros(log.rows, np.intp) if log.position is None else pd.factorize(log.position)[0]
    return np.asarray(pd.factorize(log.available[log.round] * (position.max() + 1) + position)[0], dtype=np.intp)


def chances_change(log: Log) -> bool:
    """Whether an item had different chances in the same circumstances, as where a policy learns or sees features."""
    key = circumstances(log) * len(log.items) + log.item
    if log.estimated:  # each fold has its own estimate; there are more where stretches of time have their own
        return bool(np.bincount(np.unique([key, log.propensity], axis=1)[0].astype(np.intp)).max() > FOLDS)
    order = np.argsort(key, kind="stable")
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    chances = log.propensity[order]
    least, most = np.minimum.reduceat(chances, starts), np.maximum.reduceat(chances, starts)
    return bool((most - least > ALIKE * most).any())


def without_chance(target: Followed) -> Array:
    """(rounds,), the target's chance of an item that had none, since that of the item which played was 1."""
    log = target.log
    certain: Mask = target.sums(log.propensity) >= np.bincount(log.round, minlength=log.rounds) * SURE
    rest = 1.0 - target.sums(target.propensity)
    return np.where(certain & (rest > 1e-9), rest, 0.0)


def mend(target: Followed, rounds: Mask) -> str:
    """Which rounds cannot be judged, and what a floor would change for the next log, and cost."""
    log = target.log
    plays = np.bincount(log.item, minlength=len(log.items))
    means = np.bincount(log.item, log.reward, len(log.items))[plays > 0] / plays[plays > 0]
    floor = min(0.5 / len(log.items), max(0.01, 100.0 / log.rounds))
    cost = f"{amount(floor * float((means.max() - means).sum()), 2)} {log.reading.unit or 'of reward'} per round"
    return (
        f"in {rounds.sum():,} of {log.rounds:,} rounds ({_ranges(np.flatnonzero(rounds) + 1)}) items that "
        f"{target.name} plays had no chance, so that they cannot be judged: an exploration floor of {floor:.2g} for "
        "every item would change that in the next log, and cost "
        + (f"about {cost}" if plays.all() else "what this log, which never plays some item, does not show")
    )


def _ranges(rounds: Index) -> str:
    """The first ranges of some round numbers."""
    ends = np.flatnonzero(np.diff(rounds) > 1) + 1
    parts = [rounds[first:last] for first, last in pairwise((0, *ends[:RANGES].tolist(), len(rounds)))][:RANGES]
    texts = [f"{part[0]:,}" + f" to {part[-1]:,}" * (len(part) > 1) for part in parts]
    return ", ".join(texts) + ", …" * (len(ends) >= RANGES)
