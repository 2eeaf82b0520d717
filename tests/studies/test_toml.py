"""The configuration file: a public contract, and the errors that it gives."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Environment
from evenhand.core.errors import ConfigurationError, DataError, EvenhandError
from evenhand.core.parts import kinds, plain
from evenhand.core.state import PerLane
from evenhand.datasets import clicks, conversions, movielens
from evenhand.environment.availability import Independent, Joint, Logged
from evenhand.environment.delays import ByReward, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.environment.feedback import Immediate
from evenhand.environment.rewards import Beta, Categorical, Gaussian, Table, Winners
from evenhand.feedback import (
    Bounded,
    Decreasing,
    Discounted,
    Increasing,
    Kernel,
    NonOblivious,
    Polynomial,
    RandomDelay,
)
from evenhand.policy.fairness import MeritShares
from evenhand.policy.hold import GeometricSize, HoldFor, PowerSize
from evenhand.policy.merit import Linear, Power, Softmax, Tabulated, Threshold
from evenhand.policy.virtual_queue import VirtualQueue
from evenhand.simulation.setup import Setup
from evenhand.studies import configuration as config

BERNOULLI = {"kind": "bernoulli", "means": [0.9, 0.8, 0.7]}
CONTRACT = """
horizon = 2000            # rounds
lanes = 600               # independent replications
seed = 7
plays = 1                 # arms played per round (m), default 1
[environment]
rewards      = { kind = "bernoulli", means = [0.9, 0.8, 0.7] }
availability = { kind = "always" }
feedback     = { kind = "immediate" }
[[policies]]
label = "FUCB"            # default: the algorithm's name
algorithm = "fucb"
fractions = [0.05, 0.05, 0.02]
"""


def parse(*policies: dict[str, Any], **changes: Any) -> Setup:
    data: dict[str, Any] = {"horizon": 100, "lanes": 4, "environment": {"rewards": BERNOULLI}}
    return config.parse({**data, "policies": list(policies) or [{"algorithm": "ucb1"}], **changes})


def world(**environment: Any) -> Setup:
    return parse(environment={"rewards": BERNOULLI, **environment})


def test_the_contract_s_example_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(CONTRACT)
    setup = config.load(path)
    assert (setup.horizon, setup.lanes, setup.seed) == (2000, 600, 7)
    assert list(setup.policies) == ["FUCB"]
    assert setup.policies["FUCB"].plays == 1
    assert np.asarray(setup.policies["FUCB"].fractions).tolist() == [0.05, 0.05, 0.02]
    assert setup.environment.means.tolist() == [0.9, 0.8, 0.7]


def test_whole_numbers_may_have_an_exponent() -> None:
    setup = parse(**{"horizon": 1e3, "checkpoints": [1e1, 1e3]})
    assert (setup.horizon, setup.checkpoints) == (1000, [10, 1000])
    assert isinstance(setup.horizon, int)
    with pytest.raises(ConfigurationError, match=r"^horizon must be a whole number, got 10\.5$"):
        parse(**{"horizon": 10.5})


def test_overrides_come_before_the_file(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(CONTRACT)
    setup = config.load(path, seed=1, lanes=2, horizon=3)
    assert (setup.seed, setup.lanes, setup.horizon) == (1, 2, 3)
    assert config.load(path, seed=None, lanes=None, horizon=None).lanes == 600


@pytest.mark.parametrize(
    ("rewards", "kind", "means"),
    [
        ({"kind": "gaussian", "means": [0.1, 0.2, 0.3], "sd": 0.5}, Gaussian, [0.1, 0.2, 0.3]),
        ({"kind": "gaussian", "means": [0.1, 0.2], "sd": [0.5, 0.6]}, Gaussian, [0.1, 0.2]),
        ({"kind": "beta", "a": [1, 3], "b": [1, 1]}, Beta, [0.5, 0.75]),
        ({"kind": "beta", "means": [0.5, 0.75]}, Beta, [0.5, 0.75]),
        ({"kind": "categorical", "values": [0, 1], "probabilities": [[0.5, 0.5], [0.1, 0.9]]}, Categorical, [0.5, 0.9]),
    ],
)
def test_every_kind_of_reward(rewards: dict[str, Any], kind: type, means: list[float]) -> None:
    environment = parse(environment={"rewards": rewards}).environment
    assert isinstance(environment.rewards, kind)
    assert environment.means.tolist() == pytest.approx(means)


def test_reward_tables_and_availability_logs_are_found_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("tea,coffee\n1,\n0.5,0.25\n")
    (tmp_path / "awake.csv").write_text("tea,coffee\n1,0\n1,1\n")
    text = (
        'horizon = 2\n[environment]\nrewards = { kind = "table", path = "log.csv" }\navailability = {kind = "log"%s}\n'
    )
    for path in ("", ', path = "awake.csv"'):
        (tmp_path / "run.toml").write_text(text % path + '[[policies]]\nalgorithm = "ucb1"\n')
        environment = config.load(tmp_path / "run.toml").environment
        assert isinstance(environment.rewards, Table)
        assert isinstance(environment.availability, Logged)
        assert environment.names == ("tea", "coffee")
        assert environment.availability.table.tolist() == [[True, False], [True, True]]


def test_every_kind_of_availability() -> None:
    independent = world(availability={"kind": "independent", "probabilities": [0.9, 0.8, 0.7]}).environment
    assert isinstance(independent.availability, Independent)
    masks = {"kind": "joint", "sets": [[1, 0, 1], [1, 1, 1]], "probabilities": [0.25, 0.75]}
    names = {"kind": "joint", "sets": [["a", "c"], ["a", "b", "c"]], "probabilities": [0.25, 0.75]}
    for joint in (masks, names):
        availability = world(arms=["a", "b", "c"], availability=joint).environment.availability
        assert isinstance(availability, Joint)
        assert availability.sets.tolist() == [[True, False, True], [True, True, True]]


def test_what_a_policy_does_not_give_comes_from_the_environment() -> None:
    stakes = {"fractions": [0.1, 0.1, 0.1], "penalties": 0.3, "weights": [1, 2, 3]}
    environment = {"rewards": BERNOULLI, **stakes}
    setup = parse(
        {"algorithm": "hard_threshold_ucb"},
        {"algorithm": "tscsf_b", "eta": 10, "fractions": [0.2, 0.2, 0.2]},
        environment=environment,
    )
    threshold, queue = setup.policies["hard_threshold_ucb"], setup.policies["tscsf_b"]
    assert np.asarray(threshold.fractions).tolist() == [0.1, 0.1, 0.1]
    assert np.asarray(threshold.fairness.penalties).tolist() == [0.3]
    assert np.asarray(queue.fractions).tolist() == [0.2, 0.2, 0.2]
    assert np.asarray(queue.fairness.weights).tolist() == [1, 2, 3]


def test_a_grid_is_a_policy_for_every_point() -> None:
    setup = parse({"algorithm": "lfg", "fractions": [0.1] * 3, "grid": {"eta": [1, float("inf")], "ties": ["first"]}})
    assert list(setup.policies) == ["lfg eta=1 ties=first", "lfg eta=inf ties=first"]
    fairness = setup.policies["lfg eta=inf ties=first"].fairness
    assert isinstance(fairness, VirtualQueue)
    assert fairness.eta == float("inf")


def test_drawn_means_differ_between_lanes_and_follow_the_seed() -> None:
    rewards = {"kind": "bernoulli", "means": {"kind": "uniform", "arms": 3, "low": 0.2, "high": 0.4}}
    environment = {"rewards": rewards, "penalties": {"kind": "half_range"}, "fractions": [0.1, 0.1, 0.1]}
    policy = {"algorithm": "hard_threshold_ucb"}
    first, again, other = (parse(policy, environment=environment, seed=seed).environment for seed in (1, 1, 2))
    means = first.means
    assert means.shape == (4, 3)
    assert ((means >= 0.2) & (means <= 0.4)).all()
    assert (means == again.means).all()
    assert (means != other.means).all()
    assert isinstance(first.penalties, PerLane)
    assert np.asarray(first.penalties)[:, 0] == pytest.approx((means.max(axis=1) - means.min(axis=1)) / 2)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"horizn": 3}, "unknown key 'horizn'; did you mean 'horizon'?"),
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"lanes": True}, "lanes must be a whole number, got True"),
        ({"horizon": 1e300}, "horizon must be less than or equal to 9223372036854775807, got 1"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"policies": []}, "policies: there is no policy to simulate; give at least one"),
        ({"policies": [{"algorithm": "fucbb"}]}, "there is no algorithm 'fucbb'; did you mean 'fucb'?"),
        ({"policies": [{"label": "x"}]}, "policies[0]: give an algorithm, or a table for one of index, fairness"),
        (
            {"environment": {"rewards": {"kind": "bernouli", "means": [1]}}},
            "unknown kind 'bernouli'; did you mean 'bernoulli'?",
        ),
        (
            {"environment": {"rewards": {"means": [1]}}},
            "environment.rewards needs a kind; known: bernoulli, gaussian, beta, categorical, table",
        ),
        ({"environment": {"rewards": {"kind": "bernoulli", "mean": [1]}}}, "unknown key 'mean'; did you mean 'means'?"),
        (
            {"environment": {"rewards": {"kind": "bernoulli", "means": [0.5, "a"]}}},
            "environment.rewards.means[1] must be a number, got 'a'",
        ),
        ({"environment": {"rewards": {"kind": "gaussian", "means": [1]}}}, "environment.rewards.sd is missing"),
        (
            {"environment": {"rewards": {"kind": "beta", "means": [0.5], "a": [1]}}},
            "environment.rewards: Beta rewards need either a and b, or means",
        ),
        ({"environment": {}}, "environment: give either rewards or a dataset"),
        ({"environment": {"dataset": "films", "arms": ["a"]}}, "a dataset has its own arms"),
        (
            {"environment": {"rewards": BERNOULLI, "feedback": {"kind": "geom"}}},
            "environment.feedback: unknown kind 'geom'",
        ),
        (
            {"environment": {"rewards": BERNOULLI, "arms": "tea"}},
            "environment.arms must be a list of names, got 'tea'",
        ),
        (
            {"environment": {"rewards": BERNOULLI | {"means": {"kind": "uniform", "arms": 3, "low": "a"}}}},
            "environment.rewards.means.low must be a number, got 'a'",
        ),
        (
            {
                "environment": {
                    "rewards": BERNOULLI | {"means": {"kind": "uniform", "arms": 3, "low": 0.8, "high": 0.2}}
                }
            },
            "environment.rewards.means.high must be a number of at least 0.8, got 0.2",
        ),
        ({"spacing": "linear"}, "spacing must be 'even' or 'log', got 'linear'"),
    ],
)
def test_a_wrong_file_is_refused_with_the_place_and_the_remedy(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse(**changes)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "table",
    [
        {"availability": {"kind": "joint", "sets": [["1"], ["2"]], "probabilities": [0.5, 0.5]}},
        {"availability": {"kind": "log", "path": "log.csv"}},
        {"availability": {"kind": "log"}},
        {"feedback": {"kind": "empirical", "path": "log.csv"}},
        {"penalties": {"kind": "half_range"}},
    ],
    ids=str,
)
def test_what_needs_the_rewards_is_not_blamed_for_their_fault(table: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("tea,coffee\n1,1\n")
    environment = {"rewards": {"kind": "bernoulli", "means": [2.0, 0.5]}, **table}
    data = {"horizon": 1, "policies": [{"algorithm": "ucb1"}], "environment": environment}
    with pytest.raises(ConfigurationError) as error:
        config.parse(data, tmp_path)
    assert str(error.value) == "environment.rewards.means[0] must be a number in [0, 1], got 2.0"


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ({"algorithm": "fucb"}, "policies[0].fractions is missing: fucb needs it, here or in [environment]"),
        ({"algorithm": "lfg", "fractions": [0.1] * 3}, "policies[0].eta is missing: lfg needs it"),
        (
            {"algorithm": "fucb", "fractons": [0.1] * 3},
            "policies[0]: unknown parameter 'fractons' of fucb; did you mean 'fractions'?",
        ),
        (
            {"algorithm": "ucb1", "plays": 2},
            "policies[0]: unknown parameter 'plays' of ucb1: it is set for the whole run",
        ),
        (
            {"algorithm": "ucb1", "fractions": [0.1] * 3},
            "unknown parameter 'fractions' of ucb1: it takes none; a table of parts does, with fairness =",
        ),
        ({"algorithm": "fucb", "fractions": [0.1] * 4}, "fractions has 4 entries, but there are 3 arms"),
        (
            {"algorithm": "fucb", "fractions": [0.1, float("nan"), 0]},
            "fractions[1] must be a number in [0, 1], got nan",
        ),
        ({"algorithm": "fucb", "fractions": [0.1, 0.1, -0.1]}, "fractions[2] must be a number in [0, 1], got -0.1"),
        ({"algorithm": "lfg", "fractions": [0.1] * 3, "eta": -1}, "eta must be a number of at least 0 or inf, got -1"),
    ],
)
def test_a_wrong_policy_is_named(policy: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EvenhandError) as error:
        parse(policy)
    assert complaint in str(error.value)
    assert str(error.value).startswith("policies[0]")


def test_more_plays_than_arms_and_more_than_an_algorithm_can() -> None:
    with pytest.raises(EvenhandError, match="plays = 4, but there are only 3 arms"):
        parse(plays=4)
    with pytest.raises(ConfigurationError, match="naive plays one arm per round, but plays = 2"):
        parse({"algorithm": "naive", "fractions": [0.1] * 3}, plays=2)


def test_labels_must_differ() -> None:
    with pytest.raises(ConfigurationError, match="two policies are labelled 'ucb1'"):
        parse({"algorithm": "ucb1"}, {"algorithm": "ucb1", "exploration": 1})


def test_a_file_that_is_not_there_or_not_toml(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no file"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("horizon = = 3")
    with pytest.raises(ConfigurationError, match="not valid TOML"):
        config.load(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes("# é\n".encode("latin-1"))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        config.load(tmp_path / "latin.toml")


def test_errors_of_data_name_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("tea,coffee\n1,x\n")
    text = (
        'horizon = 1\n[environment]\nrewards = { kind = "table", path = "log.csv" }\n[[policies]]\nalgorithm = "ucb1"\n'
    )
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(DataError, match=r"run\.toml.*log\.csv, row 2, column coffee: 'x' is not a finite number"):
        config.load(tmp_path / "run.toml")


def test_blanks_of_a_table_need_a_log_of_who_sleeps(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("tea,coffee\n1,\n")
    text = (
        'horizon = 1\n[environment]\nrewards = { kind = "table", path = "log.csv" }\n[[policies]]\nalgorithm = "ucb1"\n'
    )
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises(EvenhandError, match="row 1 of the reward table has no reward for arm 'coffee'"):
        config.load(tmp_path / "run.toml")


def test_checkpoints_as_a_number_or_as_rounds() -> None:
    assert parse(checkpoints=5).checkpoints == 5
    assert parse(checkpoints=[10, 100]).checkpoints == [10, 100]


def test_logs_are_refused_unless_they_speak_of_the_same_arms(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("tea,coffee\n1,0.5\n")
    (tmp_path / "awake.csv").write_text("coffee,tea\n1,0\n")
    table = {"kind": "table", "path": "log.csv"}
    data: dict[str, Any] = {"horizon": 1, "policies": [{"algorithm": "ucb1"}]}
    environment = {"rewards": table, "availability": {"kind": "log", "path": "awake.csv"}}
    with pytest.raises(EvenhandError, match=r"awake\.csv are coffee, tea, but the arms are tea, coffee"):
        config.parse({**data, "environment": environment}, tmp_path)
    with pytest.raises(EvenhandError, match="arms must be the columns of the reward table, in this order: tea, coffee"):
        config.parse({**data, "environment": {"rewards": table, "arms": ["tea", "milk"]}}, tmp_path)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ({"eta": 20, "grid": {"eta": [5]}}, "'eta' is set both in grid.eta and in the policy: remove one of them"),
        ({"grid": {"eta": []}}, "policies[0].grid.eta must be a list with at least one value, got []"),
    ],
)
def test_a_grid_that_would_drop_something_is_refused(policy: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse({"algorithm": "lfg", "fractions": [0.1] * 3, **policy})
    assert complaint in str(error.value)


# --- feedback ---------------------------------------------------------------------------------------------------------


def kinds_of(slot: str) -> set[str]:
    """The kinds of a slot that the package has; other tests register some of their own."""
    return {name.partition("/")[0] for name, one in kinds(slot).items() if one.__module__.startswith("evenhand.")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Logs to be found beside the file."""
    (tmp_path / "delays.csv").write_text("1,2,3\n4,2,0\n,inf,1\n")
    (tmp_path / "all.csv").write_text("delay\n7\n3\n")
    (tmp_path / "others.csv").write_text("tea,coffee,cocoa\n1,2,3\n")
    (tmp_path / "broken.csv").write_text("1,2,3\n4,soon,0\n")
    clicks = ("1\t3600\t8400\tP\tlamp", "0\t-1\t8400\tP\tlamp", "1\t7200\t8400\tP\tsofa", "1\t-1\t1\tP\tsofa")
    (tmp_path / "log.tsv").write_text("".join(f"{click}\n" for click in clicks))
    return tmp_path


FEEDBACK: list[tuple[dict[str, Any], Any]] = [
    ({"kind": "immediate"}, Immediate()),
    ({"kind": "fixed", "delay": 3}, Fixed(3)),
    ({"kind": "fixed", "delay": [1, 2.5, math.inf]}, Fixed([1, 2, math.inf])),
    ({"kind": "geometric", "success": 0.05}, Geometric(0.05)),
    ({"kind": "geometric", "success": [0.1, 0.2, 1]}, Geometric([0.1, 0.2, 1.0])),
    ({"kind": "pareto", "tail": 0.5}, Pareto(0.5)),
    ({"kind": "pareto", "tail": [0.1, 0.2, 3]}, Pareto([0.1, 0.2, 3.0])),
    ({"kind": "packet_loss", "received": 0.3}, PacketLoss(0.3)),
    ({"kind": "packet_loss", "received": [0, 0.3, 1]}, PacketLoss([0.0, 0.3, 1.0])),
    ({"kind": "by_reward", "delays": [[0, 6000]]}, ByReward([[0, 6000]])),
    ({"kind": "by_reward", "delays": [[0, 9], [9, math.inf], [1, 1]]}, ByReward([[0, 9], [9, math.inf], [1, 1]])),
    ({"kind": "by_reward", "delays": [[0, 4, 9]], "values": [0, 0.5, 1]}, ByReward([[0, 4, 9]], [0.0, 0.5, 1.0])),
    ({"kind": "uniform", "low": 1, "high": 4}, Uniform(1, 4)),
    ({"kind": "uniform", "low": [1, 2, 3], "high": 4}, Uniform([1, 2, 3], 4)),
    ({"kind": "empirical", "path": "delays.csv"}, Empirical([[4.0], [2.0, math.inf], [0.0, 1.0]])),
    ({"kind": "empirical", "path": "all.csv"}, Empirical([3.0, 7.0])),
]


@pytest.mark.parametrize(("table", "expected"), FEEDBACK)
def test_every_kind_of_feedback(table: dict[str, Any], expected: Any, folder: Path) -> None:
    data = {"horizon": 9, "environment": {"rewards": BERNOULLI, "feedback": table}}
    setup = config.parse({**data, "policies": [{"algorithm": "ucb1"}]}, folder)
    assert plain(setup.environment.feedback) == plain(expected)


def test_no_kind_of_feedback_is_left_out() -> None:
    assert {table["kind"] for table, _ in FEEDBACK} == kinds_of("feedback")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("geometric", "environment.feedback.success is missing"),
        ({}, "environment.feedback needs a kind; known: immediate, fixed, geometric, pareto, p"),
        ({"success": 0.5}, "environment.feedback needs a kind; known: immediate, fixed, geometric, pareto, p"),
        ({"kind": "emprical"}, "environment.feedback: unknown kind 'emprical'; did you mean 'empirical'?"),
        ({"kind": "packetloss"}, "environment.feedback: unknown kind 'packetloss'; did you mean 'packet_loss'?"),
        ({"kind": "immediate", "delay": 3}, "environment.feedback: unknown key 'delay'; known: kind"),
        ({"kind": "fixed"}, "environment.feedback.delay is missing"),
        ({"kind": "fixed", "dely": 3}, "environment.feedback: unknown key 'dely'; did you mean 'delay'?"),
        ({"kind": "fixed", "delay": "soon"}, "environment.feedback.delay must be numbers of rounds, got 'soon'"),
        (
            {"kind": "fixed", "delay": [1, "soon", 2]},
            "environment.feedback.delay must be numbers of rounds, got [1, 'soon', 2]",
        ),
        (
            {"kind": "fixed", "delay": -1},
            "environment.feedback.delay must be numbers of rounds of at least 0 or inf, got -1",
        ),
        (
            {"kind": "fixed", "delay": math.nan},
            "environment.feedback.delay must be numbers of rounds of at least 0 or inf, got nan",
        ),
        ({"kind": "fixed", "delay": [1, 2]}, "environment.feedback.delay has 2 entries, but there are 3 arms"),
        ({"kind": "geometric"}, "environment.feedback.success is missing"),
        ({"kind": "geometric", "sucess": 1}, "environment.feedback: unknown key 'sucess'; did you mean 'success'?"),
        ({"kind": "geometric", "success": 0}, "environment.feedback.success must be above 0, got 0"),
        ({"kind": "geometric", "success": 1.5}, "environment.feedback.success must be a number in [0, 1], got 1.5"),
        (
            {"kind": "geometric", "success": [0.1] * 4},
            "environment.feedback.success has 4 entries, but there are 3 arms",
        ),
        ({"kind": "pareto", "tails": 1}, "environment.feedback: unknown key 'tails'; did you mean 'tail'?"),
        ({"kind": "pareto", "tail": -1}, "environment.feedback.tail must be a number of at least 0, got -1"),
        ({"kind": "pareto", "tail": [1, 0, 1]}, "environment.feedback.tail must be above 0, got [1, 0, 1]"),
        (
            {"kind": "packet_loss", "lost": 0.5},
            "environment.feedback: unknown key 'lost'; known: kind, named, received",
        ),
        (
            {"kind": "packet_loss", "received": [0, 2, 1]},
            "environment.feedback.received[1] must be a number in [0, 1], got 2.0",
        ),
        ({"kind": "by_reward"}, "environment.feedback.delays is missing"),
        (
            {"kind": "by_reward", "delays": [[0, "x"]]},
            "environment.feedback.delays must be numbers of rounds, got [[0, 'x']]",
        ),
        (
            {"kind": "by_reward", "delays": [[0, -1]]},
            "environment.feedback.delays must be numbers of rounds of at least 0 or inf, got [[0, -1]]",
        ),
        ({"kind": "by_reward", "delays": [[0, 1]] * 2}, "environment.feedback.delays has 2 rows, but there are 3 arms"),
        (
            {"kind": "by_reward", "delays": [[0, 1, 2]]},
            "environment.feedback.delays must have one column for each of the 2 values of a reward,",
        ),
        (
            {"kind": "by_reward", "delays": [[0, 1]], "values": [1, 0]},
            "environment.feedback.values must rise, got [1, 0]",
        ),
        ({"kind": "by_reward", "delays": [[0, 1]], "value": [0, 1]}, "unknown key 'value'; did you mean 'values'?"),
        ({"kind": "uniform", "low": 5}, "environment.feedback.high is missing"),
        (
            {"kind": "uniform", "low": 5, "high": 4},
            "environment.feedback.high must be at least low, got low = [5.0], high = [4.0]",
        ),
        (
            {"kind": "uniform", "low": 0, "high": math.inf},
            "environment.feedback.high must be numbers of rounds of at least 0, got inf",
        ),
        ({"kind": "uniform", "low": 0, "hi": 4}, "environment.feedback: unknown key 'hi'; did you mean 'high'?"),
        ({"kind": "empirical"}, "environment.feedback.path is missing"),
        ({"kind": "empirical", "file": "all.csv"}, "environment.feedback.path is missing"),
        ({"kind": "empirical", "path": 3}, "environment.feedback.path must be a string, got 3"),
        (
            {"kind": "empirical", "path": "others.csv"},
            "environment.feedback: the columns of the log of delays others.csv are tea, coffee, cocoa, but the a",
        ),
        ({"kind": "empirical", "path": "broken.csv"}, "broken.csv, row 2, column 2: 'soon' is not a delay"),
        ({"kind": "empirical", "path": "nowhere.csv"}, "environment.feedback: there is no file "),
    ],
)
def test_wrong_feedback_is_told_where_and_what_would_be_right(table: Any, complaint: str, folder: Path) -> None:
    data = {"horizon": 9, "environment": {"rewards": BERNOULLI, "feedback": table}}
    with pytest.raises(EvenhandError) as error:
        config.parse({**data, "policies": [{"algorithm": "ucb1"}]}, folder)
    assert complaint in str(error.value)
    assert str(error.value).startswith("environment.feedback")


# --- anonymous sums ---------------------------------------------------------------------------------------------------

SPREAD: dict[str, Any] = {"kind": "spread"}
ANONYMOUS: list[tuple[dict[str, Any], Any]] = [
    (SPREAD | {"profile": "random", "low": 0, "high": 60}, RandomDelay(0, 60)),
    (SPREAD | {"profile": "bounded", "start": 30, "stop": 40}, Bounded(30, 40)),
    (SPREAD | {"profile": "decreasing", "length": 50}, Decreasing(50)),
    (SPREAD | {"profile": "increasing", "length": 50}, Increasing(50)),
    (SPREAD | {"profile": "discounted", "factor": 0.8}, Discounted(0.8)),
    (SPREAD | {"profile": "polynomial", "exponent": 2}, Polynomial(2.0)),
    (SPREAD | {"profile": "kernel", "weights": [0, 0.25, 0.5]}, Kernel([0.0, 0.25, 0.5])),
    (SPREAD | {"profile": "kernel", "weights": [[1], [0.5], [0]]}, Kernel([[1.0], [0.5], [0.0]])),
    ({"kind": "nonoblivious", "delay": 10}, NonOblivious(10)),
]
FEEDBACK += ANONYMOUS


@pytest.mark.parametrize(("table", "expected"), ANONYMOUS)
def test_every_profile_of_a_spread(table: dict[str, Any], expected: Any) -> None:
    assert plain(world(feedback=table).environment.feedback) == plain(expected)


def test_no_profile_is_left_out() -> None:
    assert {table["profile"] for table, _ in ANONYMOUS if "profile" in table} == {
        name.partition("/")[2] for name in kinds("feedback") if "/" in name
    }


def test_the_adversary_keeps_back_the_arm_of_the_largest_mean() -> None:
    setup = parse(
        environment={
            "rewards": {"kind": "winners", "probabilities": [0.2, 0.3, 0.5]},
            "feedback": {"kind": "nonoblivious", "delay": 4},
        }
    )
    assert plain(setup.environment.feedback) == plain(NonOblivious(4))
    drawn = {"kind": "bernoulli", "means": {"kind": "uniform", "arms": 3}}
    assert parse(environment={"rewards": drawn, "feedback": {"kind": "nonoblivious", "delay": 4}}).lanes == 4


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (SPREAD, "environment.feedback needs a profile; known: "),
        (SPREAD | {"profile": "rndom"}, "environment.feedback: unknown profile 'rndom'; did you mean 'random'?"),
        (SPREAD | {"profle": "random"}, "environment.feedback needs a profile; known: "),
        (SPREAD | {"profile": "random", "low": 1}, "environment.feedback.high is missing"),
        (
            SPREAD | {"profile": "random", "low": 1, "high": 4, "length": 3},
            "environment.feedback: unknown key 'length'; known: kind, low, high",
        ),
        (
            SPREAD | {"profile": "random", "low": 1.5, "high": 4},
            "environment.feedback.low must be a whole number, got 1.5",
        ),
        (SPREAD | {"profile": "random", "low": -1, "high": 4}, "environment.feedback.low must be at least 0, got -1"),
        (SPREAD | {"profile": "random", "low": 5, "high": 4}, "environment.feedback.high must be at least 5, got 4"),
        (SPREAD | {"profile": "bounded", "start": 3, "stop": 3}, "environment.feedback.stop must be at least 4, got 3"),
        (SPREAD | {"profile": "bounded", "stop": 3}, "environment.feedback.start is missing"),
        (SPREAD | {"profile": "decreasing", "length": 0}, "environment.feedback.length must be at least 1, got 0"),
        (
            SPREAD | {"profile": "increasing", "length": "x"},
            "environment.feedback.length must be a whole number, got 'x'",
        ),
        (SPREAD | {"profile": "discounted", "factor": 1}, "environment.feedback.factor must be below 1, got 1"),
        (SPREAD | {"profile": "discounted", "factr": 0.5}, "unknown key 'factr'; did you mean 'factor'?"),
        (
            SPREAD | {"profile": "polynomial", "exponent": 1},
            "environment.feedback.exponent must be above 1, got 1: the parts would have no finite sum",
        ),
        (SPREAD | {"profile": "kernel"}, "environment.feedback.weights is missing"),
        (
            SPREAD | {"profile": "kernel", "weights": [0.5, 0.6]},
            "environment.feedback.weights must sum to at most 1, got a sum of 1.1",
        ),
        (
            SPREAD | {"profile": "kernel", "weights": [0.5, -0.1]},
            "environment.feedback.weights[1] must be a number of at least 0, got -0.1",
        ),
        (
            SPREAD | {"profile": "kernel", "weights": [0.5, "x"]},
            "environment.feedback.weights must be numbers, one per round, or rows of equal length, ",
        ),
        (
            SPREAD | {"profile": "kernel", "weights": []},
            "environment.feedback.weights must be of shape (rounds,) or (arms, rounds), got shape (0,)",
        ),
        (
            SPREAD | {"profile": "kernel", "weights": [[1], [1]]},
            "environment.feedback: kernels are given for 2 arms, but there are 3",
        ),
        ({"kind": "nonoblivious"}, "environment.feedback.delay is missing"),
        ({"kind": "nonoblivious", "delay": 0}, "environment.feedback.delay must be at least 1, got 0"),
        ({"kind": "nonoblivious", "delay": 2.5}, "environment.feedback.delay must be a whole number, got 2.5"),
    ],
)
def test_a_wrong_spread_is_told_where_and_what_would_be_right(table: Any, complaint: str) -> None:
    with pytest.raises(EvenhandError) as error:
        world(feedback=table)
    assert complaint in str(error.value)
    assert str(error.value).startswith("environment.feedback")


def test_winners() -> None:
    environment = parse(environment={"rewards": {"kind": "winners", "probabilities": [0.52, 0.48]}}).environment
    assert plain(environment.rewards) == plain(Winners([0.52, 0.48]))


@pytest.mark.parametrize(
    ("rewards", "complaint"),
    [
        ({"kind": "winners"}, "environment.rewards.probabilities is missing"),
        ({"kind": "winner"}, "environment.rewards: unknown kind 'winner'; did you mean 'winners'?"),
        ({"kind": "winners", "probs": [1]}, "environment.rewards.probabilities is missing"),
        (
            {"kind": "winners", "probabilities": [1, "x"]},
            "environment.rewards.probabilities[1] must be a number, got 'x'",
        ),
        (
            {"kind": "winners", "probabilities": [0.5, 0.4]},
            "environment.rewards.probabilities must sum to 1, it sums to 0.9",
        ),
        (
            {"kind": "winners", "probabilities": [2, -1]},
            "environment.rewards.probabilities[0] must be a number in [0, 1], got 2.0",
        ),
    ],
)
def test_wrong_winners_are_told_where(rewards: Any, complaint: str) -> None:
    with pytest.raises(EvenhandError) as error:
        parse(environment={"rewards": rewards})
    assert str(error.value).startswith(complaint)


@pytest.mark.parametrize("algorithm", ["ars_ucb", "ars_fucb"])
@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"kind": "power"}, PowerSize(2.0)),
        ({"kind": "power", "exponent": 0.5}, PowerSize(0.5)),
        ({"kind": "geometric"}, GeometricSize(0)),
        ({"kind": "geometric", "offset": 3}, GeometricSize(3)),
    ],
)
def test_every_kind_of_size(algorithm: str, table: dict[str, Any], expected: Any) -> None:
    promise = {"fractions": [0.1] * 3} if algorithm == "ars_fucb" else {}
    (policy,) = parse({"algorithm": algorithm, "size": table, **promise}).policies.values()
    assert isinstance(policy.hold, HoldFor)
    assert policy.hold.size == expected
    (many,) = parse({"algorithm": algorithm, "grid": {"size": [table]}, **promise}).policies.values()
    assert many.hold == policy.hold


@pytest.mark.parametrize(
    ("size", "complaint"),
    [
        ({}, " needs a kind; known: power, geometric"),
        ({"exponent": 2}, " needs a kind; known: power, geometric"),
        ({"kind": "geometrc"}, ": unknown kind 'geometrc'; did you mean 'geometric'?"),
        ({"kind": "power", "exp": 2}, ": unknown key 'exp'; did you mean 'exponent'?"),
        ({"kind": "power", "exponent": "x"}, ".exponent must be a number, got 'x'"),
        ({"kind": "power", "exponent": 0}, ".exponent must be above 0, got 0"),
        ({"kind": "power", "exponent": -1}, ".exponent must be a number of at least 0, got -1"),
        ({"kind": "geometric", "offset": -1}, ".offset must be at least 0, got -1"),
        ({"kind": "geometric", "offset": 1.5}, ".offset must be a whole number, got 1.5"),
        ("powr", ": unknown kind 'powr'; did you mean 'power'?"),
        (3, " must be a function such as PowerSize(2), got 3"),
    ],
)
def test_a_wrong_size_is_told_in_the_policys_name(size: Any, complaint: str) -> None:
    with pytest.raises(EvenhandError) as error:
        parse({"algorithm": "ars_ucb", "size": size})
    assert str(error.value).startswith(f"policies[0].size{complaint}")


@pytest.fixture
def kaggle(tmp_path: Path) -> Path:
    """A folder with small files of both logs."""
    (tmp_path / "clicks_train.csv").write_text("display_id,ad_id,clicked\n1,1,1\n1,2,0\n2,2,1\n3,2,1\n4,3,1\n")
    (tmp_path / "promoted_content.csv").write_text("ad_id,document_id\n1,10\n2,20\n3,30\n")
    (tmp_path / "documents_categories.csv").write_text(
        "document_id,category_id,confidence_level\n10,5,0.9\n20,6,0.9\n30,7,0.9\n"
    )
    (tmp_path / "visits.csv").write_text("I_DATE\n2012-03-05 00:00:00\n2012-03-06 00:00:00\n")
    return tmp_path


def data(table: Any, folder: Path, **more: Any) -> Environment:
    return config.parse(
        {"horizon": 1, "environment": {"dataset": table, **more}, "policies": [{"algorithm": "ucb1"}]}, folder
    ).environment


def test_logs_of_clicks_are_found_beside_the_file(kaggle: Path) -> None:
    outbrain = data({"kind": "outbrain", "path": ".", "arms": 3}, kaggle)
    assert outbrain.names == ("category 6", "category 5", "category 7")
    assert isinstance(outbrain.rewards, Table)
    assert outbrain.rewards.values.tolist() == [[0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]]
    first = data({"kind": "outbrain", "path": str(kaggle), "arms": 2, "rows": 2}, kaggle)
    assert first.names == ("category 5", "category 6")
    assert first.rows == 2
    coupons = data({"kind": "coupons", "path": "visits.csv"}, kaggle)
    assert coupons.names[:2] == ("Monday", "Tuesday")
    assert coupons.means.tolist() == [0.5, 0.5, 0, 0, 0, 0, 0]
    assert data({"kind": "coupons", "path": "visits.csv", "rows": 1}, kaggle).rows == 1


def test_made_up_logs(tmp_path: Path) -> None:
    plain = data("synthetic", tmp_path)
    assert isinstance(plain.rewards, Table)
    assert plain.rewards.values.shape == (100_000, 7)
    assert plain.names == tuple("1234567")
    given = {"kind": "synthetic", "rows": 50, "arms": 3, "seed": 2, "drift": 0.5, "burst": 4}
    made = data(given, tmp_path).rewards
    assert isinstance(made, Table)
    assert made.values.tolist() == clicks.synthetic(50, 3, seed=2, drift=0.5, burst=4.0).tolist()


def test_a_data_set_takes_a_feedback(tmp_path: Path) -> None:
    table = {"kind": "synthetic", "rows": 50, "arms": 3}
    assert isinstance(data(table, tmp_path).feedback, Immediate)
    late = data(table, tmp_path, feedback=SPREAD | {"profile": "random", "low": 5, "high": 10})
    assert plain(late.feedback) == plain(RandomDelay(5, 10))
    late = data(table, tmp_path, feedback={"kind": "nonoblivious", "delay": 10})
    assert plain(late.feedback) == plain(NonOblivious(10))


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("outbrain", "environment.dataset.path is missing"),
        ("coupons", "environment.dataset.path is missing"),
        ("synthetc", "environment.dataset: unknown kind 'synthetc'; did you mean 'synthetic'?"),
        ({"kind": "outbrain", "path": "nowhere"}, "environment.dataset: there is no file "),
        ({"kind": "outbrain", "path": ".", "arms": 1}, "environment.dataset.arms must be at least 2, got 1"),
        ({"kind": "outbrain", "path": ".", "arms": 4}, "environment.dataset: the clicks in "),
        ({"kind": "outbrain", "path": ".", "rows": 0}, "environment.dataset.rows must be at least 1, got 0"),
        ({"kind": "outbrain", "path": ".", "row": 1}, "environment.dataset: unknown key 'row'; did you mean 'rows'?"),
        ({"kind": "coupons", "path": "nowhere.csv"}, "environment.dataset: there is no file "),
        ({"kind": "coupons", "path": 3}, "environment.dataset.path must be a string, got 3"),
        ({"kind": "coupons", "path": "clicks_train.csv"}, "environment.dataset: "),
        ({"kind": "coupons", "pth": "visits.csv"}, "environment.dataset: unknown key 'pth'; did you mean 'path'?"),
        ({"kind": "synthetic", "burst": 0.5}, "environment.dataset.burst must be a number of at least 1, got 0.5"),
        ({"kind": "synthetic", "drift": -1}, "environment.dataset.drift must be a number of at least 0, got -1"),
        ({"kind": "synthetic", "arms": 1}, "environment.dataset.arms must be at least 2, got 1"),
        ({"kind": "synthetic", "rows": 0}, "environment.dataset.rows must be at least 1, got 0"),
        ({"kind": "synthetic", "seed": -1}, "environment.dataset.seed must be at least 0, got -1"),
        ({"kind": "synthetic", "burst": True}, "environment.dataset.burst must be a number, got True"),
        ({"kind": "synthetic", "row": 9}, "environment.dataset: unknown key 'row'; did you mean 'rows'?"),
    ],
)
def test_a_wrong_data_set_is_told_where(table: Any, complaint: str, kaggle: Path) -> None:
    with pytest.raises(EvenhandError) as error:
        data(table, kaggle)
    assert str(error.value).startswith(complaint)


# --- merit ------------------------------------------------------------------------------------------------------------

MERIT: list[tuple[dict[str, Any], Any]] = [
    ({"kind": "power"}, Power()),
    ({"kind": "power", "beta": 3.5, "exponent": 2}, Power(3.5, 2.0)),
    ({"kind": "linear"}, Linear()),
    ({"kind": "linear", "slope": 0.5, "intercept": 2}, Linear(0.5, 2.0)),
    ({"kind": "softmax"}, Softmax()),
    ({"kind": "softmax", "temperature": 0.5}, Softmax(0.5)),
    ({"kind": "threshold"}, Threshold()),
    ({"kind": "threshold", "at": 0.3, "below": 2, "above": 5}, Threshold(0.3, 2.0, 5.0)),
    ({"kind": "table", "means": [0, 0.5, 1], "merits": [1, 3, 2]}, Tabulated([0.0, 0.5, 1.0], [1.0, 3.0, 2.0])),
]


@pytest.mark.parametrize(("table", "expected"), MERIT)
def test_every_kind_of_merit_of_a_policy_and_of_the_environment(table: dict[str, Any], expected: Any) -> None:
    own = parse({"algorithm": "fcts_d", "merit": table})
    assert plain(own.policies["fcts_d"].merit) == plain(expected)
    assert own.environment.merit is None
    shared = parse({"algorithm": "fcts_d"}, {"algorithm": "ucb1"}, environment={"rewards": BERNOULLI, "merit": table})
    assert plain(shared.environment.merit) == plain(expected)
    assert plain(shared.policies["fcts_d"].merit) == plain(expected)
    assert shared.policies["ucb1"].merit is None


def test_no_kind_of_merit_is_left_out() -> None:
    assert {table["kind"] for table, _ in MERIT} == kinds_of("merit")


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ({}, " needs a kind; known: power, linear"),
        ({"beta": 2}, " needs a kind; known: power, linear"),
        ({"kind": "powr"}, ": unknown kind 'powr'; did you mean 'power'?"),
        ({"kind": "power", "bta": 2}, ": unknown key 'bta'; did you mean 'beta'?"),
        ({"kind": "power", "beta": "much"}, ".beta must be a number, got 'much'"),
        ({"kind": "power", "beta": -1}, ".beta must be a number of at least 0, got -1"),
        ({"kind": "linear", "slop": 1}, ": unknown key 'slop'; did you mean 'slope'?"),
        ({"kind": "linear", "slope": -1}, ": a linear merit must be positive for every mean in [0, 1]"),
        ({"kind": "softmax", "temp": 1}, ": unknown key 'temp'; did you mean 'temperature'?"),
        ({"kind": "softmax", "temperature": 0}, ".temperature must be at least 1/700, got 0.0"),
        ({"kind": "threshold", "at": 2}, ".at must be a number in [0, 1], got 2"),
        ({"kind": "threshold", "below": 0}, ": a threshold merit must be positive for every mean in [0, 1]"),
        ({"kind": "table", "means": [0, 1]}, ".merits is missing"),
        ({"kind": "table", "means": [0, 1], "merits": [1]}, ": a tabulated merit needs as many merits as means"),
        ({"kind": "table", "means": [0, "x"], "merits": [1, 2]}, ".means[1] must be a number, got 'x'"),
        (
            {"kind": "table", "means": [1, 0], "merits": [1, 2]},
            ": the means of a tabulated merit must rise from 0 to 1",
        ),
        ({"kind": "table", "means": [0, 1], "merits": [1, -1]}, ": a tabulated merit must be positive for every mean"),
    ],
)
def test_wrong_merit_is_told_where_and_what_would_be_right(table: dict[str, Any], complaint: str) -> None:
    with pytest.raises(EvenhandError) as own:
        parse({"algorithm": "fcts_d", "merit": table})
    assert str(own.value).startswith("policies[0].merit")
    with pytest.raises(EvenhandError) as shared:
        parse({"algorithm": "fcts_d"}, environment={"rewards": BERNOULLI, "merit": table})
    assert str(shared.value).startswith("environment.merit")
    assert complaint in str(own.value)
    assert complaint in str(shared.value)


def test_a_policys_own_merit_comes_before_the_environments() -> None:
    setup = parse(
        {"algorithm": "fcts_d", "merit": {"kind": "linear"}},
        {"algorithm": "fcts_d", "label": "many", "grid": {"merit": [{"kind": "softmax"}, {"kind": "threshold"}]}},
        environment={"rewards": BERNOULLI, "merit": {"kind": "power"}},
    )
    assert [type(policy.merit) for policy in setup.policies.values()] == [Linear, Softmax, Threshold]


def test_merit_that_is_missing_or_too_steep() -> None:
    with pytest.raises(
        ConfigurationError, match=r"policies\[0\]\.merit is missing: fcts_d needs it, here or in \[environment\]"
    ):
        parse({"algorithm": "fcts_d"})
    steep = {"algorithm": "fcts_d", "merit": {"kind": "power", "beta": 9}}
    with pytest.raises(EvenhandError, match=r"policies\[0\]: the largest merit is 10 times the smallest; with 3 arms"):
        parse(steep, plays=2)
    (capped,) = parse({**steep, "cap": True}, plays=2).policies.values()
    assert isinstance(capped.fairness, MeritShares)
    assert capped.plays == 2


@pytest.mark.parametrize("merit", [3, "powr", [1, 2]])
def test_merit_that_is_no_table(merit: Any) -> None:
    with pytest.raises(EvenhandError, match=r"^policies\[0\]\.merit"):
        parse({"algorithm": "fcts_d", "merit": merit})
    with pytest.raises(ConfigurationError, match=r"^environment\.merit"):
        world(merit=merit)


# --- datasets ---------------------------------------------------------------------------------------------------------


def of_dataset(dataset: Any, folder: Path, **environment: Any) -> Any:
    data = {"horizon": 9, "environment": {"dataset": dataset, **environment}}
    return config.parse({**data, "policies": [{"algorithm": "ucb1"}]}, folder).environment


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        ("films", movielens.films()),
        ({"kind": "films"}, movielens.films()),
        ("conversions", conversions.shipped()),
        ({"kind": "conversions"}, conversions.shipped()),
        (
            {"kind": "conversions", "rates": "scaled_conversions", "click_rate": 0.1},
            conversions.shipped(click_rate=0.1),
        ),
        ({"kind": "conversions", "rates": [0.1] * 10}, conversions.shipped([0.1] * 10)),
    ],
)
def test_datasets_that_ship(dataset: Any, expected: Any, folder: Path) -> None:
    assert plain(of_dataset(dataset, folder)) == plain(expected)


@pytest.mark.parametrize(
    ("more", "means", "delays"),
    [
        # Lamp: 2 clicks, 1 sale; sofa: 2 clicks, 2 sales, one of unknown delay.
        ({}, [0.0, 1.0], [[1000.0], [2000.0]]),
        ({"rates": "scaled_conversions"}, [0.0, 1.0], [[1000.0], [2000.0]]),
        ({"rates": "scaled_rates"}, [0.0, 1.0], [[1000.0], [2000.0]]),
        ({"rates": "rates", "click_rate": 0.5}, [0.5, 1.0], [[100.0], [200.0]]),
        ({"rates": [0.3, 0.2]}, [0.3, 0.2], [[1000.0], [2000.0]]),
    ],
)
def test_a_log_of_conversions(more: dict[str, Any], means: Any, delays: Any, folder: Path) -> None:
    found = of_dataset({"kind": "conversions", "path": "log.tsv", "ads": 2, **more}, folder)
    assert found.means.tolist() == pytest.approx(means)
    assert [row.tolist() for row in found.feedback.samples] == delays
    assert found.names == ("ad 1", "ad 2")


@pytest.mark.parametrize("order", ["log", "shuffled"])
def test_a_log_of_ratings(order: str, tmp_path: Path) -> None:
    films = "".join(f'{number},"{title}",Drama\n' for number, title in enumerate(movielens.FILMS))
    (tmp_path / "movies.csv").write_text("movieId,title,genres\n" + films)
    # User 8 rated the first film, user 5 the first and the last.
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n8,0,2.5,0\n5,0,4,0\n5,4,1,0\n")
    found = of_dataset({"kind": "films", "path": ".", "order": order}, tmp_path)
    nobody = [math.nan] * 3
    expected = Table([[0.5, *nobody, math.nan], [0.8, *nobody, 0.2]], order)
    assert plain(found.rewards) == plain(expected)
    assert found.names == movielens.FILMS
    assert found.rows == 2


def test_a_dataset_takes_other_feedback_and_stakes(folder: Path) -> None:
    assert isinstance(of_dataset("conversions", folder, feedback={"kind": "immediate"}).feedback, Immediate)
    assert plain(of_dataset("films", folder, feedback={"kind": "fixed", "delay": 3}).feedback) == plain(Fixed(3))
    found = of_dataset("conversions", folder, merit={"kind": "power", "beta": 3.5}, fractions=[0.01] * 10)
    assert found.merit == Power(3.5)
    assert found.fractions.tolist() == [0.01] * 10


@pytest.mark.parametrize(
    ("dataset", "complaint"),
    [
        ("film", "environment.dataset: unknown kind 'film'; did you mean 'films'?"),
        (3, "environment.dataset must be a table such as { kind = '…' }, got 3"),
        ({}, "environment.dataset needs a kind; known: films, popular, conversions, outbrain, "),
        ({"kind": "conversion"}, "environment.dataset: unknown kind 'conversion'; did you mean 'conversions'?"),
        ({"kind": "films", "folder": "x"}, "environment.dataset: unknown key 'folder'; did you mean 'order'?"),
        (
            {"kind": "films", "order": "shuffled"},
            "environment.dataset: users can only be shuffled in a log: give its path",
        ),
        (
            {"kind": "films", "path": ".", "order": "mixed"},
            "environment.dataset.order must be 'log' or 'shuffled', got 'mixed'",
        ),
        ({"kind": "films", "path": "nowhere"}, "environment.dataset: there is none of ratings.csv, "),
        (
            {"kind": "conversions", "clickrate": 1},
            "environment.dataset: unknown key 'clickrate'; did you mean 'click_r",
        ),
        (
            {"kind": "conversions", "rates": "rate"},
            "environment.dataset.rates must be 'scaled_conversions' or 'scaled_rates' or 'rates', g",
        ),
        ({"kind": "conversions", "rates": [0.1]}, "environment.dataset.rates has 1 entry, but there are 10 ads"),
        (
            {"kind": "conversions", "rates": [2.0] * 10},
            "environment.dataset.rates[0] must be a number in [0, 1], got 2.0",
        ),
        (
            {"kind": "conversions", "rates": "rates"},
            "environment.dataset: this log holds conversions only, and none of the clicks that did ",
        ),
        ({"kind": "conversions", "click_rate": 0}, "environment.dataset.click_rate must be above 0, got 0"),
        ({"kind": "conversions", "ads": 3}, "environment.dataset: ads can only be chosen from a log: give its path"),
        ({"kind": "conversions", "path": "log.tsv", "ads": 0}, "environment.dataset.ads must be at least 1, got 0"),
        ({"kind": "conversions", "path": "log.tsv"}, "log.tsv holds clicks on 2 ads, fewer than ads = 10"),
        ({"kind": "conversions", "path": "delays.csv"}, "delays.csv has 1 column separated by tabs"),
        ({"kind": "conversions", "path": "nowhere.tsv"}, "environment.dataset: there is no file "),
    ],
)
def test_wrong_datasets_are_told_where_and_what_would_be_right(dataset: Any, complaint: str, folder: Path) -> None:
    with pytest.raises(EvenhandError) as error:
        of_dataset(dataset, folder)
    assert complaint in str(error.value)
    assert str(error.value).startswith("environment.dataset")


def test_places_are_told_in_the_words_of_the_file(folder: Path) -> None:
    # Neither names of types nor pydantic's words for a choice.
    with pytest.raises(ConfigurationError) as error:
        of_dataset({"kind": "conversions", "rates": "rate"}, folder)
    assert {line.split(" ")[0] for line in str(error.value).splitlines()} == {"environment.dataset.rates"}


def test_a_dataset_stands_instead_of_rewards(folder: Path) -> None:
    for more, complaint in (
        ({"rewards": BERNOULLI}, "environment: give either rewards or a dataset"),
        (
            {"availability": {"kind": "always"}},
            "environment: a dataset has its own arms and availability: remove these keys",
        ),
        ({"arms": ["a"] * 10}, "environment: a dataset has its own arms and availability: remove these keys"),
    ):
        with pytest.raises(ConfigurationError, match=complaint):
            of_dataset("conversions", folder, **more)


def test_parameters_of_the_new_algorithms_are_checked_where_they_stand() -> None:
    merit = {"kind": "linear"}
    for policy, complaint in (
        ({"algorithm": "fcucb_d", "merit": merit, "radius": "wide"}, "radius must be 'theorem' or 'code', got 'wide'"),
        (
            {"algorithm": "fcucb_d", "merit": merit, "delt": 0.1},
            "unknown parameter 'delt' of fcucb_d; did you mean 'delta'",
        ),
        ({"algorithm": "op_fcucb_d", "merit": merit, "radius": "code", "delta": 0}, "delta must be above 0, got 0"),
        ({"algorithm": "fgreedy_d", "merit": merit, "epsilon": 2}, "epsilon must be a number in [0, 1], got 2"),
        ({"algorithm": "cucb_d", "radius": "theorem"}, "radius must be 'paper' or 'code', got 'theorem'"),
        ({"algorithm": "opse", "horizon": 5}, "unknown parameter 'horizon' of opse: it is set for the whole run"),
        (
            {"algorithm": "ucb1", "evidence": "both"},
            "evidence: unknown kind 'both'; known: received, optimistic, pessimistic",
        ),
    ):
        with pytest.raises(EvenhandError) as error:
            parse(policy)
        assert str(error.value).startswith("policies[0]")
        assert complaint in str(error.value)
    with pytest.raises(ConfigurationError, match="fairx_ts plays one arm per round, but plays = 2"):
        parse({"algorithm": "fairx_ts", "merit": merit}, plays=2)


def test_metrics_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "own_metrics.py").write_text(
        "from evenhand.simulation.metrics import Metric\n\n"
        "class First(Metric):\n"
        '    name, label, unit = "first", "plays of the first arm", "plays"\n'
        "    def value(self, memory, run):\n"
        "        return run.pulls[:, 0]\n"
    )
    data = {
        "horizon": 10,
        "metrics": ["own_metrics:First"],
        "environment": {"rewards": {"kind": "bernoulli", "means": [0.9, 0.5]}},
        "policies": [{"algorithm": "ucb1"}],
    }
    assert [metric.name for metric in config.parse(data, tmp_path).metrics] == ["first"]
    with pytest.raises(ConfigurationError, match=r"metrics\[0\].*unknown kind 'nothing'"):
        config.parse(data | {"metrics": ["nothing"]}, tmp_path)
    with pytest.raises(EvenhandError, match=r"metrics\[1\].*the name 'first' of First is taken"):
        config.parse(data | {"metrics": ["own_metrics:First"] * 2}, tmp_path)


def test_a_policy_may_be_a_name_where_a_table_can_stand(tmp_path: Path) -> None:
    path = tmp_path / "names.toml"
    start = 'horizon = 9\nenvironment = { rewards = { kind = "bernoulli", means = [0.9, 0.5] }, fractions = 0.1 }\n'
    path.write_text(
        start + 'policies = ["fucb", { algorithm = "ucb1" }, { label = "greedy", index = "empirical_mean" }]\n'
    )
    assert list(config.load(path).policies) == ["fucb", "ucb1", "greedy"]
    path.write_text(start + 'policies = ["ucb1", "fucbb"]\n')
    with pytest.raises(ConfigurationError, match=r"names.toml:3:21: policies\[1\]: there is no algorithm 'fucbb'"):
        config.load(path)
