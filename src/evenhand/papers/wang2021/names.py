"""What the configurations of Wang et al. 2021 and their policies are called."""

from __future__ import annotations

REGRET = "composite_regret"
CHOICE = "ARS-UCB, k², α = 4"  # the paper's
ALPHAS = tuple(f"ARS-UCB, k², α = {alpha}" for alpha in (1, 2, 8))
SIZES = tuple(f"ARS-UCB, {size}, α = 4" for size in ("k", "k³", "2^k"))
OTHERS = (*ALPHAS, *SIZES)
UCB, UCB1 = "UCB, no rounds, α = 4", "UCB1 on the sums"
MEAN_TOLD, BOUND_TOLD, COMPOSITE = "ODAAF, mean delay", "ODAAF, mean and largest delay", "ODAAF, composite"

#: What a spread is called.
SPREADS = {
    "w2-10-30": "delay of 10 to 30",
    "w2-0-60": "delay of 0 to 60",
    "w3-bounded-30-40": "equal parts, 30 to 40",
    "w3-bounded-10-20": "equal parts, 10 to 20",
    "w3-decreasing-100": "decreasing over 100",
    "w3-decreasing-50": "decreasing over 50",
    "w3-increasing-100": "increasing over 100",
    "w3-increasing-50": "increasing over 50",
    "w4-discounted-08": "discounted, γ = 0.8",
    "w4-discounted-09": "discounted, γ = 0.9",
    "w4-polynomial-3": "polynomial, γ = 3",
    "w4-polynomial-2": "polynomial, γ = 2",
}
W2, W3, W4 = (tuple(part for part in SPREADS if part.startswith(figure)) for figure in ("w2", "w3", "w4"))

ARS, CLW, GAINS, EXP3 = "ARS-EXP3", "CLW", "CLW, gains", "EXP3"
WRONG = ("CLW, d too small", "CLW, d too large")
#: What a case of W-5 is called.
CASES = {
    f"w5-{kind}-{arms}-{delay}": f"{words}, {arms} arms, d = {delay}"
    for arms in (7, 2)
    for kind, words in {"nonoblivious": "non-oblivious", "oblivious": "oblivious"}.items()
    for delay in (10, 20)
}
MADE_UP = {
    "w5-synthetic-nonoblivious-10": "non-oblivious, made-up log, d = 10",
    "w5-synthetic-oblivious-10": "oblivious, made-up log, d = 10",
}
NAMES = SPREADS | CASES | MADE_UP
KEPT_BACK, OBLIVIOUS = (tuple(part for part in CASES if kind in part) for kind in ("-nonoblivious", "-oblivious"))
