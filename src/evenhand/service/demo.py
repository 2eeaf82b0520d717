"""A demonstration: a service on a temporary database, with three allocations and people who keep asking for decisions.

One promise gets into trouble and recovers, again and again: a poster cannot be shown for a while, and is owed plays.
"""

from __future__ import annotations

import heapq
import random
import sys
import tempfile
import time
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from threading import Event, Thread
from typing import Any, NamedTuple

from evenhand.client import Client, ServiceError, Unavailable
from evenhand.messages.answers import Arm, Decision
from evenhand.messages.words import Words
from evenhand.service.http import run
from evenhand.service.http.settings import Settings
from evenhand.service.store import Decide, ReadArms, Reward, Store

PACE = 2.0  # rounds a second in each allocation
PAST = 440.0  # seconds of rounds that are there when the page opens, which is while the arm is away
NEW = 0.45  # chance to succeed of an arm that is added while one watches
CYCLE, LEAVES, RETURNS = 180.0, 60.0, 110.0  # in each cycle of so many seconds, an arm is away between these two


class Desk(NamedTuple):
    """Who decides and takes rewards of an allocation: the store, for what is past, or a client of the service."""

    decide: Callable[[str, list[str] | None], Decision]  # among all arms, or those that are available
    arms: Callable[[str], Iterable[Arm]]
    reward: Callable[[str, str, Mapping[str, float]], object]

    @classmethod
    def of_store(cls, store: Store) -> Desk:
        """Decides directly, in the times that the store is given."""
        return cls(
            lambda name, available: store.run(name, Decide(available=available)).decisions[0],
            lambda name: store.run(name, ReadArms()).arms,
            lambda name, decision, rewards: store.run(name, Reward([(decision, rewards)])),
        )


@dataclass
class Scene:
    """An allocation, and the people who respond: each arm succeeds with its chance, some seconds later, or never."""

    name: str
    algorithm: str
    chances: dict[str, float]
    parameters: dict[str, Any]
    plays: int = 1
    median: float = 5.0  # seconds until a response
    answered: float = 0.9  # the part of the responses that arrive
    away: str | None = None  # the arm that is not always there
    words: Words | None = None
    seed: int = 1
    _chance: random.Random = field(init=False)
    _due: list[tuple[float, int, str, dict[str, float]]] = field(init=False, default_factory=list)
    _number: count[int] = field(init=False, default_factory=count)

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)

    def create(self, store: Store) -> None:
        """Create the allocation."""
        store.create(
            self.name,
            list(self.chances),
            self.algorithm,
            parameters=self.parameters,
            seed=self.seed,
            plays=self.plays,
            window=60.0,
            missing="lost",
            words=self.words,
        )

    def step(self, desk: Desk, since: float) -> None:
        """One round, so many seconds after the beginning, and the responses that arrive before it."""
        while self._due and self._due[0][0] <= since:
            _, _, decision, rewards = heapq.heappop(self._due)
            desk.reward(self.name, decision, rewards)
        available = None
        if self.away is not None and LEAVES <= since % CYCLE < RETURNS:
            available = [one.arm for one in desk.arms(self.name) if not one.retired and one.arm != self.away]
        decided = desk.decide(self.name, available)
        if self._chance.random() < self.answered:
            arrives = since + self._chance.lognormvariate(0.0, 0.8) * self.median
            rewards = {arm: float(self._chance.random() < self.chances.get(arm, NEW)) for arm in decided.names}
            heapq.heappush(self._due, (arrives, next(self._number), decided.id, rewards))


def scenes() -> list[Scene]:
    """The three allocations."""
    return [
        Scene(
            "posters",
            "fucb",
            {"orchestra": 0.62, "jazz club": 0.55, "street theatre": 0.34, "puppet show": 0.41, "youth choir": 0.27},
            {"fractions": {"street theatre": 0.15, "puppet show": 0.1, "youth choir": 0.2}},
            away="youth choir",
        ),
        Scene(
            "front-page",
            "group_ts",
            {"politics": 0.31, "sports": 0.42, "science": 0.18, "culture": 0.22, "local": 0.36, "weather": 0.5},
            {
                "fractions": {"science": 0.2, "local": 0.25},
                "groups": [{"name": "long reads", "arms": ["politics", "science", "culture"], "at_least": 0.8}],
            },
            plays=2,
            median=8.0,
            words=Words("clicks", "views", "sections"),
            seed=2,
        ),
        Scene(
            "language-models",
            "fcts_d",
            {"large": 0.82, "medium": 0.74, "small": 0.55, "open": 0.66},
            {"merit": {"kind": "power", "beta": 0.1, "exponent": 4.0}},
            median=12.0,
            answered=0.6,
            seed=3,
        ),
    ]


def fill(database: str, played: list[Scene], begun: float) -> None:
    """Create the allocations, and play the rounds up to now."""
    now = begun
    store = Store.open(database, clock=lambda: now)
    try:
        desk = Desk.of_store(store)
        for scene in played:
            scene.create(store)
        for step in range(int(PAST * PACE)):
            now = begun + step / PACE
            for scene in played:
                scene.step(desk, now - begun)
    finally:
        store.close()


def play(url: str, played: list[Scene], begun: float, over: Event) -> None:
    """Ask for decisions and send rewards over HTTP until it is over."""
    with Client(url) as client, suppress(Unavailable):  # the service ends first
        desk = Desk(lambda name, available: client.decide(name, available=available), client.arms, client.reward)
        while not over.wait(1 / PACE):
            for scene in played:
                with suppress(ServiceError):  # it was closed, or an arm was renamed
                    scene.step(desk, time.time() - begun)


def demonstrate(port: int, browse: Callable[[str], object] | None = webbrowser.open) -> None:
    """Serve the demonstration until a signal ends it; nothing of it is left then."""
    over, played = Event(), scenes()
    with tempfile.TemporaryDirectory(prefix="evenhand-demo-") as folder:
        print("evenhand: the last minutes of three allocations are being made up", file=sys.stderr)
        begun = time.time() - PAST
        fill(f"{folder}/demo.db", played, begun)

        def ready(url: str) -> None:
            Thread(target=play, args=(url, played, begun, over), daemon=True).start()
            print(f"evenhand: open {url} to watch; Ctrl-C ends the demonstration and leaves nothing", file=sys.stderr)
            if browse is not None:
                browse(url)

        try:
            run.serve(f"{folder}/demo.db", Settings(no_keys=True), port, ready=ready)
        finally:
            over.set()
