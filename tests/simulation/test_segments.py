"""Promises by segment in simulations: as a bandit keeps them, by the same accounts, judged and measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from evenhand import Bandit, Environment, EvenhandError, Features, InfeasiblePromise, Policy, Results, compare
from evenhand.algorithms import ucb1
from evenhand.contexts import Categories, Log, Normal
from evenhand.features import Category, Flag, Number
from evenhand.policy import DeficitFirst, GuaranteedShares, LinUCB, VirtualQueue
from evenhand.rewards import Bernoulli, Linear, Table
from evenhand.simulation.stages import changes_of
from evenhand.simulation.verdicts import cases_of, verdicts
from evenhand.studies.configuration import parse
from evenhand.studies.study import Study
from evenhand.studies.sweep import sweep
from evenhand.theory.baseline import baseline_of
from tests.simulation.test_simulate import same

#: Every value of every parameter; `nox -s slow` runs all combinations.
pytestmark = pytest.mark.covering

ARMS = ("tea", "coffee", "mate")
PEOPLE = Features({"country": Category(["DE", "FR"]), "age": Number(0, 100), "new": Flag()})
SEGMENTS: dict[str, Any] = {"country": "country", "age": {"feature": "age", "cuts": [30, 65]}, "new": "new"}
SHOP = Categories({"country": {"DE": 0.7, "FR": 0.3}})
REWARDS = Linear([[0.3, 0.2, 0.0], [0.2, 0.0, 0.4], [0.2, 0.0, 0.1]])
WORLD = Environment(REWARDS, contexts=SHOP, names=ARMS, segments="country")
MATE = [{"from": 1, "fractions": {"mate": 0.2}, "segment": "FR"}]


def people(rng: np.random.Generator, number: int) -> list[dict[str, Any]]:
    country = rng.choice(["DE", "FR", "IT"], number, p=[0.5, 0.3, 0.2]).tolist()
    age, new = rng.integers(101, size=number).tolist(), (rng.random(number) < 0.3).tolist()
    return [{"country": a, "age": float(b), "new": c} for a, b, c in zip(country, age, new, strict=True)]


def terms(rng: np.random.Generator) -> dict[str, Any]:
    known: list[dict[str, Any]] = [{}, {}, {"debt": "forgive", "reason": "new"}, {"debt": "cap", "limit": 1.0}]
    return known[int(rng.integers(len(known)))]


def promises(rng: np.random.Generator, names: tuple[str, ...], horizon: int) -> list[dict[str, Any]]:
    """Changes by segment, also several in one round, and some of all rounds."""
    found: list[dict[str, Any]] = []
    for round in (1, 1, 20, 20, 50, 80):
        shares = {arm: float(rng.integers(20)) / 100.0 for arm in ARMS if rng.random() < 0.6} or {"tea": 0.05}
        taken = {one.get("segment") for one in found if one["from"] == round}
        free = [name for name in names if name not in taken]
        found.append({"from": round, "fractions": shares, "segment": free[int(rng.integers(len(free)))], **terms(rng)})
    found.append({"from": 80, "fractions": {"mate": 0.12, "tea": 0.0}, **terms(rng)})
    return [one for one in found if one["from"] <= horizon]


FAIR = {
    "first": DeficitFirst([0.1, 0.0, 0.05]),
    "tolerant": DeficitFirst(0.0, tolerance=2.0),
    "queue": VirtualQueue([0.0, 0.1, 0.0], eta=3.0),
    "auto": VirtualQueue(0.0, eta="auto"),
}


@pytest.mark.parametrize("by", SEGMENTS)
@pytest.mark.parametrize("fairness", FAIR)
@pytest.mark.parametrize("contextual", [True, False])
def test_a_run_and_a_bandit_play_alike_and_owe_the_same(by: str, fairness: str, contextual: bool) -> None:
    rng, horizon = np.random.default_rng([len(by), len(fairness), contextual]), 120
    rows, rewards = people(rng, horizon), rng.random((horizon, len(ARMS)))
    policy = Policy(LinUCB(radius=0.3) if contextual else ucb1().index, FAIR[fairness])
    world = Environment(Table(rewards), contexts=Log(rows, PEOPLE), names=ARMS, segments=SEGMENTS[by])
    assert world.partition is not None
    changes = promises(rng, world.partition.names, horizon)
    results = compare({"one": policy}, world, horizon, 1, checkpoints=horizon, promises=changes, progress=False)
    played = np.diff(results.policies["one"].pulls[:, 0], axis=0, prepend=0).argmax(axis=1)

    bandit = Bandit(list(ARMS), policy, features=PEOPLE, segments=SEGMENTS[by])
    later = changes_of(changes, ARMS, horizon)
    for round in range(1, horizon + 1):
        for one in later:
            if one.round == round:
                bandit.change(one.promise, now=float(round))
        decision = bandit.decide(rows[round - 1], now=float(round))
        (arm,) = decision.names
        assert arm == ARMS[played[round - 1]], round
        bandit.observe(decision.id, {arm: float(rewards[round - 1, ARMS.index(arm)])}, now=float(round))

    segments, counts = bandit._record.segments, results.policies["one"].segments
    assert segments is not None
    assert counts is not None
    assert (counts[0, 0] == segments.rounds[:, np.newaxis]).all()
    assert (counts[0, 1] == segments.plays).all()
    owed = np.array([segments.owed(row) for row in range(len(segments.names))])
    assert (counts[0, 4] == owed).all()
    lines = {(one.segment, one.name): one for one in bandit.audit(now=float(horizon)).bounds if one.kind == "segment"}
    table = results.segments()
    for row in table[table["share"] > 0.0].to_dict("records"):
        line = lines[row["segment"], row["arm"]]
        assert (line.rounds, line.plays, line.owed) == (row["since"], row["made"], row["missing"])


def test_several_lanes_are_as_each_alone() -> None:
    fair = {
        "first": Policy(LinUCB(radius=0.3), DeficitFirst(0.0)),
        "queue": Policy(LinUCB(radius=0.3), VirtualQueue(0.05, "auto")),
        "chance": Policy(LinUCB(radius=0.3), GuaranteedShares(0.1), "categorical"),
        "none": ucb1(),
    }
    changes = [*MATE, {"from": 40, "fractions": {"tea": 0.3}, "segment": "FR"}, {"from": 60, "fractions": {"tea": 0.1}}]
    many = run(fair, lanes=250, horizon=90, promises=changes)
    few = run(fair, lanes=100, horizon=90, promises=changes)
    for label in fair:
        whole, part = many.policies[label], few.policies[label]
        assert (whole.pulls[:, :100] == part.pulls).all()
        assert whole.segments is not None
        assert part.segments is not None
        assert (whole.segments[:100] == part.segments).all()
    same(many, run(fair, lanes=250, horizon=90, promises=changes, jobs=2))


def run(policies: Any, lanes: int = 20, horizon: int = 400, world: Environment = WORLD, **options: Any) -> Results:
    return compare(policies, world, horizon, lanes, 3, progress=False, checkpoints=10, **options)


@pytest.mark.parametrize(
    "fairness",
    [
        DeficitFirst(0.0),
        *(pytest.param(one, marks=pytest.mark.slow) for one in (VirtualQueue(0.0, 5.0), GuaranteedShares(0.0))),
    ],
)
def test_the_judge_finds_kept_what_is_kept_and_missed_what_is_not(fairness: Any) -> None:
    selection = "categorical" if isinstance(fairness, GuaranteedShares) else "top_m"
    found = run(
        {"fair": Policy(LinUCB(radius=0.3), fairness, selection), "not": ucb1()}, lanes=60, horizon=2000, promises=MATE
    )
    said = verdicts(found)
    assert said["not"].missed == ("mate in the segment FR",)
    (case,) = cases_of(found, "fair")
    assert case.share == 0.2
    assert case.judgement.verdict in ("kept", "undecided")
    if isinstance(fairness, DeficitFirst):
        assert said["fair"].to_json()["promises_kept"]
        assert said["fair"].text.startswith("fair kept its promise")
    final = found.final()
    assert final["not"]["segment_unfairness"]["mean"] > 50.0
    table = found.segments()
    missing = table[(table["policy"] == "not") & (table["share"] > 0.0)].groupby("lane")["missing"].sum()
    assert final["not"]["segment_unfairness"]["mean"] == pytest.approx(np.maximum(missing, 0.0).mean())


def test_plays_are_counted_by_segment_without_promises() -> None:
    found = run([ucb1()])
    table = found.segments()
    assert (table["share"] == 0.0).all()
    assert "segment_unfairness" not in found.measures
    assert table.groupby(["lane", "arm"], observed=True)["plays"].sum().to_numpy().reshape(20, 3).tolist() == (
        found.policies["ucb1"].pulls[-1].tolist()
    )
    assert (
        table.groupby(["lane", "segment"], observed=True)["plays"].sum()
        == (table.groupby(["lane", "segment"], observed=True)["rounds"].first())
    ).all()
    without = run([ucb1()], world=Environment(REWARDS, contexts=SHOP, names=ARMS))
    assert without.segments().empty
    assert (without.policies["ucb1"].pulls == found.policies["ucb1"].pulls).all()


@pytest.mark.parametrize("horizon", [1, 400])
def test_results_are_saved_and_run_again(tmp_path: Path, horizon: int) -> None:
    found = run({"fair": Policy(LinUCB(), DeficitFirst(0.0)), "not": ucb1()}, horizon=horizon, promises=MATE)
    found.save(tmp_path)
    loaded = Results.load(tmp_path)
    same(found, loaded)
    assert loaded.segments().equals(found.segments())
    assert {label: one.to_json() for label, one in verdicts(loaded).items()} == {
        label: one.to_json() for label, one in verdicts(found).items()
    }
    again = loaded.setup()
    repeated = compare(
        again.policies, again.environment, again.horizon, again.lanes, again.seed,
        checkpoints=again.checkpoints, promises=again.promises, progress=False,
    )  # fmt: skip
    same(found, repeated)
    assert repeated.segments().equals(found.segments())


# --- the best that keeps the promises ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("plays", [1, 2])
def test_the_optimum_is_that_of_the_program_written_out(seed: int, plays: int) -> None:
    rng = np.random.default_rng(seed)
    country, device = rng.dirichlet([2.0, 2.0, 2.0]), rng.dirichlet([2.0, 2.0])
    laws = {"country": dict(zip("abc", country.tolist(), strict=True)), "device": {"p": device[0], "q": 1 - device[0]}}
    contexts, arms = Categories(laws), 4
    world = Environment(Linear(rng.random((arms, 6)) / 3.0), contexts=contexts, segments="country")
    within, overall = rng.dirichlet(np.ones(arms + 2), 3)[:, :arms], rng.dirichlet(np.ones(arms + 4))[:arms] / 2.0
    policy = Policy(LinUCB(), VirtualQueue(overall, "auto"), {"kind": "top_m", "plays": plays})
    found = baseline_of(policy, world, within=within)

    means, chances = world.law
    place = np.argmax(contexts.law(arms)[0].situation[:, 1:4], axis=1)
    cost = -(means * chances[:, np.newaxis]).ravel()
    least, rows = [-overall], [np.kron(chances, np.eye(arms))]
    for segment in range(3):
        rows.append(np.kron(chances * (place == segment), np.eye(arms)))
        least.append(-within[segment] * chances[place == segment].sum())
    each = np.kron(np.eye(len(means)), np.ones(arms))
    best = linprog(cost, -np.vstack(rows), np.concatenate(least), each, np.full(len(means), plays), (0.0, 1.0))
    assert best.status == 0
    assert -float(np.asarray(found.best_fair)) == pytest.approx(best.fun, abs=1e-9)
    free = linprog(cost, A_eq=each, b_eq=np.full(len(means), plays), bounds=(0.0, 1.0))
    assert -float(np.asarray(found.best)) == pytest.approx(free.fun, abs=1e-9)


def test_a_policy_that_pays_where_it_is_promised_is_compared_with_the_best_that_does() -> None:
    """Mate earns .1 less than tea in DE, and .3 less than coffee in FR; a fifth of FR's rounds costs .3 · .3 · .2."""
    within = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.2]])
    found = baseline_of(ucb1(), WORLD, within=within)
    assert float(np.asarray(found.best)) - float(np.asarray(found.best_fair)) == pytest.approx(0.3 * 0.2 * 0.3)
    both = run({"fair": Policy(LinUCB(radius=0.1), DeficitFirst(0.0))}, lanes=40, horizon=3000, promises=MATE).final()
    lost = both["fair"]["regret"]["mean"] - both["fair"]["r_regret"]["mean"]
    assert lost == pytest.approx(3000 * 0.018, rel=0.02)


def test_where_contexts_are_drawn_apart_from_a_log_the_optimum_is_unknown() -> None:
    log = Log(
        [{"country": "DE"}, {"country": "FR"}], Features({"country": Category(["DE", "FR"], "error")}), order="drawn"
    )
    world = Environment(Table(np.random.default_rng(0).random((50, 3))), contexts=log, names=ARMS, segments="country")
    found = run([ucb1()], world=world, horizon=50, promises=MATE)
    assert "r_regret" in found.omitted["ucb1"]
    assert "segment_unfairness" in found.measures


# --- what is refused --------------------------------------------------------------------------------------------------


def test_segments_need_declared_features() -> None:
    with pytest.raises(EvenhandError, match="segments: needs contexts with declared features"):
        Environment(REWARDS, contexts=Normal(2), segments="country")
    with pytest.raises(EvenhandError, match="segments: needs contexts"):
        Environment(Bernoulli([0.5, 0.5]), segments="country")
    with pytest.raises(EvenhandError, match=r"there is no feature .county' of the situation; did you mean 'country'"):
        Environment(REWARDS, contexts=SHOP, segments="county")


REFUSED: list[tuple[list[dict[str, Any]], str]] = [
    ([{"from": 1, "fractions": {"mate": 0.2}}], r"promises\[0\].from must be at least 2"),
    ([{"from": 1, "fractions": {"mate": 0.2}, "segment": "IT"}], r"promises\[0\].segment: there is no segment 'IT'"),
    ([{"from": 1, "fractions": {"mat": 0.2}, "segment": "FR"}], r"promises\[0\].fractions has an unknown arm 'mat'"),
    (
        [{"from": 1, "fractions": {"mate": 2}, "segment": "FR"}],
        r"promises\[0\].fractions.mate must be a number in \[0, 1\]",
    ),
    ([MATE[0], MATE[0]], r"promises\[1\].from is 1, not after 1"),
    ([{"from": 9, "fractions": {"mate": 0.2}, "segment": "DE"}, MATE[0]], r"promises\[1\].from is 1, not after 9"),
    ([{"from": 1, "caps": {"mate": 0.2}, "segment": "FR"}], "a promise in a segment must have fractions"),
]


@pytest.mark.parametrize(("given", "fault"), REFUSED)
def test_wrong_promises_are_refused(given: list[dict[str, Any]], fault: str) -> None:
    with pytest.raises(EvenhandError, match=fault):
        run({"fair": Policy(LinUCB(), DeficitFirst(0.0))}, promises=given)


def test_what_cannot_be_kept_is_refused_before_anything_runs() -> None:
    every = [{"from": 1, "fractions": {"mate": 0.7, "tea": 0.4}, "segment": "FR"}]
    with pytest.raises(InfeasiblePromise, match=r"promised in the segment 'FR' sum to 1.1, above 1 plays per round"):
        run([ucb1()], promises=every)
    beside = [{"from": 5, "fractions": {"mate": 0.6}, "segment": "DE"}]
    with pytest.raises(InfeasiblePromise, match=r"at the frequencies of the segments: DE 70.0%, FR 30.0%"):
        run({"fair": Policy(LinUCB(), DeficitFirst([0.6, 0.0, 0.0]))}, promises=beside)
    run({"fair": Policy(LinUCB(), DeficitFirst([0.55, 0.0, 0.0]))}, promises=beside, horizon=20)
    with pytest.raises(EvenhandError, match="the environment has no segments"):
        run([ucb1()], world=Environment(REWARDS, contexts=SHOP, names=ARMS), promises=MATE)
    with pytest.raises(EvenhandError, match="promises nothing by segment"):
        run({"eta": {"algorithm": "eta_fucb", "fractions": 0.1, "eta": 0.1}}, promises=MATE)


def test_an_arm_that_sleeps_too_often_for_its_share_is_refused() -> None:
    from evenhand.availability import Joint

    world = Environment(
        REWARDS, Joint([[1, 1, 0], [1, 1, 1]], [0.9, 0.1]), contexts=SHOP, names=ARMS, segments="country"
    )
    with pytest.raises(InfeasiblePromise, match="availability"):
        run([ucb1()], world=world, promises=MATE)


# --- files ------------------------------------------------------------------------------------------------------------

TABLE: dict[str, Any] = {
    "horizon": 60,
    "lanes": 3,
    "environment": {
        "arms": list(ARMS),
        "contexts": {"kind": "categories", "categories": {"country": {"DE": 0.7, "FR": 0.3}}},
        "rewards": {"kind": "linear", "coefficients": [[0.3, 0.2, 0.0], [0.2, 0.0, 0.4], [0.2, 0.0, 0.1]]},
        "segments": "country",
    },
    "promises": [{"from": 1, "fractions": {"mate": 0.2}, "segment": "FR"}],
    "policies": [
        {"label": "fair", "index": "lin_ucb", "fairness": {"kind": "deficit_first", "fractions": 0.0}},
        {"algorithm": "ucb1"},
    ],
}


def test_a_configuration_has_segments(tmp_path: Path) -> None:
    setup = parse(TABLE, tmp_path)
    size = setup.horizon, setup.lanes, setup.seed
    found = compare(setup.policies, setup.environment, *size, promises=setup.promises, progress=False)
    (case,) = cases_of(found, "fair")
    assert (case.to, case.segment, case.judgement.verdict) == ("mate in the segment FR", "FR", "kept")


def test_a_sweep_varies_a_promise_by_segment() -> None:
    found = sweep(Study.of(TABLE, {"promises[0].fractions.mate": [0.1, 0.3]}))
    table = found.promises().query("policy == 'fair'")
    assert table["to"].tolist() == ["mate"] * 2
    assert table["segment"].tolist() == ["FR"] * 2
    assert table["share"].tolist() == [0.1, 0.3]
    assert not found.results(1).segments().empty
