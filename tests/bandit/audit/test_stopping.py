"""Whether one may stop: what a bandit answers, on what it rests, and what is refused."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from evenhand import Bandit
from evenhand.core.errors import EvenhandError

ARMS = ("tea", "coffee", "mate")


def played(
    algorithm: str = "fucb",
    means: tuple[float, ...] = (0.2, 0.6, 0.4),
    rounds: int = 400,
    reported: float = 1.0,
    pay: float = 1.0,
    **options: Any,
) -> Bandit:
    """A bandit after so many rounds, of whose rewards a part is reported."""
    options = {"fractions": 0.2} | options if algorithm in ("fucb", "f_ts") else options
    bandit, rng = Bandit(ARMS[: len(means)], algorithm, seed=1, **options), np.random.default_rng(0)
    for _ in range(rounds):
        decision = bandit.decide(now=0.0)
        if rng.random() < reported:
            rewards = {name: pay * float(rng.random() < means[ARMS.index(name)]) for name in decision.names}
            bandit.observe(decision.id, rewards, now=1.0)
    return bandit


def test_one_may_stop_when_one_arm_is_left() -> None:
    answer = played(rounds=1500).stopping(now=1.0)
    assert (answer.stop, answer.candidates, answer.chosen, answer.claim) == (True, ("coffee",), ("coffee",), "holds_if")
    assert (answer.epsilon_now, answer.rounds) == (0.0, (0, 0))
    assert answer.sentences[0] == "Yes: coffee is the best arm (error at most 5%)."
    assert "the mean reward of each arm stays the same over time" in str(answer)


def test_not_yet_with_what_is_sure_and_when_more_is_known() -> None:
    answer = played(rounds=500).stopping(now=1.0)
    assert not answer.stop
    assert answer.candidates == ("coffee", "mate")
    assert answer.sentences[0] == "Not yet: 2 arms can still be the best: coffee and mate."
    assert 0.0 < answer.epsilon_now < 0.3
    assert answer.rounds[0] is not None
    assert played(rounds=500).stopping(epsilon=0.3, now=1.0).stop


def test_two_equal_arms_never_end_but_for_an_epsilon() -> None:
    bandit = played(means=(0.5, 0.5), rounds=3000, fractions=0.3)
    answer = bandit.stopping(now=1.0)
    assert not answer.stop
    assert answer.rounds[1] is None
    assert "perhaps not within ten times" in str(answer) or "not to be expected within ten times" in str(answer)
    assert bandit.stopping(epsilon=answer.epsilon_now, now=1.0).stop


def test_epsilon_is_in_the_unit_of_the_rewards() -> None:
    one, many = (played(rounds=300, pay=pay, rewards=(0.0, pay), words={"unit": "€"}) for pay in (1.0, 50.0))
    small, large = one.stopping(now=1.0), many.stopping(now=1.0)
    assert large.epsilon_now == pytest.approx(50.0 * small.epsilon_now)
    assert "€ per play" in str(large)
    assert "no reward is below 0 or above 50" in large.premises


def test_rewards_that_are_not_known_are_a_premise_unless_they_cannot_matter() -> None:
    few = played(rounds=3000, reported=0.99).stopping(now=1.0)
    assert few.stop
    assert any("may be anything" in premise for premise in few.premises)
    many = played(rounds=3000, reported=0.5).stopping(now=1.0)
    assert many.stop
    assert any("does not depend on its value" in premise for premise in many.premises)


def test_a_looser_question_has_no_weaker_answer() -> None:
    for algorithm in ("fucb", "fair_random"):  # by likelihood ratios alone, and by weighted differences
        bandit = played(algorithm, (0.5, 0.6), 1500, reported=0.9, fractions=0.3)
        strict, loose = bandit.stopping(now=1.0), bandit.stopping(epsilon=0.3, now=1.0)
        assert (strict.stop, loose.stop) == (False, True)
        assert loose.epsilon_now == strict.epsilon_now > 0.0
        assert "does not depend on its value" not in " ".join(loose.premises)
        assert loose.sentences[-1].startswith("If also ")
        assert "whether and when a reward arrives does not depend on its value (" in loose.sentences[-1]
        assert loose.sentences[-1].endswith(f"rewards that are not known), it is {loose.epsilon_now:.3g} at most.")
        assert bandit.stopping(epsilon=strict.epsilon_now, now=1.0).stop


def test_a_reward_that_came_after_its_window_is_not_called_unknown() -> None:
    bandit = played(rounds=50, window=10.0, missing="lost")
    late, other = (bandit.decide(now=2.0) for _ in range(2))
    assert bandit.observe(late.id, {late.names[0]: 1.0}, now=20.0) == {late.names[0]: "late"}
    assert (
        "1 reward that is not known and 1 reward that came after its window" in bandit.stopping(now=20.0).sentences[-1]
    )
    bandit.observe(other.id, {other.names[0]: 1.0}, now=20.0)
    assert "(2 rewards that came after their window)" in bandit.stopping(now=20.0).sentences[-1]


def test_all_arms_are_always_the_best_ones() -> None:
    answer = played("ucb1", (0.5,), 50, reported=0.5).stopping(now=1.0)
    assert (answer.stop, answer.chosen, answer.claim, answer.premises) == (True, ("tea",), "holds", ())
    assert answer.sentences == ("Yes: tea is the only arm, so it is the best one.",)
    both = Bandit(ARMS[:2], "ucb1").stopping(best=2)
    assert both.sentences == ("Yes: tea and coffee are all arms, so these are the best ones.",)


def test_a_wide_range_is_no_forecast() -> None:
    wide = played(rounds=400, reported=0.8, fractions=0.1).stopping(now=1.0)
    first, last = wide.rounds
    assert first is not None
    assert last is not None
    assert last > 10 * first
    assert f"one may stop after {first:,} more round" in wide.sentences[2]
    assert f" at the earliest, perhaps after {last:,}." in wide.sentences[2]


def test_where_failures_are_not_reported_pending_rewards_may_be_anything() -> None:
    bandit = played(rounds=2000, reported=0.5, missing="zero", window=10.0, means=(0.1, 0.9, 0.3))
    answer = bandit.stopping(now=1.0)
    assert not answer.stop
    assert any("may be anything" in premise for premise in answer.premises)
    assert bandit.stopping(now=20.0).stop


def test_a_change_that_was_found_leaves_nothing_to_claim() -> None:
    bandit, rng = Bandit(ARMS[:2], "glr_klucb", exploration_share=0.1, seed=1), np.random.default_rng(0)
    for round in range(2000):
        decision = bandit.decide(now=0.0)
        mean = {"tea": 0.8 if round < 1000 else 0.1, "coffee": 0.5}[decision.names[0]]
        bandit.observe(decision.id, {decision.names[0]: float(rng.random() < mean)}, now=1.0)
    answer = bandit.stopping(now=1.0)
    assert (answer.stop, answer.claim) == (False, "not_claimed")
    assert answer.sentences == ("Nothing is claimed, since the policy found that the rewards of an arm have changed.",)


def test_several_best_arms_and_those_that_promises_leave_more() -> None:
    several = played("f_ts", rounds=2000, fractions=0.1, plays=2)
    assert several.stopping(now=1.0).chosen == ("coffee", "mate")
    assert several.stopping(best=1, now=1.0).chosen == ("coffee",)
    assert "rewards of arms that play in the same round are independent" in several.stopping(now=1.0).premises
    capped = played("group_ts", rounds=1500, fractions=0.1, caps=[1.0, 0.4, 1.0])
    answer = capped.stopping(best="promises", now=1.0)
    assert (answer.stop, answer.chosen) == (True, ("coffee", "mate"))
    plain = played(rounds=1500).stopping(best="promises", now=1.0)
    assert (plain.stop, plain.chosen) == (True, ("coffee",))
    early = played("group_ts", rounds=30, fractions=0.1, caps=[1.0, 0.4, 1.0]).stopping(best="promises", now=1.0)
    assert not early.stop
    assert len(early.candidates) == 3


def test_rewards_that_are_not_known_count_once_as_plays() -> None:
    """Half of them: 0.25 is what the worst of these alone leaves, to which chance adds a tenth."""
    bandit = played(
        "group_ts", rounds=3000, reported=0.5, fractions=0.1, caps=[1.0, 0.4, 1.0], window=10.0, missing="zero"
    )
    assert bandit.stopping(best="promises", now=1.0).epsilon_now > 0.3


def test_before_the_first_reward_nothing_is_sure() -> None:
    answer = Bandit(ARMS, "ucb1").stopping()
    assert (answer.stop, answer.candidates, answer.rounds) == (False, ARMS, (None, None))
    assert len(answer.sentences) == 2


def test_differences_weighted_by_known_chances_come_first_and_need_no_steady_means() -> None:
    bandit, rng = Bandit(ARMS[:2], "fair_random", fractions=0.2, seed=1), np.random.default_rng(0)
    for round in range(3000):  # a common step, with which the arms' own means would not compare
        decision = bandit.decide(now=0.0)
        mean = {"tea": 0.5, "coffee": 0.2}[decision.names[0]] + 0.3 * (round > 1500)
        bandit.observe(decision.id, {decision.names[0]: float(rng.random() < mean)}, now=1.0)
    answer = bandit.stopping(now=1.0)
    assert (answer.stop, answer.chosen, answer.claim, answer.premises) == (True, ("tea",), "holds", ())
    assert "whatever changes over time" in str(answer)
    few = played("floor_ts", rounds=400, fractions=0.2).stopping(now=1.0)
    assert (few.stop, few.claim) == (False, "holds_if")


def test_rewards_that_vary_little_need_few_rounds() -> None:
    bandit, rng = Bandit(ARMS[:2], "fucb", fractions=0.3, rewards=(0.0, 100.0), seed=1), np.random.default_rng(0)
    for _ in range(1000):
        decision = bandit.decide(now=0.0)
        arm = decision.names[0]
        bandit.observe(decision.id, {arm: {"tea": 50.0, "coffee": 54.0}[arm] + rng.random()}, now=0.0)
    answer = bandit.stopping(now=0.0)
    assert (answer.stop, answer.candidates, answer.claim) == (True, ("coffee",), "holds_if")


def test_a_retired_arm_is_no_candidate() -> None:
    bandit = played(rounds=300)
    bandit.retire("coffee")
    assert "coffee" not in bandit.stopping(now=1.0).candidates


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, "never wrong takes forever"),
        ({"delta": 1}, "says nothing"),
        ({"delta": "0.1"}, "between 0 and 1"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"best": 0}, "best"),
        ({"best": 4}, "at most 3"),
        ({"best": "all"}, "best"),
    ],
)
def test_what_cannot_be_asked(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Bandit(ARMS, "ucb1").stopping(**arguments)


def test_shares_by_merit_have_no_arms_that_promises_prefer() -> None:
    bandit = Bandit(ARMS, "fcts_d", merit={"kind": "power", "exponent": 2.0})
    with pytest.raises(EvenhandError, match="by merit"):
        bandit.stopping(best="promises")


def test_two_hundred_arms_take_less_than_a_quarter_of_a_second() -> None:
    bandit = Bandit([f"arm {place}" for place in range(200)], "thompson", start_from=None)
    for _ in range(400):
        decision = bandit.decide(now=0.0)
        bandit.observe(decision.id, {decision.names[0]: float(len(decision.names[0]) % 2)}, now=0.0)
    bandit.stopping(now=0.0)
    begun = time.perf_counter()
    bandit.stopping(now=0.0)
    assert time.perf_counter() - begun < 0.25
