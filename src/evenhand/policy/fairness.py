"""What is each arm owed?

A fairness part turns the scores of the arms into a `Ranking` or into `Shares`: what the selection goes by.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import InfeasiblePromise
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part, rules_of
from evenhand.core.state import Array, State
from evenhand.core.streams import over_arms
from evenhand.policy.accounts import BILLION
from evenhand.policy.claim import Fairness, Ranking, Shares, deficits
from evenhand.policy.custom_merit import as_merit
from evenhand.policy.merit import Merit, share_limit
from evenhand.policy.mixing import MixingRule, as_mixing
from evenhand.policy.part import Traits
from evenhand.policy.rules import FairnessRules


@part("fairness", "none")
@frozen
class NoPromise(Fairness):
    """No arm is owed anything: arms are ranked by score.

    Example:
        >>> from evenhand import Policy
        >>> Policy().fairness
        NoPromise()
    """

    traits = Traits(idle=True)

    def rules(self) -> FairnessRules:
        """Nothing."""
        return FairnessRules("nothing")

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
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(fairness=DeficitFirst([0.5, 0.1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(4)]
        [0, 1, 0, 0]

    Source: Patil et al. 2019, section 5, FUCB; Fang et al. 2022, section 3, Fair-Learn with α > 0.
    """

    fractions: Array = field(converter=validate.fractions)
    tolerance: float = field(default=0.0, converter=validate.nonnegative)
    traits = Traits(arrears="tolerance", segmented=True)

    def allowance(self, arms: int, rounds: int, plays: int) -> float:
        """``1 + α + Σ_{j<K} R_j/j``, R_j being the sum of the j largest shares."""
        largest = -np.sort(-np.broadcast_to(self.fractions, (*self.fractions.shape[:-1], arms)), axis=-1)
        sums = np.cumsum(largest, axis=-1)[..., :-1] / np.arange(1, arms)
        return float(1.0 + self.tolerance + sums.sum(axis=-1).max(initial=0.0))

    def rules(self) -> FairnessRules:
        """Arms in arrears first."""
        return FairnessRules("first", self.fractions, tolerance=self.tolerance)

    def claim(self, score: Array, state: State) -> Ranking:
        """Ranking by deficit above the tolerance, then by score."""
        return Ranking(score, deficits(self.fractions, state.round, state), self.tolerance)

    def ahead(self, state: State) -> int | None:
        """The arm with the largest deficit, where that is above the tolerance."""
        behind = deficits(self.fractions, state.round, state, whole=True)
        place = int(behind.argmax())
        return place if behind.item(place) / BILLION > self.tolerance else None

    def due(self, state: State, rounds: int) -> Array:
        """The deficits after these rounds, beyond the tolerance."""
        return deficits(self.fractions, state.round + rounds, state) - self.tolerance


def linear(deficit: Any, due: Any) -> Any:
    """``d``, the bonus of the shape ``linear``; elementwise, for arrays and numbers alike."""
    return deficit


def hinge(deficit: Any, due: Any) -> Any:
    """``max(d, 0)``, the bonus of the shape ``hinge``; elementwise, for arrays and numbers alike."""
    return np.maximum(deficit, 0.0)


def hard(deficit: Any, due: Any) -> Any:
    """``1(d > 0)``, the bonus of the shape ``hard``; elementwise, for arrays and numbers alike."""
    return (deficit > 0.0) * 1.0


def soft(deficit: Any, due: Any) -> Any:
    """``max(d, 0)/(r_i n)``, and 0 where nothing is due, the bonus of the shape ``soft``; elementwise as the others."""
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
        >>> from evenhand import State
        >>> from evenhand.typing import Tally
        >>> pulls = np.array([3.0, 0.0])
        >>> bonus = DeficitBonus([0.5, 0.5], rate=0.2, shape="hard")
        >>> bonus.claim(np.array([0.6, 0.5]), State(3, Tally(pulls, pulls, pulls))).score
        array([0.6, 0.7])
    """

    fractions: Array = field(converter=validate.fractions)
    rate: Array = field(converter=validate.nonnegatives)
    shape: str = field(default="linear", validator=validate.choice(*BONUSES))
    traits = Traits(arrears="rate")

    def __attrs_post_init__(self) -> None:
        validate.same_length("rate", self.rate, self.fractions, "fractions")

    @property
    def promises(self) -> bool:
        """No: a bonus draws an arm towards its share, as far as its price outweighs what others earn."""
        return False

    @property
    def penalties(self) -> Array | None:
        """The rate, where it is the price of a missing play: for the thresholds."""
        return self.rate if self.shape in ("hard", "soft") else None

    def rules(self) -> FairnessRules:
        """The bonus by its shape."""
        return FairnessRules(self.shape, self.fractions, self.rate)

    def claim(self, score: Array, state: State) -> Ranking:
        """The score with the bonus; penalties are in the user's unit of reward, scores on the scale [0, 1]."""
        rate = self.rate
        if state.unit is not None and self.penalties is not None:
            rate = rate / state.unit.width
        bonus = rate * self._share(state)
        return Ranking(score + bonus, owed=bonus)

    def _share(self, state: State) -> Array:
        rounds: Any = state.round if self.shape in ("linear", "hinge") else state.clock
        deficit = deficits(self.fractions, rounds, state)
        due = self.fractions * (rounds if state.begun is None else rounds - state.begun.rounds)
        bonus: Array = BONUSES[self.shape](deficit, due)
        return bonus


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
        >>> from evenhand.policy import GuaranteedShares
        >>> shares = GuaranteedShares([0.2, 0.3], rest="all")
        >>> shares.claim(np.zeros(2), Policy().start(arms=2)).score
        array([0.45, 0.55])

    Source: Patil et al. 2019, section 4, Algorithm 1 (best), and section 3.1 (all).
    """

    fractions: Array = field(converter=validate.fractions)
    rest: str = field(default="best", validator=validate.choice("best", "all"))

    @property
    def traits(self) -> Traits:
        """Shares, for which the scores have no influence where the rest goes to all."""
        return Traits(gives="shares", ignores_score=self.rest == "all", segmented=True)

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
        >>> from evenhand.merit import Power
        >>> from evenhand.policy import MeritShares
        >>> MeritShares(Power(beta=2.0)).claim(np.array([0.0, 1.0]), Policy().start(arms=2)).score
        array([1., 3.])

    Source: Chen et al. 2024, Theorem 3.
    """

    merit: Merit = field(converter=as_merit, metadata={"slot": "merit"})
    cap: bool = field(default=False, converter=validate.truth)
    traits = Traits(gives="shares", takes="means", bounded=True)

    def check(self, arms: int, plays: int) -> None:
        """No share may exceed one, unless capping is asked for."""
        if not self.cap:
            share_limit(self.merit, arms, plays)

    def rules(self) -> FairnessRules | None:
        """Merit, where its function has rules."""
        merit = rules_of(self.merit)
        return None if merit is None else FairnessRules("merit", merit=merit)

    def claim(self, score: Array, state: State) -> Shares:
        """The merit of every arm."""
        return Shares(self.merit(np.clip(score, 0.0, 1.0)))


def mixed(share: Any, mixing: float, arms: int) -> Any:
    """A share, and the same chance for all."""
    return (1.0 - mixing) * share + mixing / arms


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
    traits = Traits(gives="shares", takes="weights", bounded=True)

    def rules(self) -> FairnessRules | None:
        """Mixed shares, where it is known when the mixing changes."""
        phases = rules_of(self.mixing)
        return phases and FairnessRules("mixed", mixing=self.mixing.mixing, phases=phases)

    def claim(self, score: Array, state: State) -> Shares:
        """The probability of every arm."""
        total, arms = over_arms(score)[..., np.newaxis], score.shape[-1]
        share = np.where(total > 0.0, score, 1.0) / np.where(total > 0.0, total, float(arms))
        return Shares(mixed(share, self.mixing.mixing(state.clock, arms), arms))
