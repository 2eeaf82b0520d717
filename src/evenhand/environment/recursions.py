"""What a profile computes in a round: formulas for arrays of lanes and, compiled, for one lane at a time."""

from __future__ import annotations

from typing import Any

import numpy as np


def evenly(low: Any, high: Any, chance: Any) -> Any:
    """A delay for which all of ``low … high`` rounds are as likely."""
    return low + np.floor(chance * (high - low + 1))


def running(total: Any, new: Any, old: Any) -> Any:
    """A running sum, which gains a total and loses another."""
    return total + new - old


def slid(length: Any, rising: bool, total: Any, weighted: Any, new: Any, old: Any) -> tuple[Any, Any]:
    """The sum of the last d totals, and their sum with weights on a line from d to 1 or from 1 to d, a round on."""
    after = total + (new - old)
    return after, weighted + (after - length * old if rising else length * new - total)


def fading(total: Any, factor: Any, new: Any) -> Any:
    """A discounted sum, a round on."""
    return total * factor + new
