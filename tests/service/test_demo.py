"""The demonstration: traffic that goes on, a promise that recovers, and nothing left at the end."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import webbrowser
from pathlib import Path

import pytest

from evenhand.cli import main as cli
from evenhand.client import Client
from evenhand.service import demo
from evenhand.service.store import ReadAudit, Store
from tests.service.databases import PATIENCE, until

SHORT = "import evenhand.service.demo as demo; demo.PAST = 5.0; demo.demonstrate(0, None)"


def test_goes_on_over_http_and_leaves_nothing(tmp_path: Path) -> None:
    """Rounds are played while it serves; an interrupt ends it, and its folder is gone."""
    with subprocess.Popen(
        [sys.executable, "-P", "-c", SHORT], stderr=subprocess.PIPE, text=True, env={"TMPDIR": str(tmp_path)}
    ) as process:
        try:
            assert process.stderr is not None
            url = next(found[1] for line in process.stderr if (found := re.search(r"open (http://\S+) to", line)))
            with Client(url) as client:
                assert [one.name for one in client.allocations()] == ["front-page", "language-models", "posters"]
                begun = client.audit("posters").round
                assert begun >= 10
                until(lambda: client.audit("posters").round >= begun + 2, lambda: "no rounds are played")
            process.send_signal(signal.SIGINT)
            assert "Traceback" not in process.stderr.read()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
    assert not list(tmp_path.iterdir())


def test_a_promise_is_in_trouble_when_the_page_opens_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The arm that is away is behind at first, and has what it was promised some rounds after its return."""
    monkeypatch.setattr(demo, "PAST", demo.CYCLE + demo.LEAVES + 30)
    (posters, *_) = played = demo.scenes()
    del played[1:]
    demo.fill(str(tmp_path / "a.db"), played, 0.0)
    now = demo.PAST
    store = Store.open(str(tmp_path / "a.db"), clock=lambda: now)
    try:
        lines = {line.arm: line for line in store.run("posters", ReadAudit()).lines}
        assert lines["youth choir"].verdict == "missed"
        while now < demo.CYCLE + demo.RETURNS + 30:
            posters.step(demo.Desk.of_store(store), now)
            now += 1 / demo.PACE
        assert {line.verdict for line in store.run("posters", ReadAudit()).lines if line.promised} == {"kept"}
    finally:
        store.close()


def test_opens_the_page_unless_told_not_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is opened by default."""
    asked: list[object] = []
    monkeypatch.setattr(demo, "demonstrate", lambda port, browse=webbrowser.open: asked.append((port, browse)))
    assert cli.run(["demo"]) == 0
    assert cli.run(["demo", "--no-browser", "--port", "8001"]) == 0
    assert asked == [(0, webbrowser.open), (8001, None)]
