"""The figure of delays: what is known how long after a play, and how long after the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evenhand import Environment, EvenhandError, compare, figures
from evenhand.algorithms import ucb1
from evenhand.contexts import Normal
from evenhand.delays import ByReward, Fixed, Geometric, PacketLoss
from evenhand.environment.contextual import Linear
from evenhand.environment.rewards import Bernoulli, Categorical
from evenhand.feedback import Decreasing, Kernel, NonOblivious

SAME = Environment(Bernoulli([0.3, 0.8]), feedback=Fixed(3))


def lines_of(axes: Axes) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axes.get_lines()}


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_delays_show_what_is_known_by_when() -> None:
    models = {"fixed": Fixed(30), "late": Geometric(0.5), "lost": PacketLoss(0.6), "parts": Decreasing(50)}
    since_play, since_start = (
        lines_of(axes) for axes in figures.delays({**models, "kernel": Kernel([0.25, 0.0, 0.5])}).axes
    )
    for label, rounds, share in [
        ("fixed", 29, 0.0),
        ("fixed", 30, 1.0),
        ("late", 2, 0.75),
        ("lost", 0, 0.6),
        ("lost", 100, 0.6),
        ("parts", 1, 2 / 51),
        ("parts", 50, 1.0),
        ("kernel", 1, 0.25),
        ("kernel", 9, 0.75),
    ]:
        x, y = np.asarray(since_play[label].get_data(), dtype=float)
        assert y[x == rounds] == pytest.approx(share, abs=1e-3), (label, rounds)
    # Of 3 plays with 30 rounds of delay nothing is known; of 40 plays the first 10.
    x, y = np.asarray(since_start["fixed"].get_data(), dtype=float)
    assert y[x == 3].item() == 0.0
    assert y[x >= 35] == pytest.approx(1.0 - 30.0 / x[x >= 35])
    # After 2 rounds: half of the first reward, of the second nothing.
    x, y = np.asarray(since_start["late"].get_data(), dtype=float)
    assert y[x == 2] == pytest.approx(0.25, abs=1e-3)


def test_arms_have_a_curve_each_where_their_delays_differ() -> None:
    assert legend_of(figures.delays(SAME)) == ["all arms"]
    late = ByReward([[0, 9], [9, 0]])
    world = Environment(Bernoulli([0.3, 0.8]), feedback=late, names=("tea", "milk"))
    drawn = lines_of(figures.delays(compare([ucb1()], world, 60, 2, progress=False)).axes[0])
    values = Environment(Categorical([0.0, 1.0], [[0.7, 0.3], [0.2, 0.8]]), feedback=late, names=("tea", "milk"))
    sampled = lines_of(figures.delays(values).axes[0])
    for name, at_once in (("tea", 0.7), ("milk", 0.8)):
        assert np.asarray(drawn[name].get_ydata(), dtype=float)[0] == pytest.approx(at_once, abs=1e-3)
        # 400 draws: four standard errors of at most 0.025.
        assert np.asarray(sampled[name].get_ydata(), dtype=float)[0] == pytest.approx(at_once, abs=0.1)
    many = Environment(Bernoulli(np.full(30, 0.5)), feedback=Fixed(np.arange(30.0)))
    assert legend_of(figures.delays(many)) == ["1", "2", "3", "4", "27", "28", "29", "30"]


def test_what_has_no_delays_is_refused() -> None:
    with pytest.raises(EvenhandError, match="adversary: NonOblivious has no distribution of delays"):
        figures.delays({"adversary": NonOblivious(3, best=0)})
    with pytest.raises(EvenhandError, match="no feedback model to draw"):
        figures.delays({})


def test_rewards_by_context_are_drawn_over_all_contexts() -> None:
    late = ByReward([[0, 9]])
    coins = Linear([[0.7, 0.1], [0.2, 0.1]], noise="coins")
    drawn = lines_of(figures.delays(Environment(coins, feedback=late, contexts=Normal(1))).axes[0])
    for name, at_once in (("1", 0.3), ("2", 0.8)):
        assert np.asarray(drawn[name].get_ydata(), dtype=float)[0] == pytest.approx(at_once, abs=0.1)
