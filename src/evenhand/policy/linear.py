"""Linear models of the reward: two sums that are the state, and what is solved from them, which is a cache.

The features of a play, φ = (x, z), are split in two: a block of the arm's own with a matrix per arm, and a common block
with one matrix for all arms.

========  =====================  ============  =====================================
model     own block              common block  reward
========  =====================  ============  =====================================
disjoint  situation and arm      none          ``θ_aᵀ(x, z)``
shared    none                   both          ``θᵀ(x, z)``
hybrid    situation              arm           ``θ_aᵀx + βᵀz`` (Li et al. 2010)
========  =====================  ============  =====================================

In all of them ``V = λI + Σφφᵀ`` and ``b = Σφr``, and V has the shape of an arrow: the own blocks meet in the common one
alone. So a score has two parts that are independent given the sums: with ``A`` an own block, ``B`` its product with the
common one and ``w = z − BᵀA⁻¹x``, its mean is ``xᵀA⁻¹b_a + wᵀβ`` and its squared width ``xᵀA⁻¹x + wᵀC⁻¹w``, where
``C = λI + Σzzᵀ − Σ_a BᵀA⁻¹B``. The sums are added element by element in the order of the rewards and have the same bits
on every machine; λ is added when they are read.
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
from evenhand.policy.factors import RENEWAL, Roots, dot, solved, times

Block: TypeAlias = Any  # what a model has, or None in one that does without it
At: TypeAlias = Any  # an int, an array of places of which each is there once, or `_Runs`

MODELS = ("disjoint", "shared", "hybrid")
FLOOR = 1e-8  # the smallest ridge, in units of |φ|²: with a million plays a matrix still has digits to spare
LARGEST = 1 << 30  # bytes of the sums of one state
BULK = 16  # plays of one lane that come together, from which on roots are computed afresh
AT_ONCE = 1 << 15  # numbers in the products that are made together, so that they stay in the cache of the processor
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
class Solved:
    """What is solved from the sums; lanes, or lanes and arms, on one axis."""

    own: Block = None  # Roots of A = own + λI
    own_solution: Block = None  # (lanes·arms, p) A⁻¹b_a
    own_spread: Block = None  # Roots whose root gives the widths; ``own`` where nothing fades
    common: Block = None  # Roots of C
    common_solution: Block = None  # (lanes, q) β
    common_spread: Block = None  # Roots of which the same holds
    loads: Block = None  # (lanes·arms, q, p) BᵀA⁻¹
    schur: Block = None  # (lanes, q, q) C − λI
    carried: Block = None  # (lanes, q) Σ_a BᵀA⁻¹b_a
    age: Block = None  # (lanes,) updates of the last three since they were computed


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


class LinearModel:
    """How a model splits features, adds plays to its sums, and solves them.

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
        if not arm and model != "disjoint":
            same = "gives all arms the same score" if model == "shared" else "has nothing that the arms share"
            raise EvenhandError(
                f"model={model!r} {same} where arms have no features: declare features of the arms, or use "
                "model='disjoint'"
            )
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

    def start(self, fades: bool, rounds: int | None) -> Sums:
        """Sums of nothing; with the second ones of a discount, and the norms of the last plays, where asked for."""
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
        """The sums in these columns, of which places among those before are given; −1 for new ones, whose sums are 0.

        Args:
            sums: of a single lane; they stay as they are.
            situation: (d,), places among the columns of the situation.
            arms: (d_arm,), among those of every arm.
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
        """Places of columns, (p,) and (q,), in the own and common block; ``before`` of them were the situation's."""
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
        situation, arms = observation.situation, observation.arms
        x = np.zeros((*self.lead, 0)) if situation is None else situation
        z = np.zeros((*self.lead, self.arms, 0)) if arms is None else arms
        expected = ((*self.lead, self.columns[0]), (*self.lead, self.arms, self.columns[1]))
        if (x.shape, z.shape) != expected:
            raise EvenhandError(f"have shapes {x.shape} and {z.shape}, this policy needs {expected}", "features")
        self.check(x, z)
        return x, z

    def check(self, situation: Array, arms: Array) -> None:
        """Refuse features for which the ridge is too small: of it nothing would be left with rounding."""
        norm = dot(situation, situation).max(initial=0.0) if situation.ndim > 1 else situation @ situation
        if self.columns[1]:
            norm = norm + dot(arms, arms).max(initial=0.0)
        if not self.ridge >= FLOOR * norm:
            raise EvenhandError(
                f"a ridge of {self.ridge:g} is too small for features of length {np.sqrt(norm):.3g}: give them a scale "
                f"near [0, 1], as Number(low, high) does, or use a ridge of at least {FLOOR * norm:.3g}",
                "ridge",
            )

    # The sums

    def add(self, sums: Sums, plays: Plays, counts: bool, pays: bool) -> None:
        """Add plays in their order.

        Args:
            sums: updated in place, and what is solved from them.
            plays: that count in V, or whose rewards count in b.
            counts: whether they count in V.
            pays: whether they count in b.
        """
        number = len(plays.rewards)
        if not number:
            return
        self.check(plays.situation, plays.features)
        if number == 1:
            self._add(sums, plays.some(0), counts, pays)
            return
        turns = turns_of(plays.lanes)
        if (last := int(turns.max())) < max(BULK, self.arms if self.own else 0):
            for turn in range(last + 1):
                self._add(sums, plays.some(turns == turn), counts, pays)
            return
        sums.solved = None  # to solve all anew costs less than so many updates
        x, z = self.split(plays.situation, plays.features)
        places = _Runs(plays.lanes * self.arms + plays.arms)
        self._sum(sums, _Runs(plays.lanes), places, x, z, plays.rewards if pays else None, counts)

    def _add(self, sums: Sums, plays: Plays, counts: bool, pays: bool) -> None:
        """Add a single play, or plays of lanes of which each is there once."""
        x, z = self.split(plays.situation, plays.features)
        lanes, places = plays.lanes, plays.lanes * self.arms + plays.arms
        cache: Solved | None = sums.solved
        if sums.own_squares is not None or sums.common_squares is not None:
            cache = sums.solved = None  # everything is solved anew in every round
        if cache is not None and cache.loads is not None:
            cache.carried[lanes] -= times(cache.loads[places], _flat(sums.own_rewards, 1)[places])
        self._sum(sums, lanes, places, x, z, plays.rewards if pays else None, counts)
        if cache is not None:
            self._solve_again(sums, cache, lanes, places, x, z, counts)

    def _sum(self, sums: Sums, lanes: At, places: At, x: Array, z: Array, rewards: Any, counts: bool) -> None:
        """Add plays to the sums."""
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
                _increase(_flat(matrix, 2), at, left, right)
        if rewards is not None:
            for vector, at, block in ((sums.own_rewards, places, x), (sums.common_rewards, lanes, z)):
                if vector is not None:
                    _increase(_flat(vector, 1)[..., np.newaxis], at, block, rewards[..., np.newaxis])

    def fade(self, sums: Sums, discount: float) -> None:
        """A round passes: every play counts less."""
        for array in (sums.own, sums.own_rewards, sums.common, sums.common_rewards):
            if array is not None:
                array *= discount
        for array in (sums.own_squares, sums.common_squares):
            if array is not None:
                array *= discount * discount
        sums.solved = None

    # What is solved from them

    def solved(self, sums: Sums) -> Solved:
        """What is solved from the sums, from the cache or anew."""
        if sums.solved is None:
            sums.solved = self._solve(sums)
        cache: Solved = sums.solved
        return cache

    def _solve(self, sums: Sums) -> Solved:
        cache = Solved()
        if sums.own is not None:
            cache.own, cache.own_spread = self._roots(sums.own, sums.own_squares)
            cache.own_solution = solved(cache.own.root, _flat(sums.own_rewards, 1))
        if sums.cross is not None:
            lanes, p, q = len(_flat(sums.common, 2)), self.own, self.common
            cache.loads, cache.age = np.empty((lanes * self.arms, q, p)), np.zeros(lanes, dtype=np.int64)
            cache.schur, cache.carried = np.empty((lanes, q, q)), np.empty((lanes, q))
            self._eliminate(sums, cache, np.arange(lanes))
        if sums.common is not None:
            matrix = sums.common if cache.schur is None else cache.schur
            cache.common, cache.common_spread = self._roots(matrix, sums.common_squares)
            cache.common_solution = solved(cache.common.root, self._right(sums, cache, slice(None)))
        return cache

    def _roots(self, matrix: Array, squares: Array | None) -> tuple[Roots, Roots]:
        """The roots of a block, and those that give widths."""
        roots = Roots.of(_flat(matrix, 2), self.ridge)
        return roots, roots if squares is None else roots.spread(_flat(squares, 2), self.ridge)

    def _right(self, sums: Sums, cache: Solved, lanes: At) -> Array:
        """Cβ of some lanes."""
        right: Array = _flat(sums.common_rewards, 1)[lanes]
        return right if cache.carried is None else right - cache.carried[lanes]

    def _eliminate(self, sums: Sums, cache: Solved, lanes: NDArray[np.intp]) -> None:
        """Solve the own blocks of some lanes for what they leave of the common one."""
        places = (lanes[:, np.newaxis] * self.arms + np.arange(self.arms)).ravel()
        root, cross = cache.own.root[places], _flat(sums.cross, 2)[places]
        half = np.matmul(root, cross)
        loads = np.matmul(half.swapaxes(-1, -2), root)
        carried = times(loads, _flat(sums.own_rewards, 1)[places])
        taken = np.matmul(half.swapaxes(-1, -2), half)
        by_lane = (len(lanes), self.arms)
        cache.loads[places], cache.age[lanes] = loads, 0
        cache.carried[lanes] = carried.reshape(*by_lane, -1).sum(axis=1)
        cache.schur[lanes] = _flat(sums.common, 2)[lanes] - taken.reshape(*by_lane, *taken.shape[1:]).sum(axis=1)

    def _solve_again(self, sums: Sums, cache: Solved, lanes: At, places: At, x: Array, z: Array, counts: bool) -> None:
        """Update what is solved after plays that the sums hold already."""
        if cache.own is not None:
            if counts:
                h, s = cache.own.add(places, x, _flat(sums.own, 2), self.ridge)
            if cache.loads is not None:  # counts is true, as all evidence of this model adds plays and rewards at once
                z = self._load(cache, lanes, places, x, z, h, s)
                cache.carried[lanes] += times(cache.loads[places], _flat(sums.own_rewards, 1)[places])
            cache.own_solution[places] = cache.own.solve(places, _flat(sums.own_rewards, 1)[places])
        if cache.common is not None:
            matrix = _flat(sums.common, 2) if cache.schur is None else cache.schur
            if counts:
                cache.common.add(lanes, z, matrix, self.ridge)
            if cache.age is not None and (due := np.atleast_1d(cache.age[lanes] >= RENEWAL)).any():
                again = np.atleast_1d(lanes)[due]
                self._eliminate(sums, cache, again)
                cache.common.renew(again, matrix, self.ridge)
            cache.common_solution[lanes] = cache.common.solve(lanes, self._right(sums, cache, lanes))

    def _load(self, cache: Solved, lanes: At, places: At, x: Array, z: Array, h: Array, s: Array) -> Array:
        """Update the loads of plays and what they leave of the common block; the vector that they add to that."""
        rest = z - times(cache.loads[places], x)
        inverse = 1.0 / (1.0 + s)[..., np.newaxis]
        cache.loads[places] += rest[..., np.newaxis] * (h * inverse)[..., np.newaxis, :]
        rest *= np.sqrt(inverse)
        cache.schur[lanes] += rest[..., np.newaxis] * rest[..., np.newaxis, :]
        cache.age[lanes] += 1
        return rest

    # Scores

    def parts(self, sums: Sums, x: Array, z: Array) -> ScoreParts:
        """The features of a decision, set against what is solved from the sums."""
        cache, each = self.solved(sums), (*self.lead, self.arms)
        if cache.own is None:
            return ScoreParts(self, cache, None, x, z)
        if cache.common is not None:
            moved = times(cache.loads.reshape(*self.lead, self.arms * self.common, self.own), x)
            return ScoreParts(self, cache, x[..., np.newaxis, :], x[..., :0], z - moved.reshape(*each, self.common))
        own = x[..., np.newaxis, :]
        if self.columns[1]:
            own = np.concatenate((np.broadcast_to(own, (*each, x.shape[-1])), z), axis=-1)
        return ScoreParts(self, cache, own, None, None)


@dataclass(slots=True)
class ScoreParts:
    """The two independent parts of the scores of a decision: of the own blocks, and of the common one."""

    model: LinearModel
    solved: Solved
    own: Block  # (…, 1, p) or, where it differs between arms, (…, arms, p)
    situation: Block  # (…, q − r) the features of the common block that are the same for all arms
    arms: Block  # (…, arms, r) those that differ

    def means(self, common: Array | None = None) -> Array:
        """The estimated reward of every arm, (…, arms); with another solution (…, q) of the common block, if given."""
        model, total = self.model, None
        if self.own is not None:
            solution = self.solved.own_solution.reshape(*model.lead, model.arms, model.own)
            total = dot(solution, self.own)
        if self.arms is not None:
            solution = self.solved.common_solution if common is None else common
            rest = self._applied(solution.reshape(*model.lead, 1, model.common))[..., 0]
            total = rest if total is None else total + rest
        return np.asarray(total)

    def drawn(self, rng: np.random.Generator, scale: float) -> Array | None:
        """A draw from the law of the common solution, (…, q); None where there is none.

        By the triangular root of which there is one alone: others differ by a rotation after a save or a renewal.
        """
        if self.arms is None:
            return None
        model, spread = self.model, self.solved.common_spread.root
        shape = (*model.lead, model.common)
        upper = np.linalg.qr(spread.reshape(*shape, model.common), mode="r")
        upper *= np.copysign(1.0, np.diagonal(upper, axis1=-2, axis2=-1))[..., np.newaxis]
        moved = times(upper.swapaxes(-1, -2), rng.standard_normal(shape))
        return np.asarray(self.solved.common_solution.reshape(shape) + scale * moved)

    def own_squares(self) -> Array | None:
        """The squared widths of the own parts, (…, arms); None where there are none."""
        if self.own is None:
            return None
        # Row by row: products of matrices round by the place of a row, and arms that know the same have the same score.
        model, root = self.model, self.solved.own_spread.root
        wide = dot(root.reshape(*model.lead, model.arms, model.own, model.own), self.own[..., np.newaxis, :])
        return dot(wide, wide)

    def squares(self) -> Array:
        """The squared widths of the whole scores, (…, arms)."""
        total, model = self.own_squares(), self.model
        if self.arms is not None:
            wide = self._applied(self.solved.common_spread.root.reshape(*model.lead, model.common, model.common))
            rest = dot(wide, wide)
            total = rest if total is None else total + rest
        return np.asarray(total)

    def growth(self) -> Array:
        """``ln(det V/λ^d)`` of the blocks that a score goes by, (…, arms) or (…, 1)."""
        model, own, common = self.model, None, None
        if self.own is not None:
            own = self.solved.own_spread.growth.reshape(*model.lead, model.arms)
        if self.arms is not None:
            common = self.solved.common_spread.growth.reshape(*model.lead, 1)
        if own is None or common is None:
            return np.asarray(common if own is None else own)
        return np.asarray(own.sum(axis=-1, keepdims=True) + common)

    def _applied(self, matrix: Array) -> Array:
        """``M v`` for the common features v of every arm and M (…, k, q): (…, arms, k)."""
        same = self.situation.shape[-1]
        wide: Array = np.matmul(self.arms, matrix[..., same:].swapaxes(-1, -2))
        if same:
            wide += times(matrix[..., :same], self.situation)[..., np.newaxis, :]
        return wide


def taken(array: Block, *axes: Any) -> Block:
    """An array with other columns on its last axes; where a place is −1 they are 0."""
    if array is None:
        return None
    for axis, places in enumerate(reversed(axes), start=1):
        padded = np.pad(array, [(0, int(at == array.ndim - axis)) for at in range(array.ndim)])
        array = padded.take(places, axis=-axis)
    return array


@lru_cache(maxsize=64)
def linear_model(model: str, ridge: float, lead: Shape, arms: int, columns: tuple[int, int]) -> LinearModel:
    """The model, see `LinearModel`; kept, as every decision asks for it."""
    return LinearModel(model, ridge, lead, arms, columns)


def _flat(array: Any, kept: int) -> Array:
    """The array with the axes before the last ones on one axis: a view, as the arrays of a state are contiguous."""
    flat: Array = array.reshape(-1, *array.shape[-kept:])
    return flat


class _Runs:
    """Places of which some are there several times: an order in which they stand together, and where each begins."""

    def __init__(self, places: NDArray[np.intp]) -> None:
        self.order = np.argsort(places, kind="stable")
        ordered = places[self.order]
        self.first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        self.sizes = np.diff(np.append(self.first, len(places)))
        self.places = ordered[self.first]


def _increase(target: Array, at: At, left: Array, right: Array) -> None:
    """Add ``vwᵀ`` at some places, one after another where a place is there several times."""
    if isinstance(at, _Runs):
        _increase_in_order(target, at, left[at.order], right[at.order])
        return
    product = left[..., np.newaxis] * right[..., np.newaxis, :]
    if isinstance(at, np.ndarray):
        target[at] += product
    else:
        one = target[at]
        one += product


def _increase_in_order(target: Array, runs: _Runs, left: Array, right: Array) -> None:
    """Add ``vwᵀ`` place by place, those of each place in their order."""
    size = target[0].size
    step = max(AT_ONCE // size, 1)
    terms = np.empty((step + 1, *target.shape[1:]))
    for place, first, number in zip(runs.places, runs.first, runs.sizes, strict=True):
        for start in range(first, first + number, step):
            some = slice(start, min(start + step, first + number))
            used = terms[: some.stop - start + 1]
            used[0] = target[place]
            np.multiply(left[some, :, np.newaxis], right[some, np.newaxis], out=used[1:])
            target[place] = used.sum(axis=0) if size >= WIDE else np.add.accumulate(used)[-1]


def turns_of(lanes: NDArray[np.intp]) -> NDArray[np.intp]:
    """How often each lane stands before its place, (n,)."""
    if len(lanes) == 1:
        return np.zeros(1, dtype=np.intp)
    runs, turns = _Runs(lanes), np.empty(len(lanes), dtype=np.intp)
    turns[runs.order] = np.arange(len(lanes)) - np.repeat(runs.first, runs.sizes)
    return turns
