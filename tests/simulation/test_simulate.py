"""Simulations: what the results depend on, and what they do not."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Environment, EvenhandError, InfeasiblePromise, PerLane, Policy, Results, compare, simulate
from evenhand.algorithms import fair_random, fucb, hard_threshold_ucb, lfg, thompson, tscsf_b, ucb1
from evenhand.core.state import Observation, State
from evenhand.core.streams import STRAND
from evenhand.environment.availability import Independent
from evenhand.environment.rewards import Bernoulli, Gaussian, Rewards, Table
from evenhand.policy.claim import Fairness, Ranking
from evenhand.policy.hold import Hold
from evenhand.simulation.setup import CHECKPOINTS
from evenhand.simulation.simulate import checkpoint_rounds, cut
from evenhand.simulation.tables import JoinedResult, PolicyResult

SHARES = [0.1, 0.2, 0.15]
WORLD = Environment(Bernoulli([0.8, 0.5, 0.3]), Independent([0.9, 0.8, 1.0]), fractions=SHARES, penalties=0.2)
POLICIES = {
    "ucb": ucb1(),
    "fair": fucb(SHARES),
    "queue": lfg(SHARES, eta=5.0),  # draws its ties
    "sampled": tscsf_b(SHARES, eta=5.0, plays=2),
}


def same(one: Results, other: Results, labels: Any = None) -> None:
    """The same numbers to the last bit."""
    for label in labels or one.policies:
        here, there = one.policies[label], other.policies[label]
        assert (here.pulls == there.pulls).all(), label
        assert set(here.curves) == set(there.curves)
        for name, curve in here.curves.items():
            assert (curve == there.curves[name]).all(), (label, name)
        np.testing.assert_array_equal(here.estimate, there.estimate)
        np.testing.assert_array_equal(here.score, there.score)


def run(policies: Any = None, **options: Any) -> Results:
    given: dict[str, Any] = {"horizon": 60, "lanes": 7, "seed": 5, "checkpoints": 4, "progress": False}
    return compare(policies or POLICIES, WORLD, **given | options)


# --- what the results depend on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("lanes", [7, 2 * STRAND + 3])
def test_the_number_of_processes_changes_nothing(lanes: int) -> None:
    same(run(lanes=lanes, jobs=1), run(lanes=lanes, jobs=2))


def test_who_runs_beside_changes_nothing() -> None:
    together = run()
    for label, policy in POLICIES.items():
        same(run({label: policy}), together, [label])
    backwards = run(dict(reversed(POLICIES.items())))
    same(together, backwards)


def test_the_same_seed_gives_the_same_results_and_another_seed_others() -> None:
    same(run(), run())
    assert (run().policies["sampled"].pulls != run(seed=6).policies["sampled"].pulls).any()


def test_where_checkpoints_lie_changes_nothing() -> None:
    few, all_of_them = run(checkpoints=[20, 60]), run(checkpoints=60)
    for label in POLICIES:
        for name, curve in few.policies[label].curves.items():
            assert (curve == all_of_them.policies[label].curves[name][[19, 59]]).all()


def test_a_longer_run_begins_as_a_shorter_one() -> None:
    short, long = run(horizon=30, checkpoints=[10, 30]), run(horizon=60, checkpoints=[10, 30])
    for label in POLICIES:
        assert (short.policies[label].pulls == long.policies[label].pulls[:2]).all()


def test_blocks_have_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.core.streams.STRAND", 3)
    whole = run(lanes=7)
    # The first block is that of a run with fewer lanes; the last one has a single lane.
    for label in POLICIES:
        first = run(lanes=3).policies[label]
        assert (whole.policies[label].pulls[:, :3] == first.pulls).all()
        assert whole.policies[label].pulls.shape == (4, 7, 3)
    pulls = whole.policies["sampled"].pulls
    assert (pulls[:, 0] != pulls[:, 3]).any()
    assert (pulls[:, 3] != pulls[:, 6]).any()


def test_simulate_is_compare_with_one_policy() -> None:
    options: dict[str, Any] = {"horizon": 30, "lanes": 4, "seed": 2, "checkpoints": 3}
    alone = simulate(fucb(SHARES), WORLD, **options)
    assert list(alone.policies) == ["fucb"]
    same(alone, compare([fucb(SHARES)], WORLD, **options))
    assert list(simulate(Policy(), WORLD, 5, 1).policies) == ["policy"]


def test_lanes_by_parameter_are_those_of_single_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # With a block a lane, lane l of a run with means by lane is lane l of a run with its means throughout.
    monkeypatch.setattr("evenhand.core.streams.STRAND", 1)
    means = np.array([[0.9, 0.1], [0.2, 0.6], [0.5, 0.4]])
    penalties = np.array([[0.4], [0.2], [0.05]])
    shares = np.array([[0.1, 0.2], [0.3, 0.3], [0.0, 0.4]])
    options: dict[str, Any] = {"horizon": 40, "lanes": 3, "seed": 1, "checkpoints": 4, "progress": False}
    together = compare(
        {"it": hard_threshold_ucb(PerLane(shares), penalties=PerLane(penalties))},
        Environment(Gaussian(PerLane(means), PerLane(penalties))),
        **options,
    )
    for lane in range(3):
        policy = hard_threshold_ucb(shares[lane], penalties=penalties[lane])
        single = compare({"it": policy}, Environment(Gaussian(means[lane], penalties[lane])), **options)
        assert (together.policies["it"].pulls[:, lane] == single.policies["it"].pulls[:, lane]).all()
        for name, curve in single.policies["it"].curves.items():
            np.testing.assert_allclose(together.policies["it"].curves[name][:, lane], curve[:, lane], atol=1e-12)
        assert together.promised["it"] is not None
        assert together.promised["it"][lane].tolist() == shares[lane].tolist()


# --- what comes back --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("horizon", "checkpoints"), [(60, 4), (600, 4), (60, 60), (60, [1, 5])])
def test_results_grow_with_lanes_and_checkpoints_and_not_with_the_horizon(horizon: int, checkpoints: Any) -> None:
    results = run({"fair": fucb(SHARES)}, horizon=horizon, lanes=3, checkpoints=checkpoints)
    record, count = results.policies["fair"], len(results.rounds)
    assert count == (checkpoints if isinstance(checkpoints, int) else len(checkpoints) + 1)
    assert record.pulls.shape == (count, 3, 3)
    assert record.pulls.dtype == np.int32
    assert all(curve.shape == (count, 3) for curve in record.curves.values())
    assert record.estimate.shape == (3, 3)
    assert record.score.shape == (3, 3)


def test_pulls_count_up_to_every_checkpoint() -> None:
    world = Environment(Bernoulli([0.8, 0.5, 0.3]))
    results = compare([thompson(plays=2), fair_random(SHARES)], world, 50, 3, checkpoints=5, progress=False)
    assert (results.policies["thompson"].pulls.sum(axis=-1) == 2 * results.rounds[:, np.newaxis]).all()
    assert (results.policies["fair_random"].pulls.sum(axis=-1) == results.rounds[:, np.newaxis]).all()


def test_estimates_are_means_of_what_was_earned() -> None:
    # A log in which every arm always earns the same: its mean is known after one play, and NaN before it.
    world = Environment(Table(np.tile([0.25, 0.75, 0.5], (20, 1))))
    results = compare({"it": fucb([0.0, 0.0, 0.5])}, world, 2, 2, progress=False)
    estimate = results.policies["it"].estimate
    # Nobody is owed anything in round 1, so arm 1 goes by its index; arm 3 is owed half a play in round 2.
    assert estimate[:, 0].tolist() == [0.25, 0.25]
    assert np.isnan(estimate[:, 1]).all()
    assert estimate[:, 2].tolist() == [0.5, 0.5]
    # UCB1 for round 3: x + sqrt(2 ln 3 / 1), and infinity for the arm that never played.
    expected = [0.25 + np.sqrt(2 * np.log(3)), np.inf, 0.5 + np.sqrt(2 * np.log(3))]
    np.testing.assert_allclose(results.policies["it"].score[0], expected, rtol=1e-12)


def test_what_is_told_of_the_run() -> None:
    results = run()
    assert results.rounds.tolist() == [15, 30, 45, 60]
    assert results.names == ("1", "2", "3")
    information = results.information
    assert [information[key] for key in ("horizon", "lanes", "seed", "rounds")] == [60, 7, 5, [15, 30, 45, 60]]
    assert list(information["policies"]) == list(POLICIES)
    assert information["versions"]["numpy"] == np.__version__
    promised = results.promised["ucb"]
    assert promised is not None
    assert promised.tolist() == SHARES


# --- checkpoints ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("horizon", "checkpoints", "spacing", "expected"),
    [
        (100, 4, "even", [25, 50, 75, 100]),
        (10, 3, "even", [3, 7, 10]),
        (5, 200, "even", [1, 2, 3, 4, 5]),
        (7, 1, "even", [7]),
        (1, 10, "even", [1]),
        (10_000, 5, "log", [1, 10, 100, 1000, 10_000]),
        (4, 4, "log", [1, 2, 3, 4]),  # 1, 1.59, 2.52, 4
        (10, 10, "log", [1, 2, 3, 4, 5, 6, 8, 10]),  # 1, 1.3, 1.7, 2.2, 2.8, 3.6, 4.6, 6.0, 7.7, 10
        (50, 1, "log", [50]),
        (50, [3, 20], "even", [3, 20, 50]),
        (50, [20, 3, 20, 50], "log", [3, 20, 50]),
        (50, [], "even", [50]),
        (50, (7,), "even", [7, 50]),
    ],
)
def test_checkpoint_rounds(horizon: int, checkpoints: Any, spacing: str, expected: list[int]) -> None:
    assert checkpoint_rounds(horizon, checkpoints, spacing).tolist() == expected


def test_checkpoints_by_default() -> None:
    assert len(checkpoint_rounds(100_000)) == CHECKPOINTS
    log = checkpoint_rounds(100_000, spacing="log")
    assert log[0] == 1
    assert log[-1] == 100_000
    assert (np.diff(log) > 0).all()


def test_a_numpy_integer_is_a_number_of_checkpoints() -> None:
    number: Any = np.int64(4)
    assert checkpoint_rounds(100, number).tolist() == [25, 50, 75, 100]


@pytest.mark.parametrize(
    ("checkpoints", "spacing", "message"),
    [
        (0, "even", "checkpoints must be at least 1, got 0"),
        (True, "even", "checkpoints must be a whole number, got True"),
        ([0, 5], "even", r"checkpoints\[0\] must be at least 1, got 0"),
        ([5, 51], "even", r"checkpoints\[1\] = 51 is not one of the 50 rounds"),
        ([2.5], "even", r"checkpoints\[0\] must be a whole number, got 2.5"),
        (5, "dense", "spacing must be 'even' or 'log', got 'dense'"),
    ],
)
def test_wrong_checkpoints_are_refused(checkpoints: Any, spacing: str, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        checkpoint_rounds(50, checkpoints, spacing)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"horizon": 1.5}, "horizon must be a whole number, got 1.5"),
        ({"lanes": 0}, "lanes must be at least 1, got 0"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": "one"}, "seed must be a whole number, got 'one'"),
        ({"lanes": 10**12, "checkpoints": 1}, r"the results would take 124,000 GB.*use fewer lanes or checkpoints"),
        ({"policies": []}, "there is no policy to simulate"),
        ({"policies": {}}, "there is no policy to simulate"),
        (
            {"policies": [ucb1(), fucb(SHARES), ucb1()]},
            r"policies\[2\]: two policies are labelled 'ucb1'; give each its",
        ),
        ({"policies": [Policy(), Policy()]}, "two policies are labelled 'policy'"),
        ({"policies": [thompson(plays=4)]}, "plays = 4, but there are only 3 arms to play"),
        ({"policies": [fucb([0.1, 0.1])]}, "fractions has 2 entries, but there are 3 arms"),
        ({"policies": {"greedy": fucb([0.5, 0.5, 0.5])}}, "the promised shares of 'greedy' cannot be kept"),
        ({"policies": [fucb(PerLane(np.full((6, 3), 0.1)))]}, "a parameter is given for 6 lanes, but lanes = 7"),
        ({"policies": [hard_threshold_ucb(SHARES, penalties=PerLane(np.ones((2, 1))))]}, "given for 2 lanes"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_runs(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: Any) -> None:
        raise AssertionError("something ran")

    monkeypatch.setattr("evenhand.simulation.parallel.run", never)
    given: dict[str, Any] = {"policies": [ucb1()], "horizon": 10, "lanes": 7, "progress": False} | options
    policies = given.pop("policies")
    with pytest.raises(EvenhandError, match=message):
        compare(policies, WORLD, **given)


def test_lanes_of_the_environment_must_be_those_of_the_run() -> None:
    world = Environment(Bernoulli(PerLane(np.full((3, 2), 0.5))))
    with pytest.raises(EvenhandError, match="a parameter is given for 3 lanes, but lanes = 4"):
        compare([ucb1()], world, 10, 4, progress=False)
    assert compare([ucb1()], world, 10, 3, progress=False).policies["ucb1"].pulls.shape[1] == 3


def test_promises_are_checked_against_who_sleeps() -> None:
    world = Environment(Bernoulli([0.8, 0.5]), Independent([1.0, 0.3]), names=("tea", "coffee"))
    with pytest.raises(
        InfeasiblePromise, match=r"arm 'coffee' is promised 0\.4 of the rounds but can play in at most 0\.3"
    ):
        compare([fucb([0.1, 0.4])], world, 10, 2, progress=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policies": 3}, "policies[0] must be a policy such as fucb([0.1, 0.2]), the name of an algorithm such as"),
        ({"policies": [ucb1(), 3]}, "policies[1] must be a policy such as fucb([0.1, 0.2]), the name of an"),
        ({"policies": {"a": None}}, "policies.a must be a policy such as fucb([0.1, 0.2]), the name of an algorithm"),
        ({"policies": {1: ucb1()}}, "policies: the label of a policy must be a string, got 1"),
        ({"environment": [0.8, 0.5]}, "environment must be an object such as Environment(Bernoulli([0.9, 0.5])), got"),
        ({"checkpoints": 0.5}, "checkpoints must be a whole number, or a list of rounds, got 0.5"),
        ({"metrics": 5}, "metrics[0] must be a Metric, or the name of a kind or its table, got 5"),
    ],
)
def test_arguments_of_another_type_are_refused(arguments: dict[str, Any], message: str) -> None:
    run: dict[str, Any] = {"policies": [ucb1()], "environment": Environment(Bernoulli([0.8, 0.5])), "horizon": 10}
    with pytest.raises(EvenhandError) as caught:
        compare(**(run | arguments), lanes=2, progress=False)
    assert str(caught.value).startswith(message)


# --- memory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_joining_takes_one_block_beside_the_results_and_the_check_counts_it(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_ENGINE", engine)
    # Ten blocks of 200 lanes: kept until the last one comes, and then joined, they would take twice their size.
    lanes, arms = 2000, 200
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, arms)))
    given: dict[str, Any] = {"horizon": 20, "lanes": lanes, "checkpoints": 20, "progress": False}
    largest = max(block.stop - block.start for block in cut(lanes, arms, policies=1, processes=1))
    compare([ucb1()], world, horizon=1, lanes=1, progress=False)  # imports take memory
    tracemalloc.start()
    try:
        results = compare([ucb1()], world, **given)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    size = sum(array.nbytes for array in results.policies["ucb1"].arrays.values())
    assert size > 30e6
    simulation = 20 * 8 * arms * largest  # what a block needs while it runs: some arrays of a number per arm and lane
    assert size < peak < size * (1.0 + largest / lanes) + simulation
    # A little less memory than that is too little.
    memory = {"SC_PHYS_PAGES": int(size * (1.0 + 0.9 * largest / lanes)), "SC_PAGE_SIZE": 1}
    monkeypatch.setattr("os.sysconf", memory.__getitem__)
    with pytest.raises(EvenhandError, match="use fewer lanes or checkpoints"):
        compare([ucb1()], world, **given)


@pytest.mark.parametrize("backwards", [False, True])
def test_blocks_are_joined_in_whatever_order_they_come(backwards: bool) -> None:
    spans = [slice(0, 300), slice(300, 500), slice(500, 700)]
    numbers = np.random.default_rng(1)
    pulls, reward = numbers.integers(0, 99, (4, 700, 3), dtype=np.int32), numbers.random((4, 700))
    estimate, score = numbers.random((2, 700, 3))
    blocks = [PolicyResult(pulls[:, span], {"reward": reward[:, span]}, estimate[span], score[span]) for span in spans]
    joined = JoinedResult(spans)
    order = [2, 1, 0] if backwards else [0, 1, 2]
    assert [joined.put(place, blocks[place]) for place in order[:2]] == [None, None]
    whole = joined.put(order[2], blocks[order[2]])
    assert whole is not None
    assert (whole.pulls == pulls).all()
    assert (whole.curves["reward"] == reward).all()
    assert (whole.estimate == estimate).all()
    assert (whole.score == score).all()


# --- how the lanes are cut --------------------------------------------------------------------------------------------


@given(lanes=st.integers(1, 5000), arms=st.integers(1, 3000), policies=st.integers(1, 9), processes=st.integers(1, 40))
@settings(deadline=None)
def test_blocks_are_whole_strands_side_by_side(lanes: int, arms: int, policies: int, processes: int) -> None:
    blocks = cut(lanes, arms, policies, processes)
    assert [block.start for block in blocks] == [0, *(block.stop for block in blocks[:-1])]
    assert blocks[-1].stop == lanes
    assert all(block.start % STRAND == 0 and block.start < block.stop for block in blocks)


def test_the_work_is_cut_where_that_saves_time() -> None:
    assert len(cut(1000, 10, policies=1, processes=1)) == 1
    assert len(cut(1000, 10, policies=1, processes=2)) == 2
    assert len(cut(1000, 10, policies=2, processes=2)) == 1  # a policy for each process
    assert len(cut(1000, 10, policies=3, processes=2)) == 2  # rather than two in one process and one in the other
    assert len(cut(100, 1000, policies=1, processes=8)) == 1  # a strand is never cut
    assert len(cut(10_000, 100, policies=1, processes=1)) > 1  # blocks are limited


def test_the_first_lanes_are_those_of_a_smaller_run() -> None:
    short, long = run(lanes=STRAND), run(lanes=2 * STRAND)
    for label, result in short.policies.items():
        assert (long.policies[label].pulls[:, :STRAND] == result.pulls).all()
        for name, curve in result.curves.items():
            assert (long.policies[label].curves[name][:, :STRAND] == curve).all(), (label, name)


class Ranked(Fairness):
    """A ranking of all arms but one."""

    def claim(self, score: Any, state: State) -> Ranking:
        return Ranking(score[..., 1:])


class Held(Hold):
    """A hold that gives the arms alone."""

    def continued(self, state: State, observation: Observation, rng: np.random.Generator) -> Any:
        return np.zeros(state.tally.pulls.shape, dtype=bool)


class Paid(Rewards):
    """Rewards of one's own."""

    means = range = None  # type: ignore[assignment]

    def __init__(self, paid: Any, means: Any = (0.5, 0.5, 0.5), range: Any = None) -> None:
        self.paid, self.means, self.range = paid, np.array(means), range

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return self.paid((len(rows), lanes, 3))


OF_SHAPE = "gives what is of another shape or kind than is asked for"
DRAWN = r"the rewards that are drawn must have the shape \(10, 5, 3\)"


@pytest.mark.parametrize(
    ("policy", "rewards", "fault"),
    [
        (Policy(fairness=Ranked()), None, f"^Ranked {OF_SHAPE}: ValueError: operands could not be broadcast"),
        (Policy(hold=Held()), None, f"^Held {OF_SHAPE}: ValueError: too many values to unpack"),
        (ucb1(), Paid(lambda shape: np.zeros((*shape[:2], 2))), f"^Paid {OF_SHAPE}: ValueError|{DRAWN}, got .*2"),
        (ucb1(), Paid(lambda shape: None), f"^Paid {OF_SHAPE}: TypeError|{DRAWN}, got ..$"),
        (ucb1(), Paid(np.ones, (0.5, np.nan, 0.5)), r"Paid.means\[1\] must be a finite number, got nan"),
        (
            ucb1(),
            Paid(np.ones, range=(1.0, 0.0)),
            "Paid.range must be the smallest and the largest reward, got 1 and 0",
        ),
    ],
)
def test_parts_of_ones_own_are_refused_that_give_what_no_round_can_use(
    policy: Policy, rewards: Rewards | None, fault: str
) -> None:
    world = Environment(rewards or Bernoulli([0.8, 0.5, 0.3]))
    with pytest.raises(EvenhandError, match=fault):
        compare(policy, world, horizon=10, lanes=5, progress=False)
