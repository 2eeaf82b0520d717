"""Every command: what it answers, and what it writes down."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evenhand.bandit import Bandit, pending
from evenhand.changes import AddArm, BringBack, Close, Promise, Rename, Reopen, Retire
from evenhand.core.errors import EvenhandError, InfeasiblePromise
from evenhand.messages.answers import (
    Allocation,
    ArmPropensity,
    ChangeResult,
    Decision,
    Decisions,
    RewardResults,
    TotalResult,
    moment,
)
from evenhand.messages.requests import Round
from evenhand.service.store import Change, Decide, Describe, ReadAudit, ReadDecision, ReadGauges, Reward, Store, Total
from evenhand.service.store.commands import Command
from evenhand.service.store.database import Database
from evenhand.service.store.errors import Closed, Conflict, UnknownDecision
from evenhand.service.store.reading import Gauges
from tests.service.store.kit import START, Clock, Driven, kinds

EVERYBODY = ["tea", "coffee", "cocoa"]


def last(driven: Driven) -> tuple[Any, ...]:
    """What was written down last, but for the body's name."""
    event = driven.events()[-1]
    return event.time, event.kind, event.round, event.body


def statuses(answer: RewardResults) -> list[tuple[str, str, str]]:
    return [(one.decision, one.arm, one.status) for one in answer.results]


# --- Decisions --------------------------------------------------------------------------------------------------------


def test_a_decision_is_answered_and_written_down(drinks: Driven) -> None:
    """FUCB owes nobody anything in the first round, and UCB1 begins with the first arm."""
    tea = ArmPropensity("tea", 1.0, 0.0)
    assert drinks.run(Decide()) == Decisions((Decision("1", 1, moment(START), (tea,), 0, None),))
    assert last(drinks) == (START, "decide", 1, {"arms": ["tea"], "propensity": [1.0]})


def test_several_decisions_come_in_order(drinks: Driven) -> None:
    """After round 1 coffee is owed 1/3, which is a play as soon as it exceeds 0: round 2 is coffee's."""
    answer = drinks.run(Decide(count=3)).decisions
    assert [(one.id, one.round) for one in answer] == [("1", 1), ("2", 2), ("3", 3)]
    assert answer[1].names == ("coffee",)
    assert [event.round for event in drinks.events()[1:]] == [1, 2, 3]


def test_who_is_available_is_written_down_only_where_it_was_said(drinks: Driven) -> None:
    answer = drinks.run(Decide(available=["cocoa", "tea"])).decisions[0]
    assert answer.names == ("tea",)
    assert last(drinks)[-1] == {"arms": ["tea"], "available": ["tea", "cocoa"], "propensity": [1.0]}


def test_each_round_can_have_its_own_availability(drinks: Driven) -> None:
    answer = drinks.run(Decide(rounds=[Round(available=["cocoa"]), Round(), Round(available=["tea"])])).decisions
    assert [one.names for one in answer] == [("cocoa",), ("coffee",), ("tea",)]
    assert [event.body.get("available") for event in drinks.events()[1:]] == [["cocoa"], None, ["tea"]]


def test_the_propensities_of_all_available_arms_are_returned_on_request(drinks: Driven) -> None:
    answer = drinks.run(Decide(available=["cocoa", "tea"], propensities=True)).decisions[0]
    sure, never = ArmPropensity("tea", 1.0, 0.0), ArmPropensity("cocoa", 0.0, 0.0)
    assert answer.arms == (sure,)
    assert answer.propensities == (sure, never)
    assert "stderr" not in last(drinks)[-1]


def test_propensities_without_a_closed_form_are_estimated_on_request(store: Store, lite: Database) -> None:
    """They are those that a bandit of the same seed gives, and asking changes nothing."""
    store.create("films", EVERYBODY, "thompson", seed=7, plays=2)
    driven, twin = Driven(lite, "films"), Bandit(EVERYBODY, "thompson", seed=7, plays=2)
    first, second = driven.run(Decide(propensities=True)).decisions[0], driven.run(Decide()).decisions[0]
    assert first == twin.decide(now=START, propensities=True)
    assert second == twin.decide(now=START)
    assert [(one.propensity, one.stderr) for one in second.arms] == [(None, None)] * 2
    bodies = [event.body for event in driven.events()[1:]]
    assert bodies[0]["propensity"] == [one.propensity for one in first.arms]
    assert bodies[0]["stderr"] == [one.stderr for one in first.arms]
    assert bodies[1] == {"arms": list(second.names)}


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (Decide(count=0), "count must be at least 1"),
        (Decide(count=True), "count must be a whole number"),
        (Decide(available=[]), "available is empty"),
        (Decide(available=["mate"]), "there is no arm 'mate'"),
        (Decide(available=["tea", "tea"]), "twice"),
        (Decide(available="tea"), "must be a list of names of arms"),
        (Decide(rounds=[]), "rounds is empty"),
        (Decide(rounds=[Round()], count=2), "give either rounds, or count and what is known"),
        (Decide(rounds=[Round()], available=["tea"]), "give either rounds, or count and what is known"),
        (Decide(rounds=[Round(), Round(available=["mate"])]), "there is no arm 'mate'"),
        (Decide(rounds=[Round(available=["mate"]), Round()]), "there is no arm 'mate'"),
        (Decide(rounds=[Round(available=["tea"])] * 5 + [Round(available=[])]), "available is empty"),
    ],
    ids=repr,
)
def test_of_a_batch_that_cannot_be_decided_nothing_is(drinks: Driven, command: Decide, fault: str) -> None:
    drinks.run(Decide())
    before = drinks.rebuilt()[0].dump()
    refused = drinks.refused(command)
    assert isinstance(refused, EvenhandError)
    assert fault in str(refused)
    assert kinds(drinks.events()) == ["create", "decide"]
    assert drinks.run(Decide()).decisions[0].round == 2
    assert drinks.rebuilt()[0]._record.state.round == before["state"]["round"] + 1


# --- Reports ----------------------------------------------------------------------------------------------------------


def test_rewards_are_answered_one_by_one(drinks: Driven) -> None:
    drinks.run(Decide(count=2))
    answer = drinks.run(
        Reward(
            (
                ("2", {"coffee": 0.5}),
                ("1", {"tea": 1.0}),
                ("1", {"tea": 1.0}),
                ("1", {"tea": 0.0}),
                ("1", {"cocoa": 1.0}),
                ("3", {"tea": 1.0}),
                ("2", {"coffee": 7.0}),
            )
        )
    )
    assert [(one.decision, one.arm, one.status, one.message) for one in answer.results] == [
        ("2", "coffee", "accepted", ""),
        ("1", "tea", "accepted", ""),
        ("1", "tea", "duplicate", ""),
        ("1", "tea", "conflict", "decision 1, arm 'tea': its reward is 1 and cannot change to 0"),
        ("1", "cocoa", "unknown", "arm 'cocoa' did not play in decision 1"),
        ("3", "tea", "unknown", "there is no decision '3' among those that are remembered"),
        ("2", "coffee", "invalid", "the reward of 'coffee' must be in [0, 1], got 7"),
    ]
    assert [event[2:5] for event in drinks.events()[3:]] == [
        ("reward", 2, {"rewards": {"coffee": 0.5}, "late": []}),
        ("reward", 1, {"rewards": {"tea": 1.0}, "late": []}),
    ]


@pytest.mark.parametrize("decision", ["", "0", "-1", "01", "1.0", " 1", "١", "1e0", "9" * 30, "tea", "1\x00", "\ud800"])
def test_what_names_no_decision_is_unknown(drinks: Driven, decision: str) -> None:
    drinks.run(Decide())
    assert statuses(drinks.run(Reward(((decision, {"tea": 1.0}),)))) == [(decision, "tea", "unknown")]
    assert kinds(drinks.events()) == ["create", "decide"]


@pytest.mark.parametrize("reward", [math.nan, math.inf, "1", None, True, 1 + 1j, 10**400, -0.1, 1.1, [1.0]])
def test_what_is_no_reward_is_invalid(drinks: Driven, reward: Any) -> None:
    drinks.run(Decide(count=2))
    rewards = (("1", {"tea": reward}), ("2", {"coffee": 1.0}))
    assert statuses(drinks.run(Reward(rewards))) == [("1", "tea", "invalid"), ("2", "coffee", "accepted")]
    assert kinds(drinks.events()) == ["create", "decide", "decide", "reward"]


def test_of_several_arms_the_right_rewards_stand(store: Store, lite: Database) -> None:
    store.create("films", EVERYBODY, "ucb1", plays=2, seed=1)
    films = Driven(lite, "films")
    played = films.run(Decide()).decisions[0].names
    (other,) = set(EVERYBODY) - set(played)
    answer = films.run(Reward((("1", {played[0]: 0.25, other: 1.0, played[1]: 2.0}),)))
    assert statuses(answer) == [("1", played[0], "accepted"), ("1", other, "unknown"), ("1", played[1], "invalid")]
    assert last(films)[-1] == {"rewards": {played[0]: 0.25}, "late": []}
    answer = films.run(Reward((("1", {played[0]: 0.25, played[1]: 0.75}),)))
    assert statuses(answer) == [("1", played[0], "duplicate"), ("1", played[1], "accepted")]
    assert last(films)[-1] == {"rewards": {played[1]: 0.75}, "late": []}


def test_several_arms_together_are_one_event(store: Store, lite: Database) -> None:
    store.create("films", EVERYBODY, "ucb1", plays=2, seed=1)
    films = Driven(lite, "films")
    first, second = films.run(Decide()).decisions[0].names
    films.run(Reward((("1", {second: 0.25, first: 1}),)))
    assert last(films)[-1] == {"rewards": {second: 0.25, first: 1.0}, "late": []}


def test_no_rewards_have_no_results(drinks: Driven) -> None:
    assert drinks.run(Reward(())) == RewardResults(())
    assert drinks.run(Reward((("1", {}),))) == RewardResults(())
    assert kinds(drinks.events()) == ["create"]


def test_a_window_closes_before_anything_else_is_done(drinks: Driven, clock: Clock) -> None:
    """60 seconds after round 1 its reward is lost, 60 after round 2 that one's; a reward that comes then is late."""
    drinks.run(Decide())
    clock.now += 30.0
    drinks.run(Decide())
    clock.now += 30.0
    assert statuses(drinks.run(Reward((("2", {"coffee": 1.0}), ("1", {"tea": 1.0}))))) == [
        ("2", "coffee", "accepted"),
        ("1", "tea", "late"),
    ]
    assert [event[1:5] for event in drinks.events()[3:]] == [
        (START + 60.0, "expire", None, {"closed": {"1": ["tea"]}}),
        (START + 60.0, "reward", 2, {"rewards": {"coffee": 1.0}, "late": []}),
        (START + 60.0, "reward", 1, {"rewards": {"tea": 1.0}, "late": ["tea"]}),
    ]
    assert statuses(drinks.run(Reward((("1", {"tea": 1.0}),)))) == [("1", "tea", "duplicate")]
    assert statuses(drinks.run(Reward((("1", {"tea": 0.0}),)))) == [("1", "tea", "conflict")]


def test_one_decision_can_be_rewarded_in_time_for_one_arm_and_late_for_another(store: Store, lite: Database) -> None:
    store.create("films", EVERYBODY, "ucb1", plays=2, seed=1, window=60.0, missing="lost")
    films = Driven(lite, "films")
    first, second = films.run(Decide()).decisions[0].names
    films.run(Reward((("1", {first: 0.5}),)))
    films.clock.now += 60.0
    answer = films.run(Reward((("1", {first: 0.5, second: 1.0}),)))
    assert statuses(answer) == [("1", first, "duplicate"), ("1", second, "late")]
    assert [event[2:5] for event in films.events()[3:]] == [
        ("expire", None, {"closed": {"1": [second]}}),
        ("reward", 1, {"rewards": {second: 1.0}, "late": [second]}),
    ]


# --- Reports of decisions that the book has forgotten -----------------------------------------------------------------


@pytest.fixture
def forgetful(monkeypatch: pytest.MonkeyPatch, drinks: Driven, clock: Clock) -> Driven:
    """Six rounds of tea, of which the book knows the last two.

    1 and 3 have their rewards, 2, 4, 5 and 6 were lost.
    """
    monkeypatch.setattr(pending, "REMEMBERED", 2)
    drinks.run(Decide(rounds=[Round(available=["tea"])] * 6))
    drinks.run(Reward((("1", {"tea": 1.0}), ("3", {"tea": 0.25}))))
    clock.now += 60.0
    drinks.run(Reward(()))
    assert drinks.events()[-1].body == {"closed": {"2": ["tea"], "4": ["tea"], "5": ["tea"], "6": ["tea"]}}
    bandit, _ = drinks.rebuilt()
    assert [name for name in map(str, range(1, 7)) if bandit._record.pending.find(name)] == ["5", "6"]
    return drinks


def test_the_events_know_what_the_bandit_has_forgotten(forgetful: Driven, clock: Clock) -> None:
    rewards = (
        ("1", {"tea": 1.0}),
        ("3", {"tea": 0.5}),
        ("2", {"tea": 0.75}),
        ("2", {"tea": 0.75}),
        ("2", {"tea": 0.5}),
        ("2", {"coffee": 0.5}),
        ("2", {"mate": 0.5}),
        ("2", {"tea": 2.0}),
        ("5", {"tea": 0.5}),
        ("7", {"tea": 0.5}),
    )
    answer = forgetful.run(Reward(rewards))
    assert statuses(answer) == [
        ("1", "tea", "duplicate"),
        ("3", "tea", "conflict"),
        ("2", "tea", "late"),
        ("2", "tea", "duplicate"),
        ("2", "tea", "conflict"),
        ("2", "coffee", "unknown"),
        ("2", "mate", "unknown"),
        ("2", "tea", "invalid"),
        ("5", "tea", "late"),
        ("7", "tea", "unknown"),
    ]
    assert answer.results[1].message == "decision 3, arm 'tea': its reward is 0.25 and cannot change to 0.5"
    assert answer.results[5].message == "arm 'coffee' did not play in decision 2"
    assert [event[2:5] for event in forgetful.events()[-2:]] == [
        ("reward", 2, {"rewards": {"tea": 0.75}, "late": ["tea"], "forgotten": True}),
        ("reward", 5, {"rewards": {"tea": 0.5}, "late": ["tea"]}),
    ]
    assert forgetful.run(ReadAudit()).lines[0].late == 2
    assert forgetful.rebuilt()[0]._record.statistics.late.tolist() == [2.0, 0.0, 0.0]


def test_what_was_forgotten_is_known_after_a_restart(forgetful: Driven, clock: Clock) -> None:
    assert statuses(forgetful.run(Reward((("4", {"tea": 1.0}),)))) == [("4", "tea", "late")]
    again = Driven(forgetful.database, clock=clock)
    assert statuses(again.run(Reward((("4", {"tea": 1.0}), ("2", {"tea": 0.0}))))) == [
        ("4", "tea", "duplicate"),
        ("2", "tea", "late"),
    ]
    assert again.run(ReadAudit()).lines[0].late == 2


# --- Totals -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def sums(store: Store, lite: Database, clock: Clock) -> Driven:
    store.create("sums", EVERYBODY, "ars_ucb", seed=1)
    return Driven(lite, "sums", clock)


def test_a_total_is_of_the_last_round(sums: Driven) -> None:
    assert "there is no decision to credit" in str(sums.refused(Total(1.0)))
    sums.run(Decide())
    assert sums.run(Total(3.5)) == TotalResult(1, "accepted")
    assert last(sums) == (START, "total", 1, {"value": 3.5})
    assert sums.run(Total(3.5, round=1)) == TotalResult(1, "duplicate")
    assert sums.run(Total(3.5)) == TotalResult(1, "duplicate")
    assert kinds(sums.events()) == ["create", "decide", "total"]


def test_another_total_of_a_round_is_a_conflict(sums: Driven) -> None:
    sums.run(Decide())
    sums.run(Total(3.5))
    for command in (Total(3.0), Total(3.0, round=1)):
        refused = sums.refused(command)
        assert isinstance(refused, Conflict)
        assert str(refused) == "round 1: received a total of 3.5 before, now 3"
    sums.run(Decide(count=2))
    refused = sums.refused(Total(1.0, round=2))
    assert isinstance(refused, Conflict)
    assert str(refused) == "a total must be of the round just decided, which is 3, got 2"
    assert isinstance(sums.refused(Total(1.0, round=4)), Conflict)
    assert isinstance(sums.refused(Total(3.0, round=1)), Conflict)
    assert sums.run(Total(3.5, round=1)) == TotalResult(1, "duplicate")
    assert sums.run(Total(1.0, round=3)) == TotalResult(3, "accepted")
    assert kinds(sums.events())[2:] == ["total", "decide", "decide", "total"]


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (Total(math.nan), "value must be a finite number"),
        (Total(math.inf), "value must be a finite number"),
        (Total(10**400), "value must be at most 1.7977e+308"),
        (Total(True), "value must be a number"),
        (Total("1"), "value must be a number"),  # type: ignore[arg-type]
        (Total(1.0, round=0), "round must be at least 1"),
        (Total(1.0, round=10**30), "a total must be of the round just decided"),
    ],
    ids=repr,
)
def test_what_is_no_total_is_refused(sums: Driven, command: Total, fault: str) -> None:
    sums.run(Decide())
    refused = sums.refused(command)
    assert isinstance(refused, EvenhandError)
    assert fault in str(refused)
    assert kinds(sums.events()) == ["create", "decide"]


def test_totals_and_rewards_do_not_mix(sums: Driven, drinks: Driven) -> None:
    """Whether the decision is still waited for (3), has its total (2), or had none when the next was made (1)."""
    played = {one.id: one.names[0] for one in sums.run(Decide(count=2)).decisions}
    sums.run(Total(1.0))
    played["3"] = sums.run(Decide()).decisions[0].names[0]
    for answer in sums.run(Reward([(decision, {arm: 1.0}) for decision, arm in played.items()])).results:
        assert answer.status == "invalid"
        assert "learns from totals" in answer.message
    assert kinds(sums.events()) == ["create", "decide", "decide", "total", "decide"]
    drinks.run(Decide())
    drinks.run(Reward((("1", {"tea": 1.0}),)))
    assert "has taken rewards by decision" in str(drinks.refused(Total(1.0)))


# --- Changes ----------------------------------------------------------------------------------------------------------


def test_arms_and_promises_change(drinks: Driven, store: Store) -> None:
    drinks.run(Decide(count=4))
    changes: list[tuple[Command[ChangeResult], dict[str, Any]]] = [
        (Change(AddArm("mate", fraction=0.25)), {"change": "add", "arm": "mate", "fraction": 0.25}),
        (Change(Retire("cocoa")), {"change": "retire", "arm": "cocoa"}),
        (
            Change(BringBack("cocoa", 0.125)),
            {"change": "bring_back", "arm": "cocoa", "fraction": 0.125, "debt": "carry"},
        ),
        (
            Change(Promise({"tea": 0.125, "mate": 0.0})),
            {"change": "promise", "fractions": {"tea": 0.125, "mate": 0.0}, "debt": "carry"},
        ),
        (Change(Promise({"tea": 0.25})), {"change": "promise", "fractions": {"tea": 0.25}, "debt": "carry"}),
    ]
    for version, (command, body) in enumerate(changes, 1):
        assert drinks.run(command) == ChangeResult(version, 4, True)
        assert last(drinks) == (START, "change", 4, body)
    bandit, _ = drinks.rebuilt()
    assert bandit._record.fractions is not None
    assert bandit._record.fractions.tolist() == [0.25, 1 / 3, 0.125, 0.0]
    assert [(one.arms, one.round) for one in store.allocations().allocations] == [(4, 4)]
    drinks.run(Change(Retire("cocoa")))
    assert [(one.arms, one.round) for one in store.allocations().allocations] == [(3, 4)]


def test_an_equal_promise_is_no_event(drinks: Driven) -> None:
    drinks.run(Decide(count=4))
    same = ChangeResult(0, 4, False)
    assert drinks.run(Change(Promise({"tea": 0, "coffee": 1 / 3}), key="k")) == same
    assert kinds(drinks.events()) == ["create", *["decide"] * 4]
    assert drinks.run(Change(Promise({"tea": 0.1, "coffee": 1 / 3}))).changed
    assert [line.since for line in drinks.run(ReadAudit()).lines] == [4, 0, 0]
    assert drinks.run(Change(Promise({"tea": 0, "coffee": 1 / 3}), key="k")) == same


def test_a_closed_allocation_decides_no_more_but_takes_rewards(drinks: Driven, store: Store) -> None:
    drinks.run(Decide())
    assert not drinks.run(Change(Reopen())).changed
    assert drinks.run(Change(Close())) == ChangeResult(0, 1, True)
    assert last(drinks) == (START, "change", 1, {"change": "close"})
    assert not drinks.run(Change(Close())).changed
    refused = drinks.refused(Decide())
    assert isinstance(refused, Closed)
    assert "reopen it first" in str(refused)
    assert [one.closed for one in store.allocations().allocations] == [True]
    again = Driven(drinks.database, clock=drinks.clock)
    assert isinstance(again.refused(Decide()), Closed)
    assert statuses(again.run(Reward((("1", {"tea": 1.0}),)))) == [("1", "tea", "accepted")]
    assert again.run(Change(Retire("cocoa"))) == ChangeResult(1, 1, True)
    assert again.run(Describe()).closed is True
    again.run(Change(Reopen()))
    assert [one.closed for one in store.allocations().allocations] == [False]
    assert again.run(Decide()).decisions[0].round == 2
    assert drinks.rebuilt()[1] is False


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        (Change(AddArm("tea", fraction=0.1)), "is there with fraction 0.0, not 0.1; change that instead"),
        (Change(AddArm("")), "not blank"),
        (Change(AddArm("\ud800")), "encodable as UTF-8"),
        (Change(AddArm("mate", penalty=1.0)), "has no penalty"),
        (Change(AddArm("mate", fraction=math.nan)), "plain JSON values"),
        (Change(AddArm("mate", fraction=np.float32(0.5))), "plain JSON values"),  # type: ignore[arg-type]
        (Change(AddArm("mate", fraction="much")), "must be a number"),  # type: ignore[arg-type]
        (Change(AddArm("mate"), max_arms=3), "an allocation may have at most 3 arms, got 4"),
        (Change(Retire("mate")), "has no arm 'mate'"),
        (Change(Retire("teaa")), "has no arm 'teaa'; did you mean 'tea'?"),
        (Change(BringBack("tea", 0.5)), "arm 'tea' is not retired"),
        (Change(Retire("tea"), version=7), "allocation 'drinks' has version 0, not 7; read it again"),
        (Change(Rename("tea", "coffee")), "there is already an arm 'coffee'"),
        (Change(Promise({"mate": 0.5})), "has no arm 'mate'"),
        (Change(Promise({"tea": -0.5})), "must be a number in [0, 1]"),
    ],
    ids=repr,
)
def test_a_change_that_cannot_be_made_changes_nothing(
    drinks: Driven, command: Command[ChangeResult], fault: str
) -> None:
    refused = drinks.refused(command)
    assert isinstance(refused, EvenhandError)
    assert fault in str(refused)
    assert kinds(drinks.events()) == ["create"]
    assert drinks.run(Describe()).version == 0
    assert drinks.run(Change(AddArm("mate"))) == ChangeResult(1, 0, True)


@pytest.mark.parametrize("command", [Change(AddArm("mate", fraction=0.9)), Change(Promise({"tea": 0.9}))])
def test_an_infeasible_change_is_refused_with_the_reason(drinks: Driven, command: Command[ChangeResult]) -> None:
    refused = drinks.refused(command)
    assert isinstance(refused, InfeasiblePromise)
    assert "cannot be kept" in str(refused)
    assert kinds(drinks.events()) == ["create"]


def test_what_has_one_value_an_arm_can_be_given_by_any_mapping(drinks: Driven) -> None:
    """The event has plain values, whatever they came in."""

    class Shares(dict[str, float]):
        pass

    drinks.run(Change(Promise(Shares(tea=np.float64(0.5)))))
    assert last(drinks)[-1] == {"change": "promise", "fractions": {"tea": 0.5}, "debt": "carry"}


# --- What changes nothing ---------------------------------------------------------------------------------------------


def test_the_audit_is_the_bandits_at_the_stores_time(drinks: Driven, clock: Clock) -> None:
    drinks.run(Decide(count=5))
    clock.now += 5.0
    drinks.run(Reward((("1", {"tea": 1.0}),)))
    clock.now += 5.0
    bandit, _ = drinks.rebuilt()
    for limit in (None, 2):
        audit = bandit.audit(limit, now=START + 10.0)
        wanted = replace(audit, name="drinks", sequence=7, closed=False, checksum=drinks.events()[-1].chain)
        assert drinks.run(ReadAudit(limit=limit)) == wanted
    assert "limit must be at least 1" in str(drinks.refused(ReadAudit(limit=0)))
    assert kinds(drinks.events())[-1] == "reward"


def test_an_audit_closes_the_windows_first(drinks: Driven, clock: Clock) -> None:
    drinks.run(Decide())
    clock.now += 60.0
    assert [line.lost for line in drinks.run(ReadAudit()).lines] == [1, 0, 0]
    assert kinds(drinks.events()) == ["create", "decide", "expire"]


def test_a_description_lists_the_settings(drinks: Driven) -> None:
    wanted = Allocation(
        name="drinks",
        algorithm="fucb",
        arms=tuple(EVERYBODY),
        retired=(),
        parameters={"fractions": [0.0, 1 / 3, 0.0]},
        plays=1,
        seed=1,
        window=60.0,
        missing="lost",
        rewards=(0.0, 1.0),
        round=0,
        version=0,
        closed=False,
        created=moment(START),
    )
    assert drinks.run(Describe()) == wanted
    drinks.clock.now += 1.0
    drinks.run(Decide(count=2))
    drinks.run(Change(Retire("tea")))
    assert drinks.run(Describe()) == replace(wanted, retired=("tea",), round=2, version=1)
    drinks.run(Change(AddArm("mate", fraction=0.25)))
    fractions = {"fractions": [0.0, 1 / 3, 0.0, 0.25]}
    arms = (*EVERYBODY, "mate")
    assert drinks.run(Describe()) == replace(
        wanted, retired=("tea",), round=2, version=2, arms=arms, parameters=fractions
    )


def test_what_came_of_a_decision(drinks: Driven, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pending, in time, missing when the window of 60 s had passed, late; also when the bandit has forgotten it."""
    monkeypatch.setattr(pending, "REMEMBERED", 1)

    def outcome(id: str) -> tuple[str, float | None]:
        (arm,) = drinks.run(ReadDecision(id)).arms
        return arm.status, arm.reward

    drinks.run(Decide(rounds=[Round(available=["tea"]), Round(), Round(available=["tea"])]))
    assert outcome("1") == ("pending", None)
    drinks.run(Reward((("1", {"tea": 0.5}),)))
    assert outcome("1") == ("received", 0.5)
    drinks.clock.now += 60.0
    assert [outcome(id) for id in "123"] == [("received", 0.5), ("lost", None), ("lost", None)]
    drinks.run(Reward((("2", {"coffee": 1.0}),)))
    assert outcome("2") == ("late", 1.0)
    drinks.run(Change(Retire("cocoa")))
    assert [drinks.run(ReadDecision(id)).available for id in "12"] == [("tea",), tuple(EVERYBODY)]
    for id in ("0", "4", "01", "tea"):
        assert isinstance(drinks.refused(ReadDecision(id)), UnknownDecision)


def test_gauges(drinks: Driven, sums: Driven) -> None:
    """Only tea could play in 3 rounds, so coffee is 3 · 1/3 plays behind."""
    assert drinks.run(ReadGauges()) == Gauges(0, 0, 0.0, 0, 0)
    drinks.run(Decide(rounds=[Round(available=["tea"])] * 3))
    drinks.run(Reward((("2", {"tea": 1.0}),)))
    gauges = drinks.run(ReadGauges())
    assert (gauges.pending, gauges.round) == (2, 3)
    assert gauges.largest_deficit == pytest.approx(1.0)
    assert sums.run(ReadGauges()).largest_deficit is None


def test_commands_that_differ_have_different_digests() -> None:
    """By what it asks; not by its key, nor by lists and tuples. What reads has no key to remember, and no digest."""
    commands: list[Command[Any]] = [
        Decide(),
        Decide(count=2),
        Decide(available=["tea"]),
        Decide(rounds=[Round(available=["tea"])]),
        Decide(propensities=True),
        Reward((("1", {"tea": 1.0}),)),
        Reward((("1", {"tea": 0.5}),)),
        Reward((("1", {"tea": 1.0}), ("1", {"tea": 1.0}))),
        Total(1.0),
        Total(1.0, round=1),
        Change(Close()),
        Change(Reopen()),
        Change(Retire("tea")),
    ]
    assert len({command.digest() for command in commands}) == len(commands)
    assert Decide(available=("tea",), key="a").digest() == Decide(available=["tea"], key="b").digest()
    assert Total(1.0).digest() == Total(1).digest()
    assert Decide(request=["decisions", {}]).digest() == Total(1.0, request=["decisions", {}]).digest()
    assert Reward([("1", {"a": 1.0, "b": 0.0})]).digest() == Reward((("1", {"b": 0.0, "a": 1.0}),)).digest()


@pytest.mark.parametrize("key", ["", "x" * 201, "a\x00b", "a\nb", "\ud800", "two words", "é"])
def test_an_odd_idempotency_key_is_refused(key: str) -> None:
    with pytest.raises(EvenhandError, match="1 to 200 printable ASCII characters without spaces"):
        Decide(key=key)
