"""The JSON, curl and TypeScript blocks of the pages agree with the service and with what its clients have."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic import TypeAdapter

from evenhand.messages import answers
from evenhand.service.http.deliveries import message
from evenhand.service.http.logs import FIELDS
from tests.service.http.asking import Asking

ROOT = Path(__file__).parents[3]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "clients/typescript/README.md"]
CLIENT = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "clients/typescript/src").glob("*.ts")}
ANSWERS: dict[str, type[answers.Answer]] = {
    "decisions": answers.Decisions,
    "id": answers.Lease,
    "changed": answers.Plan,
}  # by the first field


def blocks(language: str) -> list[Any]:
    """Every block of a language, with its page and number as the id."""
    fence = re.compile(rf"^ *```(?:\{{code-block\}} )?{language}\n(.*?)^ *```$", flags=re.MULTILINE | re.DOTALL)
    return [
        pytest.param(content, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, content in enumerate(fence.findall(page.read_text(encoding="utf-8")), start=1)
    ]


@pytest.mark.parametrize("content", blocks("json"))
def test_json_is_what_the_service_sends(content: str, drinks: Asking) -> None:
    """Exactly the fields, in their order, and values of their types."""
    shown = json.loads(content)
    match next(iter(shown)):
        case "title":
            answer = drinks.post(shown["instance"], {"count": "x"}, headers={"X-Request-ID": shown["request_id"]})
            assert list(shown.items()) == list(answer.json().items())
        case "type":
            event = dict(shown["data"])
            name = event.pop("allocation")
            sent = message(name, TypeAdapter(answers.Event).validate_python(event))
            assert json.dumps(shown) == json.dumps(json.loads(sent))
        case "time":
            assert list(shown) == ["time", "level", "logger", "message", *FIELDS]
        case first:
            shape = TypeAdapter(ANSWERS[first])
            assert json.dumps(shown) == json.dumps(shape.dump_python(shape.validate_python(shown), mode="json"))


def requests_of(content: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Method, path and further parts of the requests of a shell block."""
    for line in content.replace("\\\n", " ").splitlines():
        if not line.startswith("curl "):
            continue
        words = iter(shlex.split(line)[1:])
        method, path, parts = "GET", "", dict[str, Any](headers={})
        for word in words:
            match word:
                case "-H":
                    name, _, value = next(words).partition(": ")
                    parts["headers"][name] = value
                case "-d":
                    method, parts["content"] = "POST", next(words)
                case _:
                    address = urlsplit(word)
                    assert address.netloc in ("localhost:8000", "127.0.0.1:8000"), word
                    path = address.path
        yield method, path, parts


@pytest.mark.parametrize("content", [one for one in blocks("sh") if "\ncurl " in f"\n{one.values[0]}"])
def test_requests_with_curl_succeed(content: str, ask: Asking) -> None:
    if '"name"' not in content:  # it goes on with the allocation of the blocks before
        ask(
            "POST", "/v1/allocations", json={"name": "drinks", "arms": ["tea"], "algorithm": "ucb1", "missing": "never"}
        )
    for method, path, parts in requests_of(content):
        answer = ask(method, path, **parts)
        assert answer.status_code in (200, 201), answer.text
        assert all(result.get("status") == "accepted" for result in answer.json().get("results", ()))


def members(text: str, indent: int) -> set[str]:
    """Fields and methods of a class or an object, which stand so far to the right."""
    words = r"(?:override |readonly |async |get )*\*?"
    return set(re.findall(rf"^ {{{indent}}}{words}(\w+)(?:\(|<|:|,| =)", text, flags=re.MULTILINE))


@pytest.mark.parametrize("content", blocks("ts"))
def test_names_in_typescript_exist(content: str) -> None:
    """`nox -s typescript` compiles the client; here it is enough that the pages use names that it has."""
    listed = re.findall(r"^export (?:type )?\{ (.*?) \}", CLIENT["index"], flags=re.MULTILINE)
    exported = set(re.findall(r"^export (?:async )?\w+ (\w+)", CLIENT["index"], flags=re.MULTILINE))
    exported |= {name.removeprefix("type ") for names in listed for name in names.split(", ")}
    imported = re.findall(r'import \{ (.*?) \} from "evenhand-client"', content)
    assert {name for names in imported for name in names.split(", ")} <= exported
    has = {
        "client": members(CLIENT["index"], 4),
        "leased": members(CLIENT["leases"], 2),
        "error": members(CLIENT["errors"], 2) | {"message"},
    }
    used = [(owner, name) for owner, name in re.findall(r"\b(\w+)\.(\w+)", content) if owner in has]
    assert used
    assert [name for owner, name in used if name not in has[owner]] == []
