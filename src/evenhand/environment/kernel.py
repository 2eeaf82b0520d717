"""Profiles of any shape: a convolution, computed in blocks of growing length."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import EvenhandError, number_of, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Mask
from evenhand.environment.anonymous import AnonymousFeedback, Flow
from evenhand.environment.feedback import Steps
from evenhand.environment.rewards import Rewards

Weights = Sequence[float] | Sequence[Sequence[float]] | NDArray[Any] | Sequence[NDArray[Any]]
Profile = Callable[[NDArray[Any]], Weights]

DIRECT = 32  # rounds of a kernel whose parts are added one by one
PIECES = 8  # of one length; the next are as many times longer


def _weights(value: Weights | Profile) -> Array | Profile:
    return value if callable(value) else _kernel(value)


def _kernel(value: Weights) -> Array:
    try:
        weights = np.asarray(value, dtype=float)
    except (OverflowError, TypeError, ValueError):
        raise EvenhandError(
            f"must be numbers, one per round, or rows of equal length, one per arm, got {shown(value)}"
        ) from None
    if weights.ndim not in (1, 2) or weights.size == 0:
        raise EvenhandError(f"must be of shape (rounds,) or (arms, rounds), got shape {weights.shape}")
    wrong = ~(np.isfinite(weights) & (weights >= 0.0))
    if wrong.any():
        place = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise EvenhandError(f"must be a number of at least 0, got {float(weights[place])!r}", *place)
    total = float(weights.sum(axis=-1).max())
    if total > 1.0 + 1e-9:
        raise EvenhandError(f"must sum to at most 1, got a sum of {total:.6g}")
    return weights


@part("feedback", "spread/kernel")
@frozen(eq=False)
class Kernel(AnonymousFeedback):
    """Parts of any shape: the fraction ``weights[τ]`` of a play's total arrives τ rounds later.

    Parts of up to 31 rounds are added one by one. The rest of the kernel is cut into seven pieces of 32 rounds, seven
    of 256, seven of 2048, …; whenever a block of so many rounds is full, what the last seven blocks send through their
    pieces is added to the sums to come, by fast Fourier transforms. The cost per round is of order log² of the length,
    whatever has been played.

    Args:
        weights: (rounds,), or (arms, rounds) for one kernel per arm, from τ = 0 on; each ≥ 0, with a sum of at most 1.
            Or a function from an array of rounds τ to weights, which is evaluated for every τ up to the horizon; a
            kernel with a function has no plain form.

    Raises:
        EvenhandError: a weight is negative or not a number, or the weights sum to more than 1.

    Example:
        >>> import numpy as np
        >>> plays = np.ones((1, 1), dtype=bool)
        >>> flow = Kernel([0.0, 0.25, 0.75]).flow(lanes=1, rounds=5)
        >>> [flow.step(np.array([x]), plays, None).item() for x in (1.0, 0.0, 0.0, 0.0)]
        [0.0, 0.25, 0.75, 0.0]
    """

    weights: Array | Profile = field(converter=_weights)

    @property
    def by_arm(self) -> bool:
        """Whether there is one kernel per arm."""
        return not callable(self.weights) and self.weights.ndim > 1

    def check(self, arms: int) -> None:
        """One kernel, or one per arm."""
        if not callable(self.weights) and self.by_arm and len(self.weights) != arms:
            raise EvenhandError(f"kernels are given for {number_of(len(self.weights), 'arm')}, but there are {arms}")

    def flow(self, lanes: int, rounds: int) -> Flow:
        """A convolution."""
        return _Convolution(np.atleast_2d(self._up_to(rounds)), lanes)

    def arrivals(self, latest: int, rewards: Rewards) -> list[Steps]:
        """The sums of the weights so far."""
        weights = self._up_to(latest) if callable(self.weights) else self.weights
        return [(np.arange(float(len(row))), np.cumsum(row)) for row in np.atleast_2d(weights)]

    def _up_to(self, rounds: int) -> Array:
        """The weights of so many rounds, (rounds,) or (arms, rounds)."""
        if not callable(self.weights):
            return self.weights[..., :rounds]
        try:
            weights = _kernel(self.weights(np.arange(rounds)))
        except EvenhandError as error:
            raise error.at("weights") from None
        if weights.shape != (rounds,):
            raise EvenhandError(
                f"the function of a kernel must return one weight for each of {rounds} rounds, "
                f"got shape {weights.shape}"
            )
        return weights


class _Convolution:
    """``Σ_τ k_τ x(t − τ)``, one round after the other."""

    def __init__(self, kernels: Array, lanes: int) -> None:
        self._now, sources, steps = 0, *kernels.shape
        self._direct = np.ascontiguousarray(kernels[:, :DIRECT].T)  # (rounds, sources)
        lengths = [DIRECT]
        while lengths[-1] * PIECES < steps:
            lengths.append(lengths[-1] * PIECES)
        self._levels = [_Pieces(kernels[:, n : n * PIECES], n) for n in lengths if n < steps]
        self._past = np.zeros((lengths[-1], sources, lanes))
        self._sums = np.zeros((2 * lengths[-1], lanes))

    def step(self, earned: Array, played: Mask, chance: Array | None) -> Array:
        source = np.atleast_2d(earned.T) if earned.ndim > 1 else earned[np.newaxis]  # (sources, lanes)
        self._past[self._now % len(self._past)] = source
        self._add(self._direct @ source)
        row = self._sums[self._now % len(self._sums)]
        arrived: Array = row.copy()
        row[:] = 0.0
        self._now += 1
        for level in self._levels:
            if self._now % level.length:
                break
            start = (self._now - level.length) % len(self._past)
            self._add(level.sums(self._past[start : start + level.length]))
        return arrived

    def _add(self, sums: Array) -> None:
        """Add to the sums from now on."""
        start = self._now % len(self._sums)
        left = len(self._sums) - start
        self._sums[start : start + len(sums)] += sums[:left]
        if left < len(sums):
            self._sums[: len(sums) - left] += sums[left:]


class _Pieces:
    """Pieces of a kernel of one length, and the transforms of as many blocks of that length."""

    def __init__(self, kernels: Array, length: int) -> None:
        from scipy.fft import rfft

        self.length = length
        pieces = (kernels[:, n : n + length].T for n in range(0, kernels.shape[1], length))
        self._pieces = [rfft(piece, 2 * length, axis=0) for piece in pieces]  # the nearest first
        self._blocks: deque[NDArray[np.complex128]] = deque(maxlen=len(self._pieces))  # the latest first

    def sums(self, block: Array) -> Array:
        """What the last blocks send to the steps from now on, given the latest, (rounds, sources, lanes)."""
        from scipy.fft import irfft, rfft

        self._blocks.appendleft(rfft(block, 2 * self.length, axis=0))
        pairs = zip(self._pieces, self._blocks, strict=False)  # fewer blocks than pieces at first
        spectrum = sum(np.einsum("fs,fsl->fl", piece, block) for piece, block in pairs)
        return np.asarray(irfft(spectrum, 2 * self.length, axis=0))
