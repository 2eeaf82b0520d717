"""Whole sequences of choices against plain loops, which are written from the papers and not from the package.

What is owed is counted in fractions made from the decimal strings, so it is exact.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
import pytest

from evenhand import Environment, Policy, compare, simulate
from evenhand.algorithms import (
    ars_clw,
    ars_exp3,
    ars_exp3_doubling,
    ars_fucb,
    ars_ucb,
    clw,
    cucb_d,
    eta_fucb,
    exp3,
    explore_then_commit,
    f_ts,
    fair_learn,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    mp_ts_d,
    naive,
    odaaf,
    op_fcts_d,
    op_fcucb_d,
    opse,
    soft_threshold_ucb,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.core.state import ALL_AVAILABLE, Array, Feedback, Observation
from evenhand.environment.availability import Independent, Logged
from evenhand.environment.rewards import Bernoulli, Table
from evenhand.policy.hold import GeometricSize, PowerSize
from evenhand.policy.merit import Linear, Merit, Power
from evenhand.policy.schedule import PhasedElimination

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

ROUNDS = 320
MISLEADING = ("0.07", "0.24", "0.04", "0.05", "0.1")  # 0.07 · 100 and 0.24 · 25 are not whole numbers in floats
EQUAL = ("0.19", "0.19", "0.19", "0.19", "0.19")
MULTIPLES = ("0.3", "0.1", "0.2", "0.1", "0.2")  # 0.3 is not 0.1 + 0.2, and not 0.1 + 0.1 + 0.1
SOME_ZERO = ("0", "0.29", "0", "0.14", "0.29")
DEMANDING = ("0.39", "0.39", "0.39", "0.39", "0.39")  # with two plays nearly everything is owed
FRACTIONS = {"misleading": MISLEADING, "equal": EQUAL, "multiples": MULTIPLES, "some zero": SOME_ZERO}
ALL_FRACTIONS = FRACTIONS | {"demanding": DEMANDING}
MEANS = (0.4, 0.7, 0.3, 0.7, 0.5)  # two arms alike, so that ties are not rare; the best is not the first
LEVELS = (3, 6, 2, 4, 5)  # eighths, about which the rewards of the table lie
Chosen = list[int]
Owed = Callable[[Fraction, int, int], Fraction]  # of r, the round t and the pulls before it


# --- The world, fixed in advance -------------------------------------------------------------------------------------


@dataclass
class World:
    """A row a round, a column an arm."""

    rewards: list[list[float]]
    awake: list[list[bool]]


def world(kind: str, sleeping: bool, rounds: int = ROUNDS, seed: int = 1) -> World:
    """Rewards from a table of eighths or equal to the means; arms asleep now and then, once all of them."""
    chance = random.Random(seed)
    table = [[min(max(level + chance.randint(-2, 2), 0), 8) / 8 for level in LEVELS] for _ in range(rounds)]
    awake = [[not sleeping or chance.random() < 0.7 for _ in LEVELS] for _ in range(rounds)]
    if sleeping:
        awake[9] = [False] * len(LEVELS)
    return World(table if kind == "table" else [list(MEANS)] * rounds, awake)


# --- The reference ---------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """The round being decided, counted from 1, and the pulls and rewards of each arm before it."""

    t: int
    pulls: list[int]
    sums: list[float]

    def means(self) -> list[float]:
        return [total / n if n else 0.0 for total, n in zip(self.sums, self.pulls, strict=True)]

    def bounds(self, c: float = 2.0) -> list[float]:
        """Infinite for an arm that was never pulled."""
        found = []
        for total, n in zip(self.sums, self.pulls, strict=True):
            found.append(total / n + math.sqrt(c * math.log(self.t) / n) if n else math.inf)
        return found

    def owed(self, fractions: Sequence[Fraction]) -> list[Fraction]:
        """After the last round, r (t − 1) − N."""
        return [r * (self.t - 1) - n for r, n in zip(fractions, self.pulls, strict=True)]


class Rule(Protocol):
    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen: ...


def largest(score: Sequence[Any], among: Chosen, plays: int) -> Chosen:
    """Up to ``plays`` arms of largest score, one after the other; the lowest index on a tie."""
    left = sorted(among)
    chosen: Chosen = []
    while left and len(chosen) < plays:
        top = left[0]
        for arm in left:
            if score[arm] > score[top]:
                top = arm
        left.remove(top)
        chosen.append(top)
    return chosen


def follow(rule: Rule, world: World, plays: int) -> list[Chosen]:
    """The arms that the rule plays, round by round."""
    arms = len(world.rewards[0])
    pulls, sums = [0] * arms, [0.0] * arms
    history = []
    for t, (rewards, awake) in enumerate(zip(world.rewards, world.awake, strict=True), start=1):
        chosen = rule.choose(Seen(t, list(pulls), list(sums)), [arm for arm in range(arms) if awake[arm]], plays)
        for arm in chosen:
            pulls[arm] += 1
            sums[arm] += rewards[arm]
        history.append(sorted(chosen))
    return history


@dataclass
class Ucb1:
    """Auer et al. 2002."""

    c: float = 2.0

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        return largest(seen.bounds(self.c), awake, plays)


@dataclass
class QuotaFirst:
    """FUCB (Patil et al. 2019, Algorithm 3) and Fair-Learn: the largest deficits above α first, then UCB1."""

    fractions: Sequence[Fraction]
    tolerance: Fraction = Fraction(0)

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        owed = seen.owed(self.fractions)
        first = largest(owed, [arm for arm in awake if owed[arm] > self.tolerance], plays)
        others = [arm for arm in awake if arm not in first]
        return first + largest(seen.bounds(), others, plays - len(first))


@dataclass
class Bonus:
    """η-FUCB (Patil et al. 2019, Algorithm 4) and the threshold algorithms (Fang et al. 2022, eq. (11), section 5)."""

    fractions: Sequence[Fraction]
    rates: Sequence[float]
    bonus: Owed

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        score = seen.bounds()
        for arm, (r, rate) in enumerate(zip(self.fractions, self.rates, strict=True)):
            score[arm] += rate * float(self.bonus(r, seen.t, seen.pulls[arm]))
        return largest(score, awake, plays)


def counted(r: Fraction, t: int, pulls: int) -> Fraction:
    return r * (t - 1) - pulls


def ignored(r: Fraction, t: int, pulls: int) -> Fraction:
    return max(r * (t - 1) - pulls, Fraction(0))


def hard(r: Fraction, t: int, pulls: int) -> Fraction:
    return Fraction(1 if pulls < r * t else 0)


def soft(r: Fraction, t: int, pulls: int) -> Fraction:
    return max(r * t - pulls, Fraction(0)) / (r * t) if r else Fraction(0)


@dataclass
class TFucb:
    """T-FUCB (Patil et al. 2019, Algorithm 2): max(1, r T) plays each, rounded up, then UCB1."""

    fractions: Sequence[Fraction]
    horizon: int

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        quotas = [max(1, math.ceil(r * self.horizon)) for r in self.fractions]
        unfilled = [arm for arm in awake if seen.pulls[arm] < quotas[arm]]
        return unfilled[:1] or Ucb1().choose(seen, awake, plays)


@dataclass
class Commit:
    """Explore then commit: ``pulls`` plays each, then the best mean as of then, forever."""

    pulls: int
    means: list[float] = field(default_factory=list)

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        if not self.means and min(seen.pulls) >= self.pulls:
            self.means = seen.means()
        unfilled = [arm for arm in awake if seen.pulls[arm] < self.pulls]
        return unfilled[:1] or largest(self.means or seen.means(), awake, plays)


@dataclass
class Lfg:
    """LFG (Li et al. 2019; Fang et al. 2022, section 3), with either queue; no η stands for an infinite one."""

    fractions: Sequence[Fraction]
    eta: Fraction | None
    weights: Sequence[Fraction]
    queue: str
    c: float
    clip: bool
    lengths: list[Fraction] = field(default_factory=lambda: [Fraction(0)] * 5)

    def choose(self, seen: Seen, awake: Chosen, plays: int) -> Chosen:
        if self.queue == "exact":
            self.lengths = [max(owed, Fraction(0)) for owed in seen.owed(self.fractions)]
        scores: list[Any] = []
        for score, weight, length in zip(seen.bounds(self.c), self.weights, self.lengths, strict=True):
            known = min(score, 1.0) if self.clip else score
            if known == math.inf:
                scores.append(math.inf)
            elif self.eta is None:
                scores.append(weight * Fraction(known))
            else:
                scores.append(length + self.eta * weight * Fraction(known))
        chosen = largest(scores, awake, plays)
        if self.queue == "recursive":
            for arm, r in enumerate(self.fractions):
                self.lengths[arm] = max(self.lengths[arm] + r - (1 if arm in chosen else 0), Fraction(0))
        return chosen


# --- The package -----------------------------------------------------------------------------------------------------


def played(policy: Policy, world: World) -> list[Chosen]:
    """The arms that the policy plays, round by round."""
    state, rng = policy.start(len(world.rewards[0])), np.random.default_rng(0)
    history = []
    for rewards, awake in zip(world.rewards, world.awake, strict=True):
        decision = policy.decide(state, Observation(None if all(awake) else np.array(awake)), rng)
        policy.observe(state, Feedback(decision.played, np.array(rewards) * decision.played), rng)
        history.append(np.flatnonzero(decision.played).tolist())
    return history


def numbers(decimals: Sequence[str]) -> list[float]:
    return [float(decimal) for decimal in decimals]


def exactly(decimals: Sequence[str]) -> list[Fraction]:
    return [Fraction(decimal) for decimal in decimals]


Pair = tuple[Callable[[int], Policy], Callable[[], Rule]]
PENALTIES = (0.3, 0.1, 0.4, 0.2, 0.0)


def pairs() -> dict[str, Pair]:
    """Name → the policy for m plays, and its reference."""
    found: dict[str, Pair] = {"ucb1": (lambda m: ucb1(plays=m), Ucb1)}
    found["ucb1 c=0.5"] = lambda m: ucb1(exploration=0.5, plays=m), lambda: Ucb1(0.5)
    for label, decimals in ALL_FRACTIONS.items():
        found |= {f"{name} {label}": pair for name, pair in with_fractions(decimals).items()}
    return found


def with_fractions(decimals: Sequence[str]) -> dict[str, Pair]:
    r, f = exactly(decimals), numbers(decimals)
    found: dict[str, Pair] = {
        "fucb": (lambda m: fucb(f, plays=m), lambda: QuotaFirst(r)),
        "fair_learn 2.5": (lambda m: fair_learn(f, tolerance=2.5, plays=m), lambda: QuotaFirst(r, Fraction(5, 2))),
        "fair_learn 3": (lambda m: fair_learn(f, tolerance=3.0, plays=m), lambda: QuotaFirst(r, Fraction(3))),
        "hard": (
            lambda m: hard_threshold_ucb(f, penalties=PENALTIES, plays=m),
            lambda: Bonus(r, PENALTIES, hard),
        ),
        "soft": (
            lambda m: soft_threshold_ucb(f, penalties=0.4, plays=m),
            lambda: Bonus(r, [0.4] * 5, soft),
        ),
    }
    for eta, surplus, bonus in ((0.02, "counted", counted), (0.7, "counted", counted), (0.1, "ignored", ignored)):
        found[f"eta_fucb {eta} {surplus}"] = eta_pair(decimals, eta, surplus, bonus)
    return found


def eta_pair(decimals: Sequence[str], eta: float, surplus: str, bonus: Owed) -> Pair:
    return (
        lambda m: eta_fucb(numbers(decimals), eta=eta, surplus=surplus, plays=m),
        lambda: Bonus(exactly(decimals), [eta] * len(decimals), bonus),
    )


def queues() -> dict[str, Pair]:
    """LFG in all its forms."""
    # Powers of two: floats hold ties between arms of unequal weight as exactly as the reference does.
    unequal = ("1", "0.5", "2", "1", "0.25")
    found: dict[str, Pair] = {}
    ones = ("1",) * 5
    forms = [(1.5, True, eta, w) for eta, w in (("10", ones), ("0.5", unequal), ("inf", unequal))]
    forms += [(2.0, True, "10", ones), (2.0, True, "0.5", unequal), (2.0, False, "10", unequal)]
    for queue in ("recursive", "exact"):
        for label, r in FRACTIONS.items():
            for c, clip, eta, weights in forms:
                name = f"{queue} {label} c={c} {'clipped' if clip else 'unclipped'} eta={eta}"
                found[name] = queue_pair(r, eta, weights, queue, c, clip)
    return found


def queue_pair(r: Sequence[str], eta: str, weights: Sequence[str], queue: str, c: float, clip: bool) -> Pair:
    options: dict[str, Any] = {"queue": queue, "exploration": c, "clip": clip, "ties": "first"}
    exact_eta = None if eta == "inf" else Fraction(eta)
    return (
        lambda m: lfg(numbers(r), eta=float(eta), weights=numbers(weights), plays=m, **options),
        lambda: Lfg(exactly(r), exact_eta, exactly(weights), queue, c, clip),
    )


@pytest.mark.covering
@pytest.mark.parametrize(
    ("kind", "sleeping"), [("table", False), ("means", False), ("table", True)], ids=["table", "means", "sleeping"]
)
@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize("pair", pairs().values(), ids=list(pairs()))
def test_bounds_and_deficits(pair: Pair, plays: int, kind: str, sleeping: bool) -> None:
    given = world(kind, sleeping)
    assert played(pair[0](plays), given) == follow(pair[1](), given, plays)


@pytest.mark.covering
@pytest.mark.parametrize(
    ("plays", "sleeping"), [(1, False), (1, True), (2, True)], ids=["1-awake", "1-sleeping", "2-sleeping"]
)
@pytest.mark.parametrize("pair", queues().values(), ids=list(queues()))
def test_queues(pair: Pair, plays: int, sleeping: bool) -> None:
    given = world("table", sleeping)
    assert played(pair[0](plays), given) == follow(pair[1](), given, plays)


@pytest.mark.parametrize("sleeping", [False, True], ids=["awake", "sleeping"])
@pytest.mark.parametrize("kind", ["table", "means"])
@pytest.mark.parametrize("horizon", [100, 400, 1000])
def test_t_fucb(horizon: int, kind: str, sleeping: bool) -> None:
    given = world(kind, sleeping)
    for r in (MISLEADING, SOME_ZERO):
        assert played(t_fucb(numbers(r), horizon=horizon), given) == follow(TFucb(exactly(r), horizon), given, 1)


@pytest.mark.parametrize("sleeping", [False, True], ids=["awake", "sleeping"])
@pytest.mark.parametrize("kind", ["table", "means"])
@pytest.mark.parametrize("pulls", [1, 7, 30])
def test_explore_then_commit(pulls: int, kind: str, sleeping: bool) -> None:
    given = world(kind, sleeping)
    assert played(explore_then_commit(pulls=pulls), given) == follow(Commit(pulls), given, 1)


@pytest.mark.parametrize("name", ["fucb misleading", "hard equal", "eta_fucb 0.7 counted misleading"])
def test_the_whole_simulation_plays_the_same(name: str) -> None:
    # Rewards and availability from the environment, pulls from the results, at every round.
    policy, rule = pairs()[name]
    given = world("table", sleeping=True)
    environment = Environment(Table(given.rewards), Logged(given.awake))
    results = simulate(policy(2), environment, ROUNDS, lanes=2, checkpoints=range(1, ROUNDS + 1))
    pulls = np.zeros((ROUNDS, 5), dtype=int)
    for t, chosen in enumerate(follow(rule(), given, 2)):
        pulls[t:, chosen] += 1
    record = next(iter(results.policies.values()))
    assert (record.pulls == pulls[:, np.newaxis]).all()


# --- By hand ---------------------------------------------------------------------------------------------------------


def constant(*rewards: float, rounds: int) -> World:
    return World([list(rewards)] * rounds, [[True] * len(rewards)] * rounds)


def by_hand(policy: Policy, *rewards: float, rounds: int) -> list[int]:
    """The arm played in each round, each arm paying the same reward whenever it plays."""
    return [arm for (arm,) in played(policy, constant(*rewards, rounds=rounds))]


def test_ucb1_by_hand() -> None:
    # t   bound of arm 0 (pays 1)             bound of arm 1 (pays 0)     plays
    # 1   ∞                                   ∞                           0, the lowest index
    # 2   1 + sqrt(2 ln 2)                    ∞                           1
    # 3   1 + sqrt(2 ln 3)     = 2.48         sqrt(2 ln 3)     = 1.48     0
    # 4   1 + sqrt(2 ln 4 / 2) = 2.18         sqrt(2 ln 4)     = 1.67     0
    # 5   1 + sqrt(2 ln 5 / 3) = 2.04         sqrt(2 ln 5)     = 1.79     0
    # 6   1 + sqrt(2 ln 6 / 4) = 1.95         sqrt(2 ln 6)     = 1.89     0
    # 7   1 + sqrt(2 ln 7 / 5) = 1.88         sqrt(2 ln 7)     = 1.97     1
    # 8   1 + sqrt(2 ln 8 / 5) = 1.91         sqrt(2 ln 8 / 2) = 1.44     0
    assert by_hand(ucb1(), 1.0, 0.0, rounds=8) == [0, 1, 0, 0, 0, 0, 1, 0]


def test_fucb_by_hand() -> None:
    # t   deficits r (t−1) − N of r = (0.3, 0.3, 0)    owed      plays
    # 1   0, 0, 0                                      nobody    0: all bounds are ∞
    # 2   −0.7, 0.3, 0                                 1         1
    # 3   −0.4, −0.4, 0                                nobody    2: never pulled
    # 4   −0.1, −0.1, −1                               nobody    0: pays 1, the others 0, one pull each
    # 5   −0.8, 0.2, −1                                1         1
    # 6   −0.5, −0.5, −1                               nobody    0: 1 + sqrt(2 ln 6/2) against sqrt(2 ln 6) = 1.89
    # 7   −1.2, −0.2, −1                               nobody    0: 1 + sqrt(2 ln 7/3) = 2.14 against 1.97
    # 8   −1.9, 0.1, −1                                1         1
    assert by_hand(fucb([0.3, 0.3, 0.0]), 1.0, 0.0, 0.0, rounds=8) == [0, 1, 2, 0, 1, 0, 0, 1]


def test_what_is_owed_is_a_strict_excess() -> None:
    # r = (0, 0.5): arm 1 is owed 0.5 (t−1) − N, which is 0.5 and 0 by turns: exactly 0 is not owed. Arm 1 pays
    # nothing; where nobody is owed UCB1 decides, and arm 0 is ahead of it by 1 with at least as many pulls.
    # t = 1: arm 0. t = 2: 0.5 owed, arm 1. t = 3: 0.5 · 2 − 1 = 0, arm 0. t = 4: 0.5, arm 1. And so on.
    assert by_hand(fucb([0.0, 0.5]), 1.0, 0.0, rounds=8) == [0, 1, 0, 1, 0, 1, 0, 1]
    # With α = 1/2 arm 1 waits until it is owed more than 0.5. t = 2: UCB1 takes it, as it was never pulled. Then
    # t = 3 … 6: owed 0, 0.5, 1, and after its play at t = 5 again 0.5: 0, 0, 1, 0; then 1 at t = 7.
    assert by_hand(fair_learn([0.0, 0.5], tolerance=0.5), 1.0, 0.0, rounds=8) == [0, 1, 0, 0, 1, 0, 1, 0]


def test_hard_threshold_by_hand() -> None:
    # μ = (1, 0), τ = (0, 0.5), A = 2: arm 1 leads by 2 as long as N < 0.5 n, so what counts is n itself, not n − 1.
    # n = 1: arm 0. n = 2: arm 1. n = 3: N = 1 < 1.5: 2 + 1.48 against 1 + 1.48: arm 1.
    # n = 4: N = 2, not below 2: 0 + sqrt(2 ln 4/2) = 1.18 against 1 + 1.67: arm 0.
    # n = 5: N = 2 < 2.5: 2 + sqrt(2 ln 5/2) = 3.27 against 1 + 1.27: arm 1. n = 6: 3 is not below 3: arm 0.
    assert by_hand(hard_threshold_ucb([0.0, 0.5], penalties=2.0), 1.0, 0.0, rounds=6) == [0, 1, 1, 0, 1, 0]


def test_a_recursive_queue_forgets_a_surplus() -> None:
    # LFG, r = (0.5, 0.4), η = 1, rewards (1, 0.25); both clipped bounds are 1 for these rounds but for arm 1 with many
    # pulls, so the queues decide.
    # t   Q recursive      plays   Q afterwards
    # 1   0, 0             0       max(0.5 − 1, 0) = 0, 0.4
    # 2   0, 0.4           1       0.5, max(0.8 − 1, 0) = 0
    # 3   0.5, 0           0       0, 0.4
    # 4   0, 0.4           1       0.5, 0
    # 5   0.5, 0           0       …
    # The exact queue keeps arm 1's surplus of 0.2: Q(3) = (0, 0) (1.0 − 1, 0.8 − 1).
    # t = 4: 1.5 − 2 < 0, 1.2 − 1 = 0.2: 1. t = 5: 2 − 2 = 0, 1.6 − 2 < 0: 0. t = 6: 2.5 − 3 < 0, 2 − 2 = 0: tie, 0.
    # t = 6 of the recursive queue: 0, 0.4: 1.
    options: dict[str, Any] = {"eta": 1.0, "exploration": 1.5, "ties": "first"}
    recursive = by_hand(lfg([0.5, 0.4], queue="recursive", **options), 1.0, 0.25, rounds=6)
    exact = by_hand(lfg([0.5, 0.4], queue="exact", **options), 1.0, 0.25, rounds=6)
    assert (recursive, exact) == ([0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0])


def test_a_recursive_queue_is_counted_exactly() -> None:
    # r = (0.3, 0.1, 0), η = 0: the queue alone decides. Awake are arm 2, then arm 0, then arm 2, then all.
    # Q after each round: (0.3, 0.1, 0); (max(0.6 − 1, 0), 0.2, 0) = (0, 0.2, 0); (0.3, 0.3, 0). A tie: arm 0.
    # In floats 0.1 + 0.1 + 0.1 exceeds 0.3.
    awake = [[False, False, True], [True, False, False], [False, False, True], [True, True, True]]
    policy = lfg([0.3, 0.1, 0.0], eta=0.0, ties="first")
    assert played(policy, World([[0.0] * 3] * 4, awake)) == [[2], [0], [2], [0]]


def test_equal_deficits_go_by_the_lowest_index_with_several_plays_too() -> None:
    # r = 0.4 each, two plays; arm 2 alone pays, so its bound is the largest.
    # t = 1: arms 0, 1, never pulled. t = 2: arm 2 alone is awake. t = 3 … 5: nobody is.
    # t = 6: N = 1 each, each is owed 0.4 · 5 − 1 = 1: arms 0, 1.
    # t = 7: owed are 2.4 − 2 = 0.4, 0.4 and 2.4 − 1 = 1.4: arm 2, then arm 0.
    asleep, awake = [False] * 3, [True] * 3
    policy = fucb([0.4, 0.4, 0.4], plays=2)
    rewards = [[0.0, 0.0, 1.0]] * 7
    days = [awake, [False, False, True], asleep, asleep, asleep, awake, awake]
    assert played(policy, World(rewards, days)) == [[0, 1], [2], [], [], [], [0, 1], [0, 2]]


def test_t_fucb_by_hand() -> None:
    # T = 10, r = (0.25, 0, 0.3): ⌈2.5⌉ = 3, at least 1, and 0.3 · 10 = 3 plays; then arm 1, which alone pays: at t = 8
    # 1 + sqrt(2 ln 8) against sqrt(2 ln 8/3); then 1 + sqrt(2 ln t/N) > sqrt(2 ln t/3) for N = 2, 3.
    assert by_hand(t_fucb([0.25, 0.0, 0.3], horizon=10), 0.0, 1.0, 0.0, rounds=10) == [0, 0, 0, 1, 2, 2, 2, 1, 1, 1]


def test_naive_explores_its_quotas_in_order() -> None:
    # T' = 20: n = (0.2 + 0.4/2) 20 = 8 and (0.4 + 0.4/2) 20 = 12.
    first = by_hand(naive([0.2, 0.4], horizon=200, epsilon=0.1), 0.5, 0.25, rounds=20)
    assert first == [0] * 8 + [1] * 12


def test_commitment_by_hand() -> None:
    # Two plays each, then arm 1, which paid more; what it pays later is not looked at.
    rewards = [[0.5, 1.0]] * 4 + [[1.0, 0.0]] * 4
    assert played(explore_then_commit(pulls=2), World(rewards, [[True, True]] * 8)) == [[0]] * 2 + [[1]] * 6


# --- Equal by definition ---------------------------------------------------------------------------------------------

SHARES = numbers(MISLEADING)
SLEEPY = Environment(Bernoulli([0.8, 0.7, 0.6, 0.5, 0.4]), Independent([0.9, 0.7, 0.8, 0.6, 0.9]))
AWAKE = Environment(Bernoulli([0.8, 0.7, 0.6, 0.5, 0.4]))


def assert_all_alike(policies: dict[str, Policy], environment: Environment, rounds: int = 500) -> None:
    results = compare(policies, environment, rounds, lanes=20, seed=5, checkpoints=range(1, rounds + 1))
    first, *others = results.policies.values()
    for other in others:
        assert (other.pulls == first.pulls).all()
    assert len(np.unique(first.pulls[-1], axis=0)) > 1  # the lanes are not all alike


@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("environment", [AWAKE, SLEEPY], ids=["awake", "sleeping"])
def test_ucb1_is_the_case_without_promises(environment: Environment, plays: int) -> None:
    nothing = [0.0] * 5
    policies = {
        "ucb1": ucb1(plays=plays),
        "fucb": fucb(nothing, plays=plays),
        "fair_learn": fair_learn(nothing, tolerance=3.0, plays=plays),
        "hard": hard_threshold_ucb(nothing, penalties=0.5, plays=plays),
        "soft": soft_threshold_ucb(nothing, penalties=0.5, plays=plays),
        "hard without price": hard_threshold_ucb(SHARES, penalties=0.0, plays=plays),
        "eta_fucb": eta_fucb(SHARES, eta=0.0, plays=plays),
        "eta_fucb hinge": eta_fucb(nothing, eta=0.7, surplus="ignored", plays=plays),
        "lfg": lfg(SHARES, eta=math.inf, clip=False, exploration=2.0, ties="first", plays=plays),
    }
    assert_all_alike(policies, environment)


@pytest.mark.parametrize("plays", [1, 2])
def test_fair_learn_without_tolerance_is_fucb(plays: int) -> None:
    pair = {"fucb": fucb(SHARES, plays=plays), "fair_learn": fair_learn(SHARES, tolerance=0.0, plays=plays)}
    assert_all_alike(pair, SLEEPY)


@pytest.mark.parametrize("plays", [1, 2])
def test_thompson_is_the_case_without_a_queue(plays: int) -> None:
    policies = {
        "thompson": thompson(plays=plays),
        "tscsf_b": tscsf_b(SHARES, eta=math.inf, plays=plays),
        "recursive": tscsf_b(SHARES, eta=math.inf, queue="recursive", plays=plays),
        "f_ts": f_ts([0.0] * 5, plays=plays),
    }
    assert_all_alike(policies, SLEEPY)


def test_eta_weighs_the_worth_as_one_over_eta_weighs_the_queue() -> None:
    # Huang et al.'s Q/η + w θ orders the arms as Q + η w θ does: the weights may take up η.
    pair = {
        "eta": tscsf_b(SHARES, eta=16.0),
        "weights": tscsf_b(SHARES, eta=1.0, weights=16.0),
    }
    assert_all_alike(pair, SLEEPY)


# --- Anonymous sums --------------------------------------------------------------------------------------------------

KERNELS: dict[str, tuple[float, ...]] = {
    "at once": (1.0,),
    "a step later": (0.0, 1.0),
    "spread": (0.0, 0.25, 0.0, 0.5, 0.125, 0.125),
    "late": (0.0,) * 20 + (0.5, 0.5),
}
STEPS = 1000


@dataclass
class Stream:
    """What comes in: part τ of a play's total τ steps later, whoever plays then. All in powers of two, so exact."""

    kernel: tuple[float, ...]
    seed: int = 1
    totals: list[float] = field(default_factory=list)
    arms: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        chance = random.Random(self.seed)
        self.table = [[min(max(level + chance.randint(-2, 2), 0), 8) / 8 for level in LEVELS] for _ in range(STEPS)]

    def play(self, arm: int) -> float:
        """The sum of the step in which the arm plays."""
        self.arms.append(arm)
        self.totals.append(self.table[len(self.totals)][arm])
        return sum(part * total for part, total in zip(self.kernel, reversed(self.totals), strict=False))

    @property
    def over(self) -> bool:
        return len(self.totals) == STEPS


def on_sums(policy: Policy, kernel: tuple[float, ...], seed: int = 0) -> list[int]:
    """The arm that the policy plays, step by step; every sum is credited to it."""
    stream, rng = Stream(kernel), np.random.default_rng(seed)
    state = policy.start(len(LEVELS))
    while not stream.over:
        decision = policy.decide(state, ALL_AVAILABLE, rng)
        arrived = stream.play(int(decision.played.argmax()))
        policy.observe(state, Feedback(decision.played, arrived * decision.played), rng)
    return stream.arms


Size = Callable[[int], int]
SIZES: dict[str, tuple[Any, Size]] = {
    "k": (PowerSize(1.0), lambda k: k),
    "k squared": (None, lambda k: k * k),
    "k cubed": (PowerSize(3.0), lambda k: k**3),
    "2^k": (GeometricSize(0), lambda k: 2**k if k > 1 else 4),
    "2^(k+2)": (GeometricSize(2), lambda k: 2 ** (k + 2) if k > 1 else 16),
}


def ars_ucb_listing(kernel: tuple[float, ...], f: Size, alpha: float) -> list[int]:
    """Wang et al. 2021, Algorithm 1, line by line; the last round is cut."""
    stream, arms = Stream(kernel), range(len(LEVELS))
    n, m = [0] * len(LEVELS), [0.0] * len(LEVELS)

    def play(arm: int, times: int) -> None:
        for _ in range(times):
            if not stream.over:
                m[arm] += stream.play(arm)
                n[arm] += 1

    for arm in arms:
        play(arm, f(1))
    turn = [2] * len(LEVELS)
    while not stream.over:
        t = len(stream.arms)
        u = [min(m[i] / n[i] + math.sqrt(alpha * math.log(t) / n[i]), 1.0) for i in arms]
        arm = min((i for i in arms if u[i] == max(u)), key=lambda i: n[i])
        play(arm, f(turn[arm]))
        turn[arm] += 1
    return stream.arms


@pytest.mark.covering
@pytest.mark.parametrize("alpha", [4.0, 0.5, 0.02])
@pytest.mark.parametrize(("size", "f"), SIZES.values(), ids=list(SIZES))
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_ars_ucb(kernel: tuple[float, ...], size: Any, f: Size, alpha: float) -> None:
    assert on_sums(ars_ucb(size=size, exploration=alpha), kernel) == ars_ucb_listing(kernel, f, alpha)


def test_ars_ucb_by_hand() -> None:
    # f = k², α = 0.5; arm 0 pays 0, arm 1 pays 1, both at once. t: steps played; u: clipped bounds.
    # Start: 0, 1. t = 2: u = sqrt(0.5 ln 2) = 0.589, 1: arm 1 for 4. t = 6: sqrt(0.5 ln 6) = 0.946, 1: arm 1 for 9.
    # t = 15: sqrt(0.5 ln 15) is above 1, so both are 1, and arm 0 has fewer plays: 4 steps.
    # t = 19: sqrt(0.5 ln 19/5) = 0.543, 1: arm 1 for 16.
    given = [0, 1, *[1] * 4, *[1] * 9, *[0] * 4, *[1] * 16]
    assert by_hand(ars_ucb(exploration=0.5), 0.0, 1.0, rounds=len(given)) == given


@pytest.mark.covering
@pytest.mark.parametrize("decimals", [MISLEADING, EQUAL, SOME_ZERO], ids=["misleading", "equal", "some zero"])
@pytest.mark.parametrize("tolerance", ["0", "2.5"])
@pytest.mark.parametrize("kernel", [KERNELS["spread"], KERNELS["late"]], ids=["spread", "late"])
def test_ars_fucb(kernel: tuple[float, ...], tolerance: str, decimals: Sequence[str]) -> None:
    """The largest deficit above α first, else ARS-UCB's choice, for k² steps; of equal ones the least played."""
    stream, arms, r = Stream(kernel), range(len(LEVELS)), exactly(decimals)
    n, m, turn = [0] * len(LEVELS), [0.0] * len(LEVELS), [1] * len(LEVELS)
    while not stream.over:
        t = len(stream.arms)
        owed = [r[i] * t - n[i] for i in arms]
        u = [min(m[i] / n[i] + math.sqrt(4.0 * math.log(t) / n[i]), 1.0) if n[i] else 1.0 for i in arms]
        claim: list[Any] = owed if max(owed) > Fraction(tolerance) else u
        arm = min((i for i in arms if claim[i] == max(claim)), key=lambda i: n[i])
        for _ in range(turn[arm] ** 2):
            if not stream.over:
                m[arm] += stream.play(arm)
                n[arm] += 1
        turn[arm] += 1
    assert on_sums(ars_fucb(numbers(decimals), tolerance=float(tolerance)), kernel) == stream.arms


def mixed(weights: Sequence[float], gamma: float) -> list[float]:
    return [(1.0 - gamma) * w / sum(weights) + gamma / len(weights) for w in weights]


def drawn(chances: Sequence[float], rng: np.random.Generator) -> int:
    """An arm by one uniform number: the first at which the chances so far exceed it."""
    place = rng.random() * sum(chances)
    return next(arm for arm in range(len(chances)) if sum(chances[: arm + 1]) > place)


@pytest.mark.covering
@pytest.mark.parametrize("gamma", [None, 0.3, 1.0])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_exp3(kernel: tuple[float, ...], gamma: float | None) -> None:
    """Auer et al. 2002, section 3, with the same random numbers; a sum above 1 counts as 1."""
    stream, rng, arms = Stream(kernel), np.random.default_rng(4), len(LEVELS)
    mixing = gamma if gamma is not None else min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * STEPS)))
    w = [1.0] * arms
    while not stream.over:
        p = mixed(w, mixing)
        arm = drawn(p, rng)
        w[arm] *= math.exp(mixing * min(stream.play(arm), 1.0) / p[arm] / arms)
    assert on_sums(exp3(horizon=STEPS, mixing=gamma), kernel, seed=4) == stream.arms


@pytest.mark.covering
@pytest.mark.parametrize("beta", [0.5, 1.0, 0.3])
@pytest.mark.parametrize("gamma", [None, 0.3])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_ars_exp3(kernel: tuple[float, ...], gamma: float | None, beta: float) -> None:
    """Wang et al. 2021, Algorithm 2, with the same random numbers; what is left after round K is one more."""
    stream, rng, arms = Stream(kernel), np.random.default_rng(4), len(LEVELS)
    sizes = [max(1, math.floor(k**beta)) for k in range(1, STEPS + 1)]
    complete = max(k for k in range(1, STEPS + 1) if sum(sizes[:k]) <= STEPS)
    choices = ((beta + 1.0) * STEPS) ** (1.0 / (beta + 1.0))
    mixing = gamma if gamma is not None else min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * choices)))
    w = [1.0] * arms
    for k in range(complete + 1):
        p = mixed([math.exp(one / sizes[complete - 1]) for one in w], mixing)
        arm = drawn(p, rng)
        z = sum(stream.play(arm) for _ in range(sizes[k]) if not stream.over)
        w[arm] += mixing * min(z, sizes[k]) / (arms * p[arm])
        if stream.over:
            break
    assert stream.over
    assert on_sums(ars_exp3(horizon=STEPS, exponent=beta, mixing=gamma), kernel, seed=4) == stream.arms


@pytest.mark.covering
@pytest.mark.parametrize(("first", "beta"), [(64, 0.5), (1, 0.5), (10, 1.0), (2000, 0.3)], ids=str)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_ars_exp3_doubling(kernel: tuple[float, ...], first: int, beta: float) -> None:
    """Algorithm 2 again and again, for T_1, 2 T_1, 4 T_1, … steps, with nothing kept but what is under way."""
    stream, rng, arms, rounds = Stream(kernel), np.random.default_rng(4), len(LEVELS), first
    while not stream.over:
        sizes = [max(1, math.floor(k**beta)) for k in range(1, rounds + 1)]
        largest = next(sizes[k - 1] for k in range(rounds, 0, -1) if sum(sizes[:k]) <= rounds)
        choices = ((beta + 1.0) * rounds) ** (1.0 / (beta + 1.0))
        mixing = min(1.0, math.sqrt(arms * math.log(arms) / ((math.e - 1) * choices)))
        w, left, end = [1.0] * arms, iter(sizes), len(stream.arms) + rounds
        while not stream.over and len(stream.arms) < end:
            p = mixed([math.exp(one / largest) for one in w], mixing)
            arm, size = drawn(p, rng), next(left)
            z = sum(stream.play(arm) for _ in range(size) if not stream.over and len(stream.arms) < end)
            w[arm] += mixing * min(z, size) / (arms * p[arm])
        rounds *= 2
    assert on_sums(ars_exp3_doubling(first_horizon=first, exponent=beta), kernel, seed=4) == stream.arms


@dataclass
class Phase:
    """One phase of CLW: its first and last step, d, the mixing γ and the rate at which a gain or loss counts."""

    first: int
    last: int
    delay: int
    gamma: float
    rate: float


def clw_loop(kernel: tuple[float, ...], phases: Sequence[Phase], style: str, seed: int) -> list[int]:
    """Cesa-Bianchi et al. 2018, section 3, with coins that look back; the same random numbers, in the same order.

    A step ends the choice if it has a marker and the 2d − 1 steps before it have none. Then the arm's weight is updated
    by the last d sums: by their sum/(2d) ("gain"), or by what each of them misses of 1, summed and over 2d ("loss").
    """
    stream, rng, arms = Stream(kernel), np.random.default_rng(seed), len(LEVELS)
    sums: list[float] = []
    for phase in phases:
        q, d = 1.0 / (2.0 * phase.delay), phase.delay
        quiet = int(rng.geometric(q)) - 1  # steps without a marker before the phase
        w = [1.0] * arms
        p = mixed(w, phase.gamma)
        arm = drawn(p, rng)
        for step in range(phase.first, phase.last + 1):
            if step > phase.first:
                marked = rng.random() < q
                if marked and quiet >= 2 * d - 1:
                    window = sums[-d:]
                    if style == "gain":
                        w[arm] *= math.exp(phase.rate * sum(window) / (2.0 * d) / p[arm])
                    else:
                        w[arm] *= math.exp(-phase.rate * sum(1.0 - y for y in window) / (2.0 * d) / p[arm])
                    p = mixed(w, phase.gamma)
                    arm = drawn(p, rng)
                quiet = 0 if marked else quiet + 1
            sums.append(stream.play(arm))
            if stream.over:
                return stream.arms
    raise AssertionError("the phases end before the steps do")


def clw_gamma(delay: int, rounds: int) -> float:
    arms = len(LEVELS)
    return min(1.0, math.sqrt(2.0 * delay * arms * math.log(arms) / (rounds + delay)))


def clw_eta(delay: int, rounds: int) -> float:
    """sqrt(2 ln K/(K n)), n = T q (1 − q)^(2d − 1) being the updates to be expected."""
    arms, q = len(LEVELS), 1.0 / (2.0 * delay)
    return math.sqrt(2.0 * math.log(arms) / (arms * rounds * q * (1.0 - q) ** (2 * delay - 1)))


@pytest.mark.parametrize("style", ["loss", "gain"])
@pytest.mark.parametrize("delay", [1, 3, 20])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_clw(kernel: tuple[float, ...], delay: int, style: str) -> None:
    if style == "gain":
        gamma = clw_gamma(delay, STEPS)
        phases = [Phase(1, STEPS, delay, gamma, gamma / len(LEVELS))]
    else:  # Exp3 on losses, with nothing mixed in
        phases = [Phase(1, STEPS, delay, 0.0, clw_eta(delay, STEPS))]
    policy = clw(horizon=STEPS, delay=delay, style=style)
    assert on_sums(policy, kernel, seed=6) == clw_loop(kernel, phases, style, seed=6)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
@pytest.mark.parametrize(("first", "h"), [(64, 1.0 / 3.0), (10, 0.6), (1000, 1.0 / 3.0), (3, 0.5)], ids=str)
def test_ars_clw(kernel: tuple[float, ...], first: int, h: float) -> None:
    """Wang et al. 2021, Algorithm 3: phases of T_1, then T_1, 2 T_1, 4 T_1, … steps, without a horizon."""
    phases, begins, end = [], 1, first
    while begins <= STEPS:
        guess = max(1, math.floor(end**h + 1e-9))
        gamma = clw_gamma(guess, end)
        phases.append(Phase(begins, end, guess, gamma, gamma / len(LEVELS)))
        begins, end = end + 1, 2 * end
    policy = ars_clw(first_horizon=first, exponent=h)
    assert on_sums(policy, kernel, seed=6) == clw_loop(kernel, phases, "gain", seed=6)


def odaaf_rounds(rule: str, horizon: int, mean: float, bound: float, variance: float, phase: int) -> int:
    """n_m of Pike-Burke et al. 2018, as corrected: the rounds of each arm after phase m.

    With n plays a mean is right up to sqrt(2L/n) + 4L/(3n), L = ln(T Δ²), and late rewards add B/n: n_m is where the
    three are Δ/2. B is 3mE for a known mean, 2E where a bound is known too (and no arm needs more than m of that), and
    2 (E + 2V) with the variance. For composite sums, ours: sqrt(L/(2n)) + md/n at Δ/2.
    """
    gap = 2.0**-phase
    log = max(math.log(horizon * gap * gap), 1.0)
    if phase == 0:
        return 0

    def solved(root: float, constant: float) -> float:
        """The n with root/sqrt(n) + constant/n = Δ/2."""
        x = (root + math.sqrt(root * root + 2.0 * gap * constant)) / gap
        return x * x

    def bernstein(late: float) -> float:
        return solved(math.sqrt(2.0 * log), 4.0 * log / 3.0 + late)

    if rule == "composite":
        return math.ceil(solved(math.sqrt(log / 2.0), phase * bound))
    if rule == "expected":
        return math.ceil(bernstein(3.0 * phase * mean))
    if rule == "variance":
        return math.ceil(bernstein(2.0 * (mean + 2.0 * variance)))
    least = bernstein(3.0 * phase * mean) / phase
    return math.ceil(max(phase * min(bound, least), bernstein(2.0 * mean)))


@pytest.mark.parametrize("rule", ["expected", "bounded", "variance", "composite"])
@pytest.mark.parametrize("given", [(0.0, 0.0, 0.0), (20.0, 30.0, 5.0), (3.0, 1000.0, 40.0), (0.1, 5.0, 0.0)], ids=str)
@pytest.mark.parametrize("horizon", [20, 10_000, 10**6])
def test_the_phases_of_odaaf(rule: str, given: tuple[float, float, float], horizon: int) -> None:
    mean, bound, variance = given
    schedule = odaaf(horizon=horizon, rule=rule, mean_delay=mean, max_delay=bound, variance=variance).schedule
    assert isinstance(schedule, PhasedElimination)
    for phase in range(9):
        expected = odaaf_rounds(rule, horizon, mean, bound, variance, phase)
        assert abs(schedule.length(phase) - expected) <= (1 if expected > 10**9 else 0)  # where floats round up


@pytest.mark.parametrize("rule", ["expected", "bounded", "variance", "composite"])
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
def test_odaaf(kernel: tuple[float, ...], rule: str) -> None:
    """Pike-Burke et al. 2018, Algorithm 1: runs, elimination, bridge."""
    stream, arms = Stream(kernel), range(len(LEVELS))
    given: dict[str, Any] = {"rule": rule, "mean_delay": 0.1, "max_delay": 1.0, "variance": 0.05}

    def n(phase: int) -> int:  # a short horizon, so that several phases fit
        return odaaf_rounds(rule, 20, 0.1, 1.0, 0.05, phase)

    def play(arm: int, times: int) -> float:
        return sum(stream.play(arm) for _ in range(times) if not stream.over)

    alive, total, phase = list(arms), [0.0] * len(LEVELS), 0
    while not stream.over:
        phase += 1
        run = n(phase) - n(phase - 1)
        for arm in alive:
            total[arm] += play(arm, run)
        means = [total[arm] / n(phase) for arm in arms]
        best = max(means[arm] for arm in alive)
        leader = next(arm for arm in alive if means[arm] == best)
        alive = [arm for arm in alive if means[arm] >= best - 0.5**phase]
        play(leader, run if len(alive) > 1 else STEPS)
    assert phase >= 2
    assert on_sums(odaaf(horizon=20, **given), kernel) == stream.arms


# --- Shares by merit and late feedback -------------------------------------------------------------------------------
# Chen et al. 2024. The worlds have rewards of 0 and 1, and a delay for every round and arm. Which arms play is drawn by
# the package; the reference is told, and works out the selection vector of the next round from scratch.

LATE_ROUNDS = 200
LATE_MEANS = (0.3, 0.9, 0.5, 0.7, 0.1)


@dataclass
class LateWorld:
    """A row a round, a column an arm."""

    rewards: list[list[int]]
    delays: list[list[float]]
    awake: list[list[bool]]


def late_world(kind: str, sleeping: bool = False, rounds: int = LATE_ROUNDS) -> LateWorld:
    """Delays of 0; any up to 25 or never; or 30 rounds for the good arms' ones and the bad arms' zeros."""
    chance = random.Random(3)
    rewards = [[int(chance.random() < mean) for mean in LATE_MEANS] for _ in range(rounds)]
    mixed = [[math.inf if chance.random() < 0.2 else float(chance.randint(0, 25)) for _ in LATE_MEANS] for _ in rewards]
    good = [mean > 0.4 for mean in LATE_MEANS]
    biased = [[30.0 if x == g else 0.0 for x, g in zip(row, good, strict=True)] for row in rewards]
    delays = {"none": [[0.0] * 5 for _ in rewards], "mixed": mixed, "biased": biased}[kind]
    awake = [[not sleeping or chance.random() < 0.7 for _ in LATE_MEANS] for _ in rewards]
    if sleeping:
        awake[9] = [False] * 5
        for row in awake[:20]:
            row[3] = False  # sleeps until round 20
    return LateWorld(rewards, delays, awake)


@dataclass
class Known:
    """What is known before round t: pulls N, feedbacks received M and their sum S."""

    t: int
    n: list[int]
    m: list[int]
    s: list[int]


@dataclass
class Book:
    """Keeps count as the paper does: a play of round s with delay D is known where s + D < t."""

    world: LateWorld
    counts: tuple[list[int], list[int], list[int]] = field(default_factory=lambda: ([0] * 5, [0] * 5, [0] * 5))
    due: dict[float, list[tuple[int, int]]] = field(default_factory=dict)  # last round → arms and rewards

    def play(self, s: int, arms: Chosen) -> None:
        """Round 0 is that of a free pull, and has round 1's luck."""
        for arm in arms:
            row = max(s - 1, 0)
            self.counts[0][arm] += 1
            self.due.setdefault(s + self.world.delays[row][arm], []).append((arm, self.world.rewards[row][arm]))

    def close(self, t: int) -> Feedback:
        """What becomes known at the end of round t."""
        received, rewards = [0] * 5, [0.0] * 5
        for arm, reward in self.due.pop(t, ()):
            received[arm] += 1
            rewards[arm] += reward
            self.counts[1][arm] += 1
            self.counts[2][arm] += reward
        return Feedback(np.array(received), np.array(rewards))

    def known(self, t: int) -> Known:
        n, m, s = (list(count) for count in self.counts)
        return Known(t, n, m, s)


class Watched:
    """A random generator that writes down what it is asked and what it says."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(5)
        self.said: list[tuple[str, Any, Any]] = []
        self.awake = 5  # arms for which there is a draw

    def beta(self, a: Array | float, b: Array | float) -> Any:
        """Of all arms awake at once, or of one after the other, which is written down as the same."""
        if isinstance(a, np.ndarray):
            self.said.append(("beta", (a.tolist(), np.asarray(b).tolist()), self._rng.beta(a, b)))
            return np.asarray(self.said[-1][2])
        if not self.said or self.said[-1][0] != "beta" or len(self.said[-1][2]) == self.awake:
            self.said.append(("beta", ([], []), np.zeros(0)))
        _, (first, second), draws = self.said[-1]
        draw = self._rng.beta(a, b)
        self.said[-1] = ("beta", ([*first, a], [*second, b]), np.append(draws, draw))
        return draw

    def random(self, size: Any = None) -> Any:
        self.said.append(("random", size, self._rng.random(size)))
        return self.said[-1][2]

    def permuted(self, values: Any, axis: int) -> Any:
        return self._rng.permuted(values, axis=axis)


@dataclass
class Choice:
    """One round as the package saw it, and what was known before."""

    known: Known
    awake: Chosen
    played: Chosen
    vector: list[float]
    said: list[tuple[str, Any, Any]]  # the random numbers of the decision


def choices(policy: Policy, world: LateWorld) -> list[Choice]:
    """Every round; the feedback of a round is what becomes known at its end."""
    state, rng, book = policy.start(5), Watched(), Book(world)
    made = []
    if policy.schedule.traits.free:
        book.play(0, list(range(5)))
        state.tally.pulls += 1
        policy.observe(state, book.close(0), rng)  # type: ignore[arg-type]
    for t, awake in enumerate(world.awake, start=1):
        known = book.known(t)
        rng.said.clear()
        rng.awake = sum(awake)
        decision = policy.decide(state, Observation(None if all(awake) else np.array(awake)), rng)  # type: ignore[arg-type]
        chosen = np.flatnonzero(decision.played).tolist()
        said, vector = list(rng.said), [float(p) for p in decision.inclusion]
        made.append(Choice(known, [arm for arm in range(5) if awake[arm]], chosen, vector, said))
        book.play(t, chosen)
        policy.observe(state, book.close(t), rng)  # type: ignore[arg-type]
    return made


def shared(merits: Sequence[float], awake: Chosen, plays: int) -> list[float]:
    """``m f/Σ f`` over the arms awake, where one of them would exceed one it has one and the others share the rest."""
    shares, full = [0.0] * 5, awake if len(awake) <= plays else []
    while True:
        rest = [arm for arm in awake if arm not in full]
        for arm in rest:
            shares[arm] = (plays - len(full)) * merits[arm] / sum(merits[other] for other in rest)
        over = [arm for arm in rest if shares[arm] > 1.0]
        if not over:
            return [1.0 if arm in full else shares[arm] for arm in range(5)]
        full = full + over


def first_rounds(choice: Choice, plays: int) -> list[float] | None:
    """Whoever is awake and was never played, and then the others from the start; None where all awake have played."""
    untried = [arm for arm in choice.awake if not choice.known.n[arm]]
    if not untried:
        return None
    order = untried + [arm for arm in choice.awake if arm not in untried]
    return [float(arm in order[:plays]) for arm in range(5)]


def summits(merit: Merit, low: Array, high: Array, level: float) -> Array:
    """Where f(x)(x − λ) is largest on each interval: the best point of a grid, then of finer ones about it."""
    arms = np.arange(len(low))
    for _ in range(4):
        grid = np.linspace(low, high, 201)
        place = (merit(grid) * (grid - level)).argmax(axis=0)
        low, high = grid[np.maximum(place - 1, 0), arms], grid[np.minimum(place + 1, 200), arms]
    return np.asarray(grid[place, arms])


def argmax_in_box(merit: Merit, low: list[float], high: list[float], awake: Chosen) -> list[float]:
    """Line 9 of Algorithm 1: the maxima of f(x)(x − λ) for the λ at which their sum is 0, found by bisection."""
    a, b = np.array(low)[awake], np.array(high)[awake]
    least, most = 0.0, 1.0
    while most - least > 1e-10:
        level = (least + most) / 2.0
        x = summits(merit, a, b, level)
        least, most = (level, most) if (merit(x) * (x - level)).sum() > 0.0 else (least, level)
    found = [0.0] * 5
    for arm, x in zip(awake, summits(merit, a, b, least), strict=True):
        found[arm] = float(x)
    return found


def plain_box(known: Known, plays: int, radius: str, horizon: int) -> tuple[list[float], list[float]]:
    """Algorithm 1, lines 3 to 6, with Theorem 6's radius or the published code's with δ = 1."""
    low, high = [], []
    for m, s in zip(known.m, known.s, strict=True):
        inside = 4 * plays * 5 * horizon if radius == "theorem" else 4 * 5 * known.t
        c = math.sqrt(math.log(inside) / ((1 if radius == "theorem" else 2) * max(m, 1)))
        low.append(max(s / max(m, 1) - c, 0.0))
        high.append(min(s / max(m, 1) + c, 1.0))
    return low, high


def wide_box(known: Known, plays: int, radius: str, horizon: int) -> tuple[list[float], list[float]]:
    """Algorithm 3, lines 3 to 8, with Theorem 8's radius or the published code's with δ = 1."""
    low, high = [], []
    for n, m, s in zip(known.n, known.m, known.s, strict=True):
        if not n:  # asleep since the start
            low.append(0.0)
            high.append(1.0)
            continue
        inside = 6 * plays * 5 * horizon if radius == "theorem" else 6 * 5 * known.t
        c = math.sqrt(math.log(inside) / ((1 if radius == "theorem" else 2) * n))
        low.append(max(s / n - c, 0.0))
        high.append(min((n - m) / n + s / n + c, 1.0))
    return low, high


FLAT = Power(0.9, 4.0)
WORLDS = [("none", False), ("mixed", False), ("biased", False), ("mixed", True)]
LATE = pytest.mark.parametrize(("kind", "sleeping"), WORLDS, ids=["at once", "mixed", "biased", "mixed, sleeping"])


@LATE
@pytest.mark.parametrize("radius", ["theorem", "code"])
@pytest.mark.parametrize("plays", [1, 2, 3])
@pytest.mark.parametrize(
    ("build", "box"), [(fcucb_d, plain_box), (op_fcucb_d, wide_box)], ids=["fcucb_d", "op_fcucb_d"]
)
def test_shares_in_a_box(build: Any, box: Any, plays: int, radius: str, kind: str, sleeping: bool) -> None:
    # f(x)(x − λ) rises for this merit, so that the best point of the box is its upper corner.
    policy = build(FLAT, horizon=LATE_ROUNDS, radius=radius, delta=1.0, plays=plays, cap=True)
    drawn = 0
    for choice in choices(policy, late_world(kind, sleeping)):
        expected = first_rounds(choice, plays)
        if expected is None:
            _, high = box(choice.known, plays, radius, LATE_ROUNDS)
            expected = shared([1 + 0.9 * x**4 for x in high], choice.awake, plays)
            drawn += len({round(p, 6) for p in expected}) > 2
        assert choice.vector == pytest.approx(expected, rel=1e-12, abs=0.0)
        assert len(choice.played) == min(plays, len(choice.awake))
    assert drawn > 20  # rounds in which the arms do not look alike


@pytest.mark.parametrize("merit", [Power(200.0, 4.0), Linear(-0.99, 1.0)], ids=["power", "falling"])
@pytest.mark.parametrize(("kind", "sleeping"), [("mixed", True), ("biased", False)], ids=["mixed, sleeping", "biased"])
@pytest.mark.parametrize(
    ("build", "box"), [(fcucb_d, plain_box), (op_fcucb_d, wide_box)], ids=["fcucb_d", "op_fcucb_d"]
)
def test_shares_in_a_box_whose_best_point_is_no_corner(
    build: Any, box: Any, kind: str, sleeping: bool, merit: Merit
) -> None:
    rounds = 80
    policy = build(merit, horizon=rounds, radius="code", delta=1.0, plays=2, cap=True)
    inside = 0
    for choice in choices(policy, late_world(kind, sleeping, rounds)):
        expected = first_rounds(choice, 2)
        if expected is None and choice.awake:
            low, high = box(choice.known, 2, "code", rounds)
            best = argmax_in_box(merit, low, high, choice.awake)
            inside += any(low[arm] + 0.01 < best[arm] < high[arm] - 0.01 for arm in choice.awake)
            expected = shared(merit(np.array(best)).tolist(), choice.awake, 2)
        # The reference's points are right to about 1e-8, the root of the rounding error of what they maximise.
        assert choice.vector == pytest.approx(expected or [0.0] * 5, abs=1e-5)
    assert inside > 10


@pytest.mark.parametrize("build", [fcucb_d, fcts_d])
def test_a_free_start_stands_for_the_first_rounds(build: Any) -> None:
    more = {"horizon": LATE_ROUNDS} if build is fcucb_d else {}
    for choice in choices(build(FLAT, free_start=True, plays=2, **more), late_world("mixed")):
        assert min(choice.known.n) >= 1
        if build is fcucb_d:
            score = plain_box(choice.known, 2, "theorem", LATE_ROUNDS)[1]
        else:
            score = choice.said[0][2].tolist()
            assert choice.said[0][1][0] == [1 + s for s in choice.known.s]
        expected = shared([1 + 0.9 * x**4 for x in score], choice.awake, 2)
        assert choice.vector == pytest.approx(expected, rel=1e-12)


@LATE
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_shares_of_a_draw(plays: int, kind: str, sleeping: bool) -> None:
    # FCTS-D, Algorithm 2: the posterior of what has arrived, and shares by the merit of the draw.
    for choice in choices(fcts_d(FLAT, cap=True, plays=plays), late_world(kind, sleeping)):
        if not choice.awake:  # nothing is drawn
            continue
        (name, parameters, draw), *_ = choice.said
        known, awake = choice.known, choice.awake
        assert name == "beta"
        assert parameters == ([1 + known.s[i] for i in awake], [1 + known.m[i] - known.s[i] for i in awake])
        merits = [0.0] * 5
        for arm, theta in zip(awake, draw, strict=True):
            merits[arm] = 1 + 0.9 * theta**4
        assert choice.vector == pytest.approx(shared(merits, awake, plays), rel=1e-12, abs=0.0)
        assert [name for name, *_ in choice.said].count("beta") == 1


@LATE
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_shares_of_an_optimistic_and_a_pessimistic_draw(plays: int, kind: str, sleeping: bool) -> None:
    # OP-FCTS-D, Algorithm 4: of both posteriors what is missing is part, as ones or as zeros.
    for choice in choices(op_fcts_d(FLAT, cap=True, plays=plays), late_world(kind, sleeping)):
        if not choice.awake:  # nothing is drawn
            continue
        (_, optimistic, first), (_, pessimistic, second), *rest = choice.said
        known, awake = choice.known, choice.awake
        missing = [n - m for n, m in zip(known.n, known.m, strict=True)]
        zeros = [m - s for m, s in zip(known.m, known.s, strict=True)]
        assert optimistic == ([1 + known.s[i] + missing[i] for i in awake], [1 + zeros[i] for i in awake])
        assert pessimistic == ([1 + known.s[i] for i in awake], [1 + zeros[i] + missing[i] for i in awake])
        merits = [0.0] * 5
        for arm, high, low in zip(awake, first, second, strict=True):
            merits[arm] = 1 + 0.9 * ((high + low) / 2) ** 4
        assert choice.vector == pytest.approx(shared(merits, awake, plays), rel=1e-12, abs=0.0)
        assert "beta" not in [name for name, *_ in rest]


@LATE
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_shares_at_the_mean_and_now_and_then_even_ones(plays: int, kind: str, sleeping: bool) -> None:
    # FGreedy-D; the first random number of a round tells whether it explores.
    explored = 0
    for choice in choices(fgreedy_d(FLAT, epsilon=0.3, cap=True, plays=plays), late_world(kind, sleeping)):
        (name, size, (coin,)), *_ = choice.said
        assert (name, size) == ("random", (1,))
        means = [s / max(m, 1) for s, m in zip(choice.known.s, choice.known.m, strict=True)]
        explored += coin < 0.3
        merits = [1.0] * 5 if coin < 0.3 else [1 + 0.9 * x**4 for x in means]
        assert choice.vector == pytest.approx(shared(merits, choice.awake, plays), rel=1e-12, abs=0.0)
    # Binomial: 60 of 200 rounds on average, to five standard deviations.
    assert abs(explored - 60) < 5 * math.sqrt(200 * 0.3 * 0.7)


@LATE
@pytest.mark.parametrize(("radius", "factor"), [("paper", 1.5), ("code", None)])
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_bounds_on_what_has_arrived(plays: int, radius: str, factor: float | None, kind: str, sleeping: bool) -> None:
    # CUCB-D: sqrt(3 ln t/(2 M)), or sqrt((m + 1) ln t/M).
    for choice in choices(cucb_d(radius=radius, plays=plays), late_world(kind, sleeping)):
        score = []
        for n, m, s in zip(choice.known.n, choice.known.m, choice.known.s, strict=True):
            width = math.sqrt((factor or plays + 1) * math.log(choice.known.t) / max(m, 1))
            score.append(s / max(m, 1) + width if n else math.inf)
        assert choice.played == sorted(largest(score, choice.awake, plays))
        assert choice.vector == [float(arm in choice.played) for arm in range(5)]


@LATE
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_the_largest_draws_of_what_has_arrived(plays: int, kind: str, sleeping: bool) -> None:
    # MP-TS-D.
    for choice in choices(mp_ts_d(plays=plays), late_world(kind, sleeping)):
        if not choice.awake:  # nothing is drawn
            continue
        ((_, parameters, draw),) = choice.said
        known, awake = choice.known, choice.awake
        assert parameters == ([1 + known.s[i] for i in awake], [1 + known.m[i] - known.s[i] for i in awake])
        score = dict(zip(awake, draw, strict=True))
        assert choice.played == sorted(sorted(awake, key=lambda arm: -score[arm])[:plays])


@pytest.mark.parametrize("kind", ["none", "mixed", "biased"])
@pytest.mark.parametrize("plays", [1, 2, 3])
def test_elimination_whatever_is_missing(plays: int, kind: str) -> None:
    # OPSE (Lancewicki et al. 2021, Algorithm 3) with T = 3, so that arms go early: c = sqrt(2 ln 3/N).
    inside, passes, left = set(range(5)), 0, []
    for choice in choices(opse(horizon=3, plays=plays), late_world(kind, rounds=300)):
        known = choice.known
        fewest = min(known.n[arm] for arm in inside)
        if fewest > passes:
            passes = fewest
            low, high = {}, {}
            for arm in inside:
                n, m, s = known.n[arm], known.m[arm], known.s[arm]
                c = math.sqrt(2 * math.log(3) / n)
                low[arm], high[arm] = max(s / n - c, 0.0), min((s + n - m) / n + c, 1.0)
            worse = {arm for arm in inside if sum(high[arm] < low[other] for other in inside) >= plays}
            inside -= worse
        turn = sorted(range(5), key=lambda arm: (arm not in inside, known.n[arm], arm))[:plays]
        assert choice.played == sorted(turn)
        assert choice.vector == [float(arm in turn) for arm in range(5)]
        left.append(len(inside))
    assert left[0] == 5
    assert left[-1] >= plays
    assert left[-1] < 5 or (kind, plays) in (("mixed", 2), ("mixed", 3))  # what never comes keeps them in
