"""Every route does what it says."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pandas as pd
import pytest

from evenhand.core.errors import StateError
from evenhand.messages.answers import AllocationHealth
from evenhand.service.http.metrics import Metrics
from evenhand.service.store import Decide, ReadHealth, Store
from evenhand.service.store.commands import CommandContext
from tests.service.http.asking import DRINKS, Asking, refused

ALL = "/v1/allocations"
ONE = f"{ALL}/drinks"


def decide(ask: Asking, **body: Any) -> list[dict[str, Any]]:
    answer = ask.post(f"{ONE}/decisions", body)
    assert answer.status_code == 200, answer.text
    decisions: list[dict[str, Any]] = answer.json()["decisions"]
    return decisions


def names(decision: dict[str, Any]) -> list[str]:
    return [one["arm"] for one in decision["arms"]]


def reward(ask: Asking, *decisions: tuple[str, dict[str, float]]) -> list[tuple[str, str]]:
    body = {"rewards": [{"decision": decision, "rewards": rewards} for decision, rewards in decisions]}
    answer = ask.post(f"{ONE}/rewards", body)
    assert answer.status_code == 200, answer.text
    return [(one["arm"], one["status"]) for one in answer.json()["results"]]


@pytest.fixture
def on(database: str) -> Iterator[Asking]:
    """A client of a service on a database of either kind."""
    store = Store.open(database)
    with Asking(store) as asking:
        yield asking
    store.close()


def test_the_whole_way(on: Asking) -> None:
    assert on.post(ALL, DRINKS).status_code == 201
    # Nobody has played: UCB begins with the first arm; then coffee and cocoa are owed plays.
    first, second, third = decide(on, count=3)
    assert (first["id"], first["round"]) == ("1", 1)
    assert first["arms"] == [{"arm": "tea", "propensity": 1.0, "stderr": 0.0}]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", first["time"])
    assert (names(second), names(third)) == (["coffee"], ["cocoa"])
    assert reward(on, ("1", {"tea": 1.0}), ("2", {"coffee": 0.5})) == [("tea", "accepted"), ("coffee", "accepted")]
    audit = on.get(f"{ONE}/audit").json()
    assert [(line["arm"], line["plays"], line["estimate"], line["pending"]) for line in audit["lines"]] == [
        ("tea", 1, 1.0, 0),
        ("coffee", 1, 0.5, 0),
        ("cocoa", 1, None, 1),
    ]
    log = pd.read_csv(io.BytesIO(on.get(f"{ONE}/log").content))
    assert log[["item_id", "reward"]].fillna(-1.0).values.tolist() == [["tea", 1.0], ["coffee", 0.5], ["cocoa", -1.0]]


def test_a_table_of_parts_in_place_of_an_algorithm(on: Asking) -> None:
    parts = {"index": "empirical_mean", "fairness": {"kind": "deficit_first", "fractions": {"coffee": 0.5}}}
    body = {"name": "drinks", "arms": ["tea", "coffee"], "missing": "never", "algorithm": parts}
    assert on.post(ALL, body).status_code == 201
    assert [names(one) for one in decide(on, count=4)] == [["tea"], ["coffee"], ["tea"], ["coffee"]]
    shown = on.get(ONE).json()
    assert shown["algorithm"] == {"index": "empirical_mean", "fairness": {"kind": "deficit_first"}}
    assert shown["parameters"] == {"fractions": [0.0, 0.5]}
    assert on.get(ALL).json()["allocations"][0]["algorithm"] == "empirical_mean + deficit_first"
    for wrong, sentence in (
        ({"index": "mine:KLUCB"}, "register your own parts first"),
        ({"indx": "ucb"}, "schedule, hold, not 'indx'; did you mean 'index'?"),
        ({"index": "ucb", "fairness": {"kind": "merit_shares", "merit": "linear"}}, "use selection=DependentRounding"),
    ):
        answer = on.post(ALL, body | {"name": "wrong", "algorithm": wrong})
        assert answer.status_code == 422, answer.text
        assert sentence in answer.text


# --- allocations ------------------------------------------------------------------------------------------------------


def test_an_allocation_is_described_as_it_was_created(drinks: Asking) -> None:
    described = drinks.get(ONE).json()
    assert described.pop("created").startswith("20")
    assert described == {
        "features": None,
        "arm_features": None,
        "segments": None,
        "name": "drinks",
        "algorithm": "fucb",
        "arms": ["tea", "coffee", "cocoa"],
        "retired": [],
        "parameters": {"fractions": [0.0, 0.2, 0.2]},
        "plays": 1,
        "seed": 1,
        "window": None,
        "missing": "never",
        "rewards": [0.0, 1.0],
        "round": 0,
        "version": 0,
        "words": {"unit": "", "round_name": "", "arm_name": ""},
        "closed": False,
    }


def test_the_same_is_created_once(drinks: Asking) -> None:
    again = drinks.post(ALL, DRINKS)
    assert again.status_code == 200
    assert again.json() == drinks.get(ONE).json()
    error = refused(drinks.post(ALL, DRINKS | {"plays": 2}), 409, "conflict")
    assert "plays" in error["detail"]


def test_all_that_can_be_set_is_set(ask: Asking) -> None:
    settings = DRINKS | {
        "plays": 2,
        "window": 60.0,
        "missing": "zero",
        "rewards": [-5.0, 5.0],
        "parameters": {},
        "seed": 2**53 - 1,
    }
    created = ask.post(ALL, settings | {"algorithm": "ucb1"}).json()
    assert {name: created[name] for name in ("plays", "window", "missing", "rewards", "seed")} == {
        "plays": 2,
        "window": 60.0,
        "missing": "zero",
        "rewards": [-5.0, 5.0],
        "seed": 2**53 - 1,
    }


def test_infinity_is_a_string(ask: Asking) -> None:
    settings = DRINKS | {"algorithm": "lfg", "plays": 2, "parameters": {"fractions": [0.1, 0.1, 0.1], "eta": "inf"}}
    assert ask.post(ALL, settings).json()["parameters"]["eta"] == "inf"


def test_what_cannot_be_kept_is_not_made(ask: Asking) -> None:
    error = refused(ask.post(ALL, DRINKS | {"parameters": {"fractions": [0.5, 0.5, 0.5]}}), 422, "infeasible")
    assert "1.5" in error["detail"]
    error = refused(ask.post(ALL, DRINKS | {"algorithm": "fcub"}), 422, "invalid")
    assert "fucb" in error["detail"]
    assert ask.get(ALL).json() == {"allocations": [], "next": None}


def test_allocations_are_listed_by_name(drinks: Asking) -> None:
    assert drinks.post(ALL, DRINKS | {"name": "a"}).status_code == 201
    decide(drinks, count=4)
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "cocoa"})
    listed = drinks.get(ALL).json()["allocations"]
    assert [(one["name"], one["arms"], one["round"], one["closed"]) for one in listed] == [
        ("a", 3, 0, False),
        ("drinks", 2, 4, False),
    ]


def test_health_is_computed_anew_only_where_something_has_happened(on: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without health nothing is loaded; one that cannot be read is listed with the reason."""
    computed, original = [], ReadHealth.run

    def run(self: ReadHealth, context: CommandContext) -> AllocationHealth:
        computed.append(context.allocation.name)
        return original(self, context)

    monkeypatch.setattr(ReadHealth, "run", run)

    def healths() -> dict[str, Any]:
        return {one["name"]: one["health"] for one in on.get(f"{ALL}?health=true").json()["allocations"]}

    for name in ("drinks", "foods"):
        on.post(ALL, DRINKS | {"name": name})
    assert [one["health"] for one in on.get(ALL).json()["allocations"]] == [None, None]
    assert computed == []
    assert {one["text"] for one in healths().values()} == {"Nothing has been decided yet."}
    decide(on, count=20, available=["tea"])
    found = healths()
    assert (found["drinks"]["status"], found["drinks"]["behind"]) == ("bad", 4.0)
    assert found["drinks"]["last_decision"] is not None
    assert found["foods"]["status"] == "good"
    assert healths() == found
    assert computed == ["drinks"]  # the other one has had its health since it was created

    def unreadable(*_: Any) -> None:
        raise StateError("event 21 is damaged")

    monkeypatch.setattr(ReadHealth, "run", unreadable)
    decide(on, count=1)
    assert healths()["drinks"] == dict.fromkeys(found["drinks"]) | {
        "status": "bad",
        "text": "allocation 'drinks' is damaged, and answers nothing until `evenhand db restore drinks` or "
        "`evenhand db erase drinks`: event 21 is damaged",
        "warnings": 0,
    }
    assert healths()["foods"] == found["foods"]


def test_lists_are_pages(drinks: Asking) -> None:
    for name in ("a", "b", "z"):
        drinks.post(ALL, DRINKS | {"name": name})
    first = drinks.get(f"{ALL}?limit=3").json()
    second = drinks.get(f"{ALL}?limit=3", params={"limit": 3, "cursor": first["next"]}).json()
    assert [one["name"] for one in first["allocations"] + second["allocations"]] == ["a", "b", "drinks", "z"]
    assert (len(second["allocations"]), second["next"]) == (1, None)
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "tea"})
    first = drinks.get(f"{ONE}/arms?limit=2").json()
    tea = {"arm": "tea", "retired": True, "fraction": 0.0, "penalty": None, "weight": None, "cap": None, "rate": None}
    assert first["arms"] == [tea, tea | {"arm": "coffee", "retired": False, "fraction": 0.2}]
    second = drinks.get(f"{ONE}/arms", params={"cursor": first["next"]}).json()
    assert ([one["arm"] for one in second["arms"]], second["next"]) == (["cocoa"], None)
    for cursor in ("x", "-1", "☕"):
        refused(drinks.get(f"{ONE}/arms", params={"cursor": cursor}), 422, "invalid")


def test_events_are_facts(drinks: Asking) -> None:
    decide(drinks, count=2)
    reward(drinks, ("1", {"tea": 1.0}))
    drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "tea"})
    first = drinks.get(f"{ONE}/events?limit=3").json()
    second = drinks.get(f"{ONE}/events?after={first['next']}").json()
    events = first["events"] + second["events"]
    assert [one["sequence"] for one in events] == [1, 2, 3, 4, 5]
    assert [one["kind"] for one in events] == ["create", "decide", "decide", "reward", "change"]
    assert [one["round"] for one in events] == [None, 1, 2, 1, 2]
    assert events[1]["data"] == {"arms": ["tea"], "propensity": [1.0]}
    assert events[4]["data"] == {"change": "retire", "arm": "tea"}
    assert (first["next"], second["next"]) == (3, None)
    assert drinks.get(f"{ONE}/events?after=5").json() == {"events": [], "next": None}
    refused(drinks.get(f"{ALL}/none/events"), 404, "unknown_allocation")


def test_arms_are_renamed_and_erased(drinks: Asking, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "evenhand.access")
    (decision,) = decide(drinks, available=["tea"])
    renamed = drinks.post(f"{ONE}/changes", {"change": "rename", "arm": "tea", "new_name": "Ann Smith"})
    assert renamed.json() == {"version": 1, "round": 1, "changed": True}
    assert drinks.get(f"{ONE}/decisions/1").json()["arms"][0]["arm"] == "Ann Smith"
    assert reward(drinks, (decision["id"], {"Ann Smith": 0.5})) == [("Ann Smith", "accepted")]
    refused(drinks.post(f"{ONE}/changes", {"change": "rename", "arm": "tea", "new_name": "mate"}), 404, "unknown_arm")
    refused(
        drinks.post(f"{ONE}/changes", {"change": "rename", "arm": "coffee", "new_name": "Ann Smith"}), 409, "conflict"
    )
    refused(drinks.post(f"{ONE}/changes", {"change": "rename", "arm": "coffee", "new_name": ".."}), 422, "invalid")
    erased = drinks("DELETE", f"{ONE}/arms/Ann%20Smith", headers={"Idempotency-Key": "a"})
    assert erased.json() == {"version": 2, "round": 1, "changed": True}
    assert drinks("DELETE", f"{ONE}/arms/Ann%20Smith", headers={"Idempotency-Key": "a"}).json() == erased.json()
    refused(drinks("DELETE", f"{ONE}/arms/Ann%20Smith"), 404, "unknown_arm")
    assert drinks.get(ONE).json()["arms"][0] == "erased-1"
    for path in (f"{ONE}/audit", f"{ONE}/log", f"{ONE}/events", f"{ONE}/decisions/1", "/metrics"):
        assert "Ann" not in drinks.get(path).text
    assert "DELETE /v1/allocations/drinks/arms/{arm} 200" in caplog.text
    assert "Ann" not in caplog.text


def test_arms_and_promises_change(drinks: Asking) -> None:
    decide(drinks, count=10)
    added = drinks.put(f"{ONE}/arms/mate", {"fraction": 0.1})
    assert (added.status_code, added.json()) == (201, {"version": 1, "round": 10, "changed": True})
    assert drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "cocoa"}).json() == {
        "version": 2,
        "round": 10,
        "changed": True,
    }
    assert drinks.get(ONE).json()["retired"] == ["cocoa"]
    assert drinks.post(f"{ONE}/changes", {"change": "promise", "fractions": {"tea": 0.3}}).json()["version"] == 3
    assert (
        drinks.post(f"{ONE}/changes", {"change": "bring_back", "arm": "cocoa", "fraction": 0.25}).json()["version"] == 4
    )
    assert drinks.get(ONE).json()["parameters"] == {"fractions": [0.3, 0.2, 0.25, 0.1]}
    error = refused(drinks.post(f"{ONE}/changes", {"change": "promise", "fractions": {"tea": 0.5}}), 422, "infeasible")
    assert "1.05" in error["detail"]  # 0.5 + 0.2 + 0.25 + 0.1
    refused(drinks.post(f"{ONE}/changes", {"change": "retire", "arm": "water"}), 404, "unknown_arm")
    assert (
        drinks.post(f"{ONE}/changes", {"change": "promise", "fractions": {"tea": 0.2, "mate": 0.2}}).json()["version"]
        == 5
    )
    assert drinks.get(ONE).json()["parameters"] == {"fractions": [0.2, 0.2, 0.25, 0.2]}


def test_a_change_is_all_or_nothing(drinks: Asking) -> None:
    over = {"change": "promise", "fractions": {"tea": 0.9}}
    refused(drinks.post(f"{ONE}/changes", over), 422, "infeasible")
    unknown = {"change": "promise", "fractions": {"tea": 0.1, "water": 0.1}}
    refused(drinks.post(f"{ONE}/changes", unknown), 404, "unknown_arm")
    assert drinks.get(ONE).json()["version"] == 0
    both = {"change": "promise", "fractions": {"tea": 0.1, "coffee": 0.3}, "reason": "as agreed"}
    assert drinks.post(f"{ONE}/changes", both).json()["changed"]
    (made,) = drinks.get(f"{ONE}/audit").json()["changes_made"]
    assert made["reason"] == "as agreed"
    assert drinks.get(ONE).json()["version"] == 1


def test_what_is_so_already_changes_nothing(drinks: Asking) -> None:
    same = {"version": 0, "round": 0, "changed": False}
    again = drinks.put(f"{ONE}/arms/coffee", {"fraction": 0.2})
    assert (again.status_code, again.json()) == (200, same)
    error = refused(drinks.put(f"{ONE}/arms/coffee", {}), 409, "conflict")
    assert error["detail"] == "arm 'coffee' is there with fraction 0.2, not 0.0; change that instead"
    for body in (
        {"change": "reopen"},
        {"change": "bring_back", "arm": "tea"},
        {"change": "promise", "fractions": {"coffee": 0.2}},
        {"change": "add", "arm": "coffee", "fraction": 0.2},
    ):
        assert drinks.post(f"{ONE}/changes", body).json() == same
    assert len(drinks.get(f"{ONE}/events").json()["events"]) == 1


@pytest.mark.parametrize("arm", ["green tea", "a/b", "a?b=c#d", "☕", "%2F", "arms"])
def test_arms_of_any_name_are_in_paths(drinks: Asking, arm: str) -> None:
    path = f"{ONE}/arms/{quote(arm, safe='')}"
    assert drinks.put(path, {"fraction": 0.1}).status_code == 201
    assert drinks("DELETE", path).json()["changed"]
    assert drinks.get(ONE).json()["retired"] == ["erased-4"]


def test_a_closed_allocation_decides_no_more(drinks: Asking) -> None:
    (decision,) = decide(drinks)
    assert drinks.post(f"{ONE}/changes", {"change": "close"}).json()["changed"]
    refused(drinks.post(f"{ONE}/decisions", {}), 409, "closed")
    assert reward(drinks, (decision["id"], {"tea": 1.0})) == [("tea", "accepted")]
    assert not drinks.post(f"{ONE}/changes", {"change": "close"}).json()["changed"]
    assert drinks.post(f"{ONE}/changes", {"change": "reopen"}).json()["changed"]
    assert decide(drinks)[0]["round"] == 2


# --- rounds -----------------------------------------------------------------------------------------------------------


def test_who_can_play_is_heeded(drinks: Asking) -> None:
    assert [names(one) for one in decide(drinks, count=2, available=["cocoa"])] == [["cocoa"]] * 2
    decisions = decide(drinks, rounds=[{"available": ["tea"]}, {}, {"available": ["coffee", "cocoa"]}])
    # Coffee is owed 0.2 · 3 plays, cocoa is ahead; then coffee is ahead of 0.2 · 4, and cocoa has two of them.
    assert names(decisions[0]) == ["tea"]
    assert names(decisions[1]) == ["coffee"]
    assert [one["round"] for one in decisions] == [3, 4, 5]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"available": ["water"]}, 422, "invalid"),
        ({"available": ["tea", "tea"]}, 422, "invalid"),
        ({"rounds": [{"available": ["tea"]}, {"available": ["water"]}]}, 422, "invalid"),
    ],
)
def test_a_request_that_cannot_be_met_decides_nothing(
    drinks: Asking, body: dict[str, Any], status: int, code: str
) -> None:
    refused(drinks.post(f"{ONE}/decisions", body), status, code)
    assert drinks.get(ONE).json()["round"] == 0


def test_propensities_are_returned_on_request(ask: Asking) -> None:
    ask.post(ALL, DRINKS | {"algorithm": "thompson", "parameters": {}})
    (plain,) = decide(ask)
    assert (plain["arms"][0]["propensity"], plain["arms"][0]["stderr"], plain["propensities"]) == (None, None, None)
    (decision,) = decide(ask, propensities=True)
    propensities = {one["arm"]: one for one in decision["propensities"]}
    assert set(propensities) == {"tea", "coffee", "cocoa"}
    # As many draws with each arm on top add up to all of them; no reward was sent, so all arms are alike.
    assert sum(one["propensity"] for one in propensities.values()) == pytest.approx(1.0)
    for one in propensities.values():
        assert abs(one["propensity"] - 1 / 3) < 5 * one["stderr"]
    assert decision["arms"] == [propensities[decision["arms"][0]["arm"]]]


def test_a_decision_shows_what_came_of_it(ask: Asking) -> None:
    ask.post(ALL, DRINKS | {"plays": 2, "window": 1e6, "missing": "lost"})
    (made, _) = decide(ask, rounds=[{"available": ["tea", "cocoa"]}, {}])
    refused(ask.get(f"{ONE}/decisions/3"), 404, "unknown_decision")
    reward(ask, ("1", {"tea": 1.0}))
    shown = ask.get(f"{ONE}/decisions/1").json()
    assert (shown["id"], shown["round"], shown["time"]) == ("1", 1, made["time"])
    assert shown["available"] == ["tea", "cocoa"]
    assert {one["arm"]: (one["propensity"], one["reward"], one["status"]) for one in shown["arms"]} == {
        "tea": (1.0, 1.0, "received"),
        "cocoa": (1.0, None, "pending"),
    }
    assert ask.get(f"{ONE}/decisions/2").json()["available"] == ["tea", "coffee", "cocoa"]


def test_every_reward_has_its_result(drinks: Asking) -> None:
    decide(drinks, count=2)
    assert reward(drinks, ("1", {"tea": 1.0})) == [("tea", "accepted")]
    results = reward(
        drinks,
        ("1", {"tea": 1.0}),
        ("1", {"tea": 0.0}),
        ("1", {"coffee": 1.0}),
        ("9", {"tea": 1.0}),
        ("2", {"coffee": 7}),
    )
    assert [status for _, status in results] == ["duplicate", "conflict", "unknown", "unknown", "invalid"]


def test_totals(ask: Asking) -> None:
    ask.post(ALL, DRINKS | {"algorithm": "ucb1", "parameters": {}, "rewards": [0.0, 5.0]})
    refused(ask.post(f"{ONE}/totals", {"value": 1.0}), 422, "invalid")  # there was no round yet
    decide(ask)
    assert ask.post(f"{ONE}/totals", {"value": 2.5}).json() == {"round": 1, "status": "accepted"}
    assert ask.post(f"{ONE}/totals", {"value": 2.5, "round": 1}).json() == {"round": 1, "status": "duplicate"}
    refused(ask.post(f"{ONE}/totals", {"value": 2.0, "round": 1}), 409, "conflict")
    refused(ask.post(f"{ONE}/totals", {"value": 2.0, "round": 5}), 409, "conflict")


@pytest.mark.parametrize(
    ("route", "first", "other"),
    [
        ("decisions", {"count": 2}, {"count": 1}),
        (
            "rewards",
            {"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}]},
            {"rewards": [{"decision": "1", "rewards": {"tea": 0}}]},
        ),
        ("changes", {"change": "retire", "arm": "tea"}, {"change": "retire", "arm": "coffee"}),
        ("changes", {"change": "close"}, {"change": "close", "reason": "the end"}),
    ],
)
def test_a_request_with_a_key_is_carried_out_once(drinks: Asking, route: str, first: Any, other: Any) -> None:
    decide(drinks)
    key = {"Idempotency-Key": "order-17"}
    path = f"{ONE}/{route}"
    once = drinks.post(path, first, headers=key)
    assert once.status_code == 200
    state = drinks.get(ONE).json()
    again = drinks.post(path, first, headers=key)
    assert (again.status_code, again.json()) == (200, once.json())
    refused(drinks.post(path, other, headers=key), 422, "key_reused")
    assert drinks.get(ONE).json() == state


def test_requests_at_the_same_time_get_decisions_of_their_own(drinks: Asking) -> None:
    answers = drinks.together([lambda http: http.post(f"{ONE}/decisions", json={})] * 40)
    rounds = [answer.json()["decisions"][0]["round"] for answer in answers]
    assert sorted(rounds) == list(range(1, 41))


# --- results ----------------------------------------------------------------------------------------------------------


def test_an_audit_is_sent_again_only_when_something_has_happened(drinks: Asking) -> None:
    decide(drinks)
    first = drinks.get(f"{ONE}/audit")
    tag = {"If-None-Match": first.headers["etag"]}
    same = drinks.get(f"{ONE}/audit", headers=tag)
    assert (same.status_code, same.content) == (304, b"")
    assert drinks.get(f"{ONE}/audit").headers["etag"] == first.headers["etag"]
    assert drinks.get(f"{ONE}/audit?limit=1", headers=tag).status_code == 200
    decide(drinks)
    assert drinks.get(f"{ONE}/audit", headers=tag).json()["round"] == 2


def test_an_audit_is_encoded_in_pieces(drinks: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two lines, and the third one; no name of an arm is taken for the place of the lines."""
    odd = quote('"lines":[]', safe="")
    assert drinks.put(f"{ONE}/arms/{odd}", {}).status_code == 201
    whole = drinks.get(f"{ONE}/audit").json() | {"time": ""}
    assert len(whole["lines"]) == 4
    for piece in (1, 2, 3):
        monkeypatch.setattr("evenhand.service.json.PIECE", piece)
        assert drinks.get(f"{ONE}/audit").json() | {"time": ""} == whole


def test_an_audit_can_be_cut_short(drinks: Asking) -> None:
    decide(drinks, count=2)  # cocoa is owed 0.4 plays
    audit = drinks.get(f"{ONE}/audit", params={"limit": 1}).json()
    assert (audit["arms"], [line["arm"] for line in audit["lines"]]) == (3, ["cocoa"])
    assert audit["lines"][0]["deficit"] == pytest.approx(0.4)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_log_is_sent_as_a_file(drinks: Asking, format: str) -> None:
    decide(drinks, count=12)
    sent = drinks.get(f"{ONE}/log", params={"format": format, "since": 3, "until": 11})
    assert sent.headers["content-disposition"] == f'attachment; filename="drinks.{format}"'
    read = pd.read_csv if format == "csv" else pd.read_parquet
    assert read(io.BytesIO(sent.content))["decision_id"].astype(int).tolist() == list(range(3, 12))


def test_a_log_longer_than_a_piece_is_whole(drinks: Asking, store: Store) -> None:
    store.run("drinks", Decide(count=5_001))  # a piece is of 5,000 rounds
    csv = pd.read_csv(io.BytesIO(drinks.get(f"{ONE}/log").content))
    parquet = pd.read_parquet(io.BytesIO(drinks.get(f"{ONE}/log?format=parquet").content))
    assert csv["decision_id"].tolist() == parquet["decision_id"].astype(int).tolist() == list(range(1, 5_002))
    assert csv["item_id"].tolist() == parquet["item_id"].tolist()


def test_an_empty_log_has_its_columns(drinks: Asking) -> None:
    assert list(pd.read_csv(io.BytesIO(drinks.get(f"{ONE}/log").content)).columns)[:3] == [
        "timestamp",
        "decision_id",
        "item_id",
    ]
    assert len(pd.read_parquet(io.BytesIO(drinks.get(f"{ONE}/log?format=parquet").content))) == 0


def test_propensities_can_be_estimated_afterwards(ask: Asking) -> None:
    ask.post(ALL, DRINKS | {"algorithm": "thompson", "parameters": {}})
    decide(ask, count=3)
    read = [
        pd.read_csv(io.BytesIO(ask.get(f"{ONE}/log?estimate={estimate}").content)) for estimate in ("false", "true")
    ]
    assert read[0]["propensity_score"].isna().all()
    assert read[1]["propensity_score"].between(0.2, 0.5).all()  # a third each, by a thousand draws


@pytest.mark.parametrize("path", ["", "/audit", "/log", "/log?format=parquet", "/arms", "/decisions/1"])
def test_an_allocation_that_is_not_there_is_not_found(ask: Asking, path: str) -> None:
    refused(ask.get(f"{ALL}/none{path}"), 404, "unknown_allocation")


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("decisions", {}),
        ("decisions", {"propensities": True}),
        ("rewards", {"rewards": [{"decision": "1", "rewards": {"tea": 1}}]}),
        ("totals", {"value": 1}),
    ],
)
def test_nothing_can_be_done_to_what_is_not_there(ask: Asking, route: str, body: Any) -> None:
    refused(ask.post(f"{ALL}/none/{route}", body), 404, "unknown_allocation")


# --- the server -------------------------------------------------------------------------------------------------------


def test_health_and_readiness(ask: Asking) -> None:
    assert ask.get("/healthz").json() == {"status": "ok"}
    assert ask.get("/readyz").json() == {"status": "ok"}


def test_head_is_get_without_a_body(drinks: Asking) -> None:
    for path in ("/", "/healthz", ONE):
        assert drinks("HEAD", path).status_code == 200


def figure(text: str, name: str) -> float:
    return float(next(line for line in text.splitlines() if line.startswith(name)).rpartition(" ")[2])


def test_figures(store: Store, drinks: Asking) -> None:
    decide(drinks, count=3)
    reward(drinks, ("1", {"tea": 1.0}), ("1", {"tea": 1.0}), ("9", {"tea": 1.0}))
    refused(drinks.get("/nothing/like/this"), 404, "not_found")
    refused(drinks.get(f"{ALL}/none"), 404, "unknown_allocation")
    text = drinks.get("/metrics").text
    assert figure(text, "evenhand_decisions_total") == 3.0
    assert figure(text, 'evenhand_rewards_total{status="accepted"}') == 1.0
    assert figure(text, 'evenhand_rewards_total{status="duplicate"}') == 1.0
    assert figure(text, 'evenhand_rewards_total{status="unknown"}') == 1.0
    assert figure(text, 'evenhand_pending_decisions{allocation="drinks"}') == 2.0
    # Each arm has played once in three rounds; coffee and cocoa are promised 0.6 plays, so nothing is owed.
    assert figure(text, 'evenhand_largest_deficit{allocation="drinks"}') == 0.0
    assert figure(text, 'evenhand_promises_behind{allocation="drinks"}') == 0.0
    one = '{method="GET",route="/v1/allocations/{name}",status="404"}'
    assert figure(text, f"evenhand_request_seconds_count{one}") == 1.0
    assert figure(text, 'evenhand_request_seconds_count{method="GET",route="other",status="404"}') == 1.0
    assert "none" not in text  # what others ask for is no label


def test_commits_are_counted(sqlite: str) -> None:
    metrics = Metrics()
    store = Store.open(sqlite, observer=metrics)
    store.create("drinks", ["tea", "coffee"], "ucb1")
    store.run("drinks", Decide(count=7))
    store.close()
    text = metrics.exposition().decode()
    assert figure(text, "evenhand_commit_events_sum") == 7.0
    assert figure(text, "evenhand_commit_seconds_count") == 1.0


def test_each_server_has_figures_of_its_own(store: Store, drinks: Asking) -> None:
    decide(drinks)
    with Asking(store) as other:
        assert figure(other.get("/metrics").text, "evenhand_decisions_total") == 0.0
