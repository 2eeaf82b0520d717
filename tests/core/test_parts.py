"""Parts as plain values and back: nothing is lost, and nothing foreign is built."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import numpy as np
import pytest

from evenhand import Environment, PerLane, Policy
from evenhand.algorithms import (
    cucb_d,
    eta_fucb,
    explore_then_commit,
    fair_learn,
    fair_random,
    fcts_d,
    fcucb_d,
    fgreedy_d,
    hard_threshold_ucb,
    lfg,
    m_fcts_d,
    m_fcucb_d,
    naive,
    op_fcts_d,
    op_fcucb_d,
    opse,
    q_fcts_d,
    q_fcucb_d,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.core.errors import ConfigurationError, EvenhandError, StateError
from evenhand.core.parts import build, part, plain
from evenhand.environment.availability import Always, Independent, Joint, Logged
from evenhand.environment.delays import ByReward, Custom, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.environment.rewards import Bernoulli, Beta, Categorical, Gaussian, Table
from evenhand.policy.merit import Linear, Power, Softmax, Tabulated, Threshold
from evenhand.simulation.metrics import Metric

SHARES = [0.1, 1 / 3, 0.07]
PARTS: dict[str, Any] = {
    "ucb1": ucb1(exploration=0.1 + 0.2),
    "thompson": thompson(plays=2),
    "fair_random": fair_random(SHARES),
    "naive": naive(SHARES, horizon=50),
    "t_fucb": t_fucb(SHARES, horizon=50),
    "eta_fucb": eta_fucb(SHARES, eta=0.1, surplus="ignored"),
    "fair_learn": fair_learn(SHARES, tolerance=5.5),
    "lfg": lfg(SHARES, eta=1 / 7, weights=[1.0, 2.0, 3.0]),
    "tscsf_b, infinite eta": tscsf_b(SHARES, eta=math.inf, plays=2),
    "hard_threshold_ucb by lane": hard_threshold_ucb(SHARES, penalties=PerLane(np.array([[0.1], [0.3]]))),
    "explore_then_commit": explore_then_commit(pulls=3),
    "fcucb_d": fcucb_d(Power(beta=0.1 + 0.2, exponent=1.5), horizon=50),
    "op_fcucb_d, by the code": op_fcucb_d(Softmax(0.3), horizon=50, radius="code", delta=1 / 3, free_start=True),
    "fcts_d": fcts_d(Linear(0.1, 1 / 3), cap=True, plays=2),
    "op_fcts_d": op_fcts_d(Threshold(1 / 3, 0.1, 0.7), free_start=True),
    "m_fcucb_d": m_fcucb_d(Linear(0.1, 1 / 3), horizon=50),
    "m_fcts_d": m_fcts_d(Linear(), plays=2),
    "q_fcucb_d": q_fcucb_d(Linear(), horizon=50, untestable="doubt"),
    "q_fcts_d": q_fcts_d(Linear()),
    "fgreedy_d": fgreedy_d(Tabulated([0.0, 1 / 3, 1.0], [0.1, 0.2, 0.7]), epsilon=1 / 7),
    "cucb_d": cucb_d(radius="code", plays=2),
    "opse": opse(horizon=50),
    "evidence of one's choice": tscsf_b(SHARES, eta=1.0, evidence="both"),
    "a composition": Policy(),
    "bernoulli": Environment(Bernoulli([0.1, 1 / 3])),
    "gaussian, independent": Environment(Gaussian([-0.1, 1e-300], [0.1, 2.0]), Independent([1 / 3, 0.0])),
    "beta, joint": Environment(Beta([1.0, 2.0], [0.5, 3.0]), Joint([[1, 0], [1, 1]], [1 / 3, 2 / 3])),
    "beta by means, by lane": Environment(Beta(means=PerLane(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])))),
    "categorical": Environment(Categorical([0.0, 0.5], [[1 / 3, 2 / 3], [0.0, 1.0]]), names=("tee", "Kaffee ☕")),
    "log with blanks": Environment(Table([[0.1, math.nan], [0.2, 0.3]], "shuffled"), Logged([[1, 0], [1, 1]])),
    "fixed delays": Environment(Bernoulli([0.1, 0.2]), feedback=Fixed([3, math.inf])),
    "geometric delays": Environment(Bernoulli([0.1, 0.2]), feedback=Geometric([1 / 3, 0.1])),
    "pareto delays": Environment(Bernoulli([0.1, 0.2]), feedback=Pareto([1 / 3, 0.1 + 0.2])),
    "lost packets": Environment(Bernoulli([0.1, 0.2]), feedback=PacketLoss([1 / 3, 0.0])),
    "uniform delays": Environment(Bernoulli([0.1, 0.2]), feedback=Uniform(2, [5, 9])),
    "delays by reward": Environment(Bernoulli([0.1, 0.2]), feedback=ByReward([[0, math.inf], [3, 1]])),
    "rewards that name their pull": Environment(Bernoulli([0.1, 0.2]), feedback=Fixed(3, named=True)),
    "delays of a log": Environment(Bernoulli([0.1, 0.2]), feedback=Empirical([[0.0, math.inf, 2.0], [7.0]])),
    "stakes": Environment(
        Bernoulli([0.1, 0.2]), merit=Power(2.0, 1 / 3), fractions=[0.1, 0.2], penalties=0.3, weights=[1.0, 2.0]
    ),
}


def equal(one: Any, other: Any) -> bool:
    """Of the same type with the same values, to the last bit; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if attrs.has(type(one)):
        return all(equal(getattr(one, f.name), getattr(other, f.name)) for f in attrs.fields(type(one)))
    if isinstance(one, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and bool(np.array_equal(one, other, one.dtype == float))
        )
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(equal(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def through_json(part: Any) -> Any:
    return build(slot_of(part), json.loads(json.dumps(plain(part), allow_nan=False)))


def slot_of(part: Any) -> str:
    return "environment" if isinstance(part, Environment) else "policy"


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_comes_back_as_it_was(part: Any) -> None:
    assert equal(part, through_json(part))
    assert plain(through_json(part)) == plain(part)


def test_the_comparison_of_this_file_sees_differences() -> None:
    assert not equal(ucb1(), ucb1(exploration=1.0))
    assert not equal(Bernoulli([0.1]), Bernoulli([0.1 + 1e-17 + 1e-16]))
    assert not equal(Bernoulli([0.1, 0.2]), Bernoulli([0.1]))
    assert not equal(Always(), Independent([1.0]))


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_every_algorithm_comes_back(name: str) -> None:
    policy = ALGORITHMS[name].example()
    assert equal(policy, through_json(policy))


@pytest.mark.parametrize("value", [1, 0.1, "text", True, None, [1, [2.0]], {"a": 1}])
def test_plain_values_stay(value: Any) -> None:
    assert plain(value) == value


def test_numpy_numbers_and_arrays_become_plain_ones() -> None:
    values = plain([np.float64(0.1), np.int64(3), np.bool_(True), np.array([[1.5, 2.0]])])
    assert json.dumps(values) == "[0.1, 3, true, [[1.5, 2.0]]]"


def test_what_json_does_not_know_becomes_a_string() -> None:
    assert plain(np.array([math.inf, -math.inf, math.nan])) == ["inf", "-inf", "nan"]


def late(level: Any, arm: Any, reward: Any) -> Any:
    """Delays of a user's own."""
    return 5.0 * level


def test_functions_have_no_plain_form() -> None:
    with pytest.raises(StateError, match=r"the function late cannot be saved: make it a registered part"):
        plain(Environment(Bernoulli([0.5, 0.25]), feedback=Custom(late)))


class Bare(Metric):
    """A part without parameters, which need not be an attrs class."""

    name, label, unit = "bare", "nothing", ""

    def value(self, memory: None, run: Any) -> Any:
        return np.zeros(run.lanes)


def test_a_class_without_parameters_can_be_registered_as_it_is() -> None:
    with pytest.raises(
        StateError, match=r"Bare is not registered: decorate it with @evenhand\.part\('metric', 'a_name_of_its_own'\)$"
    ):
        plain(Bare())
    part("metric", "tests.bare")(Bare)
    assert plain(Bare()) == {"kind": "tests.bare"}
    assert type(build("metric", "tests.bare")) is Bare
    with pytest.raises(ConfigurationError, match="unknown key 'size'"):
        build("metric", {"kind": "tests.bare", "size": 1})


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "evenhand.core.files:write_whole",
        "evenhand.environment.rewards:Bernoulli",
        "subprocess:Popen",
        "nowhere",
        "",
        3,
        None,
        [],
    ],
)
def test_data_cannot_name_code(kind: Any) -> None:
    with pytest.raises(ConfigurationError, match="kind"):
        build("rewards", {"kind": kind, "means": [0.5]})


def test_parts_inside_are_looked_at_too() -> None:
    with pytest.raises(ConfigurationError, match="os:system"):
        build("environment", {"kind": "environment", "rewards": {"kind": "os:system"}})


def test_ordinary_converters_and_validators_name_the_argument() -> None:
    @part("metric", "with_attrs")
    @attrs.frozen
    class WithAttrs(Metric):
        name, label, unit = "with_attrs", "with attrs", ""
        steps: int = attrs.field(default=1, validator=attrs.validators.ge(1))
        share: float = attrs.field(default=0.5, converter=float)

        def value(self, memory: Any, run: Any) -> Any:
            return run.pulls[:, 0]

    message = r"^'steps' must be >= 1: 0\nshare: could not convert string to float: 'x', got 'x'$"
    with pytest.raises(EvenhandError, match=message):
        WithAttrs(0, "x")
    with pytest.raises(ConfigurationError, match=message):
        build("metric", {"kind": "with_attrs", "steps": 0, "share": "x"})
    with pytest.raises(TypeError, match="unexpected keyword"):
        WithAttrs(**{"stesp": 1})
