"""What is concluded from counts by age: against plain loops over the ages."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from evenhand import Environment, Policy, compare
from evenhand.algorithms import fucb, m_fcts_d, m_fcucb_d, q_fcts_d, ucb1
from evenhand.bandit import Bandit
from evenhand.bandit.pending import RewardError
from evenhand.core.errors import EvenhandError
from evenhand.core.state import ALL_AVAILABLE, State
from evenhand.delays import ByReward, Fixed, Geometric, PacketLoss, Uniform
from evenhand.environment.delays import Pareto
from evenhand.environment.late import Delay
from evenhand.policy.confidence import ConfidenceIntervals
from evenhand.policy.doubt import MatureBeta, MatureIntervals, UntilDisproved
from evenhand.policy.evidence import Mature
from evenhand.policy.index import UCB, BetaSample
from evenhand.policy.merit import Power
from evenhand.policy.schedule import ForcedStart
from evenhand.rewards import Bernoulli

MEANS = [0.3, 0.6, 0.8]
FLAT = Power(beta=1.0, exponent=2.0)
BIASED = ByReward([[40, 0], [0, 40], [0, 40]], named=True)


def after(policy: Policy, delay: Delay, rounds: int, lanes: int = 4) -> State:
    """The state of a policy after some rounds."""
    world = Environment(Bernoulli(MEANS), feedback=delay).start(rounds, lanes, np.random.SeedSequence(2))
    state, rng = policy.start(3, lanes), np.random.default_rng(3)
    for _ in range(rounds):
        decision = policy.decide(state, world.observe(), rng)
        policy.observe(state, world.step(decision).feedback, rng)
    return state


@pytest.mark.parametrize("delay", [Uniform(0, 90), Pareto(0.4), PacketLoss(0.5), Fixed([0, 3, 200]), Geometric(0.05)])
def test_answers_are_the_rewards_with_their_pulls(delay: Delay) -> None:
    def channel(named: bool) -> Delay:
        values = {name: getattr(delay, name) for name in ("low", "high", "tail", "received", "delay", "success")
                  if hasattr(delay, name)}  # fmt: skip
        return type(delay)(**values, named=named)

    policy, rounds = Policy(UCB(exploration=50.0)), 300
    worlds = [Environment(Bernoulli(MEANS), feedback=channel(named)) for named in (True, False)]
    named, plain = (world.start(rounds, 5, np.random.SeedSequence(1)) for world in worlds)
    state, rng, earned = policy.start(3, 5), np.random.default_rng(0), []
    seen: set[tuple[int, int]] = set()
    for round in range(rounds):
        plain.observe()
        decision = policy.decide(state, named.observe(), rng)
        outcome, same = named.step(decision), plain.step(decision)
        earned.append(np.where(decision.played, outcome.earned, np.nan).ravel())
        found = outcome.feedback
        assert found.answers is not None
        assert same.feedback.answers is None
        assert (found.received == same.feedback.received).all()
        assert (found.rewards == same.feedback.rewards).all()
        answers = found.answers
        assert (np.bincount(answers.places, minlength=15) == found.received.ravel()).all()
        for place, late, reward in zip(answers.places, answers.delays, answers.rewards, strict=True):
            assert earned[round - late][place] == reward
            assert (round - late, place) not in seen
            seen.add((round - late, place))
        policy.observe(state, found, rng)
    assert len(seen) == state.tally.received.sum()


def test_intervals_are_the_best_over_the_ages() -> None:
    state = after(m_fcucb_d(FLAT, horizon=500, plays=2), BIASED, 300)
    low, high = MatureIntervals(inside=20.0).of(state)
    assert state.tally.cohorts is not None
    counts, c = state.tally.cohorts.by_age(), math.sqrt(math.log(20.0 * 3))
    for lane in range(4):
        for arm in range(3):
            lows, highs = [0.0], [1.0]
            for n, f, y in counts[:, :, lane, arm].T.tolist():
                if n:
                    lows.append(y / n - c / math.sqrt(n))
                    highs.append((y + n - f) / n + c / math.sqrt(n))
            assert low[lane, arm] == pytest.approx(max(lows), abs=1e-12)
            assert high[lane, arm] == pytest.approx(min(highs), abs=1e-12)


def test_intervals_are_no_wider_than_those_of_the_pulls_of_any_age() -> None:
    state = after(m_fcucb_d(FLAT, horizon=500), BIASED, 400)
    low, high = MatureIntervals(inside=20.0).of(state)
    all_ages = ConfidenceIntervals(20.0, lower="pessimistic", upper="optimistic").of(state)
    assert (low >= all_ages[0] - 1e-12).all()
    assert (high <= all_ages[1] + 1e-12).all()
    assert (high < all_ages[1]).any()


def test_the_age_is_that_of_which_most_is_known() -> None:
    state = after(m_fcts_d(FLAT, plays=2), BIASED, 300)
    sums, numbers = Mature().of(state.tally)
    least, _ = Mature("pessimistic").of(state.tally)
    assert state.tally.cohorts is not None
    counts = state.tally.cohorts.by_age()
    for lane in range(4):
        for arm in range(3):
            known = [
                (n - f) / n + 1 / math.sqrt(n) if n else math.inf for n, f, _ in counts[:, :, lane, arm].T.tolist()
            ]
            n, f, y = counts[:, int(np.argmin(known)), lane, arm].tolist()
            assert (sums[lane, arm], numbers[lane, arm], least[lane, arm]) == (y + n - f, n, y)
    # The good arms' ones are 40 rounds late; of old pulls all is known, so nothing is left to doubt.
    assert (sums - least == 0.0).any()


def test_draws_are_means_of_two_beta_variables() -> None:
    policy = Policy(MatureBeta())
    state = after(policy, BIASED, 200, lanes=1)
    wide = policy.start(3, 4000)
    assert wide.tally.cohorts is not None
    assert state.tally.cohorts is not None
    wide.tally.cohorts.counts[:] = state.tally.cohorts.counts
    wide.tally.cohorts.round = 200
    draws = MatureBeta().score(wide, ALL_AVAILABLE, np.random.default_rng(1))
    (n, f, y) = (
        Mature().of(state.tally)[1],
        *(Mature(kind).of(state.tally)[0] for kind in ("optimistic", "pessimistic")),
    )
    for arm in range(3):
        pulls, most, least = n[0, arm], f[0, arm], y[0, arm]
        mean = ((1 + most) / (2 + pulls) + (1 + least) / (2 + pulls)) / 2
        assert draws[:, arm].mean() == pytest.approx(mean, abs=5 * draws[:, arm].std() / math.sqrt(4000))


def test_a_good_arm_whose_ones_are_late_is_found() -> None:
    world = Environment(Bernoulli(MEANS), feedback=ByReward([[100, 0], [0, 100], [0, 100]], named=True))
    policies = {kind: q_fcts_d(FLAT, untestable=kind) for kind in ("trust", "doubt")} | {"mature": m_fcts_d(FLAT)}
    results = compare(policies, world, 600, 20, 1, checkpoints=[100, 250, 600], progress=False)
    pulls = {label: one.pulls.mean(axis=1) for label, one in results.policies.items()}
    for label, early in pulls.items():
        late = early[2] - early[1]
        assert late[2] > 1.3 * late[0], label  # fair: 1.64 to 1.09
    missed = {label: early[0][0] - early[0][2] for label, early in pulls.items()}
    assert missed["trust"] > missed["doubt"]  # misled, while nothing can be tested
    assert missed["doubt"] == pytest.approx(missed["mature"], abs=3.0)


def test_trust_is_given_up_per_arm() -> None:
    one_biased = ByReward([[0, 0], [5, 5], [0, 60]], named=True)
    state = after(q_fcts_d(FLAT, plays=2), one_biased, 600)
    assert state.tally.cohorts is not None
    assert state.tally.cohorts.delays is not None
    assert (state.tally.cohorts.delays.disproved == [False, False, True]).all()


@pytest.mark.parametrize(
    ("feedback", "message"),
    [
        (Geometric(0.1), r"Geometric returns rewards without the pull .* give Geometric\(…, named=True\)"),
    ],
)
def test_rewards_without_their_pull_are_refused(feedback: Delay, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        compare([m_fcts_d(FLAT)], Environment(Bernoulli(MEANS), feedback=feedback), 10, 2, progress=False)
    with pytest.raises(EvenhandError, match="have no age"):
        Policy(MatureBeta(), schedule=ForcedStart(free=True))
    with pytest.raises(EvenhandError, match="anything else than trusting"):
        UntilDisproved(UCB(), BetaSample())
    bandit = Bandit(["a", "b"], "thompson", evidence="mature")
    bandit.decide()
    with pytest.raises(RewardError, match="by the age of plays"):
        bandit.observe_total(0.5)


@pytest.mark.parametrize("build", [ucb1, lambda **options: fucb([0.2, 0.1, 0.1], **options)])
def test_minimum_shares_learn_from_mature_evidence(build: Callable[..., Policy]) -> None:
    world = Environment(Bernoulli(MEANS), feedback=ByReward([[200, 0], [0, 200], [0, 200]], named=True))
    policies = {kind: build(exploration=0.3, evidence=kind) for kind in ("received", "mature")}
    results = compare(policies, world, 500, 20, 1, progress=False)
    regret = {label: one.curves["regret"][-1].mean() for label, one in results.policies.items()}
    assert regret["mature"] < 0.9 * regret["received"], regret


def test_an_allocation_knows_the_age_of_its_plays() -> None:
    bandit = Bandit(["a", "b"], "q_fcts_d", merit={"kind": "power"}, seed=1, window=100.0, missing="zero")
    made = [bandit.decide(now=float(i)).names[0] for i in range(20)]
    bandit.observe("3", {made[2]: 1.0}, now=20.0)
    bandit.observe("20", {made[19]: 0.5}, now=20.0)
    bandit = Bandit.restored(bandit.dump())
    bandit.decide(now=101.5)  # closes the first two, each with a reward of 0
    cohorts = bandit._record.state.tally.cohorts
    assert cohorts is not None
    assert cohorts.delays is not None
    assert cohorts.round == 21
    expected = np.zeros_like(cohorts.delays.counts)
    for delay, round in ((17, 3), (0, 20), (19, 1), (18, 2)):
        expected[np.frexp(delay)[1], bandit._record.arms.place[made[round - 1]]] += 1.0
    assert (cohorts.delays.counts == expected).all()
    assert cohorts.by_age()[2, 0].sum() == 1.5
