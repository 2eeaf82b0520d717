"""A bandit whose best arm changes: it follows, its promises are kept throughout, and the audit says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit

CHANGE = 1500
#: Fixed before any run: about three times ln T/(r Δ²) with r = 0.1 and Δ = 0.6, which is 213 rounds.
FOLLOWS = 600
MEANS = np.array([0.8, 0.5, 0.2])
SETTINGS: dict[str, dict[str, Any]] = {
    "fair_glr": {"fractions": [0.1, 0.1, 0.1]},
    "fucb": {"fractions": [0.1, 0.1, 0.1], "evidence": {"kind": "forgetting", "window": 400}},
    "f_ts": {"fractions": [0.1, 0.1, 0.1], "evidence": {"kind": "forgetting", "discount": 0.995}},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_bandit_follows_a_change_and_its_audit_says_so(name: str) -> None:
    bandit = Bandit(["a", "b", "c"], name, seed=4, **SETTINGS[name])
    world = np.random.default_rng(7)
    recent = []
    for round in range(CHANGE + FOLLOWS + 200):
        means = MEANS if round < CHANGE else MEANS[::-1]
        decision = bandit.decide()
        arm = "abc".index(decision.names[0])
        bandit.observe(decision.id, {"abc"[arm]: float(world.random() < means[arm])})
        if round >= CHANGE + FOLLOWS:
            recent.append(arm)
        if round == CHANGE - 1:
            before = bandit.audit().lines
    assert np.mean(np.array(recent) == 2) > 0.6  # 0.8 is what promises leave to the best arm
    audit = bandit.audit()
    for line in audit.lines:
        assert line.worst is not None
        assert line.worst < 1.0
        assert line.counted is not None
        if name != "fair_glr" or line.changes:  # the mean of b stays
            assert line.counted < line.received
    if name == "fair_glr":
        assert [line.changes for line in before] == [0, 0, 0]
        changed = {line.arm: line.changes for line in audit.lines}
        assert changed["a"]
        assert changed["c"]
        assert "since 1 change of its mean" in " ".join(str(audit).split())
    else:
        assert {line.changes for line in audit.lines} == {None}
    assert "the policy goes by: a " in str(audit)


def test_a_bandit_that_forgets_nothing_says_nothing_of_it() -> None:
    bandit = Bandit(["a", "b"], "fucb", fractions=[0.1, 0.1])
    assert "the policy goes by" not in str(bandit.audit())
    assert {(line.counted, line.changes) for line in bandit.audit().lines} == {(None, None)}
