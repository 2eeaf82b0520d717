"""Promises that change within a run, against a bandit that is changed alike and against plain models of the ledger."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand import Bandit, Environment, EvenhandError, InfeasiblePromise, PerLane, Results, compare
from evenhand.algorithms import (
    eta_fucb,
    explore_then_commit,
    fair_random,
    fcucb_d,
    fucb,
    group_ucb,
    lfg,
    t_fucb,
    thompson,
    ucb1,
)
from evenhand.algorithms.registry import SAMPLE, algorithms
from evenhand.changes import From, Promise
from evenhand.core.parts import plain
from evenhand.environment.rewards import Bernoulli, Table
from evenhand.merit import Power
from evenhand.policy.accounts import BILLION
from evenhand.simulation.stages import changes_of, drafts_of
from evenhand.simulation.verdicts import books_of, cases_of, verdicts
from evenhand.studies.configuration import parse
from evenhand.studies.study import Study
from evenhand.studies.sweep import sweep
from tests.simulation.test_simulate import same

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

NAMES = ("tea", "milk", "cocoa", "mate")
MEANS = [0.9, 0.5, 0.4, 0.2]
WORLD = Environment(Bernoulli(MEANS), names=NAMES, fractions=[0.1, 0.2, 0.0, 0.1])
FIRST = [0.1, 0.2, 0.0, 0.1]


def shares_in(rng: np.random.Generator, most: float = 0.9) -> dict[str, float]:
    """Shares of some arms, of which all together can be kept: hundredths, some of them 0."""
    parts = np.floor(100.0 * most * rng.dirichlet(np.ones(len(NAMES))) * (rng.random(len(NAMES)) < 0.7)) / 100.0
    return dict(zip(NAMES, parts.tolist(), strict=True))


def terms_in(rng: np.random.Generator) -> dict[str, Any]:
    kind = rng.integers(4)
    if kind == 0:
        return {"debt": "forgive", "reason": "a new season"}
    if kind == 1:
        return {"debt": "cap", "limit": float(rng.integers(4)) / 2.0}
    return {"debt": "cap", "limit_rounds": float(rng.integers(20))} if kind == 2 else {}


def promises_in(rng: np.random.Generator, horizon: int, bounds: bool) -> list[dict[str, Any]]:
    """Changes of a run, as in a configuration; with ``bounds`` also of caps and groups."""
    rounds = np.sort(rng.choice(np.arange(2, horizon), size=int(rng.integers(1, 6)), replace=False))
    found: list[dict[str, Any]] = []
    for round in rounds.tolist():
        change: dict[str, Any] = {"from": round, "fractions": shares_in(rng, 0.5 if bounds else 0.9), **terms_in(rng)}
        if bounds:
            change["caps"] = {"tea": float(rng.choice([0.5, 0.6, 0.9, 1.0]))}
            ends = rng.random() < 0.2 and bool(found) and found[-1]["groups"]["mild"] is not None
            mild = {"arms": ["milk", "mate"][: int(rng.integers(1, 3))], "at_least": float(rng.integers(3)) / 10.0}
            change["groups"] = {"mild": None if ends else mild | {"at_most": float(rng.integers(6, 9)) / 10.0}}
        found.append(change)
    return found


# --- a bandit that is changed at the same rounds ----------------------------------------------------------------------

EQUAL: dict[str, tuple[dict[str, Any], bool]] = {
    "fucb": ({}, False),
    "fair_learn": ({"tolerance": 2.0}, False),
    "eta_fucb": ({"eta": 0.1}, False),
    "soft_threshold_ucb": ({"penalties": 0.3}, False),
    "lfg": ({"eta": 5.0, "ties": "first"}, False),
    "ars_fucb": ({"size": {"kind": "power", "exponent": 1}}, False),
    "group_ucb": ({"eta": 2.0}, True),
}


@pytest.mark.parametrize("name", EQUAL)
@pytest.mark.parametrize("seed", range(8))
def test_a_run_and_a_bandit_play_alike_and_owe_the_same(name: str, seed: int) -> None:
    parameters, bounds = EQUAL[name]
    rng, horizon = np.random.default_rng([seed, len(name)]), 120
    rewards = rng.random((horizon, len(NAMES))) < MEANS
    promises = promises_in(rng, horizon, bounds)
    world = Environment(Table(rewards.astype(float)), names=NAMES)
    table = {"algorithm": name, "fractions": FIRST, **parameters}
    results = compare({"one": table}, world, horizon, lanes=1, checkpoints=horizon, promises=promises, progress=False)
    played = np.diff(results.policies["one"].pulls[:, 0], axis=0, prepend=0)

    bandit = Bandit(list(NAMES), name, fractions=FIRST, **parameters)
    later = {change["from"]: change for change in promises}
    for round in range(1, horizon + 1):
        if round in later:
            bandit.change(changes_of([later[round]], NAMES, horizon)[0].promise, now=float(round))
        decision = bandit.decide(now=float(round))
        (arm,) = (one.arm for one in decision.arms)
        assert arm == NAMES[int(played[round - 1].argmax())], round
        bandit.observe(decision.id, {arm: float(rewards[round - 1, NAMES.index(arm)])}, now=float(round))

    books, record = books_of(results, "one"), bandit._record
    assert books is not None
    promised = record.promised
    if record.policy.promises_shares:
        assert books.missing()[0, promised].tolist() == record.owed()[promised].tolist()
        balance = bandit._record.ledger.balance(
            promised, record.state.begun, np.rint(record.owed() * BILLION).astype(int), record.state.tally.pulls
        )
        due, paid, _ = books.shares()
        assert paid[0].tolist() == balance.paid.tolist()
        exact = (balance.due - balance.forgiven - balance.capped + balance.lapsed) / BILLION
        np.testing.assert_allclose(due[0], exact, atol=1e-7)
    if bounds:
        for line, accounts in zip(books.lines()[1:], _accounts(record.state.fairness), strict=True):
            assert (line.plays[0] >= 0.0).all()
            assert (record.state.round - line.rounds[0]).tolist() == accounts.rounds.tolist()


def _accounts(bounds: Any) -> tuple[Any, Any, Any]:
    return bounds.caps, bounds.groups, bounds.group_caps


# --- a plain model of the ledger --------------------------------------------------------------------------------------


class Plain:
    """An account, a round at a time, in exact fractions: what is owed, or the excess over a largest share."""

    def __init__(self, share: float | None, cap: bool = False) -> None:
        self.share, self.cap, self.owed, self.paid, self.rounds = share, cap, Fraction(0), 0, 0

    def play(self, plays: int) -> None:
        if self.share is not None:
            step = Fraction(round(self.share * 1e9), 10**9) - plays
            self.owed += -step if self.cap else step
            self.paid += plays
            self.rounds += 1

    def change(
        self, share: float | None, most: int, debt: str = "carry", limit: float | None = None, **other: Any
    ) -> None:
        if share == self.share:
            return
        if debt == "forgive":
            self.owed = Fraction(0)
        else:
            self.owed = max(self.owed, Fraction(-most))
        if debt == "cap" and limit is None and share is not None:
            limit = other["limit_rounds"] * share
        if debt == "cap" and limit is not None:
            self.owed = min(self.owed, Fraction(limit).limit_denominator(10**9))
        self.share = share


def positive(share: float | None) -> float | None:
    return share or None


def ledger_of(
    played: Any, promises: list[dict[str, Any]], by_chance: bool = False
) -> tuple[dict[str, Plain], dict[str, Plain], list[Any], list[Any]]:
    """The accounts of arms and bounds after some rounds of one lane, and what arms were owed and promised in each."""
    arms = {name: Plain(positive(share)) for name, share in zip(NAMES, FIRST, strict=True)}
    bounds: dict[str, Plain] = {"tea": Plain(None, cap=True), "at least": Plain(None), "at most": Plain(None, cap=True)}
    members, horizon = list[str](), len(played)
    later, owed, shares = {change["from"]: change for change in promises}, [], []
    for round, plays in enumerate(played, start=1):
        if round in later:
            change = dict(later[round])
            del change["from"]
            change.pop("reason", None)
            fractions, caps, groups = change.pop("fractions"), change.pop("caps", None), change.pop("groups", None)
            for name, share in fractions.items():
                arms[name].change(positive(share), horizon if by_chance else 1, **change)
            if caps is not None:
                bounds["tea"].change(caps["tea"] if caps["tea"] < 1.0 else None, 1, **change)
            if groups is not None:
                mild = groups["mild"] or {"arms": members, "at_least": 0.0, "at_most": None}
                members = mild["arms"]
                bounds["at least"].change(positive(mild["at_least"]), 1, **change)
                bounds["at most"].change(mild["at_most"], 1, **change)
        made = dict(zip(NAMES, plays.tolist(), strict=True))
        for name, account in arms.items():
            account.play(made[name])
        bounds["tea"].play(made["tea"])
        for name in ("at least", "at most"):
            bounds[name].play(sum(made[arm] for arm in members))
        owed.append([float(account.owed) for account in arms.values()])
        shares.append([account.share or 0.0 for account in arms.values()])
    return arms, bounds, owed, shares


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2, 3))])
def test_measures_and_books_are_those_of_a_plain_ledger(part: int) -> None:
    """200 random histories of policies that keep promises, by count or by chance, and of one that makes none."""
    judged = 0
    for seed in range(50 * part, 50 * part + 50):
        rng = np.random.default_rng(seed)
        horizon, bounds = int(rng.integers(20, 60)), seed % 2 == 0
        promises = promises_in(rng, horizon, bounds)
        kinds = (
            [group_ucb(FIRST, eta=3.0)]
            if bounds
            else [fucb(FIRST), fair_random(FIRST), ucb1(), eta_fucb(FIRST, eta=0.1)]
        )
        policy = kinds[seed // 2 % len(kinds)]
        rounds = list(range(1, horizon + 1))
        results = compare([policy], WORLD, horizon, 2, seed, checkpoints=rounds, promises=promises, progress=False)
        (result,) = results.policies.values()
        books = books_of(results, policy.name)
        assert books is not None
        due, paid, lasted = books.shares()
        for lane in range(2):
            played = np.diff(result.pulls[:, lane], axis=0, prepend=0)
            arms, of_bounds, owed, shares = ledger_of(played, promises, policy.name == "fair_random")
            for arm, account in enumerate(arms.values()):
                assert (paid[lane, arm], lasted[arm]) == (account.paid, account.rounds)
                assert due[lane, arm] == pytest.approx(float(account.paid + account.owed), abs=1e-7)
            behind = np.maximum(owed, 0.0)
            np.testing.assert_allclose(result.curves["unfairness"][:, lane], behind.sum(axis=1), atol=1e-7)
            furthest = np.maximum.accumulate(behind.max(axis=1))
            np.testing.assert_allclose(
                np.maximum(result.curves["violation"][:, lane], 0.0), behind.max(axis=1), atol=1e-7
            )
            np.testing.assert_allclose(np.maximum(result.curves["max_violation"][:, lane], 0.0), furthest, atol=1e-7)
            if bounds:
                for line, (name, account) in zip(books.lines()[1:], of_bounds.items(), strict=True):
                    if account.share is not None:
                        assert line.missing[lane, 0] == pytest.approx(float(account.owed), abs=1e-7), (seed, name)
                        judged += 1
            else:
                best = MEANS[0] + np.cumsum(np.array(shares) @ (np.array(MEANS) - MEANS[0])) / np.arange(1, horizon + 1)
                regret = best * np.arange(1, horizon + 1) - result.pulls[:, lane] @ MEANS
                np.testing.assert_allclose(result.curves["r_regret"][:, lane], regret, atol=1e-9)
    assert judged > 50


@pytest.mark.parametrize("bounds", [False, True])
def test_verdicts_speak_of_the_whole_ledger(bounds: bool) -> None:
    """What is missing of each promise is the mean of its account over the lanes; by chance no advance lapses."""
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        promises = promises_in(rng, 40, bounds)
        policy = group_ucb(FIRST, eta=3.0) if bounds else (fucb(FIRST), fair_random(FIRST))[seed % 2]
        results = compare([policy], WORLD, 40, 3, seed, checkpoints=40, promises=promises, progress=False)
        (result,) = results.policies.values()
        by_chance, pulls = policy.name == "fair_random", np.diff(result.pulls, axis=0, prepend=0)
        ledgers = [ledger_of(pulls[:, lane], promises, by_chance)[:2] for lane in range(3)]
        for case in cases_of(results, policy.name):
            name = case.subject
            if name in NAMES and not case.cap:
                accounts = [arms[name] for arms, _ in ledgers]
            else:
                key = "tea" if name == "tea" else "at most" if case.cap else "at least"
                accounts = [of_bounds[key] for _, of_bounds in ledgers]
            missing = [float(account.owed) for account in accounts]
            assert case.judgement.behind == pytest.approx(np.mean(missing), abs=1e-7), (seed, name)
            assert case.share == pytest.approx(accounts[0].share)
            due = case.judgement.behind * (-1.0 if case.cap else 1.0) + np.mean([account.paid for account in accounts])
            if not case.cap and name in NAMES:
                assert case.judgement.tolerance == pytest.approx(max(1.0, 0.01 * due))
            seen.add((name, case.cap))
    assert len(seen) == (4 + 1 + 2 if bounds else 4)


# --- what a run with changes has in common with others ----------------------------------------------------------------

CHANGES: list[Any] = [
    {"from": 21, "fractions": [0.1, 0.3, 0.2, 0.0]},
    From(61, Promise({"mate": 0.3}, debt="cap", limit=1.0)),
]
SEVERAL = {"fucb": fucb(FIRST), "lfg": lfg(FIRST, eta=5.0), "ucb1": ucb1(), "chance": fair_random(FIRST)}


def run(policies: Any = None, world: Environment = WORLD, **options: Any) -> Results:
    given: dict[str, Any] = {"horizon": 100, "lanes": 5, "seed": 3, "checkpoints": 4, "progress": False}
    return compare(policies or SEVERAL, world, **{"promises": CHANGES, **given, **options})


def test_equal_promises_are_no_change() -> None:
    """A change to what is promised already changes no bit, but for the rounds that are looked at."""
    equal = [{"from": 26, "fractions": FIRST}, {"from": 51, "fractions": {"tea": 0.1}}]
    same(run(promises=equal), run(promises=()))


def test_the_rounds_before_a_change_are_looked_at_and_change_nothing() -> None:
    few, many = run(), run(checkpoints=100)
    assert few.rounds.tolist() == [20, 25, 50, 60, 75, 100]
    for label, result in few.policies.items():
        other = many.policies[label]
        assert (result.pulls == other.pulls[few.rounds - 1]).all()
        for name, curve in result.curves.items():
            np.testing.assert_array_equal(curve, other.curves[name][few.rounds - 1])


def test_processes_and_blocks_of_lanes_change_nothing() -> None:
    same(run(lanes=203), run(lanes=203, jobs=2))
    shares = PerLane(np.where(np.arange(203)[:, np.newaxis] < 150, FIRST, [0.1, 0.1, 0.3, 0.0]))
    policies = {"fucb": fucb(shares), "lfg": lfg(shares, eta=5.0)}
    one, other = (run(policies, lanes=203, jobs=jobs) for jobs in (1, 2))
    same(one, other)
    first = run({"fucb": fucb(FIRST), "lfg": lfg(FIRST, eta=5.0)}, lanes=203)
    for label in policies:
        assert (one.policies[label].pulls[:, :100] == first.policies[label].pulls[:, :100]).all()


@pytest.mark.parametrize("make", [fucb, lfg])
def test_a_share_that_changes_in_some_lanes_only_keeps_the_account_of_the_others(make: Any) -> None:
    """Lanes in which milk has the new share already go on as those of a run without the change."""
    options = {"eta": 8.0} if make is lfg else {}
    rows = PerLane([[0.1, 0.3, 0.1, 0.1], [0.1, 0.1, 0.1, 0.1]])
    later = [{"from": 41, "fractions": {"milk": 0.3}}]
    changed = run({"one": make(rows, **options)}, lanes=2, promises=later).policies["one"]
    never = run({"one": make(rows, **options)}, lanes=2, promises=(), checkpoints=[25, 40, 50, 75]).policies["one"]
    assert (changed.pulls[:, 0] == never.pulls[:, 0]).all()
    assert (changed.pulls[-1, 1] != never.pulls[-1, 1]).any()


def test_results_are_saved_with_their_promises_and_run_again(tmp_path: Path) -> None:
    results = run()
    results.save(tmp_path)
    loaded = Results.load(tmp_path)
    assert [one.to_json() for one in verdicts(loaded).values()] == [one.to_json() for one in verdicts(results).values()]
    again = loaded.setup()
    assert [one.round for one in again.promises] == [21, 61]
    same(
        results,
        compare(again.policies, again.environment, 100, 5, 3, checkpoints=again.checkpoints, promises=again.promises),
    )
    assert [one.round for one in loaded.setup(horizon=50).promises] == [21]
    frame = results.arms()
    rows = frame[(frame.policy == "fucb") & (frame.lane == 0) & (frame.arm == "milk")]
    assert rows.promised.tolist() == [0.2, 0.3, 0.3, 0.3, 0.3, 0.3]
    assert results.promised["ucb1"] == pytest.approx(np.array([0.1, 0.28, 0.16, 0.14]))  # the mean over the rounds


def test_a_configuration_is_the_same_run() -> None:
    config: dict[str, Any] = {
        "horizon": 100,
        "lanes": 5,
        "seed": 3,
        "checkpoints": 4,
        "environment": {"rewards": {"kind": "bernoulli", "means": MEANS}, "arms": list(NAMES), "fractions": FIRST},
        "promises": [CHANGES[0], {"from": 61, "fractions": {"mate": 0.3}, "debt": "cap", "limit": 1}],
        "policies": ["fucb", "ucb1"],
    }
    setup = parse(config)
    size = setup.horizon, setup.lanes, setup.seed
    results = compare(setup.policies, setup.environment, *size, checkpoints=4, promises=setup.promises)
    same(results, run(), ["fucb", "ucb1"])
    study = Study.of(config, {"promises[1].fractions.mate": [0.3, 0.4]})
    found = sweep(study)
    assert found.results(0).final()["ucb1"]["unfairness"] == results.final()["ucb1"]["unfairness"]
    assert found.results(1).final()["ucb1"]["unfairness"]["mean"] > results.final()["ucb1"]["unfairness"]["mean"]
    promises = found.promises()
    behind = promises[(promises.setting == 0) & (promises.policy == "ucb1") & (promises.to == "mate")].behind
    assert behind.item() == pytest.approx(verdicts(results)["ucb1"].missing[3])  # type: ignore[index]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("promises", "message"),
    [
        ([{"fractions": FIRST}], r"promises\[0\].from is missing"),
        ([{"from": 1, "fractions": FIRST}], r"promises\[0\].from must be at least 2, got 1"),
        ([{"from": 101, "fractions": FIRST}], r"promises\[0\].from is 101, but the run has only 100 rounds"),
        ([{"from": 9, "caps": 0.5}, {"from": 9, "caps": 0.6}], r"promises\[1\].from is 9, not after 9"),
        ([{"from": 9, "fraction": FIRST}], r"promises\[0\]: unknown 'fraction'; did you mean 'fractions'\?"),
        ([{"from": 9, "fractions": [0.1, 0.2]}], r"promises\[0\].fractions has 2 entries, but there are 4 arms"),
        (
            [{"from": 9, "fractions": {"tee": 0.1}}],
            r"promises\[0\].fractions has an unknown arm 'tee'; did you mean 'tea'",
        ),
        ([{"from": 9, "fractions": {"tea": 1.5}}], r"promises\[0\].fractions.tea must be a number in \[0, 1\]"),
        ([{"from": 9}], r"promises\[0\]: a promise must have at least one of fractions, caps and groups"),
        ([{"from": 9, "fractions": FIRST, "debt": "forgive"}], r"promises\[0\]: debt 'forgive' needs a reason"),
        (
            [{"from": 9, "caps": {"tea": 0.5}}],
            r"promises\[0\]: from round 9 on: 'fucb' promises no caps that could change",
        ),
        ([{"from": 9, "groups": [{"arms": ["tea"]}]}], r"promises\[0\].groups\[0\] must be a table with a name"),
        ("fucb", r"promises\[0\] must be a table such as .*, got 'fucb'"),
    ],
)
def test_changes_that_are_none(promises: Any, message: str) -> None:
    with pytest.raises(EvenhandError, match=message):
        run(promises=promises)


def test_a_fixed_schedule_is_refused_by_name_but_not_where_nothing_is_promised() -> None:
    with pytest.raises(
        EvenhandError, match=r"promises\[0\]: from round 21 on: 'fixed' follows a schedule that is fixed"
    ):
        run({"fixed": t_fucb(FIRST, horizon=100)})
    run({"baseline": explore_then_commit(pulls=5)})


def test_promises_that_cannot_be_kept_are_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.simulation.simulate.run_block", None)
    message = r"from round 21 on \('fucb'\): the promised shares of 'fucb' cannot be kept: arms 'tea', 'milk' together"
    with pytest.raises(InfeasiblePromise, match=message):
        run(promises=[{"from": 21, "fractions": [0.6, 0.6, 0.0, 0.0]}])
    with pytest.raises(InfeasiblePromise, match=r"from round 21 on \('chance'\): fractions sum to 1.2"):
        run({"chance": SEVERAL["chance"]}, promises=[{"from": 21, "fractions": [0.6, 0.6, 0.0, 0.0]}])
    later = [{"from": 9, "groups": {"mild": {"arms": ["milk", "mate"], "at_most": 0.2}}}]
    with pytest.raises(
        InfeasiblePromise, match=r"from round 9 on \('group_ucb'\): the promises.* cannot be kept.*'mild'"
    ):
        run({"group_ucb": group_ucb(FIRST)}, promises=later)


def test_merit_and_policies_without_a_promise_are_measured_only() -> None:
    policies = {"merit": fcucb_d(Power(2.0, 4.0), horizon=100), "sampling": thompson()}
    changed, never = run(policies), run(policies, promises=(), checkpoints=[20, 25, 50, 60, 75])
    for label in policies:
        assert (changed.policies[label].pulls == never.policies[label].pulls).all()
    np.testing.assert_array_equal(changed.promised["merit"], never.promised["merit"])
    unpromised = Environment(Bernoulli(MEANS), names=NAMES)
    assert run(policies, unpromised).final()["sampling"]["unfairness"]["mean"] > 0.0


@pytest.mark.parametrize("name", sorted(name for name, one in algorithms().items() if "fractions" in one.parameters))
def test_a_changed_policy_is_the_one_that_would_be_made_with_these_shares(name: str) -> None:
    entry = algorithms()[name]
    policy = entry.example()
    if not policy.schedule.traits.flexible:
        return
    world = Environment(Bernoulli([0.9, 0.5]))
    drafts = drafts_of(policy, world, changes_of([{"from": 2, "fractions": [0.25, 0.125]}], world.names, 9), name)
    needed = [one for one, parameter in entry.parameters.items() if parameter.default is parameter.empty]
    values = {one: SAMPLE[one] for one in needed} | {"fractions": [0.25, 0.125]}
    made, changed = plain(entry.build(**values)), plain(drafts[1].policy)
    assert changed == made
