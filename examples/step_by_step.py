"""One decision at a time, as in production: ask who plays, report what came of it, and survive a restart.

The policy is the one that simulations use. What it remembers is a state apart from it, which saves to plain JSON
together with the random generator; restored, it goes on exactly as if nothing had happened.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from evenhand import Feedback, Observation, Policy, State, dump, restore
from evenhand.algorithms import f_ts

ARMS = ("search", "news", "partner")
PROMISED = (0.0, 0.2, 0.1)
CLICKS = (0.30, 0.20, 0.10)  # unknown to the policy


def main(folder: Annotated[Path | None, typer.Argument(help="Where the state is saved.")] = None) -> None:
    """Show ads for a while, save the state, and go on from the file."""
    folder = folder or Path(tempfile.mkdtemp(prefix="evenhand-"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "state.json"

    policy = f_ts(PROMISED)
    state, rng = policy.start(arms=len(ARMS)), np.random.default_rng(1)
    visitors = np.random.default_rng(2)
    for _ in range(500):
        show(policy, state, rng, visitors)
    save(path, state, rng)
    print(f"saved after {state.round} visitors to {path}")

    again, rng_again = load(path, policy)
    same_visitors = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(500):
        here = show(policy, state, rng, same_visitors[0])
        there = show(policy, again, rng_again, same_visitors[1])
        assert here == there, "the restored policy decides differently"
    print("restored, it decided for the next 500 exactly as the one that was never interrupted\n")

    print(f"{'ad':<8} {'shown':>6} {'owed':>6} {'clicks':>7}")
    for name, share, shown, clicks in zip(ARMS, PROMISED, again.tally.pulls, again.tally.rewards, strict=True):
        print(f"{name:<8} {shown:>6.0f} {share * again.round:>6.0f} {clicks:>7.0f}")


def show(policy: Policy, state: State, rng: np.random.Generator, visitors: np.random.Generator) -> str:
    """One visitor: decide, show the ad, report the click."""
    awake = visitors.random(len(ARMS)) < (1.0, 1.0, 0.8)  # the partner's budget is used up now and then
    decision = policy.decide(state, Observation(awake), rng)
    clicked = (visitors.random(len(ARMS)) < CLICKS) & decision.played
    policy.observe(state, Feedback(received=decision.played, rewards=clicked), rng)
    return ARMS[int(decision.played.argmax())]


def save(path: Path, state: State, rng: np.random.Generator) -> None:
    """Write down all that the next decision depends on."""
    path.write_text(json.dumps({"state": dump(state), "rng": rng.bit_generator.state}), encoding="utf-8")


def load(path: Path, policy: Policy) -> tuple[State, np.random.Generator]:
    """What `save` wrote; a fresh state of the same policy says what it must look like."""
    saved = json.loads(path.read_text(encoding="utf-8"))
    rng = np.random.default_rng()
    rng.bit_generator.state = saved["rng"]
    return restore(policy.start(arms=len(ARMS)), saved["state"]), rng


if __name__ == "__main__":
    typer.run(main)
