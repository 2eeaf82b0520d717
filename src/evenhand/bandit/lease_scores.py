"""How leased rounds count in differences; see `evenhand.bandit.scores`."""

from __future__ import annotations

import numpy as np

from evenhand.bandit.leases import Lease, Places
from evenhand.bandit.record import Record
from evenhand.bandit.scores import KNOWN, LOST, NOTHING, OPEN, OPEN2, TOTAL, Kind
from evenhand.core.state import Array


def count_rounds(record: Record, lease: Lease, until: int, now: float) -> int:
    """Count the rounds of a lease up to one, from those that were reported on; the table of these."""
    if not record.scores.begins <= now < record.scores.ends:
        record.turn(now)
    leased = np.zeros(len(record.arms), dtype=bool)
    leased[lease.places] = True
    kind: Kind = "leased" if lease.salt is None else "units"
    place = record.scores.opened(np.packbits(leased).tobytes() if len(lease.places) > 1 else None, kind)
    table = record.scores.tables[place]
    begin = max((report.until for report in lease.reports if report.table != place), default=0)
    before = _plays(lease, begin, lease.played)
    plays, weights = _plays(lease, begin, until), lease.size / lease.counts
    rounds = float((plays * weights).max() - (before * weights).max())
    table.rounds += rounds
    table.least = min(table.least, 1.0 / float(weights.max()))
    added = (plays - before).tolist()
    for arm, count, weight in zip(lease.places.tolist(), added, weights.tolist(), strict=True):
        row = table.rows[arm]
        row[LOST] += count
        if table.able is not None:
            row[OPEN] += rounds
            row[OPEN2] += rounds * weight
    return place


def _plays(lease: Lease, begin: int, end: int) -> Array:
    """(leased arms,), the plays from one position to another."""
    plays = np.bincount(lease.arms_of(np.arange(begin, end)).ravel(), minlength=int(lease.places.max()) + 1)
    return plays[lease.places].astype(float)


def guess(record: Record, lease: Lease) -> None:
    """Fix what is expected of the rewards of new rounds: by those of the arm before, also at positions before."""
    positions, table = np.arange(len(lease.guesses), lease.played), lease.reports[-1].table
    new = np.zeros((len(positions), lease.plays))
    arms, scaled = lease.arms_of(positions), record.reward_range.scale(lease.rewards[positions])
    for place in lease.places.tolist():
        mine = scaled[arms == place]
        seen, total = (np.cumsum(part) - part for part in (~np.isnan(mine) * 1.0, np.nan_to_num(mine)))
        row = NOTHING if table < 0 else record.scores.tables[table].rows[place]
        new[arms == place] = (row[TOTAL] + total + 0.5) / (row[KNOWN] + seen + 1.0)
    lease.guesses = np.concatenate([lease.guesses, new])


def learn(record: Record, lease: Lease, place: int, positions: Places, rewards: Array, times: float = 1.0) -> None:
    """Rewards of an arm at some positions are known; with −1 times, they are not known after all."""
    rows, columns = (lease.arms_of(positions) == place).nonzero()
    values, tables = record.reward_range.scale(rewards[rows]), lease.tables_of(positions[rows])
    weight = lease.weight(place)
    off = values - lease.guesses[positions[rows], columns]
    for table in np.unique(tables).tolist():
        mine, there = values[tables == table], off[tables == table]
        total, squares, spread = (times * float(np.cumsum(part)[-1]) for part in (mine, mine * mine, there * there))
        record.scores.learn(table, place, times * len(mine), total, squares, spread, weight)
        record.scores.lose(table, place, -times * len(mine), weight)
