"""What a promise would cost: in the long run, and while a policy learns, by arm, and how sure that is."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bandit.evaluation import priced_by_features
from evenhand.bandit.evaluation.columns import Reading
from evenhand.bandit.evaluation.learning import counts_of
from evenhand.bandit.evaluation.log import Log, parse, read_log
from evenhand.bandit.evaluation.priced import TODAY, Facts, facts_of
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, InfeasiblePromise, number_of, shown
from evenhand.core.numbers import amount, percent
from evenhand.core.state import Array
from evenhand.judgement.sentences import listed
from evenhand.messages.answers import Recommendation
from evenhand.messages.prices import ArmPrice, LogPrice, Price, PricePoint
from evenhand.messages.requests import PriceRequest
from evenhand.theory.achievable import TOLERANCE
from evenhand.theory.bounded import Bounds, best_bounded, check_bounds, price_of_bounds, range_of_price
from evenhand.theory.prices import BOUNDED, best_promised, cost_interval

if TYPE_CHECKING:
    from evenhand.bandit.bandit import Bandit
    from evenhand.environment.world import EnvironmentLike

PROMISES = (0.05, 0.1, 0.15)
PROMISED = ("fractions", "caps", "groups", "merit")  # parameters of a policy that are its promise
ROUNDING = 1e-12  # part of the best reward that rounding may make of a price of nothing
PARTS = (0.25, 0.5, 0.75)  # of an equal share, where there are too many arms for `PROMISES`
LANES = 100  # simulated runs, each in a world that is fitted to the log drawn anew
ROUNDS = 20_000  # simulated rounds, at most, where none are given
UNSURE = 0.5  # part of the price that its interval may be wide until it is called unsure


def price(
    source: Log | str | os.PathLike[str] | EnvironmentLike | Bandit,
    promises: float | Mapping[str, object] | Sequence[float | Mapping[str, object]] = PROMISES,
    *,
    policy: str | Mapping[str, object] | None = None,
    rounds: int | None = None,
    seed: int = 0,
    plays: int | None = None,
    segments: str | Mapping[str, object] | None = None,
) -> Price:
    """What promises would cost, from a log, an environment or a running bandit.

    **In the long run** a promise costs ``max_x μ·x − max_{y keeps the promise} μ·y`` over shares x and y of the rounds.
    Its interval is the range over all means within intervals that hold together for all arms, so it holds for all
    promises together. Those of a log's means are normal ones, for one look at a log whose policy did not learn; where
    chances of an arm differ, so that it may have learned, or few rewards decide, they are
    sequences. **While a policy learns**, paired simulations with and without the promise, each run in a world
    that is fitted to the decisions of the log drawn anew, say what is added.

    Of a log **with features** it is ``E[μ(z)·x(z)] − E[μ(z)·y(z)]``, x and y what is best in each context z without and
    with the promise by a ridge regression for each item. Where the log has propensities, both are estimated doubly
    robustly, with regressions on other rounds; the interval also covers the price by the regression itself. Nothing is
    simulated.

    Args:
        source: a log or the path of one; an environment, whose means are known; or a bandit, of which nothing is
            simulated, and whose promise in force costs what its audit says.
        promises: shares of the rounds in [0, 1] for every arm; or tables such as ``{"fractions": {"tea": 0.1}}`` with
            ``fractions``, ``caps`` and ``groups``, or with ``merit``, which is not simulated; one or several.
        policy: the algorithm that is simulated, its name or a table such as ``{"algorithm": "fucb", "tolerance": 5}``;
            it takes each of the promises. None for the recommended one.
        rounds: simulated rounds; None for as many as the log has, at most 20,000. More are an extrapolation.
        seed: of the simulations.
        plays: m, arms played per round; None for those of the log or of the bandit, and for 1 in an environment.
        segments: of a log with features, the feature of the situation in each of whose values the promises are made,
            as of `evenhand.Bandit`; a table with a ``segment`` is a promise in that one alone. None: over all rounds.

    Returns:
        The price, in the unit of the rewards, per round.

    Raises:
        DataError: the log cannot be read, or lacks what is needed.
        EvenhandError: no reward of the bandit is known yet.
        InfeasiblePromise: a promise cannot be kept.

    Example:
        >>> from evenhand import Environment
        >>> from evenhand.rewards import Bernoulli
        >>> found = price(Environment(Bernoulli([0.9, 0.4]), names=("tea", "mate")), [0.1], rounds=200)
        >>> round(found.curve[0].steady, 3), found.curve[0].shares
        (0.05, {'tea': 0.9, 'mate': 0.1})

    Source: Patil et al. 2021 (the price of fairness); Efron 1979 (bootstrap); Dudík, Langford & Li 2011
    (doubly robust).
    """
    if isinstance(promises, float | int | str | Mapping):
        promises = [promises]
    if isinstance(source, str | os.PathLike):
        source = read_log(source)
    if isinstance(source, Log) and source.known is not None:
        if policy is not None or rounds is not None:
            raise EvenhandError(
                "nothing is simulated from a log with features: leave out policy or algorithm, and rounds"
            )
        facts: Facts = priced_by_features.of_log(source, source.known, len(promises), segments)
    elif segments is not None:
        remedy = "read_log(path, features=…) reads them, or --features"
        raise EvenhandError(
            f"needs a log with features, which says what arms earn in each segment: {remedy}", "segments"
        )
    else:
        facts = facts_of(source)
    if plays is not None:
        facts = replace(facts, plays=validate.whole("plays", plays, high=len(facts.names)))
    return price_of(facts, promises, policy, rounds, seed)


def price_of(
    facts: Facts,
    promises: Sequence[float | Mapping[str, object]],
    policy: str | Mapping[str, object] | None = None,
    rounds: int | None = None,
    seed: int = 0,
) -> Price:
    """What promises would cost, from what is known."""
    if rounds is not None:
        validate.whole("rounds", rounds)
    named = [_named(facts, one) for one in _possible(facts, promises)]
    take, middle = facts.recommended([table for _, table in named]), len(named) // 2
    found = _figures(facts, named, take, policy, rounds, seed)
    paid = found.curve[middle].low > 0.0
    if facts.today is not None and promises is PROMISES and facts.today.promise not in {words for words, _ in named}:
        found = replace(found, curve=(facts.today, *found.curve))
    says = [
        *_answer(facts, found),
        *_dearest(facts, found),
        *(facts.paid(*named[middle]) if paid else []),
        *facts.in_segments(*named[middle], found.by_segment),
        *([] if facts.runs or len(facts.names) < 2 else [f"Take {take.algorithm}: {take.why}"]),
    ]
    return replace(found, sentences=tuple(says), unknown=tuple(_unknown(facts, found)))


def _figures(
    facts: Facts,
    named: Sequence[tuple[str, dict[str, Any]]],
    take: Recommendation,
    policy: str | Mapping[str, object] | None,
    rounds: int | None,
    seed: int,
) -> Price:
    """The price of promises in figures, which are yet to be said in words."""
    steady = [_steady(facts, words, table) for words, table in named]
    curve, missed = [point for point, _ in steady], None
    simulated = facts.world is not None and len(facts.names) <= BOUNDED
    count = (rounds or min(facts.rounds or ROUNDS, ROUNDS)) if simulated else 0
    parameters = {name: value for name, value in take.parameters.items() if name not in PROMISED}
    run = {"algorithm": take.algorithm, **parameters} if policy is None else _algorithm(policy)
    if count:
        curve, missed = _run(facts, curve, [table for _, table in named], run, count, seed)
    columns = (facts.means, facts.low, facts.high, steady[-1][1])  # at last what more of each arm costs at the margin
    return Price(
        source=facts.source,
        unit=facts.unit,
        best=facts.best,
        policy=str(run["algorithm"]) if count else "",
        rounds=count,
        missed=missed,
        curve=tuple(curve),
        by_arm=tuple(ArmPrice(*row) for row in zip(facts.names, *(one.tolist() for one in columns), strict=True)),
        recommended=facts.runs or take.algorithm,
        parameters={} if facts.runs else parameters,
        claim=facts.claim,
        premises=facts.premises,
        sentences=(),
        assumptions=facts.assumptions,
        unknown=(),
        by_segment=tuple(one for words, table in named for one in facts.by_segment(words, table)),
    )


def priced_log(message: PriceRequest) -> LogPrice:
    """The price by the log of a request, of which nothing is kept, and what an allocation that starts from it knows."""
    limits = None if message.rewards is None else (message.rewards[0], message.rewards[1])
    log = parse(message.log, Reading(dict(message.columns), message.window, message.missing, limits))
    facts = facts_of(log)
    assert facts.fit is not None
    found = price_of(replace(facts, world=None), PROMISES if message.promises is None else message.promises)
    counts = {arm: {"plays": float(plays), "sum": total} for arm, (plays, total) in counts_of(log).items()}
    return LogPrice(found, facts.fit.limits, counts, log.notes)


def _possible(facts: Facts, promises: Sequence[float | Mapping[str, object]]) -> Sequence[float | Mapping[str, Any]]:
    """The promises; of those by default parts of an equal share where there are too many arms."""
    equal = facts.plays / len(facts.names)
    if promises is PROMISES and max(PROMISES) > equal:
        return [float(f"{part * equal:.2g}") for part in PARTS]
    for one in promises:
        if not isinstance(one, Mapping) and validate.number("a promise", one, 0.0, 1.0) > equal * (1.0 + 1e-9):
            raise InfeasiblePromise(
                f"{one:g} for each of {len(facts.names):,} arms is {one * len(facts.names):g} plays per round, and "
                f"there {'is' if facts.plays == 1 else 'are'} {facts.plays}: promise at most {equal:.4g} each"
            )
    if not promises:
        raise EvenhandError("promises must be at least one share, such as 0.1")
    return promises


def _named(facts: Facts, promise: float | Mapping[str, object]) -> tuple[str, dict[str, Any]]:
    """A promise in words, and the parameters of a policy that keeps it."""
    if not isinstance(promise, Mapping):
        return percent(promise, 4), {"fractions": [float(promise)] * len(facts.names)}
    table = facts.promise(promise)  # first, as it says what is wrong
    return facts.words(promise), table


def _steady(facts: Facts, words: str, table: Mapping[str, Any]) -> tuple[PricePoint, Array]:
    """What a promise costs in the long run, and (arms,), what one more promised play of each arm costs."""
    found = facts.steady(words, table)
    if found is not None:
        return found
    if facts.plain(table):
        fractions = np.asarray(table["fractions"])
        shares = best_promised(facts.means[np.newaxis], fractions, facts.plays)[0]
        low, high = cost_interval(facts.low, facts.high, fractions, facts.plays)
        last = facts.means[shares > fractions + TOLERANCE].min(initial=facts.means.max())
        duals = np.maximum(last - facts.means, 0.0)
    elif "merit" in table:
        (shares, low, high), duals = facts.deserved(table["merit"]), np.zeros(len(facts.names))
    else:
        shares, low, high, duals = _by_program(facts, facts.bounds(table))
    value = facts.best - float(shares @ facts.means)
    value = min(max(value if value > ROUNDING * abs(facts.best) else 0.0, low), high)
    by_arm = dict(zip(facts.names, shares.tolist(), strict=True))
    return PricePoint(words, value, low, high, None, None, None, None, by_arm), duals


def _by_program(facts: Facts, bounds: Bounds) -> tuple[Array, float, float, Array]:
    """Best shares under bounds of arms and groups, the range of their price, and the dual prices of the arms."""
    if len(facts.names) > BOUNDED:
        raise EvenhandError(f"not computed for groups, caps or sleeping arms of more than {BOUNDED} arms")
    check_bounds(bounds, facts.plays, facts.availability)
    shares = best_bounded(facts.means, bounds, facts.plays, facts.availability)[1]
    low, high = range_of_price(facts.low, facts.high, bounds, facts.plays, facts.availability)
    prices = price_of_bounds(facts.means, bounds, facts.plays, facts.availability)
    by_name = dict(zip(bounds.names, prices.tolist(), strict=True))
    return shares, low, high, np.array([by_name.get(f"arm {name!r}", 0.0) for name in facts.names])


def _algorithm(policy: object) -> dict[str, Any]:
    """The table of an algorithm that takes promises, without promises of its own."""
    table = {"algorithm": policy} if isinstance(policy, str) else policy
    if not isinstance(table, Mapping) or "algorithm" not in table:
        raise EvenhandError(
            "must be the name of an algorithm, or a table such as {'algorithm': 'fucb', 'tolerance': 5}, which takes "
            f"each of the promises, got {shown(policy)}", "policy",
        )  # fmt: skip
    if own := [name for name in PROMISED if name in table]:
        raise EvenhandError(f"has {own[0]}, which promises says: leave it out", "policy")
    return dict(table)


def _run(
    facts: Facts,
    steady: Sequence[PricePoint],
    tables: Sequence[Mapping[str, object]],
    policy: Mapping[str, object],
    rounds: int,
    seed: int,
) -> tuple[list[PricePoint], float]:
    """The points with the cost in paired simulations, and what the policy misses there without a promise."""
    from evenhand.algorithms.build import as_policy, surroundings_of
    from evenhand.simulation.simulate import compare

    worlds = facts.worlds(LANES, seed)
    means = np.broadcast_to(np.asarray(worlds.means), (LANES, len(facts.names)))
    none: Mapping[str, Any] = {"fractions": [0.0] * len(facts.names)}
    around = surroundings_of(worlds, rounds, facts.plays)
    policies = {
        str(place): as_policy({**policy, **table}, around)
        for place, table in enumerate([none, *tables])
        if "merit" not in table
    }
    results = compare(policies, worlds, rounds, LANES, seed, checkpoints=1, progress=False)
    earned = {label: (one.pulls[-1] * means).sum(axis=1) / rounds for label, one in results.policies.items()}
    points = []
    for place, (point, table) in enumerate(zip(steady, tables, strict=True), start=1):
        if str(place) not in results.policies:
            points.append(point)
            continue
        cost = earned["0"] - earned[str(place)]
        low, high = map(float, np.quantile(cost, [0.025, 0.975]))
        learning = float((cost - facts.long_run(means, table)).mean())
        points.append(replace(point, run=float(cost.mean()), run_low=low, run_high=high, learning=learning))
    return points, float((facts.best_in(means) - earned["0"]).mean())


def _answer(facts: Facts, found: Price) -> list[str]:
    """The price of the promise in force and of the middle one in sentences."""
    middle, today = found.curve[len(found.curve) // 2], facts.today
    said = [facts.without()]
    said += [_costs(facts, one, True) for one in found.curve if today is not None and one.promise == today.promise]
    if today is None or middle.promise != today.promise:
        said.append(_costs(facts, middle))
    if middle.run is not None and middle.run_low is not None and middle.run_high is not None:
        effect = f"{'saves' if middle.run < 0.0 else 'costs'} {facts.say(abs(middle.run), 2)} per round (a cost of "
        if middle.run_low <= 0.0 <= middle.run_high:
            effect = "makes no difference that can be seen (a cost of "
        said.append(
            f"In the first {found.rounds:,} rounds {found.policy} is still learning, and even without a promise it "
            f"earns {facts.say(found.missed or 0.0, 2)} per round less than the best. There the promise {effect}"
            f"{amount(middle.run_low, 2)} to {facts.say(middle.run_high, 2)} in 95 of 100 simulated runs)."
        )
    return said


def _costs(facts: Facts, point: PricePoint, in_force: bool = False) -> str:
    """What a promise costs in the long run, in a sentence."""
    part = f", {point.steady / facts.best:.1%} of that" if facts.best > 0.0 and point.steady >= 0.0 else ""
    sure = f" (95% interval {amount(point.low)} to {facts.say(point.high)})" if facts.estimated else ""
    arms = f"{point.promise} to each of {number_of(len(facts.names), 'arm')}{facts.within}"
    to = f" of {arms if '%' in point.promise else point.promise}" * (point.promise != TODAY)
    costs = f"The promise in force{to and ','}{to}{to and ','} costs" if in_force else f"A promise{to} would cost"
    return f"{costs} {facts.say(point.steady)} per round{part}{sure}."


def _dearest(facts: Facts, found: Price) -> list[str]:
    """To which arms promises cost most and least."""
    dear = sorted((one for one in found.by_arm if one.dual > 0.0), key=lambda one: -one.dual)
    if len(dear) < 2 or (facts.estimated and found.curve[-1].low <= 0.0):  # then it is not even known which arm is best
        return []
    most, least = (facts.say(one.dual / 100.0) for one in (dear[0], dear[-1]))
    return [
        f"The dearest promise is that to {dear[0].arm}: each percentage point costs {most} per round; to "
        f"{dear[-1].arm} it costs {least}."
    ]


def _unknown(facts: Facts, found: Price) -> list[str]:
    """What cannot be known from the source."""
    says = []
    wide = [one.promise for one in found.curve if one.high - one.low > UNSURE * max(one.steady, 1e-12)]
    if facts.estimated and wide:
        width, span = facts.high - facts.low, facts.limits[1] - facts.limits[0]
        place = int(np.argmax(width))
        name, part = repr(facts.names[place]), float(np.broadcast_to(facts.open, width.shape)[place])
        lost = f"the rewards that are not known of {part:.0%} of the plays of {name}"
        what = lost if 2.0 * part * span > width[place] else f"more plays of {name}"
        says.append(f"The interval of the price of {listed(wide)} is wide; what would narrow it most: {what}.")
    if facts.estimated:
        says.append("What an arm would earn that is not in it, or after a change of prices or people, it cannot say.")
    if facts.world is not None and not found.rounds:
        says.append(f"What learning adds is not simulated for more than {BOUNDED} arms.")
    if facts.rounds and found.rounds > facts.rounds:
        ratio = number_of(facts.rounds, "decision")
        says.append(f"The source has {ratio}: what is said of rounds beyond that is an extrapolation.")
    return says
