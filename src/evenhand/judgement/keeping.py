"""How a policy keeps what it promises: by an exact count, by chance, by merit, or for a price."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evenhand.core.state import State
from evenhand.policy.composition import Policy

Keeps = Literal["count", "chance", "merit", "price"]
LATEST = 1e9  # rounds up to which a round is sought from which on arrears are small


@dataclass(frozen=True)
class Keeping:
    """How the promises of a policy are kept, and what may be owed meanwhile."""

    # ``count``: what is owed is played first, or counts in a queue; ``chance``: drawn with the promised probability;
    # ``merit``: drawn by what is learned of rewards; ``price``: not promised, or weighed against rewards
    keeps: Keeps = "price"
    parameter: str = ""  # what allows arrears, with its value, such as ``eta = 5``; empty for none
    longest: float = 1.0  # rounds that a draw can last
    # the most plays that may be owed after so many rounds; None for none
    allowance: Callable[[int], float | None] | None = None

    def owed_at_most(self, rounds: float) -> float:
        """Plays that may be owed after so many rounds; 0 where nothing is allowed."""
        allowed = None if self.allowance is None or self.keeps != "count" else self.allowance(int(rounds))
        return 0.0 if allowed is None else float(allowed)

    def to_json(self, rounds: int) -> dict[str, Any]:
        """Plain values, with what may be owed from so many rounds on."""
        grid = later(rounds) if self.keeps == "count" and self.allowance is not None else np.empty(0)
        most = map(self.owed_at_most, grid)
        allowed = [[int(one), owed if owed < math.inf else "inf"] for one, owed in zip(grid, most, strict=True)]
        return {"keeps": self.keeps, "parameter": self.parameter, "longest": self.longest, "allowed": allowed}

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> Keeping:
        """What `to_json` wrote down; between the rounds written down on a straight line."""
        allowed = np.array(values["allowed"], dtype=float).reshape(-1, 2).T

        def allowance(rounds: int) -> float:
            return float(np.interp(rounds, *allowed))

        known = allowance if allowed.size else None
        return cls(values["keeps"], values["parameter"], values["longest"], known)


def later(rounds: float) -> Any:
    """Rounds from so many on, each twice the one before, up to a billion."""
    first = max(float(rounds), 1.0)
    return np.floor(first * 2.0 ** np.arange(max(1.0, np.ceil(np.log2(LATEST / first)) + 1.0)))


def keeping_of(policy: Policy, arms: int, rounds: int, state: State | None = None) -> Keeping:
    """How a policy of so many arms keeps its promises within so many rounds, in a run with this state."""

    def allowance(rounds: int) -> float | None:
        return policy.allowance(arms, rounds, state)

    return Keeping(_keeps(policy), _parameter(policy), policy.hold.longest(max(rounds, 1)), allowance)


def keeping_within(policy: Policy, arms: int, rounds: int, state: State, keeping: Keeping) -> Keeping:
    """How promises in a segment of the rounds are kept, by what the policy owes after all rounds so far.

    Where shares of all rounds are promised as well, both are owed at once, and each is outweighed by the same scores.
    """
    both = policy.fractions is not None and bool(np.any(policy.fractions))
    return doubled(keeping, both, lambda within: policy.allowance(arms, max(within, rounds), state))


def doubled(keeping: Keeping, both: bool, allowed: Callable[[int], float | None] | None) -> Keeping:
    """With this allowance, twice it where promises of a segment and of all rounds are owed at once."""

    def allowance(rounds: int) -> float | None:
        found = None if allowed is None else allowed(rounds)
        return None if found is None else (2.0 if both else 1.0) * found

    return replace(keeping, allowance=allowance)


def _parameter(policy: Policy) -> str:
    """What allows arrears, with its value where that is one number or the name of a rule."""
    name = policy.fairness.traits.arrears
    value = getattr(policy.fairness, name) if name else 0.0
    if isinstance(value, str):
        return f"{name} = {value!r}"
    values = np.unique(np.asarray(value, dtype=float))
    return f"{name} = {values[0]:.6g}" if len(values) == 1 and values[0] > 0.0 else name * (len(values) > 1)


def _keeps(policy: Policy) -> Keeps:
    if policy.merit is not None:
        return "merit"
    if policy.schedule.fractions is not None:
        return "count"
    if not policy.fairness.promises:
        return "price"
    return "count" if policy.repays else "chance"
