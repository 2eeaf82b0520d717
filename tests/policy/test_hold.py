"""Choices that last: sizes by hand, holds, random ends and phases against plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import attrs
import numpy as np
import pytest
from attrs import frozen

from evenhand import EvenhandError, PerLane, Policy
from evenhand.algorithms import ars_fucb
from evenhand.core.state import ALL_AVAILABLE, Array, Decision, Feedback, Mask, Observation, State, for_lanes
from evenhand.policy.evidence import Received
from evenhand.policy.hold import EveryRound, GeometricSize, Hold, HoldFor, PowerSize, RandomEnds
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean, Index
from evenhand.policy.mixing import Doubling, OnePhase
from evenhand.policy.selection import TopM

FEWEST = TopM(ties="fewest")
SIGMAS = 5.0  # a frequency is off by more with a chance below 1e-6


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# --- Sizes -----------------------------------------------------------------------------------------------------------


def test_powers() -> None:
    first = np.arange(1.0, 7.0)
    assert PowerSize(1.0)(first).tolist() == [1, 2, 3, 4, 5, 6]
    assert PowerSize(2.0)(first).tolist() == [1, 4, 9, 16, 25, 36]
    assert PowerSize(3.0)(first).tolist() == [1, 8, 27, 64, 125, 216]
    assert PowerSize(0.5)(first).tolist() == [1, 1, 1, 2, 2, 2]
    assert PowerSize(1.5)(first).tolist() == [1, 2, 5, 8, 11, 14]


def test_a_power_that_is_whole_is_not_rounded_down() -> None:
    # In floats 5^3 by a cube root of the ninth power, or 1000^(1/3), lies below the whole number.
    cubes = np.arange(1.0, 101.0)
    assert (PowerSize(1.0 / 3.0)(cubes**3) == cubes).all()


def test_two_to_the_k_counts_its_first_size_twice() -> None:
    assert GeometricSize(0)(np.arange(1.0, 6.0)).tolist() == [4, 4, 8, 16, 32]
    assert GeometricSize(3)(np.arange(1.0, 4.0)).tolist() == [32, 32, 64]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 2.0, 1.5])
def test_the_last_complete_hold(exponent: float) -> None:
    # A plain count of the holds that fit, for every horizon up to 300.
    sizes = [max(1, math.floor(k**exponent + 1e-9)) for k in range(1, 302)]
    for rounds in range(1, 301):
        fit = max(n for n in range(300) if sum(sizes[:n]) <= rounds)
        assert PowerSize(exponent).last(rounds) == sizes[fit - 1]


def test_the_last_hold_by_hand() -> None:
    # 1 + 4 = 5, 1 + 4 + 9 = 14.
    found = [PowerSize(2.0).last(rounds) for rounds in (1, 4, 5, 13, 14, 15)]
    assert found == [1, 1, 4, 4, 9, 9]


def test_holds_that_hardly_grow_are_counted_in_one_go() -> None:
    # ⌊k^(1/100)⌋ is 1 for all k below 2^100: a million holds of 1 are complete, and the rise is beyond them.
    assert PowerSize(0.01).last(1_000_000) == 1.0
    assert HoldFor(PowerSize(0.01)).size(np.array([2.0**101])) == 2.0


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "no power": (lambda: PowerSize(0.0), "^exponent must be above 0, got 0$"),
    "a falling power": (lambda: PowerSize(-1.0), r"^exponent must be a number of at least 0, got -1\.0$"),
    "an offset below 0": (lambda: GeometricSize(-1), "^offset must be at least 0, got -1$"),
    "half an offset": (lambda: GeometricSize(0.5), r"^offset must be a whole number, got 0\.5$"),  # type: ignore[arg-type]
    "no function": (lambda: HoldFor(4), r"^size must be a function such as PowerSize\(2\), got 4$"),  # type: ignore[arg-type]
    "another count": (lambda: HoldFor(PowerSize(), "both"), "^count must be"),
    "equal sizes": (
        lambda: HoldFor(lambda k: 0.0 * k + 3.0),
        r"^size: the sizes of holds must increase, but f\(1000\) is no more than f\(1\) = 3$",
    ),
    "a fall": (
        lambda: HoldFor(lambda k: np.where(k == 7.0, 2.0, k)),
        r"^size: the sizes of holds must increase, but f\(7\) = 2 is below f\(6\) = 6$",
    ),
    "below 1": (
        lambda: HoldFor(lambda k: k - 0.5),
        "^size: a size must return a number of rounds of at least 1 for every k$",
    ),
    "no numbers": (
        lambda: HoldFor(lambda k: k * math.nan),
        "^size: a size must return a number of rounds of at least 1",
    ),
    "one number": (lambda: HoldFor(lambda k: 5.0), "^size: a size must return a number of rounds of at least 1"),  # type: ignore[arg-type, return-value]
    "another shape": (lambda: HoldFor(lambda k: k[:-1]), "^size: a size must return a number of rounds of at least 1"),
    "no phases": (
        lambda: RandomEnds(4),  # type: ignore[arg-type]
        r"^phases must be an object such as OnePhase\(longest=10, horizon=1000\), got 4$",
    ),
    "two faults": (
        lambda: HoldFor({"kind": "power", "exponent": -1}, "both"),
        "^size.exponent must be a number of at least 0, got -1\ncount must be 'arm' or 'all', got 'both'$",
    ),
}


@pytest.mark.parametrize(("build", "message"), BAD.values(), ids=list(BAD))
def test_bad_parts_are_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build()


def test_a_size_that_soon_exceeds_all_numbers_is_fine() -> None:
    assert HoldFor(GeometricSize(10)).size(np.array(1.0)) == 4096.0


# --- Holds against a plain loop --------------------------------------------------------------------------------------

ROUNDS, ARMS, LANES = 400, 4, 6
SQUARES: Sequence[int] = [k * k for k in range(1, 100)]
Score = Callable[[int, list[int], list[float]], list[float]]  # of t, the plays and the rewards so far


def world(sleeping: bool, lanes: int = LANES, seed: int = 5) -> tuple[Array, Mask]:
    """Rewards in eighths and who is awake, (rounds, lanes, arms); once nobody is."""
    chance = rng(seed)
    rewards = chance.integers(0, 9, (ROUNDS, lanes, ARMS)) / 8.0
    awake = chance.random((ROUNDS, lanes, ARMS)) < (0.93 if sleeping else 2.0)
    if sleeping:
        awake[60] = False
    return rewards, awake


@dataclass
class OneLane:
    """A lane written as a plain loop: hold until the size is used up, a held arm sleeps or more can play."""

    score: Score
    sizes: Sequence[int] = tuple(SQUARES)
    count: str = "arm"
    plays: int = 1
    chose: list[bool] = field(default_factory=list)

    def follow(self, rewards: Array, awake: Mask) -> list[list[int]]:
        pulls, sums, times = [0] * ARMS, [0.0] * ARMS, [0] * ARMS
        held: list[int] = []
        left, total, history = 0, 0, []
        for t in range(1, len(rewards) + 1):
            up = [arm for arm in range(ARMS) if awake[t - 1, arm]]
            fewer = len(held) < min(self.plays, len(up))  # others have become available
            new = not held or fewer or left == 0 or any(arm not in up for arm in held)
            self.chose.append(new)
            if new:
                score = self.score(t, pulls, sums)
                held = sorted(sorted(up, key=lambda arm: (-score[arm], pulls[arm], arm))[: self.plays])
                if held:
                    total += 1
                    for arm in held:
                        times[arm] += 1
                    number = total if self.count == "all" else min(times[arm] for arm in held)
                    left = self.sizes[number - 1]
            left -= 1
            for arm in held:
                pulls[arm] += 1
                sums[arm] += rewards[t - 1, arm]
            history.append(held)
        return history


def clipped(t: int, pulls: list[int], sums: list[float], c: float = 4.0) -> list[float]:
    """``min(S/N + sqrt(c ln(t − 1)/N), 1)``, with t − 1 rounds played."""
    steps = max(t - 1, 1)
    return [
        min(s / n + math.sqrt(c * math.log(steps) / n), 1.0) if n else 1.0 for s, n in zip(sums, pulls, strict=True)
    ]


def narrow(t: int, pulls: list[int], sums: list[float]) -> list[float]:
    """The same with less exploration, so that not all bounds are 1."""
    return clipped(t, pulls, sums, 0.05)


def run(policy: Policy, rewards: Array, awake: Mask, state: State | None = None, seed: int = 0) -> Mask:
    """Who plays, (rounds, lanes, arms)."""
    state, chance = state or policy.start(ARMS, rewards.shape[1]), rng(seed)
    history = []
    for earned, up in zip(rewards, awake, strict=True):
        decision = policy.decide(state, Observation(None if up.all() else up), chance)
        policy.observe(state, Feedback(decision.played, earned * decision.played), chance)
        history.append(decision.played)
    return np.array(history)


def arms_of(played: Mask) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in played]


@pytest.mark.parametrize("sleeping", [False, True], ids=["awake", "sleeping"])
@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("exploration", [4.0, 0.05])
def test_every_lane_holds_its_own_choice(exploration: float, plays: int, sleeping: bool) -> None:
    rewards, awake = world(sleeping)
    policy = Policy(
        UCB(exploration, clip=True, clock="played"), selection=TopM(plays, "fewest"), hold=HoldFor(PowerSize(2.0))
    )
    played = run(policy, rewards, awake)
    score = clipped if exploration == 4.0 else narrow
    lanes = [OneLane(score, plays=plays) for _ in range(LANES)]
    for place, lane in enumerate(lanes):
        assert arms_of(played[:, place]) == lane.follow(rewards[:, place], awake[:, place])
    if exploration < 1.0:  # else all bounds are 1 for long, and the lanes take turns alike
        together = np.array([lane.chose for lane in lanes])
        assert (together.any(axis=0) & ~together.all(axis=0)).sum() > 30


@pytest.mark.parametrize(
    ("size", "sizes"),
    [
        (PowerSize(0.5), [max(1, math.isqrt(k)) for k in range(1, 500)]),
        (GeometricSize(0), [2 ** max(k, 2) for k in range(1, 50)]),
        (lambda k: k + 0.75, list(range(1, 500))),
    ],
)
def test_any_size(size: Any, sizes: list[int]) -> None:
    # Three quarters of a round are not played.
    rewards, awake = world(sleeping=False)
    policy = Policy(UCB(0.05, clip=True, clock="played"), selection=FEWEST, hold=HoldFor(size))
    played = run(policy, rewards, awake)
    for place in range(LANES):
        assert arms_of(played[:, place]) == OneLane(narrow, sizes).follow(rewards[:, place], awake[:, place])


@pytest.mark.parametrize("plays", [1, 2])
def test_all_choices_may_count(plays: int) -> None:
    rewards, awake = world(sleeping=False)
    policy = Policy(
        UCB(0.05, clip=True, clock="played"), selection=TopM(plays, "fewest"), hold=HoldFor(PowerSize(2.0), count="all")
    )
    played = run(policy, rewards, awake)
    for place in range(LANES):
        lane = OneLane(narrow, count="all", plays=plays)
        assert arms_of(played[:, place]) == lane.follow(rewards[:, place], awake[:, place])
        assert np.flatnonzero(lane.chose).tolist() == [0, 1, 5, 14, 30, 55, 91, 140, 204, 285, 385]


def test_a_round_in_which_nobody_can_play_is_no_choice() -> None:
    # Rounds 1 and 2: everybody sleeps. The first choice of all comes in round 3 and lasts a round, the next one four.
    rewards, awake = world(sleeping=False, lanes=1)
    awake[:2] = False
    policy = Policy(UCB(0.05, clip=True, clock="played"), selection=FEWEST, hold=HoldFor(PowerSize(2.0), count="all"))
    lane = OneLane(narrow, count="all")
    assert arms_of(run(policy, rewards, awake)[:, 0]) == lane.follow(rewards[:, 0], awake[:, 0])
    assert np.flatnonzero(lane.chose).tolist()[:6] == [0, 1, 2, 3, 7, 16]


def test_a_sleeping_arm_breaks_its_hold_and_no_other() -> None:
    # Two lanes, two arms, f(k) = 4 k. Arm 1 of the first lane sleeps in round 3: arm 2 plays, and goes on for its own
    # four rounds though arm 1 is awake again; then arm 1, whose second hold lasts eight.
    policy = Policy(EmpiricalMean(), hold=HoldFor(lambda k: 4.0 * k))
    state, played = policy.start(2, lanes=2), []
    for t in range(1, 16):
        up = np.array([[t != 3, True], [True, True]])
        decision = policy.decide(state, Observation(up), rng())
        policy.observe(state, Feedback(decision.played, decision.played * np.array([0.5, 0.25])), rng())
        played.append(decision.played.argmax(axis=-1).tolist())
    first, second = zip(*played, strict=True)
    assert first == (0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    # Arm 1 for 4 and then 8 rounds, as 0.5 > 0, and so on: arm 2 is never tried by a mean.
    assert second == (0,) * 15


def test_equal_claims_go_to_the_least_played() -> None:
    # All bounds are 1 throughout (rewards of 1), so only the plays decide: 0, 1, 2 once each, then four rounds each …
    policy = Policy(UCB(4.0, clip=True, clock="played"), selection=FEWEST, hold=HoldFor(PowerSize(2.0)))
    state, played = policy.start(3), []
    for _ in range(3 * (1 + 4 + 9)):
        decision = policy.decide(state, ALL_AVAILABLE, rng())
        policy.observe(state, Feedback(decision.played, decision.played * 1.0), rng())
        played.append(int(decision.played.argmax()))
    assert played == [arm for size in (1, 4, 9) for arm in range(3) for _ in range(size)]
    # Where the least played is not the first: arm 1 and arm 2 have 1 and 0 plays.
    state = policy.start(3)
    state.tally.pulls[:] = [5.0, 1.0, 3.0]
    state.tally.rewards[:] = [5.0, 1.0, 3.0]
    assert policy.decide(state, ALL_AVAILABLE, rng()).played.tolist() == [False, True, False]


@frozen(eq=False)
class Spy(Index):
    """A mean that writes down for whom it is asked."""

    asked: list[Array] = attrs.field(factory=list)

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        self.asked.append(state.tally.pulls.copy())
        return EmpiricalMean(Received()).score(state, observation, rng)


def test_only_lanes_that_choose_are_asked() -> None:
    rewards, awake = world(sleeping=True)
    spy = Spy()
    played = run(Policy(spy, selection=FEWEST, hold=HoldFor(PowerSize(2.0))), rewards, awake)
    lanes = [OneLane(lambda t, n, s: [b / max(a, 1) for a, b in zip(n, s, strict=True)]) for _ in range(LANES)]
    for place, lane in enumerate(lanes):
        assert arms_of(played[:, place]) == lane.follow(rewards[:, place], awake[:, place])
    before = np.concatenate([np.zeros((1, LANES, ARMS)), played.cumsum(axis=0)])
    chose = np.array([lane.chose for lane in lanes]).T
    expected = [before[t, row] for t, row in enumerate(chose) if row.any()]
    assert len(spy.asked) == len(expected)
    assert all((one == other).all() for one, other in zip(spy.asked, expected, strict=True))


def test_a_random_index_is_drawn_only_where_a_hold_begins() -> None:
    # A plain loop with the same random numbers: Beta(1 + S, 1 + N − S), and nothing drawn in between.
    wins = rng(3).random((ROUNDS, ARMS)) < [0.3, 0.5, 0.7, 0.6]
    policy = Policy(BetaSample(), hold=HoldFor(PowerSize(2.0)))
    state, chance, same = policy.start(ARMS), rng(8), rng(8)
    pulls, sums, times, held, left = np.zeros(ARMS), np.zeros(ARMS), [0] * ARMS, 0, 0
    for t in range(ROUNDS):
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        policy.observe(state, Feedback(decision.played, wins[t] & decision.played), chance)
        chosen = left == 0
        if chosen:
            held = int(same.beta(1.0 + sums, 1.0 + pulls - sums).argmax())
            times[held] += 1
            left = times[held] ** 2
        left -= 1
        pulls[held] += 1
        sums[held] += wins[t, held]
        assert decision.played.argmax() == held
        assert (decision.propensities is None) == chosen  # the hold is no chance


def test_parameters_may_differ_between_lanes() -> None:
    shares = np.array([[0.4, 0.0, 0.1, 0.2], [0.0, 0.5, 0.0, 0.0], [0.1, 0.1, 0.1, 0.6]])
    rewards, awake = world(sleeping=True, lanes=3)
    together = for_lanes(ars_fucb(PerLane(shares), exploration=0.05), slice(0, 3))
    played = run(together, rewards, awake)
    for lane in range(3):
        alone = run(ars_fucb(shares[lane], exploration=0.05), rewards[:, [lane]], awake[:, [lane]])
        assert (played[:, lane] == alone[:, 0]).all()
    assert (played[:, 0] != played[:, 1]).any()


def test_a_block_of_lanes_does_as_each_of_them() -> None:
    rewards, awake = world(sleeping=True)
    policy = ars_fucb([0.2, 0.1, 0.0, 0.3])
    played = run(policy, rewards, awake)
    for lane in range(LANES):
        state, alone = policy.start(ARMS), []
        for t in range(ROUNDS):
            decision = policy.decide(state, Observation(awake[t, lane]), rng())
            policy.observe(state, Feedback(decision.played, rewards[t, lane] * decision.played), rng())
            alone.append(decision.played)
        assert (np.array(alone) == played[:, lane]).all()


# --- Random ends -----------------------------------------------------------------------------------------------------


def ends(hold: RandomEnds, rounds: int, lanes: int, seed: int) -> Mask:
    """Whether a choice ended before each round, (rounds, lanes)."""
    policy, chance = Policy(hold=hold), rng(seed)
    state, found = policy.start(2, lanes), []
    played = np.broadcast_to([True, False], (lanes, 2))
    for _ in range(rounds):
        held, quiet = hold.continued(state, ALL_AVAILABLE, chance)
        found.append(~held.any(axis=-1))
        hold.after_decision(state, Decision(state.clock, played, None, None, played, None, quiet))
        state.round += 1
    return np.array(found)


def looking_ahead(delay: int, rounds: int, lanes: int, seed: int) -> Mask:
    """Wang et al., Algorithm 3: a round ends a choice if it has a marker and the 2d − 1 rounds after it have none."""
    markers = rng(seed).random((rounds + 2 * delay - 1, lanes)) < 1.0 / (2.0 * delay)
    found = markers[:rounds].copy()
    for ahead in range(1, 2 * delay):
        found &= ~markers[ahead : ahead + rounds]
    return found


@pytest.mark.parametrize("delay", [1, 2, 5])
def test_every_round_ends_a_choice_with_the_same_chance(delay: int) -> None:
    # From the first round on. Binomial shares of independent lanes, five standard deviations.
    lanes, rounds = 40_000, 40
    shares = ends(RandomEnds(OnePhase(delay, 100)), rounds + 1, lanes, seed=11)[1:].mean(axis=1)
    q = 1.0 / (2.0 * delay)
    chance = q * (1.0 - q) ** (2 * delay - 1)
    assert (np.abs(shares - chance) < SIGMAS * math.sqrt(chance * (1.0 - chance) / lanes)).all()


@pytest.mark.parametrize("delay", [1, 3])
def test_ends_lie_at_least_twice_the_delay_apart(delay: int) -> None:
    found = ends(RandomEnds(OnePhase(delay, 100)), 200, 300, seed=2)[1:]
    gaps = np.concatenate([np.diff(np.flatnonzero(lane)) for lane in found.T])
    assert gaps.min() == 2 * delay  # and no further than they must
    assert len(gaps) > 1000


def second_gap(found: Mask) -> Array:
    """Rounds between the first and the second end of each lane that has two."""
    order = np.argsort(~found, axis=0, kind="stable")[:2]
    return np.asarray((order[1] - order[0])[found.sum(axis=0) >= 2], dtype=float)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [1, 2, 4])
def test_the_gaps_have_the_law_of_looking_ahead(delay: int) -> None:
    # Two shares of n and m lanes with one chance p differ by five standard deviations sqrt(p (1 − p) (1/n + 1/m)) at
    # most. Two ends are missing in 400 rounds with a chance below 1e-6 for d ≤ 4 (every 22nd round ends a choice).
    one = second_gap(ends(RandomEnds(OnePhase(delay, 100)), 400, 20_000, seed=21)[1:])
    other = second_gap(looking_ahead(delay, 399, 20_000, seed=22))
    assert min(len(one), len(other)) > 19_990
    edges = [*range(2 * delay, 8 * delay), 12 * delay, 20 * delay]
    for low, high in zip(edges, [*edges[1:], math.inf], strict=True):
        first, second = (((gaps >= low) & (gaps < high)).mean() for gaps in (one, other))
        p = (first + second) / 2.0
        assert abs(first - second) < SIGMAS * math.sqrt(p * (1.0 - p) * (1.0 / len(one) + 1.0 / len(other))) + 1e-12
    assert min(one.min(), other.min()) == 2 * delay


def test_the_gaps_after_an_end_follow_from_the_markers() -> None:
    # d = 1: a marker in round t and none in t − 1 ends a choice, so after an end any number of markers may follow at
    # once, then at least one round without, then a marker: P(gap = g) = (g − 1)/2^g, g = 2, 3, …
    gaps = second_gap(ends(RandomEnds(OnePhase(1, 100)), 200, 20_000, seed=31)[1:])
    for g in range(2, 10):
        p = (g - 1) / 2.0**g
        assert abs((gaps == g).mean() - p) < SIGMAS * math.sqrt(p * (1.0 - p) / len(gaps))


def test_a_phase_ends_every_choice() -> None:
    # T_1 = 8: phases begin in rounds 1, 9, 17 and 33, with d = 2, 2 (⌊16^(1/3)⌋), 3 and 4.
    tuning = Doubling(first_horizon=8, exponent=1.0 / 3.0)
    found = ends(RandomEnds(tuning), 64, 20_000, seed=4)
    assert np.flatnonzero(found.all(axis=1)).tolist() == [0, 8, 16, 32]
    for round, delay in ((3, 2), (10, 2), (18, 3), (34, 4), (60, 4)):
        q = 1.0 / (2.0 * delay)
        chance = q * (1.0 - q) ** (2 * delay - 1)
        share = found[round - 1].mean()
        assert abs(share - chance) < SIGMAS * math.sqrt(chance * (1.0 - chance) / 20_000)


def test_sleep_ends_a_choice_too() -> None:
    policy = Policy(hold=RandomEnds(OnePhase(50, 1000)))
    state = policy.start(2)
    assert policy.decide(state, ALL_AVAILABLE, rng()).played.tolist() == [True, False]
    assert policy.decide(state, Observation(np.array([False, True])), rng()).played.tolist() == [False, True]


# --- What a hold says of itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hold", "rounds", "longest"),
    [
        (EveryRound(), 100, 1.0),
        (HoldFor(PowerSize(2.0)), 14, 9.0),  # 1 + 4 + 9 = 14
        (HoldFor(PowerSize(2.0)), 15, 15.0),  # the fourth hold of 16 rounds begins; no more than 15 have passed
        (HoldFor(PowerSize(2.0)), 30, 16.0),
        (HoldFor(PowerSize(2.0)), 31, 25.0),
        (HoldFor(PowerSize(2.0), count="all"), 14, 9.0),
        (HoldFor(PowerSize(2.0)), 0, 1.0),
        (RandomEnds(OnePhase(3, 100)), 40, 40.0),
        (RandomEnds(OnePhase(3, 100)), 0, 1.0),
    ],
)
def test_the_longest_hold(hold: Hold, rounds: int, longest: float) -> None:
    assert hold.longest(rounds) == longest


def test_which_holds_are_equal_for_all_arms_and_which_end_by_chance() -> None:
    size = PowerSize(2.0)
    holds = [EveryRound(), HoldFor(size), HoldFor(size, count="all"), RandomEnds(OnePhase(3, 100))]
    assert [hold.traits.equal for hold in holds] == [True, False, True, True]
    assert [hold.traits.random for hold in holds] == [False, False, False, True]


def test_a_lane_that_could_not_fill_its_plays_chooses_anew_when_it_can() -> None:
    # Two plays; only one arm is available in round 1, when its hold of three rounds begins. In round 2 both can play.
    policy = Policy(EmpiricalMean(), selection=TopM(2), hold=HoldFor(lambda k: 3.0 * k))
    state = policy.start(3)
    first = policy.decide(state, Observation(np.array([False, True, False])), rng())
    second = policy.decide(state, Observation(np.array([True, True, False])), rng())
    assert (first.played.tolist(), second.played.tolist()) == ([False, True, False], [True, True, False])


def test_markers_are_part_of_the_decision() -> None:
    # Whoever applies a decision from elsewhere has the same hold afterwards.
    policy = Policy(hold=RandomEnds(OnePhase(2, 1000)))
    state, again, chance = policy.start(3, lanes=4), policy.start(3, lanes=4), rng(3)
    for _ in range(60):
        decision = policy.decide(state, ALL_AVAILABLE, chance)
        assert decision.hold.shape == (4, 1)
        policy.apply(again, decision)
        assert (again.hold.quiet == state.hold.quiet).all()
        assert (again.hold.arms == state.hold.arms).all()


@pytest.mark.parametrize("lanes", [None, 3])
def test_the_first_half_of_a_hold_is_credited_to_nobody(lanes: int | None) -> None:
    policy = Policy(
        UCB(2.0, clip=True), selection=TopM(ties="fewest"), hold=HoldFor(PowerSize(3.0), credit="second_half")
    )
    state, rng = policy.start(2, lanes), np.random.default_rng(3)
    shape = (2,) if lanes is None else (lanes, 2)
    held, received, rewards = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    steps, times = np.zeros(shape[:-1]), np.zeros(shape)  # a plain count of the rounds of each hold
    for _ in range(150):
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        new = np.ones(shape[:-1], dtype=bool) if decision.chosen is None else decision.chosen[..., 0]
        times += decision.played & new[..., np.newaxis]
        steps = np.where(new, 1.0, steps + 1.0)
        size = (times * decision.played).sum(axis=-1) ** 3
        counts = (steps > size // 2.0)[..., np.newaxis] & decision.played
        earned = rng.random(shape) * decision.played
        received, rewards, held = received + counts, rewards + earned * counts, held + decision.played
        policy.observe(state, Feedback(decision.played, earned), rng)
    assert (state.tally.received == received).all()
    assert state.tally.rewards == pytest.approx(rewards)
    assert (state.tally.pulls == held).all()
    assert 0.4 < received.sum() / held.sum() < 0.65


def test_half_a_hold_does_not_go_with_counts_by_age() -> None:
    with pytest.raises(EvenhandError, match="credit='all'"):
        Policy(UCB(evidence="mature"), hold=HoldFor(PowerSize(2.0), credit="second_half"))
