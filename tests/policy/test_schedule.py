"""How long a choice lasts: quotas, commitments, and the rounding of quotas against exact fractions."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand import Environment, EvenhandError, Policy, simulate
from evenhand.algorithms import fcts_d, naive, naive_quotas, t_fucb, t_fucb_quotas
from evenhand.core.state import ALL_AVAILABLE, Array, Feedback, Mask, Observation, State, Tally
from evenhand.environment.delays import Fixed
from evenhand.environment.rewards import Bernoulli
from evenhand.policy.claim import Ranking, Shares
from evenhand.policy.confidence import ConfidenceIntervals
from evenhand.policy.evidence import Optimistic, Pessimistic
from evenhand.policy.fairness import DeficitFirst, MeritShares, NoPromise
from evenhand.policy.index import UCB, Committed, EmpiricalMean
from evenhand.policy.merit import Linear
from evenhand.policy.schedule import Elimination, ForcedStart, NoSchedule, PhasedElimination, Quotas
from evenhand.policy.selection import Categorical, DependentRounding, Selection, SystematicSampling, TopM

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

ARMS = 4


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def run(policy: Policy, rewards: Array) -> Mask:
    """Who plays, (rounds, lanes, arms), where all arms are available and every reward arrives at once."""
    state, chance, history = policy.start(ARMS, rewards.shape[1]), rng(), []
    for earned in rewards:
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        policy.observe(state, Feedback(decision.played, earned * decision.played), chance)
        history.append(decision.played)
    return np.array(history)


def state_after(pulls: Any) -> State:
    counts = np.asarray(pulls, dtype=float)
    return State(int(counts.sum(axis=-1).max()), Tally(counts, counts, np.zeros_like(counts)))


def choices(policy: Policy, rewards: list[list[float]], awake: list[list[bool]] | None = None) -> list[list[int]]:
    """Who plays in each round, given every round's rewards and availability."""
    state, rng = policy.start(len(rewards[0])), np.random.default_rng(0)
    found = []
    for t, row in enumerate(rewards):
        decision = policy.decide(state, Observation(None if awake is None else np.array(awake[t])), rng)
        policy.observe(state, Feedback(decision.played, np.array(row) * decision.played), rng)
        found.append(np.flatnonzero(decision.played).tolist())
    return found


# --- Schedules -------------------------------------------------------------------------------------------------------


def test_no_schedule_changes_nothing() -> None:
    schedule, claim, state = NoSchedule(), Ranking(np.array([0.2, 0.4])), state_after([1, 1])
    assert schedule.plan(claim, state, ALL_AVAILABLE) is claim
    assert schedule.forced(state, ALL_AVAILABLE) is None
    assert (schedule.fractions, schedule.rounds(2)) == (None, 0.0)


def test_open_quotas_go_before_all_claims_and_leave_the_rest_alone() -> None:
    claim = Ranking(np.array([0.9, 0.5, 0.1]), np.array([3.0, 2.0, 1.0]), 1.5)
    planned = Quotas([2, 2, 0]).plan(claim, state_after([1, 2, 0]), ALL_AVAILABLE)
    assert type(planned) is Ranking
    assert planned.priority is not None
    assert planned.priority.tolist() == [math.inf, 2.0, 1.0]
    assert (planned.threshold, planned.score.tolist()) == (1.5, [0.9, 0.5, 0.1])
    shares = Quotas([2, 2, 0]).plan(Shares(claim.score), state_after([1, 2, 0]), ALL_AVAILABLE)
    assert type(shares) is Shares
    full = Quotas([2, 2, 0]).plan(Ranking(claim.score), state_after([2, 2, 0]), ALL_AVAILABLE)
    assert full.priority is None


@pytest.mark.parametrize(
    ("plays", "expected"), [(1, [[0], [0], [1], [1], [2], [2]]), (2, [[0, 1], [0, 1]]), (3, [[0, 1, 2]] * 2)]
)
def test_quotas_are_filled_lowest_index_first(plays: int, expected: list[list[int]]) -> None:
    # Two plays each, whatever the bounds say: arm 2, untried or the best, waits for its turn.
    policy = Policy(schedule=Quotas(2), selection=TopM(plays))
    assert choices(policy, [[0.1, 0.2, 0.9]] * len(expected)) == expected


def test_quotas_are_filled_before_what_is_owed() -> None:
    # Arm 0 is owed nearly everything, and waits until arm 1 has had its two plays.
    policy = Policy(fairness=DeficitFirst(np.array([0.9, 0.0])), schedule=Quotas([0, 2]))
    assert choices(policy, [[0.0, 0.0]] * 4) == [[1], [1], [0], [0]]


def test_sleeping_arms_fill_their_quotas_later() -> None:
    # Quotas 1, 2. Arm 0 sleeps in rounds 1 and 2, arm 1 in round 4: the round is left to the score, and arm 0 plays.
    awake = [[False, True], [False, True], [True, True], [True, False], [True, True]]
    policy = Policy(index=EmpiricalMean(), schedule=Quotas([1, 2]))
    assert choices(policy, [[0.5, 0.9]] * 5, awake) == [[1], [1], [0], [0], [1]]


def test_a_commitment_is_made_once_and_never_looks_again() -> None:
    # One play each; then arm 1, which paid more then, for ever, though arm 0 would look better from round 3 on.
    policy = Policy(Committed(EmpiricalMean(), 1), schedule=Quotas([1, 1]))
    assert choices(policy, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [1], [1]]
    # Without the commitment the mean of arm 1 falls to 1/2 in round 3 and to 1/3 in round 4.
    free = Policy(index=EmpiricalMean(), schedule=Quotas([1, 1]))
    assert choices(free, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [0], [0]]


def test_lanes_commit_when_their_own_quotas_are_filled() -> None:
    policy = Policy(Committed(EmpiricalMean(), 1), schedule=Quotas([1, 1]))
    state, rng = policy.start(2, lanes=2), np.random.default_rng(0)
    # In lane 1 arm 1 sleeps in round 2, so its quota is filled a round later than in lane 0.
    awake = [[[True, True]] * 2, [[True, True], [True, False]], [[True, True]] * 2, [[True, True]] * 2]
    made, found = [], []
    for row in awake:
        decision = policy.decide(state, Observation(np.array(row)), rng)
        made.append(state.index.made[:, 0].tolist())
        found.append(decision.played.argmax(axis=-1).tolist())
        policy.observe(state, Feedback(decision.played, np.array([0.2, 0.7]) * decision.played), rng)
    assert made == [[False, False], [False, False], [True, False], [True, True]]
    assert found == [[0, 0], [1, 0], [1, 1], [1, 1]]
    assert state.index.score == pytest.approx(np.array([[0.2, 0.7], [0.2, 0.7]]))


def test_the_promise_of_quotas() -> None:
    assert Quotas([2, 1]).fractions is None
    for schedule in (Quotas([2, 1], promised=[0.2, 0.1]), t_fucb([0.2, 0.1], horizon=10).schedule):
        assert schedule.fractions is not None
        assert schedule.fractions.tolist() == [0.2, 0.1]


def test_the_rounds_that_a_schedule_takes() -> None:
    assert [Quotas([2, 1]).rounds(2), Quotas(3).rounds(4), ForcedStart().rounds(5)] == [3.0, 12.0, 5.0]
    assert ForcedStart(free=True).rounds(5) == 0.0


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        ([1.5, 2], r"^quotas must be whole numbers, got \[1\.5, 2\]$"),
        ([1, -1], r"^quotas\[1\] must be a number of at least 0, got -1\.0$"),
        ([1, math.nan], r"^quotas\[1\] must be a number of at least 0, got nan$"),
        ("many", r"^quotas must be a list with one number per arm, got 'many'$|^quotas must be numbers"),
        (-2, r"^quotas must be a number of at least 0, got -2$"),
    ],
)
def test_bad_quotas_are_refused(quotas: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        Quotas(quotas)


# --- Quotas, rounded -------------------------------------------------------------------------------------------------


@st.composite
def shares(draw: st.DrawFn) -> list[Fraction]:
    """Promised shares with a sum of at most 1, as decimals of up to three digits or as parts of an odd number."""
    scale = draw(st.sampled_from([10, 100, 1000, 3, 7, 12]))
    left, found = scale, []
    for _ in range(draw(st.integers(1, 5))):
        part = draw(st.integers(0, left))
        left -= part
        found.append(Fraction(part, scale))
    return found


def floats(fractions: list[Fraction]) -> list[float]:
    return [float(r) for r in fractions]


def rounded_exploration(r: list[Fraction], horizon: int, epsilon: Fraction) -> list[int]:
    """NAIVE's plays: as few rounds T' ≥ ⌊εT⌋ as let each arm have ⌈r T'⌉; the rest goes to the arm furthest below
    (r + (1 − Σr)/K) T'."""
    wanted = [share + (1 - sum(r)) / len(r) for share in r]
    for rounds in range(math.floor(epsilon * horizon), horizon + 1):
        plays = [math.ceil(share * rounds) for share in r]
        if sum(plays) > rounds:
            continue
        while sum(plays) < rounds:
            missing = [want * rounds - n for want, n in zip(wanted, plays, strict=True)]
            plays[missing.index(max(missing))] += 1
        return plays
    return [0] * len(r)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(shares(), st.integers(1, 300), st.integers(0, 20))
@example([Fraction("0.07"), Fraction("0.24"), Fraction("0.04")], 300, 2)
@example([Fraction(1, 3)] * 3, 100, 2)
@example([Fraction("0.29"), Fraction("0.57"), Fraction("0.14")], 200, 10)
def test_naive_quotas_are_rounded_as_told_and_keep_the_promise(
    r: list[Fraction], horizon: int, twentieths: int
) -> None:
    epsilon = Fraction(twentieths, 20)
    quotas = naive_quotas(floats(r), horizon, float(epsilon)).tolist()
    assert quotas == rounded_exploration(r, horizon, epsilon)
    # Afterwards arm i plays with probability at least r_i, so that n_i + r_i (T − Σn) plays can be expected.
    for share, n in zip(r, quotas, strict=True):
        assert n + share * (horizon - sum(quotas)) >= share * horizon
    assert sum(quotas) <= horizon


def test_naive_quotas_of_whole_numbers_are_the_papers() -> None:
    # n = (r + (1 − Σr)/K) ε T: (0.1 + 0.5/2) · 40 = 14, (0.4 + 0.5/2) · 40 = 26.
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=0.1).tolist() == [14, 26]
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=0.0).tolist() == [0, 0]
    assert naive_quotas([0.1, 0.4], horizon=400, epsilon=1.0).tolist() == [140, 260]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(shares(), st.integers(1, 100_000))
@example([Fraction("0.07"), Fraction("0.57"), Fraction("0.29")], 100)
@example([Fraction("0.7"), Fraction("0.2"), Fraction("0.1")], 10)
@example([Fraction(1, 3)] * 3, 10)
def test_t_fucb_quotas_fit_and_keep_the_promise(r: list[Fraction], horizon: int) -> None:
    quotas = t_fucb_quotas(floats(r), horizon).tolist()
    due = [math.ceil(share * horizon) for share in r]
    assert sum(quotas) <= horizon
    if sum(max(n, 1) for n in due) <= horizon:
        assert quotas == [max(n, 1) for n in due]
    elif sum(due) <= horizon:
        assert quotas == due
    else:  # no whole numbers keep the promise; no arm misses a whole play
        assert all(share * horizon - n < 1 for share, n in zip(r, quotas, strict=True))
        assert all(n <= most for n, most in zip(quotas, due, strict=True))
        assert sum(quotas) == min(horizon, sum(due))


def test_naive_spends_its_quotas_first_and_then_draws_its_shares() -> None:
    # T' = 10: n = (0.2 + 0.5/2) · 10 = 4.5 and 5.5, at least ⌈2⌉ and ⌈3⌉; the missing five go to 2, 3 in turn: 5 and 5.
    policy = naive([0.2, 0.3], horizon=100, epsilon=0.1)
    state, rng = policy.start(2), np.random.default_rng(0)
    quotas = naive_quotas([0.2, 0.3], 100, 0.1).tolist()
    for t in range(12):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        policy.observe(state, Feedback(decision.played, np.array([0.4, 0.6]) * decision.played), rng)
        assert decision.propensities is not None
        if t < 10:
            assert decision.propensities.tolist() == ([1.0, 0.0] if t < quotas[0] else [0.0, 1.0])
        else:  # the rest of 0.5 goes to arm 1, which paid more
            assert decision.propensities == pytest.approx([0.2, 0.8])


# --- Every arm once, in as few rounds as can be ----------------------------------------------------------------------


def start_of(selection: Selection, arms: int, rounds: int) -> list[tuple[list[int], list[float]]]:
    """The arms played in the first rounds, and the selection vectors."""
    fairness = NoPromise() if isinstance(selection, TopM) else MeritShares(Linear(), cap=True)
    policy = Policy(EmpiricalMean(), fairness, selection, ForcedStart())
    state, rng = policy.start(arms), np.random.default_rng(0)
    found = []
    for _ in range(rounds):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        found.append((np.flatnonzero(decision.played).tolist(), [float(p) for p in decision.inclusion]))
        policy.observe(state, Feedback(decision.played, 0.5 * decision.played), rng)
    return found


@pytest.mark.parametrize("build", [TopM, DependentRounding, SystematicSampling])
@pytest.mark.parametrize(
    ("arms", "plays", "expected"),
    [
        (7, 3, [[0, 1, 2], [3, 4, 5], [0, 1, 6]]),
        (6, 3, [[0, 1, 2], [3, 4, 5]]),
        (5, 3, [[0, 1, 2], [0, 3, 4]]),
        (4, 3, [[0, 1, 2], [0, 1, 3]]),
        (3, 3, [[0, 1, 2]]),
        (5, 1, [[0], [1], [2], [3], [4]]),
        (2, 1, [[0], [1]]),
    ],
)
def test_every_arm_plays_once_in_order_and_the_last_round_is_filled_from_the_start(
    build: Any, arms: int, plays: int, expected: list[list[int]]
) -> None:
    assert len(expected) == math.ceil(arms / plays)
    found = start_of(build(plays), arms, len(expected) + 1)
    assert [played for played, _ in found[:-1]] == expected
    for played, vector in found[:-1]:
        assert vector == [float(arm in played) for arm in range(arms)]
    if build is not TopM:  # then the merits decide, which are the same for all
        assert found[-1][1] == pytest.approx([plays / arms] * arms)


def test_a_draw_of_one_arm_may_follow() -> None:
    found = start_of(Categorical(), 3, 4)
    assert [vector for _, vector in found[:3]] == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    assert found[3][1] == pytest.approx([1 / 3] * 3)


def test_without_filling_the_others_are_drawn() -> None:
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), Quotas(1))
    state, rng = policy.start(3), np.random.default_rng(0)
    vectors = []
    for _ in range(2):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        vectors.append(decision.inclusion.tolist())
        policy.observe(state, Feedback(decision.played, 0.0 * decision.played), rng)
    assert vectors == [[1.0, 1.0, 0.0], [0.5, 0.5, 1.0]]


def test_sleeping_arms_play_once_when_they_wake() -> None:
    # Of five arms the last sleeps: the first two rounds are filled from those awake, and a round in which nobody awake
    # has an open quota is the other parts'. When it wakes it is sure to play, beside the lowest index.
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), ForcedStart())
    state, rng = policy.start(5), np.random.default_rng(0)
    most = [True, True, True, True, False]
    days = [[False, True, True, True, True]] * 2 + [most] * 2 + [[False, True, True, True, True]]
    days[1] = [False, True, True, True, False]
    vectors = []
    for awake in days:
        decision = policy.decide(state, Observation(np.array(awake)), rng)
        vectors.append(decision.inclusion.tolist())
        policy.observe(state, Feedback(decision.played, 0.0 * decision.played), rng)
    assert vectors == [
        [0.0, 1.0, 1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0, 1.0, 0.0],  # the fourth, and the first of the others awake
        [1.0, 1.0, 0.0, 0.0, 0.0],  # the first wakes
        [0.5, 0.5, 0.5, 0.5, 0.0],  # the last still sleeps
        [0.0, 1.0, 0.0, 0.0, 1.0],
    ]


def test_lanes_fill_up_on_their_own() -> None:
    # In the second lane two of three arms sleep in the first round.
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), ForcedStart())
    state, rng = policy.start(3, lanes=2), np.random.default_rng(0)
    nights = [[[True] * 3, [False, False, True]], [[True] * 3] * 2, [[True] * 3] * 2]
    vectors = []
    for awake in nights:
        decision = policy.decide(state, Observation(np.array(awake)), rng)
        vectors.append(decision.inclusion)
        policy.observe(state, Feedback(decision.played, 0.0 * decision.played), rng)
    assert vectors[0].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert vectors[1].tolist() == [[1, 0, 1], [1, 1, 0]]
    assert vectors[2] == pytest.approx(np.full((2, 3), 2 / 3))


# --- A free start ----------------------------------------------------------------------------------------------------


def test_only_a_forced_start_that_asks_for_it_is_free_of_charge() -> None:
    assert ForcedStart(free=True).traits.free
    assert not any(
        one.traits.free for one in (ForcedStart(), NoSchedule(), Quotas(1), Elimination(ConfidenceIntervals(10.0)))
    )


def arms_played(policy: Policy, feedback: Any, rounds: int) -> list[int]:
    """Of arms that always pay 0 and 1, the one that plays in each round."""
    environment = Environment(Bernoulli([0.0, 1.0]), feedback=feedback)
    results = simulate(policy, environment, rounds, lanes=1, checkpoints=range(1, rounds + 1), progress=False)
    pulls = next(iter(results.policies.values())).pulls[:, 0]
    return [int(row.argmax()) for row in np.diff(pulls, axis=0, prepend=0)]


def test_equal_scores_go_to_the_fewest_plays_on_request() -> None:
    # Without exploration all arms have a score of 0 as long as nothing is earned.
    for ties, expected in (("fewest", [0, 1, 2, 0, 1, 2]), ("first", [0] * 6)):
        policy = Policy(EmpiricalMean(), selection=TopM(ties=ties))
        assert choices(policy, [[0.0] * 3] * 6) == [[arm] for arm in expected]


def test_a_free_start_is_known_before_the_first_round_and_counts_for_nobody() -> None:
    free = Policy(UCB(exploration=0.0), schedule=ForcedStart(free=True))
    # Without it both are unknown in round 1 and arm 1 alone in round 2; with it nothing is left to find out.
    assert arms_played(Policy(UCB(exploration=0.0)), Fixed(0), 4) == [0, 1, 1, 1]
    assert arms_played(free, Fixed(0), 4) == [1, 1, 1, 1]
    # Its rewards come as late as others: a delay of 2 from round 0 on is known at the end of round 2.
    assert arms_played(free, Fixed(2), 5) == [0, 0, 1, 1, 1]
    record = simulate(free, Environment(Bernoulli([0.0, 1.0])), 4, lanes=3, progress=False).policies["policy"]
    assert record.pulls[-1].tolist() == [[0, 4]] * 3  # the plays of the rounds alone
    assert record.curves["reward"][-1].tolist() == [4.0] * 3
    assert record.estimate.tolist() == [[0.0, 1.0]] * 3  # of the free pull too


def test_a_free_start_leaves_the_rewards_of_the_rounds_alone() -> None:
    # All arms play in every round, so that the rewards are those of the environment.
    environment = Environment(Bernoulli([0.5, 0.4, 0.6]), feedback=Fixed(1))
    rewards = [
        simulate(fcts_d(Linear(), free_start=free, plays=3), environment, 50, 8, 3, checkpoints=50, progress=False)
        .policies["fcts_d"]
        .curves["reward"]
        for free in (False, True)
    ]
    assert rewards[0].tolist() == rewards[1].tolist()


# --- Elimination -----------------------------------------------------------------------------------------------------

PAIRS: dict[str, dict[str, Any]] = {"received": {}, "whatever comes": {"lower": Pessimistic(), "upper": Optimistic()}}


def contested(
    rewards: list[list[float]], plays: int, box: ConfidenceIntervals, delay: int
) -> tuple[list[list[int]], list[list[bool]]]:
    """Who plays in each round, and who is still in after it was decided; rewards arrive ``delay`` rounds late."""
    policy = Policy(EmpiricalMean(), selection=TopM(plays), schedule=Elimination(box))
    state, rng = policy.start(len(rewards[0])), np.random.default_rng(0)
    played, alive, late = [], [], [np.zeros((2, len(rewards[0])))] * delay
    for row in rewards:
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        played.append(np.flatnonzero(decision.played).tolist())
        alive.append(state.schedule.alive.tolist())
        late.append(np.stack([decision.played, decision.played * row]))
        policy.observe(state, Feedback(*late.pop(0)), rng)
    return played, alive


def interval(box: ConfidenceIntervals, arms: int, pulls: int, arrived: list[float]) -> tuple[float, float]:
    """Of an arm, from all its plays where what is missing counts, and else from what has arrived."""
    doubtful = box.lower != box.upper
    number = max(pulls if doubtful else len(arrived), 1)
    width = math.sqrt(box.scale * math.log(box.inside * (arms if box.per_arm else 1)) / number)
    missing = pulls - len(arrived) if doubtful else 0
    return max(sum(arrived) / number - width, 0.0), min((sum(arrived) + missing) / number + width, 1.0)


def by_elimination(
    rewards: list[list[float]], plays: int, box: ConfidenceIntervals, delay: int
) -> tuple[list[list[int]], list[list[bool]]]:
    """The same from the rule, with lists."""
    arms = len(rewards[0])
    inside, passes = set(range(arms)), 0
    history: list[list[float]] = [[] for _ in range(arms)]
    when: list[list[int]] = [[] for _ in range(arms)]
    played, alive = [], []
    for t, row in enumerate(rewards):
        pulls = [len(one) for one in history]
        fewest = min(pulls[arm] for arm in inside)
        if fewest > passes:
            passes = fewest
            known = [[x for x, s in zip(history[arm], when[arm], strict=True) if s + delay < t] for arm in range(arms)]
            ends = [interval(box, arms, pulls[arm], known[arm]) for arm in range(arms)]
            out = {arm for arm in inside if sum(ends[other][0] > ends[arm][1] for other in inside) >= plays}
            inside -= out
        turn = sorted(range(arms), key=lambda arm: (arm not in inside, pulls[arm], arm))[:plays]
        for arm in turn:
            history[arm].append(row[arm])
            when[arm].append(t)
        played.append(sorted(turn))
        alive.append([arm in inside for arm in range(arms)])
    return played, alive


@settings(derandomize=True, deadline=None, max_examples=120)
@given(
    st.lists(st.integers(0, 8), min_size=2, max_size=5),
    st.integers(1, 4),
    st.sampled_from(sorted(PAIRS)),
    st.sampled_from([0, 0, 3, 20]),
    st.integers(0, 99),
)
def test_elimination_is_its_rule(levels: list[int], plays: int, pair: str, delay: int, seed: int) -> None:
    # Rewards of eighths about a level an arm, and a narrow box, so that arms go early.
    m, rng = min(plays, len(levels)), np.random.default_rng(seed)
    noise = rng.integers(-1, 2, (120, len(levels)))
    rewards = (np.clip(np.array(levels) + noise, 0, 8) / 8).tolist()
    box = ConfidenceIntervals(3.0, scale=0.2, **PAIRS[pair])
    found, expected = contested(rewards, m, box, delay), by_elimination(rewards, m, box, delay)
    assert found == expected
    # Arms that are out stay out, and never fewer than m are in.
    alive = np.array(found[1])
    assert (alive[1:] <= alive[:-1]).all()
    assert (alive.sum(axis=-1) >= m).all()


def test_eliminations_happen() -> None:
    # With the box of the test above: after 22 plays each c = sqrt(0.2 ln 12/22) = 0.15 separates 0.9, 0.6, 0.3 and 0.
    rewards = [[0.9, 0.6, 0.0, 0.3]] * 120
    for pair in PAIRS.values():
        for plays in (1, 2, 3):
            _, alive = contested(rewards, plays, ConfidenceIntervals(3.0, scale=0.2, **pair), delay=3)
            assert alive[-1] == [True, plays > 1, False, plays > 2]


def test_only_what_is_surely_worse_is_eliminated() -> None:
    # After n plays each, arms that pay 1, 1/2 and 0, c = sqrt(ln 4/n): 1 − c > 0 + c from n = 6 on, and
    # 1 − c > 1/2 + c from 16 ln 4 = 22.2 on.
    box = ConfidenceIntervals(4.0, per_arm=False)
    played, alive = contested([[1.0, 0.5, 0.0]] * 120, 1, box, delay=0)
    out = [alive_by_arm.index(False) for alive_by_arm in zip(*alive, strict=True) if False in alive_by_arm]
    # The third after 6 plays of each, 18 rounds; the second after 17 more of each of two.
    assert out == [18 + 2 * 17, 18]
    assert played[:6] == [[0], [1], [2], [0], [1], [2]]
    assert played[18:22] == [[0], [1], [0], [1]]
    assert played[52:] == [[0]] * 68


def test_what_may_be_as_good_is_not_eliminated() -> None:
    # Boxes without width: equal means are no reason to go.
    _, alive = contested([[0.5, 0.5, 0.25]] * 9, 1, ConfidenceIntervals(1.0, scale=0.0), delay=0)
    assert alive[2:] == [[True, True, True]] + [[True, True, False]] * 6


def test_only_arms_still_in_can_beat_another() -> None:
    # The first was unlucky early and is out; late rewards have raised its mean to 1, the others have 1/2.
    policy = Policy(EmpiricalMean(), selection=TopM(1), schedule=Elimination(ConfidenceIntervals(2.0, scale=0.1)))
    state, rng = policy.start(3), np.random.default_rng(0)
    state.schedule.alive[:] = [False, True, True]
    state.schedule.passes[:] = 10.0
    state.tally.pulls[:], state.tally.received[:] = [10.0, 11.0, 11.0], [10.0, 11.0, 11.0]
    state.tally.rewards[:] = [10.0, 5.5, 5.5]
    assert policy.decide(state, ALL_AVAILABLE, rng).played.tolist() == [False, True, False]
    assert state.schedule.alive.tolist() == [False, True, True]
    assert state.schedule.passes.tolist() == [11.0]


def test_an_arm_that_is_out_plays_only_where_too_few_others_are_available() -> None:
    policy = Policy(EmpiricalMean(), selection=TopM(1), schedule=Elimination(ConfidenceIntervals(4.0, per_arm=False)))
    state, rng = policy.start(3), np.random.default_rng(0)
    state.schedule.alive[:] = [True, True, False]
    state.tally.pulls[:] = [9.0, 8.0, 1.0]
    awake = [[True, True, True], [True, False, True], [False, False, True], [False, False, False]]
    played = [policy.decide(state, Observation(np.array(row)), rng).played.tolist() for row in awake]
    assert played == [[False, True, False], [True, False, False], [False, False, True], [False] * 3]


def test_lanes_are_contested_on_their_own() -> None:
    # Each is cut when its own arms have all been played once more, whatever the others do.
    rng, lanes = np.random.default_rng(3), 60
    rewards: Array = rng.integers(0, 9, (lanes, 1, 4)) / 16 + rng.integers(0, 2, (lanes, 80, 4)) / 2
    box = ConfidenceIntervals(3.0, scale=0.1)
    policy = Policy(EmpiricalMean(), selection=TopM(1), schedule=Elimination(box))
    state, own = policy.start(4, lanes=lanes), np.random.default_rng(0)
    history = []
    for t in range(80):
        played = policy.decide(state, ALL_AVAILABLE, own).played
        history.append(played.argmax(axis=-1))
        policy.observe(state, Feedback(played, played * rewards[:, t]), own)
    for lane in range(lanes):
        expected, alive = by_elimination(rewards[lane].tolist(), 1, box, delay=0)
        assert [[int(row[lane])] for row in history] == expected
        assert state.schedule.alive[lane].tolist() == alive[-1]
    assert len({tuple(row) for row in state.schedule.alive.tolist()}) > 1


# --- Phased elimination ----------------------------------------------------------------------------------------------


def test_rounds_by_hand() -> None:
    # T = 10 000, m = 1: Δ = 1/2, L = ln 2500 = 7.824046.
    # expected, E[τ] = 20: sqrt(2L) = 3.955767; 2L + 4/3 L + 60 = 86.080153, root 9.277939;
    #   (13.233706)²/0.25 = 700.52
    # bounded, E[τ] = 20: 2L + 4/3 L + 40 = 66.080153, root 8.128970; (12.084737)²/0.25 = 584.16. With d = 1000
    #   d' = min(1000, 700.52), and m d' is more.
    # variance, E[τ] = 20, V[τ] = 5: + 2 (20 + 10) = 60, as expected: 700.52
    # composite, d = 20: sqrt(L/2) = 1.977884; L/2 + 20 = 23.912023, root 4.889992; (6.867876)²/0.25 = 188.67
    assert PhasedElimination(10_000, "expected", mean_delay=20.0).length(1) == 701
    assert PhasedElimination(10_000, "bounded", mean_delay=20.0, max_delay=30.0).length(1) == 585
    assert PhasedElimination(10_000, "bounded", mean_delay=20.0, max_delay=1000.0).length(1) == 701
    assert PhasedElimination(10_000, "variance", mean_delay=20.0, variance=5.0).length(1) == 701
    assert PhasedElimination(10_000, "composite", max_delay=20.0).length(1) == 189
    # m = 2: Δ = 1/4, L = ln 625 = 6.437752, sqrt(2L) = 3.588245, 2L + 2/3 L = 17.167338.
    # expected: + 6/4 · 2 · 20 = 60: root of 77.167338 is 8.784494; (12.372739)² · 16 = 2449.35
    # bounded: + 4/4 · 20 = 20: root of 37.167338 is 6.096502; (9.684747)² · 16 = 1500.71; with d = 1000 it is
    #   m d = 2000, and with d = 5000 m d' = 2449.35
    # variance: + 4/4 · 30 = 30: root of 47.167338 is 6.867848; (10.456093)² · 16 = 1749.28
    # composite: L/2 = 3.218876, root 1.794123; + 20 = 23.218876, root 4.818597; (6.612720)² · 16 = 699.65
    assert PhasedElimination(10_000, "expected", mean_delay=20.0).length(2) == 2450
    assert PhasedElimination(10_000, "bounded", mean_delay=20.0, max_delay=30.0).length(2) == 1501
    assert PhasedElimination(10_000, "bounded", mean_delay=20.0, max_delay=1000.0).length(2) == 2000
    assert PhasedElimination(10_000, "bounded", mean_delay=20.0, max_delay=5000.0).length(2) == 2450
    assert PhasedElimination(10_000, "variance", mean_delay=20.0, variance=5.0).length(2) == 1750
    assert PhasedElimination(10_000, "composite", max_delay=20.0).length(2) == 700
    # Where T Δ² < e the logarithm is 1: T = 4, m = 1, no delay: (sqrt 2 + sqrt(2 + 4/3))² · 4 = 41.99
    assert PhasedElimination(4).length(1) == 42
    assert PhasedElimination(4).length(0) == 0


RULES: dict[str, dict[str, Any]] = {
    "expected": {"rule": "expected", "mean_delay": 2.0},
    "bounded": {"rule": "bounded", "mean_delay": 2.0, "max_delay": 400.0},
    "variance": {"rule": "variance", "mean_delay": 2.0, "variance": 1.5},
    "composite": {"rule": "composite", "max_delay": 3.0},
}


@pytest.mark.parametrize("options", RULES.values(), ids=list(RULES))
def test_phases_grow(options: dict[str, Any]) -> None:
    phases = PhasedElimination(100_000, **options)
    sizes = [phases.length(m) for m in range(12)]
    assert (np.diff(sizes) >= 1).all()


def phased(sums: Callable[[int, int], float], schedule: PhasedElimination, arms: int, rounds: int) -> list[int]:
    """The arm of each round; ``sums(t, arm)`` is what comes in when the arm plays in round t."""
    played: list[int] = []
    total, alive = [0.0] * arms, list(range(arms))
    m = 0

    def play(arm: int, times: int) -> float:
        came = 0.0
        for _ in range(times):
            if len(played) == rounds:
                return came
            played.append(arm)
            came += sums(len(played), arm)
        return came

    while len(played) < rounds:
        m += 1
        run = schedule.length(m) - schedule.length(m - 1)
        for arm in alive:
            total[arm] += play(arm, run)
        means = {arm: total[arm] / schedule.length(m) for arm in alive}
        best = max(means, key=lambda arm: (means[arm], -arm))
        alive = [arm for arm in alive if means[arm] >= means[best] - 0.5**m]
        play(best, run if len(alive) > 1 else rounds)
    return played


@pytest.mark.parametrize("options", RULES.values(), ids=list(RULES))
@pytest.mark.parametrize("means", [(4, 8, 1, 7), (8, 0, 0, 0), (5, 5, 5, 5)], ids=str)
def test_phases_are_those_of_a_plain_loop(options: dict[str, Any], means: tuple[int, ...]) -> None:
    # Each lane has a table of its own, in eighths about the means; so lanes drop their arms at different times.
    rounds, lanes = 6000, 3
    chance = rng(9)
    table = np.clip(np.array(means) + chance.integers(-2, 3, (rounds, lanes, ARMS)), 0, 8) / 8.0
    schedule = PhasedElimination(rounds, **options)
    policy = Policy(EmpiricalMean(), schedule=schedule)
    played = run(policy, table)
    for lane in range(lanes):
        expected = phased(lambda t, arm, lane=lane: float(table[t - 1, lane, arm]), schedule, ARMS, rounds)  # type: ignore[misc]
        assert played[:, lane].argmax(axis=-1).tolist() == expected


def test_nothing_is_kept_of_a_bridge() -> None:
    # Both arms pay 1/2 in their runs; that nothing comes in the bridges does not count against the first.
    schedule = PhasedElimination(100)
    one, two = schedule.length(1), schedule.length(2) - schedule.length(1)
    policy, paid = Policy(EmpiricalMean(), schedule=schedule), []
    state = policy.start(2)
    for t in range(1, 2 * one + one + 2 * two + two + 2):
        decision = policy.decide(state, ALL_AVAILABLE, rng())
        bridge = 2 * one < t <= 3 * one or t > 3 * one + 2 * two
        policy.observe(state, Feedback(decision.played, decision.played * (0.0 if bridge else 0.5)), rng())
        paid.append(int(decision.played.argmax()))
    runs = [0] * one + [1] * one + [0] * one + [0] * two + [1] * two + [0] * two + [0]
    assert paid == runs
    assert state.schedule.alive.all()
    assert (state.schedule.sums / schedule.length(2)).tolist() == [0.5, 0.5]


def test_the_last_arm_plays_for_ever() -> None:
    policy = Policy(EmpiricalMean(), schedule=PhasedElimination(100))
    state, chance = policy.start(3, lanes=2), rng()
    means = np.array([[0.0, 1.0, 0.25], [1.0, 0.25, 0.0]])
    run = PhasedElimination(100).length(1)
    for _ in range(3 * run + 5000):
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        policy.observe(state, Feedback(decision.played, decision.played * means), chance)
    # Gaps of 3/4 and 1 exceed 1/2: one phase, and then nobody else.
    assert state.tally.pulls.tolist() == [[run, run + 5000, run], [run + 5000, run, run]]


def test_an_arm_exactly_the_tolerance_below_stays() -> None:
    policy = Policy(EmpiricalMean(), schedule=PhasedElimination(100))
    state, run = policy.start(2), PhasedElimination(100).length(1)
    for _ in range(2 * run + 1):
        decision = policy.decide(state, ALL_AVAILABLE, rng())
        policy.observe(state, Feedback(decision.played, decision.played * np.array([1.0, 0.5])), rng())
    assert state.schedule.alive.tolist() == [True, True]


def test_a_run_waits_while_its_arm_cannot_play() -> None:
    # The run of arm 0 has the same number of plays, however often others stood in for it; those are not credited.
    policy = Policy(EmpiricalMean(), schedule=PhasedElimination(100))
    state, run, played = policy.start(2), PhasedElimination(100).length(1), []
    for t in range(2 * run + 30):
        available = np.array([t % 3 != 2, True])
        decision = policy.decide(state, Observation(available), rng())
        policy.observe(state, Feedback(decision.played, decision.played * 1.0), rng())
        played.append(int(decision.played.argmax()))
        if t < run:  # arm 0's run takes half as long again
            assert played[-1] == (0 if available[0] else 1)
    assert played[: played.index(1, run + run // 2 - 2)].count(0) == run


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no horizon": (lambda: PhasedElimination(0), "^horizon must be at least 1, got 0$"),
    "no rule": (
        lambda: PhasedElimination(9, "mean"),
        "^rule must be 'expected' or 'bounded' or 'variance' or 'composite', got 'mean'$",
    ),
    "a delay below 0": (lambda: PhasedElimination(9, mean_delay=-1.0), "^mean_delay must be .*, got -1.0$"),
    "a longest delay below 0": (lambda: PhasedElimination(9, max_delay=-1.0), "^max_delay must be .*, got -1.0$"),
    "a variance below 0": (lambda: PhasedElimination(9, variance=-1.0), "^variance must be .*, got -1.0$"),
    "three faults": (
        lambda: PhasedElimination(0, "mean", variance=-1.0),
        "^horizon must be at least 1, got 0\nrule must be .*, got 'mean'\nvariance must be .*, got -1.0$",
    ),
    "two arms per round": (
        lambda: Policy(EmpiricalMean(), selection=TopM(2), schedule=PhasedElimination(9)).start(3),
        "^phased_elimination plays one arm per round, got plays = 2: use elimination$",
    ),
    "no confidence": (
        lambda: Elimination(3),  # type: ignore[arg-type]
        r"^confidence must be an object such as ConfidenceIntervals\(inside=1000\), got 3$",
    ),
    "bad confidence": (
        lambda: Elimination({"kind": "hoeffding", "inside": 0.5}),
        r"^confidence\.inside must be a number of at least 1, got 0\.5$",
    ),
    "no free": (lambda: ForcedStart("yes"), "^free must be true or false, got 'yes'$"),  # type: ignore[arg-type]
    "a promise above 1": (
        lambda: Quotas([1, 2], promised=[0.1, 1.5]),
        r"^promised\[1\] must be a number in \[0, 1\], got 1\.5$",
    ),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=list(BAD))
def test_bad_schedules_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()
