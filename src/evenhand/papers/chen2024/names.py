"""What the configurations of Chen et al. 2024, their policies and their measures are called."""

from __future__ import annotations

REWARD, FAIRNESS = MEASURES = ("reward_regret", "fairness_regret")
POLICIES = ("FCUCB-D", "FCTS-D", "OP-FCUCB-D", "OP-FCTS-D", "CUCB-D", "MP-TS-D", "FGreedy-D")
UCB, TS, OP_UCB, OP_TS, _, _, GREEDY = POLICIES
#: How the labels of policies with the radius of the paper's code end.
CODE = ", code's radius"
FAIR = (UCB, TS)
WARY = (OP_UCB, OP_TS)
GREEDIEST = ("CUCB-D", "MP-TS-D")  # all for the reward
OTHERS = (*GREEDIEST, GREEDY)
FAIR_CODE = (UCB + CODE, TS)
WARY_CODE = (OP_UCB + CODE, OP_TS)

#: The configurations of C-2a.
DELAYS = tuple(f"c2a-{delay:03}" for delay in range(0, 301, 50))
EXPONENTS = (2, 4, 6, 8)


def exponent_parts(figure: int) -> tuple[str, ...]:
    """The configurations of one of figures 4 to 8, an exponent of the merit each."""
    return tuple(f"c{figure}-{exponent}" for exponent in EXPONENTS)
