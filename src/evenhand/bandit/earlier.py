"""How earlier saves are read: what was before there was a ledger has a line per arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.bandit.ledger import BEFORE, PLAY, Entry, Opening
from evenhand.bandit.scores import UNCOUNTED

ALONE = {"dtype": "float64"}


def with_ledger(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What format 1 saved, in format 2: nothing is carried yet, and what had lapsed was forgiven."""
    state, statistics = dict(plain["state"]), dict(plain["statistics"])
    resets, lapsed = statistics.pop("resets")["values"], statistics.pop("lapsed")["values"]
    statistics["added"] = ALONE | {"values": [0.0] * len(resets)}  # not known: they count as not available then
    begun = state["begun"]
    state["begun"] = _account(begun["rounds"]["values"], begun["pulls"]["values"])
    state["fairness"] = _memory(state["fairness"], state["begun"], plain)
    learned = statistics["learned_plays"]["values"]
    played = [int(plays - other) for plays, other in zip(begun["pulls"]["values"], learned, strict=True)]
    entries, openings, totals = list[Any](), list[Any](), [[0] * len(played) for _ in range(6)]
    for place, count in enumerate(resets):
        if not count:
            openings.append(["share", place, None, 0, 0, BEFORE, ""])
            continue
        owed = round(lapsed[place] * PLAY)
        until, forgiven, advance = int(begun["rounds"]["values"][place]), max(owed, 0), max(-owed, 0)
        entry = ["share", place, 0.0, 0, until, None, 0.0, played[place], 0, owed, 0, forgiven, 0, advance, BEFORE, ""]
        entries.append(entry)
        ended = (int(count), owed + played[place] * PLAY, played[place], forgiven, 0, advance)
        for row, value in zip(totals, ended, strict=True):
            row[place] = value
    ledger = {"closed": totals, "entries": entries, "openings": openings, "waiting": {}}
    leases = [_lease(lease) for lease in plain["leases"]]
    return {
        **plain,
        "format": 2,
        "state": state,
        "statistics": statistics,
        "ledger": ledger,
        "leases": leases,
        "returned": 0,
        "count_history": plain["count_history"] | {"played": plain["count_history"]["rounds"]},
    }


def with_rounds(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What format 2 saved, in format 3: it need not say after which rounds promises began."""
    whole = {"entries": len(Entry._fields), "openings": 2 + len(Opening._fields)}
    rows = {name: [[*row, None][:width] for row in plain["ledger"][name]] for name, width in whole.items()}
    return {**plain, "format": 3, "ledger": {**plain["ledger"], **rows}}


def with_scores(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What format 3 saved, in format 4: the sums for differences begin with zeros, and earlier rounds do not count."""
    pending, leases = plain["pending"], []
    missing = [[0.0, 0.0]] * (len(pending["places"]) - len(pending["known"]))
    rows = {"tables": [UNCOUNTED] * len(pending["rounds"]), "counting": missing}
    for lease in plain["leases"]:
        reports = [[*report, UNCOUNTED] for report in lease["reports"]]
        played = reports[-1][0] if reports else 0
        leases.append({**lease, "reports": reports, "guesses": [0.0] * (played * lease["plays"] - len(lease["known"]))})
    scores: dict[str, Any] = {"since": None, "tables": []}
    return {**plain, "format": 4, "pending": pending | rows, "leases": leases, "scores": scores}


def with_intervals(plain: Mapping[str, Any]) -> dict[str, Any]:
    """What format 4 saved, in format 5: rewards over time by interval, no longer all those so far."""
    history, before, counts = plain["count_history"], np.zeros((2, 0)), list[Any]()
    for mark in history["counts"] or [None] * len(history["rounds"]):
        if mark is not None:
            now = np.array(mark[1:], dtype=float)
            since = now.copy()
            since[:, : before.shape[1]] -= before
            before, mark = now, [mark[0], since[0].astype(np.int64).tolist(), since[1].tolist()]
        counts.append(mark)
    marked = [before[0].astype(np.int64).tolist(), before[1].tolist()]
    return {**plain, "format": 5, "count_history": {**history, "counts": counts, "marked": marked}}


#: What makes the next format of each from 1 on; the last one adds features, of which there were none.
NEWER: tuple[Callable[[Mapping[str, Any]], dict[str, Any]], ...] = (
    *(with_ledger, with_rounds, with_scores, with_intervals),
    lambda plain: {**plain, "format": 6},
)


def _account(rounds: Sequence[float], plays: Sequence[float]) -> dict[str, Any]:
    """Accounts in which nothing is carried."""
    nothing = [0.0] * len(rounds)
    columns = {"rounds": list(rounds), "plays": list(plays), "carried": nothing, "waiting": list(nothing)}
    return {name: ALONE | {"values": values} for name, values in columns.items()}


def _memory(memory: Any, begun: Mapping[str, Any], plain: Mapping[str, Any]) -> Any:
    """What a fairness part remembered: of groups and caps, or of recursive queues."""
    limited = plain["algorithm"] in ("group_ucb", "group_ts") or "bounded_shares" in str(plain["algorithm"])
    if limited:
        groups = {"rounds": {"values": []}, "plays": {"values": []}} if memory is None else memory
        account = _account(groups["rounds"]["values"], groups["plays"]["values"])
        return {"caps": begun, "groups": account, "group_caps": account}
    if isinstance(memory, dict) and memory.keys() == {"rounds", "plays"}:
        return memory | {"carried": ALONE | {"values": [0.0] * len(memory["rounds"]["values"])}}
    return memory


def _lease(lease: Mapping[str, Any]) -> dict[str, Any]:
    """A lease: the shares at which it was granted are not known, so that nothing of it is owed under later promises."""
    granted = [[place, 0.0] for place in lease["fresh"]]
    return {name: value for name, value in lease.items() if name != "fresh"} | {"granted": granted}
