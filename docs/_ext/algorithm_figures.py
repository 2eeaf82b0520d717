"""One small figure for each algorithm, and the row of measured numbers that compares it with others of its kind.

All algorithms of a group play in the same world: ``python docs/_ext/algorithm_figures.py FOLDER``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from attrs import Factory, frozen
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from algorithm_pages import group_of
from evenhand import Environment, Policy, compare
from evenhand.algorithms.drift import discount_for, window_for
from evenhand.algorithms.registry import ALGORITHMS, Algorithm
from evenhand.delays import ByReward, Geometric
from evenhand.environment.contexts import Normal
from evenhand.environment.contextual import Linear
from evenhand.environment.drift import Piecewise
from evenhand.environment.rewards import Bernoulli
from evenhand.feedback import Bounded
from evenhand.policy.merit import Power
from evenhand.simulation.figures.style import COLOURS, DASHES, STYLE
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.results import Results

FOUR = [0.8, 0.6, 0.5, 0.4]
SHARES = [0.15] * 4
MERIT = Power(beta=3.0, exponent=2.0)
#: Arms that pay have their zeros at once and their ones late, the others the reverse.
BIASED = ByReward([[0, 300], [0, 300], [300, 0], [300, 0]], named=True)


@frozen
class Trial:
    """A world in which a group of algorithms is shown, and the measure that it is about."""

    world: Environment
    measure: str
    words: str
    horizon: int = 2000
    parameters: dict[str, Any] = Factory(dict)
    lanes: int = 40
    arms: list[str] = Factory(lambda: [f"mean {mean}" for mean in FOUR])


PROMISED = {"fractions": SHARES, "penalties": 0.5, "eta": 10.0, "pulls": 50, "rates": [0.08] * 4}
OWN = {"eta_fucb": {"eta": 0.05}}
TRIALS = {
    "baselines": Trial(Environment(Bernoulli(FOUR)), "regret", "four arms with means 0.8, 0.6, 0.5 and 0.4"),
    "minimum": Trial(
        Environment(Bernoulli(FOUR), fractions=SHARES),
        "r_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, each promised 15% of the rounds",
    ),
    "identification": Trial(
        Environment(Bernoulli(FOUR), fractions=SHARES),
        "r_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, each promised 15% of the rounds (by merit: half of them, 1 + 3μ²)",
    ),
    "merit": Trial(
        Environment(Bernoulli(FOUR), feedback=Geometric(0.05), merit=MERIT),
        "fairness_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, merit 1 + 3μ², rewards 20 rounds late on average",
    ),
    "mature": Trial(
        Environment(Bernoulli(FOUR), feedback=BIASED, merit=MERIT),
        "fairness_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, merit 1 + 3μ², the ones of the two best arms and the zeros of "
        "the others 300 rounds late",
    ),
    "promises": Trial(
        Environment(Bernoulli(FOUR)),
        "regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, each promised 15% of the rounds (BanditQ: a reward of 0.08)",
    ),
    "anonymous": Trial(
        Environment(Bernoulli(FOUR), feedback=Bounded(10, 31)),
        "composite_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, each reward spread over the rounds 10 to 30 after the play",
        10_000,
        {"max_delay": 31.0, "rule": "composite", "delay": 31},
    ),
    "drift": Trial(
        Environment(Piecewise([FOUR, FOUR[::-1]], starts=[1, 2001])),
        "dynamic_regret",
        "four arms with means 0.8, 0.6, 0.5 and 0.4, reversed after half of the rounds",
        4000,
        {"discount": discount_for(4000, 1), "window": window_for(4000, 1)},
    ),
    "contextual": Trial(
        Environment(
            Linear([[0.5, 0.15, 0.0], [0.5, -0.15, 0.0], [0.5, 0.0, 0.2], [0.55, 0.0, 0.0]], noise="coins"),
            contexts=Normal(2),
        ),
        "regret",
        "four arms whose chance of a reward is linear in two features of the situation, 0.5 + 0.15x, 0.5 − 0.15x, "
        "0.5 + 0.2y and 0.55",
        arms=["0.5 + 0.15x", "0.5 − 0.15x", "0.5 + 0.2y", "0.55"],
    ),
}
TRIALS["contextual_fair"] = TRIALS["contextual"]


def main(folder: Path) -> None:
    """Draw every algorithm into the folder ``algorithms``, and write ``measured.json`` there."""
    place = folder / "algorithms"
    place.mkdir(parents=True, exist_ok=True)
    measured: dict[str, Any] = {}
    for group, trial in TRIALS.items():
        entries = [entry for entry in ALGORITHMS.values() if group_of(entry) == group]
        results = compare(
            {entry.name: policy_of(entry, trial) for entry in entries},
            trial.world,
            trial.horizon,
            trial.lanes,
            seed=1,
            checkpoints=50,
            progress=False,
        )
        for entry in entries:
            with mpl.rc_context({**STYLE, "font.size": 9}):
                drawn(entry.name, results, trial).savefig(place / f"{entry.name}.svg", metadata={"Date": None})
            measured[entry.name] = row_of(entry.name, results, trial)
    (place / "measured.json").write_text(json.dumps(measured, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def policy_of(entry: Algorithm, trial: Trial) -> Policy:
    """The algorithm with the values of the trial for the parameters that need one."""
    values = {**PROMISED, **OWN.get(entry.name, {}), "merit": MERIT, "horizon": trial.horizon, **trial.parameters}
    needed = [name for name, one in entry.parameters.items() if one.default is one.empty or name in trial.parameters]
    if entry.name.startswith("group_"):
        needed.append("fractions")
    return entry.build(**{name: values[name] for name in needed})


def row_of(name: str, results: Results, trial: Trial) -> dict[str, Any]:
    """What is shown of one algorithm in the table that compares it."""
    record = results.policies[name]
    last, pulls = record.curves[trial.measure][-1], record.pulls[-1]
    row = {
        "measure": trial.measure,
        "world": trial.words,
        "rounds": trial.horizon,
        "lanes": trial.lanes,
        "mean": float(np.round(last.mean(), 1)),
        "error": float(np.round(last.std(ddof=1) / np.sqrt(len(last)), 1)),
        "shares": np.round(pulls.mean(axis=0) / trial.horizon, 3).tolist(),
    }
    if "max_violation" in record.curves:
        row["missing"] = float(np.round(record.curves["max_violation"][-1].mean(), 1))
    return row


def drawn(name: str, results: Results, trial: Trial) -> Figure:
    """Shares of the rounds so far beside the measure of the group, the others of the group in grey."""
    figure = Figure(figsize=(7.4, 2.7), layout="constrained")
    left, right = figure.subplots(1, 2)
    shares(left, name, results)
    axis = MEASURES[trial.measure].measure.axis
    for label, record in results.policies.items():
        mean = record.curves[trial.measure].mean(axis=1)
        own = label == name
        colour, width = (COLOURS[0], 2.0) if own else ("#9a9a9a", 0.8)
        right.plot(results.rounds, mean, color=colour, linewidth=width, zorder=3 if own else 2, label=label)
    right.set_ylabel(axis)
    own = results.policies[name].curves[trial.measure].mean(axis=1)
    every = [record.curves[trial.measure].mean(axis=1)[-1] for record in results.policies.values()]
    top = min(max(every), max(4 * float(np.median(every)), 2.5 * float(own.max()), 1.0))
    right.set_ylim(top=1.05 * top)
    for axes in (left, right):
        axes.set_xlabel("round")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlim(0, trial.horizon)
    right.yaxis.set_major_formatter("{x:,.0f}")
    handles = [left.lines[arm] for arm in range(len(FOUR))]
    figure.legend(handles, trial.arms, loc="outside lower left", ncols=4, handlelength=1.4)
    figure.legend(
        [line for line in right.lines if line.get_label() == name], [name], loc="outside lower right", handlelength=1.4
    )
    return figure


def shares(axes: Axes, name: str, results: Results) -> None:
    """The arms' shares of the rounds so far, and what they are promised."""
    pulls = results.policies[name].pulls.mean(axis=1) / results.rounds[:, None]
    for arm, colour in zip(range(pulls.shape[1]), COLOURS, strict=False):
        axes.plot(results.rounds, pulls[:, arm], color=colour, linestyle=DASHES[arm], linewidth=1.6)
    promised = results.promised[name]
    if promised is not None:
        levels = np.atleast_2d(promised).mean(axis=0)
        for level, colour in zip(levels, COLOURS, strict=False):
            axes.plot([0, results.rounds[-1]], [level] * 2, color=colour, linewidth=0.8, linestyle=(0, (2, 3)))
    axes.set_ylim(0.0, 1.0)
    axes.set_ylabel("share of the rounds")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
