"""What is each arm owed?

A fairness part turns the scores of the arms into a `Ranking` or into `Shares`: what the selection goes by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import field, frozen

from evenhand.core import validate
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.parts import Part, part
from evenhand.core.state import Array, Decision, Feedback, Shape, State
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.merit import Merit, share_limit
from evenhand.policy.mixing import MixingRule, as_mixing

if TYPE_CHECKING:
    from evenhand.policy.groups import Group

BILLION = 1e9  # what is due is counted in billionths of a play


@dataclass(slots=True)  # frozen, it would take twice as long to make, and one is made in every round
class Claim:
    """What a fairness part gives; arms whose ``priority`` exceeds ``threshold`` play before all others."""

    score: Array  # (…, arms)
    priority: Array | None = None  # (…, arms), the largest goes first; None where no arm goes before the others
    threshold: float = 0.0


@dataclass(slots=True)
class Ranking(Claim):
    """An order of the arms: those with priority first, the largest score before the others.

    Example:
        >>> import numpy as np
        >>> Ranking(np.array([0.2, 0.9])).priority is None
        True
    """


@dataclass(slots=True)
class Shares(Claim):
    """Weights in proportion to which the arms play: ``score`` is positive and finite.

    Example:
        >>> import numpy as np
        >>> Shares(np.array([0.2, 0.8])).threshold
        0.0
    """


def owed(fractions: Any, rounds: Any, pulls: Any) -> Any:
    """The plays still owed to each arm: ``r_i n − N_i``; negative where an arm is ahead.

    Worked out afresh from n, never by adding r up, and in whole billionths of a play. So 0.07 · 100 − 7 is 0, and equal
    deficits of different arms compare equal (up to some million rounds, where double precision ends).

    Args:
        fractions: (…, arms), promised share of the rounds of each arm; or all three a number, for a single arm.
        rounds: n, the rounds over which the share is due; a number, or (…, arms).
        pulls: (…, arms), plays so far.

    Returns:
        Plays, in the shape of ``pulls``.

    Example:
        >>> import numpy as np
        >>> 0.07 * 100 - 7 == 0, bool(owed(np.array([0.07]), 100, np.array([7.0]))[0] == 0)
        (False, True)
    """
    return (np.rint(fractions * rounds * BILLION) - pulls * BILLION) / BILLION


def deficits(fractions: Array, rounds: int, state: State) -> Array:
    """The plays owed to each arm, its deficit, after ``rounds`` rounds, counted from when its promise began.

    Args:
        fractions: (arms,), promised shares r_i of the rounds.
        rounds: rounds played.
        state: of the policy, whose tally has the plays.

    Returns:
        (…, arms), plays; negative where an arm is ahead.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import Begun, State, Tally
        >>> pulls = np.array([6.0, 4.0])
        >>> state = State(10, Tally(pulls, pulls, pulls), begun=Begun(np.array([0.0, 8.0]), np.array([0.0, 4.0])))
        >>> deficits(np.array([0.5, 0.5]), 10, state)
        array([-1.,  1.])
    """
    begun, pulls = state.begun, state.tally.pulls
    deficit: Array
    if begun is None:
        deficit = owed(fractions, rounds, pulls)
    else:
        deficit = owed(fractions, rounds - begun.rounds, pulls - begun.pulls)
    return deficit


class Fairness(Part, ABC):
    """A rule for what arms are owed. An own rule needs `claim`, and ``fractions`` if it promises shares.

    Attributes:
        gives: `Ranking` or `Shares`, what `claim` returns.
        takes: ``"means"`` or ``"weights"``, the scores that it works with; None for any.
        scaled: whether it works with scores on the scale [0, 1] only, and so for rewards of a finite range.
        ignores_score: whether the scores, and with them chance in the index, have no influence.
        fractions: (arms,) or (1,), the share of the rounds that the policy is measured against; None for none.
        penalties: (arms,) or (1,), the price of a missing play of each arm; None where there is none.
        weights: (arms,) or (1,), what a unit of reward of each arm counts; None where all count alike.
        merit: the function of an arm's mean to which its share is proportional; None where no such share is promised.
        caps: (arms,) or (1,), the largest share of the rounds that each arm may have; None where there is no limit.
        groups: of arms that are promised shares together; see `evenhand.policy.groups`.
    """

    gives: ClassVar[type[Claim]] = Ranking
    takes: ClassVar[str | None] = None
    scaled: ClassVar[bool] = False
    ignores_score: bool = False
    fractions: Array | None = None
    penalties: Array | None = None
    weights: Array | None = None
    merit: Merit | None = None
    caps: Array | None = None
    groups: tuple[Group, ...] = ()

    @property
    def promises(self) -> bool:
        """Whether the plays of the arms are promised, and not only what the policy is measured against."""
        return self.fractions is not None or self.merit is not None

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """The most plays that an arm can be behind its promised share after so many rounds, all arms being available.

        The default allows for a promise that is kept in the long run only: K plays and 2% of the rounds.

        Args:
            arms: K, number of arms.
            rounds: number of rounds.
            plays: m, arms that play per round.

        Returns:
            Plays.
        """
        return arms + 0.02 * rounds

    def check(self, arms: int, plays: int) -> None:
        """Complain if the promise cannot be meant for that many arms and plays per round.

        Args:
            arms: K, number of arms.
            plays: m, arms that play per round.

        Raises:
            EvenhandError: it cannot.
        """

    def start(self, shape: Shape) -> Any:
        """What the part remembers beside the tally, before the first round; None for nothing.

        Args:
            shape: (arms,) or (lanes, arms).

        Returns:
            The part's memory, which stands in ``state.fairness``.
        """
        return None

    @abstractmethod
    def claim(self, score: Array, state: State) -> Claim:
        """What the arms can claim in the round that is being decided.

        Args:
            score: (…, arms), of the index.
            state: read, never changed.
        """

    def after_decision(self, state: State, decision: Decision) -> None:
        """Record who plays; called before the round and the pulls in ``state`` are counted up.

        Args:
            state: of the policy; ``state.fairness`` is updated in place.
            decision: of the round.
        """

    def after_feedback(self, state: State, feedback: Feedback, rng: np.random.Generator) -> None:
        """Record what arrived.

        Args:
            state: of the policy; ``state.fairness`` is updated in place.
            feedback: of the round.
            rng: for what is drawn.
        """


@part("fairness", "none")
@frozen
class NoPromise(Fairness):
    """No arm is owed anything: arms are ranked by score."""

    def claim(self, score: Array, state: State) -> Ranking:
        """The score itself."""
        return Ranking(score)


@part("fairness", "deficit_first")
@frozen(eq=False)
class DeficitFirst(Fairness):
    """Arms in arrears play first, the largest deficit before the others; the rest are ranked by score.

    ``A(t) = {i : r_i (t−1) − N_i(t−1) > α}``

    Args:
        fractions: (arms,), promised share of the rounds, in [0, 1]; one number for all arms.
        tolerance: α ≥ 0, plays that an arm may be behind before it goes first.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.core.state import ALL_AVAILABLE
        >>> policy = Policy(fairness=DeficitFirst([0.5, 0.1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, ALL_AVAILABLE, rng).played.argmax().item() for _ in range(4)]
        [0, 1, 0, 0]

    Source: Patil et al. 2019, section 5, FUCB; Fang et al. 2022, section 3, Fair-Learn with α > 0.
    """

    fractions: Array = field(converter=validate.fractions)
    tolerance: float = field(default=0.0, converter=validate.nonnegative)

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``1 + α + Σ_{j<K} R_j/j``, R_j being the sum of the j largest shares."""
        largest = -np.sort(-np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)), axis=-1)
        sums = np.cumsum(largest, axis=-1)[..., :-1] / np.arange(1, arms)
        return float(1.0 + self.tolerance + sums.sum(axis=-1).max(initial=0.0))

    def claim(self, score: Array, state: State) -> Ranking:
        """Ranking by deficit above the tolerance, then by score."""
        return Ranking(score, deficits(self.fractions, state.round, state), self.tolerance)


def linear(deficit: Any, due: Any) -> Any:
    """``d``, the bonus of the shape ``linear``; elementwise, for arrays and numbers alike.

    Args:
        deficit: d, plays owed; negative where an arm is ahead.
        due: r_i n, plays due so far.

    Returns:
        ``deficit`` as it is.

    Example:
        >>> linear(-2.0, due=4.0)
        -2.0
    """
    return deficit


def hinge(deficit: Any, due: Any) -> Any:
    """``max(d, 0)``, the bonus of the shape ``hinge``; elementwise, for arrays and numbers alike.

    Args:
        deficit: d, plays owed; negative where an arm is ahead.
        due: r_i n, plays due so far.

    Returns:
        0 or more, in the shape of ``deficit``.

    Example:
        >>> float(hinge(-2.0, due=4.0))
        0.0
    """
    return np.maximum(deficit, 0.0)


def hard(deficit: Any, due: Any) -> Any:
    """``1(d > 0)``, the bonus of the shape ``hard``; elementwise, for arrays and numbers alike.

    Args:
        deficit: d, plays owed; negative where an arm is ahead.
        due: r_i n, plays due so far.

    Returns:
        0 or 1, in the shape of ``deficit``.

    Example:
        >>> hard(1.0, due=4.0)
        1.0
    """
    return (deficit > 0.0) * 1.0


def soft(deficit: Any, due: Any) -> Any:
    """``max(d, 0)/(r_i n)``, and 0 where nothing is due, the bonus of the shape ``soft``; elementwise as the others.

    Args:
        deficit: d, plays owed; negative where an arm is ahead.
        due: r_i n, plays due so far.

    Returns:
        In [0, 1], in the shape of ``deficit``.

    Example:
        >>> float(soft(1.0, due=4.0))
        0.25
    """
    return np.maximum(deficit, 0.0) / (due + (due <= 0.0))


#: The shapes of `DeficitBonus`.
BONUSES = {"linear": linear, "hinge": hinge, "hard": hard, "soft": soft}


@part("fairness", "deficit_bonus")
@frozen(eq=False)
class DeficitBonus(Fairness):
    """The deficit of an arm is added to its score, at a rate of ``rate`` per play.

    With d = r_i (t−1) − N_i(t−1) the plays owed after the last round, and d' = r_i t − N_i(t−1) those owed in this one:

    ========  ==================================  ===================================================
    shape     score                               used by
    ========  ==================================  ===================================================
    linear    ``score + η d``                     η-FUCB as printed (Patil et al. 2019, section 5)
    hinge     ``score + η max(d, 0)``             η-FUCB when an arm's surplus does not count against it
    hard      ``score + A_i 1(d' > 0)``           hard-threshold UCB (Fang et al. 2022, eq. (11))
    soft      ``score + A_i max(d', 0)/(r_i t)``  soft-threshold UCB (Fang et al. 2022, section 5)
    ========  ==================================  ===================================================

    Fang et al.'s eq. (11) and their listing differ by one round in the clock; the round being decided is used, as in
    eq. (11).

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        rate: η or A_i ≥ 0, in reward per missing play (linear, hinge) or in reward (hard, soft); one number or one
            per arm.
        shape: one of the four above.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import State, Tally
        >>> pulls = np.array([3.0, 0.0])
        >>> bonus = DeficitBonus([0.5, 0.5], rate=0.2, shape="hard")
        >>> bonus.claim(np.array([0.6, 0.5]), State(3, Tally(pulls, pulls, pulls))).score
        array([0.6, 0.7])
    """

    fractions: Array = field(converter=validate.fractions)
    rate: Array = field(converter=validate.nonnegatives)
    shape: str = field(default="linear", validator=validate.choice(*BONUSES))

    def __attrs_post_init__(self) -> None:
        validate.same_length("rate", self.rate, self.fractions, "fractions")

    @property
    def promises(self) -> bool:
        """No: a bonus draws an arm towards its share, as far as its price outweighs what others earn."""
        return False

    @property
    def penalties(self) -> Array | None:  # type: ignore[override]
        """The rate, where it is the price of a missing play: for the thresholds."""
        return self.rate if self.shape in ("hard", "soft") else None

    def claim(self, score: Array, state: State) -> Ranking:
        """The score with the bonus; penalties are in the user's unit of reward, scores on the scale [0, 1]."""
        rate = self.rate
        if state.unit is not None and self.penalties is not None:
            rate = rate / state.unit.width
        return Ranking(score + rate * self._share(state))

    def _share(self, state: State) -> Array:
        rounds: Any = state.round if self.shape in ("linear", "hinge") else state.clock
        deficit = deficits(self.fractions, rounds, state)
        due = self.fractions * (rounds if state.begun is None else rounds - state.begun.rounds)
        bonus: Array = BONUSES[self.shape](deficit, due)
        return bonus


@dataclass(slots=True)
class Queue:
    """The recursive virtual queues, each by what happened since it was last empty."""

    exact: ClassVar[bool] = True

    rounds: Array  # (…, arms) rounds since the queue was last empty
    plays: Array  # (…, arms) plays of the arm in those rounds


@part("fairness", "virtual_queue")
@frozen(eq=False)
class VirtualQueue(Fairness):
    """A queue of owed plays for each arm, weighed against its score: ``Q_i + η w_i score_i``.

    ============  ==========================================  =================================
    queue         length before round t (counted from 0)      used by
    ============  ==========================================  =================================
    recursive     ``Q(t) = max(Q(t−1) + r − d(t−1), 0)``      LFG (Li et al. 2019)
    exact         ``Q(t) = max(t r − Σ d, 0)``                TSCSF-B (Huang et al. 2020, eq. (5))
    ============  ==========================================  =================================

    d is 1 in a round in which the arm plays. The recursive queue forgets a surplus, the exact one sets it against
    later claims. Huang et al. print ``Q_i/η + w_i score_i``, which orders the arms alike; η = ∞ leaves ``w_i score_i``.

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        eta: η ≥ 0 or inf, the plays owed that outweigh one unit of reward.
        weights: w_i ≥ 0, what a unit of reward of each arm counts; one number or one per arm.
        queue: ``"recursive"`` or ``"exact"``.

    Example:
        >>> import numpy as np
        >>> from evenhand.core.state import State, Tally
        >>> pulls = np.array([4.0, 0.0])
        >>> queue = VirtualQueue([0.5, 0.5], eta=10.0)
        >>> queue.claim(np.array([0.9, 0.5]), State(4, Tally(pulls, pulls, pulls))).score
        array([9., 7.])
    """

    fractions: Array = field(converter=validate.fractions)
    eta: float = field(converter=validate.nonnegative_or_inf)
    weights: Array = field(default=1.0, converter=validate.nonnegatives)
    queue: str = field(default="exact", validator=validate.choice("exact", "recursive"))

    def __attrs_post_init__(self) -> None:
        validate.same_length("weights", self.weights, self.fractions, "fractions")

    @property
    def promises(self) -> bool:
        """Whether the queue counts at all: it does not where η is infinite."""
        return not np.isinf(self.eta)

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``K (1 + η w (1 + sqrt(2 ln t)))``: what a queue must outweigh is no more than the largest score."""
        largest = 1.0 + float(np.sqrt(2.0 * np.log(max(rounds, 1))))
        return arms * (1.0 + self.eta * float(self.weights.max()) * largest)

    def start(self, shape: Shape) -> Queue | None:
        """Empty queues; the exact queue needs nothing but the tally."""
        return Queue(np.zeros(shape), np.zeros(shape)) if self.queue == "recursive" else None

    def claim(self, score: Array, state: State) -> Ranking:
        """The queue and the score, weighed; weights count rewards in the user's unit, of which the scale leaves the
        smallest out.
        """
        if state.unit is not None and self.weights.shape[-1] > 1:
            score = score + state.unit.low / state.unit.width
        if np.isinf(self.eta):
            return Ranking(weighed(self.weights, score))
        if self.queue == "recursive":
            lengths = owed(self.fractions, state.fairness.rounds, state.fairness.plays)
        else:
            lengths = np.maximum(deficits(self.fractions, state.round, state), 0.0)
        return Ranking(lengths + weighed(self.eta * self.weights, score))

    def after_decision(self, state: State, decision: Decision) -> None:
        """Every queue grows by the arm's fraction and shrinks by one where it played; an empty one begins anew."""
        memory: Queue | None = state.fairness
        if memory is None:
            return
        memory.rounds += 1.0
        memory.plays += decision.played
        waiting = owed(self.fractions, memory.rounds, memory.plays) > 0.0
        memory.rounds *= waiting
        memory.plays *= waiting


def weighed(weights: Array, score: Array) -> Array:
    """``w_i score_i``, and 0 where the weight is 0, however large the score.

    Args:
        weights: (arms,) or (lanes, arms), at least 0.
        score: (…, arms), which may be infinite.

    Returns:
        (…, arms).

    Example:
        >>> weighed(np.array([2.0, 0.0]), np.array([0.5, np.inf])).tolist()
        [1.0, 0.0]
    """
    if np.all(weights > 0.0):
        return weights * score
    with np.errstate(invalid="ignore"):
        return np.where(weights > 0.0, weights * score, 0.0)


@part("fairness", "guaranteed_shares")
@frozen(eq=False)
class GuaranteedShares(Fairness):
    """Every arm plays with at least its promised probability; the rest goes to the best arm, or evenly to all.

    ``p_i = r_i + (1 − Σr) 1(i = best)``  or  ``p_i = r_i + (1 − Σr)/K``

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1], with a sum of at most 1.
        rest: ``"best"`` (the arm of largest score, the lowest on a tie) or ``"all"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.policy.fairness import GuaranteedShares
        >>> shares = GuaranteedShares([0.2, 0.3], rest="all")
        >>> shares.claim(np.zeros(2), Policy().start(arms=2)).score
        array([0.45, 0.55])

    Source: Patil et al. 2019, section 4, Algorithm 1 (best), and section 3.1 (all).
    """

    fractions: Array = field(converter=validate.fractions)
    rest: str = field(default="best", validator=validate.choice("best", "all"))
    gives: ClassVar[type[Claim]] = Shares

    @property
    def ignores_score(self) -> bool:  # type: ignore[override]
        """Whether the rest goes to all."""
        return self.rest == "all"

    def check(self, arms: int, plays: int) -> None:
        """The promised probabilities must not exceed one together."""
        total = float(np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)).sum(axis=-1).max())
        if total > 1.0 + 1e-9:
            raise InfeasiblePromise(f"fractions sum to {total:.6g}; guaranteed shares must not sum to more than 1")

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``1 + 4 sqrt(t)``: eight standard deviations of plays that are drawn with the promised probability."""
        return 4.0 * float(np.sqrt(rounds)) + 1.0

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        shares = np.broadcast_to(self.fractions, score.shape)
        rest = np.maximum(1.0 - shares.sum(axis=-1, keepdims=True), 0.0)
        if self.rest == "all":
            return Shares(shares + rest / state.arms)
        best = score.argmax(axis=-1)[..., np.newaxis] == np.arange(state.arms)
        return Shares(shares + rest * best)


@part("fairness", "merit_shares")
@frozen
class MeritShares(Fairness):
    """Arms play in proportion to their merit: ``p_i = m f(x_i) / Σ_j f(x_j)``, x being their score, cut to [0, 1].

    The sum runs over the available arms. Where so few are available that a share would exceed one, and everywhere
    with ``cap``, the excess is shared among the other arms in proportion (`evenhand.policy.shares.proportional`).

    Args:
        merit: f, one of `evenhand.policy.merit` or any function from an array of means to positive merits.
        cap: let merits through under which a share could exceed one although all arms are available.

    Raises:
        EvenhandError: when a policy starts without ``cap`` and ``max f / min f > (K − 1)/(m − 1)``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.policy.fairness import MeritShares
        >>> from evenhand.policy.merit import Power
        >>> MeritShares(Power(beta=2.0)).claim(np.array([0.0, 1.0]), Policy().start(arms=2)).score
        array([1., 3.])

    Source: Chen et al. 2024, Theorem 3.
    """

    merit: Merit = field(converter=as_merit, metadata={"slot": "merit"})
    cap: bool = field(default=False, converter=validate.truth)
    gives: ClassVar[type[Claim]] = Shares
    takes: ClassVar[str] = "means"
    scaled: ClassVar[bool] = True

    def check(self, arms: int, plays: int) -> None:
        """No share may exceed one, unless capping is asked for."""
        if not self.cap:
            share_limit(self.merit, arms, plays)

    def claim(self, score: Array, state: State) -> Shares:
        """The merit of every arm."""
        return Shares(self.merit(np.clip(score, 0.0, 1.0)))


@part("fairness", "mixing")
@frozen
class Mixing(Fairness):
    """Arms play in proportion to their score, mixed with the same chance for all: ``(1 − γ) w_i/Σw + γ/K``.

    Args:
        mixing: γ in [0, 1], or a rule that gives one for every round and number of arms.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> Mixing(0.5).claim(np.array([3.0, 1.0]), Policy().start(arms=2)).score
        array([0.625, 0.375])

    Source: Auer et al. 2002, section 3.
    """

    mixing: MixingRule = field(converter=as_mixing, metadata={"slot": "mixing"})
    gives: ClassVar[type[Claim]] = Shares
    takes: ClassVar[str] = "weights"
    scaled: ClassVar[bool] = True

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        total = score.sum(axis=-1, keepdims=True)
        share = np.where(total > 0.0, score, 1.0) / np.where(total > 0.0, total, float(state.arms))
        mixing = self.mixing.mixing(state.clock, state.arms)
        return Shares((1.0 - mixing) * share + mixing / state.arms)
