"""Parts as plain values and back: nothing is lost, and nothing foreign is built."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

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
    naive,
    op_fcts_d,
    op_fcucb_d,
    opse,
    t_fucb,
    thompson,
    tscsf_b,
    ucb1,
)
from evenhand.availability import Always, Independent, Joint, Logged
from evenhand.delays import ByReward, Custom, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.describe import describe, rebuild, types_in
from evenhand.errors import StateError
from evenhand.merit import Linear, Power, Softmax, Tabulated, Threshold
from evenhand.rewards import Bernoulli, Beta, BetaMeans, Categorical, Gaussian, Table

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
    "fgreedy_d": fgreedy_d(Tabulated([0.0, 1 / 3, 1.0], [0.1, 0.2, 0.7]), epsilon=1 / 7),
    "cucb_d": cucb_d(radius="code", plays=2),
    "opse": opse(horizon=50),
    "evidence of one's choice": tscsf_b(SHARES, eta=1.0, evidence="both"),
    "a composition": Policy(),
    "bernoulli": Environment(Bernoulli([0.1, 1 / 3])),
    "gaussian, independent": Environment(Gaussian([-0.1, 1e-300], [0.1, 2.0]), Independent([1 / 3, 0.0])),
    "beta, joint": Environment(Beta([1.0, 2.0], [0.5, 3.0]), Joint([[1, 0], [1, 1]], [1 / 3, 2 / 3])),
    "beta by means, by lane": Environment(BetaMeans(PerLane(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])))),
    "categorical": Environment(Categorical([0.0, 0.5], [[1 / 3, 2 / 3], [0.0, 1.0]]), names=("tee", "Kaffee ☕")),
    "log with blanks": Environment(Table([[0.1, math.nan], [0.2, 0.3]], "shuffled"), Logged([[1, 0], [1, 1]])),
    "fixed delays": Environment(Bernoulli([0.1, 0.2]), feedback=Fixed([3, math.inf])),
    "geometric delays": Environment(Bernoulli([0.1, 0.2]), feedback=Geometric([1 / 3, 0.1])),
    "pareto delays": Environment(Bernoulli([0.1, 0.2]), feedback=Pareto([1 / 3, 0.1 + 0.2])),
    "lost packets": Environment(Bernoulli([0.1, 0.2]), feedback=PacketLoss([1 / 3, 0.0])),
    "uniform delays": Environment(Bernoulli([0.1, 0.2]), feedback=Uniform(2, [5, 9])),
    "delays by reward": Environment(Bernoulli([0.1, 0.2]), feedback=ByReward([[0, math.inf], [3, 1]])),
    "delays of a log": Environment(Bernoulli([0.1, 0.2]), feedback=Empirical([[0.0, math.inf, 2.0], [7.0]])),
    "stakes": Environment(
        Bernoulli([0.1, 0.2]), merit=Power(2.0, 1 / 3), fractions=[0.1, 0.2], penalties=0.3, weights=[1.0, 2.0]
    ),
}


def equal(one: Any, other: Any) -> bool:
    """Of the same type with the same values, to the last bit; NaN equals NaN."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        return all(equal(getattr(one, f.name), getattr(other, f.name)) for f in dataclasses.fields(one))
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
    return rebuild(json.loads(json.dumps(describe(part), allow_nan=False)))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_comes_back_as_it_was(part: Any) -> None:
    again = through_json(part)
    if isinstance(part, Environment):
        # Names are a tuple again because the environment makes one of whatever it is given.
        assert again.names == part.names
    assert equal(part, again)


def test_the_comparison_of_this_file_sees_differences() -> None:
    assert not equal(ucb1(), ucb1(exploration=1.0))
    assert not equal(Bernoulli([0.1]), Bernoulli([0.1 + 1e-17 + 1e-16]))
    assert not equal(Bernoulli([0.1, 0.2]), Bernoulli([0.1]))
    assert not equal(Always(), Independent([1.0]))


@pytest.mark.parametrize("value", [0.1, 1e-320, -0.0, 5, True, None, "tee", math.inf, -math.inf])
def test_plain_values(value: Any) -> None:
    again = through_json(value)
    assert type(again) is type(value)
    assert again == value
    assert str(again) == str(value)  # the sign of a nought


def test_not_a_number_comes_back() -> None:
    assert math.isnan(through_json(math.nan))
    assert np.isnan(through_json(np.array([math.nan, 1.0]))).tolist() == [True, False]


@pytest.mark.parametrize(
    "array",
    [np.array([0.1, math.inf]), np.array([[True, False]]), np.array([[1, 2], [3, 4]], dtype=np.int32), np.zeros((0,))],
)
def test_arrays_keep_their_type_and_shape(array: Any) -> None:
    again = through_json(array)
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert (again == array).all()


def test_numpy_numbers_become_plain_ones() -> None:
    assert describe(np.float64(0.5)) == 0.5
    assert describe(np.int64(3)) == 3
    assert type(describe(np.int64(3))) is int
    assert describe((np.bool_(True), 2)) == [True, 2]


@pytest.mark.parametrize("value", [{"a": 1}, {1, 2}, object(), 1j, len])
def test_other_things_are_written_down_to_be_read_only(value: Any) -> None:
    plain = json.loads(json.dumps(describe(value)))
    assert plain == {"type": f"{type(value).__module__}:{type(value).__qualname__}", "repr": repr(value)}
    with pytest.raises(StateError, match="it is not a type of Evenhand's"):
        rebuild(plain)


@pytest.mark.parametrize("function", [lambda: 0, ucb1], ids=["lambda", "ucb1"])
def test_functions_are_known_by_name_and_only_to_who_has_them(function: Any) -> None:
    plain = json.loads(json.dumps(describe(function)))
    assert plain == {"type": "function", "name": f"{function.__module__}:{function.__qualname__}"}
    other: Any = through_json
    assert rebuild(plain, [other, function]) is function
    for own in ([], [other]):
        with pytest.raises(StateError, match=f"the function {function.__module__}:.* is at hand only where it was"):
            rebuild(plain, own)
    with pytest.raises(StateError, match="the function None is at hand only"):
        rebuild({"type": "function"}, [function])


@pytest.mark.parametrize(
    "kind",
    [
        "os:system",
        "builtins:eval",
        "subprocess:Popen",
        "evenhandy.index:UCB",
        "evenhand",
        "evenhand.index",
        ":UCB",
        "",
        None,
        5,
        "evenhand.index:UCB.worth",
        "evenhand.index:",
        "pathlib:PurePath",
        "tests.evenhand.index:UCB",
    ],
)
def test_types_from_elsewhere_are_not_built(kind: Any) -> None:
    with pytest.raises(StateError, match="it is not a type of Evenhand's"):
        rebuild({"type": kind, "args": ["echo"]})


@pytest.mark.parametrize(
    "kind",
    [
        "evenhand.results:write_whole",  # a function
        "evenhand.results:Path",  # from elsewhere, found in a module of Evenhand's
        "evenhand.describe:importlib",
        "evenhand.index:Index",  # a protocol
        "evenhand.errors:EvenhandError",
        "evenhand.index:Nothing",
        "evenhand.nowhere:UCB",
        "evenhand.index:UCB",  # with a parameter that it does not have
    ],
)
def test_only_parts_are_built(kind: str) -> None:
    with pytest.raises(StateError, match=f"cannot build a '{kind}'"):
        rebuild({"type": kind, "path": "somewhere"})


def test_what_is_inside_is_looked_at_too() -> None:
    with pytest.raises(StateError, match="cannot build a 'os:system'"):
        rebuild({"type": "evenhand.policy:Policy", "index": {"type": "os:system", "command": "echo"}})
    with pytest.raises(StateError, match="cannot build a 'os:system'"):
        rebuild([{"type": "os:system"}])


@dataclasses.dataclass(frozen=True)
class Flat:
    """A reward model of a user's own."""

    means: Any
    other: Any = None

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.broadcast_to(self.means, (len(rows), lanes, len(self.means)))


def test_types_of_ones_own_are_built_where_they_are_vouched_for() -> None:
    part = [Flat(np.array([0.5, 0.25]), Flat([1, 2]))]
    plain = json.loads(json.dumps(describe(part)))
    assert equal(rebuild(plain, {Flat}), part)
    with pytest.raises(StateError, match="Flat': it is not a type of Evenhand's"):
        rebuild(plain)
    with pytest.raises(StateError, match="Flat': it is not a type of Evenhand's"):
        rebuild(plain, {Environment})


def test_types_in_a_part() -> None:
    rewards: Any = Flat(np.array([0.5, 0.25]))
    world = Environment(rewards, Independent([1.0, 0.5]))
    assert types_in(world) == {Environment, Flat, Independent, type(world.feedback)}
    assert types_in(3) == set()
    assert types_in(Flat) == set()
    again = rebuild(json.loads(json.dumps(describe(world))), types_in(world))
    assert equal(again, world)


def late(level: Any, arm: Any, reward: Any) -> Any:
    """Delays of a user's own."""
    return 5.0 * level


def test_functions_in_a_part_are_found() -> None:
    world = Environment(Bernoulli([0.5, 0.25]), feedback=Custom(late))
    assert types_in(world) == {Environment, Bernoulli, Always, Custom, late}
    plain = json.loads(json.dumps(describe(world)))
    again = rebuild(plain, types_in(world))
    assert again.feedback.function is late
    with pytest.raises(StateError, match=r"the function .*:late is at hand only where it was defined"):
        rebuild(plain)


@pytest.mark.parametrize(
    "plain",
    [
        {"type": "array", "dtype": "float64"},
        {"type": "array", "values": [1.0]},
        {"type": "array", "values": [1.0, [2.0]], "dtype": "float64"},
        {"type": "array", "values": [1.0], "dtype": "double trouble"},
        {"type": "float"},
        {"type": "float", "value": "much"},
        {"type": []},
        {"type": {}},
    ],
)
def test_damaged_descriptions_are_refused(plain: Any) -> None:
    with pytest.raises(StateError):
        rebuild(plain)
