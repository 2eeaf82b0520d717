"""Drawing from leases: alike in Python and TypeScript, and what is collected for reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from evenhand.bandit import Bandit
from evenhand.client.leases import LeasedDecisions, column_of
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import Lease, LeaseReport, plain

#: Read by the tests of the TypeScript client as well; written by ``python -m tests.client.test_leases``.
CASES = Path(__file__).parents[2] / "clients/typescript/test/leases.json"
UNITS = ["", "ana", "bo", "user-17", "ÄÖ☕🫖", "a" * 300]


def cases() -> dict[str, Any]:
    """Leases, and what is drawn from them."""
    columns = [
        {"unit": unit, "salt": salt, "decisions": size, "column": column_of(unit, salt, size)}
        for unit in UNITS
        for salt in (0, 1, 2**32 - 1)
        for size in (1, 7, 1_000_000)
    ]
    leases = []
    for plays, size, units in [(1, 10, False), (1, 997, False), (2, 50, False), (3, 64, True), (1, 1000, True)]:
        arms = ["tea", "coffee", "mate", "ü"]
        bandit = Bandit(arms, "fucb", fractions=[0.1, 0.2, 0.0, 0.15], plays=plays, seed=size)
        lease = bandit.lease(size, units=units, now=0.0)
        drawn = LeasedDecisions(lease).draw_many(10, UNITS[1:] * 2 if units else None)
        case = {"lease": plain(lease), "units": UNITS[1:] * 2 if units else None}
        leases.append(case | {"arms": [list(decision.names) for decision in drawn]})
    return {"columns": columns, "leases": leases}


def test_the_cases_of_the_typescript_client() -> None:
    assert json.loads(CASES.read_text(encoding="utf-8")) == cases()


def leased(units: bool = False) -> tuple[Bandit, LeasedDecisions]:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.25}, seed=1)
    return bandit, LeasedDecisions(bandit.lease(100, units=units))


def test_reports_have_all_rewards_once_whatever_their_size() -> None:
    bandit, decisions = leased()
    for decision in decisions.draw_many(50):
        decisions.reward(decision.position, decision.names[0], 0.5)
    sizes, last = [], False
    while not last:
        body, last = decisions.body(most=20)
        rewards = {arm: (some["positions"], some["values"]) for arm, some in body["rewards"].items()}
        report = bandit.report(decisions.lease.id, body["played"], rewards)
        decisions.reported(body, report)
        sizes.append(report.accepted)
    assert sizes == [20, 20, 10]
    assert decisions.body() == ({"played": 50, "rewards": {}}, True)


def test_reports_of_units_go_on_where_the_last_one_ended() -> None:
    bandit, decisions = leased(units=True)
    decisions.draw_many(30, [f"user-{number}" for number in range(30)])
    decisions.reward(29, decisions.draw("user-29").names[0], 1.0)
    first, last = decisions.body(most=20)
    assert (first["played"], len(first["columns"]), first["rewards"], last) == (20, 20, {}, False)
    decisions.reported(first, bandit.report(decisions.lease.id, 20, columns=first["columns"]))
    lost, _ = decisions.body(most=20)
    bandit.report(decisions.lease.id, 31, columns=lost["columns"])  # its answer is lost
    again, last = decisions.body()
    rewards = {arm: (some["positions"], some["values"]) for arm, some in again["rewards"].items()}
    report = bandit.report(decisions.lease.id, again["played"], rewards, again["columns"])
    assert (report.added, report.accepted, report.played, last) == (0, 1, 31, True)


def test_what_cannot_be_drawn_or_collected() -> None:
    _, decisions = leased()
    with pytest.raises(EvenhandError, match="is not for units: leave them out"):
        decisions.draw("ana")
    with pytest.raises(EvenhandError, match="one of the 0 decisions drawn, got 0"):
        decisions.reward(0, "tea", 1.0)
    _, sticky = leased(units=True)
    with pytest.raises(EvenhandError, match="is for units: give one per decision"):
        sticky.draw_many(2, ["ana"])
    decisions.reported({"rewards": {}}, LeaseReport("1", 0, True, 0, 0, 0, 0))
    assert decisions.left == 0


def test_a_lease_is_read_as_it_was_answered() -> None:
    _, decisions = leased(units=True)
    text = json.dumps(plain(decisions.lease))
    assert TypeAdapter(Lease).validate_json(text, strict=True) == decisions.lease


if __name__ == "__main__":
    CASES.write_text(json.dumps(cases(), ensure_ascii=False) + "\n", encoding="utf-8")
