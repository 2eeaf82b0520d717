"""Whether mean rewards of arms can be compared: the one place where that is decided."""

from __future__ import annotations

NO_FLOOR = "not comparable: no floor"
#: What is said in place of a comparison of arms that were chosen by the features of their rounds.
WHY = (
    f"the rewards of arms are {NO_FLOOR}, as each was chosen by the features of its rounds, and nothing says with "
    "which chance; an exploration_floor mends it"
)
#: The premise where some rounds have no weights, as a clause after "if".
ALIKE = "the rounds whose chances are known are like the others"


def fault(contextual: bool, weighted: float) -> str:
    """Why arms cannot be compared by their rewards, as a clause; empty where they can.

    Arms of a policy without features meet the same rounds, but for chance and time, so that their own means serve. One
    with features gives every arm the rounds that suit it: a bad arm may have the larger mean of its own rewards. There
    only rewards that are weighted by ``1/p`` serve, over rounds in which each arm had a known chance p above 0.
    """
    return WHY if contextual and not weighted else ""
