"""Metrics for Prometheus: requests, decisions, rewards, commits, and the largest deficit per allocation."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from evenhand.messages.answers import Decisions, Lease, LeaseReport, RewardResults
from evenhand.service.store import Store

METHODS = ("GET", "HEAD", "PATCH", "POST", "PUT")
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
EVENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
LABELS = ("allocation",)
TIMEOUT = 2.0  # seconds that a scrape waits for the allocations
#: The gauges of an allocation, by the fields of `evenhand.service.store.reading.Gauges`.
GAUGES = {
    "pending": ("evenhand_pending_decisions", "Decisions with a pending reward."),
    "leased": ("evenhand_open_leases", "Decisions of leases that are neither reported nor returned."),
    "largest_deficit": ("evenhand_largest_deficit", "Plays owed to the arm or group furthest behind its promise."),
    "behind": ("evenhand_promises_behind", "Promises that were found missed and not kept since."),
}


class Metrics:
    """The metrics of a server, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.decisions = Counter("evenhand_decisions", "Decisions made.", registry=self.registry)
        self.leased = Counter("evenhand_leased", "Decisions handed out in leases.", registry=self.registry)
        self.rewards = Counter("evenhand_rewards", "Rewards received, by status.", ["status"], registry=self.registry)
        self._keys = Counter("evenhand_requests", "Answered requests, by key.", ["key"], registry=self.registry)
        self._requests = Histogram(
            "evenhand_request_seconds",
            "Time until a request was answered, by method, route and status.",
            ["method", "route", "status"],
            buckets=SECONDS,
            registry=self.registry,
        )
        self._events = Histogram(
            "evenhand_commit_events", "Events written per transaction.", buckets=EVENTS, registry=self.registry
        )
        self._seconds = Histogram(
            "evenhand_commit_seconds", "Duration of a transaction.", buckets=SECONDS, registry=self.registry
        )

    def committed(self, events: int, seconds: float) -> None:
        """Count a commit of the store."""
        self._events.observe(events)
        self._seconds.observe(seconds)

    def carried_out(self, answer: object) -> None:
        """Count the decisions and rewards of a command of the store; repetitions of a request are not counted."""
        if isinstance(answer, Decisions):
            self.decisions.inc(len(answer.decisions))
        elif isinstance(answer, Lease):
            self.leased.inc(answer.decisions)
        elif isinstance(answer, LeaseReport):
            self.decisions.inc(answer.added)
            for status in ("accepted", "duplicate", "late"):
                if count := getattr(answer, status):
                    self.rewards.labels(status).inc(count)
        elif isinstance(answer, RewardResults):
            for label, number in Tally(result.status for result in answer.results).items():
                self.rewards.labels(label).inc(number)

    def request(self, method: str, route: str | None, status: int, seconds: float, key: str | None) -> None:
        """Count an answered request; unknown routes and unusual methods are counted as ``other``."""
        self._keys.labels(key or "").inc()
        method = method if method in METHODS else "other"
        self._requests.labels(method, route or "other", str(status)).observe(seconds)

    def watch(self, store: Store) -> None:
        """Include the allocations of a store."""
        self.registry.register(_Allocations(store))

    def exposition(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)


class _Allocations(Collector):
    """Reads the gauges of a store's allocations at every scrape."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Nothing, so that registering does not read the store."""
        return ()

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """The gauges of the allocations that had a command here."""
        families = {field: GaugeMetricFamily(*about, labels=LABELS) for field, about in GAUGES.items()}
        for name, gauges in self._store.gauges(TIMEOUT).items():
            for field, family in families.items():
                if (value := getattr(gauges, field)) is not None:
                    family.add_metric([name], value)
        return families.values()
