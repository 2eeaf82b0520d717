"""How heavy the tail of positive values is, from the largest of them."""

from __future__ import annotations

import math

import numpy as np

from evenhand.core.state import Array

FEWEST = 5  # values in a tail


def pareto_k(values: Array) -> float:
    """The tail index k of positive values: with ``k ≥ 1/2`` they have no finite variance, with ``k ≥ 1`` no mean.

    A generalised Pareto distribution is fitted to the ``min(n/5, 3√n)`` largest of the n values. A mean of values with
    k above 0.7 is unreliable, whatever its standard error.

    Args:
        values: (n,), at least 0.

    Returns:
        k; −inf where the largest values are all the same, or too few.

    Source: Zhang & Stephens, A new and efficient estimation method for the generalized Pareto distribution,
    Technometrics 2009; Vehtari, Simpson, Gelman, Yao & Gabry, Pareto smoothed importance sampling, JMLR 2024 (where the
    tail begins, the 0.7, and the weak prior at 1/2).
    """
    size = min(len(values) // 5, math.ceil(3.0 * math.sqrt(len(values))))
    if size < FEWEST:
        return -math.inf
    largest = np.sort(np.partition(values, len(values) - size - 1)[-size - 1 :])
    over = largest[1:] - largest[0]
    over = over[over > 1e-12 * largest[-1]]
    number = len(over)
    if number < FEWEST or over[-1] - over[0] <= 1e-9 * over[-1]:
        return -math.inf
    grid = 30 + int(math.sqrt(number))
    quarter = over[int(number / 4.0 + 0.5) - 1]
    rates = 1.0 / over[-1] + (1.0 - np.sqrt(grid / (np.arange(grid) + 0.5))) / (3.0 * quarter)
    rates[np.abs(rates) * over[-1] < 1e-9] = 1e-9 / over[-1]  # an exponential tail, where the next lines divide 0 by 0
    slopes = np.array([np.log1p(-rate * over).mean() for rate in rates])
    likelihood = number * (np.log(-rates / slopes) - slopes - 1.0)
    weights = np.exp(likelihood - likelihood.max())
    rate = float(rates @ weights / weights.sum())
    k = float(np.log1p(-rate * over).mean())
    return (number * k + 5.0) / (number + 10.0)
