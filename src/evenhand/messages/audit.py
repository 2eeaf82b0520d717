"""What each arm was promised, and what it got.

The imports are relative, as the client's package has these modules, too, under another name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from functools import partial
from textwrap import wrap
from typing import Annotated

from ..core.dataclasses import dataclass
from ..core.errors import number_of
from ..core.numbers import percent
from . import audit_text as text
from .answers import Answer, Cost, Missing
from .lines import BoundLine, ChangeMade, DeficitExcerpt, History, Line, PromiseLine, SegmentLine, StandingAlarm
from .rules import Len
from .words import Words

CHART = "share of the rounds since the promise began; tick: promised; orange: missed"
SHOWN = 100  # lines of a printed audit


@dataclass(frozen=True)
class DelaySummary(Answer):
    """The delays of the last rewards, in seconds.

    The histogram begins at 0 and has at most twelve bins of equal width, such as 5 seconds, 2 minutes or 6 hours. Where
    the largest delay is at least 30 times the median, so that most delays would fall into the first bin, the edges grow
    about evenly on a logarithmic scale instead; shorter and longer delays have one bin each at the ends.

    Example:
        >>> from evenhand import Bandit
        >>> bandit = Bandit(["tea", "coffee"], "ucb1")
        >>> for seconds in (3.0, 8.0, 9.0, 31.0, 55.0):
        ...     decision = bandit.decide(now=0.0)
        ...     status = bandit.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=seconds)
        >>> summary = bandit.audit().delays
        >>> summary.quantiles["0.5"], summary.edges, summary.counts
        (9.0, (0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0), (1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 1))
    """

    count: int  # number of rewards, at most the last 1000
    quantiles: Mapping[str, float]  # of their delays, by probability
    edges: tuple[float, ...]  # of the bins of the histogram; one more than there are bins
    # delays per bin; a delay on an edge belongs to the bin that begins there, the largest to the last bin
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Audit(Answer):
    """What each arm was promised and got.

    Example:
        >>> from evenhand import Bandit
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.0, 0.5])
        >>> for _ in range(4):
        ...     decision = bandit.decide()
        >>> audit = bandit.audit()
        >>> audit.lines[1].plays, audit.lines[1].deficit, audit.fault
        (2, 0.0, '')
        >>> audit.deficit_history.rounds, audit.deficit_history.arms, audit.deficit_history.deficits
        ((1, 2, 3, 4), ('coffee',), ((0.5, 0.0, 0.5, 0.0),))
        >>> print(audit)
        2 arms, 4 rounds, fucb
        The promise is kept.
        arm     promised  share  plays  deficit  worst  estimate  pending
        tea            0    0.5      2                                  2
        coffee       0.5    0.5      2        0    0.5                  2
    """

    algorithm: str  # that decided
    round: int  # rounds decided, leased ones among them
    rounds: int  # of these, without the rounds of leases that were returned and nobody played
    version: int  # changes of arms and promises so far
    time: datetime  # of the audit
    arms: int  # number of arms; an audit with a limit has fewer lines
    verdict: str  # which promises are kept, and which arm is furthest behind, in a sentence
    fault: str  # why the promises cannot be kept with the availability so far; empty if they can
    warnings: tuple[str, ...]  # which estimates cannot be trusted, and why
    # one per arm, in the order of the arms; with a limit those furthest behind their promise first
    lines: tuple[Line, ...]
    # one per group of arms that is promised shares together, then one per arm with a cap; at most 1000
    bounds: tuple[BoundLine, ...]
    delays: DelaySummary | None  # of the last rewards; null before the first
    # the deficits over time; null where no share of the rounds was ever promised
    deficit_history: DeficitExcerpt | None
    # plays that the arm or group furthest behind is owed; null where no share of the rounds is promised
    behind: float | None
    furthest: str | None  # the name of that arm or group; null where nothing is owed
    cost: Cost | None  # what the promises cost; null where there are none, and before the first round
    history: History | None  # plays and rewards over time; null before the first round
    changes_made: tuple[ChangeMade, ...]  # the last changes of arms and promises, at most 100, the oldest first
    # the promises that have ended, in that order, and then those of today; the last 1000 of either
    ledger: tuple[PromiseLine, ...] = ()
    # the promises that the service has stated to be behind, and not kept since, the oldest first
    alarms: tuple[StandingAlarm, ...] = ()
    # where the evidence is from that the policy learned beforehand, which counts for no promise
    sources: tuple[str, ...] = ()
    name: str | None = None  # of the allocation; null for a `Bandit` outside a store
    # of the last event of the allocation, which every decision, reward and change increases
    sequence: int | None = None
    # of that event, with which the checksums of all events before it are hashed; `evenhand verify` compares with it
    checksum: str | None = None
    closed: bool = False  # whether the allocation decides no more
    segmented: str = ""  # the feature by whose values rounds are counted; empty for none
    segments: tuple[SegmentLine, ...] = ()  # one for each of its values
    # names of the API keys with which promises and arms were changed, by their ids
    authors: Mapping[str, str] = field(default_factory=dict)
    words: Words = Words()  # the unit of rewards, and what rounds and arms are called
    rewards: Annotated[tuple[float, ...], Len(2, 2)] = (0.0, 1.0)  # the smallest and the largest reward
    window: float | None = None  # seconds to wait for a reward; null for no limit
    # what a reward counts as that has not arrived in its window: `zero`, or `lost`, so that nothing is learned from it;
    # `never`: there is no window
    missing: Missing = "never"

    def __str__(self) -> str:
        """A table with one line per arm, in 80 columns, and the fault below it."""
        shown = self.lines[:SHOWN]
        counts = self.words.say(f"{number_of(self.arms, 'arm')}, {number_of(self.rounds, 'round')}")
        parts = [f"{counts}, {self.algorithm}"]
        fill = partial(wrap, width=text.WIDTH, break_long_words=False, break_on_hyphens=False)
        parts += fill(text.harmless(self.verdict))
        if shown:
            parts.append(text.table(shown, self.words))
        if len(shown) < self.arms:
            parts.append(f"and {self.arms - len(shown):,} more")
        if self.bounds:
            parts.append(text.bounds_table(self.bounds))
        for line in text.segment_lines(self.segments, [line.arm for line in self.lines], self.words):
            parts += fill(line, subsequent_indent="  ")
        fault = [f"cannot be kept: {self.fault}"] if self.fault else []
        for note in (*self.notes(), *fault, *(f"warning: {one}" for one in self.warnings)):
            parts += fill(note)
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """The verdict and the shares of the arms against their promises, for a notebook."""
        from ..core import html

        known = [line for line in self.lines if line.share is not None]
        order = sorted(known, key=lambda line: -(line.deficit or 0.0))[: html.MOST]
        bars = [
            html.Bar(one.arm, one.share or 0.0, one.promised or None, colour=int(one.verdict == "missed"))
            for one in order
        ]
        title = f"{number_of(self.arms, 'arm')}, {number_of(self.rounds, 'round')}, {self.algorithm}"
        texts = [
            html.paragraph(text.harmless(one))
            for one in (self.verdict, *self.notes(), self.fault, *self.warnings)
            if one
        ]
        return html.notebook(html.paragraph(title, strong=True), *texts, html.chart(bars, (), CHART, percent))

    def notes(self) -> tuple[str, ...]:
        """What is to be known besides the table.

        Returns:
            A sentence each: from when on plays count, evidence from elsewhere, rewards that are not forgotten, and what
            the promises cost.
        """
        shown = self.lines[:SHOWN]
        beforehand = (
            f"learned beforehand, from {', '.join(self.sources)}: {text.learned(shown)}" if self.sources else ""
        )
        remembered = text.memory(shown)
        notes = (
            *(text.counted(shown, self.words), beforehand, remembered and f"the policy goes by: {remembered}"),
            text.cost(self.cost, self.words),
        )
        return tuple(note for note in notes if note)
