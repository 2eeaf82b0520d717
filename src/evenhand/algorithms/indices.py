"""The indexes of the algorithms, under evidence that is chosen by name or given as a part."""

from __future__ import annotations

from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.parts import kinds
from evenhand.policy.doubt import MatureBeta
from evenhand.policy.evidence import EvidenceLike
from evenhand.policy.index import UCB, BetaSample, Index, Mean
from evenhand.policy.prior import UNIFORM, PriorLike


def beta_under(evidence: EvidenceLike, prior: PriorLike = UNIFORM) -> Index:
    """Thompson sampling under some evidence, from a prior.

    ``"both"`` is the mean of an optimistic and a pessimistic draw, ``"mature"`` the same from old pulls.
    """
    if isinstance(evidence, str) and evidence == "both":
        return Mean(BetaSample("optimistic", prior), BetaSample("pessimistic", prior))
    if isinstance(evidence, str) and evidence == "mature":
        return MatureBeta(prior)
    if isinstance(evidence, str) and evidence not in kinds("evidence"):
        raise EvenhandError(f"unknown kind {evidence!r}{nearest(evidence, (*kinds('evidence'), 'both'))}", "evidence")
    return BetaSample(evidence, prior)


def ucb_under(exploration: float, evidence: EvidenceLike, clip: bool = False) -> Index:
    """The upper confidence bound under some evidence."""
    return UCB(exploration, clip, evidence)
