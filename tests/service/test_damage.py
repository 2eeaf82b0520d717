"""One damaged allocation among others: each route, command and request of the page says so, and the others go on.

The routes are those of the application and the commands those of the command line, so that a new one is tried, too.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import select

from evenhand.cli import main as cli
from evenhand.cli.commands import LINES, loaded
from evenhand.core import parts
from evenhand.core.parts import register
from evenhand.policy.index import Index
from evenhand.service.http.app import create_app
from evenhand.service.http.deliveries import Deliveries
from evenhand.service.store import Decide, LeaseRounds, Reward, Store, tables
from evenhand.service.store.checked import check_all
from evenhand.service.store.database import Database
from evenhand.service.store.verify import verify
from evenhand.service.store.webhooks import WebhookStore
from tests.service.http.asking import Asking
from tests.service.running import Server
from tests.service.store.kit import change_rows, rechain

MARK = 0.8765432  # the reward that somebody has written in place of another one
ARMS = ["tea", "coffee"]
NAMES = ("cups", "drinks", "films")  # the second is damaged
SEQUENCE = 9  # of the damaged event, the reward of round 4


def filled(url: str) -> None:
    """Three allocations with events of most kinds."""
    store = Store.open(url)
    for name in NAMES:
        store.create(name, ARMS, "fucb", parameters={"fractions": {"coffee": 0.25}}, seed=1)
        for _ in range(5):
            (decision,) = store.run(name, Decide()).decisions
            store.run(name, Reward([(decision.id, dict.fromkeys(decision.names, 0.5))]))
        store.run(name, LeaseRounds(3, 60.0))
    store.close()


def edited(database: Database) -> None:
    """Another reward; the hashes stay."""
    with database.transaction(writes=True) as connection:
        where = (tables.events.c.allocation == 2, tables.events.c.sequence == SEQUENCE)
        body = connection.execute(select(tables.events.c.body).where(*where)).scalar_one()
    assert '"rewards":{' in body
    change_rows(
        database,
        f"UPDATE events SET body = :body WHERE allocation = 2 AND sequence = {SEQUENCE}",
        body=body.replace("0.5", str(MARK)),
    )


def edited_with_its_hash(database: Database) -> None:
    """Another reward with a hash that fits; that of the next event does not."""
    edited(database)
    with database.transaction(writes=False) as connection:
        rows = connection.execute(select(tables.events).order_by(tables.events.c.sequence)).all()
    before = {(row.allocation, row.sequence): row.chain for row in rows}
    rechain(database)
    for (allocation, sequence), chain in before.items():
        if (allocation, sequence) != (2, SEQUENCE):
            where = f"allocation = {allocation} AND sequence = {sequence}"
            change_rows(database, f"UPDATE events SET chain = :chain WHERE {where}", chain=chain)
    for allocation in (1, 2, 3):
        last = max(sequence for one, sequence in before if one == allocation)
        change_rows(
            database, f"UPDATE allocations SET chain = :chain WHERE id = {allocation}", chain=before[allocation, last]
        )


def removed(database: Database) -> None:
    """No such event."""
    change_rows(database, f"DELETE FROM events WHERE allocation = 2 AND sequence = {SEQUENCE}")


def nameless(database: Database) -> None:
    """An arm has lost its name."""
    change_rows(database, "DELETE FROM arms WHERE allocation = 2 AND number = 1")


DAMAGES = [edited, edited_with_its_hash, removed, nameless]


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/evenhand.db"
    filled(url)
    return url


def damage(url: str, how: Callable[[Database], None]) -> None:
    database = Database(url)
    how(database)
    database.close()


# --- routes -----------------------------------------------------------------------------------------------------------

#: A body for each route that takes one, by its name.
BODIES: dict[str, Any] = {
    "decide": {"count": 1},
    "reward": {"rewards": [{"decision": "4", "rewards": {"tea": 0.5}}]},
    "lease": {"decisions": 2},
    "report": {"played": 1},
    "total": {"value": 1.0},
    "change": {"change": "retire", "arm": "tea"},
    "add": {},
    "add_webhook": {"url": "https://example.org/"},
    "price_log": {"log": "time,item,click\n1,tea,1\n2,mate,0\n", "promises": [0.1]},
    "create": {"name": "drinks", "arms": ARMS, "algorithm": "fucb", "missing": "never"},
}
PLACES = {"name": "drinks", "arm": "tea", "id": "4"}  # in paths
#: Routes of an allocation that show and use nothing of its events: a webhook of a damaged one can be removed.
OF_ONE = "/v1/allocations/{name}"
ABOUT_ADDRESSES = {"webhooks", "add_webhook", "remove_webhook"}


def routes(store: Store) -> list[tuple[str, str, str]]:
    """Method, name and path of every route of the application."""
    app = create_app(store)
    return [
        (method, route.name, route.path_format)
        for route in app.routes
        if isinstance(route, APIRoute)
        for method in sorted(route.methods or ())
    ]


def answer(ask: Asking, method: str, name: str, path: str, allocation: str = "drinks") -> httpx.Response:
    parts = {"json": BODIES[name]} if method in ("POST", "PUT") else {}
    return ask(method, path.replace(":path", "").format(**PLACES | {"name": allocation}), **parts)


def is_marked(found: httpx.Response) -> bool:
    return found.status_code == 409 and found.json()["code"] == "damaged" and "evenhand db restore" in found.text


@pytest.mark.parametrize("how", DAMAGES)
def test_every_route_of_a_damaged_allocation_says_so_and_others_go_on(url: str, how: Callable[..., None]) -> None:
    damage(url, how)
    store = Store.open(url)
    with Asking(store) as ask:
        of_one = [one for one in routes(store) if OF_ONE in one[2] and one[1] not in ABOUT_ADDRESSES]
        assert len(of_one) > 12
        for method, name, path in of_one:
            found = answer(ask, method, name, path)
            assert is_marked(found), (method, path, found.text)
        for name in ("cups", "films"):
            assert ask.get(f"/v1/allocations/{name}/audit").status_code == 200
            assert ask.get(f"/v1/allocations/{name}/log").status_code == 200
        for health in ("true", "false"):
            listed = ask.get(f"/v1/allocations?health={health}")
            assert listed.status_code == 200
            marks = {one["name"]: one["damaged"] for one in listed.json()["allocations"]}
            assert marks["cups"] is marks["films"] is None
            assert "`evenhand db restore drinks` or `evenhand db erase drinks`: " in marks["drinks"]
        for method, name, path in routes(store):
            if "{name}" not in path and "{" not in path:
                assert str(MARK) not in answer(ask, method, name, path).text
    store.close()


@pytest.mark.parametrize("how", [edited, edited_with_its_hash, removed])
def test_what_a_running_server_has_checked_before_is_marked_once_it_is_read(url: str, how: Callable[..., None]) -> None:
    """Until then answers come from memory, and none has the edited record."""
    store = Store.open(url)
    with Asking(store) as ask:
        for name in NAMES:
            assert ask.get(f"/v1/allocations/{name}/audit").status_code == 200
        damage(url, how)
        for path in ("events", "log", "decisions/4"):
            found = ask.get(f"/v1/allocations/drinks/{path}")
            assert is_marked(found) or (path == "decisions/4" and str(MARK) not in found.text), found.text
        for method, name, path in routes(store):
            if OF_ONE in path and name not in ABOUT_ADDRESSES:
                assert is_marked(answer(ask, method, name, path)), path
        assert ask.get("/v1/allocations?health=true").json()["allocations"][1]["health"]["status"] == "bad"
    store.close()


def test_a_check_of_everything_finds_what_nobody_reads(url: str) -> None:
    store = Store.open(url)
    assert [store.run(name, Decide()).decisions[0].round for name in NAMES] == [9, 9, 9]
    check_all(store.database, lambda: False)
    assert [one.damaged for one in store.allocations().allocations] == [None] * 3
    damage(url, edited)
    check_all(store.database, lambda: False)
    assert [one.damaged is not None for one in store.allocations().allocations] == [False, True, False]
    with Asking(store) as ask:
        assert is_marked(ask.post("/v1/allocations/drinks/decisions", {"count": 1}))
    store.close()


def test_no_webhook_is_sent_an_edited_record(url: str) -> None:
    damage(url, edited)
    store = Store.open(url)
    hooks = WebhookStore(store.database)
    sent: list[int] = []

    class Noting(Deliveries):
        async def _send(self, client: Any, claim: Any, name: str, event: Any) -> int:
            sent.append(event.sequence)
            assert name == "cups"
            return 200

    for name in ("cups", "drinks"):
        hooks.add(name, "https://example.org/", after=SEQUENCE - 1)
    deliveries = Noting(store, hooks=hooks)
    deliveries.deliver()
    deliveries.close()
    assert sent == [9, 10, 11, 12]
    (shown,) = hooks.listed("drinks").webhooks
    assert shown.sequence == SEQUENCE - 1
    assert "allocation 'drinks' is damaged" in (shown.error or "")
    store.close()


def test_a_part_that_was_not_imported_is_no_damage(
    url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Half(Index):
        def score(self, state: Any, observation: Any, rng: Any) -> Any:
            return np.full(state.tally.pulls.shape, 0.5)

    register("index", "half", Half)
    store = Store.open(url)
    store.create("own", ARMS, {"index": "half", "fairness": {"kind": "deficit_first", "fractions": 0.2}}, seed=1)
    store.run("own", Decide())
    store.close()
    monkeypatch.delitem(parts._KINDS["index"], "half")
    store = Store.open(url)
    with Asking(store) as ask:
        refused = ask.get("/v1/allocations/own/audit")
        assert (refused.status_code, refused.json()["code"]) == (409, "missing_part")
        detail = refused.json()["detail"]
        assert detail.startswith("allocation 'own' needs the part 'half', which Evenhand does not have itself: ")
        assert "--import FILE_OR_MODULE" in detail
        assert "damaged" not in detail
        listed = ask.get("/v1/allocations?health=true").json()["allocations"]
        (own,) = [one for one in listed if one["name"] == "own"]
        assert (own["damaged"], own["health"]["text"]) == (None, detail)
        assert all(one["health"]["status"] == "good" for one in listed if one["name"] != "own")
    assert verify(store.database).faults == (detail.replace("'own' ", "'own': ", 1),)
    store.close()
    assert cli.run(["db", "restore", "own", "--database", url]) == 2
    assert capsys.readouterr().err == f"evenhand: {detail}\n"


# --- the page ---------------------------------------------------------------------------------------------------------


def test_every_request_of_the_page_is_one_of_these_routes(url: str) -> None:
    """So that each was tried above; and the list shows what is wrong."""
    folder = Path(sys.modules["evenhand.service"].__path__[0]) / "page"
    source = "".join(path.read_text() for path in sorted(folder.glob("*.js")))
    store = Store.open(url)
    known = [path for _, _, path in routes(store)]
    asked = set(re.findall(r"[`'\"]/?(v1/[a-z/]*)", source))
    suffixes = re.findall(r"[`'](/[a-z]+[a-z.]*)[?`']", source)
    of_one = {f"v1/allocations/{{name}}{path}" for path in [*suffixes, "/changes"]}
    assert {"v1/allocations", "v1/access"} < asked
    assert "v1/allocations/{name}/audit.csv" in of_one
    for path in asked | of_one:
        assert any(route.removeprefix("/").startswith(path.rstrip("/")) for route in known), path
    store.close()


# --- commands ---------------------------------------------------------------------------------------------------------


def leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands under one, with their words."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, one in command.commands.items():
        yield from leaves((*words, name), one)


COMMANDS = {words: command for name in LINES for words, command in leaves((name,), loaded(name))}
#: Commands on a database as a whole, or that are the remedy.
OF_THE_WHOLE = {
    ("db", "upgrade"),
    ("db", "backup"),
    ("db", "restore"),
    ("db", "erase"),
    ("db", "import"),
    ("serve",),
    *((("keys", name)) for name in loaded("keys").commands),
}
#: Values for what commands need, by the name of the parameter.
VALUES = {
    "name": ["drinks"],
    "source": ["drinks"],
    "names": [],
    "file": ["out.csv"],
    "before": ["--before", "2100-01-01"],
    "arm": ["--arm", "tea"],
    "field_arm": ["tea"],
    "field_new_name": ["mate"],
    "field_features": ["{situation={age={kind='number', low=0, high=120}}}"],
    "id": ["4"],
    "decision": ["4"],
    "rewards": ["tea=0.5"],
    "value": ["1"],
    "algorithm": ["fucb"],
    "missing": ["--missing", "never", "--set", "fractions=0.1"],
    "decisions": ["2"],
    "played": ["1"],
}


def words_of(words: tuple[str, ...], command: Any) -> list[str]:
    """A command line for a command, about the damaged allocation."""
    line = list(words)
    for one in command.params:
        if one.required or one.name == "name":
            line += VALUES[one.name]
    if words == ("report",):  # without it, it asks a service
        return [*line, "--database", os.environ["EVENHAND_DATABASE"]]
    return line + (["--fraction", "tea=0.1"] if words[-1] == "promise" else [])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[list[str]], tuple[int, str]]:
    def call(words: list[str]) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["evenhand", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        output = capsys.readouterr()
        return int(left.value.code or 0), output.out + output.err

    return call


def test_every_command_on_a_database_says_so(
    url: str, run: Callable[..., tuple[int, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(url, edited)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENHAND_DATABASE", url)
    tried = 0
    for words, command in COMMANDS.items():
        if words not in OF_THE_WHOLE and any(one.name == "database" for one in command.params):
            status, output = run(words_of(words, command))
            assert f"event {SEQUENCE} (reward) was edited" in output, (words, output)
            assert "damaged" in output or words == ("verify",), words
            assert status == 2 or words == ("db", "export")
            tried += 1
    assert tried == 5
    assert "damaged" in json.loads((tmp_path / "out.csv").read_text().splitlines()[0])
    with pytest.raises(AssertionError):  # the damaged file cannot be read in
        assert run(["db", "import", "out.csv", "again"])[0] == 0


def test_every_command_of_the_client_says_so(
    url: str, serve: Callable[..., Server], run: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(url, edited)
    server = serve(url)
    monkeypatch.setenv("EVENHAND_URL", server.url)
    about_addresses: set[tuple[str, ...]] = {("client", "webhook", name) for name in ("add", "list", "remove")}
    about_addresses.add(("client", "create"))  # of which it is enough to say that there is one of that name
    tried = 0
    for words, command in COMMANDS.items():
        if words[0] != "client" or words in about_addresses:
            continue
        status, output = run(words_of(words, command))
        if any(one.name == "name" for one in command.params):
            assert status == 2, (words, output)
            assert "allocation 'drinks' is damaged" in output, (words, output)
            tried += 1
        assert str(MARK) not in output
    assert tried > 15
