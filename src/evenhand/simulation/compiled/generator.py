"""PCG64 and NumPy's draws from it, compiled: the same numbers, with the generator's state in registers.

PCG64 is a linear congruence on 128 bits, of which numbers are made by a permutation (O'Neill 2014, PCG-XSL-RR). So n
steps are one multiplication and one addition, with factors that `jumps` works out, and a number far ahead costs as
much as the next one. Draws return the number and the two halves of the generator's state. Whether they are NumPy's is
tried on each machine (`evenhand.simulation.compiled.trusted`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numba.np.random import _constants as tables
from numpy.typing import NDArray

Words = NDArray[np.uint64]
FACTOR = 0x2360ED051FC65DA44385DF649FCCF645  # of a step
ALL, LOW, WORD = (1 << 128) - 1, (1 << 64) - 1, (1 << 32) - 1
U = np.uint64
FACTOR_HIGH, FACTOR_LOW = U(FACTOR >> 64), U(FACTOR & LOW)
HALF, SPARE = U(WORD), U(1 << 32)
UNIT = 1.0 / 9007199254740992.0  # 2⁻⁵³, by which 53 bits are a number in [0, 1)

WIDTHS, EDGES, HEIGHTS = tables.wi_double, tables.ki_double, tables.fi_double  # the layers of a normal density
LAYERS, CORNERS, LEVELS = tables.we_double, tables.ke_double, tables.fe_double  # of an exponential one
TAIL, TAIL_SCALE, LAST = tables.ziggurat_nor_r, tables.ziggurat_nor_inv_r, tables.ziggurat_exp_r

#: Without counting references: to read an array from a tuple would cost more than the arithmetic. So nothing is
#: allocated in compiled code.
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
#: What every round calls is put into the loop where it stands: to pass the records of the loop to a function takes some
#: 0.6 µs, which a single lane feels (TSCSF-B of 50,000 rounds: 53 ms, and 22 with `wake` in the loop). LLVM does it:
#: Numba's own inlining takes twice as long to compile.
compiled, called = njit(forceinline=True, **OPTIONS), njit(**OPTIONS)


def lasting(function: Callable[..., Any]) -> Any:
    """A compiled function that is kept for other processes."""
    try:
        return njit(function, cache=True, **OPTIONS)
    except RuntimeError:  # no folder to keep it in can be written
        return njit(function, **OPTIONS)


def halves(number: int) -> list[int]:
    """A number of 128 bits as two of 64, the upper one first."""
    return [number >> 64, number & LOW]


def words_of(generator: np.random.Generator) -> Words:
    """The state of a PCG64 and its increment, each in two halves, and the spare 32 bits (`half`), (5,)."""
    state: Any = generator.bit_generator.state
    inner, spare = state["state"], state["has_uint32"] << 32 | state["uinteger"]
    return np.array([*halves(inner["state"]), *halves(inner["inc"]), spare], dtype=np.uint64)


def put_back(generator: np.random.Generator, words: list[int]) -> None:
    """Let a generator go on from its words."""
    high, low, *_, spare = words
    state: Any = generator.bit_generator.state
    inner = state["state"] | {"state": high << 64 | low}
    generator.bit_generator.state = state | {"state": inner, "has_uint32": spare >> 32, "uinteger": spare & WORD}


def jumps(increment: int, steps: Iterable[int]) -> NDArray[np.uint64]:
    """(steps, 4), by what a state is multiplied and what is added in so many steps, each in two halves.

    Example:
        >>> generator = np.random.PCG64(1)
        >>> state, increment = generator.state["state"]["state"], generator.state["state"]["inc"]
        >>> high, low, more, less = map(int, jumps(increment, [3])[0])
        >>> ahead = (state * (high << 64 | low) + (more << 64 | less)) & ALL
        >>> ahead == generator.advance(3).state["state"]["state"]
        True
    """
    powers = [_jump(number) for number in steps]
    return np.array([halves(factor) + halves(terms * increment & ALL) for factor, terms in powers], dtype=np.uint64)


@cache
def _jump(number: int) -> tuple[int, int]:
    """By what so many steps multiply a state, and how many increments they add."""
    factor, terms, power, more = 1, 0, FACTOR, 1
    while number:
        if number & 1:
            factor, terms = factor * power & ALL, (terms * power + more) & ALL
        power, more = power * power & ALL, (power + 1) * more & ALL
        number >>= 1
    return factor, terms


def limits(chances: NDArray[np.float64]) -> NDArray[np.uint64]:
    """The 53 bits from which on a number in [0, 1) is not below a chance: ``x < p`` if and only if its bits are fewer.

    A number is k 2⁻⁵³, and ``k 2⁻⁵³ < p`` if and only if ``k < ⌈p 2⁵³⌉``: the product by a power of two is exact.
    """
    return np.ceil(np.asarray(chances) * 2.0**53).astype(np.uint64)


def _onward(context, high, low, factor_high, factor_low, term_high, term_low):  # type: ignore[no-untyped-def]
    """``state · factor + term`` on 128 bits, each in two halves."""
    pair: Any = types.UniTuple
    halved = pair(types.uint64, 2)(*[types.uint64] * 6)

    def generate(context, builder, signature, values):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)
        parts = [builder.zext(value, wide) for value in values]
        shift = ir.Constant(wide, 64)
        state, factor, term = (
            builder.or_(builder.shl(upper, shift), lower) for upper, lower in zip(parts[::2], parts[1::2], strict=True)
        )
        ahead = builder.add(builder.mul(state, factor), term)
        narrow = ir.IntType(64)
        both = [builder.trunc(builder.lshr(ahead, shift), narrow), builder.trunc(ahead, narrow)]
        return context.make_tuple(builder, signature.return_type, both)

    return halved, generate


onward: Any = intrinsic(_onward)


@compiled
def step(high, low, more, less):  # type: ignore[no-untyped-def]
    """The next state; the increment is the stream's."""
    return onward(high, low, FACTOR_HIGH, FACTOR_LOW, more, less)


@compiled
def leap(high, low, table, row):  # type: ignore[no-untyped-def]
    """The state some steps on, by a row of `jumps`."""
    return onward(high, low, table[row, 0], table[row, 1], table[row, 2], table[row, 3])


@compiled
def bits(high, low):  # type: ignore[no-untyped-def]
    """The 64 bits that a state gives."""
    folded, turn = high ^ low, high >> U(58)
    return (folded >> turn) | (folded << ((U(64) - turn) & U(63)))


@compiled
def uniform(high, low):  # type: ignore[no-untyped-def]
    """The number in [0, 1) that a state gives."""
    return float(bits(high, low) >> U(11)) * UNIT


@compiled
def half(high, low, more, less, spare):  # type: ignore[no-untyped-def]
    """32 bits: the lower ones of a number, or the upper ones that were spared of the last; marked while they are."""
    if spare & SPARE:
        return spare & HALF, high, low, spare & HALF
    high, low = step(high, low, more, less)
    drawn = bits(high, low)
    return drawn & HALF, high, low, (drawn >> U(32)) | SPARE


@compiled
def shuffle(order, lane, high, low, more, less, spare):  # type: ignore[no-untyped-def]
    """The numbers from 0 on in a random order, in a column of an array."""
    for place in range(order.shape[0]):
        order[place, lane] = place
    for place in range(order.shape[0] - 1, 0, -1):
        mask = U(place)
        for shift in (1, 2, 4, 8, 16):
            mask |= mask >> U(shift)
        drawn, high, low, spare = half(high, low, more, less, spare)
        while (drawn & mask) > U(place):
            drawn, high, low, spare = half(high, low, more, less, spare)
        other = int(drawn & mask)
        order[place, lane], order[other, lane] = order[other, lane], order[place, lane]
    return high, low, spare


@called
def slow_normal(drawn, layer, x, inside, high, low, more, less):  # type: ignore[no-untyped-def]
    """A normal draw whose first look at the layers failed."""
    while True:
        if layer == 0:
            while True:
                high, low = step(high, low, more, less)
                out = -TAIL_SCALE * np.log1p(-uniform(high, low))
                high, low = step(high, low, more, less)
                up = -np.log1p(-uniform(high, low))
                if up + up > out * out:
                    return (-(TAIL + out) if (inside >> U(8)) & U(1) else TAIL + out), high, low
        high, low = step(high, low, more, less)
        between = HEIGHTS[layer - U(1)] - HEIGHTS[layer]
        if between * uniform(high, low) + HEIGHTS[layer] < np.exp(-0.5 * x * x):
            return x, high, low
        high, low = step(high, low, more, less)
        drawn = bits(high, low)
        layer, x, inside = looked(drawn)
        if inside < EDGES[layer]:
            return x, high, low


@compiled
def looked(drawn):  # type: ignore[no-untyped-def]
    """The layer, the number and its place in the layer, which 64 bits choose."""
    layer = drawn & U(255)
    inside = (drawn >> U(9)) & U(0x000FFFFFFFFFFFFF)
    x = float(inside) * WIDTHS[layer]
    return layer, (-x if (drawn >> U(8)) & U(1) else x), inside


@compiled
def normal(high, low, more, less):  # type: ignore[no-untyped-def]
    """A standard normal draw, by layers."""
    high, low = step(high, low, more, less)
    drawn = bits(high, low)
    layer, x, inside = looked(drawn)
    if not inside < EDGES[layer]:
        x, high, low = slow_normal(drawn, layer, x, inside, high, low, more, less)
    return x, high, low


@called
def exponential(high, low, more, less):  # type: ignore[no-untyped-def]
    """A standard exponential draw, by layers."""
    while True:
        high, low = step(high, low, more, less)
        drawn = bits(high, low) >> U(3)
        layer, inside = drawn & U(255), drawn >> U(8)
        x = float(inside) * LAYERS[layer]
        if inside < CORNERS[layer]:
            return x, high, low
        high, low = step(high, low, more, less)
        chance = uniform(high, low)
        if layer == 0:
            return LAST - np.log1p(-chance), high, low
        if (LEVELS[layer - U(1)] - LEVELS[layer]) * chance + LEVELS[layer] < np.exp(-x):
            return x, high, low


@called
def small_gamma(shape, high, low, more, less):  # type: ignore[no-untyped-def]
    """A gamma draw with a shape of at most 1 (Ahrens & Dieter 1974)."""
    if shape == 1.0:
        return exponential(high, low, more, less)
    while True:
        high, low = step(high, low, more, less)
        chance = uniform(high, low)
        waited, high, low = exponential(high, low, more, less)
        if chance <= 1.0 - shape:
            x = chance ** (1.0 / shape)
            if x <= waited:
                return x, high, low
        else:
            y = -np.log((1.0 - chance) / shape)
            x = (1.0 - shape + shape * y) ** (1.0 / shape)
            if x <= waited + y:
                return x, high, low


@compiled
def large_gamma(b, c, high, low, more, less):  # type: ignore[no-untyped-def]
    """A gamma draw with a shape above 1, by its constants; see `constants` (Marsaglia & Tsang 2000)."""
    while True:
        while True:
            x, high, low = normal(high, low, more, less)
            v = 1.0 + c * x
            if v > 0.0:
                break
        v = v * v * v
        high, low = step(high, low, more, less)
        chance = uniform(high, low)
        if chance < 1.0 - 0.0331 * (x * x) * (x * x):
            break
        if np.log(chance) < 0.5 * x * x + b * (1.0 - v + np.log(v)):
            break
    return b * v, high, low


@compiled
def constants(shape):  # type: ignore[no-untyped-def]
    """What a gamma draw is made from: two constants above a shape of 1, else the shape itself, marked by −1."""
    if shape > 1.0:
        b = shape - 1.0 / 3.0
        return b, 1.0 / np.sqrt(9.0 * b)
    return shape, -1.0


@compiled
def gamma(b, c, high, low, more, less):  # type: ignore[no-untyped-def]
    """A gamma draw from its constants."""
    if c > 0.0:
        x, high, low = large_gamma(b, c, high, low, more, less)
    else:
        x, high, low = small_gamma(b, high, low, more, less)
    return x, high, low


@called
def small_beta(a, b, high, low, more, less):  # type: ignore[no-untyped-def]
    """A Beta draw with both shapes at most 1 (Jöhnk 1964)."""
    while True:
        high, low = step(high, low, more, less)
        first = uniform(high, low)
        high, low = step(high, low, more, less)
        second = uniform(high, low)
        x, y = first ** (1.0 / a), second ** (1.0 / b)
        if x + y <= 1.0 and first + second > 0.0:
            if x > 0.0 and y > 0.0:
                return x / (x + y), high, low
            log_x, log_y = np.log(first) / a, np.log(second) / b
            larger = max(log_x, log_y)
            log_x, log_y = log_x - larger, log_y - larger
            return np.exp(log_x - np.log(np.exp(log_x) + np.exp(log_y))), high, low


@compiled
def beta(won_b, won_c, lost_b, lost_c, high, low, more, less):  # type: ignore[no-untyped-def]
    """A Beta draw, from the constants of its two shapes."""
    if won_c < 0.0 and lost_c < 0.0:
        x, high, low = small_beta(won_b, lost_b, high, low, more, less)
    else:
        x, high, low = gamma(won_b, won_c, high, low, more, less)
        y, high, low = gamma(lost_b, lost_c, high, low, more, less)
        x = x / (x + y)
    return x, high, low
