"""Indexes that go by features: the reward is linear in them."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, Literal, TypeVar

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, FeatureShape, Feedback, Observation, Shape, State, remembered
from evenhand.policy.evidence import Evidence, Received, Weighing, as_evidence
from evenhand.policy.factors import exact_norm
from evenhand.policy.index import Index
from evenhand.policy.linear import LinearModel, ScoreParts, linear_model
from evenhand.policy.linear_sums import MODELS, Plays, Sums
from evenhand.policy.part import Places, Traits

NOISE = 0.5  # R, of rewards in [0, 1] around their mean (Hoeffding's lemma)
Theorem = Literal["theorem"]
T = TypeVar("T")


def number_or_theorem(value: object) -> float | Theorem:
    """A number of at least 0, or "theorem"."""
    if isinstance(value, str):
        if value != "theorem":
            raise EvenhandError(f"must be a number of at least 0 or 'theorem', got {shown(value)}")
        return "theorem"
    return validate.number("", value, low=0.0)


def weighing_of(evidence: Evidence) -> Weighing:
    """How evidence weighs plays with features."""
    weighing = evidence.weighing()
    if weighing is None:
        raise EvenhandError(
            f"must say how plays with features count, {shown(evidence)} goes by counts: use 'received', 'pessimistic' "
            "or Forgetting(discount=0.99)",
            "evidence",
        )
    return weighing


def shape_of(shape: Shape) -> FeatureShape:
    """A shape that knows the numbers of columns."""
    if not isinstance(shape, FeatureShape):
        raise EvenhandError(
            "goes by features: start the policy with their numbers of columns, or use an index of counts here", "index"
        )
    return shape


def plays_of(feedback: Feedback, columns: tuple[int, int], arms: int) -> tuple[Plays, Any]:
    """The rewards that arrived with the features of their pulls, and their delays (n,)."""
    answers = feedback.answers
    assert answers is not None
    number = len(answers.rewards)
    blocks = []
    for name, given, width in zip(("situation", "arms"), (answers.situation, answers.arms), columns, strict=True):
        block = np.zeros((number, 0)) if given is None else given
        if block.shape != (number, width):
            raise EvenhandError(f"of answers have shape {block.shape}, this policy needs {(number, width)}", name)
        blocks.append(block)
    lanes, places = np.divmod(answers.places, arms)
    return Plays(lanes, places, blocks[0], blocks[1], np.asarray(answers.rewards, dtype=float)), answers.delays


class ByFeatures(Index):
    """What indexes that go by features share."""

    @property
    def evidence(self) -> Evidence:
        """A reward counts when it comes."""
        return Received()

    def learn(self, memory: Any, plays: Array, sums: Array) -> Any:
        """Refused: counts have no features."""
        raise EvenhandError(f"it has an index ({type(self).__name__}) that learns from features, which counts have not")


@frozen
class LinearIndex(ByFeatures):
    """What indexes with a linear model of the reward share: the sums, and how the evidence weighs plays."""

    model: str = field(default="disjoint", validator=validate.choice(*MODELS))
    ridge: float = field(default=1.0, converter=validate.positive)
    evidence: Evidence = field(default=Received(), converter=as_evidence, metadata={"slot": "evidence"}, kw_only=True)
    delta: float = field(default=0.01, converter=validate.unit, kw_only=True)

    @property
    def _window(self) -> int | None:
        """Rounds within which a reward counts, where the play counts at once; None where it does not."""
        return None

    def __attrs_post_init__(self) -> None:
        if self.delta == 0.0:
            raise EvenhandError("must be in (0, 1], got 0.0", "delta")
        if weighing_of(self.evidence) != Weighing() and self.model == "hybrid":
            raise EvenhandError(
                f"model='hybrid' adds a play and its reward at once, {shown(self.evidence)} does not: use "
                "evidence='received', or model='shared' or 'disjoint'",
                "evidence",
            )

    def products(self, arms: int, columns: tuple[int, int]) -> tuple[float, float]:
        """Those of the blocks of its model."""
        return linear_model(self.model, self.ridge, (), arms, columns).products

    def start(self, shape: Shape) -> Sums:
        """Sums of nothing."""
        shape, fades = shape_of(shape), weighing_of(self.evidence).discount < 1.0
        model = LinearModel(self.model, self.ridge, tuple(shape[:-1]), shape[-1], shape.columns)
        return model.start(fades, self._window)

    def grow(self, memory: Sums, arms: int) -> Sums:
        """Zeros for the new arms."""
        return grown_at(memory, arms, {"own": 3, "own_rewards": 2, "cross": 3, "own_squares": 3, "norms": 1})

    def recolumn(self, memory: Sums, columns: tuple[int, int], situation: Places, arms: Places) -> Sums:
        """Zeros for the new columns: as if they had been 0 in every play."""
        model = linear_model(self.model, self.ridge, (), 1, columns)  # refuses columns that it cannot have
        return model.recolumn(memory, situation, arms)

    def after_decision(self, state: State, decision: Decision) -> None:
        """A round passes: plays fade, or those of the round count already."""
        discount = weighing_of(self.evidence).discount
        if discount < 1.0:
            self._model(state).fade(state.index, discount)
        if self._window is not None:
            self._play(state, decision)

    def _play(self, state: State, decision: Decision) -> None:
        """Count the plays of a round in V, and keep their lengths in V⁻¹."""
        sums, model, played = state.index, self._model(state), decision.played
        x, z = model.observed(Observation(None, decision.situation, decision.arms))
        places = played.nonzero()
        lanes, arms = places if played.ndim > 1 else (np.zeros_like(places[0]), places[0])
        plays = Plays(lanes, arms, x[places[:-1]] if played.ndim > 1 else x[np.newaxis][lanes], z[places], lanes * 0.0)
        model.add(sums, plays, counts=True, pays=False)
        own, common = model.split(plays.situation, plays.features)
        matrix, block = (sums.own, own) if sums.own is not None else (sums.common, common)
        at = places if sums.own is not None else places[:-1]
        matrix = matrix[at] if at else np.broadcast_to(matrix, (len(arms), *matrix.shape))
        ring = sums.norms[..., state.round % sums.norms.shape[-2], :]
        ring[:] = 0.0
        ring[places] = exact_norm(matrix, self.ridge, block)

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Add the rewards that arrived to the sums, each with the features of its pull."""
        if feedback.answers is None:  # nothing has arrived, as the policy makes sure
            return
        sums, window = state.index, self._window
        plays, delays = plays_of(feedback, (sums.situation, sums.arm), state.arms)
        if window is not None:
            plays = plays.some(delays <= window)
        self._model(state).add(sums, plays, counts=window is None, pays=True)

    def learn_pulls(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Add pulls and their rewards, also where pulls count when they are decided."""
        plays, _ = plays_of(feedback, (state.index.situation, state.index.arm), state.arms)
        self._model(state).add(state.index, plays, counts=True, pays=True)

    def expected(self, state: State, observation: Observation) -> Array:
        """``θ̂ᵀφ`` of every arm."""
        return self._parts(state, observation).means()

    def _model(self, state: State) -> LinearModel:
        sums: Sums = state.index
        lead = state.tally.pulls.shape
        return linear_model(self.model, self.ridge, lead[:-1], lead[-1], (sums.situation, sums.arm))

    def _parts(self, state: State, observation: Observation) -> ScoreParts:
        """The parts of the scores of a decision."""
        model = self._model(state)
        return model.parts(state.index, *model.observed(observation))


def grown_at(memory: T, arms: int, axes: dict[str, int]) -> T:
    """A copy of a memory with zeros for new arms, whose axis is so many before the end of each named array."""

    def longer(array: Array, axis: int) -> Array:
        shape = list(array.shape)
        shape[-axis] = arms
        new = np.zeros(shape, dtype=array.dtype)
        new[tuple(slice(size) for size in array.shape)] = array
        return new

    def copy(name: str, value: Any) -> Any:
        return longer(value, axes[name]) if isinstance(value, np.ndarray) and name in axes else deepcopy(value)

    kind: Any = type(memory)
    made: T = kind(**{name: copy(name, getattr(memory, name)) for name in remembered(kind)})
    return made


@part("index", "lin_ucb")
@frozen
class LinUCB(LinearIndex):
    """Upper confidence bound of a reward that is linear in features: ``θ̂ᵀφ + β sqrt(φᵀV⁻¹φ)``.

    ``V = λI + Σφφᵀ``, ``θ̂ = V⁻¹Σφr``; an arm without data has a width of ``β|φ|/sqrt(λ)``. With
    evidence ``"pessimistic"`` every play counts in V at once and its reward if it comes within m rounds, and the width
    is ``(β + Σ|φ_s|_{V⁻¹}) |φ|_{V⁻¹}`` over the plays of the last m rounds (OTFLinUCB; 2β with ``"theorem"``). Their
    lengths are those just after the play, an upper bound of what they are later; in the disjoint model each arm
    has its own. With ``Forgetting(discount=γ)`` it is ``β sqrt(φᵀV⁻¹ṼV⁻¹φ)``, where Ṽ weighs plays by γ² (D-LinUCB).

    Args:
        model: ``"disjoint"``, a θ for every arm; ``"shared"``, one θ for all, needs features of the arms; ``"hybrid"``,
            a θ of the situation for every arm and one of the arms' features for all.
        ridge: λ > 0; at least 1e-8 of the largest ``|φ|²``, as a smaller one is lost in rounding.
        radius: β ≥ 0, or ``"theorem"`` for ``R sqrt(2 ln(1/δ) + ln(det V/λ^d)) + sqrt(λ) S``, with R = 1/2 for rewards
            in [0, 1]; in the disjoint model with δ/K for δ.
        evidence: ``"received"``, ``"pessimistic"`` or ``Forgetting(discount=…)``; the last two not in the hybrid model.
        cutoff: m ≥ 1, rounds, for ``"pessimistic"``.
        delta: δ in (0, 1], for ``"theorem"``.
        norm: S, a bound of ``|θ|``, for ``"theorem"``.

    Raises:
        EvenhandError: the evidence goes by counts, or does not fit the model.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(LinUCB(radius=2.0))
        >>> state = policy.start(arms=2, columns=(3, 0))
        >>> seen = Observation(situation=np.array([1.0, 0.0, 0.5]))
        >>> policy.index.score(state, seen, np.random.default_rng(0)).round(3)
        array([2.236, 2.236])

    Source: Li et al. 2010, Algorithms 1 and 2; Abbasi-Yadkori et al. 2011, Theorem 2; Vernade et al. 2020, OTFLinUCB;
        Russac et al. 2019, D-LinUCB.
    """

    radius: float | Theorem = field(default=1.0, converter=number_or_theorem)
    norm: float = field(default=1.0, converter=validate.nonnegative, kw_only=True)
    cutoff: int | None = field(default=None, converter=validate.count_or_none, kw_only=True)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if weighing_of(self.evidence).at_play != (self.cutoff is not None):
            raise EvenhandError(
                "is the number of rounds after which evidence='pessimistic' gives a reward up: give both or neither, "
                f"got cutoff={self.cutoff!r} and {shown(self.evidence)}",
                "cutoff",
            )

    @property
    def _window(self) -> int | None:
        return self.cutoff

    @property
    def traits(self) -> Traits:
        """Goes by features; what it remembers are sums."""
        return Traits(contextual=True, exact=True, bounded=self.radius == "theorem")

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """The upper confidence bound of every arm, (…, arms)."""
        return self.interval(state, observation)[1]

    def interval(self, state: State, observation: Observation) -> tuple[Array, Array]:
        """The lower and the upper confidence bound of every arm, each (…, arms).

        Args:
            state: of the policy.
            observation: what is known of the round.
        """
        parts = self._parts(state, observation)
        mean, reach = parts.means(), self._radius(parts, state) * np.sqrt(parts.squares())
        return np.asarray(mean - reach), np.asarray(mean + reach)

    def _radius(self, parts: ScoreParts, state: State) -> Any:
        sums: Sums = state.index
        radius: Any = self.radius
        if self.radius == "theorem":
            delta = self.delta / state.arms if self.model == "disjoint" else self.delta
            known = np.sqrt(2.0 * math.log(1.0 / delta) + parts.growth())
            radius = (NOISE * known + math.sqrt(self.ridge) * self.norm) * (1.0 if sums.norms is None else 2.0)
        if sums.norms is None:
            return radius
        missing = sums.norms.sum(axis=-2)
        return radius + (missing if self.model == "disjoint" else missing.sum(axis=-1, keepdims=True))


@part("index", "lin_ts")
@frozen
class LinTS(LinearIndex):
    """Thompson sampling of a reward that is linear in features: ``θ̃ᵀφ`` with ``θ̃ ~ N(θ̂, v² V⁻¹)``.

    Arms that share features share the draw. What the arms of the disjoint and the hybrid model have of their own is
    independent, so that one number per arm is drawn in place of a vector: the law of the scores is the same.

    The propensity has no closed form: play by `ExplorationFloor` to log an exact one.

    Args:
        model: as in `LinUCB`.
        ridge: λ > 0, as in `LinUCB`.
        scale: v ≥ 0, or ``"theorem"`` for ``R sqrt(9 d ln(t/δ))``, with R = 1/2 for rewards in [0, 1].
        evidence: as in `LinUCB`, but not ``"pessimistic"``: what is missing is a bias, which draws do not cover.
        delta: δ in (0, 1], for ``"theorem"``.

    Raises:
        EvenhandError: the evidence goes by counts, or does not fit.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(LinTS(scale=0.5))
        >>> state = policy.start(arms=2, columns=(3, 0))
        >>> seen = Observation(situation=np.array([1.0, 0.0, 0.5]))
        >>> policy.index.score(state, seen, np.random.default_rng(0)).round(3)
        array([ 0.07 , -0.074])

    Source: Agrawal & Goyal 2013, Algorithm 1 and Theorem 1; with a discount Kim & Tewari 2020, D-LinTS.
    """

    scale: float | Theorem = field(default=1.0, converter=number_or_theorem)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if weighing_of(self.evidence).at_play:
            raise EvenhandError(
                "must not be 'pessimistic': draws do not cover the bias of rewards that may still come; use LinUCB, or "
                "'received'",
                "evidence",
            )

    @property
    def traits(self) -> Traits:
        """Goes by features, and draws."""
        return Traits(contextual=True, random=True, exact=True, bounded=self.scale == "theorem")

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Array:
        """One draw for every arm, (…, arms)."""
        parts, sums = self._parts(state, observation), state.index
        scale = self.scale
        if scale == "theorem":
            width = sums.situation + sums.arm
            scale = NOISE * math.sqrt(9.0 * width * math.log(state.time / self.delta))
        score = parts.means(parts.drawn(rng, scale))
        own = parts.own_squares()
        return score if own is None else score + scale * np.sqrt(own) * rng.standard_normal(own.shape)
