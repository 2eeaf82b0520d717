"""What tests of the service share: the application in this process, asked as a client would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import httpx
from fastapi import FastAPI

from evenhand.service.http.app import create_app
from evenhand.service.http.auth import Authenticator
from evenhand.service.http.settings import Settings
from evenhand.service.store import Store

DRINKS = {
    "name": "drinks",
    "arms": ["tea", "coffee", "cocoa"],
    "missing": "never",
    "algorithm": "fucb",
    "parameters": {"fractions": {"coffee": 0.2, "cocoa": 0.2}},
    "seed": 1,
}


class Asking:
    """A client of the service of a store, without a network between them.

    Args:
        store: of the service.
        settings: of the service.
        key: the secret that every request is sent with.
    """

    def __init__(self, store: Store, settings: Settings | None = None, key: str | None = None) -> None:
        self.store, self.key = store, key
        self.settings = replace(settings or Settings(), no_keys=True)
        self.app: FastAPI = create_app(store, self.settings)
        self.now = 0.0  # seconds, by which keys are remembered
        self.app.state.service.authenticator = Authenticator(store.keys, self.settings.open, clock=lambda: self.now)
        self._loop = asyncio.Runner()
        self._http = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://localhost:8000")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.run(self._http.aclose())
        self._loop.close()

    def __call__(self, method: str, path: str, **parts: Any) -> httpx.Response:
        """The answer to a request."""
        headers = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        headers |= parts.pop("headers", {})
        return self._loop.run(self._http.request(method, path, headers=headers, **parts))

    def get(self, path: str, **parts: Any) -> httpx.Response:
        """The answer to a GET."""
        return self("GET", path, **parts)

    def post(self, path: str, body: Any, **parts: Any) -> httpx.Response:
        """The answer to a POST of a value as JSON."""
        headers = {"Content-Type": "application/json"} | parts.pop("headers", {})
        return self("POST", path, content=json.dumps(body), headers=headers, **parts)

    def put(self, path: str, body: Any, **parts: Any) -> httpx.Response:
        """The answer to a PUT of a value as JSON."""
        return self("PUT", path, json=body, **parts)

    def send(self, path: str, body: bytes, kind: str = "application/json") -> httpx.Response:
        """The answer to a POST of any bytes."""
        return self("POST", path, content=body, headers={"Content-Type": kind})

    def together(self, requests: list[Callable[[httpx.AsyncClient], Any]]) -> list[httpx.Response]:
        """The answers to requests that are made at the same time."""

        async def all_of_them() -> list[httpx.Response]:
            return list(await asyncio.gather(*(request(self._http) for request in requests)))

        return self._loop.run(all_of_them())


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """What an answer in the shape of errors says, which must be so."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors", "instance", "request_id"}
    assert (problem["status"], problem["code"], problem["type"]) == (status, code, "about:blank"), problem
    assert problem["detail"]
    assert answer.request.url.path == problem["instance"]
    assert "Traceback" not in answer.text
    for error in problem["errors"]:
        assert set(error) == {"where", "message"}
    return problem
