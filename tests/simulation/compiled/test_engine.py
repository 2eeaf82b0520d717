"""The compiled engine plays as NumPy does, to the last digit, and plays only what it can."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from attrs import evolve

from evenhand import Environment, EvenhandError, Policy, compare
from evenhand.algorithms import (
    ars_clw,
    ars_exp3,
    ars_exp3_doubling,
    ars_ucb,
    clw,
    cucb_d,
    eta_fucb,
    exp3,
    f_ts,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    fucb,
    hard_threshold_ucb,
    lfg,
    mp_ts_d,
    odaaf,
    op_fcts_d,
    op_fcucb_d,
    soft_threshold_ucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.availability import Independent
from evenhand.core import exponential
from evenhand.core.state import PerLane
from evenhand.delays import ByReward, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.feedback import (
    Adversary,
    Bounded,
    Decreasing,
    Discounted,
    FeedbackModel,
    Immediate,
    Increasing,
    NonOblivious,
    Polynomial,
    RandomDelay,
)
from evenhand.merit import Linear, Power
from evenhand.policy.accounts import BILLION
from evenhand.policy.claim import Ranking
from evenhand.policy.fairness import DeficitFirst, Mixing
from evenhand.policy.hold import GeometricSize, HoldFor, PowerSize, RandomEnds, RestartedHold
from evenhand.policy.index import UCB, BetaSample, EmpiricalMean
from evenhand.policy.mixing import DoubledHorizon, Doubling, MixingRule
from evenhand.policy.rules import IndexRules
from evenhand.policy.selection import Categorical as OneArm
from evenhand.policy.selection import TopM
from evenhand.policy.virtual_queue import VirtualQueue
from evenhand.policy.weights import ExponentialWeights, RestartedWeights, WindowWeights
from evenhand.rewards import Bernoulli, Beta, Categorical, Gaussian, Table, Winners
from evenhand.simulation.compiled import engine as engines
from evenhand.simulation.compiled import rules, trusted
from evenhand.simulation.metrics import Metric
from evenhand.simulation.tables import PolicyResult
from tests.algorithms.test_strands import run
from tests.algorithms.test_trace import IN_TURN, RECORDED
from tests.thinned import thinned

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

SHARES = [0.1, 0.2, 0.05, 0.0]
POLICIES: dict[str, Policy] = {
    "fucb": fucb(SHARES),
    "tolerance": fucb(SHARES, tolerance=2.0, plays=2),
    "part of a play": fucb(SHARES, tolerance=0.35),  # which deficits reach exactly
    "linear": eta_fucb(SHARES, eta=0.3),
    "hinge": eta_fucb(SHARES, eta=0.3, surplus="ignored"),
    "hard": hard_threshold_ucb(SHARES, penalties=[0.3, 0.2, 0.1, 0.0]),
    "soft": soft_threshold_ucb(SHARES, penalties=[0.3, 0.2, 0.1, 0.0]),
    "lfg": lfg(SHARES, eta=20.0),
    "tscsf_b": tscsf_b(SHARES, eta=20.0),
    "no queue": tscsf_b(SHARES, eta=np.inf),
    "thompson": thompson(prior=((2.0, 1.0), (1.0, 1.0), (1.0, 3.0), (1.0, 1.0)), plays=2),
    "f_ts": f_ts(SHARES),
    "ucb1": ucb1(plays=3),
    "fewest": Policy(UCB(clip=True, clock="played"), selection=TopM(2, ties="fewest")),
    "mean": Policy(EmpiricalMean(), selection=TopM(ties="random")),
    "optimistic": ucb1(evidence="optimistic"),
    "pessimistic": fucb(SHARES, evidence="pessimistic"),
    "sampled": Policy(BetaSample("optimistic"), VirtualQueue(SHARES, eta=5.0)),
}
MERIT = Power(beta=2.0, exponent=3.0)
BY_MERIT: dict[str, Policy] = {
    "drawn": fcts_d(MERIT, plays=2),
    "falling": fcts_d(Linear(slope=-0.5), prior=((2.0, 1.0), (1.0, 1.0), (1.0, 3.0), (0.5, 0.5))),
    "capped": fcts_d(Power(beta=50.0, exponent=4.0), plays=3, cap=True),
    "twice": op_fcts_d(MERIT, plays=2),
    "bounds": fcucb_d(MERIT, horizon=150, plays=3, cap=True),
    "by time": fcucb_d(MERIT, horizon=150, radius="code", plays=2),
    "optimistic": op_fcucb_d(MERIT, horizon=150, radius="code", plays=2),
    "greedy": fgreedy_d(MERIT, epsilon=0.3, plays=2),
    "all": fcts_d(MERIT, plays=4),
    "without": cucb_d(plays=2),
    "without, drawn": mp_ts_d(),
    "both": f_ts(SHARES, evidence="both"),
}
HELD: dict[str, Policy] = {
    "ars_ucb": ars_ucb(size=PowerSize(1.5)),
    "halves": ars_ucb(size=PowerSize(1.0), credit="second_half"),
    "all": Policy(UCB(), DeficitFirst(SHARES), TopM(2, ties="random"), hold=HoldFor(GeometricSize(), count="all")),
    "queue": Policy(EmpiricalMean(), VirtualQueue(SHARES, eta=5.0, queue="recursive"), hold=HoldFor(PowerSize(0.5))),
    "drawn": Policy(BetaSample(), DeficitFirst(SHARES), TopM(3), hold=HoldFor(PowerSize(1.0), credit="second_half")),
}
WEIGHTED: dict[str, Policy] = {
    "exp3": exp3(horizon=150),
    "ars_exp3": ars_exp3(horizon=150),
    "doubling": ars_exp3_doubling(first_horizon=20),
    "clw": clw(horizon=150, delay=3),
    "gain": clw(horizon=150, delay=1, style="gain"),
    "ars_clw": ars_clw(first_horizon=20),
    # Parts that do not know of each other's phases.
    "apart": Policy(RestartedWeights(DoubledHorizon(30)), Mixing(0.2), OneArm(), hold=RandomEnds(Doubling(25))),
    "window": Policy(WindowWeights(Doubling(25)), Mixing(DoubledHorizon(20)), OneArm(), hold=HoldFor(PowerSize(0.5))),
    "never": Policy(ExponentialWeights(0.9, scale=0.01), Mixing(0.0), OneArm()),
    "coins": Policy(UCB(), DeficitFirst(SHARES), TopM(2, ties="random"), hold=RandomEnds(Doubling(30))),
    "restarts": Policy(BetaSample(), hold=RestartedHold(DoubledHorizon(25))),
}
DELAYS: dict[str, FeedbackModel] = {
    "fixed": Fixed([0, 3, 200, 1]),
    "geometric": Geometric([0.1, 0.3, 0.01, 1.0]),
    "pareto": Pareto(0.5),
    "lost": PacketLoss([0.5, 0.9, 0.1, 0.0]),
    "uniform": Uniform(0, 20),
    "by reward": ByReward([[0, 50], [50, 0], [1, 1], [np.inf, 3]]),
}
SPREADS: dict[str, FeedbackModel] = {
    "bounded": Bounded(0, 7),
    "increasing": Increasing(5),
    "decreasing": Decreasing(120),
    "discounted": Discounted(0.9),
    "random": RandomDelay(0, 30),
    "held back": NonOblivious(4),
}
WORLDS = {
    "awake": Environment(Bernoulli([0.3, 0.9, 0.5, 0.7]), fractions=0.05),
    "asleep": Environment(Bernoulli([0.3, 0.9, 0.5, 0.7]), availability=Independent([0.9, 0.3, 0.6, 0.5])),
    "beta": Environment(Beta([0.3, 0.9, 0.5, 0.7], [0.7, 0.3, 0.5, 0.3])),
}


def played(
    monkeypatch: pytest.MonkeyPatch, engine: str, policy: Policy, world: Environment, **options: Any
) -> PolicyResult:
    """A run by an engine."""
    monkeypatch.setenv(engines.CHOICE, engine)
    settings: dict[str, Any] = {"horizon": 150, "lanes": 105, "seed": 4, "checkpoints": 7, **options}
    return compare({"it": policy}, world, progress=False, **settings).policies["it"]


def assert_equal(one: PolicyResult, other: PolicyResult) -> None:
    """Two results are the same to the last digit."""
    assert one.curves.keys() == other.curves.keys()
    for name, values in one.arrays.items():
        np.testing.assert_array_equal(values, other.arrays[name], err_msg=name)


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rounds up to which the compiled engine was asked to play."""
    asked: list[int] = []
    play = engines.Engine.play

    def noted(self: engines.Engine, rounds: Any, tick: Any) -> None:
        asked.append(int(rounds[-1]))
        play(self, rounds, tick)

    monkeypatch.setattr(engines.Engine, "play", noted)
    return asked


@pytest.mark.covering
@pytest.mark.parametrize("delay", ["none", *DELAYS])
@pytest.mark.parametrize("name", BY_MERIT)
def test_both_engines_share_by_merit_alike(
    name: str, delay: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    feedback = DELAYS.get(delay, Immediate())
    place = Environment(Bernoulli([0.3, 0.9, 0.5, 0.7]), merit=MERIT, feedback=feedback, weights=[1.0, 2.0, 0.5, 1.0])
    compiled = played(monkeypatch, "compiled", BY_MERIT[name], place)
    assert blocks
    assert {"reward_regret", "fairness_regret"} <= compiled.curves.keys()
    assert_equal(compiled, played(monkeypatch, "numpy", BY_MERIT[name], place))


@pytest.mark.covering
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", POLICIES)
def test_both_engines_play_alike(name: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    policy, place = POLICIES[name], WORLDS[world]
    compiled = played(monkeypatch, "compiled", policy, place)
    assert blocks
    assert_equal(compiled, played(monkeypatch, "numpy", policy, place))


@pytest.mark.covering
@pytest.mark.parametrize("world", ["awake", "asleep"])
@pytest.mark.parametrize("name", HELD)
def test_held_choices_are_alike(name: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    policy, place = HELD[name], WORLDS[world]
    compiled = played(monkeypatch, "compiled", policy, place)
    assert blocks
    assert_equal(compiled, played(monkeypatch, "numpy", policy, place))


@pytest.mark.covering
@pytest.mark.parametrize("world", thinned(["awake", "asleep"], lambda world: world == "asleep"))
@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("name", [*POLICIES, *HELD])
def test_late_rewards_are_alike(
    name: str, delay: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    policy, place = {**POLICIES, **HELD}[name], evolve(WORLDS[world], feedback=DELAYS[delay])
    compiled = played(monkeypatch, "compiled", policy, place)
    assert blocks
    assert_equal(compiled, played(monkeypatch, "numpy", policy, place))


def sums_compiled(policy: Policy, spread: str, world: str) -> bool:
    """Whether sums are added in one order: of whole rewards, or of a single play whose delay is not drawn."""
    ordered = world != "beta" or (policy.plays == 1 and spread not in ("random", "held back"))
    return ordered and not policy.index.traits.random


@pytest.mark.covering
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("name", ["fewest", "ucb1", "mean", *HELD])
def test_anonymous_sums_are_alike(
    name: str, spread: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    policy, place = {**POLICIES, **HELD}[name], evolve(WORLDS[world], feedback=SPREADS[spread])
    compiled = played(monkeypatch, "compiled", policy, place)
    assert bool(blocks) == sums_compiled(policy, spread, world)
    assert_equal(compiled, played(monkeypatch, "numpy", policy, place))


@pytest.mark.covering
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("feedback", ["now", *DELAYS, *SPREADS])
@pytest.mark.parametrize("name", WEIGHTED)
def test_exponential_weights_are_alike(
    name: str, feedback: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    policy, place = WEIGHTED[name], evolve(WORLDS[world], feedback={**DELAYS, **SPREADS}.get(feedback, Immediate()))
    if (world, feedback) == ("beta", "by reward"):  # which has a delay for two rewards only
        return
    assert_equal(*(played(monkeypatch, engine, policy, place) for engine in ("compiled", "numpy")))
    known = world != "beta" if feedback in DELAYS else sums_compiled(policy, feedback, world)
    assert bool(blocks) == (feedback == "now" or known)


@pytest.mark.parametrize("arms", [1, 2, 20])
@pytest.mark.parametrize("name", ["exp3", "doubling", "clw", "ars_clw"])
def test_weights_of_one_arm_or_many(name: str, arms: int, monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, arms)), feedback=RandomDelay(0, 5))
    for lanes in (1, 105):
        results = (played(monkeypatch, one, WEIGHTED[name], world, lanes=lanes) for one in ("compiled", "numpy"))
        assert_equal(*results)
    assert blocks


def test_exponentials_are_alike() -> None:
    from evenhand.simulation.compiled import weights

    numbers = -np.random.default_rng(3).exponential(100.0, 5000)
    numbers[:8] = 0.0, -0.0, -1e-300, -1.0, -745.2, -746.0, -1e6, -np.inf
    single = [weights.exp(max(x, exponential.LEAST)) for x in numbers.tolist()]
    np.testing.assert_array_equal(exponential.exp(numbers), single)


class OwnMixing(MixingRule):
    """A user's own mixing, of which nobody knows when it changes."""

    def mixing(self, round: int, arms: int) -> float:
        """Less and less."""
        return 1.0 / (1.0 + round)


@pytest.mark.parametrize(
    ("policy", "world", "loop"),
    [
        (fucb(SHARES), WORLDS["awake"], "play_by_bounds"),
        (ucb1(), WORLDS["beta"], "play_by_bounds"),
        (fucb(SHARES), WORLDS["asleep"], "play_plainly"),
        (ucb1(plays=2), WORLDS["awake"], "play_plainly"),
        (fucb(PerLane([SHARES] * 105)), WORLDS["awake"], "play_plainly"),
        (lfg(SHARES, eta=20.0), WORLDS["awake"], "play_plainly"),
        (tscsf_b(SHARES, eta=20.0), WORLDS["asleep"], "play_plainly"),
        (thompson(), WORLDS["beta"], "play"),  # whose rewards become 0 or 1 by trials
        (fucb(SHARES), evolve(WORLDS["awake"], feedback=DELAYS["fixed"]), "play"),
        (HELD["ars_ucb"], WORLDS["awake"], "play"),
        (WEIGHTED["exp3"], WORLDS["awake"], "play"),
        (BY_MERIT["drawn"], WORLDS["awake"], "play"),
        (ucb1(), evolve(WORLDS["awake"], merit=MERIT), "play"),  # with regrets by merit
    ],
)
def test_what_is_plain_has_a_loop_of_its_own(
    policy: Policy, world: Environment, loop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evenhand.simulation.compiled import kernel

    used: set[str] = set()

    def noted(name: str) -> Any:
        called = getattr(kernel, name)

        def play(*given: Any) -> Any:
            used.add(name)
            return called(*given)

        return play

    for name in ("play", "play_plainly", "play_by_bounds"):
        monkeypatch.setattr(kernel, name, noted(name))
    played(monkeypatch, "compiled", policy, world, horizon=20)
    assert used == {loop}


@pytest.mark.parametrize("asleep", [False, True])
@pytest.mark.parametrize("plays", [1, 2])
@pytest.mark.parametrize("arms", [2, 3, 9])
def test_odd_and_even_numbers_of_arms_are_alike(
    arms: int, plays: int, asleep: bool, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    world = Environment(Bernoulli(np.linspace(0.9, 0.1, arms)))
    world = evolve(world, availability=Independent(np.full(arms, 0.6))) if asleep else world
    shares = np.full(arms, 0.8 / arms)
    by_lane = PerLane(np.outer(np.linspace(0.2, 1.0, 105), shares))
    for policy in (ucb1(plays=plays), fucb(shares, plays=plays), fucb(by_lane, plays=plays), tscsf_b(shares, eta=9.0)):
        results = (played(monkeypatch, one, policy, world) for one in ("compiled", "numpy"))
        assert_equal(*results)
    assert len(blocks) == 4


@pytest.mark.parametrize("plays", [0.0, 1e-10, 3e-9, 0.35, 0.1 + 0.2, 2.0, 1e6 / 3])
def test_a_tolerance_is_the_same_in_billionths(plays: float) -> None:
    found = rules.billionths(plays)
    assert found == round(found)
    assert found / BILLION <= plays < (found + 1.0) / BILLION
    assert rules.billionths(np.inf) == np.inf


def test_many_rewards_under_way(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    policy, world = fucb(SHARES), Environment(Bernoulli([0.3, 0.9, 0.5, 0.7]), feedback=Fixed(2000))
    options = {"lanes": 3, "horizon": 5000, "checkpoints": 3}
    assert_equal(*(played(monkeypatch, engine, policy, world, **options) for engine in ("compiled", "numpy")))
    assert blocks


@pytest.mark.parametrize("key", thinned(RECORDED, IN_TURN.__contains__))
def test_every_algorithm_is_the_same_under_either(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(engines.CHOICE, "compiled")
    compiled = run(key, 5)
    monkeypatch.setenv(engines.CHOICE, "numpy")
    assert_equal(compiled, run(key, 5))


def test_a_single_lane_and_many_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    policy, world = fucb(np.full(300, 0.001)), Environment(Bernoulli(np.linspace(0.1, 0.9, 300)))
    options = {"lanes": 1, "horizon": 700}
    assert_equal(*(played(monkeypatch, engine, policy, world, **options) for engine in ("compiled", "numpy")))


class Last(Metric):
    """Reads the decision of the present round."""

    name, label, unit = "last", "plays of the last round", "plays"

    def value(self, memory: None, run: Any) -> Any:
        """Plays."""
        return run.decision.played.sum(axis=-1).astype(float)


class OwnIndex(EmpiricalMean):
    """A user's own index, which happens to be a known one's child."""


class OtherScore(UCB):
    """A user's own index, which changes what its parent's rules say."""

    def score(self, state: Any, observation: Any, rng: Any) -> Any:
        """The worst arm first."""
        return -super().score(state, observation, rng)


class OtherClaim(DeficitFirst):
    """A user's own fairness part, which ignores its parent's promises."""

    def claim(self, score: Any, state: Any) -> Ranking:
        """The score."""
        return Ranking(score)


class OtherDraw(Bernoulli):
    """A user's own rewards, halved."""

    def draw(self, rng: Any, rows: Any, lanes: int) -> Any:
        """Halves."""
        return super().draw(rng, rows, lanes) / 2


class OtherPolicy(Policy):
    """A user's own policy."""


@pytest.mark.parametrize(
    ("policy", "world", "options"),
    [
        (Policy(OwnIndex()), WORLDS["awake"], {}),
        (Policy(OtherScore()), WORLDS["awake"], {}),
        (Policy(fairness=OtherClaim(SHARES)), WORLDS["awake"], {}),
        (OtherPolicy(), WORLDS["awake"], {}),
        (thompson(), Environment(OtherDraw([0.3, 0.9]), feedback=Fixed(3)), {}),  # trials of late rewards
        (thompson(), Environment(OtherDraw([0.3, 0.9]), reward_range=(0.0, 2.0)), {}),  # which may leave their range
        (ucb1(), WORLDS["awake"], {"metrics": [Last()]}),
        (ucb1(), Environment(Bernoulli([0.3, 0.9]), feedback=Geometric(0.1, named=True)), {}),
        (ucb1(), Environment(Bernoulli([0.0, 0.0]), feedback=ByReward([[0, 5]], values=[0.0, 2.0])), {}),
        (ucb1(), Environment(Bernoulli([0.3, 0.9]), feedback=Polynomial(2.0)), {}),
        (ucb1(), Environment(Beta([0.3, 0.9], [0.7, 0.1]), reward_range=(0.0, 2.0)), {}),
        (ucb1(evidence="mature"), WORLDS["awake"], {}),
        (fcts_d(Power(exponent=1.5)), WORLDS["awake"], {}),  # by a power of the C library
        (fcts_d(MERIT, free_start=True), WORLDS["awake"], {}),
        (fcucb_d(Power(beta=50.0, exponent=4.0), horizon=150), WORLDS["awake"], {}),  # whose best point is searched
        (fcts_d(MERIT), WORLDS["asleep"], {}),
        (Policy(ExponentialWeights(OwnMixing()), Mixing(0.1), OneArm()), WORLDS["awake"], {}),
        (Policy(ExponentialWeights(0.1), Mixing(OwnMixing()), OneArm()), WORLDS["awake"], {}),
        (fcts_d(MERIT, plays=1), evolve(WORLDS["awake"], feedback=Adversary(lambda *seen: 1.0)), {}),
    ],
)
def test_what_has_no_rule_is_left_to_numpy(
    policy: Policy, world: Environment, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    played(monkeypatch, "compiled", policy, world, **options)
    assert not blocks


def test_an_own_part_with_rules_of_its_own_is_compiled(monkeypatch: pytest.MonkeyPatch, blocks: list[int]) -> None:
    class Eager(UCB):
        """Explores more."""

        def rules(self) -> IndexRules:
            """Of its own."""
            return IndexRules("bound", "nothing", lambda times, arms: 2.0 * np.log(times))

    assert_equal(*(played(monkeypatch, one, Policy(Eager()), WORLDS["awake"]) for one in ("compiled", "numpy")))
    assert blocks


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """The seconds of a process that has not compiled anything yet."""
    monkeypatch.setattr(engines, "_loaded", set())
    monkeypatch.setattr(engines, "_seconds", dict.fromkeys(engines._seconds, 0.0))
    monkeypatch.setattr(engines, "is_kept", lambda loop: False)
    return engines._seconds


def test_it_starts_by_itself_where_it_pays(
    monkeypatch: pytest.MonkeyPatch, blocks: list[int], fresh: dict[str, float]
) -> None:
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])
    assert not blocks
    fresh[engines.BOUNDS] = engines.PAYS
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])
    assert blocks


def test_it_starts_earlier_where_it_was_compiled_before(
    monkeypatch: pytest.MonkeyPatch, blocks: list[int], fresh: dict[str, float]
) -> None:
    fresh[engines.BOUNDS] = engines.PAYS_KEPT
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])
    assert not blocks
    monkeypatch.setattr(engines, "is_kept", lambda loop: loop == engines.BOUNDS)
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])
    assert blocks


def test_each_loop_has_to_pay(monkeypatch: pytest.MonkeyPatch, blocks: list[int], fresh: dict[str, float]) -> None:
    fresh[engines.BOUNDS] = engines.PAYS
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])
    assert len(blocks) == 1
    played(monkeypatch, "auto", HELD["ars_ucb"], WORLDS["awake"])  # of the other loop
    played(monkeypatch, "auto", ucb1(), WORLDS["awake"])  # which is loaded
    assert len(blocks) == 2


def test_draws_that_are_not_numpys_are_left_to_numpy(
    monkeypatch: pytest.MonkeyPatch, blocks: list[int], fresh: dict[str, float]
) -> None:
    assert trusted.trusted()
    monkeypatch.setattr(trusted, "trusted", lambda: False)
    played(monkeypatch, "compiled", thompson(), WORLDS["awake"])
    assert not blocks


def test_another_draw_is_noticed(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(trusted, "SHAPES", ((2.0, 3.0),))
    monkeypatch.setattr(trusted, "draw", lambda won, lost, words, drawn: drawn.fill(0.5))
    trusted.trusted.cache_clear()
    assert not trusted.trusted()
    assert "draws from Beta(2, 3) are not those of the compiled engine" in caplog.text
    trusted.trusted.cache_clear()


RULES = {
    "expected": odaaf(horizon=3000, mean_delay=3.0),
    "bounded": odaaf(horizon=100, rule="bounded", mean_delay=3.0, max_delay=7.0),
    "composite": odaaf(horizon=3000, rule="composite", max_delay=7),
}


@pytest.mark.parametrize("spread", ["now", *SPREADS])
@pytest.mark.parametrize("rule", RULES)
def test_phases_of_elimination_are_alike(
    rule: str, spread: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    world = evolve(WORLDS["awake"], feedback=SPREADS.get(spread, Immediate()))
    options = {"horizon": 3000, "lanes": 20}
    assert_equal(*(played(monkeypatch, engine, RULES[rule], world, **options) for engine in ("compiled", "numpy")))
    assert blocks


LOG = np.random.default_rng(5).uniform(1.0, 5.0, (150, 4)).round(1)
DRAWN = {
    "ratings": Environment(
        Categorical([1.0, 2.5, 5.0], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3], [1, 0, 0]])
    ),
    "normal": Environment(Gaussian([0.3, 0.9, 0.5, 0.7], sd=2.0)),
    "winners": Environment(Winners([0.1, 0.2, 0.3, 0.4])),
    "shuffled": Environment(Table(LOG / 5.0, order="shuffled")),
    "asleep": Environment(Table(LOG / 5.0), availability=Independent([0.9, 0.3, 0.6, 0.5])),
    "clicks": Environment(Table(LOG.max(axis=-1, keepdims=True) == LOG), feedback=NonOblivious(3)),
    "own": Environment(OtherDraw([0.3, 0.9, 0.5, 0.7])),
}


@pytest.mark.parametrize("world", DRAWN)
@pytest.mark.parametrize("name", ["fucb", "soft", "lfg", "mean", "thompson", "ars_ucb", "exp3", "clw"])
def test_rewards_that_numpy_draws_are_alike(
    name: str, world: str, monkeypatch: pytest.MonkeyPatch, blocks: list[int]
) -> None:
    policy, place = {**POLICIES, **HELD, **WEIGHTED}[name], DRAWN[world]
    if policy.bounded and not place.bounded:
        return
    compiled = played(monkeypatch, "compiled", policy, place)
    assert bool(blocks) == (name != "thompson" or world != "clicks")  # trials of sums
    assert_equal(compiled, played(monkeypatch, "numpy", policy, place))


def test_checkpoints_beyond_what_is_kept_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "KEPT", 1000)
    for policy in (fucb(SHARES), HELD["ars_ucb"]):
        world = WORLDS["asleep"] if policy.name == "fucb" else evolve(WORLDS["awake"], feedback=SPREADS["bounded"])
        options = {"checkpoints": 50}
        assert_equal(*(played(monkeypatch, engine, policy, world, **options) for engine in ("compiled", "numpy")))


def test_an_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EvenhandError, match="EVENHAND_ENGINE must be 'auto' or 'numpy' or 'compiled', got 'fast'"):
        played(monkeypatch, "fast", ucb1(), WORLDS["awake"])


def test_without_numba_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    engines._installed.cache_clear()
    with pytest.raises(EvenhandError, match=r"numba is not installed; the extra 'fast' brings it"):
        played(monkeypatch, "compiled", ucb1(), WORLDS["awake"])
    assert played(monkeypatch, "auto", ucb1(), WORLDS["awake"]).pulls.sum() > 0
    engines._installed.cache_clear()
