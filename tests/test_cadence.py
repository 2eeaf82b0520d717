"""How long a choice lasts: quotas, commitments, and the rounding of quotas against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand import Environment, EvenhandError, Policy, simulate
from evenhand.algorithms import fcts_d, naive, naive_quotas, t_fucb, t_fucb_quotas
from evenhand.box import ConfidenceBox
from evenhand.cadence import Elimination, EveryRound, QuotasThen
from evenhand.delays import Fixed
from evenhand.evidence import Optimistic, Pessimistic
from evenhand.fairness import Claim, DeficitFirst, MeritShares
from evenhand.index import UCB, EmpiricalMean
from evenhand.merit import Linear
from evenhand.records import Array, Feedback, State, Tally
from evenhand.rewards import Bernoulli
from evenhand.selection import Categorical, DependentRounding, Selection, SystematicSampling, TopM


def state_after(pulls: Any) -> State:
    counts = np.asarray(pulls, dtype=float)
    return State(int(counts.sum(axis=-1).max()), Tally(counts, counts, np.zeros_like(counts)))


def choices(policy: Policy, rewards: list[list[float]], awake: list[list[bool]] | None = None) -> list[list[int]]:
    """Who plays in each round, given every round's rewards and availability."""
    state, rng = policy.start(len(rewards[0])), np.random.default_rng(0)
    found = []
    for t, row in enumerate(rewards):
        decision = policy.decide(state, rng, None if awake is None else np.array(awake[t]))
        policy.observe(state, Feedback(decision.played, np.array(row) * decision.played), rng)
        found.append(np.flatnonzero(decision.played).tolist())
    return found


# --- Cadences --------------------------------------------------------------------------------------------------------


def test_every_round_changes_nothing() -> None:
    cadence, worth = EveryRound(), np.array([0.2, 0.4])
    claim, state = Claim(worth, False), state_after([1, 1])
    assert cadence.worth(worth, state) is worth
    assert cadence.claim(claim, state) is claim
    assert cadence.fractions is None


def test_open_quotas_go_before_all_claims_and_leave_the_rest_alone() -> None:
    claim = Claim(np.array([0.9, 0.5, 0.1]), False, np.array([3.0, 2.0, 1.0]), 1.5)
    found = QuotasThen([2, 2, 0]).claim(claim, state_after([1, 2, 0]))
    assert found.first.tolist() == [math.inf, 2.0, 1.0]
    assert (found.above, found.score.tolist()) == (1.5, [0.9, 0.5, 0.1])
    nobody = QuotasThen([2, 2, 0]).claim(Claim(claim.score, False), state_after([2, 2, 0]))
    assert nobody.first is None


@pytest.mark.parametrize(
    ("plays", "expected"), [(1, [[0], [0], [1], [1], [2], [2]]), (2, [[0, 1], [0, 1]]), (3, [[0, 1, 2]] * 2)]
)
def test_quotas_are_filled_lowest_index_first(plays: int, expected: list[list[int]]) -> None:
    # Two plays each, whatever the bounds say: arm 2, untried or the best, waits for its turn.
    policy = Policy(cadence=QuotasThen(2), selection=TopM(plays))
    assert choices(policy, [[0.1, 0.2, 0.9]] * len(expected)) == expected


def test_quotas_are_filled_before_what_is_owed() -> None:
    # Arm 0 is owed nearly everything, and waits until arm 1 has had its two plays.
    policy = Policy(fairness=DeficitFirst(np.array([0.9, 0.0])), cadence=QuotasThen([0, 2]))
    assert choices(policy, [[0.0, 0.0]] * 4) == [[1], [1], [0], [0]]


def test_sleeping_arms_fill_their_quotas_later() -> None:
    # Quotas 1, 2. Arm 0 sleeps in rounds 1 and 2, arm 1 in round 4: the round is left to the worth, and arm 0 plays.
    awake = [[False, True], [False, True], [True, True], [True, False], [True, True]]
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 2]))
    assert choices(policy, [[0.5, 0.9]] * 5, awake) == [[1], [1], [0], [0], [1]]


def test_a_commitment_is_made_once_and_never_looks_again() -> None:
    # One play each; then arm 1, which paid more then, for ever, though arm 0 would look better from round 3 on.
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1], commit=True))
    assert choices(policy, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [1], [1]]
    # Without the commitment the mean of arm 1 falls to 1/2 in round 3 and to 1/3 in round 4.
    free = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1]))
    assert choices(free, [[0.5, 1.0], [0.5, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]) == [[0], [1], [1], [0], [0]]


def test_lanes_commit_when_their_own_quotas_are_filled() -> None:
    policy = Policy(index=EmpiricalMean(), cadence=QuotasThen([1, 1], commit=True))
    state, rng = policy.start(2, lanes=2), np.random.default_rng(0)
    # In lane 1 arm 1 sleeps in round 2, so its quota is filled a round later than in lane 0.
    awake = [[[True, True]] * 2, [[True, True], [True, False]], [[True, True]] * 2, [[True, True]] * 2]
    made, found = [], []
    for row in awake:
        decision = policy.decide(state, rng, np.array(row))
        made.append(state.cadence.made[:, 0].tolist())
        found.append(decision.played.argmax(axis=-1).tolist())
        policy.observe(state, Feedback(decision.played, np.array([0.2, 0.7]) * decision.played), rng)
    assert made == [[False, False], [False, False], [True, False], [True, True]]
    assert found == [[0, 0], [1, 0], [1, 1], [1, 1]]
    assert state.cadence.worth == pytest.approx(np.array([[0.2, 0.7], [0.2, 0.7]]))


def test_fractions_of_a_schedule_are_told() -> None:
    assert QuotasThen([2, 1]).fractions is None
    assert QuotasThen([2, 1], fractions=[0.2, 0.1]).fractions.tolist() == [0.2, 0.1]
    assert t_fucb([0.2, 0.1], horizon=10).fractions.tolist() == [0.2, 0.1]


@pytest.mark.parametrize(
    ("quotas", "message"),
    [
        ([1.5, 2], r"^quotas must be whole numbers, got \[1\.5, 2\]$"),
        ([1, -1], r"^quotas\[1\] must be a number of at least 0, got -1\.0$"),
        ([1, math.nan], r"^quotas\[1\] must be a number of at least 0, got nan$"),
        ("many", r"^quotas must be a list with one number an arm, got 'many'$|^quotas must be numbers"),
        (-2, r"^quotas must be a number of at least 0, got -2$"),
    ],
)
def test_bad_quotas_are_refused(quotas: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        QuotasThen(quotas)


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
    """NAIVE's plays: as few rounds T' ≥ ⌊εT⌋ as let each arm have ⌈r T'⌉; the rest goes to whoever is furthest below
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
        decision = policy.decide(state, rng)
        policy.observe(state, Feedback(decision.played, np.array([0.4, 0.6]) * decision.played), rng)
        assert decision.probabilities is not None
        if t < 10:
            assert decision.probabilities.tolist() == ([1.0, 0.0] if t < quotas[0] else [0.0, 1.0])
        else:  # the rest of 0.5 goes to arm 1, which paid more
            assert decision.probabilities == pytest.approx([0.2, 0.8])


# --- Every arm once, in as few rounds as can be ----------------------------------------------------------------------


def start_of(selection: Selection, arms: int, rounds: int, quota: int = 1) -> list[tuple[list[int], list[float]]]:
    """The arms played in the first rounds, and the selection vectors."""
    policy = Policy(EmpiricalMean(), MeritShares(Linear(), cap=True), selection, QuotasThen(quota, fill=True))
    state, rng = policy.start(arms), np.random.default_rng(0)
    found = []
    for _ in range(rounds):
        decision = policy.decide(state, rng)
        found.append((np.flatnonzero(decision.played).tolist(), [float(p) for p in decision.vector]))
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


def test_larger_quotas_are_filled_alike() -> None:
    # Two plays each of three arms, two a round: 0 and 1 twice, then 2 with 0, and once more.
    found = [played for played, _ in start_of(DependentRounding(2), 3, 4, quota=2)]
    assert found == [[0, 1], [0, 1], [0, 2], [0, 2]]


def test_without_filling_the_others_are_drawn() -> None:
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), QuotasThen(1))
    state, rng = policy.start(3), np.random.default_rng(0)
    vectors = []
    for _ in range(2):
        decision = policy.decide(state, rng)
        vectors.append(decision.vector.tolist())
        policy.observe(state, Feedback(decision.played, 0.0 * decision.played), rng)
    assert vectors == [[1.0, 1.0, 0.0], [0.5, 0.5, 1.0]]


def test_sleeping_arms_play_once_when_they_wake() -> None:
    # Of five arms the last sleeps: the first two rounds are filled from those awake, and a round in which nobody awake
    # has an open quota is the other parts'. When it wakes it is sure to play, beside the lowest index.
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), QuotasThen(1, fill=True))
    state, rng = policy.start(5), np.random.default_rng(0)
    most = [True, True, True, True, False]
    days = [[False, True, True, True, True]] * 2 + [most] * 2 + [[False, True, True, True, True]]
    days[1] = [False, True, True, True, False]
    vectors = []
    for awake in days:
        decision = policy.decide(state, rng, np.array(awake))
        vectors.append(decision.vector.tolist())
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
    policy = Policy(EmpiricalMean(), MeritShares(Linear()), DependentRounding(2), QuotasThen(1, fill=True))
    state, rng = policy.start(3, lanes=2), np.random.default_rng(0)
    nights = [[[True] * 3, [False, False, True]], [[True] * 3] * 2, [[True] * 3] * 2]
    vectors = []
    for awake in nights:
        decision = policy.decide(state, rng, np.array(awake))
        vectors.append(decision.vector)
        policy.observe(state, Feedback(decision.played, 0.0 * decision.played), rng)
    assert vectors[0].tolist() == [[1, 1, 0], [0, 0, 1]]
    assert vectors[1].tolist() == [[1, 0, 1], [1, 1, 0]]
    assert vectors[2] == pytest.approx(np.full((2, 3), 2 / 3))


# --- A free start ----------------------------------------------------------------------------------------------------


def test_only_a_cadence_that_asks_for_it_starts_free_of_charge() -> None:
    assert EveryRound(free_start=True).free_start
    assert not EveryRound().free_start
    assert not QuotasThen(1).free_start
    assert not Elimination(ConfidenceBox(10.0)).free_start


def arms_played(policy: Policy, feedback: Any, rounds: int) -> list[int]:
    """Of arms that always pay 0 and 1, the one that plays in each round."""
    environment = Environment(Bernoulli([0.0, 1.0]), feedback=feedback)
    results = simulate(policy, environment, rounds, lanes=1, checkpoints=range(1, rounds + 1), progress=False)
    pulls = next(iter(results.records.values())).pulls[:, 0]
    return [int(row.argmax()) for row in np.diff(pulls, axis=0, prepend=0)]


def test_equal_claims_go_to_the_fewest_plays_on_request() -> None:
    # Without exploration all arms are worth 0 as long as nothing is earned.
    for fewest_first, expected in ((True, [0, 1, 2, 0, 1, 2]), (False, [0] * 6)):
        policy = Policy(EmpiricalMean(), cadence=EveryRound(fewest_first=fewest_first))
        state, rng = policy.start(arms=3), np.random.default_rng(0)
        played = []
        for _ in range(6):
            decision = policy.decide(state, rng)
            policy.observe(state, Feedback(decision.played * 1.0, np.zeros(3)), rng)
            played.append(int(decision.played.argmax()))
        assert played == expected


def test_a_free_start_is_known_before_the_first_round_and_counts_for_nobody() -> None:
    free = Policy(UCB(exploration=0.0), cadence=EveryRound(free_start=True))
    # Without it both are unknown in round 1 and arm 1 alone in round 2; with it nothing is left to find out.
    assert arms_played(Policy(UCB(exploration=0.0)), Fixed(0), 4) == [0, 1, 1, 1]
    assert arms_played(free, Fixed(0), 4) == [1, 1, 1, 1]
    # Its rewards come as late as others: a delay of 2 from round 0 on is known at the end of round 2.
    assert arms_played(free, Fixed(2), 5) == [0, 0, 1, 1, 1]
    record = simulate(free, Environment(Bernoulli([0.0, 1.0])), 4, lanes=3, progress=False).records["policy"]
    assert record.pulls[-1].tolist() == [[0, 4]] * 3  # the plays of the rounds alone
    assert record.curves["reward"][-1].tolist() == [4.0] * 3
    assert record.estimate.tolist() == [[0.0, 1.0]] * 3  # of the free pull too


def test_a_free_start_leaves_the_rewards_of_the_rounds_alone() -> None:
    # All arms play in every round, so that the rewards are those of the environment.
    environment = Environment(Bernoulli([0.5, 0.4, 0.6]), feedback=Fixed(1))
    rewards = [
        simulate(fcts_d(Linear(), free_start=free, plays=3), environment, 50, 8, 3, checkpoints=50, progress=False)
        .records["fcts_d"]
        .curves["reward"]
        for free in (False, True)
    ]
    assert rewards[0].tolist() == rewards[1].tolist()


# --- Elimination -----------------------------------------------------------------------------------------------------

PAIRS: dict[str, dict[str, Any]] = {"received": {}, "whatever comes": {"lower": Pessimistic(), "upper": Optimistic()}}


def contested(
    rewards: list[list[float]], plays: int, box: ConfidenceBox, delay: int
) -> tuple[list[list[int]], list[list[bool]]]:
    """Who plays in each round, and who is still in after it was decided; rewards arrive ``delay`` rounds late."""
    policy = Policy(EmpiricalMean(), selection=TopM(plays), cadence=Elimination(box, plays))
    state, rng = policy.start(len(rewards[0])), np.random.default_rng(0)
    played, alive, late = [], [], [np.zeros((2, len(rewards[0])))] * delay
    for row in rewards:
        decision = policy.decide(state, rng)
        played.append(np.flatnonzero(decision.played).tolist())
        alive.append(state.cadence.alive.tolist())
        late.append(np.stack([decision.played, decision.played * row]))
        policy.observe(state, Feedback(*late.pop(0)), rng)
    return played, alive


def interval(box: ConfidenceBox, arms: int, pulls: int, arrived: list[float]) -> tuple[float, float]:
    """Of an arm, from all its plays where what is missing counts, and else from what has arrived."""
    doubtful = box.lower != box.upper
    number = max(pulls if doubtful else len(arrived), 1)
    width = math.sqrt(box.scale * math.log(box.inside * (arms if box.per_arm else 1)) / number)
    missing = pulls - len(arrived) if doubtful else 0
    return max(sum(arrived) / number - width, 0.0), min((sum(arrived) + missing) / number + width, 1.0)


def by_elimination(
    rewards: list[list[float]], plays: int, box: ConfidenceBox, delay: int
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
    box = ConfidenceBox(3.0, scale=0.2, **PAIRS[pair])
    found, expected = contested(rewards, m, box, delay), by_elimination(rewards, m, box, delay)
    assert found == expected
    # Whoever is out stays out, and never fewer than m are in.
    alive = np.array(found[1])
    assert (alive[1:] <= alive[:-1]).all()
    assert (alive.sum(axis=-1) >= m).all()


def test_eliminations_happen() -> None:
    # With the box of the test above: after 22 plays each c = sqrt(0.2 ln 12/22) = 0.15 tells 0.9, 0.6, 0.3 and 0 apart.
    rewards = [[0.9, 0.6, 0.0, 0.3]] * 120
    for pair in PAIRS.values():
        for plays in (1, 2, 3):
            _, alive = contested(rewards, plays, ConfidenceBox(3.0, scale=0.2, **pair), delay=3)
            assert alive[-1] == [True, plays > 1, False, plays > 2]


def test_only_what_is_surely_worse_is_eliminated() -> None:
    # After n plays each, arms that pay 1, 1/2 and 0, c = sqrt(ln 4/n): 1 − c > 0 + c from n = 6 on, and
    # 1 − c > 1/2 + c from 16 ln 4 = 22.2 on.
    box = ConfidenceBox(4.0, per_arm=False)
    played, alive = contested([[1.0, 0.5, 0.0]] * 120, 1, box, delay=0)
    out = [alive_by_arm.index(False) for alive_by_arm in zip(*alive, strict=True) if False in alive_by_arm]
    # The third after 6 plays of each, 18 rounds; the second after 17 more of each of two.
    assert out == [18 + 2 * 17, 18]
    assert played[:6] == [[0], [1], [2], [0], [1], [2]]
    assert played[18:22] == [[0], [1], [0], [1]]
    assert played[52:] == [[0]] * 68


def test_what_may_be_as_good_is_not_eliminated() -> None:
    # Boxes without width: equal means are no reason to go.
    _, alive = contested([[0.5, 0.5, 0.25]] * 9, 1, ConfidenceBox(1.0, scale=0.0), delay=0)
    assert alive[2:] == [[True, True, True]] + [[True, True, False]] * 6


def test_only_arms_still_in_can_beat_another() -> None:
    # The first was unlucky early and is out; late rewards have raised its mean to 1, the others have 1/2.
    policy = Policy(EmpiricalMean(), selection=TopM(1), cadence=Elimination(ConfidenceBox(2.0, scale=0.1)))
    state, rng = policy.start(3), np.random.default_rng(0)
    state.cadence.alive[:] = [False, True, True]
    state.cadence.passes[:] = 10.0
    state.tally.pulls[:], state.tally.received[:] = [10.0, 11.0, 11.0], [10.0, 11.0, 11.0]
    state.tally.rewards[:] = [10.0, 5.5, 5.5]
    assert policy.decide(state, rng).played.tolist() == [False, True, False]
    assert state.cadence.alive.tolist() == [False, True, True]
    assert state.cadence.passes.tolist() == [11.0]


def test_an_arm_that_is_out_plays_only_where_too_few_others_are_available() -> None:
    policy = Policy(EmpiricalMean(), selection=TopM(1), cadence=Elimination(ConfidenceBox(4.0, per_arm=False)))
    state, rng = policy.start(3), np.random.default_rng(0)
    state.cadence.alive[:] = [True, True, False]
    state.tally.pulls[:] = [9.0, 8.0, 1.0]
    awake = [[True, True, True], [True, False, True], [False, False, True], [False, False, False]]
    played = [policy.decide(state, rng, np.array(row)).played.tolist() for row in awake]
    assert played == [[False, True, False], [True, False, False], [False, False, True], [False] * 3]


def test_lanes_are_contested_on_their_own() -> None:
    # Each is cut when its own arms have all been played once more, whatever the others do.
    rng, lanes = np.random.default_rng(3), 60
    rewards: Array = rng.integers(0, 9, (lanes, 1, 4)) / 16 + rng.integers(0, 2, (lanes, 80, 4)) / 2
    box = ConfidenceBox(3.0, scale=0.1)
    policy = Policy(EmpiricalMean(), selection=TopM(1), cadence=Elimination(box))
    state, own = policy.start(4, lanes=lanes), np.random.default_rng(0)
    history = []
    for t in range(80):
        played = policy.decide(state, own).played
        history.append(played.argmax(axis=-1))
        policy.observe(state, Feedback(played, played * rewards[:, t]), own)
    for lane in range(lanes):
        expected, alive = by_elimination(rewards[lane].tolist(), 1, box, delay=0)
        assert [[int(row[lane])] for row in history] == expected
        assert state.cadence.alive[lane].tolist() == alive[-1]
    assert len({tuple(row) for row in state.cadence.alive.tolist()}) > 1
