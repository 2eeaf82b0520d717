"""Every algorithm plays as it was recorded: a digest of 300 rounds in 3 lanes, in five worlds or six, or by features.

The digests were recorded with the version before the parts were redesigned (commit ebc7985), except those of ``clw``
with losses, of ``odaaf`` with bounded delays and of ``m_fcucb_d``, whose rules were corrected afterwards, those with
dependent rounding, whose shares are added in the order of the arms since, and whose coin no longer hangs on the last
digit of a sum, and those of algorithms that came later. ``python tools/traces.py`` records what is missing.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import compare
from evenhand.algorithms.registry import ALGORITHMS
from evenhand.studies.configuration import parse
from tests.thinned import thinned

RECORDED: dict[str, str] = json.loads(Path(__file__).with_name("trace.json").read_text(encoding="utf-8"))
ROUNDS, LANES = 300, 3
SHARES = [0.1, 0.2, 0.05, 0.15]
MERIT = {"kind": "power", "beta": 2.0, "exponent": 4.0}
REWARDS = {"kind": "bernoulli", "means": [0.8, 0.55, 0.4, 0.3]}
WORLDS: dict[str, dict[str, Any]] = {
    "base": {"rewards": REWARDS},
    "sleep": {
        "rewards": REWARDS,
        "availability": {"kind": "independent", "probabilities": [0.9, 0.8, 0.7, 0.95]},
    },
    "late": {"rewards": REWARDS, "feedback": {"kind": "geometric", "success": 0.2, "named": True}},
    "beta": {"rewards": {"kind": "beta", "means": [0.8, 0.55, 0.4, 0.3]}},
    "spread": {"rewards": REWARDS, "feedback": {"kind": "spread", "profile": "bounded", "start": 2, "stop": 6}},
    "changing": {
        "rewards": {
            "kind": "piecewise",
            "pieces": [[0.8, 0.55, 0.4, 0.3], [0.1, 0.3, 0.95, 0.2]],
            "starts": [1, 121],
        }
    },
    "features": {
        "contexts": {"kind": "normal", "situation": 2, "arms": [[0.5], [0.2], [0.0], [-0.3]]},
        "rewards": {
            "kind": "linear",
            "coefficients": [[0.5, 0.15, 0.0], [0.5, -0.15, 0.0], [0.5, 0.0, 0.2], [0.55, 0.0, 0.0]],
            "shared": [0.1],
        },
        "feedback": {"kind": "geometric", "success": 0.5, "named": True},
    },
}
#: What goes by the age of pulls does not play with anonymous sums.
BY_AGE = ("m_fcucb_d", "m_fcts_d", "q_fcucb_d", "q_fcts_d", "kl_ucb:mature")
#: The only algorithms that play in the changing world.
FORGETFUL = ("d_ucb", "sw_ucb", "d_ts", "glr_klucb", "fair_glr")
GROUPS = [
    {"name": "warm", "arms": [1, 3], "at_least": 0.5},
    {"name": "cold", "arms": [0, 2], "at_least": 0.1, "at_most": 0.9},
]
#: The only algorithms that play in the world with features, and in no other.
BY_FEATURES = ("lin_ucb", "otf_lin_ucb", "lin_ts", "logistic_ts", "fair_greedy", "ridge_fair", "fairx_lin_ts")
#: Parameters by algorithm, with a variant after the colon.
CASES: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("ucb1", "ucb", "thompson", "cucb_d", "mp_ts_d", "opse", "ars_ucb", "ars_exp3", "exp3")},
    **{name: {"fractions": SHARES} for name in ("fucb", "f_ts", "naive", "t_fucb", "fair_random", "ars_fucb")},
    **{name: {"merit": MERIT} for name in ("fcucb_d", "op_fcucb_d", "fcts_d", "op_fcts_d", "fgreedy_d")},
    **{name: {"merit": MERIT} for name in ("fairx_ucb", "fairx_ts")},
    **{name: {"merit": MERIT} for name in ("m_fcucb_d", "m_fcts_d", "q_fcucb_d", "q_fcts_d")},
    "kl_ucb": {},
    "glr_klucb": {},
    "d_ucb": {"discount": 0.95},
    "sw_ucb": {"window": 40},
    "d_ts": {"discount": 0.95},
    **{name: {"fractions": SHARES} for name in ("fair_glr", "ldf", "floor_ts", "f_tas", "f_tas_tracking")},
    "f_tas_merit": {"merit": MERIT},
    **{name: {"groups": GROUPS, "caps": [0.6, 0.6, 0.5, 0.8]} for name in ("group_ucb", "group_ts")},
    "bandit_q": {"rates": 0.05},
    "fair_learn": {"fractions": SHARES, "tolerance": 3.0},
    "eta_fucb": {"fractions": SHARES, "eta": 0.3},
    "explore_then_commit": {"pulls": 20},
    "lfg": {"fractions": SHARES, "eta": 3.0},
    "tscsf_b": {"fractions": SHARES, "eta": 3.0},
    "hard_threshold_ucb": {"fractions": SHARES, "penalties": 0.4},
    "soft_threshold_ucb": {"fractions": SHARES, "penalties": [0.4, 0.3, 0.2, 0.6]},
    "ars_clw": {"first_horizon": 50},
    "ars_exp3_doubling": {"first_horizon": 50},
    "clw": {"delay": 4, "style": "gain"},
    "odaaf": {"mean_delay": 3.0},
    "clw:loss": {"delay": 4},
    "odaaf:bounded": {"rule": "bounded", "mean_delay": 3.0, "max_delay": 5.0},
    "odaaf:composite": {"rule": "composite", "max_delay": 5.0},
    "lfg:exact": {"fractions": SHARES, "eta": 3.0, "queue": "exact", "ties": "first"},
    "tscsf_b:inf": {"fractions": SHARES, "eta": math.inf, "weights": [1, 2, 1, 0.5]},
    "fcucb_d:free": {"merit": MERIT, "free_start": True, "radius": "code"},
    "eta_fucb:ignored": {"fractions": SHARES, "eta": 0.3, "surplus": "ignored"},
    "f_ts:both": {"fractions": SHARES, "evidence": "both"},
    "kl_ucb:mature": {"evidence": "mature"},
    "glr_klucb:all": {"exploration_share": 0.2, "scope": "all"},
    "floor_ts:clip": {"fractions": SHARES, "rule": "clip"},
    **{name: {} for name in BY_FEATURES},
    "fairx_lin_ts": {"merit": MERIT},
    "lin_ucb:hybrid": {"model": "hybrid", "radius": "theorem"},
    "lin_ts:shared": {"model": "shared", "discount": 0.95},
}


def recorded(case: str) -> list[str]:
    """The records of an algorithm: one for each world and number of plays."""
    return [key for key in RECORDED if key.rsplit("/", 2)[0] == case]


#: A record of each algorithm, so that every world and number of plays has its turn.
IN_TURN = {recorded(case)[place % len(recorded(case))] for place, case in enumerate(CASES) if recorded(case)}


def digest(case: str, world: str, plays: int) -> str:
    """What an algorithm plays in a world, as a digest."""
    name = case.partition(":")[0]
    policy = {"algorithm": name, **CASES[case]}
    setup = parse(
        {"horizon": ROUNDS, "lanes": LANES, "plays": plays, "environment": WORLDS[world], "policies": [policy]}
    )
    results = compare(
        setup.policies, setup.environment, ROUNDS, LANES, seed=7, checkpoints=ROUNDS, metrics=[], progress=False
    )
    played = np.diff(results.policies[name].pulls, axis=0, prepend=0)
    return hashlib.sha256((played @ (1 << np.arange(4))).astype(np.int64).tobytes()).hexdigest()[:16]


def test_every_algorithm_is_recorded() -> None:
    assert {case.partition(":")[0] for case in CASES} == set(ALGORITHMS)
    assert {key.rsplit("/", 2)[0] for key in RECORDED} == set(CASES), "python tools/traces.py records what is missing"


@pytest.mark.parametrize("key", thinned(RECORDED, IN_TURN.__contains__))
def test_plays_as_recorded(key: str) -> None:
    case, world, plays = key.rsplit("/", 2)
    assert digest(case, world, int(plays)) == RECORDED[key]
