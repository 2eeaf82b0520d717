"""The sums of linear models of the reward: how features are split in blocks, and how plays are added.

The features of a play, φ = (x, z), are split in two: a block of the arm's own with a matrix per arm, and a common block
with one matrix for all arms.

========  =====================  ============  =====================================
model     own block              common block  reward
========  =====================  ============  =====================================
disjoint  situation and arm      none          ``θ_aᵀ(x, z)``
shared    none                   both          ``θᵀ(x, z)``
hybrid    situation              arm           ``θ_aᵀx + βᵀz`` (Li et al. 2010)
========  =====================  ============  =====================================

In all of them ``V = λI + Σφφᵀ`` and ``b = Σφr``. The sums are added element by element in the order of the rewards and
have the same bits on every machine; λ is added when they are read.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Observation, Shape
from evenhand.policy.factors import dot

Block: TypeAlias = Any  # what a model has, or None in one that does without it
At: TypeAlias = Any  # an int, an array of places of which each is there once, or `Runs`

MODELS = ("disjoint", "shared", "hybrid")
FLOOR = 1e-8  # the smallest ridge, in units of |φ|²: with a million plays a matrix still has digits to spare
LARGEST = 1 << 30  # bytes of the sums of one state
AT_ONCE = 1 << 15  # numbers in the products that are made together, so that they stay in the cache of the processor
TOGETHER = 20  # products that take as long as one does alone, where those of all arms are one product of matrices
WIDE = 8  # numbers in a row from which on rows are added one after another; fewer might be added in pairs


@dataclass(slots=True)
class Sums:
    """What a linear index remembers; an array that the model or the evidence does without is None."""

    situation: int  # columns of the situation, d
    arm: int  # columns of every arm
    own: Block = None  # (…, arms, p, p) Σxxᵀ of each arm, over the plays that count
    own_rewards: Block = None  # (…, arms, p) Σxr
    cross: Block = None  # (…, arms, p, q) Σxzᵀ
    common: Block = None  # (…, q, q) Σzzᵀ
    common_rewards: Block = None  # (…, q) Σzr
    own_squares: Block = None  # (…, arms, p, p) Σxxᵀ by the squared discount
    common_squares: Block = None  # (…, q, q) Σzzᵀ by the squared discount
    norms: Block = None  # (…, rounds, arms) |φ| in V⁻¹ of the last plays, a ring of rounds
    solved: Any = dataclasses.field(default=None, compare=False, repr=False)  # `Solved` or None: a cache


@dataclass(slots=True)
class Plays:
    """Plays with their features."""

    lanes: Any  # (n,), or an int for a single play; so below
    arms: Any  # (n,)
    situation: Array  # (n, d)
    features: Array  # (n, d_arm) of the played arm
    rewards: Any  # (n,)

    def some(self, at: Any) -> Plays:
        """Some of them, or a single one."""
        return Plays(self.lanes[at], self.arms[at], self.situation[at], self.features[at], self.rewards[at])


class Blocks:
    """How a model splits features in blocks, and adds plays to its sums.

    Args:
        model: one of `MODELS`.
        ridge: λ.
        lead: the axes of the state before the arms: () or (lanes,).
        arms: number of arms.
        columns: of the situation, and of every arm.

    Raises:
        EvenhandError: the model cannot have these features, or would be too large.
    """

    __slots__ = ("arms", "columns", "common", "lead", "model", "own", "ridge")

    def __init__(self, model: str, ridge: float, lead: Shape, arms: int, columns: tuple[int, int]) -> None:
        situation, arm = columns
        check_columns(model, columns)
        self.model, self.ridge, self.lead, self.arms, self.columns = model, ridge, lead, arms, columns
        self.own = {"disjoint": situation + arm, "shared": 0, "hybrid": situation}[model]
        self.common = {"disjoint": 0, "shared": situation + arm, "hybrid": arm}[model]
        numbers = arms * self.own * (self.own + self.common) + self.common**2
        if (size := 8 * numbers * int(np.prod(lead))) > LARGEST:
            smaller = "model='shared' or 'hybrid', or " if model == "disjoint" else ""
            raise EvenhandError(
                f"the sums of model={model!r} with {situation + arm} columns and {arms} arms take "
                f"{size / 2**30:.3g} GiB, the limit is {LARGEST >> 30} GiB: use {smaller}fewer features"
            )

    @property
    def products(self) -> tuple[float, float]:
        """About how many products of two numbers a decision takes, and the reward of an arm."""
        own, common = self.own * (self.own + self.common), self.common * self.common
        together = self.arms * self.columns[1] * self.common / TOGETHER
        return float(self.arms * own + together + common), float(own + common)

    def start(self, fades: bool, rounds: int | None) -> Sums:
        """Sums of no plays; where plays fade also by the squared discount, and with norms of plays for some rounds."""
        each, sums = (*self.lead, self.arms), Sums(*self.columns)
        p, q = self.own, self.common
        if p:
            sums.own, sums.own_rewards = np.zeros((*each, p, p)), np.zeros((*each, p))
        if q:
            sums.common, sums.common_rewards = np.zeros((*self.lead, q, q)), np.zeros((*self.lead, q))
        if p and q:
            sums.cross = np.zeros((*each, p, q))
        if fades:
            sums.own_squares = None if sums.own is None else sums.own.copy()
            sums.common_squares = None if sums.common is None else sums.common.copy()
        if rounds is not None:
            sums.norms = np.zeros((*self.lead, rounds, self.arms))
        return sums

    def recolumn(self, sums: Sums, situation: NDArray[np.intp], arms: NDArray[np.intp]) -> Sums:
        """The sums in the columns of this model, from sums in others.

        Args:
            sums: of a single lane; they stay as they are.
            situation: (d,), where each column of the situation was before; −1 for a new one, whose sums are 0.
            arms: (d_arm,), the same of every arm.
        """
        p, q = self.places(situation, arms, sums.situation)
        return Sums(
            *self.columns,
            taken(sums.own, p, p),
            taken(sums.own_rewards, p),
            taken(sums.cross, p, q),
            taken(sums.common, q, q),
            taken(sums.common_rewards, q),
            taken(sums.own_squares, p, p),
            taken(sums.common_squares, q, q),
            None if sums.norms is None else sums.norms.copy(),
        )

    def places(self, situation: Any, arms: Any, before: int) -> tuple[Any, Any]:
        """Places of columns, (p,) and (q,), in the own and common block; ``before`` columns were the situation's."""
        both = np.concatenate([situation, np.where(arms < 0, arms, arms + before)])
        return {"disjoint": (both, None), "shared": (None, both), "hybrid": (situation, arms)}[self.model]

    def split(self, situation: Array, arm: Array) -> tuple[Array, Array]:
        """The own and the common features of plays, (…, p) and (…, q)."""
        if self.model == "hybrid":
            return situation, arm
        both = np.concatenate((situation, arm), axis=-1) if self.columns[1] else situation
        return (both, both[..., :0]) if self.model == "disjoint" else (both[..., :0], both)

    def observed(self, observation: Observation) -> tuple[Array, Array]:
        """The features of a decision, (…, d) and (…, arms, d_arm), checked against the ridge."""
        x, z = features_of(observation, (*self.lead, self.arms), self.columns)
        self.check(x, z)
        return x, z

    def check(self, situation: Array, arms: Array) -> None:
        """Refuse features for which the ridge is so small that it would be lost in rounding."""
        norm = dot(situation, situation).max(initial=0.0) if situation.ndim > 1 else situation @ situation
        if self.columns[1]:
            norm = norm + dot(arms, arms).max(initial=0.0)
        if not self.ridge >= FLOOR * norm:
            raise EvenhandError(
                f"a ridge of {self.ridge:g} is too small for features of length {np.sqrt(norm):.3g}: give them a scale "
                f"near [0, 1], as Number(low, high) does, or use a ridge of at least {FLOOR * norm:.3g}",
                "ridge",
            )

    def add_to(self, sums: Sums, lanes: At, places: At, x: Array, z: Array, rewards: Any, counts: bool) -> None:
        """Add plays to the sums: a single one, plays of lanes of which each is there once, or runs of places.

        Args:
            sums: updated in place; not what is solved from them.
            lanes: of the plays.
            places: of the lanes and arms on one axis.
            x: (n, p), or (p,) for a single play; so below.
            z: (n, q).
            rewards: (n,), None where they do not count.
            counts: whether the plays count in V.
        """
        products: list[tuple[Block, At, Array, Array]] = []
        if counts:
            products = [
                (sums.own, places, x, x),
                (sums.cross, places, x, z),
                (sums.common, lanes, z, z),
                (sums.own_squares, places, x, x),
                (sums.common_squares, lanes, z, z),
            ]
        for matrix, at, left, right in products:
            if matrix is not None:
                increase(flat(matrix, 2), at, left, right)
        if rewards is not None:
            for vector, at, block in ((sums.own_rewards, places, x), (sums.common_rewards, lanes, z)):
                if vector is not None:
                    increase(flat(vector, 1)[..., np.newaxis], at, block, rewards[..., np.newaxis])

    def fade(self, sums: Sums, discount: float) -> None:
        """A round passes: every play counts less."""
        for array in (sums.own, sums.own_rewards, sums.common, sums.common_rewards):
            if array is not None:
                array *= discount
        for array in (sums.own_squares, sums.common_squares):
            if array is not None:
                array *= discount * discount
        sums.solved = None


def check_columns(model: str, columns: tuple[int, int]) -> None:
    """Refuse a model that needs features of the arms where they have none."""
    if not columns[1] and model != "disjoint":
        same = "gives all arms the same score" if model == "shared" else "has nothing that the arms share"
        raise EvenhandError(
            f"model={model!r} {same} where arms have no features: declare features of the arms, or use model='disjoint'"
        )


def features_of(observation: Observation, shape: Shape, columns: tuple[int, int]) -> tuple[Array, Array]:
    """The features of a decision among (…, arms), (…, d) and (…, arms, d_arm)."""
    situation, arms = observation.situation, observation.arms
    x = np.zeros((*shape[:-1], 0)) if situation is None else situation
    z = np.zeros((*shape, 0)) if arms is None else arms
    expected = ((*shape[:-1], columns[0]), (*shape, columns[1]))
    if (x.shape, z.shape) != expected:
        raise EvenhandError(f"have shapes {x.shape} and {z.shape}, this policy needs {expected}", "features")
    return x, z


def each_arm(x: Array, z: Array) -> Array:
    """The features of the situation beside those of every arm, (…, arms, d + d_arm)."""
    return np.concatenate((np.broadcast_to(x[..., np.newaxis, :], (*z.shape[:-1], x.shape[-1])), z), axis=-1)


def taken(array: Block, *axes: Any) -> Block:
    """An array with other columns on its last axes; where a place is −1 they are 0."""
    if array is None:
        return None
    for axis, places in enumerate(reversed(axes), start=1):
        padded = np.pad(array, [(0, int(at == array.ndim - axis)) for at in range(array.ndim)])
        array = padded.take(places, axis=-axis)
    return array


def flat(array: Any, kept: int) -> Array:
    """The array with the axes before the last ones on one axis: a view, as the arrays of a state are contiguous."""
    flat: Array = array.reshape(-1, *array.shape[-kept:])
    return flat


class Runs:
    """Places of which some are there several times: an order in which they stand together, and where each begins."""

    def __init__(self, places: NDArray[np.intp]) -> None:
        self.order = np.argsort(places, kind="stable")
        ordered = places[self.order]
        self.first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        self.sizes = np.diff(np.append(self.first, len(places)))
        self.places = ordered[self.first]


def increase(target: Array, at: At, left: Array, right: Array) -> None:
    """Add ``vwᵀ`` at some places, one after another where a place is there several times."""
    if isinstance(at, Runs):
        for place, first, size in zip(at.places, at.first, at.sizes, strict=True):
            some = at.order[first : first + size]
            target[place] = _total(target[place], left, right, some)
        return
    product = left[..., np.newaxis] * right[..., np.newaxis, :]
    if isinstance(at, np.ndarray):
        target[at] += product
    else:
        one = target[at]
        one += product


def _total(start: Array, left: Array, right: Array, some: NDArray[np.intp]) -> Array:
    """``start + vwᵀ + …`` for some rows v and w, added one after another."""
    height, width = start.shape
    if len(some) <= height or not einsum_keeps_order(height, width):
        return _added(start, left[some], right[some])
    first, second = np.empty((height + len(some), height)), np.empty((height + len(some), width))
    first[:height], second[:height] = np.eye(height), start  # the sum of these rows is the start, with all its digits
    np.take(left, some, axis=0, out=first[height:])
    np.take(right, some, axis=0, out=second[height:])
    return np.asarray(np.einsum("ti,tj->ij", first, second))


def _added(start: Array, left: Array, right: Array) -> Array:
    """The same, from products that are written down."""
    step = max(AT_ONCE // start.size, 1)
    terms = np.empty((min(step, len(left)) + 1, *start.shape))
    terms[0] = start
    for at in range(0, len(left), step):
        some = slice(at, at + step)
        used = terms[: len(left[some]) + 1]
        np.multiply(left[some, :, np.newaxis], right[some, np.newaxis], out=used[1:])
        terms[0] = used.sum(axis=0) if start.size >= WIDE else np.add.accumulate(used)[-1]
    return np.asarray(terms[0])


@lru_cache(maxsize=256)
def einsum_keeps_order(height: int, width: int) -> bool:
    """Whether ``einsum`` adds products as `_added` does: one after another, each rounded before it is added.

    NumPy promises this for no build. Digits differ where the processor fuses product and sum, and where the only axis
    to go along is that of the sum.
    """
    height = min(height, 3)  # einsum goes along the width, whatever the height
    rows = np.sin(np.arange(64.0 * (height + width))).reshape(64, -1)
    left, right = np.ascontiguousarray(rows[:, :height]), np.ascontiguousarray(rows[:, height:])
    expected = _added(np.zeros((height, width)), left, right)
    return bool((np.einsum("ti,tj->ij", left, right) == expected).all())


def turns_of(lanes: NDArray[np.intp]) -> NDArray[np.intp]:
    """How often each lane stands before its place, (n,)."""
    if len(lanes) == 1:
        return np.zeros(1, dtype=np.intp)
    runs, turns = Runs(lanes), np.empty(len(lanes), dtype=np.intp)
    turns[runs.order] = np.arange(len(lanes)) - np.repeat(runs.first, runs.sizes)
    return turns
