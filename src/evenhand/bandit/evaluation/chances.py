"""The chances that a log's policy gave: whether they changed, and where it gave none."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd

from evenhand.bandit.evaluation.followed import Followed
from evenhand.bandit.evaluation.log import Log
from evenhand.bandit.evaluation.table import Index
from evenhand.core.numbers import amount
from evenhand.core.state import Array, Mask

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
