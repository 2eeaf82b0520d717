"""What an arm is owed, counted in fractions from the rules in the documentation alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

BILLION = 10**9


@dataclass
class Account:
    """What one arm is owed, over all rounds or in a segment of them."""

    share: Fraction = Fraction(0)
    owed: Fraction = Fraction(0)  # when the promise began, or while it rests
    since: int = 0
    plays: int = 0
    due: Fraction = Fraction(0)
    paid: int = 0
    forgiven: Fraction = Fraction(0)
    capped: Fraction = Fraction(0)
    lapsed: Fraction = Fraction(0)
    lasting: int = 1  # the largest advance that outlasts a change

    def running(self, round: int) -> Fraction:
        return Fraction(billionths(self.share * (round - self.since)), BILLION) if self.share else Fraction(0)

    def behind(self, round: int) -> Fraction:
        return self.owed + self.running(round) - (self.plays if self.share else 0)

    def change(
        self, share: float, round: int, debt: str = "carry", limit: float = 0.0, ahead: Fraction = Fraction(0)
    ) -> None:
        behind = self.behind(round)
        self.due += self.running(round)
        self.paid += self.plays if self.share else 0
        # the ledger counts in billionths of a play
        kept = max(behind, Fraction(-billionths(ahead + (0 if debt == "forgive" else self.lasting)), BILLION))
        self.lapsed += kept - behind
        limits = {"forgive": Fraction(0), "cap": Fraction(limit)}
        carried = min(kept, limits.get(debt, kept))
        self.forgiven += kept - carried if debt == "forgive" else 0
        self.capped += kept - carried if debt == "cap" else 0
        self.share, self.owed, self.since, self.plays = Fraction(share), carried, round, 0


def billionths(number: Fraction) -> int:
    return round(number * BILLION)
