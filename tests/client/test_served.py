"""The client and its commands against the service itself, in a process of its own."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from rich.console import Console

from evenhand import Policy
from evenhand.bandit import Bandit
from evenhand.bandit.audit.figure import audit_table
from evenhand.bandit.evaluation.log import read_log
from evenhand.bandit.evaluation.price import price
from evenhand.changes import AddArm, BringBack, Close, Promise, Reopen, Retire, Reword
from evenhand.cli import answers, rendering
from evenhand.cli import main as cli
from evenhand.client import Client, ServiceError, Unavailable
from evenhand.client import transport as connection
from evenhand.client.leases import column_of
from evenhand.client.tries import Transient, Tries
from evenhand.messages.answers import Plan
from evenhand.messages.requests import Round
from evenhand.messages.words import Words
from evenhand.policy import UCB, DeficitFirst
from evenhand.service.store import Store
from tests.service.running import Launcher, Server

NUMBERS = count()  # of allocations


@pytest.fixture(scope="module")
def server(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A service without keys, for tests that each have allocations of their own."""
    folder = tmp_path_factory.mktemp("served")
    with Server(launcher, str(folder / "evenhand.db"), folder / "server.log") as running:
        yield running


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.url) as client_of:
        yield client_of


@pytest.fixture
def drinks(client: Client) -> str:
    """The name of a fresh allocation: tea, and coffee with a fifth of the rounds."""
    name = f"drinks-{next(NUMBERS)}"
    assert client.create(
        name, ["tea", "coffee"], "fucb", missing="never", parameters={"fractions": {"coffee": 0.2}}, seed=1
    )
    return name


# --- the client -------------------------------------------------------------------------------------------------------


def test_service_decides_as_the_bandit_does(client: Client, drinks: str) -> None:
    bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.0, 0.2], seed=1)
    for round in range(1, 31):
        choice, decided = bandit.decide(now=0.0, propensities=True), client.decide(drinks, propensities=True)
        assert decided.round == round
        assert replace(decided, time=choice.time) == choice
        rewards = dict.fromkeys(choice.names, (round % 3) / 2)
        bandit.observe(choice.id, rewards, now=0.0)
        assert [(one.arm, one.status) for one in client.reward(drinks, decided.id, rewards)] == [
            (arm, "accepted") for arm in choice.names
        ]
    audit, expected = client.audit(drinks), bandit.audit(now=0.0)
    priced, alone = client.price(drinks, [0.1, 0.2]), price(bandit, [0.1, 0.2])
    assert priced == replace(alone, source=drinks)
    assert audit.lines == expected.lines
    assert (audit.algorithm, audit.round, audit.version, audit.fault) == ("fucb", 30, 0, "")
    assert audit.deficit_history is not None
    assert expected.deficit_history is not None
    assert audit.deficit_history.deficits == expected.deficit_history.deficits
    assert audit.delays is not None
    assert audit.delays.count == 30
    assert audit_table(audit).shape == audit_table(expected).shape


def test_allocation_is_made_once(client: Client, drinks: str) -> None:
    same: dict[str, Any] = {"parameters": {"fractions": [0.0, 0.2]}, "seed": 1}
    assert not client.create(drinks, ["tea", "coffee"], "fucb", missing="never", **same)
    with pytest.raises(ServiceError, match=r"already an allocation .* with other plays") as caught:
        client.create(drinks, ["tea", "coffee"], "fucb", missing="never", plays=2, **same)
    assert (caught.value.code, caught.value.status) == ("conflict", 409)
    (summary,) = [one for one in client.allocations() if one.name == drinks]
    assert (summary.algorithm, summary.arms, summary.round, summary.closed) == ("fucb", 2, 0, False)
    described = client.describe(drinks)
    assert (described.arms, described.parameters, described.seed) == (("tea", "coffee"), {"fractions": [0.0, 0.2]}, 1)
    assert (described.window, described.missing, described.rewards) == (None, "never", (0.0, 1.0))


def test_infinite_parameters_arrive(client: Client) -> None:
    shares = {"fractions": [0.1, 0.1], "eta": float("inf")}
    assert client.create("endless", ["tea", "coffee"], "tscsf_b", missing="never", parameters=shares)
    assert client.describe("endless").parameters["eta"] == "inf"
    assert client.decide("endless").arms[0].propensity is None  # the arm with the highest score is drawn


def test_batches(client: Client, drinks: str) -> None:
    first = client.decide_many(drinks, 3, available=["tea"])
    assert [(one.id, one.names) for one in first] == [("1", ("tea",)), ("2", ("tea",)), ("3", ("tea",))]
    second = client.decide_many(drinks, [Round(available=["coffee"]), Round(available=["tea", "coffee"])])
    assert [one.id for one in second] == ["4", "5"]
    assert second[0].names == ("coffee",)
    results = client.reward_many(drinks, [("1", {"tea": 1}), ("4", {"coffee": 0.5, "tea": 0.5}), ("6", {"tea": 1.0})])
    assert [(one.decision, one.arm, one.status, one.learned) for one in results] == [
        ("1", "tea", "accepted", True),
        ("4", "coffee", "accepted", True),
        ("4", "tea", "unknown", False),
        ("6", "tea", "unknown", False),
    ]
    again = client.reward_many(drinks, [("1", {"tea": 1.0}), ("4", {"coffee": 0.0})])
    assert [(one.status, one.learned) for one in again] == [("duplicate", True), ("conflict", False)]


def test_differences(client: Client, drinks: str) -> None:
    for decided in client.decide_many(drinks, 300):
        client.reward(drinks, decided.id, {name: 1.0 if name == "tea" else 0.0 for name in decided.names})
    answer = client.differences(drinks, "coffee", confidence=0.9)
    (found,) = answer.differences
    assert (found.first, found.second, found.verdict, found.interval.confidence) == ("tea", "coffee", "larger", 0.9)
    assert answer.sentences[0].startswith("Tea earns more than coffee: ")
    assert answer.since is not None
    assert client.differences(drinks, "coffee", month=f"{answer.since:%Y-%m}").differences[0].verdict == "larger"
    for wrong in ({"month": "May"}, {"of": "groups"}, {"assume": "the best"}, {"confidence": 2.0}):
        with pytest.raises(ServiceError, match="|".join(wrong)):
            client.differences(drinks, **wrong)


def test_whether_one_may_stop(client: Client, drinks: str) -> None:
    early = client.stopping(drinks)
    assert (early.stop, early.candidates, early.rounds) == (False, ("tea", "coffee"), (None, None))
    for decided in client.decide_many(drinks, 300):
        client.reward(drinks, decided.id, {name: 1.0 if name == "tea" else 0.0 for name in decided.names})
    answer = client.stopping(drinks, 0.01, best=1)
    assert (answer.stop, answer.chosen, answer.claim) == (True, ("tea",), "holds_if")
    assert str(answer).startswith("Yes: tea is the best arm (error at most 1%).")
    with pytest.raises(ServiceError, match="delta"):
        client.stopping(drinks, 0.0)


def test_changes(client: Client, drinks: str) -> None:
    client.decide_many(drinks, 4)
    assert client.change(drinks, AddArm("mate", fraction=0.25)).version == client.describe(drinks).version == 1
    assert client.change(drinks, Promise({"coffee": 0.1}, reason="too much")).round == 4
    assert client.audit(drinks).changes_made[-1].reason == "too much"
    assert client.change(drinks, Retire("mate"), version=2).version == 3
    assert client.describe(drinks).retired == ("mate",)
    with pytest.raises(ServiceError, match="has version 3, not 2") as caught:
        client.change(drinks, BringBack("mate", 0.5), version=2)
    assert caught.value.code == "conflict"
    assert client.change(drinks, BringBack("mate", 0.5)).version == 4
    assert {line.arm: line.promised for line in client.audit(drinks).lines} == {"tea": 0.0, "coffee": 0.1, "mate": 0.5}
    for refuse in (client.change, client.plan):
        with pytest.raises(ServiceError, match="together are promised") as caught:
            refuse(drinks, Promise({"tea": 0.9}))
        assert caught.value.code == "infeasible"
    assert client.plan(drinks, Promise({"tea": 0.2})).begins == ("tea",)
    assert client.plan(drinks, AddArm("chai", fraction=0.1)).promised == pytest.approx(0.7)
    settings: dict[str, Any] = {"missing": "never", "parameters": {"fractions": 0.1}}
    plan = client.create("films", ["a", "b"], "fucb", **settings, dry_run=True)
    assert isinstance(plan, Plan)
    assert plan.promised == pytest.approx(0.2)
    assert "films" not in [one.name for one in client.allocations()]
    client.change(drinks, Close())
    with pytest.raises(ServiceError) as caught:
        client.decide(drinks)
    assert caught.value.code == "closed"
    client.change(drinks, Reopen())
    assert client.decide(drinks).version == 4


def test_totals(client: Client) -> None:
    client.create("sums", ["tea", "coffee"], "ucb1", missing="never", seed=1)
    client.decide("sums")
    assert (client.total("sums", 0.5).round, client.total("sums", 0.5, 1).status) == (1, "duplicate")
    with pytest.raises(ServiceError) as caught:
        client.total("sums", 0.75, 1)
    assert caught.value.code == "conflict"


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda client, name: client.describe("nothing"), "unknown_allocation"),
        (lambda client, name: client.audit("nothing"), "unknown_allocation"),
        (lambda client, name: client.decide("nothing"), "unknown_allocation"),
        (lambda client, name: client.describe("a/b"), "not_found"),
        (lambda client, name: client.decide(name, available=["milk"]), "invalid"),
        (lambda client, name: client.decide_many(name, 0), "invalid"),
        (lambda client, name: client.decide_many(name, []), "invalid"),
        (lambda client, name: client.decide_many(name, 1001), "too_large"),
        (lambda client, name: client.reward_many(name, [("1", {"tea": 1.0})] * 1001), "too_large"),
        (lambda client, name: client.create("two words", ["tea"], "ucb1", missing="never"), "invalid"),
        (lambda client, name: client.create("more", ["tea"], "nothing", missing="never"), "invalid"),
    ],
)
def test_what_the_service_refuses_has_a_code(
    client: Client, drinks: str, ask: Callable[[Client, str], object], code: str
) -> None:
    with pytest.raises(ServiceError) as caught:
        ask(client, drinks)
    assert caught.value.code == code
    assert str(caught.value)


def test_same_key_has_the_same_answer_and_another_request_may_not_use_it(client: Client, drinks: str) -> None:
    first = client.decide(drinks, idempotency_key="order-17")
    assert client.decide(drinks, idempotency_key="order-17") == first
    assert client.describe(drinks).round == 1
    with pytest.raises(ServiceError) as caught:
        client.decide(drinks, available=["tea"], idempotency_key="order-17")
    assert caught.value.code == "key_reused"


class Forgetful(httpx.HTTPTransport):
    """A network that carries every request, and loses the first answer to each."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        key = request.headers["Idempotency-Key"]
        if key in self.seen:
            return answer
        self.seen.add(key)
        answer.read()
        raise httpx.ReadError("the answer was lost", request=request)


def test_lost_answers_do_nothing_twice(server: Server, client: Client, drinks: str) -> None:
    with Client(server.url, transport=Forgetful(), sleep=lambda seconds: None) as unlucky:
        decided = [unlucky.decide(drinks) for _ in range(10)]
        assert [one.id for one in decided] == [str(round) for round in range(1, 11)]
        results = unlucky.reward_many(drinks, [(one.id, {one.names[0]: 1.0}) for one in decided])
        assert [one.status for one in results] == ["accepted"] * 10
        assert unlucky.change(drinks, AddArm("mate", fraction=0.25)).version == 1
    audit = client.audit(drinks)
    assert (audit.round, audit.version) == (10, 1)
    assert sum(line.received for line in audit.lines) == 10


def test_threads_share_a_client(client: Client, drinks: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        decided = list(pool.map(lambda _: client.decide(drinks), range(100)))
    assert sorted(one.round for one in decided) == list(range(1, 101))


def test_server_that_comes_back_is_asked_again(serve: Callable[..., Server], sqlite: str) -> None:
    running = serve(sqlite)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if running.process is None:
            running.start()

    with Client(running.url, sleep=sleep, patience=300.0) as client:
        client.create("drinks", ["tea", "coffee"], "ucb1", missing="never", seed=1)
        assert client.decide("drinks").id == "1"
        running.kill()
        assert client.decide("drinks").id == "2"
        assert client.decide("drinks").id == "3"
    assert len(waited) == 1


def test_server_that_is_gone_is_named(serve: Callable[..., Server], sqlite: str) -> None:
    running = serve(sqlite)
    running.kill()
    with (
        Client(running.url, sleep=lambda seconds: None) as client,
        pytest.raises(Unavailable, match=r"in 11 tries.*no connection.*evenhand serve") as caught,
    ):
        client.decide("drinks", idempotency_key="order-17")
    assert "nothing was changed" in str(caught.value)


def test_no_proxy_leads_to_this_computer(server: Server, drinks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    with Client(server.url) as client:
        assert client.describe(drinks).name == drinks


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_log_reads_as_it_was_decided(client: Client, drinks: str, tmp_path: Path, form: str) -> None:
    decided = client.decide_many(drinks, 20)
    client.reward_many(drinks, [(one.id, {one.names[0]: 0.5}) for one in decided[:19]])
    client.log(drinks, tmp_path / f"log.{form}")
    log = read_log(tmp_path / f"log.{form}", missing="zero")
    assert (log.rounds, log.rows) == (20, 20)
    client.log(drinks, tmp_path / f"part.{form}", since=5, until=9)
    part = tmp_path / f"part.{form}"
    frame = pd.read_csv(part) if form == "csv" else pd.read_parquet(part)
    assert frame["item_id"].tolist() == [one.names[0] for one in decided[4:9]]
    assert frame["reward"].tolist() == [0.5] * 5
    with pytest.raises(ServiceError, match="there is no allocation 'nothing'"):
        client.log("nothing", tmp_path / f"none.{form}")
    assert not (tmp_path / f"none.{form}").exists()


# --- keys -------------------------------------------------------------------------------------------------------------


@dataclass
class Guarded:
    """A service with keys, and the secrets of two of them."""

    server: Server
    administrator: str
    reader: str


@pytest.fixture
def guarded(serve: Callable[..., Server], sqlite: str) -> Guarded:
    store = Store.open(sqlite)
    _, administrator = store.keys.create("administrator", ["administer", "decide", "reward", "read"])
    _, reader = store.keys.create("reader", ["read"])
    store.close()
    return Guarded(serve(sqlite), administrator, reader)


def test_keys_say_who_may_do_what_and_are_never_shown(guarded: Guarded, caplog: pytest.LogCaptureFixture) -> None:
    url, stranger = guarded.server.url, "evh_" + "x" * 43
    with caplog.at_level(logging.DEBUG):
        with Client(url, guarded.administrator) as client:
            assert client.create("drinks", ["tea"], "ucb1", missing="never")
            assert client.access().scopes == ("administer", "decide", "read", "reward")
        with Client(url, guarded.reader) as client:
            assert (client.access().open, client.access().name) == (False, "reader")
            assert client.describe("drinks").arms == ("tea",)
            with pytest.raises(ServiceError) as forbidden:
                client.decide("drinks")
        for key in (None, stranger):
            with Client(url, key) as client, pytest.raises(ServiceError) as unknown:
                client.describe("drinks")
            assert (unknown.value.code, unknown.value.status) == ("unauthenticated", 401)
    assert (forbidden.value.code, forbidden.value.status) == ("forbidden", 403)
    assert "/v1/allocations" in caplog.text
    shown = caplog.text + repr(forbidden.value) + repr(unknown.value)
    for secret in (guarded.administrator, guarded.reader, stranger):
        assert secret not in shown


def test_commands_take_the_key_from_the_environment(
    guarded: Guarded, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_URL", guarded.server.url)
    monkeypatch.setenv("EVENHAND_KEY", guarded.administrator)
    assert run("create", "drinks", "ucb1", "--arm", "tea", "--missing", "never").status == 0
    monkeypatch.setenv("EVENHAND_KEY", guarded.reader)
    assert run("show", "drinks").status == 0
    refused = run("decide", "drinks")
    assert refused.status == 2
    assert "set EVENHAND_KEY to another API key" in refused.err
    assert guarded.reader not in refused.out + refused.err
    monkeypatch.delenv("EVENHAND_KEY")
    refused = run("show", "drinks")
    assert refused.status == 2
    assert "set EVENHAND_KEY to an API key" in refused.err


# --- the commands -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Done:
    """What a command came to."""

    status: int
    out: str
    err: str

    @property
    def output(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Done]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run ``evenhand client …`` in this process."""

    def call(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["evenhand", "client", *words])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Done(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def served(server: Server, drinks: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a fresh allocation of the service that commands ask."""
    monkeypatch.setenv("EVENHAND_URL", server.url)
    monkeypatch.delenv("EVENHAND_KEY", raising=False)
    return drinks


def test_create_takes_parameters_as_a_configuration_has_them(served: str, run: Run, client: Client) -> None:
    name = f"{served}-2"
    words = ["create", name, "tscsf_b", "--arm", "tea", "--arm", "coffee", "--plays", "1", "--window", "60"]
    words += ["--missing", "zero", "--set", "fractions={coffee=0.2}", "--set", "eta=20.0", "--seed", "5"]
    assert run(*words, "--dry-run").out.startswith("nothing was written; from round 1 on:\n")
    done = run(*words, "--rewards", "0,5", "--json")
    assert (done.status, done.output) == (0, {"name": name, "new": True})
    described = client.describe(name)
    assert described.parameters == {"fractions": [0.0, 0.2], "eta": 20.0}
    assert (described.window, described.missing, described.rewards, described.seed) == (60.0, "zero", (0.0, 5.0), 5)
    assert run(*words, "--rewards", "0,5").out == f"allocation {name} already exists with the same settings\n"
    other = run(*words, "--rewards", "0,6")
    assert other.status == 2
    assert "with other rewards" in other.err


def test_a_policy_is_taken_as_a_bandit_takes_it(server: Server, client: Client) -> None:
    policy = Policy(UCB(1.0), DeficitFirst([0.0, 0.3]))
    assert client.create("own-policy", ["tea", "coffee"], policy, missing="never", seed=3)
    assert not client.create("own-policy", ["tea", "coffee"], policy, missing="never", seed=3)
    bandit = Bandit(["tea", "coffee"], policy, seed=3)
    assert [client.decide("own-policy").names for _ in range(8)] == [bandit.decide(now=0.0).names for _ in range(8)]


def test_a_pair_without_its_option_names_the_option(served: str, run: Run) -> None:
    promised, created = (
        run("change", "promise", served, "coffee=0.3"),
        run(*("create", "x", "fucb", "fractions=0.2", "--arm", "tea", "--missing", "never")),
    )
    assert "; did you mean --fraction coffee=0.3? (see " in promised.err
    assert "; did you mean --set fractions=0.2? (see " in created.err
    assert "did you mean" not in run("show", served, "coffee=0.3").err


def test_stopping_exits_with_1_while_one_may_not(served: str, run: Run, client: Client) -> None:
    early = run("stopping", served)
    assert (early.status, early.out) == (1, f"{client.stopping(served)}\n")
    sure = run("stopping", served, "--epsilon", "1", "--delta", "0.2", "--json")
    assert (sure.status, sure.output["stop"], sure.output["epsilon_now"]) == (0, True, 1.0)
    assert run("stopping", served, "--best", "2").status == 0
    wrong = run("stopping", served, "--best", "few")
    assert (wrong.status, "best: must be a number of arms or 'promises', got 'few'" in wrong.err) == (2, True)
    month = run("differences", served, "--month", "nov")
    assert (month.status, "must be a month as YYYY-MM" in month.err) == (2, True)


def test_words_at_the_command_line(served: str, run: Run, client: Client) -> None:
    name = f"{served}-3"
    words = ["create", name, "fucb", "--arm", "tea", "--arm", "coffee", "--missing", "never", "--unit", "€"]
    words += ["--set", "fractions={coffee=0.2}"]
    assert run(*words, "--round-name", "guests", "--arm-name", "drinks").status == 0
    run("decide", name, "--count", "4")
    assert client.describe(name).words == Words("€", "guests", "drinks")
    shown, audit = run("show", name).out, run("audit", name).out
    assert [line.split()[-1] for line in shown.splitlines() if " called " in line] == ["guests", "drinks"]
    assert "4 guests, version 0" in audit
    assert "drink" in audit.split()
    assert "reward, €" in audit
    assert run("change", "reword", name, "--unit", "$").out.startswith("changed: ")
    assert client.audit(name).words == Words("$")


def test_list_and_show(served: str, run: Run) -> None:
    (row,) = [line for line in run("list").out.splitlines() if line.split()[:1] == [served]]
    assert row.split()[1:5] == ["fucb", "2", "0", "open"]
    (listed,) = [one for one in run("list", "--json").output["allocations"] if one["name"] == served]
    assert (listed["arms"], listed["round"], listed["closed"]) == (2, 0, False)
    shown = run("show", served).out
    assert "tea 0.0, coffee 0.2" in shown
    assert run("show", served, "--json").output["arms"] == ["tea", "coffee"]


def test_decide_and_reward(served: str, run: Run) -> None:
    (decided,) = run("decide", served, "--json").output["decisions"]
    assert (decided["id"], decided["arms"]) == ("1", [{"arm": "tea", "propensity": 1.0, "stderr": 0.0}])
    table = run("decide", served, "--count", "2", "--available", "coffee", "--propensities").out
    cells = [line.split() for line in table.splitlines()]
    assert ["2", "2", "coffee", "1"] in cells
    assert ["3", "3", "coffee", "1"] in cells
    assert "available arm" in table
    good = run("reward", served, "1", "tea=1", "--json")
    assert (good.status, good.output["results"][0]["status"]) == (0, "accepted")
    assert run("reward", served, "1", "tea=1").status == 0
    conflict = run("reward", served, "1", "tea=0.5")
    assert conflict.status == 1
    assert "its reward is 1 and cannot change to 0.5" in conflict.out
    partly = run("reward", served, "2", "coffee=0.5", "tea=1", "--json")
    assert partly.status == 1
    assert [one["status"] for one in partly.output["results"]] == ["accepted", "unknown"]


def test_idempotency_key_of_a_command(served: str, run: Run) -> None:
    first = run("decide", served, "--json", "--idempotency-key", "order-17")
    assert run("decide", served, "--json", "--idempotency-key", "order-17") == first


def test_differences_of_a_command(served: str, run: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.change(served, AddArm("a drink with a name that is far too long for a narrow terminal", fraction=0.1))
    client.decide_many(served, 10)
    monkeypatch.setattr(rendering, "WIDE", 80)
    found = run("differences", served)
    assert (found.status, max(map(len, found.out.split("Whether")[0].splitlines())) <= 80) == (0, True)
    assert "tea − coffee" in found.out
    assert "Whether tea or coffee earns more is undecided: " in found.out
    few = run("differences", served, "coffee", "--assume", "lost independently", "--json").output
    assert [one["first"] for one in few["differences"]][:1] == ["tea"]
    for arm in "abc":
        client.change(served, AddArm(arm, fraction=0.01))
    many = run("differences", served).out
    assert "All intervals hold at once (95%), however often one looks." in many
    assert "It is a premise that nothing common changed over time." in many
    assert "10 rewards that are not known in time count as the worst, unless one assumes 'lost" in " ".join(
        many.split()
    )
    client.change(served, Reword("€", arm_name="drinks"))
    paid = run("differences", served, "coffee", "--assume", "lost independently").out
    assert "difference, €" in paid
    assert "worst" not in paid
    assert "€ per play" in client.differences(served, "coffee").sentences[0]
    assert run("differences", served, "--groups").status > 0


def test_audit_of_a_command(served: str, run: Run, client: Client) -> None:
    client.decide_many(served, 10)
    table = run("audit", served).out
    assert f"{served}  10 rounds, version 0, fucb" in table
    assert [line.split()[:4] for line in table.splitlines() if line.startswith(" coffee")] == [
        ["coffee", "0.2", "2", "0.2"]
    ]
    audit = run("audit", served, "--json").output
    expected = client.audit(served).to_json()
    assert audit == expected | {"name": served, "time": audit["time"]}
    limited = run("audit", served, "--limit", "1")
    assert "and 1 more" in limited.out
    assert [line["arm"] for line in run("audit", served, "--limit", "1", "--json").output["lines"]] == ["coffee"]


def test_totals_of_commands(served: str, run: Run, client: Client) -> None:
    client.decide(served)
    assert run("total", served, "0.5", "--round", "1").out == "round 1: accepted\n"
    assert run("total", served, "0.5", "--json").output == {"round": 1, "status": "duplicate"}
    assert run("total", served, "0.75").status == 2


def test_leases_by_commands(served: str, run: Run, client: Client) -> None:
    asked = run("lease", "ask", served, "10", "--seconds", "30", "--draw", "--json")
    lease, drawn = asked.output, asked.output["drawn"]
    assert {one["arm"]: one["count"] for one in lease["arms"]} == {"tea": 8, "coffee": 2}
    assert [one["position"] for one in drawn] == list(range(10))
    counts = Counter(arm for one in drawn for arm in one["arms"])
    assert counts == {"tea": 8, "coffee": 2}
    [(arm,), (other,)] = (one["arms"] for one in drawn[:2])
    reported = run("lease", "report", served, lease["id"], "6", "--reward", f"0:{arm}=1", "--reward", f"1:{other}=0.5")
    assert reported.out.splitlines()[-2].split() == [lease["id"], "6", "6", "open", "2", "0", "0"]
    again = run("lease", "report", served, lease["id"], "6", "--reward", f"0:{arm}=1", "--json").output
    assert (again["added"], again["duplicate"], again["returned"]) == (0, 1, False)
    assert [one.reward for one in client.decision(served, drawn[0]["id"]).arms] == [1.0]
    assert sum(line.plays for line in client.audit(served).lines) == 10
    returned = run("lease", "return", served, lease["id"], "--json").output
    assert (returned["played"], returned["returned"]) == (6, True)
    assert sum(line.plays for line in client.audit(served).lines) == 6
    table = run("lease", "ask", served, "5", "--available", "coffee").out
    assert "lease 11: 5 decisions from round 11 on" in table
    assert ["coffee", "5", "1"] in [line.split() for line in table.splitlines()]
    assert run("lease", "report", served, "11", "5", "--finished").status == 0


def test_leases_for_units_by_commands(served: str, run: Run, client: Client) -> None:
    lease = run("lease", "ask", served, "20", "--units", "--json").output
    columns = [column_of(unit, lease["salt"], 20) for unit in ("ana", "bo")]
    words = [word for column in columns for word in ("--column", str(column))]
    report = run("lease", "report", served, lease["id"], "2", *words, "--finished", "--json").output
    assert (report["added"], report["returned"]) == (2, True)
    assert sum(line.plays for line in client.audit(served).lines) == 2
    both = run("lease", "ask", served, "20", "--units", "--draw")
    assert (both.status, "they follow from units" in both.err) == (2, True)
    for reward in ("tea=1", "0:=1", "x:tea=1", "0:tea"):
        wrong = run("lease", "report", served, lease["id"], "2", "--reward", reward)
        assert wrong.status == 2
        assert "--reward must have the form POSITION:ARM=REWARD, such as 0:tea=1" in wrong.err
    unknown = run("lease", "return", served, "99")
    assert (unknown.status, "no lease" in unknown.err) == (2, True)


def test_changes_by_commands(served: str, run: Run, client: Client) -> None:
    assert run("change", "add", served, "mate", "--fraction", "0.25").out == "changed: version 1, from round 1 on\n"
    words = ("--fraction", "coffee=0.1", "--fraction", "mate=0.3", "--reason", "as agreed")
    assert run("change", "promise", served, *words, "--json").output == {
        "version": 2,
        "round": 0,
        "changed": True,
    }
    same = run("change", "promise", served, *words).out
    assert same == "nothing changed, version 2\n"
    assert [one.reason for one in client.audit(served).changes_made] == ["", "as agreed"]
    stale = run("change", "retire", served, "mate", "--version", "1")
    assert (stale.status, "has version 2, not 1" in stale.err) == (2, True)
    dry = run("change", "promise", served, "--fraction", "coffee=0.6", "--dry-run").out
    assert dry.startswith("nothing was written; from round 1 on:\n")
    assert [line.split()[:2] for line in dry.splitlines()[4:7]] == [["tea", "0"], ["coffee", "0.6"], ["mate", "0.3"]]
    assert run("change", "promise", served, "--fraction", "coffee=0.8", "--dry-run").status == 2
    assert run("change", "add", served, "chai", "--fraction", "0.1", "--dry-run", "--json").output["begins"] == ["chai"]
    assert "retired" in run("change", "retire", served, "coffee", "--dry-run").out
    assert run("change", "bring-back", served, "coffee", "--dry-run").out.startswith("nothing would change:\n")
    assert "mokka" in run("change", "rename", served, "coffee", "mokka", "--dry-run").out
    assert [(arm.arm, arm.retired) for arm in client.arms(served)] == [
        (arm, False) for arm in ("tea", "coffee", "mate")
    ]
    assert run("change", "retire", served, "mate").status == 0
    assert run("change", "bring-back", served, "mate", "--fraction", "0.5").status == 0
    assert {line.arm: line.promised for line in client.audit(served).lines} == {"tea": 0.0, "coffee": 0.1, "mate": 0.5}
    assert run("change", "close", served).status == 0
    closed = run("decide", served)
    assert closed.status == 2
    assert "closed" in closed.err
    assert run("change", "reopen", served).status == 0
    assert run("decide", served).status == 0
    assert run("change", "rename", served, "mate", "maté").status == 0
    assert run("change", "rename", served, "maté", "tea").status == 2
    assert run("change", "erase", served, "coffee").status == 0
    assert [arm.arm for arm in client.arms(served)] == ["tea", "erased-2", "maté"]
    assert run("change", "erase", served, "coffee").status == 2
    assert run("change", "bring-back", served, "erased-2", "--fraction", "0.1").status == 0
    refused = run("change", "promise", served, "--fraction", "tea=0.9")
    assert refused.status == 2
    assert "together are promised 1.5" in refused.err


def test_webhooks_by_commands(served: str, run: Run, client: Client) -> None:
    added = run("webhook", "add", served, "https://example.org/hook", "--kind", "decide", "--json").output
    assert added["secret"].startswith("whsec_")
    assert "https://example.org/hook" in run("webhook", "list", served).out
    listed = [one.to_json() for one in client.webhooks(served)]
    assert run("webhook", "list", served, "--json").output == {"webhooks": listed}
    assert run("webhook", "add", served, "https://10.0.0.1/").status == 2
    assert run("webhook", "remove", served, added["id"]).out == f"removed webhook {added['id']} to {added['url']}\n"
    assert run("webhook", "remove", served, added["id"]).status == 2
    assert client.webhooks(served) == ()
    assert client.add_webhook(served, "https://example.org/hook").kinds is None


def test_a_decision_and_the_events_by_commands(served: str, run: Run, client: Client) -> None:
    decision = client.decide(served)
    client.reward(served, decision.id, {decision.names[0]: 0.5})
    shown = run("decision", served, "1")
    assert "available: tea, coffee" in shown.out
    assert "0.5" in shown.out
    assert "received" in shown.out
    assert run("decision", served, "1", "--json").output == client.decision(served, "1").to_json()
    assert run("decision", served, "2").status == 2
    assert run("arms", served, "--json").output == {"arms": [arm.to_json() for arm in client.arms(served)]}
    assert "active" in run("arms", served).out
    assert run("algorithms", "--json").output == {"algorithms": [one.to_json() for one in client.algorithms()]}
    assert "fucb" in run("algorithms").out
    assert "tolerance" in run("algorithms", "fucb").out
    assert "did you mean 'fucb'?" in run("algorithms", "fucbb").err
    events = [event.to_json() for event in client.events(served)]
    assert [event["kind"] for event in events] == ["create", "decide", "reward"]
    assert run("events", served, "--json").output == {"events": events}
    assert run("events", served, "--after", "1", "--limit", "1", "--json").output == {"events": events[1:2]}
    assert len(run("events", served).out.splitlines()) == 3


def test_log_of_a_command(served: str, run: Run, client: Client, tmp_path: Path) -> None:
    client.decide_many(served, 5)
    file = tmp_path / "log.csv"
    done = run("log", served, str(file), "--json")
    assert done.output == {"file": str(file), "bytes": file.stat().st_size}
    assert len(pd.read_csv(file)) == 5
    for ending in ("csv", "parquet"):
        empty = str(tmp_path / f"empty.{ending}")
        assert "has no rows" not in run("log", served, empty, "--since", "5").err
        assert f"{served} has no decision in these rounds: {empty} has no rows" in (
            run("log", served, empty, "--since", "6").err
        )
    assert run("log", served, str(tmp_path / "log.txt")).status == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reward", "drinks", "1", "tea"], "REWARDS must have the form ARM=REWARD, such as tea=1; got 'tea'"),
        (["reward", "drinks", "1", "tea=good"], "got 'tea=good'"),
        (["reward", "drinks", "1", "=1"], "got '=1'"),
        (["reward", "drinks", "1", "tea=1", "tea=0"], "names 'tea' twice"),
        (["reward", "drinks", "1", "tea=nan"], "cannot be sent as JSON"),
        (["change", "promise", "drinks"], "must have at least one of fractions, caps and groups"),
        (
            ["change", "promise", "drinks", "--fraction", "tea"],
            "--fraction must have the form ARM=SHARE, such as coffee=0.1",
        ),
        (
            ["create", "drinks", "fucb", "--arm", "tea", "--missing", "never", "--rewards", "1"],
            "must have the form LOW,HIGH, such as 0,1",
        ),
        (
            ["create", "drinks", "fucb", "--arm", "tea", "--missing", "never", "--set", "fractions"],
            "--set must have the form NAME=VALUE",
        ),
        (["show", "nothing"], "there is no allocation 'nothing'"),
        (["list", "--url", "localhost"], "url must be the address of a service"),
        (["list", "--timeout", "0"], "above 0 seconds"),
        (["audit", "drinks", "--limit", "0"], "--limit"),
    ],
)
@pytest.mark.usefixtures("served")
def test_what_commands_refuse(run: Run, words: list[str], said: str) -> None:
    done = run(*words)
    assert done.status == 2
    assert said in done.err


def test_names_of_arms_may_have_equals_signs_and_marks(served: str, run: Run, client: Client) -> None:
    client.change(served, AddArm("[red]a=b[/red]"))
    shown = run("decide", served, "--available", "[red]a=b[/red]").out
    assert "[red]a=b[/red]" in shown
    assert run("reward", served, "1", "[red]a=b[/red]=1").status == 0
    assert "[red]a=b[/red]" in run("audit", served).out


def test_command_that_finds_no_service_says_what_to_do(
    serve: Callable[..., Server], sqlite: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve(sqlite)
    running.kill()
    monkeypatch.setenv("EVENHAND_URL", running.url)
    done = run("decide", "drinks", "--timeout", "0.001")
    assert done.status == 2
    for words in ("was not answered", "evenhand serve", "nothing was changed"):
        assert words in done.err


def test_a_service_that_starts_slowly_is_waited_for_until_the_time_is_over(
    serve: Callable[..., Server], sqlite: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often that is."""
    running, pause, tried = serve(sqlite), Tries.pause, count(1)
    running.kill()

    def paused(self: Tries, error: Transient) -> float:
        pause(self, error)
        if next(tried) == 20:
            running.start()
        return 0.0

    monkeypatch.setattr(Tries, "pause", paused)
    monkeypatch.setattr("evenhand.client.tries.FIRST_PAUSE", 0.0)
    done = run("list", "--url", running.url, "--wait", "--timeout", "60", "--json")
    assert done.status == 0, done.err
    assert next(tried) > 20


def test_silence_is_noticed_once(
    serve: Callable[..., Server], sqlite: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve(sqlite)
    running.kill()
    monkeypatch.setattr(connection, "NOTICE_AFTER", 0.0)
    done = run("list", "--url", running.url, "--timeout", "0.3", "--json")
    assert done.err.count(f"no answer from {running.url} yet; waiting for up to 0.3 s") == 1
    assert done.out == ""


def test_an_allocation_that_is_misspelt_is_guessed(served: str, run: Run) -> None:
    done = run("decide", served.replace("drinks", "drnks"))
    assert done.status == 2
    assert f"did you mean {served!r}?" in done.err


@pytest.mark.parametrize("width", [80, 120])
def test_no_number_of_an_audit_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bandit = Bandit(["a long name of an arm, in words", "b"], "fucb", fractions=[0.125, 0.25], seed=1)
    for _ in range(1200):
        bandit.observe(bandit.decide(available=["b"]).id, {"b": 1.0})
    monkeypatch.setattr(answers, "console_for_tables", lambda: Console(width=width))
    answers.show_audit(replace(bandit.audit(), name="drinks"))
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    assert "…" not in shown
    row = next(line for line in shown.splitlines() if line.split()[:1] == ["b"])
    for number in ("0.25", "1,200", "1", "-900", "1"):  # 0.25 · 1200 − 1200 = −900
        assert number in row.split()
    assert "150" in shown.split()  # 0.125 · 1200
    assert ("95% interval" in shown) == (width == 120)


def test_an_audit_shows_groups_and_caps(capsys: pytest.CaptureFixture[str]) -> None:
    hot = {"name": "[b]hot", "arms": ["tea", "coffee"], "at_least": 0.4}
    bandit = Bandit(["tea", "coffee"], "group_ucb", caps={"coffee": 0.5}, groups=[hot], seed=1)
    bandit.decide(available=["tea"])
    answers.show_audit(replace(bandit.audit(), name="drinks"))
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["[b]hot", "0.4", "1", "1", "-0.6"] in rows
    assert ["coffee", "0.5", "0", "0", "-0.5"] in rows


def test_export_in_json(
    serve: Callable[..., Server],
    sqlite: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Client(serve(sqlite).url) as client:
        client.create("drinks", ["tea", "mate"], "ucb1", missing="never", plays=2)
        client.decide("drinks")
    file = str(tmp_path / "log.csv")
    words = ["evenhand", "export", "drinks", file, "--database", sqlite, "--json"]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit):
        cli.main()
    captured = capsys.readouterr()
    assert json.loads(captured.out) == {"rows": 2, "file": file}
    assert captured.err == ""


COMMANDS = ["create", "list", "show", "arms", "decide", "decision", "reward", "total", "audit", "events", "log"]
COMMANDS += [
    f"change {name}" for name in ("add", "retire", "bring-back", "rename", "erase", "promise", "close", "reopen")
]
COMMANDS += [f"webhook {name}" for name in ("add", "list", "remove")]


def test_help_names_the_key(run: Run) -> None:
    assert "EVENHAND_KEY" in run("--help").out


def test_help_has_examples(run: Run) -> None:
    for command in COMMANDS:
        shown = run(*command.split(), "--help").out
        assert "EVENHAND_KEY" in shown
        assert "EVENHAND_URL" in shown
        assert f"evenhand client {command}" in shown.partition("Examples:")[2]


def test_a_log_becomes_an_allocation(
    client: Client, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVENHAND_URL", server.url)
    frame = pd.DataFrame({"time": range(60), "arm": ["tea", "mate"] * 30, "euros": [8.0, None, 4.0] * 20})
    frame.to_csv(tmp_path / "sales.csv", index=False)
    path, name = str(tmp_path / "sales.csv"), f"started-{next(NUMBERS)}"
    said = ["--column", "reward=euros", "--missing", "zero", "--window", "10", "--rewards", "0,10", "--unit", "€"]
    assert cli.run(["price", path, *said, "--promise", "0.1", "--rounds", "20", "--start", name]) == 0
    made = client.describe(name)
    assert (made.algorithm, made.missing, made.window, made.rewards) == ("f_ts", "zero", 10.0, (0.0, 10.0))
    lines = {line.arm: line for line in client.audit(name).lines}
    assert (lines["tea"].learned_plays, lines["tea"].promised) == (25, 0.1)
    other = f"started-{next(NUMBERS)}"
    arms = ["--arm", "tea", "--arm", "mate", "--missing", "never", "--rewards", "0,10", "--start-from", path]
    assert cli.run(["client", "create", other, "ucb1", *arms]) == 0
    assert client.audit(other).lines[0].learned_plays == 25
    capsys.readouterr()
    assert cli.run(["price", name, "--promise", "0.1,0.2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["source"], found["rounds"], len(found["curve"])) == (name, 0, 2)
    assert cli.run(["price", name, "--start", "x", "--promise", "0.1"]) == 2


def test_the_command_line_decides_by_features(
    client: Client, server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EVENHAND_URL", server.url)
    name = f"by-features-{next(NUMBERS)}"
    declared = "{situation={age={kind='number', low=0, high=100}}, arms={price={kind='number', low=0, high=9}}}"
    prices, cuts = '{tea={price=2.5}, mate={"price"=3}}', '{"feature": "age", "cuts": [18]}'
    made = ["--arm", "tea", "--arm", "mate", "--missing", "never", "--features", declared, "--segments", cuts]
    assert cli.run(["client", "create", name, "lin_ucb", *made, "--arm-features", prices]) == 0
    description = client.describe(name)
    assert (description.arm_features, description.segments) == (
        {"tea": {"price": 2.5}, "mate": {"price": 3}},
        {"feature": "age", "cuts": [18]},
    )
    given = ["--features", "{age=33}", "--arm-features", "{tea={price=1}}", "--count", "2", "--available", "tea"]
    capsys.readouterr()
    assert cli.run(["client", "decide", name, *given, "--json"]) == 0
    assert [one["arms"][0]["arm"] for one in json.loads(capsys.readouterr().out)["decisions"]] == ["tea", "tea"]
    assert cli.run(["client", "decide", name]) == 2
    assert capsys.readouterr().err.count("features.age is missing") == 1
    assert cli.run(["client", "show", name]) == 0
    shown = capsys.readouterr().out
    assert "segments" in shown
    assert "missing rewards" not in shown
