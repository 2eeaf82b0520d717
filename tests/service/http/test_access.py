"""Who is let in: by key and scope for every route, and without keys by the address."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from evenhand.messages.answers import moment, rfc3339
from evenhand.service.http.app import ROUTERS, create_app
from evenhand.service.http.auth import PROXY_HEADERS, Authenticator, Cached, host_name
from evenhand.service.http.dependencies import api_key, public
from evenhand.service.http.settings import Settings, is_loopback
from evenhand.service.store import Decide, Store
from evenhand.service.store.api_keys import SCOPES
from evenhand.service.store.verify import verify
from tests.service.http.asking import DRINKS, Asking, refused

ANY_KEY, PUBLIC, HEALTH = "any key", "none", "none, ever"  # instead of a scope
#: What each route needs, by hand, so that a change of it is noticed.
WANTED = {
    ("GET", "/"): PUBLIC,
    ("GET", "/assets/{path:path}"): PUBLIC,
    ("GET", "/docs"): PUBLIC,
    ("GET", "/docs/{name}"): PUBLIC,
    ("GET", "/openapi.json"): PUBLIC,
    ("GET", "/healthz"): HEALTH,
    ("GET", "/readyz"): HEALTH,
    ("GET", "/metrics"): "read",
    ("GET", "/v1/access"): ANY_KEY,
    ("GET", "/v1/algorithms"): ANY_KEY,
    ("POST", "/v1/allocations"): "administer",
    ("GET", "/v1/allocations"): "read",
    ("GET", "/v1/allocations/{name}"): "read",
    ("POST", "/v1/allocations/{name}/changes"): "administer",
    ("GET", "/v1/allocations/{name}/arms"): "read",
    ("PUT", "/v1/allocations/{name}/arms/{arm:path}"): "administer",
    ("DELETE", "/v1/allocations/{name}/arms/{arm:path}"): "administer",
    ("POST", "/v1/allocations/{name}/webhooks"): "administer",
    ("GET", "/v1/allocations/{name}/webhooks"): "administer",
    ("DELETE", "/v1/allocations/{name}/webhooks/{id}"): "administer",
    ("GET", "/v1/allocations/{name}/decisions/{id}"): "read",
    ("GET", "/v1/allocations/{name}/events"): "read",
    ("POST", "/v1/allocations/{name}/decisions"): "decide",
    ("POST", "/v1/allocations/{name}/leases"): "decide",
    ("POST", "/v1/allocations/{name}/leases/{id}/reports"): "decide",
    ("POST", "/v1/allocations/{name}/rewards"): "reward",
    ("POST", "/v1/allocations/{name}/totals"): "reward",
    ("GET", "/v1/allocations/{name}/audit"): "read",
    ("GET", "/v1/allocations/{name}/audit.csv"): "read",
    ("GET", "/v1/allocations/{name}/audit.svg"): "read",
    ("GET", "/v1/allocations/{name}/report"): "read",
    ("GET", "/v1/allocations/{name}/stopping"): "read",
    ("GET", "/v1/allocations/{name}/differences"): "read",
    ("GET", "/v1/allocations/{name}/price"): "read",
    ("POST", "/v1/price"): "administer",
    ("GET", "/v1/allocations/{name}/log"): "read",
}
#: Bodies with which the routes answer well.
BODIES: dict[tuple[str, str], Any] = {
    ("POST", "/v1/allocations"): DRINKS,
    ("POST", "/v1/price"): {"log": "time,item,click\n1,tea,1\n2,mate,0\n3,mate,1\n", "promises": [0.1]},
    ("POST", "/v1/allocations/{name}/changes"): {"change": "reopen"},
    ("PUT", "/v1/allocations/{name}/arms/{arm:path}"): {},
    ("POST", "/v1/allocations/{name}/decisions"): {},
    ("POST", "/v1/allocations/{name}/leases"): {"decisions": 10},
    ("POST", "/v1/allocations/{name}/leases/{id}/reports"): {"played": 1},
    ("POST", "/v1/allocations/{name}/rewards"): {"rewards": [{"decision": "1", "rewards": {"tea": 1.0}}]},
    ("POST", "/v1/allocations/{name}/totals"): {"value": 1.0},
    ("POST", "/v1/allocations/{name}/webhooks"): {"url": "https://93.184.215.14/hook"},
}
#: The status of a route that answers well, where it is not 200. POST of the allocation is of one that there is.
FINE = {
    ("POST", "/v1/allocations"): 409,
    ("POST", "/v1/allocations/{name}/webhooks"): 201,
    ("GET", "/v1/allocations/{name}/price"): 422,  # no reward is known yet
}


def all_routes() -> list[tuple[str, str, str]]:
    """Method, path and scope of every route of the application."""
    routes = []
    for route in (route for router in ROUTERS for route in router.routes):
        assert isinstance(route, APIRoute)
        routes += [(method, route.path, scope_of(route)) for method in sorted(route.methods or ())]
    return routes


def scope_of(route: APIRoute) -> str:
    """What a route needs; it is looked at before anything else of a request."""
    calls = [dependency.call for dependency in route.dependant.dependencies]
    if api_key in calls:
        assert calls[0] is api_key
        (scope,) = route.dependant.dependencies[0].own_oauth_scopes or [ANY_KEY]
        return scope
    return PUBLIC if public in calls else HEALTH


ROUTES = all_routes()
NAMES = [f"{method} {path}" for method, path, _ in ROUTES]
CLOSED = [route for route in ROUTES if route[2] not in (PUBLIC, HEALTH)]
CLOSED_NAMES = [f"{method} {path}" for method, path, _ in CLOSED]


def test_every_route_needs_what_it_should() -> None:
    assert {(method, path): scope for method, path, scope in ROUTES} == WANTED


def test_the_application_has_no_other_routes(store: Store) -> None:
    guarded = [route for router in ROUTERS for route in router.routes]
    assert list(create_app(store).routes) == guarded


def status_of(ask: Asking, method: str, path: str, **headers: str) -> int:
    """The status with which a route answers a request that makes sense."""
    url = path.replace("{name}", "swagger-ui.css" if path.startswith("/docs") else "drinks")
    url = url.replace("{path:path}", "app.js").replace("{arm:path}", "tea")
    if "/webhooks/{id}" in url:
        webhook = ask.app.state.service.webhooks.add("drinks", "https://93.184.215.14/hook")
        url = url.replace("{id}", webhook.id)
    url = url.replace("{id}", "1")
    body = {"json": BODIES[method, path]} if (method, path) in BODIES else {}
    return ask(method, url, headers=headers, **body).status_code


def before(path: str) -> str:
    """The route that makes what another route is about."""
    return "/v1/allocations/{name}/" + ("leases" if "/leases/" in path else "decisions")


@pytest.fixture
def keyed(store: Store) -> Iterator[Asking]:
    """A client of a service with an allocation and keys, that sends none."""
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)  # which takes totals, too
    with Asking(store) as asking:
        yield asking


@pytest.mark.parametrize(("method", "path", "scope"), CLOSED, ids=CLOSED_NAMES)
def test_a_route_needs_its_scope_and_no_other(keyed: Asking, store: Store, method: str, path: str, scope: str) -> None:
    others = [one for one in SCOPES if one != scope]
    _, right = store.keys.create("right", SCOPES if scope == ANY_KEY else [scope])
    _, wrong = store.keys.create("wrong", others)
    key, revoked = store.keys.create("revoked", SCOPES)
    store.keys.revoke(key.id)
    if scope == "reward" or "{id}" in path:
        keyed.key = store.keys.create("decides", ["decide"])[1]
        assert status_of(keyed, "POST", before(path)) == 200
        keyed.key = None
    assert status_of(keyed, method, path) == 401
    assert status_of(keyed, method, path, Authorization="Bearer evh_" + "x" * 43) == 401
    assert status_of(keyed, method, path, Authorization=f"Bearer {revoked}") == 401
    fine = FINE.get((method, path), 200)
    assert status_of(keyed, method, path, Authorization=f"Bearer {wrong}") == (200 if scope == ANY_KEY else 403)
    assert status_of(keyed, method, path, Authorization=f"Bearer {right}") == fine


@pytest.mark.parametrize(("method", "path", "scope"), CLOSED, ids=CLOSED_NAMES)
def test_a_body_is_not_read_before_the_key(keyed: Asking, store: Store, method: str, path: str, scope: str) -> None:
    store.keys.create("some", ["read"])
    url = path.replace("{name}", "drinks")
    answer = keyed(method, url, content=b"{", headers={"Content-Type": "application/json"})
    refused(answer, 401, "unauthenticated")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES, ids=NAMES)
def test_without_keys_all_is_open_to_this_computer_only(keyed: Asking, method: str, path: str, scope: str) -> None:
    for host in (
        "evil.example",
        "evil.example:8000",
        "127.0.0.1.evil.example",
        "192.168.0.7",
        "",
        "localhost@evil.example",
    ):
        status = status_of(keyed, method, path, Host=host)
        assert status == (200 if scope == HEALTH else 403), host
    status = status_of(keyed, method, path)
    assert status in (200, 201, 404, 409, 422)  # as far as can be without a decision before


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "127.9.9.9", "[::1]", "[::1]:8000"])
def test_names_of_this_computer(keyed: Asking, host: str) -> None:
    assert status_of(keyed, "GET", "/v1/allocations", Host=host) == 200


@pytest.mark.parametrize("header", PROXY_HEADERS)
def test_without_keys_nothing_comes_through_a_proxy(keyed: Asking, header: str) -> None:
    answer = keyed.get("/v1/allocations", headers={header: "for=192.0.2.1"})
    assert header in refused(answer, 403, "forbidden")["detail"]


@pytest.mark.parametrize(("method", "path", "scope"), ROUTES, ids=NAMES)
def test_elsewhere_nothing_is_open_without_a_key(store: Store, method: str, path: str, scope: str) -> None:
    """A server that others can reach, with no key or with revoked ones, shows public pages and nothing else."""
    store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)  # which takes totals, too
    with Asking(store, Settings(host="0.0.0.0")) as ask:
        wanted = 200 if scope in (PUBLIC, HEALTH) else 401
        assert status_of(ask, method, path) == wanted
        key, secret = store.keys.create("last", SCOPES)
        store.keys.revoke(key.id)
        ask.now = 2.0
        assert status_of(ask, method, path) == wanted
        assert status_of(ask, method, path, Authorization=f"Bearer {secret}") == wanted


def test_the_first_key_closes_the_server_within_a_second_and_the_last_does_not_open_it(
    keyed: Asking, store: Store
) -> None:
    assert keyed.get("/v1/allocations").status_code == 200
    key, secret = store.keys.create("page", ["read"])
    keyed.now = 0.9
    assert keyed.get("/v1/allocations").status_code == 200
    keyed.now = 1.0
    refused(keyed.get("/v1/allocations"), 401, "unauthenticated")
    keyed.key = secret
    assert keyed.get("/v1/allocations").status_code == 200
    store.keys.revoke(key.id)
    keyed.now = 2.0
    refused(keyed.get("/v1/allocations"), 401, "unauthenticated")
    keyed.key, keyed.now = None, 3.0
    refused(keyed.get("/v1/allocations"), 401, "unauthenticated")


def test_the_scopes_of_a_key_are_shown(keyed: Asking, store: Store) -> None:
    access = keyed.get("/v1/access").json()
    every = ["administer", "decide", "read", "reward"]
    assert access == {"open": True, "name": None, "scopes": every, "allocations": None, "expires": None}
    keyed.now = 1.0
    keyed.key = store.keys.create("shop", ["reward", "decide"], allocations=["films", "drinks"])[1]
    access = keyed.get("/v1/access").json()
    assert (access["open"], access["name"], access["scopes"]) == (False, "shop", ["decide", "reward"])
    assert access["allocations"] == ["drinks", "films"]


def test_an_expired_key_is_refused_at_once_and_says_so(keyed: Asking, store: Store) -> None:
    today = time.time()
    key, keyed.key = store.keys.create("shop", ["read"], expires=today + 60.0)
    keyed.app.state.service.authenticator = Authenticator(store.keys, False, now=lambda: today)
    assert keyed.get("/v1/access").json()["expires"] == rfc3339(moment(key.expires or 0.0))
    today += 60.0
    error = refused(keyed.get("/v1/allocations"), 401, "unauthenticated")
    ended = datetime.fromtimestamp(today, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert error["detail"] == f"the key 'shop' ({key.id}) expired at {ended}; use a new one"


@pytest.mark.parametrize(("method", "path", "scope"), CLOSED, ids=CLOSED_NAMES)
def test_a_key_for_another_allocation_is_refused(
    keyed: Asking, store: Store, method: str, path: str, scope: str
) -> None:
    scopes = SCOPES if scope == ANY_KEY else [scope]
    keyed.key = store.keys.create("films only", scopes, allocations=["films"])[1]
    fine = path in ("/v1/access", "/v1/algorithms", "/v1/allocations") and method == "GET"
    fine |= path == "/v1/price"  # of a log that is sent with it
    assert status_of(keyed, method, path) == (200 if fine else 403)
    assert keyed(method, path.replace("{name}", "nothing"), json=BODIES.get((method, path))).status_code in (403, 200)
    if fine and path == "/v1/allocations":
        assert keyed.get(path).json()["allocations"] == []
    keyed.key, keyed.now = store.keys.create("both", [*scopes, "decide"], allocations=["drinks", "films"])[1], 2.0
    if scope == "reward" or "{id}" in path:
        assert status_of(keyed, "POST", before(path)) == 200
    if path != "/metrics":
        assert status_of(keyed, method, path) == FINE.get((method, path), 200)


def test_evidence_to_start_from_needs_a_key_that_may_read_it(keyed: Asking, store: Store) -> None:
    new = {"name": "new", "arms": ["tea"], "algorithm": "ucb1", "missing": "never", "start_from": "drinks"}
    both = ["administer", "read"]
    writer = store.keys.create("administers", ["administer"])[1]
    alone = store.keys.create("new only", both, allocations=["new"])[1]
    free = store.keys.create("both", both)[1]
    for keyed.key, status in ((writer, 403), (alone, 403), (free, 201)):
        assert keyed("POST", "/v1/allocations", json=new).status_code == status
    unknown = keyed("POST", "/v1/allocations", json=new | {"name": "other", "start_from": "nothing"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_allocation")
    counts = new | {"name": "third", "start_from": {"tea": {"plays": 3, "sum": 2.0}}}
    assert keyed("POST", "/v1/allocations", json=counts).status_code == 201
    wrong = keyed("POST", "/v1/allocations", json=counts | {"name": "w", "start_from": {"tea": {"plays": 3, "x": 1}}})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid")
    assert "start_from['tea'] must be (plays, sum of their rewards)" in wrong.json()["detail"]
    (line,) = keyed.get("/v1/allocations/third/audit").json()["lines"]
    assert (line["learned_plays"], line["plays"]) == (3, 0)


def test_events_and_metrics_name_the_key(keyed: Asking, store: Store) -> None:
    key, keyed.key = store.keys.create("shop", SCOPES)
    name = "/v1/allocations/films"
    assert keyed.post("/v1/allocations", DRINKS | {"name": "films"}).status_code == 201
    (arm,) = store.run("films", Decide()).decisions[0].names
    assert keyed.post(f"{name}/decisions", {"count": 2}).status_code == 200
    assert keyed.post(f"{name}/rewards", {"rewards": [{"decision": "1", "rewards": {arm: 1.0}}]}).status_code == 200
    with store.database.transaction(writes=False) as connection:
        rows = connection.execute(text("SELECT key FROM events WHERE allocation = 2 ORDER BY sequence")).scalars()
        assert list(rows) == [key.id, None, key.id, key.id, key.id]
    assert verify(store.database, ["films"]).faults == ()
    assert 'evenhand_requests_total{key="shop"} 3.0' in keyed.get("/metrics").text
    with store.database.transaction(writes=True) as connection:
        connection.execute(text("UPDATE events SET key = 'other' WHERE allocation = 2 AND sequence = 3"))
    assert "event 3 (decide) was edited" in verify(store.database, ["films"]).faults[0]


def test_a_scope_that_is_missing_is_named(keyed: Asking, store: Store) -> None:
    keyed.key = store.keys.create("shop", ["decide"])[1]
    error = refused(keyed.get("/v1/allocations"), 403, "forbidden")
    assert error["detail"] == "this requires the scope 'read'; the key 'shop' has decide"


@pytest.mark.parametrize(
    ("authorization", "message"),
    [
        ("Basic {secret}", "lacks the word Bearer"),
        ("Bearer", "has no whole key"),
        ("Bearer ", "has no whole key"),
        ("{secret}", "lacks the word Bearer"),
        ("Bearer {secret} {secret}", "has no whole key"),
        ("Bearer {secret}x", "has no whole key"),
        ("Bearer evh_" + "\u00e9" * 43, "has no whole key"),
        ("Bearer evh_" + "x" * 43, "there is no such key"),
    ],
)
def test_a_key_in_another_form_is_none(keyed: Asking, store: Store, authorization: str, message: str) -> None:
    secret = store.keys.create("page", ["read"])[1]
    header = authorization.format(secret=secret).encode("latin-1")
    error = refused(keyed.get("/v1/allocations", headers={"Authorization": header}), 401, "unauthenticated")
    assert message in error["detail"]
    assert secret not in error["detail"]


def test_two_keys_are_none(keyed: Asking, store: Store) -> None:
    one = f"Bearer {store.keys.create('page', ['read'])[1]}"
    answer = keyed._loop.run(
        keyed._http.get("/v1/allocations", headers=[("Authorization", one), ("Authorization", one)])
    )
    refused(answer, 401, "unauthenticated")


def test_a_key_that_is_not_needed_does_no_harm(keyed: Asking) -> None:
    assert status_of(keyed, "GET", "/v1/allocations", Authorization="Bearer evh_" + "x" * 43) == 200


@pytest.mark.parametrize("secret", [None, "evh_" + "x" * 43])
@pytest.mark.parametrize("has_keys", [False, True])
def test_nobody_is_let_in_while_the_keys_cannot_be_read(
    keyed: Asking, store: Store, secret: str | None, has_keys: bool
) -> None:
    if has_keys:
        store.keys.create("page", ["read"])
    with store.database.transaction(writes=True) as connection:
        connection.execute(text("ALTER TABLE keys RENAME TO lost"))
    keyed.key = secret
    for method, path, _ in CLOSED:
        keyed.now += 1.0
        assert status_of(keyed, method, path) == 503
    answer = keyed.get("/v1/allocations")
    assert answer.headers["retry-after"] == "1"
    refused(answer, 503, "unavailable")
    assert keyed.get("/healthz").status_code == 200
    assert keyed.get("/").status_code == 200


# --- the parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("localhost", "localhost"),
        ("localhost:", "localhost"),
        ("127.0.0.1:80", "127.0.0.1"),
        ("[::1]:80", "::1"),
        ("::1", ""),
        ("a b", ""),
        ("localhost:80:80", ""),
        ("localhost:eighty", ""),
        ("[localhost]", ""),
        ("localhost\n", ""),
        ("", ""),
    ],
)
def test_the_name_in_a_host_header(host: str, name: str) -> None:
    assert host_name(host) == name


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.1", "localhost.example", "127.1", "0177.0.0.1", ""])
def test_other_addresses_are_not_this_computer(host: str) -> None:
    assert not is_loopback(host)


def test_a_slow_question_is_asked_ahead_however_many_wait() -> None:
    times, now, may_end = 0, 0.0, threading.Event()

    def slow() -> int:
        nonlocal times
        times += 1
        may_end.wait(10.0)
        return times

    async def run() -> None:
        nonlocal now
        cached = Cached(slow, clock=lambda: now)
        asking = [asyncio.create_task(cached()) for _ in range(20)]
        may_end.set()
        assert await asyncio.gather(*asking) == [1] * 20
        now = 0.49
        assert await cached() == 1
        may_end.clear()
        now = 0.5  # asked again, for which nobody waits
        assert [await cached() for _ in range(20)] == [1] * 20
        now = 1.0  # too old: now they wait
        asking = [asyncio.create_task(cached()) for _ in range(20)]
        may_end.set()
        assert await asyncio.gather(*asking) == [2] * 20
        now = 100.0
        assert await cached() == 4  # nobody had asked for the one before

    asyncio.run(run())


def test_a_secret_is_not_kept_in_memory(keyed: Asking, store: Store) -> None:
    keyed.key = store.keys.create("page", ["read"])[1]
    assert keyed.get("/v1/allocations").status_code == 200
    assert keyed.key not in repr(keyed.app.state.service.authenticator._all._known)


def test_an_audit_says_who_changed_what_and_why(keyed: Asking, store: Store) -> None:
    owner, keyed.key = store.keys.create("shop owner", ["administer", "decide", "read"])
    keyed.post("/v1/allocations", DRINKS | {"name": "mine"})
    body = {"change": "promise", "fractions": {"coffee": 0.3}, "reason": "a new season"}
    assert keyed.post("/v1/allocations/mine/changes", body).status_code == 200
    audit = keyed.get("/v1/allocations/mine/audit").json()
    assert audit["authors"] == {owner.id: "shop owner"}
    (made,) = audit["changes_made"]
    assert (made["key"], made["reason"]) == (owner.id, "a new season")
    assert audit["ledger"][-1]["key"] in ("", owner.id)
