"""Tries the installed `evenhand-client` with the service at ``EVENHAND_URL``: ``nox -s client_package``."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from evenhand_client import AddArm, AsyncClient, Client, Round, ServiceError, Unavailable, __version__

URL, KEY = os.environ["EVENHAND_URL"], os.environ["EVENHAND_KEY"]


def main() -> None:
    """Try both clients, and the errors."""
    for package in ("evenhand", "numpy", "fastapi", "tenacity"):
        assert importlib.util.find_spec(package) is None, f"{package} is installed"
    with Client(URL, KEY) as client:
        assert client.create("drinks", ["tea", "coffee"], "fucb", missing="never", parameters={"fractions": 0.25})
        first = client.decide("drinks", idempotency_key="order-17")
        assert client.reward("drinks", first.id, {first.names[0]: 1.0})[0].learned
        error = error_of(lambda: client.decide("nothing"))
        assert (error.status, error.code) == (404, "unknown_allocation"), error
        assert client.plan("drinks", AddArm("mate", fraction=0.5)).begins == ("mate",)
        assert client.change("drinks", AddArm("mate", fraction=0.5), version=0).version == 1
        decisions = asyncio.run(asynchronously(first.id))
        assert client.describe("drinks").round == 1 + decisions
        audit = client.audit("drinks")
        assert sum(line.plays for line in audit.lines) == audit.round
        assert client.decide_many("drinks", [Round(available=["tea"])])[0].names == ("tea",)
    error = error_of(Client("http://127.0.0.1:9", retries=1).access)  # where nothing listens
    assert isinstance(error, Unavailable), error
    assert error.tries == 2, error
    print(f"evenhand-client {__version__} works without evenhand")


def error_of(call: Callable[[], object]) -> ServiceError:
    """The error of a call that must fail."""
    try:
        call()
    except ServiceError as error:
        return error
    raise AssertionError("the call did not fail")


async def asynchronously(first: str) -> int:
    """Use the asynchronous client; how many rounds it has decided."""
    async with AsyncClient(URL, KEY) as client:
        assert (await client.decide("drinks", idempotency_key="order-17")).id == first
        decisions = await asyncio.gather(*(client.decide("drinks") for _ in range(20)))
        assert len({decision.round for decision in decisions}) == 20
        await client.reward_many("drinks", [(one.id, {one.names[0]: 0.5}) for one in decisions])
        kinds = [event.kind async for event in client.events("drinks")]
        assert kinds[0] == "create"
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "drinks.csv"
            await client.log("drinks", log)
            assert len(log.read_text().splitlines()) == 22
    return len(decisions)


if __name__ == "__main__":
    main()
