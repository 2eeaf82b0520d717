"""The tables of a configuration file that describe the outside world, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator, model_validator

from evenhand import availability as avail
from evenhand import delays, holds, spread
from evenhand import merit as mer
from evenhand import rewards as rew
from evenhand.datasets import clicks, conversions, logs, movielens
from evenhand.datasets.popular import popular
from evenhand.environment import Environment
from evenhand.errors import EvenhandError, nearest
from evenhand.feedback import FeedbackModel, Immediate
from evenhand.records import PerLane

Numbers = float | list[float]


class Section(BaseModel):
    """A table of the file; keys that are not known are refused with the nearest known one."""

    model_config = ConfigDict(extra="forbid", strict=False, allow_inf_nan=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            kinds = get_args(cls.model_fields["kind"].annotation) if "kind" in cls.model_fields else ()
            if kinds and data.get("kind", kinds[0]) not in kinds:
                raise ValueError(f"unknown kind {data['kind']!r}{nearest(data['kind'], kinds)}")
            for key, value in data.items():
                if key not in cls.model_fields:
                    raise ValueError(f"unknown key {key!r}{nearest(key, cls.model_fields)}")
                # Python takes true for 1.
                if isinstance(value, bool) and cls.model_fields[key].annotation is not bool:
                    raise ValueError(f"{key} cannot be {str(value).lower()}")
        return data


class Drawn(Section):
    """Means drawn anew in every lane, uniformly; the same for all policies."""

    kind: Literal["uniform"]
    arms: Annotated[int, Field(ge=1)]
    low: float = 0.0
    high: float = 1.0

    def draw(self, lanes: int, seed: int) -> PerLane:
        """The means of every lane, from a stream of their own."""
        # A key that no block of lanes has.
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(2**31,)))
        return PerLane(rng.uniform(self.low, self.high, (lanes, self.arms)))


class HalfRange(Section):
    """Penalties of half the distance between the best and the worst mean, lane by lane."""

    kind: Literal["half_range"]


@dataclass(frozen=True)
class RunContext:
    """What a section may need to know of the run."""

    folder: Path
    lanes: int
    seed: int

    def means(self, value: list[float] | Drawn) -> Any:
        """Means as given, or drawn."""
        return value.draw(self.lanes, self.seed) if isinstance(value, Drawn) else value


class BernoulliRewards(Section):
    """Reward 1 with probability μ."""

    kind: Literal["bernoulli"]
    means: list[float] | Drawn

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Bernoulli(run.means(self.means))


class GaussianRewards(Section):
    """Normal rewards."""

    kind: Literal["gaussian"]
    means: list[float] | Drawn
    sd: Numbers

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Gaussian(run.means(self.means), self.sd)


class BetaRewards(Section):
    """Beta rewards, by a and b or by their means."""

    kind: Literal["beta"]
    a: list[float] | None = None
    b: list[float] | None = None
    means: list[float] | Drawn | None = None

    @model_validator(mode="after")
    def _one_way(self) -> BetaRewards:
        by_shape, by_means = self.a is not None and self.b is not None, self.means is not None
        if by_shape == by_means or (by_means and (self.a is not None or self.b is not None)):
            raise ValueError("give either a and b, or means")
        return self

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Beta(self.a, self.b) if self.means is None else rew.BetaMeans(run.means(self.means))


class CategoricalRewards(Section):
    """Rewards from a list of values."""

    kind: Literal["categorical"]
    values: list[float]
    probabilities: list[list[float]]

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Categorical(self.values, self.probabilities)


class TableRewards(Section):
    """Rewards from a log: a CSV file with a column an arm and a row a round."""

    kind: Literal["table"]
    path: str
    order: Literal["log", "shuffled"] = "log"

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Table(logs.read_rewards(run.folder / self.path)[1], self.order)


class WinnersRewards(Section):
    """Exactly one arm pays in a round."""

    kind: Literal["winners"]
    probabilities: list[float]

    def build(self, run: RunContext) -> rew.Rewards:
        """The reward model."""
        return rew.Winners(self.probabilities)


Rewards = BernoulliRewards | GaussianRewards | BetaRewards | CategoricalRewards | TableRewards | WinnersRewards


class AlwaysAvailable(Section):
    """Every arm in every round."""

    kind: Literal["always"] = "always"

    def build(self, run: RunContext, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        return avail.Always()


class IndependentAvailability(Section):
    """Each arm with its own probability."""

    kind: Literal["independent"]
    probabilities: list[float]

    def build(self, run: RunContext, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        return avail.Independent(self.probabilities)


class JointAvailability(Section):
    """A table of sets: rows of 0 and 1, an entry an arm, or lists of names of arms."""

    kind: Literal["joint"]
    sets: list[list[int | str]]
    probabilities: list[float]

    def build(self, run: RunContext, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        rows = [self._row(place, members, names) for place, members in enumerate(self.sets)]
        return avail.Joint(rows, self.probabilities)

    def _row(self, place: int, members: list[int | str], names: tuple[str, ...]) -> list[float]:
        if all(isinstance(member, str) for member in members):
            for member in members:
                if member not in names:
                    raise EvenhandError(f"sets[{place}]: there is no arm {member!r}{nearest(str(member), names)}")
            return [float(name in members) for name in names]
        if len(members) != len(names) or any(member not in (0, 1) for member in members):
            raise EvenhandError(
                f"sets[{place}] must be {len(names)} entries of 0 or 1, or a list of names of arms, got {members}"
            )
        return [float(member) for member in members]


class LoggedAvailability(Section):
    """A log: a CSV file of 0 and 1, or, without a path, the blanks of the reward table."""

    kind: Literal["log"]
    path: str | None = None

    def build(self, run: RunContext, rewards: rew.Rewards, names: tuple[str, ...]) -> avail.Availability:
        """The availability model."""
        if self.path is not None:
            logged, table = logs.read_availability(run.folder / self.path)
            if logged != names:
                raise EvenhandError(
                    f"the availability log {self.path} is headed {', '.join(logged)}; "
                    f"the arms are {', '.join(names)}, in this order"
                )
            return avail.Logged(table)
        if not isinstance(rewards, rew.Table):
            raise EvenhandError("availability of kind 'log' needs a path, unless the rewards are a table with blanks")
        return avail.Logged(~np.isnan(rewards.values))


Availability = AlwaysAvailable | IndependentAvailability | JointAvailability | LoggedAvailability


class ImmediateFeedback(Section):
    """Every reward is known at the end of its round."""

    kind: Literal["immediate"] = "immediate"

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return Immediate()


class FixedFeedback(Section):
    """The same delay for every play."""

    kind: Literal["fixed"]
    delay: Numbers

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.Fixed(self.delay)


class GeometricFeedback(Section):
    """The number of trials up to the first success."""

    kind: Literal["geometric"]
    success: Numbers

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.Geometric(self.success)


class ParetoFeedback(Section):
    """Heavy tails."""

    kind: Literal["pareto"]
    tail: Numbers

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.Pareto(self.tail)


class PacketLossFeedback(Section):
    """At once or never."""

    kind: Literal["packet_loss"]
    received: Numbers

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.PacketLoss(self.received)


class ByRewardFeedback(Section):
    """A delay that the reward itself decides."""

    kind: Literal["by_reward"]
    delays: list[list[float]]
    values: list[float] = [0.0, 1.0]

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.ByReward(self.delays, self.values)


class UniformFeedback(Section):
    """Any delay in a range."""

    kind: Literal["uniform"]
    low: Numbers
    high: Numbers

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        return delays.Uniform(self.low, self.high)


class EmpiricalFeedback(Section):
    """Delays drawn from a log: a CSV file with a column an arm, or a single column for all."""

    kind: Literal["empirical"]
    path: str

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        headed, samples = logs.read_delays(run.folder / self.path)
        if len(headed) > 1 and headed != names:
            raise EvenhandError(
                f"the log of delays {self.path} is headed {', '.join(headed)}; "
                f"the arms are {', '.join(names)}, in this order"
            )
        return delays.Empirical(samples)


#: Profiles of a spread: the class, and its parameters.
PROFILES: dict[str, tuple[type[spread.Spread], tuple[str, ...]]] = {
    "random": (spread.RandomDelay, ("low", "high")),
    "bounded": (spread.Bounded, ("start", "stop")),
    "decreasing": (spread.Decreasing, ("length",)),
    "increasing": (spread.Increasing, ("length",)),
    "discounted": (spread.Discounted, ("factor",)),
    "polynomial": (spread.Polynomial, ("exponent",)),
    "kernel": (spread.Kernel, ("weights",)),
}


class SpreadFeedback(Section):
    """Rewards that spread over time and come back as one anonymous sum."""

    kind: Literal["spread"]
    profile: Literal["random", "bounded", "decreasing", "increasing", "discounted", "polynomial", "kernel"]
    low: int | None = None
    high: int | None = None
    start: int | None = None
    stop: int | None = None
    length: int | None = None
    factor: float | None = None
    exponent: float | None = None
    weights: list[float] | list[list[float]] | None = None

    @model_validator(mode="after")
    def _fitting(self) -> SpreadFeedback:
        needed = PROFILES[self.profile][1]
        given = self.model_fields_set - {"kind", "profile"}
        for name in (*needed, *sorted(given)):
            if name not in given or name not in needed:
                fault = "needs" if name in needed else "has no"
                raise ValueError(f"the profile {self.profile!r} {fault} {name!r}")
        return self

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model."""
        made, needed = PROFILES[self.profile]
        return made(**{name: getattr(self, name) for name in needed})


class NonObliviousFeedback(Section):
    """An adversary that keeps back the best arm's rewards once it has been settled on."""

    kind: Literal["nonoblivious"]
    delay: int

    def build(self, run: RunContext, names: tuple[str, ...], means: Any) -> FeedbackModel:
        """The feedback model; the best arm is that of the largest mean."""
        if isinstance(means, PerLane):
            raise EvenhandError("feedback of kind 'nonoblivious' needs the same means in all lanes")
        return spread.NonOblivious(self.delay, int(np.argmax(means)))


Feedback = (
    ImmediateFeedback
    | FixedFeedback
    | GeometricFeedback
    | ParetoFeedback
    | PacketLossFeedback
    | ByRewardFeedback
    | UniformFeedback
    | EmpiricalFeedback
    | SpreadFeedback
    | NonObliviousFeedback
)


class PowerMerit(Section):
    """``1 + β μ^c``."""

    kind: Literal["power"]
    beta: float = 2.0
    exponent: float = 4.0

    def build(self) -> mer.Merit:
        """The merit function."""
        return mer.Power(self.beta, self.exponent)


class LinearMerit(Section):
    """``a + b μ``."""

    kind: Literal["linear"]
    slope: float = 1.0
    intercept: float = 1.0

    def build(self) -> mer.Merit:
        """The merit function."""
        return mer.Linear(self.slope, self.intercept)


class SoftmaxMerit(Section):
    """``exp(μ/τ)``."""

    kind: Literal["softmax"]
    temperature: float = 1.0

    def build(self) -> mer.Merit:
        """The merit function."""
        return mer.Softmax(self.temperature)


class ThresholdMerit(Section):
    """One merit below a mean, another from there on."""

    kind: Literal["threshold"]
    at: float = 0.5
    below: float = 1.0
    above: float = 2.0

    def build(self) -> mer.Merit:
        """The merit function."""
        return mer.Threshold(self.at, self.below, self.above)


class TableMerit(Section):
    """Merits at some means, and straight lines between them."""

    kind: Literal["table"]
    means: list[float]
    merits: list[float]

    def build(self) -> mer.Merit:
        """The merit function."""
        return mer.Tabulated(self.means, self.merits)


Merit = PowerMerit | LinearMerit | SoftmaxMerit | ThresholdMerit | TableMerit
AnyMerit: TypeAdapter[Merit] = TypeAdapter(Annotated[Merit, Field(discriminator="kind")])


class FilmData(Section):
    """Five films and their ratings: figures that ship with the package, or a log."""

    kind: Literal["films"]
    path: str | None = None
    order: Literal["log", "shuffled"] = "log"

    def build(self, run: RunContext) -> Environment:
        """The users of the log, one a round, or the figures that ship with the package."""
        if self.path is None:
            if self.order != "log":
                raise EvenhandError("users can be shuffled in a log only: give its path")
            return movielens.films()
        return movielens.load(run.folder / self.path).environment(self.order)


class PopularData(Section):
    """Films with many ratings and their histograms: figures that ship with the package, or a copy of MovieLens."""

    kind: Literal["popular"]
    path: str | None = None
    more_than: Annotated[int, Field(ge=0, strict=True)]

    def build(self, run: RunContext) -> Environment:
        """The films of the copy, or those that ship with the package."""
        return popular(None if self.path is None else run.folder / self.path, self.more_than)


class ConversionData(Section):
    """Ads, their conversions and the delays of these: figures that ship with the package, or a log."""

    kind: Literal["conversions"]
    path: str | None = None
    rates: list[float] | Literal["scaled_conversions", "scaled_rates", "rates"] | None = None
    ads: Annotated[int, Field(ge=1)] | None = None
    click_rate: float = conversions.CLICK_RATE

    def build(self, run: RunContext) -> Environment:
        """The ads of the log, or those that ship with the package."""
        if self.path is None:
            if self.ads is not None:
                raise EvenhandError("ads can be chosen from a log only: give its path")
            return conversions.shipped(self.rates or "scaled_conversions", self.click_rate)
        log = conversions.load(run.folder / self.path, self.ads or conversions.ADS)
        return log.environment(self.rates, self.click_rate)


class OutbrainData(Section):
    """Categories of advertisements, from Kaggle's Outbrain Click Prediction."""

    kind: Literal["outbrain"]
    path: str
    arms: Annotated[int, Field(ge=2)] = 7
    rows: Annotated[int, Field(ge=1)] = 100_000

    def build(self, run: RunContext) -> Environment:
        """A log of clicks."""
        names, table = clicks.outbrain(run.folder / self.path, self.arms, self.rows)
        return Environment(rew.Table(table), names=names)


class CouponData(Section):
    """Days of the week, from Kaggle's Coupon Purchase Prediction."""

    kind: Literal["coupons"]
    path: str
    rows: Annotated[int, Field(ge=1)] = 100_000

    def build(self, run: RunContext) -> Environment:
        """A log of visits."""
        names, table = clicks.coupons(run.folder / self.path, self.rows)
        return Environment(rew.Table(table), names=names)


class SyntheticData(Section):
    """A made-up log: one arm pays in every step, in bursts, with chances that drift."""

    kind: Literal["synthetic"]
    rows: Annotated[int, Field(ge=1)] = 100_000
    arms: Annotated[int, Field(ge=2)] = 7
    seed: Annotated[int, Field(ge=0)] = 0
    drift: float = 0.01
    burst: float = 20.0

    def build(self, run: RunContext) -> Environment:
        """A log."""
        return Environment(rew.Table(clicks.synthetic(self.rows, self.arms, self.seed, self.drift, self.burst)))


Dataset = FilmData | PopularData | ConversionData | OutbrainData | CouponData | SyntheticData


class PowerSize(Section):
    """``k^β`` rounds."""

    kind: Literal["power"]
    exponent: float = 2.0

    def build(self) -> holds.Size:
        """The size function."""
        return holds.PowerSize(self.exponent)


class GeometricSize(Section):
    """``2^(k+c)`` rounds."""

    kind: Literal["geometric"]
    offset: int = 0

    def build(self) -> holds.Size:
        """The size function."""
        return holds.GeometricSize(self.offset)


Size = PowerSize | GeometricSize
AnySize: TypeAdapter[Size] = TypeAdapter(Annotated[Size, Field(discriminator="kind")])

#: The keys whose tables may be of several kinds, and all these kinds.
UNIONS = {
    "rewards": Rewards,
    "availability": Availability,
    "feedback": Feedback,
    "merit": Merit,
    "dataset": Dataset,
    "size": Size,
}
KINDS = {get_args(model.model_fields["kind"].annotation)[0] for union in UNIONS.values() for model in get_args(union)}


class EnvironmentSection(Section):
    """The section ``[environment]``."""

    dataset: Annotated[Dataset, Field(discriminator="kind")] | None = None
    arms: list[str] | None = None
    rewards: Annotated[Rewards, Field(discriminator="kind")] | None = None
    availability: Annotated[Availability, Field(discriminator="kind")] = AlwaysAvailable()
    feedback: Annotated[Feedback, Field(discriminator="kind")] = ImmediateFeedback()
    fractions: list[float] | None = None
    penalties: Numbers | HalfRange | None = None
    weights: Numbers | None = None
    merit: Annotated[Merit, Field(discriminator="kind")] | None = None

    @field_validator("dataset", mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _some_world(self) -> EnvironmentSection:
        if (self.dataset is None) == (self.rewards is None):
            raise ValueError("give either rewards or a dataset")
        if self.dataset is not None and {"arms", "availability"} & self.model_fields_set:
            raise ValueError("a dataset brings its own arms and availability")
        return self

    def build(self, run: RunContext) -> Environment:
        """The environment."""
        stakes: dict[str, Any] = {
            "fractions": self.fractions,
            "weights": self.weights,
            "merit": None if self.merit is None else self.merit.build(),
        }
        feedback: FeedbackModel | None = None
        if self.rewards is None:
            assert self.dataset is not None
            world = self.dataset.build(run)
            feedback = world.feedback
            parts: dict[str, Any] = {
                "rewards": world.rewards,
                "availability": world.availability,
                "names": world.names,
            }
        else:
            rewards = self.rewards.build(run)
            names = self._names(run, rewards)
            parts = {
                "rewards": rewards,
                "availability": self.availability.build(run, rewards, names),
                "names": names,
            }
        penalties = half_range(parts["rewards"].means) if isinstance(self.penalties, HalfRange) else self.penalties
        if feedback is None or "feedback" in self.model_fields_set:
            feedback = self.feedback.build(run, parts["names"], parts["rewards"].means)
        return Environment(**parts, feedback=feedback, penalties=penalties, **stakes)

    def _names(self, run: RunContext, rewards: rew.Rewards) -> tuple[str, ...]:
        if isinstance(self.rewards, TableRewards):
            headed = logs.read_rewards(run.folder / self.rewards.path)[0]
            if self.arms is not None and tuple(self.arms) != headed:
                raise EvenhandError(
                    f"arms must be those that head the reward table, in this order: {', '.join(headed)}"
                )
            return headed
        if self.arms is not None:
            return tuple(self.arms)
        return tuple(str(arm + 1) for arm in range(rewards.means.shape[-1]))


def half_range(means: Any) -> Any:
    """Half the distance between the best and the worst mean, for each lane where means differ between lanes."""
    values = np.asarray(getattr(means, "values", means))
    half = (values.max(axis=-1, keepdims=True) - values.min(axis=-1, keepdims=True)) / 2.0
    return PerLane(half) if isinstance(means, PerLane) else half
