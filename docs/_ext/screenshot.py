"""Makes the pictures of the page that the documentation shows: ``python docs/_ext/screenshot.py``; needs Chromium.

Three days of an allocation are simulated into a database, with a clock of their own; then the service is started and
its page drawn: on a desktop, on a phone, and in the dark.
"""

from __future__ import annotations

import heapq
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from evenhand.changes import Promise
from evenhand.client import Client
from evenhand.service.store import Change, Decide, Reward, Store

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests" / "service"))
from browsing import chromium  # noqa: E402

ARMS = {"orchestra": 0.62, "jazz club": 0.55, "street theatre": 0.34, "puppet show": 0.41, "youth choir": 0.27}
PROMISED = {"street theatre": 0.2, "puppet show": 0.1, "youth choir": 0.15}
DAY, ROUNDS, PORT = 86_400.0, 4_000, 8177
CHANGED = 2_500  # the round before which a promise is changed
#: Name, width, height, pixels per pixel, and whether it is dark.
PICTURES = [("page", 1280, 1500, 1, False), ("page_dark", 1280, 1500, 1, True), ("page_phone", 390, 1400, 2, False)]


def fill(database: str) -> None:
    """Three days in which rewards arrive some hours late, or never, and the choir is not always available."""
    chance = random.Random(4)
    now = [time.time() - 3 * DAY]
    store = Store.open(database, clock=lambda: now[0])
    store.create("posters", list(ARMS), "fucb", parameters={"fractions": PROMISED}, window=DAY, missing="lost", seed=3)
    due: list[tuple[float, str, str]] = []
    for round in range(ROUNDS):
        if round == CHANGED:
            store.run("posters", Change(Promise({"street theatre": 0.12})))
        now[0] += 3 * DAY / ROUNDS * chance.expovariate(1.0) * 0.99
        while due and due[0][0] <= now[0]:
            _, id, arm = heapq.heappop(due)
            store.run("posters", Reward([(id, {arm: float(chance.random() < ARMS[arm])})]))
        present = [arm for arm in ARMS if arm != "youth choir" or chance.random() < 0.8]
        [decision] = store.run("posters", Decide(available=present)).decisions
        if chance.random() < 0.95:
            heapq.heappush(due, (now[0] + chance.lognormvariate(8.6, 1.3), decision.id, decision.names[0]))
    store.close()


def draw(url: str, folder: Path) -> None:
    """The page of the allocation, from its top."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(playwright), args=["--no-sandbox"])
        for name, width, height, scale, dark in PICTURES:
            page = browser.new_page(
                viewport={"width": width, "height": height},
                device_scale_factor=scale,
                color_scheme="dark" if dark else "light",
                locale="en-GB",
            )
            page.goto(f"{url}/#/allocations/posters")
            page.wait_for_selector("text=Live")
            page.wait_for_selector("canvas")
            page.screenshot(path=folder / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        database = f"{folder}/posters.db"
        fill(database)
        server = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "evenhand.cli.main",
                "serve",
                "--database",
                database,
                "--port",
                str(PORT),
                "--no-keys",
            ]
        )
        try:
            Client(f"http://127.0.0.1:{PORT}").allocations()  # waits for the server
            draw(f"http://127.0.0.1:{PORT}", ROOT / "docs" / "_static")
        finally:
            server.terminate()
            server.wait()
