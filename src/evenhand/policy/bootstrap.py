"""Bootstrap sampling with estimators of other libraries, such as scikit-learn's."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import field as slot
from typing import Any, ClassVar, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import naming_arguments
from evenhand.core.state import Array, Feedback, Observation, Shape, State
from evenhand.policy.contextual import ByFeatures, plays_of, shape_of
from evenhand.policy.linear_sums import check_columns, each_arm, features_of, turns_of
from evenhand.policy.part import Places, Traits

ROOM = 8  # columns for the rewards of a lane at first


class Fitted(NamedTuple):
    """An estimator fitted to the sample of one member; None where the sample is empty."""

    model: Any
    rows: int  # of the group, when it was fitted
    size: int  # of the sample


@dataclass(slots=True)
class Sample:
    """The rewards of each lane with the features of their pulls, and how often each stands in each member's sample."""

    grows: ClassVar[frozenset[str]] = frozenset({"arms", "features", "rewards", "times"})

    situation: int  # columns of the situation, d
    arm: int  # columns of every arm
    arms: Places  # (…, n), −1 where a lane has fewer rewards than others or room for more
    features: Array  # (…, d + d_arm, n)
    rewards: Array  # (…, n)
    times: Places  # (…, members, n)
    fitted: dict[tuple[int, ...], Fitted] | None = slot(default=None, compare=False)  # by lane, arm and member

    def room(self, number: int) -> None:
        """Have columns for so many rewards of each lane, and as many again when they are full."""
        width = self.rewards.shape[-1]
        if number > width:
            for name in self.grows:
                array = getattr(self, name)
                more = [(0, 0)] * (array.ndim - 1) + [(0, max(number, 2 * width) - width)]
                setattr(self, name, np.pad(array, more, constant_values=-1 if name == "arms" else 0))


def _estimator(value: object) -> object:
    """Something with ``fit`` and ``predict``."""
    if isinstance(value, type) or not (hasattr(value, "fit") and hasattr(value, "predict")):
        raise EvenhandError(
            f"must be an object with fit and predict, such as Ridge() of scikit-learn, got {value!r}", "estimator"
        )
    return value


@naming_arguments
@frozen
class Bootstrap(ByFeatures):
    """Thompson sampling by the bootstrap: the score is ``(m f̂(φ) + c u)/(m + c)``, f̂ fitted to one member's sample.

    A reward enters the sample of each member a number of times drawn from Poisson(1). In a round each arm (in the
    shared model each lane) draws a member; m is the size of its sample, ``u ~ U(0, 1)`` and c is the ``prior``, which
    keeps alive an arm whose first rewards were all 0. The estimator is copied and fitted anew when a member is asked
    and the rewards of its arm have grown by ``refit``, so that n rewards cost some ``ln(n)/refit`` fits a member.

    For simulations, `compare`, `evaluate` and `replay` only: fitted estimators can neither be read safely from a file
    nor followed by replay, and they keep data that were erased. The propensity has no closed form. Not a kind for
    configuration files, as the estimator is an object.

    Args:
        estimator: any object with ``fit(X, y)`` and ``predict(X)``, or ``predict_proba(X)`` and ``classes_``, whose
            expected class is then the score (rewards then need to be few different numbers, such as 0 and 1).
        members: number of samples, at least 1.
        model: ``"disjoint"``, an estimator for every arm; ``"shared"``, one for all, as in `LinUCB`.
        prior: c ≥ 0, in rewards.
        refit: growth of the data, > 0, after which an estimator is fitted anew.

    Raises:
        EvenhandError: the estimator has no ``fit`` or no ``predict``.

    Example:
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(Bootstrap(DecisionTreeClassifier(max_depth=3), members=5))
        >>> state = policy.start(arms=2, columns=(1, 0))
        >>> policy.index.score(state, Observation(situation=np.array([1.0])), np.random.default_rng(0)).round(3)
        array([0.27 , 0.041])

    Source: Eckles & Kaptein 2014, with the Poisson weights of Oza & Russell 2001. The prior is ours: an artificial
        history as in Osband & Van Roy 2015, drawn anew in every round.
    """

    estimator: Any = field(converter=_estimator)
    members: int = field(default=10, converter=validate.count)
    model: str = field(default="disjoint", validator=validate.choice("disjoint", "shared"), kw_only=True)
    prior: float = field(default=1.0, converter=validate.nonnegative, kw_only=True)
    refit: float = field(default=0.1, converter=validate.positive, kw_only=True)
    traits = Traits(contextual=True, random=True, offline=True)

    def start(self, shape: Shape) -> Sample:
        """No rewards."""
        situation, arm = shape_of(shape).columns
        check_columns(self.model, (situation, arm))
        lead = shape[:-1]
        arms, times = np.full((*lead, ROOM), -1), np.zeros((*lead, self.members, ROOM), dtype=np.intp)
        features = np.zeros((*lead, situation + arm, ROOM))
        return Sample(situation, arm, arms, features, np.zeros((*lead, ROOM)), times)

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Add the rewards that arrived, each some times to the sample of each member."""
        if feedback.answers is None or not len(feedback.answers.rewards):
            return
        memory: Sample = state.index
        plays, _ = plays_of(feedback, (memory.situation, memory.arm), state.arms)
        lanes = memory.arms.reshape(-1, memory.arms.shape[-1])
        columns = (lanes >= 0).sum(axis=-1)[plays.lanes] + turns_of(plays.lanes)
        memory.room(int(columns.max()) + 1)
        for array, values in (
            (memory.arms, plays.arms),
            (memory.features, np.hstack((plays.situation, plays.features))),
            (memory.rewards, plays.rewards),
            (memory.times, rng.poisson(1.0, (len(plays.rewards), self.members))),
        ):
            lead = state.tally.pulls.shape[:-1]
            array.reshape(-1, *array.shape[len(lead) :])[plays.lanes, ..., columns] = values

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """One draw for every arm, (…, arms)."""
        pulls = state.tally.pulls
        groups = pulls.shape if self.model == "disjoint" else pulls.shape[:-1]
        members = np.asarray(rng.integers(self.members, size=groups))
        prior = rng.random(pulls.shape)
        return self._joined(*self._predicted(state, self._features(state, observation), members), prior)

    def expected(self, state: State, observation: Observation) -> Array:
        """The mean of what the members predict, with 1/2 for the prior."""
        shape = state.tally.pulls.shape
        features = self._features(state, observation)
        groups = shape if self.model == "disjoint" else shape[:-1]
        asked = (self._predicted(state, features, np.full(groups, member)) for member in range(self.members))
        return np.asarray(np.mean([self._joined(*predicted, 0.5) for predicted in asked], axis=0))

    def _features(self, state: State, observation: Observation) -> Array:
        """Features of the situation and of the arm, (…, arms, d + d_arm)."""
        memory: Sample = state.index
        return each_arm(*features_of(observation, state.tally.pulls.shape, (memory.situation, memory.arm)))

    def _joined(self, means: Array, sizes: Array, prior: Any) -> Array:
        """A prediction with the prior; 0 where there is neither."""
        weight = sizes + self.prior
        return np.asarray((sizes * means + self.prior * prior) / np.where(weight > 0.0, weight, 1.0))

    def _predicted(self, state: State, features: Array, members: Places) -> tuple[Array, Array]:
        """What the asked members predict of every arm, and the sizes of their samples, each (…, arms)."""
        shape, received = features.shape[:-1], state.tally.received
        if self.model == "shared":
            received = received.sum(axis=-1)
        rows = features.reshape(members.size, -1, features.shape[-1])  # those of each group: an arm, or a lane
        means, sizes = np.zeros(rows.shape[:2]), np.zeros(rows.shape[:2])
        for group, (member, number) in enumerate(zip(members.flat, received.flat, strict=True)):
            place = divmod(group, shape[-1]) if self.model == "disjoint" else (group,)
            fitted = self._fitted(state.index, (*place, int(member)), int(number))
            if fitted.size:
                means[group], sizes[group] = _means(fitted.model, rows[group]), fitted.size
        return means.reshape(shape), sizes.reshape(shape)

    def _fitted(self, memory: Sample, key: tuple[int, ...], number: int) -> Fitted:
        """The estimator of a lane, in the disjoint model an arm, and a member; fitted anew after enough new rewards."""
        memory.fitted = memory.fitted or {}
        known = memory.fitted.get(key)
        if known is None or known.rows < number >= known.rows * (1.0 + self.refit):
            lane = (key[0],) if memory.arms.ndim > 1 else ()
            arms = memory.arms[lane]
            mine = np.flatnonzero(arms == key[1] if self.model == "disjoint" else arms >= 0)
            # Rows stand as often as they were drawn: not every estimator takes weights.
            sample = np.repeat(mine, memory.times[lane][key[-1], mine])
            features, rewards = memory.features[lane][:, sample].T, memory.rewards[lane][sample]
            model = _fit(self.estimator, features, rewards) if len(sample) else None
            known = memory.fitted[key] = Fitted(model, number, len(sample))
        return known


def _fit(estimator: Any, features: Array, rewards: Array) -> Any:
    """A fitted copy of an estimator; the reward itself where there is only one, as classifiers need two."""
    if (rewards == rewards[0]).all():
        return rewards[0]
    try:
        return deepcopy(estimator).fit(features, rewards)
    except ValueError as error:
        few = " (classifiers need few different rewards)" if hasattr(estimator, "predict_proba") else ""
        fault = f"{estimator!r} cannot be fitted to {len(rewards)} rewards{few}: {error}"
        raise EvenhandError(fault, "estimator") from error


def _means(model: Any, features: Array) -> Array:
    """The rewards that a fitted estimator expects, (n,)."""
    if isinstance(model, float):
        return np.full(len(features), model)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(features) @ np.asarray(model.classes_, dtype=float))
    return np.asarray(model.predict(features), dtype=float)
