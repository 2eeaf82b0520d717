"""How well a model of rewards predicts them: by arm and segment, in a simulation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core import streams, validate
from evenhand.core.errors import EvenhandError, nearest
from evenhand.core.state import Array, Observation, Unit
from evenhand.environment.contexts import Contexts
from evenhand.environment.world import Environment
from evenhand.policy.composition import Policy
from evenhand.simulation.simulate import check_can_run, streams_of

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"


def calibration(
    policy: Policy,
    environment: Environment,
    horizon: int,
    lanes: int = 100,
    seed: int = 0,
    *,
    segment: str | None = None,
    cuts: Sequence[float] = (),
    after: float = 0.5,
) -> pd.DataFrame:
    """What a policy's model expects of the arms that it plays, beside what they earn on average: by arm and segment.

    Args:
        policy: one that goes by features, such as with `evenhand.policy.LinTS`.
        environment: with contexts.
        horizon: T, rounds.
        lanes: independent replications.
        seed: of all randomness; the same as in `evenhand.compare` gives the same run.
        segment: a category of the situation, whose levels are the segments; or the name of a column; None for one.
        cuts: of the column, ascending: a segment ends before each.
        after: in [0, 1), the part of the rounds after which plays are counted, as the model has to learn first.

    Returns:
        A row for each segment and arm: ``plays``, ``expected`` (the model's mean before each play), ``mean`` (the true
        one in the same contexts), ``reward`` (what the plays earned) and ``error`` (the root of the mean squared
        difference of expected and true mean); in the user's unit, NaN without plays.

    Raises:
        EvenhandError: the policy has no such model, the environment has no contexts, or there is no such segment.

    Example:
        >>> from evenhand import Environment, Policy
        >>> from evenhand.contexts import Categories
        >>> from evenhand.policy import LinTS
        >>> from evenhand.rewards import Linear
        >>> world = Environment(
        ...     Linear([[0.0, 0.9, 0.2], [0.0, 0.4, 0.6]]), contexts=Categories({"country": {"DE": 0.5, "FR": 0.5}})
        ... )
        >>> found = calibration(Policy(LinTS(scale=0.1)), world, 400, lanes=10, segment="country")
        >>> found.loc[found["arm"] == "1", ["segment", "expected", "mean"]].round(1).to_dict("records")[0]
        {'segment': 'country=DE', 'expected': 0.9, 'mean': 0.9}
    """
    validate.whole("horizon", horizon)
    check_can_run(environment, {policy.name or "policy": policy}, horizon, lanes)
    if environment.contexts is None:
        raise EvenhandError("has no contexts, in which a model could be right or wrong", "environment")
    names, where = _segments(environment.contexts, segment, cuts)
    sums = np.zeros((5, len(names), environment.arms))  # plays, expected, means, rewards, squared errors
    outside, inside = zip(*map(streams_of, streams.strand_seeds(seed, lanes)), strict=True)
    world = environment.start(horizon, lanes, outside)
    rng = streams.joined([np.random.default_rng(one) for one in inside], lanes)
    state = policy.start(environment.arms, lanes, environment.unit, environment.widths)
    unit = environment.unit or Unit(0.0, 1.0)
    for round in range(1, horizon + 1):
        observation = world.observe()
        expected = policy.index.expected(state, observation) if round > after * horizon else None
        decision = policy.decide(state, observation, rng, propensities=False)
        outcome = world.step(decision)
        policy.observe(state, outcome.feedback, rng)
        if round > after * horizon:
            if expected is None:
                raise EvenhandError(
                    f"{type(policy.index).__name__} has no model of rewards: use lin_ucb, lin_ts or logistic_ts",
                    "policy",
                )
            _add(sums, where(observation), decision.played, unit.low + unit.width * expected, outcome)
    return _table(names, environment.names, sums)


def _segments(contexts: Contexts, segment: str | None, cuts: Sequence[float]) -> tuple[tuple[str, ...], Any]:
    """The names of the segments, and the function from an observation to the segment of each lane, (lanes,)."""
    columns = contexts.columns[: contexts.widths[0]]
    if segment is None:
        return (ALL,), lambda observation: np.zeros(len(observation.situation), dtype=np.intp)
    levels = [place for place, name in enumerate(columns) if name.startswith(f"{segment}=")]
    if levels and not cuts:
        return tuple(columns[place] for place in levels), lambda one: one.situation[:, levels].argmax(axis=1)
    if segment not in columns:
        known = dict.fromkeys(name.partition("=")[0] for name in columns)
        raise EvenhandError(f"is {segment!r}, which is no feature of the situation{nearest(segment, known)}", "segment")
    ends = validate.numbers(list(cuts) or [0.5])
    if (np.diff(ends) <= 0.0).any():
        raise EvenhandError(f"must ascend, got {ends.tolist()}", "cuts")
    edges = [f"{segment} < {ends[0]:g}", *(f"{segment} ≥ {end:g}" for end in ends)]

    def place(observation: Observation) -> NDArray[np.intp]:
        assert observation.situation is not None
        return np.searchsorted(ends, observation.situation[:, columns.index(segment)], side="right")

    return tuple(edges), place


def _add(sums: Array, segments: NDArray[np.intp], played: Any, expected: Array, outcome: Any) -> None:
    """Count the plays of a round."""
    lanes, arms = played.nonzero()
    guess, mean = expected[lanes, arms], outcome.means[lanes, arms]
    for kind, values in enumerate((1.0, guess, mean, outcome.earned[lanes, arms], (guess - mean) ** 2)):
        np.add.at(sums[kind], (segments[lanes], arms), values)


def _table(names: Sequence[str], arms: Sequence[str], sums: Array) -> pd.DataFrame:
    import pandas as pd

    with np.errstate(invalid="ignore"):
        expected, mean, reward, squares = sums[1:] / sums[0]
    places = [(name, arm) for name in names for arm in arms]
    columns = {"segment": [name for name, _ in places], "arm": [arm for _, arm in places]}
    values = {"plays": sums[0], "expected": expected, "mean": mean, "reward": reward, "error": np.sqrt(squares)}
    return pd.DataFrame(columns | {name: one.ravel() for name, one in values.items()}).astype({"plays": int})
