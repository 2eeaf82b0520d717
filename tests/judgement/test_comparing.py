"""Arms chosen by features: their own means mislead, weighted ones do not, and without chances nothing is said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenhand import EvenhandError, Policy
from evenhand.bandit import Bandit
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.costing import best_shares
from evenhand.bandit.evaluation.price import price
from evenhand.changes import Promise
from evenhand.features import Features, Flag
from evenhand.inference import Scores, weighted_mean
from evenhand.judgement.comparing import ALIKE, NO_FLOOR, WHY, fault
from evenhand.merit import Power
from evenhand.policy import (
    DeficitFirst,
    ExplorationFloor,
    InverseGap,
    LinTS,
    LinUCB,
    MeritShares,
    TopM,
    VirtualQueue,
)
from evenhand.policy.selection import Categorical

FEATURES = Features(situation={"easy": Flag()})


def played(policy: Policy, seed: int, rounds: int = 1500, bandit: Bandit | None = None) -> tuple[Bandit, Any, Any]:
    """An allocation in easy and hard rounds; the true means of arms over all rounds, and those of their own rewards.

    Arm a is a little better where everybody earns much, b is much better elsewhere, so that a gets the easy rounds.
    """
    bandit = Bandit(["a", "b"], policy, seed=seed, features=FEATURES) if bandit is None else bandit
    rng, sums = np.random.default_rng(seed), np.zeros((2, 2))
    easy, hard = (0.8 + 0.2 * rng.random(), 0.7), (0.1 * rng.random(), 0.5 + 0.1 * rng.random())
    for _ in range(rounds):
        flag = bool(rng.random() < 0.5)
        decision = bandit.decide({"easy": flag})
        (name,) = decision.names
        reward = float(rng.random() < (easy if flag else hard)["ab".index(name)])
        bandit.observe(decision.id, {name: reward})
        sums["ab".index(name)] += 1.0, reward
    return bandit, (np.array(easy) + hard) / 2.0, sums[:, 1] / sums[:, 0]


@pytest.mark.covering
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("promise", [None, VirtualQueue([0.3, 0.3], "auto")], ids=["free", "promised"])
def test_weighted_rewards_put_right_what_own_means_reverse(seed: int, promise: Any) -> None:
    fairness = {} if promise is None else {"fairness": promise}
    bandit, true, raw = played(Policy(LinTS(scale=0.3), selection=ExplorationFloor(0.2), **fairness), seed)
    assert raw[0] > raw[1] + 0.03
    assert true[0] < true[1] - 0.05
    (found,) = bandit.differences()
    assert found.interval.claim == "holds"
    assert found.interval.low < true[0] - true[1] < found.interval.high
    assert found.value < 0.0
    for line, mean in zip(bandit.audit().lines, true, strict=True):
        assert line.low is not None
        assert line.high is not None
        assert line.low < mean < line.high
        assert "Its mean reward over all rounds, " in line.reason
    assert bandit.audit().lines[1].estimate > bandit.audit().lines[0].estimate  # type: ignore[operator]
    answer = bandit.stopping(0.05)
    assert answer.claim == "holds"
    assert answer.candidates[0] == "b"
    assert "b" in answer.chosen
    assert "not to be expected" not in " ".join(answer.sentences)


def test_one_may_stop_by_weighted_rewards() -> None:
    bandit, _, _ = played(Policy(LinTS(scale=0.3), selection=ExplorationFloor(0.4)), 1, 2500)
    answer = bandit.stopping(0.2)
    assert (answer.stop, answer.chosen) == (True, ("b",))


@pytest.mark.parametrize(
    "policy",
    [Policy(LinTS(scale=0.3)), Policy(LinUCB()), Policy(LinUCB(), DeficitFirst([0.3, 0.3]))],
    ids=["draws", "bounds", "promised"],
)
def test_without_a_floor_nothing_is_compared(policy: Policy) -> None:
    bandit, _, raw = played(policy, 1, 400)
    assert np.isfinite(raw).all()
    (found,) = bandit.differences()
    assert (found.interval.claim, found.verdict, found.interval.premises) == ("not_claimed", "undecided", (WHY,))
    assert (found.interval.low, found.interval.high) == (-1.0, 1.0)
    audit = bandit.audit()
    assert audit.warnings[0] == WHY
    for line in audit.lines:
        assert (line.estimate, line.low, line.high, line.score) == (None, None, None, None)
        assert f"Its mean reward is {NO_FLOOR}." in line.reason
    answer = bandit.stopping(0.05)
    assert (answer.stop, answer.claim, answer.chosen, answer.premises) == (False, "not_claimed", (), (WHY,))
    assert answer.sentences == (f"Nothing is claimed, since {WHY}.",)


def test_a_promise_has_no_price_by_means_of_arms() -> None:
    bandit, _, _ = played(Policy(LinTS(scale=0.3), DeficitFirst([0.3, 0.3]), ExplorationFloor(0.1)), 1, 200)
    cost = bandit.audit().cost
    assert cost is not None
    assert cost.per_round is cost.incurred is None
    assert "the reward of the same model and rounds without them less that with them" in cost.note
    assert best_shares(Account(bandit._record)) is None
    with pytest.raises(EvenhandError, match="Not computed from the means of arms"):
        price(bandit, [0.1])
    effect = bandit.plan(Promise({"a": 0.2})).effect
    assert effect is not None
    assert effect.shares == ()
    assert bandit.stopping(0.05, best="promises").claim == "not_claimed"


def test_shares_by_merit_are_judged_in_no_round_by_means_of_all() -> None:
    bandit, _, _ = played(Policy(LinTS(scale=0.3), MeritShares(Power(1.0, 2.0)), Categorical()), 1, 200)
    audit = bandit.audit()
    assert [line.promised for line in audit.lines] == [None, None]
    assert [line.verdict for line in audit.lines] == [None, None]
    assert audit.lines[0].reason.startswith("Its share follows its merit in each round.")


def test_rounds_without_chances_beside_others_are_a_premise() -> None:
    # Where debts decide, the chance of the other arm is 0.
    policy = Policy(LinUCB(radius=0.0), DeficitFirst([0.3, 0.3]), InverseGap())
    bandit, _, _ = played(policy, 1, 300)
    (found,) = bandit.differences()
    assert (found.interval.claim, found.interval.premises) == ("holds_if", (ALIKE,))
    assert ALIKE in " ".join(bandit.stopping(0.05).sentences)


def test_policies_without_features_are_compared_as_before() -> None:
    bandit = Bandit(["a", "b"], Policy(selection=TopM()), seed=1)
    for _ in range(20):
        decision = bandit.decide()
        bandit.observe(decision.id, {decision.names[0]: 1.0})
    assert bandit.differences()[0].interval.premises == ("nothing common changed over time",)
    assert bandit.audit().lines[0].estimate == 1.0
    assert fault(False, 0.0) == ""


def test_the_sequence_of_a_weighted_mean_covers_at_all_times() -> None:
    rng, lanes, wrong = np.random.default_rng(0), 400, np.zeros(400, dtype=bool)
    sums, rounds, mean = np.zeros((7, lanes)), 0, 0.0
    for round in range(1, 1501):
        p, mu = 0.1 + 0.8 * rng.random(lanes), 0.2 if round < 500 else 0.6
        plays, known = rng.random(lanes) < p, rng.random(lanes) < 0.9
        x, w = (rng.random(lanes) < mu) * 1.0, plays / p
        sums[:5] += [w * known, w * x * known, w * w * known, w * w * x * known, w * w * x * x * known]
        sums[5:] += [w * ~known, w * w * ~known]
        mean, rounds = mean + (mu - mean) / round, round
        if round % 100 == 0:
            low, high = weighted_mean(replace(Scores(*sums), least=0.1), np.full(lanes, float(rounds)))
            wrong |= (low > mean) | (high < mean)
    assert wrong.mean() <= 0.05
    assert float((high - low).mean()) < 0.4
    assert float(np.mean(low)) < mean < float(np.mean(high))


def test_its_ends_by_a_bound_that_is_known() -> None:
    """With every chance 1 the sums are of plain rewards, and the ends about those of a mean."""
    count, total = np.array(2000.0), np.array(600.0)
    low, high = weighted_mean(Scores(count, total, count, total, total, least=1.0), count)
    assert 0.25 < float(low) < 0.3 < float(high) < 0.35
