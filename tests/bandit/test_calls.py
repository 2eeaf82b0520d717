"""How many functions of the package a decision and a reward call: these numbers may fall, and do not rise.

They are what a decision costs where arms are few, and they are the same on every machine. Comprehensions are left out,
which are functions in Python 3.11 and not in 3.12, and what decorators generate.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import evenhand
from evenhand.bandit import Bandit
from tests.bandit.test_bandit import PARAMETERS, bandit_of

HOME = str(Path(evenhand.__file__).parent)
ROUNDS, COUNTED = 300, 9  # rounds beforehand, after which histories end an interval in every second round; then counted

#: By algorithm, calls for a decision, and for its reward.
MOST = {
    "ars_clw": (74, 26),
    "ars_exp3": (22, 25),
    "ars_exp3_doubling": (62, 31),
    "ars_fucb": (20, 23),
    "ars_ucb": (16, 23),
    "bandit_q": (33, 25),
    "clw": (60, 26),
    "cucb_d": (23, 19),
    "d_ts": (25, 24),
    "d_ucb": (25, 23),
    "eta_fucb": (32, 19),
    "exp3": (41, 24),
    "explore_then_commit": (23, 19),
    "f_tas": (33, 25),
    "f_tas_merit": (31, 25),
    "f_tas_tracking": (37, 25),
    "f_ts": (29, 21),
    "fair_glr": (34, 29),
    "fair_learn": (30, 19),
    "fair_random": (28, 19),
    "fairx_ts": (27, 21),
    "fairx_ucb": (30, 19),
    "fcts_d": (33, 21),
    "fcucb_d": (36, 19),
    "fgreedy_d": (70, 24),
    "floor_ts": (38, 29),
    "fucb": (30, 19),
    "glr_klucb": (30, 29),
    "kl_ucb": (25, 19),
    "group_ts": (52, 24),
    "group_ucb": (46, 19),
    "hard_threshold_ucb": (33, 19),
    "ldf": (30, 19),
    "lfg": (35, 19),
    "m_fcts_d": (35, 25),
    "m_fcucb_d": (36, 25),
    "mp_ts_d": (22, 21),
    "naive": (31, 19),
    "odaaf": (20, 23),
    "op_fcts_d": (43, 24),
    "op_fcucb_d": (39, 19),
    "opse": (40, 19),
    "q_fcts_d": (45, 30),
    "q_fcucb_d": (39, 28),
    "soft_threshold_ucb": (33, 19),
    "sw_ucb": (25, 23),
    "t_fucb": (28, 19),
    "thompson": (32, 24),
    "tscsf_b": (30, 21),
    "ucb": (25, 19),
    "ucb1": (23, 19),
}


def calls_of(function: Callable[[], Any]) -> tuple[Any, int]:
    """What a function returns, and how many functions of the package were called for it."""
    calls = 0

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        code = frame.f_code
        calls += event == "call" and code.co_filename.startswith(HOME) and not code.co_name.startswith("<")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        return function(), calls
    finally:
        sys.setprofile(before)


def count(bandit: Bandit) -> tuple[int, int]:
    """Calls for a decision and for its rewards, as they usually are."""
    decisions, rewards = [], []
    for round in range(1, ROUNDS + 2 * COUNTED + 1):
        decision, calls = calls_of(bandit.decide)
        earned = {arm: float((round * len(arm)) % 3 == 0) for arm in decision.names}
        _, others = calls_of(partial(bandit.observe, decision.id, earned))
        if round > ROUNDS and round % 2:
            decisions.append(calls)
            rewards.append(others)
    return statistics.median_low(decisions), statistics.median_low(rewards)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_decision_and_its_reward_take_no_more_calls(name: str) -> None:
    decision, reward = count(bandit_of(name))
    most = MOST[name]
    assert decision <= most[0], f"a decision of {name} calls {decision} functions, at most {most[0]} before"
    assert reward <= most[1], f"a reward of {name} calls {reward} functions, at most {most[1]} before"
