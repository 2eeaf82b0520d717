"""The files for people: all from here, with the headers that keep a browser to it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pytest

from evenhand.service.http.static import VIEWER, assets, viewer
from tests.service.http.asking import Asking, refused

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PATHS = [
    "/",
    "/docs",
    "/openapi.json",
    *(f"/assets/{path}" for path in assets()),
    *(f"/docs/{name}" for name in viewer()),
]


class Links(HTMLParser):
    """What a page loads, and what it would do without loading."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = dict(attrs)
        if tag in ("script", "link", "img"):
            self.links.append(attributes.get("src") or attributes.get("href") or "")
        if tag == "style" or (tag == "script" and "src" not in attributes):
            self.inline.append(tag)
        self.inline += [name for name in attributes if name.startswith("on") or name == "style"]


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_loads_its_own_files_only(ask: Asking, path: str) -> None:
    links = Links(ask.get(path).text)
    assert links.inline == []
    for link in links.links:
        assert re.fullmatch(r"(assets|docs)/[\w./-]+", link)
        assert ask.get(f"/{link}").status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_files_are_sent_again_only_when_they_have_changed(ask: Asking, path: str) -> None:
    sent = ask.get(path)
    assert sent.status_code == 200
    assert sent.content
    assert sent.headers["cache-control"] == "no-cache"
    tag = sent.headers["etag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}'):
        same = ask.get(path, headers={"If-None-Match": known})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert ask.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.parametrize(
    "path", [*PATHS, "/healthz", "/v1/allocations", "/nothing", "/v1/allocations/none", "/metrics"]
)
def test_every_answer_has_the_headers_that_protect(ask: Asking, path: str) -> None:
    headers = ask.get(path).headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == ("no-cache" if path in PATHS else "no-store")


def test_an_audit_may_be_kept_but_not_used_unasked(drinks: Asking) -> None:
    assert drinks.get("/v1/allocations/drinks/audit").headers["cache-control"] == "private, no-cache"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/assets/app.js", "text/javascript; charset=utf-8"),
        ("/assets/style.css", "text/css; charset=utf-8"),
        ("/assets/icon.svg", "image/svg+xml"),
        ("/assets/vendor/preact.mjs", "text/javascript; charset=utf-8"),
        ("/docs/swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("/openapi.json", "application/json"),
    ],
)
def test_media_types(ask: Asking, path: str, kind: str) -> None:
    assert ask.get(path).headers["content-type"] == kind


@pytest.mark.parametrize(
    "path",
    [
        "/assets/",
        "/assets/nothing.js",
        "/assets/../bandit.py",
        "/assets/%2e%2e/bandit.py",
        "/assets/..%2fbandit.py",
        "/assets//etc/passwd",
        "/assets/%2fetc%2fpasswd",
        "/assets/vendor/package.json",
        "/assets/vendor",
        "/docs/../app.py",
        "/docs/redoc.standalone.js",
        "/assets/app.js%00",
    ],
)
def test_other_files_are_not_sent(ask: Asking, path: str) -> None:
    refused(ask.get(path), 404, "not_found")


def test_the_viewer_is_whole() -> None:
    assert {*VIEWER, "index.html", "docs.js"} == set(viewer())
    assert b"SwaggerUIBundle" in viewer()["swagger-ui-bundle.js"].content


def test_nothing_that_is_sent_asks_for_another_host() -> None:
    """Files of our own name no address elsewhere; vendored ones do so in licences and messages."""
    own = {**{path: file for path, file in assets().items() if not path.startswith("vendor/")}}
    own |= {name: viewer()[name] for name in ("index.html", "docs.js")}
    for path, file in own.items():
        addresses = re.findall(rb"(?:https?:)?//[\w-]+\.[\w.-]+", file.content)
        assert [address for address in addresses if b"www.w3.org" not in address] == [], path


# --- the description --------------------------------------------------------------------------------------------------


def test_requests_and_answers_have_examples(ask: Asking) -> None:
    description = ask.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    for path, methods in description["paths"].items():
        for operation in methods.values():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            for form in body.get("oneOf", [body] if body else []):
                assert schemas[form["$ref"].rpartition("/")[2]]["examples"], path
            for status, answer in operation["responses"].items():
                if status >= "400":
                    content = answer["content"]["application/problem+json"]
                    assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
                    assert content["examples"], (path, status)


def test_examples_of_requests_are_valid(ask: Asking) -> None:
    """Each example can be sent to the allocation that the first of them makes."""
    description = ask.get("/openapi.json").json()
    schemas = description["components"]["schemas"]
    (allocation,) = schemas["AllocationRequest"]["examples"]
    assert ask.post("/v1/allocations", allocation).status_code == 201
    features = {"situation": {"age": {"kind": "number", "low": 0, "high": 100}}}
    shop = allocation | {"name": "shop", "algorithm": "lin_ucb", "parameters": {}, "features": features}
    assert ask.post("/v1/allocations", shop).status_code == 201
    for form in ("CountedRounds", "ListedRounds"):
        for example in schemas[form]["examples"]:
            name = "shop" if "age" in str(example) else "drinks"
            assert ask.post(f"/v1/allocations/{name}/decisions", example).status_code == 200, example
    for example in schemas["RewardRequest"]["examples"]:
        answer = ask.post("/v1/allocations/drinks/rewards", example).json()
        assert [one["status"] for one in answer["results"]] == ["accepted"]
    for place, example in enumerate(schemas["ArmValues"]["examples"]):
        assert ask.put(f"/v1/allocations/drinks/arms/mate {place}", example).status_code == 201, example
    order = ("AddArm", "Retire", "BringBack", "Rename", "Promise", "Close", "Reopen", "Erase")
    for example in [example for name in order for example in schemas[name]["examples"]]:
        answer = ask.post("/v1/allocations/drinks/changes", example)
        assert (answer.status_code, answer.json()["changed"]) == (200, True), example
    assert (
        ask.post("/v1/allocations", allocation | {"name": "sums", "algorithm": "ucb1", "parameters": {}}).status_code
        == 201
    )
    for example in schemas["TotalRequest"]["examples"]:
        ask.post("/v1/allocations/sums/decisions", {"count": example["round"]})
        assert ask.post("/v1/allocations/sums/totals", example).json()["status"] == "accepted"


def test_every_described_route_has_a_summary_and_a_group(ask: Asking) -> None:
    description = ask.get("/openapi.json").json()
    groups = {tag["name"] for tag in description["tags"]}
    names = []
    for methods in description["paths"].values():
        for operation in methods.values():
            names.append(operation["operationId"])
            assert operation["description"]
            assert set(operation["tags"]) <= groups
    assert len(names) == len(set(names))
