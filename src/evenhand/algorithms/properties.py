"""What an algorithm promises, and which rewards it is made for: by its parts, so that one's own are known, too."""

from __future__ import annotations

from evenhand.algorithms.registry import Algorithm

#: What can be promised, in the order of lists.
PROMISES = {
    "share": "A minimum share of the rounds to each arm",
    "merit": "A share in proportion to merit to each arm",
    "group": "Shares to groups of arms, and caps",
    "reward": "A reward per round to each arm",
    "none": "No promise",
}
#: What rewards can be like that an algorithm is made for.
FEEDBACK = {
    "delayed": "rewards that arrive late",
    "dependent": "delays that depend on the reward",
    "anonymous": "sums that name no arm",
    "changing": "means that change",
}
#: Papers about rewards that arrive late.
LATE = ("chen2024", "lancewicki2021")
#: Baselines that a paper about late rewards compares with.
LATE_TOO = ("cucb_d", "mp_ts_d", "fgreedy_d")
#: Algorithms whose intervals allow for any reward that is missing.
ANY_DELAY = ("op_fcucb_d", "op_fcts_d", "m_fcucb_d", "m_fcts_d", "q_fcucb_d", "q_fcts_d", "opse")


def promise_of(entry: Algorithm) -> str:
    """What an algorithm promises, a key of `PROMISES`; by the parameter that says how much.

    Example:
        >>> from evenhand.algorithms import find
        >>> [promise_of(find(name)) for name in ("fucb", "fcts_d", "group_ts", "thompson")]
        ['share', 'merit', 'group', 'none']
    """
    parameters = entry.parameters
    for name, promise in (("groups", "group"), ("merit", "merit"), ("rates", "reward"), ("fractions", "share")):
        if name in parameters:
            return promise
    return "none"


def feedback_of(entry: Algorithm) -> tuple[str, ...]:
    """The kinds of feedback that an algorithm is made for, keys of `FEEDBACK`; empty: immediate rewards.

    Any policy runs with any feedback, and learns from what arrives.

    Example:
        >>> from evenhand.algorithms import find
        >>> [feedback_of(find(name)) for name in ("fcts_d", "op_fcts_d", "ars_ucb", "d_ts")]
        [('delayed',), ('delayed', 'dependent'), ('anonymous',), ('dependent', 'changing')]
    """
    late = entry.name in LATE_TOO or (entry.paper is not None and entry.paper.key in LATE) or entry.name in ANY_DELAY
    found = {
        "delayed": late,
        "dependent": entry.name in ANY_DELAY or "evidence" in entry.parameters,
        "anonymous": entry.build.__module__.endswith(".anonymous") and entry.name not in ("ucb", "exp3"),
        "changing": entry.build.__module__.endswith(".drift") and entry.name != "kl_ucb",
    }
    return tuple(kind for kind in FEEDBACK if found[kind])
