"""What a step of every algorithm costs: deciding a round of ten arms and learning from its reward, in NumPy.

Those that go by features get ten of the situation.

``python docs/_ext/step_costs.py`` measures it anew and keeps it, as multiples of UCB1's; some ten seconds.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import Feedback, Observation
from evenhand.algorithms.registry import ALGORITHMS, SAMPLE, Algorithm
from evenhand.core.cohorts import Answers
from evenhand.core.state import ALL_AVAILABLE

KEPT = Path(__file__).parents[1] / "_static" / "figures" / "algorithms" / "steps.json"
ARMS, STEPS, COLUMNS = 10, 400, 10


def seconds(entry: Algorithm) -> float:
    """Processor time of a step, the best of three runs."""
    needed = [name for name, one in entry.parameters.items() if one.default is one.empty]
    values: dict[str, Any] = {**SAMPLE, "fractions": [0.05] * ARMS, "rates": [0.02] * ARMS, "horizon": 10_000}
    policy = entry.build(**{name: values[name] for name in needed})
    best = float("inf")
    for _ in range(3):
        columns = (COLUMNS, 0) if policy.contextual else None
        rng, state = np.random.default_rng(1), policy.start(ARMS, columns=columns)
        began = time.process_time()
        for _ in range(STEPS):
            seen = Observation(situation=rng.random(COLUMNS)) if columns else ALL_AVAILABLE
            played = policy.decide(state, seen, rng).played
            policy.observe(state, heard(seen, played, rng), rng)
        best = min(best, (time.process_time() - began) / STEPS)
    return best


def heard(seen: Observation, played: Any, rng: np.random.Generator) -> Feedback:
    """The reward of a round, with the features of its play where there are some."""
    rewards = played * (rng.random(ARMS) < 0.5)
    if seen.situation is None:
        return Feedback(received=played, rewards=rewards)
    places = np.flatnonzero(played)
    answers = Answers(places, np.zeros(1, dtype=np.int64), rewards[places].astype(float), seen.situation[np.newaxis])
    return Feedback(played, rewards, answers)


def main() -> None:
    """Measure and keep."""
    found = {name: seconds(entry) for name, entry in ALGORITHMS.items()}
    costs = {name: round(one / found["ucb1"], 1) for name, one in found.items()}
    kept = {"microseconds of UCB1": round(found["ucb1"] * 1e6), "times UCB1": costs}
    KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
