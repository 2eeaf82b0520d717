"""The experiments of Huang et al. 2020, section 6: minimum shares, several plays a round, sleeping arms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bounds import balancing_eta, lfg_regret, tscsf_b_regret
from evenhand.datasets import movielens
from evenhand.metrics import yardstick
from evenhand.papers import panels
from evenhand.papers.claims import above, at, below, lower, ratio, shares, sublinear, within
from evenhand.papers.experiment import Claim, Data, Experiment, Finding, Run, Runs, Size
from evenhand.records import Array
from evenhand.results import mean_and_error

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

REGRET = "time_averaged_regret"
TITLES = {"1": "η = 1", "10": "η = 10", "1000": "η = 1000", "63.55": "η = √(KT/(m ln T)) = 63.55", "inf": "η = ∞"}
#: What a policy is called in the figures, by the first part of its label.
NAMES = {
    "TSCSF-B": "TSCSF-B (exact queue)",
    "LFG": "LFG (recursive queue)",
    "LFG c=2": "LFG with c = 2 (ours)",
    "TSCSF-B recursive": "TSCSF-B, recursive queue (ours)",
    "LFG exact": "LFG, exact queue (ours)",
}
PAIR = ("TSCSF-B", "LFG")
FIRST, SECOND, BOUNDS, FILMS = "h1-h3", "h2-h4", "h5", "h6-h7"
BALANCED, FREE = ", balanced η", ", η = ∞"
ZOOM = 100  # rounds that the paper's insets show
SEEN = 0.01  # a share of the rounds that a bar chart still shows

ONE = (
    "Three Bernoulli arms with means 0.4, 0.5, 0.7, available with probabilities 0.9, 0.8, 0.7 and promised 0.5, 0.6, "
    "0.4 of the rounds; two plays a round, 20,000 rounds, 100 lanes; η = 1, 10, 1000 and ∞."
)
TWO = (
    "Six Bernoulli arms with means 0.52, 0.51, 0.49, 0.48, 0.7, 0.8, available with probabilities 0.7, 0.6, 0.7, 0.8, "
    "0.7, 0.6 and promised 0.4, 0.45, 0.3, 0.45, 0.3, 0.4 of the rounds; three plays a round, 20,000 rounds, 100 lanes."
)
RATED = (
    "Five films, two of them recommended to a user; the films that the user rated are available, the reward is the "
    "rating divided by 5; every film is promised 0.3 of the rounds; a user is a round."
)
AWAKE = "The paper does not say how availability is drawn; independently over arms and rounds is ours."
INDEX = (
    "The paper does not print LFG's index: it is min(mean + sqrt(c ln t/(2 N)), 1) with 3/2 under the root as in Li et "
    "al. 2019, ties going to any tied arm alike; “LFG with c = 2” has the 2 of Fang et al. 2022 in its place (ours)."
)
QUEUES = (
    "TSCSF-B counts owed plays exactly and remembers surpluses, LFG's recursive queue forgets them. Each is also run "
    "with the other's queue (ours), which tells the effect of the queue from that of the index."
)
EXPECTED = (
    "Regret is that of expected rewards against what Opt-F earns on average from the arms available in the round."
)
SATISFIED = "satisfied, as in definition (1): on average over the lanes no arm misses a whole play in the end"
FASTER = "faster: lower after 100 rounds, where the insets end, and after a tenth of all rounds"

Test = Callable[[Runs], Sequence[Finding]]


def _below_lfg(part: str, ends: Sequence[str], policy: str = "TSCSF-B", other: str = "LFG") -> Test:
    """Lower regret in the end, for every ending of the labels, which says η."""
    return lambda runs: [lower(runs[part], REGRET, policy + end, other + end) for end in ends]


def _faster(part: str, ends: Sequence[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run = runs[part]
        rounds = (float(ZOOM), float(run.results.rounds[-1]) / 10.0)
        return [lower(run, REGRET, PAIR[0] + end, PAIR[1] + end, round) for end in ends for round in rounds]

    return test


def _falls_with_eta(part: str, etas: Sequence[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        steps = [(f"{name} eta={larger}", f"{name} eta={less}") for name in PAIR for less, larger in pairwise(etas)]
        return [lower(runs[part], REGRET, larger, less) for larger, less in steps]

    return test


def _about_three_hundredths(runs: Runs) -> list[Finding]:
    run, found = runs[FIRST], []
    for name in PAIR:
        curve = run.results.records[f"{name} eta=1"].curves[REGRET][run.results.rounds >= ZOOM]
        lowest = curve[curve.mean(axis=1).argmin()]
        found.append(within(f"lowest time-averaged regret: {name} eta=1", lowest, 0.025, 0.035))
    return found


def _much_closer(runs: Runs) -> list[Finding]:
    found = []
    for name in PAIR:
        near, far = (at(runs[FIRST], f"{name} eta={eta}", REGRET) for eta in ("10", "1"))
        text = f"time-averaged regret: {name} eta=10, as a part of that with eta=1"
        found.append(_part(text, near, far, -0.5, 0.5))
    return found


def _negative_then_positive(runs: Runs) -> list[Finding]:
    run, found = runs[FIRST], []
    for name in PAIR:
        label = f"{name} eta=1000"
        found.append(below(f"time-averaged regret at round 2,000: {label}", at(run, label, REGRET, 2000), 0.0))
        found.append(above(f"time-averaged regret in the end: {label}", at(run, label, REGRET), 0.0))
    return found


def _converges_to_opt_nf(part: str) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run, found = runs[part], []
        for name in PAIR:
            label = f"{name} eta=inf"
            distance = at(run, label, "regret") / run.results.rounds[-1] / -opt_nf(run)
            text = f"distance from Opt-NF in the end, as a part of that between Opt-F and Opt-NF: {label}"
            found += [sublinear(run, label, "regret"), below(text, distance, 0.1)]
        return found

    return test


def _opt_nf_below_opt_f(part: str) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run = runs[part]
        curves = next(iter(run.results.records.values())).curves
        paths = (curves["r_regret"] - curves["regret"]) / run.results.rounds[:, np.newaxis]
        highest = int(paths.mean(axis=1).argmax())
        when = run.results.rounds[highest]
        return [below(f"time-averaged regret of Opt-NF where it is highest, at round {when:,}", paths[highest], 0.0)]

    return test


def _ignored(part: str) -> Test:
    def test(runs: Runs) -> list[Finding]:
        found = []
        for name in PAIR:
            label = f"{name} eta=inf"
            missing, arm = furthest_behind(runs[part], label)
            found.append(above(f"plays missing to {arm}, furthest behind: {label}", missing, 1.0, " play"))
        return found

    return test


def _queue_matters_more(part: str, ends: Sequence[str]) -> Test:
    def test(runs: Runs) -> list[Finding]:
        run, found = runs[part], []
        for end in ends:
            names = ("TSCSF-B", "TSCSF-B recursive", "LFG exact", "LFG")
            found.append(
                above(
                    f"time-averaged regret: effect of the queue less effect of the index,{end.removeprefix(',')}",
                    queue_over_index(*(at(run, name + end, REGRET) for name in names)),
                    0.0,
                )
            )
        return found

    return test


def queue_over_index(exact: Array, recursive: Array, other_exact: Array, other_recursive: Array) -> Array:
    """By how much more the queue changes a measure than the index does, (lanes,).

    The effect of the queue is the mean difference between recursive and exact over the two indices, the effect of the
    index that between the two indices over the queues; both without their sign.

    Args:
        exact: the measure (lanes,) of the first index with the exact queue.
        recursive: of the first index with the recursive queue.
        other_exact: of the other index with the exact queue.
        other_recursive: of the other index with the recursive queue.

    Example:
        >>> import numpy as np
        >>> queue_over_index(*(np.full(2, value) for value in (1.0, 5.0, 2.0, 6.0)))
        array([3., 3.])
    """
    queue = (recursive + other_recursive - exact - other_exact) / 2.0
    index = (other_exact + other_recursive - exact - recursive) / 2.0
    return np.asarray(queue * np.sign(queue.mean()) - index * np.sign(index.mean()))


def _wider_than_first(runs: Runs) -> list[Finding]:
    found = []
    for eta, other in (("63.55", "10"), ("inf", "inf")):
        wide, narrow = (
            at(runs[part], f"LFG eta={value}", REGRET) - at(runs[part], f"TSCSF-B eta={value}", REGRET)
            for part, value in ((SECOND, eta), (FIRST, other))
        )
        text = "time-averaged regret of LFG less TSCSF-B"
        found.append(above(f"{text}: second setting, eta={eta}, less first, eta={other}", wide - narrow, 0.0))
    return found


def furthest_behind(run: Run, label: str) -> tuple[Array, str]:
    """Plays missing in the end to the arm that misses most of them on average, (lanes,), and its name."""
    missing = _missing(run, label)
    arm = int(missing.mean(axis=0).argmax())
    return missing[:, arm], _arm(run, arm)


def _arm(run: Run, arm: int) -> str:
    name = run.results.names[arm]
    return f"arm {name}" if name.isdecimal() else name


def _missing(run: Run, label: str) -> Array:
    """Plays missing to each arm in the end, (lanes, arms)."""
    promised = np.asarray(run.results.promised[label])
    return np.asarray((promised - shares(run, label)) * run.results.rounds[-1])


def _satisfied(part: str, end: str, slack: float | None = None) -> Test:
    """No arm misses a whole play on average, or no more than a part of the rounds."""

    def test(runs: Runs) -> list[Finding]:
        found = []
        for name in PAIR:
            missing, arm = furthest_behind(runs[part], name + end)
            if slack is None:
                found.append(below(f"plays missing to {arm}, furthest behind: {name}{end}", missing, 1.0, " play"))
            else:
                share = missing / runs[part].results.rounds[-1]
                found.append(below(f"share missing to {arm}, furthest behind: {name}{end}", share, slack))
        return found

    return test


def _hardest(part: str, end: str, hard: Sequence[int]) -> Test:
    """Each of the hard arms, counted from 0, misses more than any other."""

    def test(runs: Runs) -> list[Finding]:
        found = []
        for name in PAIR:
            missing = _missing(runs[part], name + end)
            others = [arm for arm in range(missing.shape[1]) if arm not in hard]
            means = missing.mean(axis=0)
            least, most = min(hard, key=lambda arm: means[arm]), max(others, key=lambda arm: means[arm])
            pair = " less ".join(_arm(runs[part], arm) for arm in (least, most))
            text = f"plays missing: {pair}, {name}{end}"
            found.append(above(text, missing[:, least] - missing[:, most], 0.0, " plays"))
        return found

    return test


def settled(run: Run, label: str, slack: float = SEEN) -> Array:
    """The last checkpoint at which some arm misses more than a part of the rounds so far, (lanes,); 0 for none."""
    late = run.results.records[label].curves["violation"] > slack * run.results.rounds[:, np.newaxis]
    return np.asarray((late * run.results.rounds[:, np.newaxis]).max(axis=0), dtype=float)


def _later_with_eta(runs: Runs) -> list[Finding]:
    run, found = runs[FIRST], []
    for name in PAIR:
        for less, larger in pairwise(("1", "10", "1000", "inf")):
            gap = settled(run, f"{name} eta={less}") - settled(run, f"{name} eta={larger}")
            text = f"last round with more than 1 % missing: {name}, eta={less} less eta={larger}"
            found.append(below(text, gap, 0.0, " rounds"))
    return found


# --- bounds -----------------------------------------------------------------------------------------------------------

HORIZONS = {
    200: "8.69",
    500: "12.69",
    1000: "17.02",
    2000: "22.94",
    5000: "34.27",
    10_000: "46.6",
    20_000: "63.55",
}  # T → η = sqrt(K T/(m ln T))
BOUND_OF = {"TSCSF-B": tscsf_b_regret, "LFG": lfg_regret}
ETA = HORIZONS[20_000]


def _bound(run: Run, name: str, rounds: Any, eta: str = ETA) -> Array:
    policy = run.setup.policies[f"{name} eta={eta}"]
    return BOUND_OF[name](rounds, run.setup.environment.arms, policy.plays, float(eta))


def _rounds(run: Run) -> Array:
    """The checkpoints from round 2 on: at T = 1 the logarithm is 0."""
    return np.asarray(run.results.rounds[run.results.rounds >= 2], dtype=float)


def _horizons(run: Run) -> dict[int, str]:
    return {horizon: eta for horizon, eta in HORIZONS.items() if horizon <= run.results.rounds[-1]}


def _bounds_in_order(runs: Runs) -> list[Finding]:
    run = runs[BOUNDS]
    rounds = _rounds(run)
    fixed = _bound(run, "LFG", rounds) - _bound(run, "TSCSF-B", rounds)
    by_horizon = [
        _bound(run, "LFG", end, eta) - _bound(run, "TSCSF-B", end, eta) for end, eta in _horizons(run).items()
    ]
    return [
        _computed("least distance of LFG's bound from TSCSF-B's over T, η = 63.55", float(fixed.min())),
        _computed("least distance of LFG's bound from TSCSF-B's over T, η by T", float(np.min(by_horizon))),
    ]


def _computed(text: str, value: float) -> Finding:
    """A number without chance in it, which is to be above 0."""
    return Finding(text, value, value, value, 0, "above 0", value > 0.0)


def _far_below_its_bound(runs: Runs) -> list[Finding]:
    run = runs[BOUNDS]
    end = float(run.results.rounds[-1])
    part = at(run, f"TSCSF-B eta={ETA}", REGRET) / _bound(run, "TSCSF-B", end)
    return [below("time-averaged regret of TSCSF-B in the end, as a part of its bound", part, 0.1)]


def _bounds_hold(runs: Runs) -> list[Finding]:
    run, found = runs[BOUNDS], []
    rounds = _rounds(run)
    for name in PAIR:
        curve = run.results.records[f"{name} eta={ETA}"].curves[REGRET][-len(rounds) :]
        part = curve / _bound(run, name, rounds)[:, np.newaxis]
        worst = int(part.mean(axis=1).argmax())
        text = f"time-averaged regret as a part of the bound, where it is largest, at round {rounds[worst]:,.0f}"
        found.append(below(f"{text}: {name}, η = 63.55", part[worst], 1.0))
        for end, eta in _horizons(run).items():
            part_at = at(run, f"{name} eta={eta}", REGRET, end) / _bound(run, name, end, eta)
            found.append(below(f"time-averaged regret as a part of the bound: {name}, T = {end:,}", part_at, 1.0))
    return found


# --- films ------------------------------------------------------------------------------------------------------------


def distance_in_stars(run: Run, label: str, attribute: str) -> Array:
    """Mean distance over the films of the final ratings from the true ones, (lanes,); films never rated are left out.

    Args:
        run: on the films.
        label: of the policy.
        attribute: ``"worth"`` for the index in the end, ``"estimate"`` for the mean of the ratings received.
    """
    return np.asarray(np.nanmean(np.abs(_error(run, label, attribute)), axis=1))


def _error(run: Run, label: str, attribute: str) -> Array:
    rating = getattr(run.results.records[label], attribute)
    return np.asarray((rating - run.setup.environment.means) * movielens.STARS)


def _nearer(attribute: str, most: float = 1.0, other: str = "LFG") -> Test:
    def test(runs: Runs) -> list[Finding]:
        found = []
        for end in (BALANCED, FREE):
            label, rival = PAIR[0] + end, other + end
            near, far = (distance_in_stars(runs[FILMS], one, attribute) for one in (label, rival))
            text = f"mean distance from the true ratings: {label}, as a part of that of {rival}"
            found.append(_part(text, near, far, -np.inf, most))
        return found

    return test


def _too_high(runs: Runs) -> list[Finding]:
    run, found = runs[FILMS], []
    for end in (BALANCED, FREE):
        excess = _error(run, f"LFG{end}", "worth")
        film = int(excess.mean(axis=0).argmin())
        text = f"rating above the true one, least of all for {run.results.names[film]}: LFG{end}"
        found.append(above(text, excess[:, film], 0.0, " stars"))
    return found


def _much_faster(runs: Runs) -> list[Finding]:
    run, found = runs[FILMS], []
    for end, measure, rival in ((BALANCED, "r_regret", "Opt-F"), (FREE, "regret", "Opt-NF")):
        for round in (float(ZOOM), float(run.results.rounds[-1]) / 10.0):
            ours, theirs = (at(run, name + end, measure, round) / round for name in PAIR)
            text = f"regret a round against {rival} at round {round:,.0f}: TSCSF-B less half of LFG{end}"
            found.append(below(text, ours - theirs / 2.0, 0.0))
    return found


def _below_opt_f(runs: Runs) -> list[Finding]:
    labels = [name + BALANCED for name in PAIR]
    return [below(f"time-averaged regret in the end: {one}", at(runs[FILMS], one, REGRET), 0.0) for one in labels]


def on_ratings(config: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The film experiment on a MovieLens copy: every user once, in the order of the file, and η for that many.

    Args:
        config: of the experiment on the figures that ship.
        folder: with ``ratings.csv`` and ``movies.csv``.
    """
    users, films = movielens.load(folder).stars.shape
    eta = balancing_eta(users, films, config["plays"])
    policies = [one if np.isinf(one["eta"]) else one | {"eta": eta} for one in config["policies"]]
    dataset = {"kind": "films", "path": str(folder)}
    environment = config["environment"] | {"dataset": dataset}
    return config | {"horizon": users, "environment": environment, "policies": policies}


# --- figures ----------------------------------------------------------------------------------------------------------


def opt_nf(run: Run) -> float:
    """Time-averaged regret of Opt-NF, which is negative: it earns more than Opt-F."""
    stick = yardstick(next(iter(run.setup.policies.values())), run.setup.environment)
    assert stick.best_fair is not None
    return float(stick.best_fair - stick.best)


def _labels(run: Run, end: str) -> dict[str, str]:
    """The labels of the policies with an ending, and what the legend calls them."""
    return {name + end: told for name, told in NAMES.items() if name + end in run.results.records}


def _regret_panel(axes: Axes, run: Run, end: str, title: str) -> None:
    """Time-averaged regret, with Opt-F and Opt-NF, and the first rounds enlarged."""
    labels, free = _labels(run, end), opt_nf(run)
    panels.curves(axes, run, REGRET, labels, title=title, order=NAMES.values())
    inset = axes.inset_axes((0.47, 0.5, 0.5, 0.46))
    early = run.results.rounds <= ZOOM
    for label, name in labels.items():
        mean, _ = mean_and_error(run.results.records[label].curves[REGRET][early])
        inset.plot(run.results.rounds[early], mean, linewidth=1.0, **panels.line(list(NAMES.values()).index(name)))
    for plot, named in ((axes, True), (inset, False)):
        plot.axhline(0.0, color="black", linewidth=0.9, label="Opt-F" if named else None)
        plot.axhline(free, color="black", linewidth=0.9, linestyle=":", label="Opt-NF" if named else None)
    inset.set_xlim(0, ZOOM)
    inset.tick_params(labelsize=7)
    inset.set_title(f"first {ZOOM} rounds", fontsize=7.5, pad=2)
    _make_room(axes, run, labels, free)


def _make_room(axes: Axes, run: Run, labels: Mapping[str, str], least: float) -> None:
    """The rounds after the inset's fill the lower half on the right, which leaves the upper one to the inset."""
    rounds = run.results.rounds
    means = [run.results.records[label].curves[REGRET].mean(axis=1) for label in labels]
    late = np.concatenate([mean[rounds >= 0.3 * rounds[-1]] for mean in means] + [np.array([0.0])])
    start = max(float(mean[rounds >= ZOOM][0]) for mean in means)
    low = min(least, *(float(mean[rounds >= ZOOM].min()) for mean in means))
    high = max(start, low + 2.9 * (float(late.max()) - low))
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)


def _regrets(part: str, etas: Sequence[str]) -> Callable[[Runs], Figure]:
    def draw(runs: Runs) -> Figure:
        run = runs[part]

        def panel(number: int, axes: Axes) -> None:
            _regret_panel(axes, run, f" eta={etas[number]}", TITLES[etas[number]])

        return panels.grid(len(etas), panel, columns=2, note=panels.lanes_of(run))

    return draw


def _shares_panel(axes: Axes, run: Run, end: str, title: str) -> None:
    """Final shares of the rounds, a bar a policy, and what was promised."""
    labels, arms = _labels(run, end), len(run.results.names)
    width = 0.84 / len(labels)
    for place, (label, name) in enumerate(labels.items()):
        mean, error = mean_and_error(shares(run, label).T)
        look = {"color": panels.line(list(NAMES.values()).index(name))["color"], "error_kw": {"linewidth": 0.8}}
        left = np.arange(arms) - 0.42 + (place + 0.5) * width
        axes.bar(left, mean, 0.92 * width, yerr=error, label=name, **look)
    promised = np.broadcast_to(np.asarray(run.results.promised[next(iter(labels))]), arms)
    ends = np.arange(arms) - 0.45, np.arange(arms) + 0.45
    axes.hlines(promised, *ends, color="black", linewidth=1.6, label="promised", zorder=3)
    panels.finish(axes, "arm", "share of the rounds", title=title)
    _name_arms(axes, run)


def _name_arms(axes: Axes, run: Run) -> None:
    names = [name.split(" (")[0] for name in run.results.names]
    long = max(map(len, names)) > 6
    turned: dict[str, Any] = {"rotation": 30, "ha": "right"} if long else {}
    axes.set_xticks(np.arange(len(names)), names, **turned)
    axes.grid(axis="x", visible=False)


def _final_shares(part: str, eta: str) -> Callable[[Runs], Figure]:
    def draw(runs: Runs) -> Figure:
        run = runs[part]
        note = f"means of {run.results.information['lanes']} lanes; whiskers: ± 1 standard error"
        return panels.grid(1, lambda _, axes: _shares_panel(axes, run, f" eta={eta}", TITLES[eta]), note=note)

    return draw


def _bound_figure(runs: Runs) -> Figure:
    run = runs[BOUNDS]

    def panel(number: int, axes: Axes) -> None:
        for place, name in enumerate(PAIR):
            (_fixed_eta, _eta_by_horizon)[number](axes, run, name, panels.line(place)["color"])
        title = (TITLES[ETA], "η = √(KT/(m ln T)) anew for every T (ours)")[number]
        panels.finish(axes, "T (rounds)", "ln(time-averaged regret)", title=title)

    note = f"{panels.lanes_of(run)}; no logarithm, and so no line, where the mean is not above 0"
    return panels.grid(2, panel, columns=2, note=note)


def _fixed_eta(axes: Axes, run: Run, name: str, colour: str) -> None:
    rounds = _rounds(run)
    mean, error = mean_and_error(run.results.records[f"{name} eta={ETA}"].curves[REGRET][-len(rounds) :])
    low, middle, high = (_logarithm(values) for values in (mean - error, mean, mean + error))
    axes.plot(rounds, middle, color=colour, linewidth=1.5, label=f"{name}: regret")
    axes.fill_between(rounds, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.plot(rounds, np.log(_bound(run, name, rounds)), color=colour, linestyle="--", label=f"{name}: bound")


def _eta_by_horizon(axes: Axes, run: Run, name: str, colour: str) -> None:
    etas = _horizons(run)
    means = [float(at(run, f"{name} eta={eta}", REGRET, end).mean()) for end, eta in etas.items()]
    bounds = [float(_bound(run, name, end, eta)) for end, eta in etas.items()]
    look: dict[str, Any] = {"color": colour, "marker": panels.MARKERS[PAIR.index(name)], "markersize": 4}
    axes.plot(list(etas), _logarithm(np.array(means)), label=f"{name}: regret", **look)
    axes.plot(list(etas), np.log(bounds), color=colour, linestyle="--", label=f"{name}: bound")


def _logarithm(values: Array) -> Array:
    """NaN where there is none."""
    return np.log(np.where(values > 0.0, values, np.nan))


def _ratings_figure(runs: Runs) -> Figure:
    run = runs[FILMS]
    kinds = {"worth": "index in the end (TSCSF-B: draw, LFG: bound)", "estimate": "mean of the ratings received"}
    names = ("TSCSF-B", "LFG", "LFG c=2")

    def panel(number: int, axes: Axes) -> None:
        attribute = list(kinds)[number]
        films = np.arange(len(run.results.names))
        truth = run.setup.environment.means * movielens.STARS
        axes.hlines(truth, films - 0.45, films + 0.45, color="black", linewidth=1.4, label="true mean rating")
        labels = [name + end for end in (BALANCED, FREE) for name in names]
        for place, label in enumerate(labels):
            found = _error(run, label, attribute).T + truth[:, np.newaxis]
            mean, error = mean_and_error(found)
            look = {"color": panels.line(place % len(names))["color"], "marker": panels.MARKERS[place]}
            filled = "full" if BALANCED in label else "none"
            where = films - 0.35 + 0.7 * place / (len(labels) - 1)
            axes.errorbar(
                where, mean, error, label=label, linestyle="", fillstyle=filled, markersize=4.5, elinewidth=0.8, **look
            )
        panels.finish(axes, "film", "rating (stars)", title=kinds[attribute])
        _name_arms(axes, run)

    lanes = run.results.information["lanes"]
    return panels.grid(2, panel, columns=2, note=f"means of {lanes} lanes; whiskers: ± 1 standard error")


def _films_figure(runs: Runs) -> Figure:
    run = runs[FILMS]
    eta = _eta_told(run)

    def panel(number: int, axes: Axes) -> None:
        if number == 2:
            _shares_panel(axes, run, BALANCED, eta)
            axes.set_xlabel("film")
        else:
            _regret_panel(axes, run, (BALANCED, FREE)[number], (eta, "η = ∞")[number])

    return panels.grid(3, panel, note=f"{panels.lanes_of(run)}; whiskers likewise")


def _eta_told(run: Run) -> str:
    fairness: Any = run.setup.policies["TSCSF-B" + BALANCED].fairness
    return f"η = √(KT/(m ln T)) = {fairness.eta:.2f}"


def _part(text: str, over: Array, under: Array, least: float, most: float) -> Finding:
    """The ratio of two means over the lanes lies between two numbers."""
    mean, low, high = ratio(over, under)
    expected = f"at most {most:g}" if np.isinf(least) else f"from {least:g} to {most:g}"
    return Finding(text, mean, low, high, over.size, expected, least <= low and high <= most)


# --- the experiments --------------------------------------------------------------------------------------------------

ETAS_ONE, ETAS_TWO = ("1", "10", "1000", "inf"), ("63.55", "inf")
ENDS_ONE, ENDS_TWO = ([f" eta={eta}" for eta in etas] for etas in (ETAS_ONE, ETAS_TWO))
SMALL = Size(lanes=20, horizon=10_000)


def _variants(part: str, ends: Sequence[str]) -> tuple[Claim, ...]:
    """Claims of our own: the other constant of LFG, and each index with each queue; the last ending has no queue."""
    finite = ends[:-1]
    return (
        Claim(
            "TSCSF-B has a lower time-averaged regret than LFG with c = 2 (ours: the index of Fang et al. 2022).",
            "ours",
            _below_lfg(part, ends, other="LFG c=2"),
        ),
        Claim(
            "Both with the exact queue, TSCSF-B has a lower time-averaged regret than LFG (ours).",
            "ours",
            _below_lfg(part, finite, other="LFG exact"),
        ),
        Claim(
            "Both with the recursive queue, TSCSF-B has a lower time-averaged regret than LFG (ours).",
            "ours",
            _below_lfg(part, finite, policy="TSCSF-B recursive"),
        ),
        Claim(
            "Which queue it is matters more to the regret than which index (ours).",
            "ours",
            _queue_matters_more(part, finite),
            "difference between the queues, averaged over the indices, against that between the indices, averaged over "
            "the queues",
        ),
    )


def _seen(part: str, end: str) -> Claim:
    return Claim(
        "TSCSF-B and LFG satisfy all constraints as far as a bar chart can show (ours).",
        "ours",
        _satisfied(part, end, SEEN),
        "no arm misses 0.01 of the rounds on average",
    )


EXPERIMENTS = (
    Experiment(
        id="H-1",
        title="Time-averaged regret in the first setting",
        figure="figure 1",
        setting=ONE,
        parts=(FIRST,),
        claims=(
            Claim("TSCSF-B has a lower time-averaged regret than LFG.", "section 6.1.1", _below_lfg(FIRST, ENDS_ONE)),
            Claim("TSCSF-B converges faster than LFG.", "section 6.1.1", _faster(FIRST, ENDS_ONE), FASTER),
            Claim(
                "The larger η, the lower the time-averaged regret of both.",
                "section 6.1.1",
                _falls_with_eta(FIRST, ETAS_ONE),
            ),
            Claim(
                "With η = 1 the lowest regrets that both achieve are around 0.03.",
                "section 6.1.1",
                _about_three_hundredths,
                "around: from 0.025 to 0.035, where the mean curve is lowest after the first 100 rounds",
            ),
            Claim(
                "With η = 10 both are much closer to Opt-F than with η = 1.",
                "section 6.1.1",
                _much_closer,
                "much closer: at most half as far in the end",
            ),
            Claim(
                "With η = 1000 both have a negative regret around round 2,000 and recover to a positive one.",
                "section 6.1.1",
                _negative_then_positive,
                "recover: positive in the end",
            ),
            Claim(
                "With η = ∞ the regrets of both converge to that of Opt-NF.",
                "section 6.1.1",
                _converges_to_opt_nf(FIRST),
                "the regret against Opt-NF grows sublinearly; in the end nine tenths of the way from Opt-F are done",
            ),
            Claim(
                "With η = ∞ the constraints are ignored.",
                "section 6.1.1",
                _ignored(FIRST),
                "some arm misses more than a play on average in the end",
            ),
            Claim(
                "The time-averaged regret of Opt-NF is always below that of Opt-F, which is 0.",
                "section 6.1.1",
                _opt_nf_below_opt_f(FIRST),
            ),
            *_variants(FIRST, ENDS_ONE),
        ),
        draw=_regrets(FIRST, ETAS_ONE),
        quick=SMALL,
        choices=(AWAKE, INDEX, QUEUES, EXPECTED),
    ),
    Experiment(
        id="H-2",
        title="Time-averaged regret in the second setting",
        figure="figure 2",
        setting=f"{TWO} η = 63.55 = √(KT/(m ln T)) and ∞. The first setting is run too, to compare with.",
        parts=(SECOND, FIRST),
        claims=(
            Claim("TSCSF-B has a lower time-averaged regret than LFG.", "section 6.1.1", _below_lfg(SECOND, ENDS_TWO)),
            Claim("TSCSF-B converges faster than LFG.", "section 6.1.1", _faster(SECOND, ENDS_TWO), FASTER),
            Claim(
                "The gap between TSCSF-B and LFG is wider than in the first setting.",
                "section 6.1.1",
                _wider_than_first,
                "in the end, each η against the nearest one of the first setting: 63.55 against 10, ∞ against ∞",
            ),
            Claim(
                "The larger η, the lower the time-averaged regret of both.",
                "section 6.1.1",
                _falls_with_eta(SECOND, ETAS_TWO),
            ),
            Claim(
                "With η = ∞ the regrets of both converge to that of Opt-NF.",
                "section 6.1.1",
                _converges_to_opt_nf(SECOND),
                "the regret against Opt-NF grows sublinearly; in the end nine tenths of the way from Opt-F are done",
            ),
            Claim(
                "With η = ∞ the constraints are ignored.",
                "section 6.1.1",
                _ignored(SECOND),
                "some arm misses more than a play on average in the end",
            ),
            Claim(
                "The time-averaged regret of Opt-NF is always below that of Opt-F, which is 0.",
                "section 6.1.1",
                _opt_nf_below_opt_f(SECOND),
            ),
            *_variants(SECOND, ENDS_TWO),
        ),
        draw=_regrets(SECOND, ETAS_TWO),
        quick=SMALL,
        choices=(AWAKE, INDEX, QUEUES, EXPECTED),
    ),
    Experiment(
        id="H-3",
        title="Shares in the first setting",
        figure="figure 3",
        setting=f"{ONE} The figure is about η = 1000.",
        parts=(FIRST,),
        claims=(
            Claim(
                "In the end TSCSF-B and LFG satisfy the constraints of all arms with η = 1000.",
                "section 6.1.2",
                _satisfied(FIRST, " eta=1000"),
                SATISFIED,
            ),
            Claim(
                "The constraint of arm 1 is harder to satisfy than the others.",
                "section 6.1.2",
                _hardest(FIRST, " eta=1000", (0,)),
                "harder: it misses more plays in the end",
            ),
            Claim(
                "The larger η, the later the constraints are satisfied.",
                "Remark 1 and section 6.1.1",
                _later_with_eta,
                "later: the last checkpoint at which some arm misses more than 1 % of the rounds so far",
            ),
            _seen(FIRST, " eta=1000"),
        ),
        draw=_final_shares(FIRST, "1000"),
        quick=SMALL,
        choices=(AWAKE, INDEX, QUEUES),
    ),
    Experiment(
        id="H-4",
        title="Shares in the second setting",
        figure="figure 4",
        setting=f"{TWO} η = 63.55.",
        parts=(SECOND,),
        claims=(
            Claim(
                "TSCSF-B and LFG satisfy the constraints of all six arms with η = 63.55.",
                "section 6.1.2",
                _satisfied(SECOND, " eta=63.55"),
                SATISFIED,
            ),
            Claim(
                "The constraints of arms 2 and 4 are harder to satisfy than the others.",
                "section 6.1.2",
                _hardest(SECOND, " eta=63.55", (1, 3)),
                "harder: each of the two misses more plays in the end than any other arm",
            ),
            _seen(SECOND, " eta=63.55"),
        ),
        draw=_final_shares(SECOND, "63.55"),
        quick=SMALL,
        choices=(AWAKE, INDEX, QUEUES),
    ),
    Experiment(
        id="H-5",
        title="How tight are the bounds?",
        figure="figure 5",
        setting=f"{TWO} Theorem 2 and the bound of LFG against the measured regret over T.",
        parts=(BOUNDS,),
        claims=(
            Claim("The bound of TSCSF-B is always below that of LFG.", "section 6.2", _bounds_in_order),
            Claim(
                "The regret of TSCSF-B stays far below its bound.",
                "section 6.2",
                _far_below_its_bound,
                "far: at most a tenth of the bound in the end, η = 63.55",
            ),
            Claim(
                "The regrets of TSCSF-B and LFG never exceed their bounds.",
                "Theorem 2, and section 1 for LFG",
                _bounds_hold,
                "at any checkpoint with η = 63.55, and at every T with its own η",
            ),
        ),
        draw=_bound_figure,
        quick=Size(lanes=20, horizon=5000),
        choices=(
            AWAKE,
            INDEX,
            "The paper does not say which η its figure has while T changes: one run with η = 63.55 throughout is drawn "
            "on the left, and runs with η = √(KT/(m ln T)) for the T in question on the right (ours).",
        ),
    ),
    Experiment(
        id="H-6",
        title="Films: the ratings in the end",
        figure="figure 6 (a)",
        setting=f"{RATED} η = √(KT/(m ln T)), called balanced, and ∞.",
        parts=(FILMS,),
        claims=(
            Claim(
                "The final ratings of TSCSF-B are much closer to the true ones than those of LFG.",
                "section 6.3.2",
                _nearer("worth", 0.5),
                "rating: the index; much closer: at most half the mean distance over the films",
            ),
            Claim(
                "The final ratings of LFG are higher than the true ones.",
                "section 6.3.2",
                _too_high,
                "rating: the index, its upper confidence bound; higher for every film",
            ),
            Claim(
                "The final ratings of TSCSF-B are much closer to the true ones than those of LFG with c = 2 (ours).",
                "ours",
                _nearer("worth", 0.5, "LFG c=2"),
                "rating: the index; much closer: at most half the mean distance over the films",
            ),
            Claim(
                "The mean ratings that TSCSF-B received are closer to the true ones than those of LFG (ours).",
                "ours",
                _nearer("estimate"),
                "our second reading of the rating: the mean of the ratings received, which has no bonus in it",
            ),
        ),
        draw=_ratings_figure,
        quick=SMALL,
        choices=(
            "The paper does not say what a final rating is; since LFG's are said to be too high, it is read as the "
            "index, for TSCSF-B a draw from its posterior. The mean of the ratings received is shown beside it (ours).",
            "The paper does not say how ratings between 0 and 1 update TSCSF-B's Beta distributions: by a Bernoulli "
            "trial each, as in Agrawal & Goyal 2012.",
            INDEX,
        ),
        data=(Data("movielens", on_ratings, "It runs on rating and availability figures of these films that ship."),),
    ),
    Experiment(
        id="H-7",
        title="Films: shares and regret",
        figure="figures 6 (b) and 7",
        setting=f"{RATED} η = √(KT/(m ln T)), called balanced, and ∞.",
        parts=(FILMS,),
        claims=(
            Claim(
                "TSCSF-B and LFG satisfy the constraints of all five films with balanced η.",
                "section 6.3.2",
                _satisfied(FILMS, BALANCED),
                SATISFIED,
            ),
            Claim(
                "TSCSF-B has a lower time-averaged regret than LFG.",
                "section 6.3.2",
                _below_lfg(FILMS, (BALANCED, FREE)),
                "in the end, for both η, since the paper does not say which one its figure has",
            ),
            Claim(
                "TSCSF-B converges much faster than LFG.",
                "section 6.3.2",
                _much_faster,
                "after 100 rounds and after a tenth of all rounds its regret is at most half of LFG's: with balanced η "
                "the one against Opt-F, with η = ∞ the one against Opt-NF",
            ),
            Claim(
                "TSCSF-B converges faster than LFG, be it much or little (ours).",
                "ours",
                _faster(FILMS, (BALANCED, FREE)),
                FASTER,
            ),
            Claim(
                "Both have a lower time-averaged regret than Opt-F, that is a negative one.",
                "section 6.3.2",
                _below_opt_f,
                "in the end, with balanced η",
            ),
            _seen(FILMS, BALANCED),
            *_variants(FILMS, (BALANCED, FREE)),
        ),
        draw=_films_figure,
        quick=SMALL,
        choices=(
            "The paper gives its Opt-F estimated availabilities, and explains with them that both algorithms earn more "
            "than it. Here Opt-F knows which sets of films are rated, and how often.",
            "Users come in the order of the file, once each; lanes then differ in the algorithms' own draws only.",
            INDEX,
            QUEUES,
            EXPECTED,
        ),
        data=(Data("movielens", on_ratings, "It runs on rating and availability figures of these films that ship."),),
    ),
)
