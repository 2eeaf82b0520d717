"""Plain forms: every kind of the registry is written down and built again, and gives the same draws."""

from __future__ import annotations

import json
import math
from typing import Any

import attrs
import numpy as np
import pytest

from evenhand import Environment, EvenhandError, PerLane
from evenhand.availability import Always, Availability, Independent, Joint, Logged
from evenhand.contexts import Categories, Contexts, Log, Normal
from evenhand.core.errors import ConfigurationError, StateError
from evenhand.core.parts import Part, build, kinds, plain
from evenhand.core.state import for_lanes
from evenhand.delays import ByReward, Custom, Delay, Empirical, Fixed, Geometric, PacketLoss, Pareto, Uniform
from evenhand.features import Features, Flag
from evenhand.feedback import (
    Adversary,
    Bounded,
    Decreasing,
    Discounted,
    FeedbackModel,
    FeedbackTraits,
    Immediate,
    Increasing,
    Kernel,
    NonOblivious,
    Polynomial,
    RandomDelay,
)
from evenhand.policy.merit import Power
from evenhand.rewards import (
    Bernoulli,
    Beta,
    Categorical,
    Gaussian,
    Linear,
    Logistic,
    Piecewise,
    Rewards,
    Sinusoidal,
    Table,
    Varying,
    Winners,
)
from evenhand.typing import Decision

BLANK = float("nan")
LOG = [[0.5, BLANK, 1.0], [0.0, 0.25, BLANK]]

# Slot and kind → parts, each with its plain form.
PARTS: dict[str, list[tuple[Part, dict[str, Any]]]] = {
    "rewards bernoulli": [
        (Bernoulli([0.9, 0.5]), {"means": [0.9, 0.5]}),
        (Bernoulli(PerLane([[0.9, 0.5], [0.1, 0.2]])), {"means": {"per_lane": [[0.9, 0.5], [0.1, 0.2]]}}),
    ],
    "rewards gaussian": [
        (Gaussian([0.9, -3.0], 0.5), {"means": [0.9, -3.0], "sd": [0.5]}),
        (Gaussian([0.9, -3.0], [0.5, 0.0]), {"means": [0.9, -3.0], "sd": [0.5, 0.0]}),
    ],
    "rewards beta": [
        (Beta([1.0, 2.0], [3.0, 1.0]), {"a": [1.0, 2.0], "b": [3.0, 1.0], "means": None}),
        (Beta(means=[0.3, 1.0]), {"a": None, "b": None, "means": [0.3, 1.0]}),
        (
            Beta(means=PerLane([[0.3, 1.0]])),
            {"a": None, "b": None, "means": {"per_lane": [[0.3, 1.0]]}},
        ),
    ],
    "rewards categorical": [
        (
            Categorical([0.0, 5.0], [[0.5, 0.5], [1.0, 0.0]]),
            {"values": [0.0, 5.0], "probabilities": [[0.5, 0.5], [1.0, 0.0]]},
        )
    ],
    "rewards table": [
        (Table(LOG), {"values": [[0.5, "nan", 1.0], [0.0, 0.25, "nan"]], "order": "log"}),
        (Table([[0.5, 2.0]], "shuffled"), {"values": [[0.5, 2.0]], "order": "shuffled"}),
    ],
    "rewards winners": [(Winners([0.7, 0.3]), {"probabilities": [0.7, 0.3]})],
    "rewards piecewise": [
        (Piecewise([[0.5, 0.4], [0.5, 0.9]], [1, 4]), {"pieces": [[0.5, 0.4], [0.5, 0.9]], "starts": [1.0, 4.0]})
    ],
    "rewards sinusoidal": [
        (
            Sinusoidal([0.5, 0.5], [0.4, 0.0], 4),
            {"centers": [0.5, 0.5], "amplitudes": [0.4, 0.0], "period": [4.0], "phases": [0.0]},
        )
    ],
    "rewards varying": [(Varying([[0.2, 0.8], [0.6, 0.4]]), {"probabilities": [[0.2, 0.8], [0.6, 0.4]]})],
    "availability always": [(Always(), {})],
    "availability independent": [(Independent([0.9, 0.0]), {"probabilities": [0.9, 0.0]})],
    "availability joint": [
        (
            Joint([[1, 0], [1, 1]], [0.25, 0.75]),
            {"sets": [[True, False], [True, True]], "probabilities": [0.25, 0.75]},
        )
    ],
    "availability log": [(Logged([[1, 0], [0, 1]]), {"table": [[True, False], [False, True]]})],
    "feedback immediate": [(Immediate(), {})],
    "feedback fixed": [
        (Fixed(3), {"delay": [3.0]}),
        (Fixed([0, math.inf]), {"delay": [0.0, "inf"]}),
    ],
    "feedback geometric": [
        (Geometric(0.05), {"success": [0.05]}),
        (Geometric([0.5, 1.0], named=True), {"success": [0.5, 1.0]}),
    ],
    "feedback pareto": [(Pareto([0.5, 2.0]), {"tail": [0.5, 2.0]})],
    "feedback packet_loss": [(PacketLoss(0.4), {"received": [0.4]})],
    "feedback uniform": [(Uniform([0, 4.7], 9), {"low": [0.0, 4.0], "high": [9.0]})],
    "feedback by_reward": [
        (ByReward([[0, math.inf], [20, 0]]), {"delays": [[0.0, "inf"], [20.0, 0.0]], "values": [0.0, 1.0]}),
        (ByReward([[1, 2]], [12.0, 18.0]), {"delays": [[1.0, 2.0]], "values": [12.0, 18.0]}),
    ],
    "feedback empirical": [
        (Empirical([[9.5, 0.0, math.inf], [4.0]]), {"samples": [[0.0, 9.0, "inf"], [4.0]]}),
        (Empirical([7.0, 2.0]), {"samples": [[2.0, 7.0]]}),
    ],
    "rewards linear": [
        (
            Linear([[0.5, 1], [0.2, 0]], shared=[1], noise="coins", high=3),
            {"coefficients": [[0.5, 1.0], [0.2, 0.0]], "shared": [1.0], "noise": "coins", "low": 0.0, "high": 3.0},
        ),
    ],
    "rewards logistic": [(Logistic([[0.5, 1]]), {"coefficients": [[0.5, 1.0]], "shared": None})],
    "contexts normal": [
        (Normal(3), {"situation": 3, "arms": 0, "sd": [1.0], "intercept": True}),
        (Normal(0, [[1, 2]], 2), {"situation": 0, "arms": [[1.0, 2.0]], "sd": [2.0], "intercept": True}),
    ],
    "contexts categories": [
        (
            Categories({"a": {"x": 0.5, "y": 0.5}}, [[1], [2]]),
            {"categories": {"a": {"x": 0.5, "y": 0.5}}, "arms": [[1.0], [2.0]], "intercept": True},
        )
    ],
    "contexts log": [
        (
            Log([{"new": True}], Features({"new": Flag()}), order="drawn"),
            {
                "values": [{"new": True}],
                "features": plain(Features({"new": Flag()})),
                "arms": None,
                "order": "drawn",
            },
        ),
        (
            Log([[1, 2]], arms=[[[1], [2]]]),
            {"values": [[1.0, 2.0]], "features": None, "arms": [[[1], [2]]], "order": "log"},
        ),
    ],
    "feedback spread/random": [(RandomDelay(1, 9), {"low": 1, "high": 9})],
    "feedback spread/bounded": [(Bounded(3, 8), {"start": 3, "stop": 8})],
    "feedback spread/decreasing": [(Decreasing(6), {"length": 6})],
    "feedback spread/increasing": [(Increasing(6), {"length": 6})],
    "feedback spread/discounted": [(Discounted(0.8), {"factor": 0.8})],
    "feedback spread/polynomial": [(Polynomial(2), {"exponent": 2.0})],
    "feedback spread/kernel": [
        (Kernel([0.1, 0.9]), {"weights": [0.1, 0.9]}),
        (Kernel([[0.1, 0.9], [0.5, 0.0]]), {"weights": [[0.1, 0.9], [0.5, 0.0]]}),
    ],
    "feedback nonoblivious": [
        (NonOblivious(3), {"delay": 3, "best": None}),
        (NonOblivious(3, best=1), {"delay": 3, "best": 1}),
    ],
}
EVERY = [
    (*key.split(), part, form | ({"named": part.named} if isinstance(part, Delay) else {}))
    for key, pairs in PARTS.items()
    for part, form in pairs
]
BASES: dict[str, type] = {
    "rewards": Rewards,
    "contexts": Contexts,
    "availability": Availability,
    "feedback": FeedbackModel,
}


def equal(one: Any, other: Any) -> bool:
    """Whether two parts, or arguments of parts, are of the same type and hold the same, also as arrays."""
    if type(one) is not type(other):
        return False
    if attrs.has(type(one)):
        names = [field.name for field in attrs.fields(type(one)) if field.init]
        return all(equal(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return bool(one == other)


@pytest.mark.parametrize(("slot", "kind", "part", "form"), EVERY, ids=[f"{slot} {kind}" for slot, kind, *_ in EVERY])
def test_a_part_is_built_again_from_its_plain_form(slot: str, kind: str, part: Part, form: dict[str, Any]) -> None:
    name, _, profile = kind.partition("/")
    table = plain(part)
    assert table == {"kind": name} | ({"profile": profile} if profile else {}) | form
    again = build(slot, json.loads(json.dumps(table)))
    assert equal(again, part)
    assert plain(again) == table
    assert isinstance(part, BASES[slot])


@pytest.mark.parametrize("slot", BASES)
def test_every_kind_is_tested(slot: str) -> None:
    shipped = {kind for kind, cls in kinds(slot).items() if cls.__module__.startswith("evenhand.")}
    assert {key.split()[1] for key in PARTS if key.startswith(f"{slot} ")} == shipped


def test_an_environment_is_built_again_from_its_plain_form() -> None:
    environment = Environment(
        Gaussian([15.0, 14.0], 0.5),
        Independent([0.9, 0.8]),
        Geometric(0.1),
        names=("tea", "coffee"),
        fractions=[0.1, 0.2],
        penalties=0.3,
        weights=[1.0, 2.0],
        merit=Power(beta=2.0),
        reward_range=(10, 20),
    )
    again = build("environment", json.loads(json.dumps(plain(environment))))
    assert equal(again, environment)
    assert again.unit == environment.unit


def test_lanes_cut_what_differs_between_them() -> None:
    environment = Environment(Beta(means=PerLane([[0.3, 1.0], [0.5, 0.5], [0.1, 0.2]])))
    assert for_lanes(environment, slice(1, 3)).means.tolist() == [[0.5, 0.5], [0.1, 0.2]]


@pytest.mark.parametrize(
    "part",
    [Custom(lambda u, arm, x: u), Adversary(lambda *_: 1.0), Kernel(lambda tau: 0.0 * tau)],
    ids=lambda p: type(p).__name__,
)
def test_functions_have_no_plain_form(part: Part) -> None:
    with pytest.raises(StateError, match=r"^the function .*<lambda> cannot be saved"):
        plain(part)


@pytest.mark.parametrize(
    ("slot", "table", "message"),
    [
        ("rewards", {"kind": "bernouli", "means": [0.5]}, "unknown kind 'bernouli'; did you mean 'bernoulli'"),
        ("rewards", {"kind": "bernoulli"}, "^means is missing$"),
        ("rewards", {"kind": "bernoulli", "means": [0.5, 2]}, r"^means\[1\] must be a number in \[0, 1\], got 2.0$"),
        ("rewards", {"kind": "beta"}, "^Beta rewards need either a and b, or "),
        (
            "rewards",
            {"kind": "beta", "a": [1], "b": [1], "means": [0.5]},
            "^Beta rewards need either a and b, or ",
        ),
        ("rewards", {"kind": "beta", "a": [1]}, "^Beta rewards need either a and b, or "),
        ("rewards", {"kind": "table", "values": [[1.0]], "order": "random"}, "^order must be 'log' or 'shuffled'"),
        ("feedback", {"kind": "spread", "profile": "bound"}, "unknown profile 'bound'; did you mean 'bounded'"),
        ("feedback", {"kind": "spread", "profile": "bounded", "start": 0}, "^stop is missing$"),
        (
            "feedback",
            {"kind": "spread", "profile": "bounded", "start": 3, "stop": 3},
            "^stop must be at least 4, got 3$",
        ),
        ("feedback", {"kind": "fixed", "delay": "3"}, "^delay must be numbers of rounds, got '3'$"),
        ("feedback", {"kind": "fixed", "dealy": 3, "delay": -1}, "^delay must be .*, got -1\nunknown key 'dealy'"),
        (
            "availability",
            {"kind": "joint", "sets": [[1, 2]], "probabilities": [2.0]},
            r"^sets\[0\]\[1\] must be .*\nprob",
        ),
    ],
)
def test_every_fault_of_a_plain_form_is_named(slot: str, table: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        build(slot, table)
    if "unknown" in message or "missing" in message:
        with pytest.raises(ConfigurationError):
            build(slot, table)


@pytest.mark.parametrize("base", [Rewards, Availability, FeedbackModel, Delay])
def test_a_base_class_alone_is_no_part(base: Any) -> None:
    with pytest.raises(TypeError, match="abstract"):
        base()


def test_what_parts_answer_for_themselves() -> None:
    parts: dict[str, Any] = {f"{slot} {kind}": part for slot, kind, part, _ in EVERY}
    assert {key for key, part in parts.items() if key.startswith("rewards") and part.traits.in_hindsight} == {
        "rewards piecewise",
        "rewards sinusoidal",
        "rewards table",
        "rewards varying",
        "rewards winners",
    }
    assert {key for key, part in parts.items() if getattr(part, "rows", None) is not None} == {
        "rewards table",
        "rewards varying",
        "contexts log",
        "availability log",
    }
    assert {key for key, part in parts.items() if key.startswith("availability") and not part.traits.sleeping} == {
        "availability always"
    }
    anonymous = {key for key in PARTS if "spread" in key} | {"feedback nonoblivious"}
    assert {key for key, part in parts.items() if key.startswith("feedback") and part.traits.anonymous} == anonymous


# --- parts of one's own: a base class and one method ------------------------------------------------------------------


class ThirdRoundLate(Delay):
    """Every play of the last arm is known two rounds later."""

    def quantile(self, level: Any, arm: Any, reward: Any) -> Any:
        return np.where(arm == 1, 2.0, 0.0)


class Shared(FeedbackModel):
    """All rewards of a round as one sum, for whoever plays."""

    traits = FeedbackTraits(anonymous=True)

    def open(self, shape: tuple[int, ...], rounds: int) -> Any:
        return Immediate()


class Mornings(Availability):
    """The second arm is awake in even rounds only."""

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        awake = np.ones((len(rows), lanes, 2), dtype=bool)
        awake[:, :, 1] = rows % 2 == 0
        return awake


class Stairs(Rewards):
    """Rewards that rise with the arm."""

    means = np.array([0.0, 1.0])

    def draw(self, rng: np.random.Generator, rows: Any, lanes: int) -> Any:
        return np.broadcast_to(self.means, (len(rows), lanes, 2))


def test_own_parts_need_a_base_class_and_one_method() -> None:
    environment = Environment(Stairs(), Mornings(), ThirdRoundLate())
    assert (environment.arms, environment.rows, environment.bounded, environment.unit) == (2, None, False, None)
    assert environment.availability.traits.sleeping
    assert environment.availability.distribution(2) is None
    assert not environment.feedback.traits.anonymous
    assert Environment(Stairs(), feedback=Shared()).feedback.traits.anonymous
    world = environment.start(6, 1, np.random.SeedSequence(1))
    received = []
    for round in range(1, 7):
        available = world.observe().available
        assert available is not None
        assert available[0].tolist() == [True, round % 2 == 1]
        feedback = world.step(Decision(round, available, None, available, available)).feedback
        received.append(feedback.received[0].tolist())
    assert received == [[1, 0], [1, 0], [1, 1], [1, 0], [1, 1], [1, 0]]
    assert ThirdRoundLate().quantiles(0.5, [0.1, 0.9]).tolist() == [0.0, 2.0]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            np.array([0.0, -2.0]),
            r"^Broken\.quantile returned -2\.0 for arm 2; a delay is a number of rounds of at least 0",
        ),
        (
            np.array([BLANK, 0.0]),
            r"^Broken\.quantile returned nan for arm 1; a delay is a number of rounds of at least",
        ),
        (np.zeros(3), r"^Broken\.quantile returned shape \(3,\) for 2 plays; it must return one delay for each$"),
        (3.0, r"^Broken\.quantile returned shape \(\) for 2 plays; it must return one delay for each$"),
    ],
)
def test_wrong_delays_of_an_own_class_are_refused(returned: Any, message: str) -> None:
    class Broken(Delay):
        def quantile(self, level: Any, arm: Any, reward: Any) -> Any:
            return returned

    channel = Broken().open((2,), 5)
    with pytest.raises(EvenhandError, match=message):
        channel.send(np.array([True, True]), np.ones(2), np.zeros(2))
