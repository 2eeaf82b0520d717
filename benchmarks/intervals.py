"""How often the intervals of an audit miss the truth, at the end and at any time, beside Wilson's.

Many bandits with three arms each are watched after every round. The 95% intervals of mean rewards and of shares should
miss in at most five of 100 runs per arm, also if a run counts as soon as one interval in its whole course misses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np
import typer

from evenhand import Environment, Policy
from evenhand.algorithms import thompson, ucb1
from evenhand.core.state import Array, Mask
from evenhand.environment.delays import Custom, Geometric
from evenhand.environment.feedback import FeedbackModel, Immediate
from evenhand.inference.sequences import mean_interval, mean_rewards
from evenhand.policy.fairness import GuaranteedShares
from evenhand.policy.index import UCB
from evenhand.policy.selection import Categorical
from evenhand.rewards import Bernoulli
from report import AsJson, Table, Write, names_of, publish

MEANS = (0.3, 0.5, 0.55)
BEGIN = 30  # the first round after which Wilson's intervals count; the others count from the first
Runs = Annotated[int, typer.Option(min=2, help="How many bandits of each kind.")]
Rounds = Annotated[int, typer.Option(min=BEGIN, help="How long each is watched.")]
KINDS = ("Wilson", "reward", "share")
SQUARE = NormalDist().inv_cdf(0.975) ** 2


@dataclass(frozen=True)
class Case:
    """A policy, and when its rewards arrive."""

    policy: Policy
    feedback: FeedbackModel


def successes_only(level: Array, arm: Any, reward: Array) -> Array:
    """Successes arrive at once, and nothing else ever does."""
    return np.where(reward > 0.0, 0.0, np.inf)


def cases() -> Mapping[str, Case]:
    """What is watched, by label."""
    shares = Policy(UCB(), GuaranteedShares([0.2] * len(MEANS), rest="best"), Categorical())
    return {
        "Thompson sampling": Case(thompson(), Immediate()),
        "UCB1": Case(ucb1(), Immediate()),
        "guaranteed shares, delays": Case(shares, Geometric(0.02)),
        "Thompson sampling, delays": Case(thompson(), Geometric(0.02)),
        "UCB1, successes only": Case(ucb1(), Custom(successes_only)),
    }


def wilson(sums: Array, count: Array) -> tuple[Array, Array]:
    """Wilson's intervals, which hold for a sample of fixed size that is looked at once."""
    count = np.where(count > 0.0, count, np.nan)
    centre = (sums + SQUARE / 2.0) / (count + SQUARE)
    reach = np.sqrt(SQUARE * (sums * (count - sums) / count + SQUARE / 4.0)) / (count + SQUARE)
    return centre - reach, centre + reach


def course(case: Case, runs: int, rounds: int, seed: int) -> Iterator[tuple[Array, ...]]:
    """After every round, each (runs, arms): plays, received rewards, their sums, and sums of the inclusions so far."""
    world_seed, policy_seed = np.random.SeedSequence(seed).spawn(2)
    world = Environment(Bernoulli(MEANS), feedback=case.feedback).start(rounds, runs, world_seed)
    state, rng = case.policy.start(len(MEANS), runs), np.random.default_rng(policy_seed)
    plays, received, sums, inclusions = np.zeros((4, runs, len(MEANS)))
    for _ in range(rounds):
        decision = case.policy.decide(state, world.observe(), rng)
        feedback = world.step(decision).feedback
        case.policy.observe(state, feedback, rng)
        plays, inclusions = plays + decision.played, inclusions + decision.inclusion
        received, sums = received + feedback.received, sums + feedback.rewards
        yield plays, received, sums, inclusions


def misses(case: Case, runs: int, rounds: int, seed: int) -> dict[str, tuple[Mask, Mask]]:
    """For each kind of interval, whether it missed at the end and ever, both (runs, arms)."""
    ever = {kind: np.zeros((runs, len(MEANS)), dtype=bool) for kind in ("wilson", "rewards", "shares")}
    for round, (plays, received, sums, inclusions) in enumerate(course(case, runs, rounds, seed), start=1):
        now = {
            "wilson": outside(wilson(sums, received), np.asarray(MEANS)),
            "rewards": outside(mean_rewards(plays, received, sums, (0.0, 1.0)), np.asarray(MEANS)),
            "shares": outside(mean_interval(plays, plays, np.full_like(plays, round)), inclusions / round),
        }
        for kind, missed in now.items():
            if kind != "wilson" or round > BEGIN:
                ever[kind] |= missed
    return {kind: (now[kind], ever[kind]) for kind in ever}


def outside(ends: tuple[Array, Array], truth: Array) -> Mask:
    """Where the truth is not in the interval, to the rounding of sums; never where there is no interval."""
    low, high = ends
    return (truth < low - 1e-12) | (truth > high + 1e-12)


def per_arm(missed: Mask) -> str:
    """The share of the runs that missed: the arm with the fewest, and the one with the most."""
    shares = 100.0 * missed.mean(axis=0)
    return f"{shares.min():.1f} to {shares.max():.1f}"


def main(runs: Runs = 1000, rounds: Rounds = 2000, as_json: AsJson = False, write: Write = False) -> None:
    """Watch many bandits and print how often each kind of interval misses."""
    rows, figures = [], {}
    for place, (label, case) in enumerate(cases().items()):
        found = misses(case, runs, rounds, seed=place)
        figures[label] = {
            kind: {"end": end.mean(axis=0).tolist(), "ever": ever.mean(axis=0).tolist()}
            for kind, (end, ever) in found.items()
        }
        rows.append([label, *(per_arm(missed) for kind in found.values() for missed in kind)])
    columns = ["runs that miss, %", *(f"{kind}, {when}" for kind in KINDS for when in ("end", "ever"))]
    publish(
        [Table("intervals", f"{runs} runs of {rounds:,} rounds", columns, rows)],
        {"misses": figures},
        packages=("evenhand", "numpy"),
        method=f"{runs:,} runs of {rounds:,} rounds; the arm with the fewest misses, and the one with the most",
        code=names_of(mean_interval, mean_rewards),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
