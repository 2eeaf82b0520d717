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
from tests.thinned import thinned

HOME = str(Path(evenhand.__file__).parent)
ROUNDS, COUNTED = 300, 9  # rounds beforehand, after which histories end an interval in every second round; then counted

#: By algorithm, calls for a decision, and for its reward.
MOST = {
    "ars_clw": (72, 24),
    "ars_exp3": (20, 23),
    "ars_exp3_doubling": (60, 29),
    "ars_fucb": (18, 21),
    "ars_ucb": (14, 21),
    "bandit_q": (32, 23),
    "clw": (58, 24),
    "cucb_d": (16, 17),
    "d_ts": (20, 22),
    "d_ucb": (23, 21),
    "eta_fucb": (30, 17),
    "exp3": (40, 22),
    "explore_then_commit": (21, 17),
    "f_tas": (32, 23),
    "f_tas_merit": (30, 23),
    "f_tas_tracking": (35, 23),
    "f_ts": (25, 19),
    "fair_glr": (30, 27),
    "fair_learn": (24, 17),
    "fair_random": (27, 17),
    "fairx_ts": (25, 19),
    "fairx_ucb": (29, 17),
    "fcts_d": (31, 19),
    "fcucb_d": (35, 17),
    "fgreedy_d": (69, 22),
    "floor_ts": (37, 27),
    "fucb": (24, 17),
    "glr_klucb": (27, 27),
    "kl_ucb": (19, 17),
    "group_ts": (50, 22),
    "group_ucb": (44, 17),
    "hard_threshold_ucb": (31, 17),
    "ldf": (28, 17),
    "lfg": (34, 17),
    "m_fcts_d": (33, 23),
    "m_fcucb_d": (35, 23),
    "mp_ts_d": (17, 19),
    "naive": (29, 17),
    "odaaf": (18, 21),
    "op_fcts_d": (41, 22),
    "op_fcucb_d": (38, 17),
    "opse": (38, 17),
    "q_fcts_d": (43, 28),
    "q_fcucb_d": (38, 26),
    "soft_threshold_ucb": (31, 17),
    "sw_ucb": (23, 21),
    "t_fucb": (26, 17),
    "thompson": (27, 22),
    "tscsf_b": (29, 19),
    "ucb": (23, 17),
    "ucb1": (16, 17),
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
        counted = round > ROUNDS and round % 2
        decision, calls = calls_of(bandit.decide) if counted else (bandit.decide(), 0)
        earned = {arm: float((round * len(arm)) % 3 == 0) for arm in decision.names}
        observe = partial(bandit.observe, decision.id, earned)
        _, others = calls_of(observe) if counted else (observe(), 0)
        if counted:
            decisions.append(calls)
            rewards.append(others)
    return statistics.median_low(decisions), statistics.median_low(rewards)


@pytest.mark.parametrize("name", thinned(PARAMETERS, [*PARAMETERS][::3].__contains__))
def test_a_decision_and_its_reward_take_no_more_calls(name: str) -> None:
    decision, reward = count(bandit_of(name))
    most = MOST[name]
    assert decision <= most[0], f"a decision of {name} calls {decision} functions, at most {most[0]} before"
    assert reward <= most[1], f"a reward of {name} calls {reward} functions, at most {most[1]} before"
