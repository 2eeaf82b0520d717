"""What arguments mean that methods of a bandit and of the clients share; their docstrings are completed from here."""

from __future__ import annotations

SHARED = {
    "available": "names of the arms that can play; None for all that are not retired.",
    "features": "of the situation, by name; None where none are declared.",
    "arms": """features of arms in this round, by arm and name, such as ``{"tea": {"price": 2.5}}``; they go before
        those that an arm has.""",
    "control": "the arm or group with which all others are compared; None for all pairs.",
    "of": """``"arms"``, or ``"groups"`` for the groups that are promised shares, each the mean of its arms that are not
        retired.""",
    "month": """a calendar month (UTC) such as ``"2026-11"``, whose rewards alone count; the last 13 are known. None for
        all rounds.""",
    "assume": """what to assume of rewards that are not known; None for the worst: that a reward depends on whether and
        when it arrives. ``"lost independently"``: it does not, nor on its arm. ``"the window is over"``, with
        ``missing="zero"``: those that are awaited, or came late, are 0.""",
    "confidence": "with which all intervals hold, above 0 and below 1.",
    "delta": "δ in (0, 1), the probability with which the answer may be wrong at any time.",
    "epsilon": """in your unit of reward; one may stop when no other arm is better by more. With 0 and two equal best
        arms that never comes, so look at ``epsilon_now``.""",
    "best": """how many best arms are to be known; ``"promises"`` for those that the best shares under the promises give
        more than their minimum; None for as many as play in a round.""",
}
