"""What an algorithm promises, and which rewards it is made for: by its parts, so that one's own are known, too."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand.algorithms.registry import Algorithm
from evenhand.core.state import Observation
from evenhand.policy.composition import Policy

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
LATE = ("chen2024", "lancewicki2021", "vernade2020")
#: Baselines that a paper about late rewards compares with.
LATE_TOO = ("cucb_d", "mp_ts_d", "fgreedy_d")
#: Algorithms whose intervals allow for any reward that is missing.
ANY_DELAY = ("op_fcucb_d", "op_fcts_d", "m_fcucb_d", "m_fcts_d", "q_fcucb_d", "q_fcts_d", "opse")


def promise_of(entry: Algorithm) -> str:
    """What an algorithm promises, a key of `PROMISES`; by the parameter that says how much."""
    parameters = entry.parameters
    for name, promise in (("groups", "group"), ("merit", "merit"), ("rates", "reward"), ("fractions", "share")):
        if name in parameters:
            return promise
    return "none"


def feedback_of(entry: Algorithm) -> dict[str, dict[str, str]]:
    """The kinds of feedback that an algorithm is made for, keys of `FEEDBACK`, each with the parameters that it needs.

    Empty: immediate rewards. Any policy runs with any feedback, and learns from what arrives.
    """
    late = entry.name in LATE_TOO or (entry.paper is not None and entry.paper.key in LATE) or entry.name in ANY_DELAY
    kinds: dict[str, dict[str, str] | None] = {
        "delayed": {} if late else None,
        "dependent": {} if entry.name in ANY_DELAY else _right_of_missing(entry),
        "anonymous": {}
        if entry.build.__module__.endswith(".anonymous") and entry.name not in ("ucb", "exp3")
        else None,
        "changing": {} if entry.build.__module__.endswith(".drift") and entry.name != "kl_ucb" else None,
    }
    return {kind: parameters for kind, parameters in kinds.items() if parameters is not None}


def plays_several(entry: Algorithm) -> bool:
    """Whether several arms can play in a round, and its promise is meant also where arms are absent."""
    return "plays" in entry.parameters


def decides_by_numbers(policy: Policy, arms: int = 2) -> bool:
    """Whether no draw decides, or the probability of each decision is known exactly."""
    columns = (1, 1) if policy.contextual else None
    seen = Observation(None, np.zeros((1, 1)), np.zeros((1, arms, 1))) if policy.contextual else Observation()
    decision = policy.choose(policy.start(arms, 1, columns=columns), seen, np.random.default_rng(0))
    return decision.propensities is not None


def needing(parameters: Mapping[str, str]) -> str:
    """Parameters as they are given to an algorithm, ``name=value``."""
    return ", ".join(f"{name}={value}" for name, value in parameters.items())


def _right_of_missing(entry: Algorithm) -> dict[str, str] | None:
    """Parameters with which no mean is below the truth, however delays depend on rewards; None where there are none.

    The default of ``evidence`` is the mean of what has arrived, which such delays bias. Tests for changes (``scope``)
    take missing rewards that count as 1 for changes: GLR-klUCB earned 0.563 per round so, and 0.565 by default.
    """
    return {"evidence": "optimistic"} if "evidence" in entry.parameters and "scope" not in entry.parameters else None
