"""What is believed about rewards that have not arrived, and that the truth lies between the beliefs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Environment, Policy
from evenhand.core.state import ALL_AVAILABLE, Array, State, Tally
from evenhand.environment.delays import Custom
from evenhand.environment.rewards import Beta
from evenhand.policy.evidence import Evidence, Optimistic, Pessimistic, Received
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean, Index, Trials

# Five pulls, of which two rewards have arrived, with a sum of 1.5; and an arm of which none has arrived.
TALLY = Tally(np.array([5.0, 3.0]), np.array([2.0, 0.0]), np.array([1.5, 0.0]))


def test_only_what_arrived_counts() -> None:
    sums, counts = Received().of(TALLY)
    assert (sums.tolist(), counts.tolist()) == ([1.5, 0.0], [2.0, 0.0])


def test_what_is_missing_is_all_ones_or_all_noughts() -> None:
    sums, counts = Optimistic().of(TALLY)  # three and three are missing
    assert (sums.tolist(), counts.tolist()) == ([4.5, 3.0], [5.0, 3.0])
    sums, counts = Pessimistic().of(TALLY)
    assert (sums.tolist(), counts.tolist()) == ([1.5, 0.0], [5.0, 3.0])


@pytest.mark.parametrize("belief", [Received(), Optimistic(), Pessimistic()])
def test_where_nothing_is_missing_all_agree(belief: Evidence) -> None:
    whole = Tally(np.array([5.0, 0.0]), np.array([5.0, 0.0]), np.array([1.5, 0.0]))
    sums, counts = belief.of(whole)
    assert (sums.tolist(), counts.tolist()) == ([1.5, 0.0], [5.0, 0.0])
    assert whole.pulls.tolist() == whole.received.tolist() == [5.0, 0.0]


def test_pulls_without_a_reward_change_nothing() -> None:
    more = Tally(TALLY.pulls + 7.0, TALLY.received, TALLY.rewards)
    for one, two in zip(Received().of(TALLY), Received().of(more), strict=True):
        assert (one == two).all()


def test_the_indices_ask_their_evidence() -> None:
    rng = np.random.default_rng(0)
    state = State(8, TALLY, index=Trials(np.array([1.0, 0.0])))
    assert EmpiricalMean().score(state, ALL_AVAILABLE, rng).tolist() == [0.75, 0.0]
    # sqrt(2 ln 9 / 2) on top of the mean of what arrived; nothing arrived of the other arm: sqrt(2 ln 9 / 1).
    expected = [0.75 + np.sqrt(np.log(9.0)), np.sqrt(2.0 * np.log(9.0))]
    assert UCB().score(state, ALL_AVAILABLE, rng).tolist() == pytest.approx(expected)
    # Beta(1 + 1, 1 + 2 − 1) and Beta(1, 1).
    same = np.random.default_rng(3).beta([2.0, 1.0], [2.0, 1.0])
    assert (BetaSample().score(state, ALL_AVAILABLE, np.random.default_rng(3)) == same).all()


@pytest.mark.parametrize(("belief", "means"), [(Optimistic(), [0.9, 1.0]), (Pessimistic(), [0.3, 0.0])])
def test_the_indices_ask_other_beliefs_too(belief: Evidence, means: list[float]) -> None:
    rng = np.random.default_rng(0)
    state = State(8, TALLY, index=Trials(np.array([1.0, 0.0])))
    assert EmpiricalMean(belief).score(state, ALL_AVAILABLE, rng).tolist() == pytest.approx(means)
    radius = np.sqrt(2.0 * np.log(9.0) / TALLY.pulls)
    assert UCB(evidence=belief).score(state, ALL_AVAILABLE, rng).tolist() == pytest.approx(
        np.add(means, radius).tolist()
    )
    # Trials: 1 of 2 won and 3 missing, and 3 missing: Beta(1 + 4, 1 + 1) and Beta(1 + 3, 1), or Beta(2, 5) and (1, 4).
    won, lost = ([5.0, 4.0], [2.0, 1.0]) if belief == Optimistic() else ([2.0, 1.0], [5.0, 4.0])
    same = np.random.default_rng(3).beta(won, lost)
    assert (BetaSample(belief).score(state, ALL_AVAILABLE, np.random.default_rng(3)) == same).all()


# --- the truth lies between -------------------------------------------------------------------------------------------

SIXTEENTHS = st.integers(0, 16).map(lambda n: n / 16)


def means_under(belief: Evidence, tally: Tally) -> Array:
    sums, counts = belief.of(tally)
    return sums / np.maximum(counts, 1.0)


def between(tally: Tally, truth: Array) -> None:
    """Of rewards in [0, 1] both what was received and all together lie between what is believed at worst and at best.

    Sums of sixteenths are exact, and a quotient of a larger number never rounds to less, so no tolerance is needed.
    """
    low, high = means_under(Pessimistic(), tally), means_under(Optimistic(), tally)
    pulled, heard = tally.pulls > 0, tally.received > 0
    assert (low[pulled] <= (truth / np.maximum(tally.pulls, 1.0))[pulled]).all()
    assert ((truth / np.maximum(tally.pulls, 1.0))[pulled] <= high[pulled]).all()
    received = means_under(Received(), tally)
    assert (low[heard] <= received[heard]).all()
    assert (received[heard] <= high[heard]).all()
    assert ((low >= 0.0) & (high <= 1.0)).all()


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), SIXTEENTHS, st.one_of(st.integers(0, 12), st.just(math.inf))),
        min_size=1,
        max_size=40,
    )
)
def test_both_means_lie_between_the_beliefs_all_along(history: list[tuple[int, float, float]]) -> None:
    # Arm, reward and delay of every round; rewards and delays may have to do with each other in any way.
    for now in range(len(history)):
        pulls, received, rewards, truth = np.zeros((4, 3))
        for sent, (arm, reward, delay) in enumerate(history[: now + 1]):
            pulls[arm] += 1.0
            truth[arm] += reward
            if sent + delay <= now:
                received[arm] += 1.0
                rewards[arm] += reward
        between(Tally(pulls, received, rewards), truth)


@pytest.mark.parametrize("index", [UCB(), BetaSample(), UCB(evidence=Optimistic()), EmpiricalMean(Pessimistic())])
@pytest.mark.parametrize("good_first", [False, True])
def test_both_means_lie_between_the_beliefs_in_a_simulation(index: Index, good_first: bool) -> None:
    # The better a reward the later it comes, or the other way round; the best or worst of the last arm never come.
    def by_reward(level: Any, arm: Any, reward: Any) -> Any:
        badness = 1.0 - reward if good_first else reward
        return np.where((arm == 2) & (badness > 0.75), np.inf, 40.0 * badness)

    environment = Environment(Beta(means=[0.2, 0.5, 0.8]), feedback=Custom(by_reward))
    policy, rng = Policy(index), np.random.default_rng(0)
    world = environment.start(120, 20, np.random.SeedSequence(2))
    state, truth, missing = policy.start(3, 20), np.zeros((20, 3)), False
    for _ in range(120):
        outcome = world.step(policy.decide(state, world.observe(), rng))
        policy.observe(state, outcome.feedback, rng)
        truth += outcome.earned
        missing |= bool((state.tally.received < state.tally.pulls).any())
        tally = state.tally
        slack = 1e-12  # sums in different orders
        low, high = means_under(Pessimistic(), tally), means_under(Optimistic(), tally)
        mean = truth / np.maximum(tally.pulls, 1.0)
        assert ((low <= mean + slack) & (mean <= high + slack)).all()
        heard = tally.received > 0
        between_them = (low <= means_under(Received(), tally)) & (means_under(Received(), tally) <= high + slack)
        assert between_them[heard].all()
    assert missing
    # What was received is biased, in the direction of what comes first.
    bias = (means_under(Received(), state.tally) - truth / np.maximum(state.tally.pulls, 1.0))[state.tally.received > 0]
    assert (bias.mean() > 0.0) == good_first


def test_a_belief_of_your_own_is_asked_as_well() -> None:
    class Hopeful(Evidence):
        """Every missing reward is a 1."""

        def of(self, tally: Tally) -> tuple[Array, Array]:
            return tally.rewards + tally.pulls - tally.received, tally.pulls

    # (1.5 + 3)/5 and 3/3.
    score = EmpiricalMean(Hopeful()).score(State(8, TALLY), ALL_AVAILABLE, np.random.default_rng(0))
    assert score.tolist() == pytest.approx([0.9, 1.0])
