"""The arguments of a bandit: checked, and as plain JSON values and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError, number_of, there_are
from evenhand.core.parts import plain
from evenhand.core.state import Array, Unit
from evenhand.messages.changes import VALUES, in_order


class RewardRange(NamedTuple):
    """The smallest and the largest reward; policies learn from rewards scaled to [0, 1] by it."""

    low: float
    high: float

    @classmethod
    def of(cls, rewards: Any) -> RewardRange:
        """From a pair of numbers."""
        remedy = "give the smallest and the largest reward, such as rewards=(0, 1)"
        if rewards is None:
            raise EvenhandError(f"rewards is None, but policies learn from rewards in a known range; {remedy}")
        try:
            low, high = (validate.number("a reward", limit) for limit in rewards)
        except (TypeError, ValueError):
            raise EvenhandError(f"rewards must be two numbers, got {rewards!r}; {remedy}") from None
        if low >= high:
            raise EvenhandError(f"rewards must be a smaller and a larger number, got {rewards!r}; {remedy}")
        if not math.isfinite(high - low):
            raise EvenhandError(f"rewards = ({low:g}, {high:g}) is too wide for floating-point numbers; {remedy}")
        return cls(low, high)

    @property
    def width(self) -> float:
        """The largest difference of two rewards."""
        return self.high - self.low

    @property
    def unit(self) -> Unit | None:
        """The unit for a policy's state; None where it is the scale [0, 1]."""
        return None if self == (0.0, 1.0) else Unit(self.low, self.high - self.low)

    def check(self, arm: str, reward: object) -> float:
        """The reward of an arm as a float."""
        if type(reward) is float and self.low <= reward <= self.high:  # as most are
            return reward
        try:
            value = validate.number("a reward", reward)
        except EvenhandError:
            raise EvenhandError(f"the reward of {arm!r} must be a finite number, got {reward!r}") from None
        if not self.low <= value <= self.high:
            raise EvenhandError(f"the reward of {arm!r} must be in [{self.low:g}, {self.high:g}], got {value:g}")
        return value

    def check_log(self, source: str, rewards: Array, when: str = "") -> None:
        """Refuse a log with a reward outside."""
        low, high = min(self.low, rewards.min()), max(self.high, rewards.max())
        if (low, high) != self:
            fault = f"{source} has rewards from {rewards.min():g} to {rewards.max():g}, not within {self.low:g}"
            raise EvenhandError(f"{fault} to {self.high:g}: set rewards=({low:.12g}, {high:.12g}){when}")

    def scale(self, sums: Array, number: Array | float = 1.0) -> Array:
        """Sums of so many rewards each, of these scaled to [0, 1]."""
        return np.asarray((sums - self.low * number) / self.width)

    def scaled(self, rewards: Sequence[float]) -> Sequence[float]:
        """Rewards scaled to [0, 1]."""
        low, width = self.low, self.high - self.low
        return [(reward - low) / width for reward in rewards] if low or width != 1.0 else rewards


def by_arm(name: str, value: object, names: tuple[str, ...]) -> Any:
    """The values of a parameter in the order of the arms; from a number for all, or a mapping without its zeros."""
    if isinstance(value, Mapping):
        value = in_order(name, value, names)
    if isinstance(value, int | float) and not isinstance(value, bool):
        if VALUES[name][1] is None:
            return value  # also that of arms added later
        value = [value] * len(names)
    if isinstance(value, str | set) or not np.iterable(value):
        return value
    values = list(value)
    if len(values) != len(names):
        entries = number_of(len(values), "entry", "entries")
        raise EvenhandError(f"{name} has {entries}, but {there_are(len(names), 'arm')}")
    return [validate.number(f"{name}.{arm}", number) for arm, number in zip(names, values, strict=True)]


def as_plain(name: str, value: object) -> Any:
    """A parameter as plain JSON values, with infinity as a string."""
    try:
        return plain(value)
    except StateError as error:
        raise EvenhandError(f"a bandit cannot be saved with this {name}: {error}") from None


def from_plain(value: object) -> Any:
    """The parameter that `as_plain` described; parts stay tables, from which algorithms build them."""
    if isinstance(value, dict):
        return {name: from_plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [from_plain(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value
