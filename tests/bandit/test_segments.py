"""Promises in segments of the rounds: each segment has its own clock, and its promises are judged as all others."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from evenhand import Bandit, EvenhandError, Features, InfeasiblePromise
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.health import due
from evenhand.bandit.decisions import decide, decided_again
from evenhand.bandit.replay import Recorder as Recorder
from evenhand.bandit.replay import replay_alarm, replay_change, replay_decision, replay_memory, replay_rewards
from evenhand.bandit.segments import Segments
from evenhand.changes import AddArm, Promise, Redeclare, Retire
from evenhand.evaluation import price
from evenhand.features import Category, Flag, Number, Vector
from evenhand.policy.segments import infeasible
from tests.bandit.audit.contradictions import contradictions

ARMS = ["tea", "coffee", "mate"]
PEOPLE = Features(
    {"country": Category(["DE", "FR"]), "age": Number(0, 100, missing=40), "new": Flag(), "query": Vector(2)}
)
NOTHING_OWED = "No arm is owed more than a play under a promise, so there is nothing to make up"
MEANS = {"tea": 0.8, "coffee": 0.3, "mate": 0.1}
FIRST = {"kind": "deficit_first", "fractions": 0.0}
QUEUE = {"kind": "virtual_queue", "fractions": 0.0, "eta": "auto"}


def of(fairness: Any = FIRST, segments: Any = "country", parts: Any = (), **options: Any) -> Bandit:
    policy = {"index": {"kind": "lin_ucb", "radius": 0.3}, "fairness": fairness, **dict(parts)}
    return Bandit(ARMS, policy, features=PEOPLE, segments=segments, **options)


def segments_of(bandit: Bandit) -> Segments:
    assert bandit._record.segments is not None
    return bandit._record.segments


def someone(country: str = "DE", age: float | None = 30.0, new: bool = False) -> dict[str, Any]:
    return {"country": country, "age": age, "new": new, "query": [0.0, 1.0]}


def live(bandit: Bandit, rounds: int, seed: int = 0, asleep: dict[str, str] | None = None) -> Bandit:
    """Rounds of three countries; in one an arm may always be asleep."""
    rng = np.random.default_rng(seed)
    for now in range(rounds):
        country = str(rng.choice(["DE", "FR", "IT"], p=[0.2, 0.3, 0.5]))
        able = [arm for arm in bandit.names if arm not in bandit.retired and (asleep or {}).get(country) != arm]
        decision = bandit.decide(someone(country, float(rng.random() * 100.0)), available=able, now=float(now))
        reward = {arm: float(rng.random() < MEANS.get(arm, 0.5)) for arm in decision.names}
        bandit.observe(decision.id, reward, now=float(now))
    return bandit


# --- Segments ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("country", ("DE", "FR", "other")),
        ({"feature": "country"}, ("DE", "FR", "other")),
        ("new", ("not new", "new")),
        ({"feature": "age", "cuts": [18, 65]}, ("age below 18", "age 18 to 65", "age 65 and above")),
    ],
)
def test_a_feature_divides_the_rounds(given: Any, names: tuple[str, ...]) -> None:
    assert Segments(given, PEOPLE, 3).names == names


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("county", "there is no feature 'county' of the situation; did you mean 'country'"),
        (3, "must be the name of a feature"),
        ({"feature": ["age"], "cuts": [18]}, "must be the name of a feature"),
        ({"feature": "age", "cuts": 18}, "must be the name of a feature, or a table such as"),
        ({"feature": "age", "cuts": None}, "must be the name of a feature, or a table such as"),
        ({"feature": "age", "cut": 3}, "must be the name of a feature"),
        ("age", r"segments: 'age' is a number, .* cuts: give a table such as \{.feature.: .age., .cuts.: \[50.0\]\}"),
        ({"feature": "age", "cuts": [65, 18]}, "in increasing order"),
        ({"feature": "age", "cuts": [18, 18]}, "in increasing order"),
        ({"feature": "age", "cuts": [0, 18]}, "in increasing order"),
        ({"feature": "age", "cuts": [18, 118]}, r"must be a number in \[0, 100\]"),
        ({"feature": "country", "cuts": [1]}, "cuts must be left out: 'country' is not a number"),
        ("query", "'query' has no segments"),
    ],
)
def test_what_is_no_partition_is_refused(given: Any, fault: str) -> None:
    with pytest.raises(EvenhandError, match=fault):
        of(segments=given)


def test_segments_need_features() -> None:
    with pytest.raises(EvenhandError, match="segments needs a declaration of the features"):
        Bandit(ARMS, "ucb1", segments="country")


@pytest.mark.parametrize(("age", "place"), [(17.999, 0), (18.0, 1), (None, 1), (64.0, 1), (65.0, 2), (300.0, 2)])
def test_a_cut_begins_a_segment_and_a_missing_number_has_its_stated_value(age: float | None, place: int) -> None:
    bandit = of(segments={"feature": "age", "cuts": [18, 65]})
    bandit.decide(someone(age=age))
    assert segments_of(bandit).rounds.tolist() == [float(at == place) for at in range(3)]


def test_rounds_plays_and_rewards_are_counted_by_segment() -> None:
    bandit = of(rewards=(0.0, 10.0))
    for country, reward in (("DE", 7.0), ("FR", 3.0), ("XX", 1.0), ("DE", 2.0)):
        decision = bandit.decide(someone(country), available=["coffee"])
        bandit.observe(decision.id, {"coffee": reward})
    segments = segments_of(bandit)
    assert segments.rounds.tolist() == [2.0, 1.0, 1.0]
    assert segments.plays[:, 1].tolist() == [2.0, 1.0, 1.0]
    assert segments.known[:, 1].tolist() == [2.0, 1.0, 1.0]
    assert segments.sums[:, 1].tolist() == [9.0, 3.0, 1.0]


# --- Promises ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fairness", [FIRST, QUEUE, {"kind": "virtual_queue", "fractions": 0.0, "eta": 2}])
def test_promises_in_segments_are_kept_each_by_its_own_clock(fairness: Any) -> None:
    bandit = of(fairness)
    bandit.change(Promise({"mate": 0.3, "coffee": 0.1}, segment="DE"))
    bandit.promise({"coffee": 0.2}, segment="FR")
    live(bandit, 1500)
    segments, allowed = segments_of(bandit), Account(bandit._record).keeping_within.owed_at_most(1500)
    assert (segments.worst.max(axis=1)[:2] <= max(allowed, 1.0)).all()
    shares = segments.plays / segments.rounds[:, np.newaxis]
    assert shares[0, 2] > 0.15
    assert shares[0, 1] > 0.02
    assert shares[1, 1] > 0.14
    assert shares[2, 0] > 0.9  # nothing is promised there, and tea is best
    assert shares[1, 2] < 0.05
    assert segments.rounds.sum() == 1500.0


def test_a_policy_without_features_can_promise_by_segment() -> None:
    bandit = Bandit(ARMS, "fucb", fractions=0.0, features=PEOPLE, segments="new")
    bandit.promise({"mate": 0.5}, segment="new")
    for now in range(400):
        decision = bandit.decide(someone(new=now % 4 == 0), now=0.0)
        bandit.observe(decision.id, {decision.names[0]: MEANS[decision.names[0]]}, now=0.0)
    segments = segments_of(bandit)
    assert segments.worst[1, 2] <= 1.0
    assert segments.plays[1, 2] >= 50
    assert segments.plays[0, 2] < 50


def test_the_audit_judges_a_promise_in_a_segment_as_all_others() -> None:
    bandit = of()
    bandit.change(Promise({"mate": 0.3}, segment="DE", reason="tried in Germany"))
    live(bandit, 600)
    audit = bandit.audit(now=600.0)
    (line,) = audit.bounds
    segments = segments_of(bandit)
    assert (line.name, line.kind, line.segment, line.at_least, line.verdict) == ("mate", "segment", "DE", 0.3, "kept")
    assert (line.rounds, line.plays) == (segments.rounds[0], segments.plays[0, 2])
    assert line.owed == pytest.approx(0.3 * line.rounds - line.plays)
    assert audit.verdict.startswith("The promise is kept")
    assert "mate in DE" in str(audit)
    (entry,) = audit.ledger
    assert (entry.name, entry.segment, entry.kind, entry.rounds) == ("mate", "DE", "segment", line.rounds)
    assert audit.changes_made[-1].text == "the promised share of mate changed from 0% to 30% in the segment DE"


def test_a_promise_that_is_missed_in_a_segment_is_found_missed_and_stated() -> None:
    bandit = of()
    bandit.promise({"mate": 0.3}, segment="DE")
    live(bandit, 400, asleep={"DE": "mate"})
    audit = bandit.audit(now=400.0)
    assert audit.bounds[0].verdict == "missed"
    assert "mate in the segment DE is" in audit.verdict
    assert bandit.health(now=400.0).status != "good"
    alarms = due(Account(bandit._record))
    ((facts,),) = alarms.values()
    assert (facts["promise"], facts["segment"], facts["arm"], facts["share"]) == ("segment", "DE", "mate", 0.3)
    replay_alarm(bandit._record, "promise.behind", [facts], 400.0)
    assert not due(Account(bandit._record))
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert again.dump() == bandit.dump()
    (alarm,) = again.audit(now=400.0).alarms
    assert (alarm.name, alarm.segment) == ("mate", "DE")
    again.promise({"mate": 0.0}, segment="DE", debt="forgive", reason="never there")
    assert list(due(Account(again._record))) == ["promise.ended"]


def test_nobody_says_that_nothing_is_promised_or_behind_where_something_is_in_a_segment() -> None:
    bandit = of({"kind": "deficit_first", "fractions": [0.0, 0.1, 0.0]})
    bandit.promise({"mate": 0.3, "coffee": 0.2}, segment="FR")
    live(bandit, 400, asleep={"FR": "mate"})
    audit, health = bandit.audit(now=400.0), bandit.health(now=400.0)
    tea, coffee, mate = (line.reason for line in audit.lines)
    assert tea.startswith("Nothing is promised to it. ")
    assert "It has the 10% that it was promised. It is promised 20% in the segment FR." in coffee
    asleep = (
        "It is promised 30% in the segment FR, where it is 29.1 plays behind and could play in 0% of the rounds only."
    )
    assert mate.startswith(f"Nothing is promised to it over all rounds. {asleep} It could play in 7")
    assert audit.deficit_history is not None
    assert audit.deficit_history.note == ""  # no arm was ever more than a play behind its promise for all rounds
    assert (audit.furthest, audit.behind) == ("mate in the segment FR", health.behind)
    assert list(contradictions(audit, health)) == []


def test_what_waits_for_a_next_promise_in_a_segment_is_said() -> None:
    bandit = of()
    bandit.promise({"mate": 0.3}, segment="FR")
    live(bandit, 300, asleep={"FR": "mate"})
    bandit.promise({"mate": 0.0}, segment="FR")
    audit, health = bandit.audit(now=300.0), bandit.health(now=300.0)
    waits = "mate in the segment FR is owed 23.1 plays, which wait for its next promise."
    assert audit.verdict == f"No share is promised to any arm. {waits}"
    assert health.status == "attention"
    assert health.behind == pytest.approx(23.1)
    assert audit.furthest == "mate in the segment FR"
    waiting = "It is owed 23.1 plays in the segment FR, waiting for its next promise there."
    assert [waiting in line.reason for line in audit.lines] == [False, False, True]
    assert list(contradictions(audit, health)) == []
    bandit.retire("mate")
    assert bandit.health(now=300.0).status == "good"


@pytest.mark.parametrize("index", ["lin_ucb", "ucb"])
def test_what_a_change_would_do_knows_what_is_owed_and_promised_in_segments(index: str) -> None:
    bandit = Bandit(ARMS, {"index": index, "fairness": FIRST}, features=PEOPLE, segments="country", seed=1)
    bandit.promise({"mate": 0.3}, segment="FR")
    live(bandit, 300, asleep={"FR": "mate"})
    cost = bandit.audit(now=300.0).cost
    assert cost is not None
    assert cost.per_round is None
    assert "evenhand price finds" in cost.note
    for change in (Promise({"mate": 0.5}, segment="FR"), Promise({"coffee": 0.1}), AddArm("cocoa", fraction=0.1)):
        effect = bandit.plan(change).effect
        assert effect is not None
        assert effect.text[-1] == "In segments these are owed: mate in the segment FR 23.1 plays."
        assert "would cost nothing" not in effect.text[0]
        assert effect.shares == ()
    for ending in (Promise({"mate": 0.0}, segment="FR"), Retire("mate")):
        effect = bandit.plan(ending).effect
        assert effect is not None
        assert effect.text == ("The promises would cost nothing.", f"{NOTHING_OWED}.")


def test_a_price_says_that_promises_in_segments_are_left_out() -> None:
    bandit = Bandit(ARMS, "fucb", fractions=0.1, features=PEOPLE, segments="country")
    live(bandit, 50)
    left_out = "What is promised in segments is left out: these are prices of shares of all rounds alone."
    assert left_out not in price(bandit, [0.1]).assumptions
    bandit.promise({"mate": 0.3}, segment="FR")
    assert left_out in price(bandit, [0.1]).assumptions


def test_what_cannot_be_kept_by_the_frequencies_needs_attention() -> None:
    bandit = of({"kind": "deficit_first", "fractions": [0.0, 0.0, 0.5]})
    bandit.promise({"tea": 0.9}, segment="other")
    bandit.decide(someone("IT"), now=1.0)
    audit, health = bandit.audit(now=1.0), bandit.health(now=1.0)
    assert "cannot be kept together at the frequencies" in audit.fault
    assert (health.status, health.text.lower()) == ("attention", f"{audit.fault.lower()}.")


def test_promises_for_all_rounds_and_for_a_segment_are_both_kept() -> None:
    bandit = of({"kind": "deficit_first", "fractions": [0.0, 0.25, 0.0]})
    bandit.promise({"mate": 0.4}, segment="FR")
    live(bandit, 1200)
    segments, record = segments_of(bandit), bandit._record
    assert segments.worst[1, 2] <= 4.0
    assert record.worst()[1] <= 4.0
    assert [line.verdict for line in bandit.audit(now=1200.0).lines][1] == "kept"


@pytest.mark.parametrize("kind", ["guaranteed_shares", "floor_shares"])
def test_chances_of_a_segment_are_at_least_its_shares(kind: str) -> None:
    index = "beta_sample" if kind == "guaranteed_shares" else "best_chance"
    table = {
        "index": index,
        "fairness": {"kind": kind, "fractions": [0.0, 0.1, 0.0]},
        "selection": {"kind": "categorical"},
    }
    bandit = Bandit(ARMS, table, features=PEOPLE, segments="country", seed=3)
    bandit.promise({"mate": 0.3}, segment="DE")
    for country in ("DE", "FR") * 50:
        decision = bandit.decide(someone(country), now=0.0)
        bandit.observe(decision.id, {decision.names[0]: MEANS[decision.names[0]]}, now=0.0)
    plays = segments_of(bandit).plays
    assert plays[0, 2] / 50 > 0.15
    assert plays[1, 2] / 50 < 0.25
    with pytest.raises(InfeasiblePromise, match="the larger of its shares and the overall ones sum"):
        bandit.promise({"mate": 0.95}, segment="DE")


# --- Asleep in a segment ----------------------------------------------------------------------------------------------


def test_the_audit_tells_asleep_in_a_segment_from_behind() -> None:
    """Awake in FR, mate sleeps in three of four rounds of DE, so that half of these cannot be its own."""
    bandit = of()
    bandit.promise({"mate": 0.5}, segment="DE")
    bandit.promise({"coffee": 0.2}, segment="FR")
    for now in range(160):
        country, asleep = ("DE", "FR")[now % 2], now % 8 in (0, 2, 4)
        bandit.decide(someone(country), available=ARMS[:2] if asleep else ARMS, now=float(now))
    audit, health = bandit.audit(now=160.0), bandit.health(now=160.0)
    fault = (
        "with the recent availability, the promised shares of the segment DE cannot be kept: arm 'mate' is promised "
        "0.5 of the rounds but can play in at most 0.25 (plays = 1 and the given availability); that is 0.25 too much"
    )
    assert audit.fault == fault
    assert (health.status, health.text) == ("bad", f"W{fault[1:]}.")
    assert [(line.name, line.verdict, line.available) for line in audit.bounds] == [
        ("mate", "missed", 0.25),
        ("coffee", "kept", 1.0),
    ]
    assert (
        "It is promised 50% in the segment DE, where it is 20 plays behind and could play in 25% of the rounds only."
        in audit.lines[2].reason
    )
    assert "It is promised 20% in the segment FR. " in audit.lines[1].reason
    assert list(contradictions(audit, health)) == []
    again = Bandit.restored(json.loads(json.dumps(bandit.dump())))
    assert again.audit(now=160.0) == audit
    again.add("cocoa", now=160.0)  # of which it is unknown whether it could have played
    assert again.audit(now=160.0).fault == ""


def test_what_sleeps_elsewhere_is_no_fault_of_a_segment() -> None:
    bandit = of()
    bandit.promise({"mate": 0.5}, segment="DE")
    live(bandit, 200, asleep={"FR": "mate", "IT": "mate"})
    audit = bandit.audit(now=200.0)
    assert audit.fault == ""
    assert audit.bounds[0].available == 1.0
    assert audit.lines[2].available == pytest.approx(segments_of(bandit).rounds[0] / 200.0)


def test_promises_for_all_rounds_and_in_a_segment_are_held_against_availability_together() -> None:
    """tea can play in half of the rounds, those of DE, in which coffee is promised all: each could be kept alone."""
    bandit = of({"kind": "deficit_first", "fractions": [0.4, 0.0, 0.0]})
    bandit.promise({"coffee": 0.9}, segment="DE")
    for now in range(100):
        at_home = now % 2 == 0
        bandit.decide(someone("DE" if at_home else "FR"), available=ARMS if at_home else ARMS[1:], now=float(now))
    audit, health = bandit.audit(now=100.0), bandit.health(now=100.0)
    together = "the shares promised by segment and those of all rounds cannot be kept together"
    assert audit.fault == f"with the recent availability, {together}"
    assert health.status == "bad"
    bandit.promise({"coffee": 0.2}, segment="DE")
    assert bandit.audit(now=100.0).fault == ""


def test_an_arm_counts_in_a_segment_from_when_it_was_added_and_segments_move_with_another_declaration() -> None:
    bandit = live(of(), 60)
    bandit.add("cocoa", now=60.0)
    bandit.promise({"cocoa": 0.3}, segment="DE")
    assert bandit.audit(now=60.0).bounds[0].available is None
    for now in range(10):
        bandit.decide(someone("DE"), available=ARMS if now < 5 else None, now=60.0)
    assert bandit.audit(now=60.0).bounds[0].available == 0.5
    fault = bandit.audit(now=60.0).fault
    wider = Features(
        {"country": Category(["AT", "DE", "FR"]), "age": Number(0, 100, missing=40), "new": Flag(), "query": Vector(2)}
    )
    bandit.change(Redeclare(wider))
    assert bandit.audit(now=60.0).bounds[0].available == 0.5
    assert bandit.audit(now=60.0).fault == fault
    bandit.promise({"cocoa": 0.6}, segment="DE")
    assert "the segment DE cannot be kept: arm 'cocoa' is promised 0.6" in bandit.audit(now=60.0).fault


def test_a_promise_in_a_segment_that_was_not_due_a_play_has_not_begun() -> None:
    """As one for all rounds: it began late, or its arm could never play."""
    bandit = live(of(), 40)
    bandit.promise({"mate": 0.1}, segment="DE")
    assert bandit.audit(now=40.0).verdict == "No promise has been due more than a play yet."
    bandit.decide(someone("DE"), available=["tea"], now=40.0)
    audit = bandit.audit(now=40.0)
    assert (audit.verdict, audit.bounds[0].verdict) == ("No promise has been due more than a play yet.", None)
    for _ in range(11):
        bandit.decide(someone("DE"), available=["tea"], now=40.0)
    assert bandit.audit(now=40.0).bounds[0].verdict == "missed"
    fresh = of()
    fresh.promise({"mate": 0.3}, segment="FR")
    fresh.decide(someone("FR"), available=["tea"], now=0.0)
    assert fresh.audit(now=0.0).verdict == "No promise has been due more than a play yet."  # it could never play
    fresh.decide(someone("FR"), now=0.0)
    assert fresh.audit(now=0.0).verdict == "The promise is kept."


# --- What can be kept -------------------------------------------------------------------------------------------------


def test_within_a_segment_shares_must_fit_into_its_rounds() -> None:
    bandit = of()
    with pytest.raises(InfeasiblePromise, match=r"promised in the segment 'DE' sum to 1.1, above 1 plays per round"):
        bandit.promise({"mate": 0.6, "coffee": 0.5}, segment="DE")
    assert bandit.version == 0


def test_together_with_overall_promises_the_frequencies_decide_and_the_audit_says_so() -> None:
    """tea is promised half of all rounds, and mate all rounds of DE: that needs at most half of them from there."""
    bandit = of({"kind": "deficit_first", "fractions": [0.5, 0.0, 0.0]})
    live(bandit, 200)
    bandit.promise({"mate": 1.0}, segment="DE")
    live(bandit, 200, seed=1)
    audit = bandit.audit(now=400.0)
    assert any("at the frequencies so far: DE" in warning for warning in audit.warnings)
    assert not audit.fault
    for _ in range(600):
        bandit.decide(someone("DE"), now=400.0)
    assert "cannot be kept together at the frequencies of the segments so far" in bandit.audit(now=400.0).fault
    with pytest.raises(InfeasiblePromise, match="cannot be kept together at the frequencies of the segments so far"):
        bandit.promise({"coffee": 0.1}, segment="FR")
    with pytest.raises(InfeasiblePromise, match="cannot be kept together"):
        bandit.promise({"tea": 0.6})


def test_feasibility_agrees_with_a_search_over_shares() -> None:
    rng, steps = np.random.default_rng(0), np.linspace(0.0, 1.0, 21)
    for _ in range(60):
        low, overall = rng.integers(0, 11, size=2) / 10.0
        part = float(rng.integers(1, 10)) / 10.0
        shares = np.array([[low, 0.0], [0.0, 0.0]])
        found = not infeasible(shares, np.array([0.0, overall]), 1.0, np.array([part, 1.0 - part]), ("a", "b"))
        possible = any(one >= low and part * (1.0 - one) + (1.0 - part) >= overall - 1e-9 for one in steps)
        assert found == possible, (low, overall, part)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"segment": "ES", "fractions": {"tea": 0.1}}, "there is no segment 'ES'"),
        ({"segment": "DE", "fractions": {"te": 0.1}}, "there is no arm 'te'"),
        ({"segment": "DE", "fractions": {"tea": 1.5}}, r"fractions\['tea'\]"),
        ({"segment": "DE", "caps": {"tea": 0.1}}, "a promise in a segment must have fractions"),
    ],
)
def test_wrong_promises_in_segments_are_refused(change: dict[str, Any], fault: str) -> None:
    with pytest.raises(EvenhandError, match=fault):
        of().change(Promise(**change))


def test_what_cannot_promise_by_segment_says_so() -> None:
    promise = Promise({"tea": 0.1}, segment="DE")
    with pytest.raises(EvenhandError, match="made without segments"):
        Bandit(ARMS, "fucb", fractions=0.1).change(promise)
    recursive = {"kind": "virtual_queue", "fractions": 0.1, "eta": 1, "queue": "recursive"}
    for fairness in ("none", recursive):
        with pytest.raises(EvenhandError, match="promises nothing by segment: use VirtualQueue"):
            of(fairness).change(promise)


# --- Changes ----------------------------------------------------------------------------------------------------------


def test_what_is_owed_in_a_segment_is_carried_and_the_ledger_adds_up() -> None:
    bandit = of()
    bandit.promise({"mate": 0.5}, segment="DE")
    live(bandit, 200, asleep={"DE": "mate"})
    owed = segments_of(bandit).owed(0)[2]
    plan = bandit.plan(Promise({"mate": 0.25}, segment="DE"))
    assert plan.changed
    assert plan.begins == ("mate",)
    (settled,) = plan.settlement
    assert (settled.name, settled.kind, settled.owed, settled.carried) == (
        "mate in the segment DE",
        "segment",
        owed,
        owed,
    )
    assert bandit.promise({"mate": 0.25}, segment="DE") == ("mate",)
    assert bandit.promise({"mate": 0.25}, segment="DE") == ()
    assert segments_of(bandit).owed(0)[2] == owed
    live(bandit, 100, seed=1)
    ended, today = bandit.audit(now=100.0).ledger
    assert (ended.name, ended.segment, ended.share, ended.rounds) == ("mate", "DE", 0.5, 2 * owed)
    assert ended.owed == owed
    assert today.brought == owed
    assert today.owed == pytest.approx(today.brought + 0.25 * today.rounds - today.plays)


def test_promises_of_an_arm_that_retires_end_and_wait() -> None:
    bandit = of()
    bandit.promise({"mate": 0.5, "coffee": 0.1}, segment="DE")
    live(bandit, 100, asleep={"DE": "mate"})
    owed = segments_of(bandit).owed(0)[2]
    bandit.change(Retire("mate"))
    assert segments_of(bandit).held().keys() == {("DE", 1)}
    live(bandit, 50)
    assert segments_of(bandit).owed(0)[2] == owed  # waits
    bandit.bring_back("mate")
    bandit.promise({"mate": 0.2}, segment="DE")
    assert segments_of(bandit).owed(0)[2] == owed
    bandit.change(AddArm("cocoa"))
    bandit.promise({"cocoa": 0.2}, segment="FR")
    live(bandit, 100)
    assert Bandit.restored(json.loads(json.dumps(bandit.dump()))).dump() == bandit.dump()
    assert segments_of(bandit).plays[1, 3] > 0


def test_segments_of_another_declaration_keep_their_rounds() -> None:
    bandit = of()
    bandit.promise({"mate": 0.5}, segment="FR")
    live(bandit, 50)
    before = segments_of(bandit)
    wider = Features({**PEOPLE.situation, "country": Category(["IT", "FR", "DE"])})
    bandit.change(Redeclare(wider))
    after = segments_of(bandit)
    assert after.names == ("IT", "FR", "DE", "other")
    assert after.rounds.tolist() == [0.0, before.rounds[1], before.rounds[0], before.rounds[2]]
    assert after.shares[1, 2] == 0.5
    with pytest.raises(EvenhandError, match="must keep the segment 'IT'"):
        bandit.change(Redeclare(PEOPLE))
    live(bandit, 50)


# --- Logs -------------------------------------------------------------------------------------------------------------


def test_a_decision_that_is_made_again_knows_its_segment() -> None:
    bandit = of()
    bandit.promise({"mate": 1.0}, segment="DE")
    for country in ("DE", "FR", "DE"):
        again = decided_again(bandit._record, None, False, someone(country))
        decision = bandit.decide(someone(country))
        assert [ARMS[place] for place in np.flatnonzero(again.played)] == list(decision.names)
    assert decision.names == ("mate",)


@pytest.mark.parametrize("options", [{}, {"selection": {"kind": "inverse_gap", "gamma": "auto_spread"}}])
def test_a_log_with_segments_replays(options: dict[str, Any]) -> None:
    bandit, copy, rng = of(QUEUE, parts=options), of(QUEUE, parts=options)._record, np.random.default_rng(5)
    record = bandit._record
    recorder = Recorder(record)
    for step in range(120):
        now = float(step)
        if step % 40 == 5:
            change = Promise({"mate": 0.2 + step / 1000.0}, segment="DE", reason="more")
            bandit.change(change, now=now)
            replay_change(copy, change, now)
        facts: dict[str, Any] = {}
        situation = someone(str(rng.choice(["DE", "FR", "IT"])), float(rng.random()))
        decision = decide(record, None, now, False, facts, situation)
        replay_decision(copy, decision.round, facts.pop("arms"), now, **facts)
        replay_memory(copy, recorder.changes())
        reward = {decision.names[0]: float(rng.random())}
        bandit.observe(decision.id, reward, now=now)
        replay_rewards(copy, decision.id, reward, (), now)
        replay_memory(copy, recorder.changes())
    copied = of(QUEUE, parts=options)
    copied._record = copy
    assert copied.dump() == bandit.dump()


def test_the_audit_says_what_each_arm_got_in_each_segment() -> None:
    bandit = Bandit(
        ["tea", "coffee"],
        {"index": "lin_ts", "fairness": {"kind": "virtual_queue", "fractions": 0.1, "eta": "auto"}},
        features={"situation": {"country": {"kind": "category", "levels": ["DE", "FR"]}}},
        segments="country",
        seed=3,
    )
    counts = {"DE": [0, 0], "FR": [0, 0], "other": [0, 0]}
    for number in range(60):
        country = ("DE", "FR", "ES")[number % 3]
        decision = bandit.decide({"country": country}, now=0.0)
        place = bandit.names.index(decision.names[0])
        counts["other" if country == "ES" else country][place] += 1
        bandit.observe(decision.id, {decision.names[0]: float(number % 2)}, now=1.0)
    audit = bandit.audit(now=2.0)
    assert audit.segmented == "country"
    assert {one.segment: list(one.plays) for one in audit.segments} == counts
    assert [one.rounds for one in audit.segments] == [20, 20, 20]
    assert all(one.known == one.plays for one in audit.segments)
    assert sum(sum(one.rewards) for one in audit.segments) == 30.0
    assert "in DE, 20 rounds: " in str(audit)
    assert [sum(one.plays) for one in bandit.audit(limit=1, now=2.0).segments] < [20, 20, 20]


def test_a_silent_round_is_decided_by_its_segment_too() -> None:
    """Exponential weights are first shown that a reward is missing; the promise of the segment counts then as well."""
    policy = {"index": {"kind": "exponential_weights", "mixing": 0.1}, "fairness": FIRST}
    bandit = Bandit(ARMS, policy, features=PEOPLE, segments="country", seed=1, window=5.0, missing="lost")
    (arm,) = bandit.names[-1:]
    bandit.promise({arm: 1.0}, segment="DE")
    for second in range(12):  # no reward arrives, so that every round but the first is silent
        decision = bandit.decide(someone(), now=float(second))
        assert second == 0 or decision.names == (arm,)  # nothing is owed before the first
