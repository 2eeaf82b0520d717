"""When rewards become known: their delays, and what is known by when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array
from evenhand.environment.feedback import FeedbackModel, Steps
from evenhand.environment.rewards import Bernoulli, Rewards, Table
from evenhand.environment.world import Environment
from evenhand.simulation.figures.panel import Sheet
from evenhand.simulation.figures.style import look, styled
from evenhand.simulation.results import Results
from evenhand.simulation.setup import environment_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LATEST = 10_000  # rounds that are drawn, where no run says how many there are
POINTS = 240  # of a curve
SAMPLED = 2000  # rewards of each arm that stand for those of all contexts
SHOWN = 8  # arms that have a curve each


@styled
def delays(
    source: Results | Environment | Mapping[str, FeedbackModel],
    *,
    means: Sequence[float] | Array = (0.5,),
    title: str = "",
    width: str = "",
) -> Figure:
    """The share of the rewards that is known so many rounds after the play, and so many rounds after the start.

    The second panel is of an arm that plays evenly: of all its rewards up to a round, the share that has arrived. A
    curve that ends below 1 shows rewards that are lost.

    Args:
        source: results or an environment, whose arms have a curve each where their delays differ (of more than eight,
            the first and the last arms); or feedback models by label.
        means: (arms,), in [0, 1], for models whose delays depend on the reward: probability of a reward of 1. Results
            and environments have their own.

    Returns:
        An ordinary figure of matplotlib, with two panels.

    Raises:
        EvenhandError: a model has no distribution of delays, no reward is late, or there is no such width.

    Example:
        >>> from evenhand.delays import Geometric, PacketLoss
        >>> figure = delays({"late": Geometric(0.05), "lost": PacketLoss(0.6)})
        >>> [axes.get_xlabel() for axes in figure.axes]
        ['rounds since the play', 'rounds since the start']
    """
    found = _curves(source, np.asarray(means, dtype=float))
    if not isinstance(source, Mapping) and not any(late.any() for late, _ in found.values()):
        raise EvenhandError("this world has no delays to draw: each reward is known in the round of its play")
    latest = _latest(source, found)
    sheet = Sheet(found, title=title, width=width, heights=(1.0, 1.0))
    if width:
        sheet.figure.set_figheight(1.2 * sheet.figure.get_figheight())
    grid = np.concatenate([[0.0], np.geomspace(1.0, latest, POINTS).round()])
    for place, (name, steps) in enumerate(found.items()):
        since = np.unique(np.concatenate([grid, steps[0] if len(steps[0]) < POINTS else []]))
        style: dict[str, Any] = look(place, len(since)) | {"label": sheet.name(name), "linewidth": 1.6}
        sheet.panels[0].plot(since, known_after(steps, since), drawstyle="steps-post", **style)
        sheet.panels[1].plot(since[1:], known_by(steps, since[1:]), **style)
    for axes, start in zip(sheet.panels, ("the play", "the start"), strict=True):
        _scale(axes, latest)
        axes.tick_params(labelbottom=True)
        axes.set_xlabel(f"rounds since {start}")
    sheet.label("rounds since the start", "share of rewards known")
    return sheet.finish("above: a play's reward; below: the rewards of all plays so far")


def known_after(steps: Steps, rounds: Array) -> Array:
    """The share of the rewards that is known so many rounds, (n,), after their plays."""
    late, shares = steps
    return np.concatenate([[0.0], shares])[np.searchsorted(late, rounds, side="right")]


def known_by(steps: Steps, rounds: Array) -> Array:
    """Of the rewards of all plays up to a round, (n,), counted from 1, the share that is known at its end."""
    late, shares = steps
    gains = np.diff(shares, prepend=0.0)
    return np.maximum(rounds[:, None] - late, 0.0) @ gains / rounds


def _scale(axes: Axes, latest: float) -> None:
    from matplotlib.ticker import NullLocator

    axes.set_xscale("symlog", linthresh=1.0, linscale=0.5)
    axes.set_xlim(-0.1, latest)
    ticks = [0, *(10**power for power in range(9) if 10**power <= latest)]
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_ylim(-0.05, 1.05)  # so that markers at 0 are whole


def _latest(source: Any, found: Mapping[str, Steps]) -> float:
    """The last round that is drawn: that of the run, or a little after the last reward."""
    if isinstance(source, Results):
        return max(10.0, float(source.rounds[-1]))
    return min(float(LATEST), max(10.0, *(4.0 * float(late.max(initial=0.0)) for late, _ in found.values())))


def _curves(source: Results | Environment | Mapping[str, FeedbackModel], means: Array) -> dict[str, Steps]:
    if isinstance(source, Results):
        return _of_world(environment_of(source.information))
    if isinstance(source, Environment):
        return _of_world(source)
    found: dict[str, Steps] = {}
    for label, model in source.items():
        of_arms = _steps(model, label, Bernoulli(means))
        for arm, steps in enumerate(of_arms):
            found[label if len(of_arms) == 1 else f"{label}, arm {arm + 1}"] = steps
    if not found:
        raise EvenhandError("there is no feedback model to draw; give at least one")
    return found


def _of_world(world: Environment) -> dict[str, Steps]:
    """A curve for each arm, or one where all arms have the same."""
    of_arms = _steps(world.feedback, "the environment", _of_all_contexts(world))
    if all(np.array_equal(*pair) for steps in of_arms for pair in zip(of_arms[0], steps, strict=True)):
        return {"all arms": of_arms[0]}
    arms = range(world.arms)
    shown = arms if world.arms <= SHOWN else [*arms[: SHOWN // 2], *arms[-SHOWN // 2 :]]
    return {world.names[arm]: of_arms[arm] for arm in shown}


def _of_all_contexts(world: Environment) -> Rewards:
    """The rewards; where they depend on the context, a sample of them over all contexts."""
    rewards: Any = world.rewards
    if not rewards.traits.contextual:
        return world.rewards
    rng, (means, chances) = np.random.default_rng(0), world.law
    return Table(rewards.draw_given(rng, means[np.newaxis, rng.choice(len(means), SAMPLED, p=chances)])[0])


def _steps(model: FeedbackModel, label: str, rewards: Rewards) -> list[Steps]:
    """When the rewards of each arm become known, or of all arms."""
    found = model.arrivals(LATEST, rewards)
    if found is None:
        raise EvenhandError(f"{label}: {type(model).__name__} has no distribution of delays that could be drawn")
    return found
