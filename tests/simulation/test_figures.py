"""Figures: what is drawn is what was found, nothing is hidden, and files appear whole."""

from __future__ import annotations

import dataclasses
import itertools
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure

from evenhand import Environment, EvenhandError, PerLane, Policy, Results, compare, figures
from evenhand.algorithms import eta_fucb, fcts_d, fucb, group_ts, group_ucb, lfg, thompson, ucb1
from evenhand.contexts import Categories
from evenhand.environment.drift import Piecewise
from evenhand.environment.rewards import Bernoulli, Winners
from evenhand.feedback import Bounded
from evenhand.inference.means import mean_and_error
from evenhand.policy.merit import Power
from evenhand.rewards import Linear as LinearRewards
from evenhand.simulation.figures.style import COLOURS
from evenhand.simulation.measures import MEASURES
from evenhand.theory.bounds import ucb1_regret
from tests.thinned import thinned

SHARES = [0.1, 0.2, 0.3]
# Measures that only other results have: of changing worlds, and of caps.
OF_CHANGE = ("bound_violation", "dynamic_regret", "dynamic_r_regret")
STAKES: dict[str, Any] = {"fractions": SHARES, "penalties": 0.2, "merit": Power()}
WORLD = Environment(Winners([0.5, 0.3, 0.2]), feedback=Bounded(0, 2), names=("tea", "coffee", "cocoa"), **STAKES)
POLICIES = {"plain": ucb1(), "fair": fucb(SHARES), "sampled": thompson()}
CHANGING = Environment(Piecewise([[0.5, 0.3, 0.2], [0.1, 0.2, 0.8]], starts=[1, 31]), fractions=SHARES)
SEGMENTED = Environment(
    LinearRewards([[0.3, 0.2, 0.0], [0.2, 0.0, 0.4], [0.2, 0.0, 0.1]]),
    contexts=Categories({"country": {"DE": 0.7, "FR": 0.3}}),
    segments="country",
)
IN_A_SEGMENT = [{"from": 1, "fractions": {"2": 0.2}, "segment": "FR"}]
CAPPED = {
    "plain": group_ucb(caps=0.5, eta=50.0),
    "fair": group_ucb(SHARES, caps=0.5),
    "sampled": group_ts(SHARES, caps=0.5),
}


def run(policies: dict[str, Policy] | None = None, lanes: int = 4, world: Environment = WORLD) -> Results:
    return compare(policies or POLICIES, world, 60, lanes, 3, checkpoints=12, progress=False)


@pytest.fixture(scope="module")
def results() -> Results:
    return run()


@pytest.fixture(scope="module")
def single() -> Results:
    return run(lanes=1)


@pytest.fixture(scope="module")
def changing() -> Results:
    return run(CAPPED, world=CHANGING)


@pytest.fixture(scope="module")
def changing_single() -> Results:
    return run(CAPPED, lanes=1, world=CHANGING)


def legend_of(figure: Figure) -> list[str]:
    assert len(figure.legends) == 1
    return [text.get_text() for text in figure.legends[0].get_texts()]


def lines_of(axes: Axes) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axes.get_lines()}


# --- curves -----------------------------------------------------------------------------------------------------------


def that_has(measure: str, request: Any, lanes: int = 4) -> Results:
    """Results that have a measure."""
    if measure == "segment_unfairness":
        return compare(POLICIES, SEGMENTED, 60, lanes, 3, checkpoints=12, promises=IN_A_SEGMENT, progress=False)
    single, several = ("changing_single", "changing") if measure in OF_CHANGE else ("single", "results")
    found: Results = request.getfixturevalue(single if lanes == 1 else several)
    return found


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_labelled_axes_and_a_line_a_policy(measure: str, request: Any) -> None:
    results = that_has(measure, request)
    figure = figures.curves(results, measure)
    axes = figure.axes[0]
    assert figure.axes[-1].get_xlabel() == "round"
    label = axes.get_ylabel() if len(figure.axes) == 1 else figure.get_supylabel()
    assert label == MEASURES[measure].measure.axis
    assert legend_of(figure) == list(POLICIES)
    drawn = lines_of(axes)
    for label, record in results.policies.items():
        x, y = drawn[label].get_data()
        assert x.tolist() == results.rounds.tolist()
        assert y.tolist() == record.curves[measure].mean(axis=1).tolist()


@pytest.mark.parametrize(
    ("band", "caption"),
    [
        ("95%", "95% confidence interval of the mean"),
        ("standard error", "± 1 standard error"),
        ("lanes", "10% to 90% of the lanes"),
    ],
)
def test_the_band_is_what_the_caption_says(results: Results, band: str, caption: str) -> None:
    (axes,) = figures.curves(results, "regret", band=band).axes
    bands = [one for one in axes.collections if isinstance(one, PolyCollection)]
    assert len(bands) == 3
    for drawn, record in zip(bands, results.policies.values(), strict=True):
        values = record.curves["regret"]
        mean, error = mean_and_error(values)
        if band == "lanes":
            lows, highs = np.quantile(values, [0.1, 0.9], axis=1)
        else:
            reach = 3.182446305284263 if band == "95%" else 1.0  # of Student's t with 3 degrees of freedom
            lows, highs = mean - reach * error, mean + reach * error
        (path,) = drawn.get_paths()
        corners = np.asarray(path.vertices, dtype=float)
        for x, low, high in zip(results.rounds, lows, highs, strict=True):
            ends = corners[corners[:, 0] == x][:, 1]
            assert ends.min() == pytest.approx(low, rel=1e-9, abs=1e-12)
            assert ends.max() == pytest.approx(high, rel=1e-9, abs=1e-12)
    assert axes.get_title(loc="left") == f"mean of 4 lanes; band: {caption}"


def test_no_band_where_none_is_wanted(results: Results) -> None:
    (axes,) = figures.curves(results, "regret", band="none").axes
    assert not [one for one in axes.collections if isinstance(one, PolyCollection)]
    assert axes.get_title(loc="left") == "mean of 4 lanes"


def test_what_figures_do_not_know_is_refused(results: Results, tmp_path: Path) -> None:
    with pytest.raises(EvenhandError, match="there is no band 'sd'; known: 95%"):
        figures.curves(results, "regret", band="sd")
    with pytest.raises(EvenhandError, match="width must be 'column', 'text' or '', got 'page'"):
        figures.fractions(results, width="page")
    with pytest.raises(EvenhandError, match="there is no format 'eps'"):
        figures.save(figures.fractions(results), tmp_path / "shares", ["eps"])


def test_a_curve_that_hides_the_others_is_left_out_in_a_second_panel() -> None:
    world = Environment(Bernoulli([0.9, 0.1]))
    found = run({"one": ucb1(), "other": thompson()}, world=world)
    tall = evolve_curve(found, "one", 50.0)
    upper, lower = figures.curves(tall, "regret").axes
    assert set(lines_of(upper)) == {"one", "other"}
    assert set(lines_of(lower)) == {"other"}
    assert lower.get_title(loc="left") == "without one"
    assert upper.get_ylim()[1] > 10 * lower.get_ylim()[1]
    assert lower.get_ylim()[0] <= 0.0  # so that a constant is not magnified
    assert len(figures.curves(tall, "regret", split=False).axes) == 1
    assert len(figures.curves(tall, "regret", log="y").axes) == 1
    assert len(figures.curves(evolve_curve(found, "one", 1.0), "regret").axes) == 1


def evolve_curve(found: Results, label: str, factor: float) -> Results:
    """Results in which all regrets are 1 to 60, but one is higher by a factor."""
    policies = {}
    for name, record in found.policies.items():
        curve = np.repeat(np.asarray(found.rounds, dtype=float)[:, None], 4, axis=1)
        curves = {**record.curves, "regret": curve * (factor if name == label else 1.0)}
        policies[name] = dataclasses.replace(record, curves=curves)
    return dataclasses.replace(found, policies=policies)


def test_curves_that_lie_on_each_other_differ_in_dashes_and_in_the_places_of_markers() -> None:
    found = run({name: ucb1() for name in ("one", "two", "three")})
    one, two, three = figures.curves(found, "regret").axes[0].get_lines()
    for other in (two, three):
        np.testing.assert_array_equal(one.get_xydata(), other.get_xydata())
    for looks in ("get_linestyle", "get_marker", "get_markevery", "get_color"):
        assert len({str(getattr(line, looks)()) for line in (one, two, three)}) == 3


@pytest.mark.parametrize(("width", "inches"), [("column", 3.35), ("text", 6.9)])
def test_a_figure_for_a_paper_has_its_width_and_small_text(results: Results, width: str, inches: float) -> None:
    for figure in (figures.curves(results, "regret", width=width), figures.fractions(results, width=width)):
        figure.draw_without_rendering()
        assert figure.get_figwidth() == inches
        assert figure.axes[0].yaxis.label.get_fontsize() == 8
        assert figure.axes[0].get_window_extent().width >= 0.6 * inches * figure.dpi


def test_one_lane_has_no_band(single: Results) -> None:
    (axes,) = figures.curves(single, "regret").axes
    assert all(not band.get_paths() for band in axes.collections)
    assert axes.get_title(loc="left") == "mean of 1 lane"
    (axes,) = figures.fractions(single).axes
    assert axes.get_title(loc="left") == "after 60 rounds, mean of 1 lane"


def test_policies_are_told_apart_by_colour_and_beyond_the_colours_by_dashes() -> None:
    many = {f"policy {n}": eta_fucb(SHARES, eta=n / 10.0) for n in range(len(COLOURS) + 3)}
    (axes,) = figures.curves(run(many, lanes=2), "regret").axes
    looks = {(line.get_color(), str(line.get_linestyle())) for line in axes.get_lines()}
    assert len(looks) == len(many)


def test_a_policy_keeps_its_colour_where_another_has_no_such_measure() -> None:
    found = run({"plain": ucb1(), "fair": fucb(SHARES)}, world=Environment(Bernoulli([0.8, 0.5, 0.3])))
    (axes,) = figures.curves(found, "r_regret").axes
    (line,) = axes.get_lines()
    assert line.get_label() == "fair"
    (other,) = (line for line in figures.curves(found, "regret").axes[0].get_lines() if line.get_label() == "fair")
    assert line.get_color() == other.get_color()


def test_bounds_are_drawn_in_the_policys_colour(results: Results) -> None:
    bound = 3.0 * np.sqrt(results.rounds)
    figure = figures.curves(results, "regret", bounds={"plain": bound, "nobody": bound})
    assert legend_of(figure) == ["plain", "plain: bound", "fair", "sampled"]
    drawn = lines_of(figure.axes[0])
    assert drawn["plain: bound"].get_data()[1].tolist() == bound.tolist()
    assert drawn["plain: bound"].get_color() == drawn["plain"].get_color()
    assert drawn["plain: bound"].get_linestyle() != drawn["plain"].get_linestyle()


@pytest.mark.parametrize(
    ("log", "x", "y"), [("", "linear", "linear"), ("x", "log", "linear"), ("y", "linear", "log"), ("xy", "log", "log")]
)
def test_logarithmic_axes(log: str, x: str, y: str, results: Results) -> None:
    figure = figures.curves(results, "reward", log=log)  # always positive here
    assert all(record.curves["reward"].mean(axis=1).min() > 0 for record in results.policies.values())
    figure.draw_without_rendering()
    (axes,) = figure.axes
    assert (axes.get_xscale(), axes.get_yscale()) == (x, y)


def test_a_logarithmic_axis_of_negative_values_is_symmetric(results: Results) -> None:
    figure = figures.curves(results, "violation", log="y")
    assert min(record.curves["violation"].mean(axis=1).min() for record in results.policies.values()) < 0
    figure.draw_without_rendering()
    assert figure.axes[0].get_yscale() == "symlog"


@pytest.mark.covering
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("measure", thinned(MEASURES, [*MEASURES][::6].__contains__))
def test_every_measure_can_be_drawn_on_logarithmic_axes(measure: str, lanes: int, request: Any) -> None:
    figure = figures.curves(that_has(measure, request, lanes), measure, log="xy")
    figure.draw_without_rendering()
    assert figure.axes[0].get_xscale() == "log"
    assert figure.axes[0].get_yscale() in ("log", "symlog")


def test_nothing_but_noughts_on_a_logarithmic_axis() -> None:
    found = run({"fair": fucb([0.0, 0.0, 0.0])})
    assert not found.policies["fair"].curves["unfairness"].any()
    figures.curves(found, "unfairness", log="xy").draw_without_rendering()


def test_rounds_are_written_with_separators() -> None:
    found = compare([ucb1()], WORLD, 20_000, 1, checkpoints=[10_000], progress=False)
    figure = figures.curves(found, "regret")
    figure.draw_without_rendering()
    assert "10,000" in [label.get_text() for label in figure.axes[0].get_xticklabels()]


def test_a_measure_that_nobody_has_is_refused(results: Results) -> None:
    with pytest.raises(EvenhandError, match="regrets"):
        figures.curves(results, "regrets")


# --- fractions --------------------------------------------------------------------------------------------------------


def test_fractions_have_a_bar_for_every_policy_and_arm(results: Results) -> None:
    figure = figures.fractions(results, title="Who played")
    (axes,) = figure.axes
    assert axes.get_xlabel() == "arm"
    assert axes.get_ylabel() == "share of the rounds"
    assert sorted(legend_of(figure)) == sorted([*POLICIES, "promised"])
    assert [label.get_text() for label in axes.get_xticklabels()] == ["tea", "coffee", "cocoa"]
    assert figure.get_suptitle() == "Who played"
    bars = {str(one.get_label()): one for one in axes.containers if isinstance(one, BarContainer)}
    for label, record in results.policies.items():
        heights = [float(bar.get_height()) for bar in bars[label]]
        np.testing.assert_allclose(heights, record.pulls[-1].mean(axis=0) / 60, rtol=1e-12)
        # Every bar stands at its arm.
        for arm, bar in enumerate(bars[label]):
            assert abs(bar.get_x() + bar.get_width() / 2 - arm) < 0.5
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for one in bars.values() for bar in one)
    assert all(right <= left + 1e-12 for (_, right), (left, _) in itertools.pairwise(edges))


def marks(axes: Axes) -> list[list[float]]:
    """Heights of the black marks, a list a policy."""
    found = []
    for one in axes.collections:
        if isinstance(one, LineCollection) and np.allclose(one.get_color(), (0.0, 0.0, 0.0, 1.0)):
            heights = [float(segment[0][1]) for segment in one.get_segments() if len(segment) == 2]
            level = all(segment[0][1] == segment[1][1] for segment in one.get_segments() if len(segment) == 2)
            if level and len(heights) == 3:
                found.append(heights)
    return found


def test_promises_are_marked() -> None:
    plain = Environment(Bernoulli([0.8, 0.5, 0.3]))
    found = run({"plain": ucb1(), "fair": fucb(SHARES)}, world=plain)
    figure = figures.fractions(found)
    assert marks(figure.axes[0]) == [SHARES]  # UCB1 promises nothing, and nothing is promised for it
    assert "promised" in legend_of(figure)
    assert "promised" not in legend_of(figures.fractions(run({"plain": ucb1()}, world=plain)))
    everybody = figures.fractions(run())
    assert marks(everybody.axes[0]) == [SHARES] * 3
    assert legend_of(everybody).count("promised") == 1


def test_promises_by_lane_are_marked_by_their_mean() -> None:
    shares = np.array([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    found = run({"fair": fucb(PerLane(shares))}, lanes=2, world=Environment(Bernoulli([0.8, 0.5, 0.3])))
    (heights,) = marks(figures.fractions(found).axes[0])
    np.testing.assert_allclose(heights, [0.2, 0.2, 0.2], rtol=1e-12)


# --- layout -----------------------------------------------------------------------------------------------------------

LONG = {f"a policy with quite a long name, number {n}": eta_fucb(SHARES, eta=n / 10.0) for n in range(12)}


@pytest.mark.parametrize("draw", [lambda found: figures.curves(found, "regret"), figures.fractions])
@pytest.mark.parametrize("policies", [POLICIES, LONG], ids=["three", "twelve"])
def test_the_legend_hides_nothing(draw: Callable[[Results], Figure], policies: dict[str, Policy]) -> None:
    figure = draw(run(policies, lanes=2))
    figure.draw_without_rendering()
    legend, axes = figure.legends[0].get_window_extent(), figure.axes[0].get_window_extent()
    assert legend.x0 >= axes.x1
    page = figure.bbox
    for box in (legend, figure.axes[0].get_tightbbox()):
        assert box is not None
        assert page.x0 - 1 <= box.x0
        assert box.x1 <= page.x1 + 1
        assert page.y0 - 1 <= box.y0
        assert box.y1 <= page.y1 + 1
    # The axes keep room to be read.
    assert axes.width >= 250
    assert axes.height >= 200


def test_a_title_stands_above_the_axes(results: Results) -> None:
    figure = figures.curves(results, "regret", title="Three policies")
    figure.draw_without_rendering()
    assert figure.get_suptitle() == "Three policies"
    title = next(text for text in figure.texts if text.get_text() == "Three policies")
    assert title.get_window_extent().y0 >= figure.axes[0].get_window_extent().y1
    assert figures.curves(results, "regret").get_suptitle() == ""


FOUR_SCRIPTS = (
    "A film with a very long title that has more than sixty letters in it",
    "長い題名の映画、六十文字を超えるかもしれない、とても長い題名の映画です",
    "فيلم بعنوان طويل جدا يتجاوز ستين حرفا وربما أكثر من ذلك بكثير أيضا",
    "Фильм с очень длинным названием, в котором больше шестидесяти букв",
    "price in $ and \u202eturned",
)


@pytest.mark.slow
@pytest.mark.covering
@pytest.mark.parametrize("arms", [5, 40, 200])
@pytest.mark.parametrize("width", ["", "column", "text"])
def test_hard_names_and_many_arms_are_drawn_without_overlap(arms: int, width: str) -> None:
    names = tuple(f"{n}: {FOUR_SCRIPTS[n % 5]}" for n in range(arms))
    shares = np.full(arms, 0.5 / arms)
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, arms)), names=names, fractions=shares)
    policies = {FOUR_SCRIPTS[0]: ucb1(), FOUR_SCRIPTS[1]: fucb(shares), "same": fucb(shares)}
    found = run(policies, lanes=2, world=world)
    drawn = [draw(found, width=width) for draw in (figures.fractions, figures.frontier)]
    drawn += [draw(found, FOUR_SCRIPTS[1], width=width) for draw in (figures.shares_over_time, figures.arms_over_time)]
    of_measure = (figures.curves, figures.paired_differences, figures.spread_over_lanes)
    for figure in drawn + [draw(found, "regret", width=width) for draw in of_measure]:
        figure.draw_without_rendering()
        for axes in figure.axes:
            if axes.get_label() == "<colorbar>":
                continue
            assert axes.get_window_extent().width >= 0.3 * figure.bbox.width
            for labels in (axes.get_yticklabels(), axes.get_xticklabels()):
                boxes = [label.get_window_extent() for label in labels if label.get_text() and label.get_visible()]
                inside = [box for box in boxes if figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1]
                for one, other in itertools.combinations(inside, 2):
                    assert not (
                        one.overlaps(other) and min(one.y1, other.y1) - max(one.y0, other.y0) > 0.2 * one.height
                    )


def test_arms_with_long_names_have_a_row_each() -> None:
    names = tuple(f"The Long Way Home, part {n} (1987)" for n in range(8))
    world = Environment(Bernoulli(np.full(8, 0.5)), names=names)
    found = run({"plain": ucb1(), "fair": fucb(np.full(8, 0.1))}, lanes=2, world=world)
    (axes,) = figures.fractions(found).axes
    assert axes.get_xlabel() == "share of the rounds"
    assert [label.get_text() for label in axes.get_yticklabels()] == list(names)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first arm is at the top
    points = [one for one in axes.containers if isinstance(one, ErrorbarContainer)]
    for one, record in zip(points, found.policies.values(), strict=True):
        line = one.lines[0]
        assert line is not None
        shares, heights = np.asarray(line.get_xydata(), dtype=float).T
        np.testing.assert_allclose(shares, record.pulls[-1].mean(axis=0) / 60, rtol=1e-12)
        assert np.abs(np.asarray(heights) - np.arange(8)).max() < 0.5


def test_hundreds_of_arms_are_drawn_by_rank() -> None:
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, 200)))
    found = run({"plain": ucb1(), "fair": fucb(np.full(200, 0.001))}, lanes=2, world=world)
    (axes,) = figures.fractions(found).axes
    assert axes.get_xlabel() == "rank of the 200 arms by their share, for each policy"
    shares = np.asarray(lines_of(axes)["plain"].get_data()[1], dtype=float)
    np.testing.assert_allclose(np.sort(shares), np.sort(found.policies["plain"].pulls[-1].mean(axis=0) / 60))
    assert (np.diff(shares) <= 0).all()


# --- arms over time, policies against each other ----------------------------------------------------------------------


def test_shares_over_time_are_those_of_the_policy_with_its_promises(results: Results) -> None:
    figure = figures.shares_over_time(results, "fair")
    drawn = lines_of(figure.axes[0])
    for arm, name in enumerate(("tea", "coffee", "cocoa")):
        share = results.policies["fair"].pulls[:, :, arm].mean(axis=1) / results.rounds
        np.testing.assert_allclose(np.asarray(drawn[name].get_ydata(), dtype=float), share, rtol=1e-12)
    dotted = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == ":"]
    levels = sorted(float(np.asarray(line.get_ydata())[0]) for line in dotted)
    assert levels == SHARES
    with pytest.raises(EvenhandError, match="there is no policy 'unfair'; did you mean 'fair'"):
        figures.shares_over_time(results, "unfair")


def test_of_many_arms_those_furthest_behind_and_those_that_play_most_are_drawn() -> None:
    world = Environment(Bernoulli(np.linspace(0.1, 0.9, 40)), fractions=np.full(40, 0.01))
    found = compare({"plain": thompson()}, world, 2000, 4, 3, progress=False)
    shown = set(legend_of(figures.shares_over_time(found)))
    shares = found.policies["plain"].pulls[-1].mean(axis=0) / 2000
    assert len(shown) == 8
    assert str(np.argmax(shares) + 1) in shown
    assert str(np.argmin(shares) + 1) in shown


def test_the_map_of_arms_holds_the_shares_between_checkpoints(results: Results) -> None:
    axes = figures.arms_over_time(results, "plain").axes[0]
    (mesh,) = (one for one in axes.collections if isinstance(one, QuadMesh))
    values = np.asarray(mesh.get_array()).reshape(3, len(results.rounds))
    np.testing.assert_allclose(values.sum(axis=0), 1.0)  # one play per round
    lengths = np.diff(np.concatenate([[0], results.rounds]))
    np.testing.assert_allclose(values @ lengths, results.policies["plain"].pulls[-1].mean(axis=0))
    assert [label.get_text() for label in axes.get_yticklabels()] == ["tea", "coffee", "cocoa"]


def test_paired_differences_are_taken_lane_by_lane(results: Results) -> None:
    figure = figures.paired_differences(results, "regret", "fair")
    drawn, base = lines_of(figure.axes[0]), results.policies["fair"].curves["regret"]
    assert legend_of(figure) == ["plain", "sampled"]
    for label in ("plain", "sampled"):
        values = results.policies[label].curves["regret"] - base
        np.testing.assert_allclose(np.asarray(drawn[label].get_ydata(), dtype=float), values.mean(axis=1))
    first, _ = (one for one in figure.axes[0].collections if isinstance(one, PolyCollection))
    values = results.policies["plain"].curves["regret"] - base
    ends = np.asarray(first.get_paths()[0].vertices, dtype=float)
    last = ends[ends[:, 0] == 60][:, 1]
    reach = 3.182446305284263 * values[-1].std(ddof=1) / 2.0
    assert last.max() - last.min() == pytest.approx(2.0 * reach)


def test_the_spread_has_a_point_for_every_lane_and_the_median(results: Results) -> None:
    axes = figures.spread_over_lanes(results, "reward").axes[0]
    points = [one for one in axes.collections if isinstance(one, PathCollection)]
    bars = [one for one in axes.collections if isinstance(one, LineCollection)]
    for row, (cloud, bar, record) in enumerate(zip(points, bars, results.policies.values(), strict=True)):
        offsets = np.asarray(cloud.get_offsets(), dtype=float)
        assert sorted(offsets[:, 0]) == sorted(record.curves["reward"][-1])
        assert np.abs(offsets[:, 1] - row).max() < 0.3
        assert float(bar.get_segments()[0][0][0]) == np.median(record.curves["reward"][-1])


def test_the_frontier_joins_the_policies_of_a_grid_with_their_intervals() -> None:
    policies = {f"LFG eta={eta}": lfg(SHARES, eta=eta) for eta in (1, 10, 100)} | {"UCB1": ucb1()}
    found = run(policies, world=Environment(Bernoulli([0.8, 0.5, 0.3]), fractions=SHARES))
    figure = figures.frontier(found)
    assert legend_of(figure) == ["LFG", "UCB1"]
    lines = [one for one in figure.axes[0].containers if isinstance(one, ErrorbarContainer)]
    assert [len(np.asarray(one.lines[0].get_xdata())) for one in lines if one.lines[0] is not None] == [3, 1]
    reward = found.policies["UCB1"].curves["reward"][-1]
    (ucb,) = (line for line in figure.axes[0].get_lines() if len(np.asarray(line.get_xdata())) == 1)
    most = max((one.curves["reward"][-1] for one in found.policies.values()), key=np.mean)
    assert float(np.asarray(ucb.get_ydata())[0]) == pytest.approx((reward - most).mean())
    assert figure.axes[0].get_ylabel() == "reward earned so far, less that of the best"
    assert legend_of(figures.frontier([found, found])) == ["LFG", "UCB1"]
    with pytest.raises(EvenhandError, match="no policy has both 'unfairnes' and 'reward'; these results have reward"):
        figures.frontier(found, unfairness="unfairnes")


# --- one figure of a run ----------------------------------------------------------------------------------------------


def titles(figure: Figure) -> list[str]:
    return [axes.get_title(loc="left") for axes in figure.axes if axes.axison]


def test_one_figure_has_shares_missing_plays_cost_and_frontier() -> None:
    world = Environment(Bernoulli([0.8, 0.5, 0.3]), fractions=SHARES)
    found = run({"FUCB": fucb(SHARES), "UCB1": ucb1()}, world=world)
    figure = figures.overview(found, title="A run")
    shown = ["shares and promises", "missing plays, all arms", "r-regret", "reward against missing plays"]
    assert titles(figure) == shown
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["promised", "FUCB", "UCB1"]
    ends = [float(np.asarray(one.get_ydata())[-1]) for one in figure.axes[2].get_lines()]
    assert ends == pytest.approx([one.curves["r_regret"][-1].mean() for one in found.policies.values()])
    assert titles(figures.overview(run({"FUCB": fucb(SHARES)}, world=world))) == shown[:3]
    column = figures.overview(found, width="column")
    assert (len(column.axes), column.get_figwidth()) == (4, 3.35)


def test_one_figure_shows_what_there_is() -> None:
    plain = Environment(Bernoulli([0.8, 0.5, 0.3]))
    assert titles(figures.overview(run({"a": ucb1(), "b": ucb1()}, world=plain))) == ["shares", "regret"]
    by_merit = Environment(Bernoulli([0.8, 0.5, 0.3]), merit=Power())
    found = run({"a": fcts_d(merit=Power()), "b": fcts_d(merit=Power())}, world=by_merit)
    assert titles(figures.overview(found))[1:] == ["fairness regret", "reward regret", "reward against fairness regret"]


def test_figures_for_papers_have_serifs(tmp_path: Path) -> None:
    found = run({"UCB1": ucb1()}, world=Environment(Bernoulli([0.8, 0.5])))
    for width, serif in (("column", True), ("", False)):
        figures.save(figures.fractions(found, width=width), tmp_path / "shares", ["svg"])
        assert ("STIXGeneral" in (tmp_path / "shares.svg").read_text(encoding="utf-8")) == serif


# --- files ------------------------------------------------------------------------------------------------------------


def test_a_figure_is_saved_as_png_and_svg(results: Results, tmp_path: Path) -> None:
    figures.save(figures.curves(results, "regret"), tmp_path / "regret")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["regret.png", "regret.svg"]
    content = (tmp_path / "regret.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    assert ET.parse(tmp_path / "regret.svg").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_text_in_the_svg_is_text(results: Results, tmp_path: Path) -> None:
    figures.save(figures.curves(results, "regret", title="Three policies"), tmp_path / "regret")
    words = "".join(ET.parse(tmp_path / "regret.svg").getroot().itertext())
    for word in ("Three policies", "regret (reward)", "round", *POLICIES):
        assert word in words


def test_the_same_figure_gives_the_same_files(results: Results, tmp_path: Path) -> None:
    for name in ("one", "other"):
        figures.save(figures.curves(results, "regret"), tmp_path / name)
    for ending in (".png", ".svg"):
        assert (tmp_path / f"one{ending}").read_bytes() == (tmp_path / f"other{ending}").read_bytes()


def test_a_point_in_the_name_is_part_of_the_name(results: Results, tmp_path: Path) -> None:
    for name in ("eta=0.5", "eta=0.7"):
        figures.save(figures.curves(results, "regret"), tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "eta=0.5.png",
        "eta=0.5.svg",
        "eta=0.7.png",
        "eta=0.7.svg",
    ]


def test_a_figure_that_cannot_be_written_leaves_nothing(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figure = figures.curves(results, "regret")

    def full(path: Path, **options: Any) -> None:
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", full)
    with pytest.raises(OSError, match="disk full"):
        figures.save(figure, tmp_path / "regret")
    assert list(tmp_path.iterdir()) == []


def test_every_figure_of_the_results_at_once(tmp_path: Path) -> None:
    found = run({"plain": ucb1()}, world=Environment(Bernoulli([0.8, 0.5])))
    bounds = {"regret": {"plain": np.full(12, 9.0)}}
    names = figures.draw_all(found, tmp_path, bounds, title="One policy")
    assert names == ["overview", "regret", "time_averaged_regret"]
    assert sorted(path.stem for path in tmp_path.iterdir()) == sorted(2 * names)
    told = (tmp_path / "regret.svg").read_text(encoding="utf-8")
    assert "plain: bound" in told
    assert "bound" not in (tmp_path / "time_averaged_regret.svg").read_text(encoding="utf-8")


def test_every_measure_has_a_label_and_a_unit() -> None:
    assert all(metric.label and metric.unit and metric.formula for metric in MEASURES.values())
    assert len({metric.label for metric in MEASURES.values()}) == len(MEASURES)


def test_bounds_are_those_of_the_algorithms_whose_premises_hold() -> None:
    world = Environment(Bernoulli([0.8, 0.5, 0.3]))
    policies = {"a": fucb(SHARES), "b": ucb1(), "c": ucb1(exploration=1.0), "own": Policy(), "d": thompson()}
    rounds = np.array([10, 100])
    bounds = figures.bounds_of(policies, world, rounds)
    assert {measure: list(labels) for measure, labels in bounds.items()} == {"r_regret": ["a"], "regret": ["b"]}
    assert bounds["regret"]["b"].tolist() == ucb1_regret(rounds, [0.8, 0.5, 0.3]).tolist()
    assert figures.bounds_of(policies, WORLD, rounds) == {}  # rewards come back late there


def test_a_bound_at_the_horizon_alone_is_a_cross(results: Results) -> None:
    bound = np.where(np.arange(12) == 11, 9.0, np.nan)
    (axes,) = figures.curves(results, "regret", bounds={"plain": bound}).axes
    assert lines_of(axes)["plain: bound"].get_marker() == "x"
    (axes,) = figures.curves(results, "regret", bounds={"plain": np.full(12, 9.0)}).axes
    assert lines_of(axes)["plain: bound"].get_marker() == "None"


def test_an_unknown_measure_names_the_nearest(results: Results) -> None:
    with pytest.raises(EvenhandError, match=r"these results have no measure 'regre'; did you mean 'regret'\?"):
        figures.curves(results, "regre")
