"""Figures for Prometheus: requests, decisions, reports, commits, and what each allocation owes."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import wait
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from evenhand.online.store import Pulse, Store
from evenhand.online.store.commands import Answer

METHODS = ("GET", "HEAD", "POST")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
LABELS = ("allocation",)
PATIENCE = 2.0  # seconds that a scrape waits for the allocations


class Telemetry:
    """What a server counts. Each has a registry of its own.

    Example:
        >>> telemetry = Telemetry()
        >>> telemetry.committed(events=3, seconds=0.002)
        >>> b"evenhand_commit_events_sum 3.0" in telemetry.exposition()
        True
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.decisions = Counter("evenhand_decisions", "Decisions made.", registry=self.registry)
        self.reports = Counter(
            "evenhand_reports", "Rewards reported, by what became of them.", ["status"], registry=self.registry
        )
        self._requests = Histogram(
            "evenhand_request_seconds",
            "Time until a request was answered, by method, route and status.",
            ["method", "route", "status"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._events = Histogram(
            "evenhand_commit_events", "Events written in a transaction.", buckets=EVENTS, registry=self.registry
        )
        self._seconds = Histogram(
            "evenhand_commit_seconds", "Time that a transaction took.", buckets=SECONDS, registry=self.registry
        )

    def committed(self, events: int, seconds: float) -> None:
        """The store tells of a commit."""
        self._events.observe(events)
        self._seconds.observe(seconds)

    def requested(self, method: str, route: str | None, status: int, seconds: float) -> None:
        """A request was answered; what is no route of ours, or no usual method, is counted together."""
        method = method if method in METHODS else "other"
        self._requests.labels(method, route or "other", str(status)).observe(seconds)

    def watch(self, store: Store) -> None:
        """Tell of the allocations of a store, too."""
        self.registry.register(_Allocations(store))

    def exposition(self) -> bytes:
        """All figures in Prometheus's text format."""
        return generate_latest(self.registry)


class _Allocations(Collector):
    """Asks the allocations of a store at every scrape; those that do not answer in time are left out."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterable[Any]:
        """Nothing, so that registering does not ask the store."""
        return ()

    def collect(self) -> Iterable[Any]:
        """The figures of the allocations that are in memory."""
        waiting = GaugeMetricFamily("evenhand_pending_decisions", "Decisions that wait for a report.", labels=LABELS)
        deficit = GaugeMetricFamily(
            "evenhand_largest_deficit", "Plays that the arm furthest behind its promise is behind.", labels=LABELS
        )
        for name, pulse in self._pulses().items():
            waiting.add_metric([name], pulse["waiting"])
            if pulse["behind"] is not None:
                deficit.add_metric([name], pulse["behind"])
        return waiting, deficit

    def _pulses(self) -> dict[str, Answer]:
        asked = {name: self._store.submit(name, Pulse()) for name in self._store.awake()}
        done = wait(asked.values(), PATIENCE).done
        return {name: one.result() for name, one in asked.items() if one in done and one.exception() is None}
