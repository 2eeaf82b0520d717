"""``exp(x)`` for x ≤ 0 with the same digits on every machine, for arrays and, compiled, for one number.

NumPy's `exp` and that of the C library differ in the last bit, and either from one processor to the next. This one
adds and multiplies, in a fixed order, what stands in two tables: with ``n = ⌊1/2 − 4096 x⌋`` and ``r = x + n/4096``,
which is exact and at most 2⁻¹³, ``e^x = e^−⌊n/4096⌋ · e^−(n mod 4096)/4096 · (1 + r + r²/2 + r³/6)``. The rest of the
series is below 10⁻¹⁷; at most 2.4 units in the last place were off in 300,000 numbers.

Measured: the time of each number in an array of 10,000 and in a compiled loop, and the error in units in the last place
for numbers down to −250:

==========================  ========  ==========  =====
function                    NumPy     compiled    error
==========================  ========  ==========  =====
this                        10 ns     1.1 ns      2.4
``numpy.exp``               0.8 ns    differs     0.7
``scipy.special.exp2``      19 ns     by address  190
``scipy.special.expm1``     11 ns     by address  all
==========================  ========  ==========  =====

Ten numbers take some 7 µs; a decision of EXP3 with 10 arms and its feedback takes a quarter longer than with NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

FINE = 4096  # steps in which a table goes from 0 to 1
SHIFT, MASK = 12, FINE - 1
STEP, SIXTH = 1.0 / FINE, 1.0 / 6.0
LEAST = -746.0  # from which on ``exp`` is 0


def powers(parts: int, number: int, bits: int) -> list[float]:
    """``e^(−j/parts)`` for j = 0, 1, …, rounded once each: in whole numbers, of which one is 2 to the power of bits."""
    one = 1 << bits
    base, term, place = one, one, 1
    while term:
        term = term // (parts * place)
        base += term if place % 2 == 0 else -term
        place += 1
    found, power = [], one
    for _ in range(number):
        found.append(power / one)
        power = power * base >> bits
    return found


def formula(whole: Any, fine: Any, integer: Any, larger: Any) -> Callable[[Any], Any]:
    """``e^x`` by tables, of arrays or of one number, which are at most 0; NaN gives 0."""

    def exp(x):  # type: ignore[no-untyped-def]
        """``e^x`` for x ≤ 0."""
        x = larger(LEAST, x)
        number = integer(0.5 - x * FINE)
        rest = x + number * STEP
        near = whole[number >> SHIFT] * fine[number & MASK]
        return near + near * (rest + rest * rest * (0.5 + rest * SIXTH))

    return exp


#: ``e^−j``, and ``e^(−j/FINE)``.
TABLES = np.array(powers(1, 747, 1300)), np.array(powers(FINE, FINE, 128))
exp = formula(*TABLES, np.int64, np.fmax)
