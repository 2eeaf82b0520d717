"""The indexes of the algorithms, under evidence that is chosen by name."""

from __future__ import annotations

from evenhand import validate
from evenhand.evidence import Evidence, Optimistic, Pessimistic, Received
from evenhand.index import UCB, BetaSample, Index, Mean

EVIDENCE: dict[str, Evidence] = {"received": Received(), "optimistic": Optimistic(), "pessimistic": Pessimistic()}


def beta_under(evidence: str) -> Index:
    """Thompson sampling under the named evidence; ``"both"`` is the mean of an optimistic and a pessimistic draw."""
    if evidence == "both":
        return Mean(BetaSample(Optimistic()), BetaSample(Pessimistic()))
    validate.one_of("evidence", evidence, (*EVIDENCE, "both"))
    return BetaSample(EVIDENCE[evidence])


def ucb_under(exploration: float, evidence: str, clip: bool = False) -> Index:
    """The upper confidence bound under the named evidence."""
    validate.one_of("evidence", evidence, tuple(EVIDENCE))
    return UCB(exploration, clip, EVIDENCE[evidence])
