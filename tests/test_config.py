"""The configuration file: a public contract, and the errors that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import config
from evenhand.availability import Independent, Joint, Logged
from evenhand.errors import ConfigurationError, DataError, EvenhandError
from evenhand.fairness import VirtualQueue
from evenhand.records import PerLane
from evenhand.rewards import Beta, BetaMeans, Categorical, Gaussian, Table

BERNOULLI = {"kind": "bernoulli", "means": [0.9, 0.8, 0.7]}
CONTRACT = """
horizon = 2000            # rounds
lanes = 600               # independent replications
seed = 7
plays = 1                 # arms played a round (m), default 1
[environment]
rewards      = { kind = "bernoulli", means = [0.9, 0.8, 0.7] }
availability = { kind = "always" }
feedback     = { kind = "immediate" }
[[policies]]
label = "FUCB"            # default: the algorithm's name
algorithm = "fucb"
fractions = [0.05, 0.05, 0.02]
"""


def parse(*policies: dict[str, Any], **changes: Any) -> config.Setup:
    data: dict[str, Any] = {"horizon": 100, "lanes": 4, "environment": {"rewards": BERNOULLI}}
    return config.parse({**data, "policies": list(policies) or [{"algorithm": "ucb1"}], **changes})


def world(**environment: Any) -> config.Setup:
    return parse(environment={"rewards": BERNOULLI, **environment})


def test_the_contract_s_example_is_read_as_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text(CONTRACT)
    setup = config.load(path)
    assert (setup.horizon, setup.lanes, setup.seed) == (2000, 600, 7)
    assert list(setup.policies) == ["FUCB"]
    assert setup.policies["FUCB"].plays == 1
    assert setup.policies["FUCB"].fractions.tolist() == [0.05, 0.05, 0.02]
    assert setup.environment.means.tolist() == [0.9, 0.8, 0.7]


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
        ({"kind": "beta", "means": [0.5, 0.75]}, BetaMeans, [0.5, 0.75]),
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
    assert setup.policies["hard_threshold_ucb"].fractions.tolist() == [0.1, 0.1, 0.1]
    assert setup.policies["hard_threshold_ucb"].fairness.penalties.tolist() == [0.3]
    assert setup.policies["tscsf_b"].fractions.tolist() == [0.2, 0.2, 0.2]
    assert setup.policies["tscsf_b"].fairness.weights.tolist() == [1, 2, 3]


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
    assert first.penalties.values[:, 0] == pytest.approx((means.max(axis=1) - means.min(axis=1)) / 2)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"horizn": 3}, "unknown key 'horizn'; did you mean 'horizon'?"),
        ({"horizon": 0}, "horizon: input should be greater than or equal to 1, got 0"),
        ({"lanes": True}, "lanes: should be a whole number"),
        ({"seed": -1}, "seed: input should be greater than or equal to 0, got -1"),
        ({"policies": []}, "policies: list should have at least 1 item"),
        ({"policies": [{"algorithm": "fucbb"}]}, "there is no algorithm 'fucbb'; did you mean 'fucb'?"),
        ({"policies": [{"label": "x"}]}, "policies[0].algorithm: is missing"),
        (
            {"environment": {"rewards": {"kind": "bernouli", "means": [1]}}},
            "unknown kind 'bernouli'; did you mean 'bernoulli'?",
        ),
        ({"environment": {"rewards": {"means": [1]}}}, "environment.rewards: needs a kind"),
        ({"environment": {"rewards": {"kind": "bernoulli", "mean": [1]}}}, "unknown key 'mean'; did you mean 'means'?"),
        ({"environment": {"rewards": {"kind": "bernoulli", "means": [0.5, "a"]}}}, "environment.rewards.means[1]:"),
        ({"environment": {"rewards": {"kind": "gaussian", "means": [1]}}}, "environment.rewards.sd: is missing"),
        ({"environment": {"rewards": {"kind": "beta", "means": [0.5], "a": [1]}}}, "give either a and b, or means"),
        ({"environment": {}}, "environment: give either rewards or a dataset"),
        ({"environment": {"dataset": "films", "arms": ["a"]}}, "a dataset brings its own arms"),
        (
            {"environment": {"rewards": BERNOULLI, "feedback": {"kind": "geom"}}},
            "environment.feedback: unknown kind 'geom'",
        ),
        ({"spacing": "linear"}, "spacing: input should be 'even' or 'log', got 'linear'"),
    ],
)
def test_a_wrong_file_is_told_where_and_what_would_be_right(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse(**changes)
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ({"algorithm": "fucb"}, "policy 'fucb': fucb needs 'fractions', here or in [environment]"),
        ({"algorithm": "lfg", "fractions": [0.1] * 3}, "lfg needs 'eta'"),
        ({"algorithm": "fucb", "fractons": [0.1] * 3}, "fucb has no parameter 'fractons'; did you mean 'fractions'?"),
        ({"algorithm": "ucb1", "plays": 2}, "ucb1 has no parameter 'plays'; it is set for the whole run"),
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
    assert f"policy '{policy['algorithm']}'" in str(error.value)


def test_more_plays_than_arms_and_more_than_an_algorithm_can() -> None:
    with pytest.raises(EvenhandError, match="plays = 4, but there are only 3 arms"):
        parse(plays=4)
    with pytest.raises(ConfigurationError, match="naive plays one arm a round, but plays = 2"):
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
    with pytest.raises(DataError, match=r"run\.toml.*log\.csv, row 2, arm 'coffee': 'x' is not a finite number"):
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
    with pytest.raises(EvenhandError, match=r"awake\.csv is headed coffee, tea; the arms are tea, coffee"):
        config.parse({**data, "environment": environment}, tmp_path)
    with pytest.raises(
        EvenhandError, match="arms must be those that head the reward table, in this order: tea, coffee"
    ):
        config.parse({**data, "environment": {"rewards": table, "arms": ["tea", "milk"]}}, tmp_path)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ({"eta": 20, "grid": {"eta": [5]}}, "grid.eta and the policy both give 'eta'"),
        ({"grid": {"eta": []}}, "grid.eta is empty"),
    ],
)
def test_a_grid_that_would_drop_something_is_refused(policy: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse({"algorithm": "lfg", "fractions": [0.1] * 3, **policy})
    assert complaint in str(error.value)
