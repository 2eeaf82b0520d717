"""Means over independent values, such as the lanes of a simulation, and their intervals by Student's t."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.state import Array

CONFIDENCE = 0.95
NORMAL = 1.959963984540054  # 97.5% of a normal distribution lie below


def mean_and_error(values: NDArray[Any]) -> tuple[Array, Array]:
    """Mean and standard error over the last axis; the error is NaN for a single value."""
    count = values.shape[-1]
    spread = np.full(values.shape[:-1], np.nan) if count < 2 else values.std(axis=-1, ddof=1) / np.sqrt(count)
    return values.mean(axis=-1), spread


@cache
def student(count: int, confidence: float = CONFIDENCE) -> float:
    """Standard errors from the mean of so many values to either end of its interval; NaN for a single value."""
    from scipy.special import stdtrit

    return float(stdtrit(count - 1, 0.5 + confidence / 2.0)) if count > 1 else math.nan


def mean_and_reach(values: NDArray[Any], confidence: float = CONFIDENCE) -> tuple[Array, Array]:
    """Mean over the last axis, and half the length of its interval; NaN for a single value."""
    mean, error = mean_and_error(values)
    return mean, student(values.shape[-1], confidence) * error


def ratio_and_reach(over: Array, under: Array, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The ratio of two means of the same lanes, and half the length of its interval by linearisation.

    ``ρ = Σ y/Σ x``, and the interval is that of the mean of ``(y − ρ x)/x̄``
    """
    scale = float(under.mean())
    if scale == 0.0:
        return math.nan, math.nan
    ratio = float(over.mean()) / scale
    return ratio, float(mean_and_reach(over - ratio * under, confidence)[1]) / abs(scale)


def shrunk(means: Array, counts: Array) -> Array:
    """Likely means of many arms: each drawn towards their common mean, the more the fewer values it rests on.

    The largest of many noisy means is too large; that of these is nearly unbiased. The premise is that means vary like
    a normal distribution, but for one arm of all, which may be anywhere in [0, 1]:
    ``x̃_i = x̄_i − (1 − q_i) v_i/(τ² + v_i) (x̄_i − μ)`` with ``v_i = (p (1 − p) − τ²)/n_i``, where p is the mean of all
    values and q_i the probability that it is this arm, given x̄_i. μ and τ² are by the method of moments. Were v_i taken
    from an arm's own mean, arms with few successes would seem the surest.

    Source: DerSimonian and Laird 1986, Meta-analysis in clinical trials (μ and τ²); Efron and Morris 1973 (shrinkage).
    """
    if len(means) < 2:
        return means
    pooled = (float(means @ counts) + 0.5) / (float(counts.sum()) + 1.0)
    noise = pooled * (1.0 - pooled) / counts
    weights = 1.0 / noise
    excess = float(weights @ (means - weights @ means / weights.sum()) ** 2) - (len(means) - 1.0)
    spread = max(0.0, excess / (weights.sum() - (weights @ weights) / weights.sum()))
    noise = np.maximum(noise - spread / counts, 1e-9 / counts)
    whole = noise + spread
    gaps = means - float((means / whole).sum() / (1.0 / whole).sum())
    density = np.exp(-(gaps**2) / (2.0 * whole)) / np.sqrt(2.0 * np.pi * whole)
    usual = (len(means) - 1.0) * density / (1.0 + (len(means) - 1.0) * density)
    likely: Array = means - usual * noise / whole * gaps
    return likely
