"""The figures of the pages, kept in docs/_static/figures by kept.py: ``python docs/_ext/make_figures.py FOLDER``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve, frozen

import gallery
from evenhand import Environment, Observation, Policy, State, compare, figures, sweep
from evenhand.algorithms import ars_ucb, cucb_d, f_ts, fcts_d, fcucb_d, fucb, lfg, odaaf, thompson, tscsf_b, ucb1
from evenhand.delays import ByReward, Fixed, Geometric, PacketLoss, Pareto
from evenhand.environment.availability import Independent
from evenhand.environment.feedback import FeedbackModel
from evenhand.environment.rewards import Bernoulli
from evenhand.feedback import AnonymousFeedback, Bounded, Decreasing, Discounted, Increasing, Polynomial
from evenhand.policy.confidence import ConfidenceIntervals, optimistic_means
from evenhand.policy.index import Index
from evenhand.policy.merit import Power
from evenhand.simulation.figures.style import COLOURS, STYLE
from evenhand.simulation.measures import MEASURES
from evenhand.simulation.results import Results
from evenhand.studies.configuration import load
from evenhand.studies.figures import heatmap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EXAMPLES = Path(__file__).parents[2] / "examples"
THREE = Environment(Bernoulli([0.9, 0.5, 0.4]), fractions=[0.0, 0.02, 0.02])
SLEEPING = Environment(Bernoulli([0.4, 0.5, 0.7]), Independent([0.9, 0.8, 0.7]), fractions=[0.5, 0.6, 0.4])
# Orders of the letter are late, and so are refusals of the banner and the poster.
BIASED = Environment(
    Bernoulli([0.8, 0.5, 0.4]), feedback=ByReward([[0, 1000], [1000, 0], [1000, 0]]), fractions=[0.1, 0.2, 0.2]
)
SEVEN = [0.3, 0.5, 0.7, 0.9, 0.8, 0.6, 0.4]  # the means of Chen et al. 2024, section 6
HOTELS = Environment(
    Bernoulli([0.9, 0.7, 0.5, 0.3, 0.1]),
    feedback=Geometric(0.05),
    names=("Anchor", "Bell", "Crown", "Dove", "Eagle"),
    merit=Power(beta=2.0, exponent=2.0),
)


def main(folder: Path) -> None:
    """Draw every figure into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    promises(folder)
    bounds(folder)
    sleeping(folder)
    delays(folder)
    evidence(folder)
    late_rewards(folder)
    merit(folder)
    optimistic_share(folder)
    upper_ends(folder)
    profiles(folder)
    sums(folder)
    sweeps(folder)
    gallery.draw(folder)


def promises(folder: Path) -> None:
    """Shares against promises, and how far arms fall behind: the figures of the first notebook."""
    setup = load(EXAMPLES / "coffee.toml")
    results = compare(setup.policies, setup.environment, setup.horizon, setup.lanes, setup.seed, progress=False)
    figures.save(figures.fractions(results), folder / "shares")
    figures.save(figures.curves(results, "max_violation"), folder / "max_violation")


def bounds(folder: Path) -> None:
    """r-regret of FUCB under the bound of its theorem."""
    policies = {"FUCB": fucb(THREE.fractions), "UCB1": ucb1()}
    results = compare(policies, THREE, horizon=10_000, lanes=50, seed=7, spacing="log", progress=False)
    figures.save(with_bounds(results, policies, THREE, "r_regret", log="x"), folder / "bounds")


def sleeping(folder: Path) -> None:
    """Two plays per round, and arms that sleep: setting 1 of Huang et al. 2020."""
    shares = SLEEPING.fractions
    policies = {
        "TSCSF-B": tscsf_b(shares, eta=10.0, plays=2),
        "LFG": lfg(shares, eta=10.0, plays=2),
        "Thompson": thompson(plays=2),
    }
    results = compare(policies, SLEEPING, horizon=2000, lanes=50, progress=False)
    figures.save(figures.fractions(results), folder / "sleeping")


def delays(folder: Path) -> None:
    """How many rewards are known how many rounds after the play, for some delay models."""
    models: dict[str, FeedbackModel] = {
        "fixed, delay 30": Fixed(30),
        "geometric, success 0.05": Geometric(0.05),
        "pareto, tail 0.5": Pareto(0.5),
        "packet_loss, received 0.6": PacketLoss(0.6),
    }
    figures.save(figures.delays(models), folder / "delays")


def evidence(folder: Path) -> None:
    """What to believe of missing rewards, where delays depend on the rewards."""
    shares = BIASED.fractions
    policies = {
        "FUCB, received": fucb(shares),
        "FUCB, optimistic": fucb(shares, evidence="optimistic"),
        "F-TS, received": f_ts(shares),
        "F-TS, optimistic": f_ts(shares, evidence="optimistic"),
    }
    results = compare(policies, BIASED, horizon=4000, lanes=50, seed=1, progress=False)
    figures.save(figures.curves(results, "r_regret"), folder / "evidence")


def late_rewards(folder: Path) -> None:
    """What is known of one arm that plays in every round, in three worlds."""
    from evenhand.policy.doubt import MatureIntervals

    worlds = {
        "delays do not depend on rewards": Geometric(0.01, named=True),
        "ones are 1000 rounds late": ByReward([[0, 1000]], named=True),
        "half of the rewards are lost": PacketLoss(0.5, named=True),
    }
    all_plays = ConfidenceIntervals(1000.0, per_arm=False, lower="pessimistic", upper="optimistic")
    mature = MatureIntervals(1000.0)
    figure, panel = panels(3)
    for axes, (title, delay) in zip(panel, worlds.items(), strict=True):
        world = Environment(Bernoulli([0.7]), feedback=delay).start(4000, 1, np.random.SeedSequence(1))
        policy, rng = thompson(evidence="mature"), np.random.default_rng(1)
        state, seen = policy.start(1, 1), []
        for _ in range(4000):
            policy.observe(state, world.step(policy.decide(state, world.observe(), rng)).feedback, rng)
            mean = state.tally.rewards / np.maximum(state.tally.received, 1.0)
            seen.append(np.concatenate([mean, *all_plays.of(state), *mature.of(state)]).ravel())
        mean, low, high, best_low, best_high = np.array(seen)[::8].T
        rounds = np.arange(1, 4001, 8)
        axes.fill_between(rounds, low, high, color="#e9eef4", label="interval of all plays")
        axes.fill_between(rounds, best_low, best_high, color="#9db8d6", label="best interval over the ages")
        axes.plot(rounds, mean, color=COLOURS[1], linewidth=1.2, label="mean of what arrived")
        axes.axhline(0.7, color="black", linewidth=0.8, label="true mean")
        axes.set_title(f"{title}", fontsize=10)
        axes.set_xlabel("rounds")
        axes.set_ylim(0.0, 1.04)
    handles, labels = panel[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figures.save(figure, folder / "late_rewards")


def merit(folder: Path) -> None:
    """Shares against those that are fair by merit."""
    fair, horizon = HOTELS.merit, 3000
    policies = {
        "FCTS-D": fcts_d(fair, plays=2),
        "FCUCB-D": fcucb_d(fair, horizon=horizon, plays=2),
        "CUCB-D": cucb_d(plays=2),
    }
    results = compare(policies, HOTELS, horizon=horizon, lanes=50, seed=1, progress=False)
    figures.save(figures.fractions(results), folder / "merit")


def optimistic_share(folder: Path) -> None:
    """Where on its interval an arm's ``f(x)(x − λ)`` is largest, for a mild and a steep merit."""
    low, high = np.array([0.0, 0.1]), np.array([0.9, 0.4])
    figure, both = panels(2)
    for axes, beta in zip(both, (2.0, 50.0), strict=True):
        power = Power(beta, exponent=4.0)
        best = optimistic_means(power, low, high)
        level = float((power(best) * best).sum() / power(best).sum())
        axes.set_title(f"f(x) = 1 + {beta:g} x⁴, λ = {level:.2f}", fontsize=10)
        draw_gain(axes, power, level, float(low[1]), float(high[1]), float(best[1]))
    both[0].set_ylabel("f(x)(x − λ)")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    figures.save(figure, folder / "optimistic_share")


def draw_gain(axes: Axes, power: Power, level: float, low: float, high: float, best: float) -> None:
    """``f(x)(x − λ)``, an interval, and its best point."""

    def gain(x: Any) -> Any:
        return power(np.asarray(x)) * (x - level)

    x = np.linspace(0.0, 0.6, 400)
    axes.plot(x, gain(x), color=COLOURS[0], linewidth=1.6)
    axes.axvspan(low, high, color="#e9eef4", zorder=0, label="what the evidence allows")
    axes.plot(high, gain(high), "o", color=COLOURS[1], fillstyle="none", markersize=11, label="upper end")
    axes.plot(best, gain(best), "o", color="black", markersize=6, label="best point")
    axes.set_xlabel("mean of the poorer arm, x")


@frozen
class UpperEnds(Index):
    """The upper end of every interval, in place of the point where a fair policy would earn most."""

    confidence: ConfidenceIntervals

    def score(self, state: State, observation: Observation, rng: np.random.Generator) -> Any:
        """Upper ends, (…, arms)."""
        return self.confidence.of(state)[1]


def upper_ends(folder: Path) -> None:
    """What is lost by taking the upper ends where the merit is steep."""
    power, horizon = Power(beta=50.0, exponent=4.0), 2000
    exact = fcucb_d(power, horizon=horizon)
    policies = {"best point": exact, "upper ends": evolve(exact, index=UpperEnds(exact.index.confidence))}  # type: ignore[attr-defined]
    world = Environment(Bernoulli(SEVEN), feedback=Geometric(0.05), merit=power)
    results = compare(policies, world, horizon=horizon, lanes=20, seed=1, progress=False)
    figure, both = panels(2)
    for axes, measure in zip(both, ("reward_regret", "fairness_regret"), strict=True):
        for place, (label, record) in enumerate(results.policies.items()):
            mean = record.curves[measure].mean(axis=1)
            axes.plot(results.rounds, mean, color=COLOURS[place], linewidth=1.6, label=label)
        axes.set_xlabel("round")
        axes.set_ylabel(MEASURES[measure].measure.axis)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.yaxis.set_major_formatter("{x:,.0f}")
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figures.save(figure, folder / "upper_ends")


def profiles(folder: Path) -> None:
    """Which part of a reward arrives how many rounds after the play."""
    short: dict[str, AnonymousFeedback] = {
        "random, 10 to 30 (on average)": Bounded(10, 31),
        "bounded, 30 to 40": Bounded(30, 40),
        "decreasing, 50": Decreasing(50),
        "increasing, 50": Increasing(50),
    }
    endless: dict[str, AnonymousFeedback] = {"discounted, 0.9": Discounted(0.9), "polynomial, 2": Polynomial(2.0)}
    figure, both = panels(2)
    for place, (label, profile) in enumerate((short | endless).items()):
        axes, rounds = (both[0], 60) if label in short else (both[1], 1001)
        since, parts = np.arange(rounds), parts_of(profile, rounds)
        if label in short:
            axes.step(since, parts, where="mid", color=COLOURS[place], linewidth=1.6, label=label)
        else:
            axes.plot(since[1:], parts[1:], color=COLOURS[place], linewidth=1.6, label=label)
    both[0].set_ylim(bottom=0.0)
    both[0].set_ylabel("part of the reward that arrives")
    both[1].set_xscale("log")
    both[1].set_yscale("log")
    both[1].set_xlim(1, 1000)
    both[1].set_xticks([1, 10, 100, 1000], ["1", "10", "100", "1,000"])
    both[1].set_ylim(1e-7, 1.0)
    for axes in both:
        axes.set_xlabel("rounds since the play")
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    figures.save(figure, folder / "profiles")


def parts_of(profile: AnonymousFeedback, rounds: int) -> Any:
    """What arrives of a reward of 1 in the round of the play and in those after it."""
    flow, played = profile.flow(lanes=1, rounds=rounds), np.ones((1, 1), dtype=bool)
    return [flow.step(np.array([float(round == 0)]), played, None).item() for round in range(rounds)]


def sums(folder: Path) -> None:
    """Regret where rewards come back as one sum, with and without holding a choice."""
    world, horizon = Environment(Bernoulli([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), feedback=Decreasing(50)), 10_000
    policies = {
        "UCB1": ucb1(),
        "ARS-UCB": ars_ucb(),
        "ODAAF": odaaf(horizon=horizon, rule="composite", max_delay=50),
    }
    results = compare(policies, world, horizon=horizon, lanes=50, seed=1, progress=False)
    figures.save(figures.curves(results, "composite_regret"), folder / "sums")


def sweeps(folder: Path) -> None:
    """r-regret over η and how soon rewards arrive: the study of the page on sweeps."""
    config = {
        "horizon": 1000,
        "lanes": 50,
        "environment": {
            "rewards": {"kind": "bernoulli", "means": [0.9, 0.8, 0.7]},
            "fractions": [0.1, 0.2, 0.2],
            "feedback": {"kind": "geometric"},
        },
        "policies": [{"label": "LFG", "algorithm": "lfg"}, {"label": "UCB1", "algorithm": "ucb1"}],
    }
    axes = {"policies[0].eta": [1, 10, 100], "environment.feedback.success": [0.1, 1.0]}
    results = sweep(config, axes, progress=False)
    figures.save(heatmap(results, "r_regret"), folder / "sweep_heatmap")


def panels(number: int) -> tuple[Figure, list[Axes]]:
    """Axes side by side in the style of the other figures."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as NewFigure

    with mpl.rc_context(STYLE):
        figure = NewFigure(figsize=(8.6, 3.8 if number > 1 else 4.0), layout="constrained")
        return figure, list(figure.subplots(1, number, squeeze=False)[0])


def with_bounds(results: Results, policies: dict[str, Policy], world: Environment, measure: str, log: str) -> Figure:
    """Curves of a measure with the bounds that theorems give for it."""
    bounds = figures.bounds_of(policies, world, results.rounds)
    return figures.curves(results, measure, bounds=bounds.get(measure), log=log)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
