"""What is each arm owed?

A fairness part turns the worth of the arms into a `Claim`: what the selection has to go by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from evenhand import validate
from evenhand.merit import Merit, as_merit, share_limit
from evenhand.records import Array, Mask, Shape, State
from evenhand.tuning import MixingRule, mixing_of

BILLION = 1e9  # what is due is counted in billionths of a play


@dataclass(slots=True)  # frozen, it would take twice as long to make, and one is made in every round
class Claim:
    """What the arms can claim in this round.

    Arms whose ``first`` exceeds ``above`` play before all others, the largest first; the rest of the plays
    go by ``score``. A selection that draws (`Categorical`, `DependentRounding`, `SystematicSampling`) reads the score
    as weights, in proportion to which the arms play.
    """

    score: Array  # (…, arms)
    random: bool  # whether the score was drawn at random, given the past
    first: Any = None  # (…, arms), or None where nobody goes before the others
    above: float = 0.0
    tie: Any = None  # (…, arms), or None: of arms with equal claims the one with the smallest tie goes first


def owed(fractions: Any, rounds: Any, pulls: Any) -> Any:
    """The plays still owed to each arm: ``r_i n − N_i``; negative where an arm is ahead.

    Worked out afresh from n, never by adding r up, and in whole billionths of a play. So 0.07 · 100 − 7 is 0, and equal
    deficits of different arms compare equal (up to some million rounds, where double precision ends).

    Args:
        fractions: (…, arms), promised share of the rounds of each arm; or all three a number, for a single arm.
        rounds: n, the rounds over which the share is due; a number, or (…, arms).
        pulls: (…, arms), plays so far.

    Example:
        >>> import numpy as np
        >>> 0.07 * 100 - 7 == 0, bool(owed(np.array([0.07]), 100, np.array([7.0]))[0] == 0)
        (False, True)
    """
    return (np.rint(fractions * rounds * BILLION) - pulls * BILLION) / BILLION


def missing(fractions: Array, rounds: int, state: State) -> Array:
    """The plays owed to each arm after ``rounds`` rounds, counted from when its promise began.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import Begun, State, Tally
        >>> pulls = np.array([6.0, 4.0])
        >>> state = State(10, Tally(pulls, pulls, pulls), begun=Begun(np.array([0.0, 8.0]), np.array([0.0, 4.0])))
        >>> missing(np.array([0.5, 0.5]), 10, state)
        array([-1.,  1.])
    """
    begun, pulls = state.begun, state.tally.pulls
    deficit: Array
    if begun is None:
        deficit = owed(fractions, rounds, pulls)
    else:
        deficit = owed(fractions, rounds - begun.rounds, pulls - begun.pulls)
    return deficit


class Fairness(Protocol):
    """A rule for what arms are owed."""

    @property
    def fractions(self) -> Any:
        """The share of the rounds promised to each arm, (…, arms); None where no share is promised."""
        ...

    @property
    def penalties(self) -> Any:
        """The price of a missing play of each arm, (…, arms); None where there is none."""
        ...

    @property
    def weights(self) -> Any:
        """What a unit of reward of each arm counts, (…, arms); None where all count alike."""
        ...

    @property
    def merit(self) -> Merit | None:
        """The function of an arm's mean to which its share is proportional; None where no such share is promised."""
        ...

    def check(self, arms: int, plays: int) -> None:
        """Complain if the promise cannot be meant for that many arms and plays a round."""
        ...

    def start(self, shape: Shape) -> Any:
        """What the part remembers beyond the tally, before the first round; None for nothing."""
        ...

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """What the arms can claim, given their worth (…, arms)."""
        ...

    def note(self, memory: Any, played: Mask) -> None:
        """Take in who played, (…, arms)."""
        ...


class _Plain:
    """A fairness part that promises no shares by merit."""

    merit: ClassVar[None] = None

    def check(self, arms: int, plays: int) -> None:
        """Fits any number of arms and plays."""


class _Memoryless(_Plain):
    """A fairness part that needs nothing but the tally, and sets no prices or weights."""

    @property
    def penalties(self) -> Any:
        """No price on a missing play."""
        return None

    @property
    def weights(self) -> Any:
        """All rewards count alike."""
        return None

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def note(self, memory: None, played: Mask) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class NoPromise(_Memoryless):
    """Nobody is owed anything: arms go by their worth."""

    fractions: None = None

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The worth itself."""
        return Claim(worth, random)


@dataclass(frozen=True, eq=False)
class DeficitFirst(_Memoryless):
    """Whoever is owed more than a tolerance goes first, the largest deficit before the others; the rest go by worth.

    ``A(t) = {i : r_i (t−1) − N_i(t−1) > α}``

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        tolerance: α ≥ 0, the plays that an arm may be behind before it goes first.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> policy = Policy(fairness=DeficitFirst([0.5, 0.1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, rng).played.argmax().item() for _ in range(4)]
        [0, 1, 0, 0]

    Source: Patil et al. 2019, section 5, FUCB; Fang et al. 2022, section 3, Fair-Learn with α > 0.
    """

    fractions: Any
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))
        validate.number("tolerance", self.tolerance, low=0.0)

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The deficit first, then the worth."""
        return Claim(worth, random, missing(self.fractions, state.round, state), self.tolerance)


@dataclass(frozen=True, eq=False)
class DeficitBonus(_Memoryless):
    """What an arm is owed is added to its worth, at a rate of ``rate`` for each play.

    With d = r_i (t−1) − N_i(t−1) the plays owed after the last round, and d' = r_i t − N_i(t−1) those owed in this one:

    ========  ==================================  ===================================================
    shape     score                               used by
    ========  ==================================  ===================================================
    linear    ``worth + η d``                     η-FUCB as printed (Patil et al. 2019, section 5)
    hinge     ``worth + η max(d, 0)``             η-FUCB when an arm's surplus does not count against it
    hard      ``worth + A_i 1(d' > 0)``           hard-threshold UCB (Fang et al. 2022, eq. (11))
    soft      ``worth + A_i max(d', 0)/(r_i t)``  soft-threshold UCB (Fang et al. 2022, section 5)
    ========  ==================================  ===================================================

    Fang et al.'s eq. (11) and their listing differ by one round in the clock; the round being decided is used, as in
    eq. (11).

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        rate: η or A_i ≥ 0, in reward a missing play (linear, hinge) or in reward (hard, soft); one number or one an
            arm.
        shape: one of the four above.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import State, Tally
        >>> pulls = np.array([3.0, 0.0])
        >>> bonus = DeficitBonus([0.5, 0.5], rate=0.2, shape="hard")
        >>> bonus.claim(np.array([0.6, 0.5]), False, State(3, Tally(pulls, pulls, pulls))).score
        array([0.6, 0.7])
    """

    fractions: Any
    rate: Any
    shape: str = "linear"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))
        object.__setattr__(self, "rate", validate.per_arm_or_one("rate", self.rate, low=0.0))
        validate.one_of("shape", self.shape, ("linear", "hinge", "hard", "soft"))
        validate.same_length("rate", self.rate, self.fractions, "fractions")

    @property
    def penalties(self) -> Any:
        """The rate, where it is the price of a missing play: for the thresholds."""
        return self.rate if self.shape in ("hard", "soft") else None

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The worth with the bonus."""
        return Claim(worth + self.rate * self._share(state), random)

    def _share(self, state: State) -> Array:
        if self.shape in ("linear", "hinge"):
            deficit = missing(self.fractions, state.round, state)
            return deficit if self.shape == "linear" else np.maximum(deficit, 0.0)
        deficit = missing(self.fractions, state.clock, state)
        if self.shape == "hard":
            return (deficit > 0.0).astype(float)
        due = self.fractions * (state.clock if state.begun is None else state.clock - state.begun.rounds)
        # Nothing is due where r_i = 0, and then the deficit is never positive: any divisor will do.
        return np.maximum(deficit, 0.0) / np.where(due > 0.0, due, 1.0)


@dataclass(slots=True)
class Queue:
    """The recursive virtual queues, each told by what has come since it was last empty."""

    rounds: Array  # (…, arms) rounds since the queue was last empty
    plays: Array  # (…, arms) plays of the arm in those rounds


@dataclass(frozen=True, eq=False)
class VirtualQueue(_Plain):
    """A queue of owed plays for each arm, weighed against its worth: ``Q_i + η w_i worth_i``.

    ============  ==========================================  =================================
    queue         length before round t (counted from 0)      used by
    ============  ==========================================  =================================
    recursive     ``Q(t) = max(Q(t−1) + r − d(t−1), 0)``      LFG (Li et al. 2019)
    exact         ``Q(t) = max(t r − Σ d, 0)``                TSCSF-B (Huang et al. 2020, eq. (5))
    ============  ==========================================  =================================

    d is 1 in a round in which the arm plays. The recursive queue forgets a surplus, the exact one sets it against
    later claims. Huang et al. print ``Q/η + w worth``, which orders the arms alike; η = ∞ leaves ``w worth``.

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1].
        eta: η ≥ 0 or inf, the plays owed that outweigh one unit of reward.
        weights: w_i ≥ 0, what a unit of reward of each arm counts; one number or one an arm.
        queue: ``"recursive"`` or ``"exact"``.

    Example:
        >>> import numpy as np
        >>> from evenhand.records import State, Tally
        >>> pulls = np.array([4.0, 0.0])
        >>> queue = VirtualQueue([0.5, 0.5], eta=10.0)
        >>> queue.claim(np.array([0.9, 0.5]), False, State(4, Tally(pulls, pulls, pulls))).score
        array([9., 7.])
    """

    fractions: Any
    eta: float
    weights: Any = 1.0
    queue: str = "exact"
    penalties: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))
        object.__setattr__(self, "weights", validate.per_arm_or_one("weights", self.weights, low=0.0))
        validate.number("eta", self.eta, low=0.0, inf=True)
        validate.one_of("queue", self.queue, ("exact", "recursive"))
        validate.same_length("weights", self.weights, self.fractions, "fractions")

    def start(self, shape: Shape) -> Queue | None:
        """Empty queues; the exact queue needs nothing but the tally."""
        return Queue(np.zeros(shape), np.zeros(shape)) if self.queue == "recursive" else None

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The queue and the worth, weighed."""
        if np.isinf(self.eta):
            return Claim(_weighed(self.weights, worth), random)
        if self.queue == "recursive":
            lengths = owed(self.fractions, state.fairness.rounds, state.fairness.plays)
        else:
            lengths = np.maximum(missing(self.fractions, state.round, state), 0.0)
        return Claim(lengths + _weighed(self.eta * self.weights, worth), random)

    def note(self, memory: Queue | None, played: Mask) -> None:
        """Every queue grows by the arm's fraction and shrinks by one where it played; an empty one begins anew."""
        if memory is None:
            return
        memory.rounds += 1.0
        memory.plays += played
        waiting = owed(self.fractions, memory.rounds, memory.plays) > 0.0
        memory.rounds *= waiting
        memory.plays *= waiting


def _weighed(weights: Array, worth: Array) -> Array:
    """``w_i worth_i``, and 0 where the weight is 0, however large the worth."""
    if np.all(weights > 0.0):
        return weights * worth
    with np.errstate(invalid="ignore"):
        return np.where(weights > 0.0, weights * worth, 0.0)


@dataclass(frozen=True, eq=False)
class GuaranteedShares(_Memoryless):
    """Every arm plays with at least its promised probability; the rest goes to the best arm, or evenly to all.

    ``p_i = r_i + (1 − Σr) 1(i = best)``  or  ``p_i = r_i + (1 − Σr)/K``

    Args:
        fractions: (arms,), share of the rounds promised to each arm, in [0, 1], with a sum of at most 1.
        rest: ``"best"`` (the arm of largest worth, the lowest on a tie) or ``"all"``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.fairness import GuaranteedShares
        >>> shares = GuaranteedShares([0.2, 0.3], rest="all")
        >>> shares.claim(np.zeros(2), False, Policy().start(arms=2)).score
        array([0.45, 0.55])

    Source: Patil et al. 2019, section 4, Algorithm 1 (best), and section 3.1 (all).
    """

    fractions: Any
    rest: str = "best"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fractions", validate.per_arm("fractions", self.fractions, 0.0, 1.0))
        validate.one_of("rest", self.rest, ("best", "all"))

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The probability of every arm."""
        shares = np.broadcast_to(self.fractions, worth.shape)
        rest = np.maximum(1.0 - shares.sum(axis=-1, keepdims=True), 0.0)
        if self.rest == "all":
            return Claim(shares + rest / state.arms, random=False)
        best = worth.argmax(axis=-1)[..., np.newaxis] == np.arange(state.arms)
        return Claim(shares + rest * best, random)


@dataclass(frozen=True)
class MeritShares:
    """Arms play in proportion to their merit: ``p_i = m f(x_i) / Σ_j f(x_j)``, x being their worth, cut to [0, 1].

    The sum runs over the available arms. Where so few are available that a share would exceed one, and everywhere
    with ``cap``, the excess is shared among the other arms in proportion (`evenhand.shares.proportional`).

    Args:
        merit: f, one of `evenhand.merit` or any function from an array of means to positive merits.
        cap: let merits through under which a share could exceed one although all arms are available.

    Raises:
        EvenhandError: when a policy starts without ``cap`` and ``max f / min f > (K − 1)/(m − 1)``.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> from evenhand.fairness import MeritShares
        >>> from evenhand.merit import Power
        >>> MeritShares(Power(beta=2.0)).claim(np.array([0.0, 1.0]), False, Policy().start(arms=2)).score
        array([1., 3.])

    Source: Chen et al. 2024, Theorem 3.
    """

    merit: Any
    cap: bool = False
    fractions: ClassVar[None] = None
    penalties: ClassVar[None] = None
    weights: ClassVar[None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "merit", as_merit(self.merit))

    def check(self, arms: int, plays: int) -> None:
        """No share may exceed one, unless capping is asked for."""
        if not self.cap:
            share_limit(self.merit, arms, plays)

    def start(self, shape: Shape) -> None:
        """Nothing is remembered."""

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The merit of every arm."""
        return Claim(self.merit(np.clip(worth, 0.0, 1.0)), random)

    def note(self, memory: None, played: Mask) -> None:
        """Nothing is remembered."""


@dataclass(frozen=True)
class Mixing(_Memoryless):
    """Arms play in proportion to their worth, mixed with the same chance for all: ``(1 − γ) w_i/Σw + γ/K``.

    Args:
        mixing: γ in [0, 1], or a rule that gives one for every round and number of arms.

    Example:
        >>> import numpy as np
        >>> from evenhand import Policy
        >>> Mixing(0.5).claim(np.array([3.0, 1.0]), False, Policy().start(arms=2)).score
        array([0.625, 0.375])

    Source: Auer et al. 2002, section 3.
    """

    mixing: float | MixingRule
    fractions: ClassVar[None] = None

    def __post_init__(self) -> None:
        if not hasattr(self.mixing, "mixing"):
            validate.number("mixing", self.mixing, 0.0, 1.0)

    def claim(self, worth: Array, random: bool, state: State) -> Claim:
        """The chance of every arm."""
        total = worth.sum(axis=-1, keepdims=True)
        share = np.where(total > 0.0, worth, 1.0) / np.where(total > 0.0, total, float(state.arms))
        mixing = mixing_of(self.mixing, state.clock, state.arms)
        return Claim((1.0 - mixing) * share + mixing / state.arms, random)
