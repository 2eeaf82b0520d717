"""How often sequences ever miss what they are of, in every cell of the design.

``python -m tests.inference.coverage docs/concepts/intervals.md`` writes the table of all forty into the page.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln

from evenhand.core.state import Array, Mask
from evenhand.inference import Sums, difference, mean, offpolicy, weighted
from evenhand.inference.means import NORMAL
from evenhand.inference.shares import share_interval
from tests.inference.watched import Cell, Run, design, watch

LIMIT = 0.05
PAIRS = (1, 2)  # arms with which the first is compared
NAMES = {  # of claims, with the heads of their columns
    "mean": "mean",
    "mean, counts only": "by counts",
    "difference, chances": "difference",
    "difference, two sequences": "two sequences",
    "value of a log": "log",
}
RUNS, ROUNDS = 1000, 2000


@dataclass(frozen=True)
class Missed:
    """Share of the runs in which an interval ever missed, that of the worst arm or pair; None where there is none."""

    name: str
    share: float
    runs: int
    claimed: bool

    @property
    def fails(self) -> bool:
        """Whether it is surely above the limit: the lower end of its own interval, wrong in at most 0.1%, is."""
        return self.claimed and bool(share_interval(self.share * self.runs, self.runs, 0.998)[0] > LIMIT)


def missed(cell: Cell, runs: int = RUNS, rounds: int = ROUNDS, seed: int = 0) -> list[Missed]:
    """What was ever missed at any look."""
    ever: dict[str, Mask] = {}
    for place, run in enumerate(watch(cell, runs, rounds, seed)):
        for name, truth, (low, high) in claims(cell, run, more=place % 3 == 0):
            out = (truth < low - 1e-9) | (truth > high + 1e-9)
            ever[name] = ever.get(name, np.zeros(out.shape, dtype=bool)) | out
    steady = cell.feedback != "drifting"
    return [
        Missed(name, float(np.max(found.mean(axis=0))), runs, steady or name != "difference, two sequences")
        for name, found in ever.items()
    ]


def claims(cell: Cell, run: Run, more: bool) -> Iterator[tuple[str, Array, tuple[Array, Array]]]:
    """Each claim at a look: its name, the truth and the ends; those that take long only at some looks."""
    unknown = run.plays - run.known["count"]
    truth = np.divide(run.expected, run.plays, out=np.full(run.shape, 0.5), where=run.plays > 0.0)
    yield "mean", truth, mean(run.sums(), unknown=unknown)
    yield "mean, counts only", truth, mean(run.sums(spread=False), unknown=unknown)
    pairs = (run.means[0] - run.means[list(PAIRS)]) / run.time
    if cell.chances_known:
        rounds = np.array(float(run.time))
        yield "difference, chances", pairs, ends(weighted(run.scores(0), run.scores(arm), rounds) for arm in PAIRS)
    if more and cell.feedback in ("immediate", "drifting"):
        yield "difference, two sequences", pairs, ends(difference(of(run, 0), of(run, arm)) for arm in PAIRS)
    if cell.chances_known and more:
        rows = slice(0, run.time)
        known = np.where(run.arrival[rows] < run.time, run.rewards[rows], np.nan)
        value = np.full(run.shape[0], run.means.mean() / run.time)
        yield "value of a log", value, offpolicy(known.T, (1.0 / run.shape[1] / run.chances[rows]).T)


def of(run: Run, arm: int) -> Sums:
    """The sums of one arm."""
    return Sums(*(run.known[name][:, arm] for name in ("count", "total", "spread")))


def ends(pairs: Iterator[tuple[Array, Array]]) -> tuple[Array, Array]:
    """The ends of several pairs, each (runs, pairs)."""
    low, high = zip(*pairs, strict=True)
    return np.stack(low, axis=-1), np.stack(high, axis=-1)


def row(cell: Cell, found: list[Missed]) -> str:
    """A line of the table; shares of which nothing is claimed are in brackets."""
    by_name = {one.name: one for one in found}
    texts = [
        "" if one is None else f"{100.0 * one.share:.1f}" if one.claimed else f"({100.0 * one.share:.1f})"
        for one in map(by_name.get, NAMES)
    ]
    return "| " + " | ".join([str(cell), *texts]) + " |"


def widths() -> Iterator[str]:
    """Lines of the table of widths, over that of an interval for one look: Wilson's, or by the standard deviation."""
    for name, share, spread in (
        ("0 and 1, half of them 1", 0.5, None),
        ("0 and 1, 5% of them 1", 0.05, None),
        ("around 0.3 with a standard deviation of 0.05", 0.3, 0.05),
    ):
        for count in (100, 1000, 100_000):
            variance = share * (1.0 - share) if spread is None else spread**2
            exact = np.array(float(count))
            low, high = mean(Sums(exact, share * exact, variance * exact))
            once = wilson(count, share) if spread is None else 2.0 * NORMAL * math.sqrt(variance / count)
            mixture = f"{beta_binomial(count, share) / once:.2f}" if spread is None else ""
            yield f"| {name} | {count:,} | {float(high - low) / once:.2f} | {mixture} |"


def wilson(count: int, share: float) -> float:
    """Width of Wilson's interval."""
    square = NORMAL**2 / count
    return 2.0 * NORMAL / (1.0 + square) * math.sqrt((share * (1.0 - share) + square / 4.0) / count)


def beta_binomial(count: int, share: float) -> float:
    """Width of the sequence of the beta-binomial mixture with a uniform prior (Robbins 1970)."""
    hits = share * count
    prior = betaln(hits + 1.0, count - hits + 1.0) - math.log(20.0)

    def left(mean: float) -> float:
        return float(prior - hits * math.log(mean) - (count - hits) * math.log1p(-mean))

    return float(brentq(left, share, 1.0 - 1e-12)) - float(brentq(left, 1e-12, share))


def main(path: Path) -> int:
    """Write the table of all cells into a page; 1 where a cell fails."""
    heads = ["combination", *NAMES.values()]
    lines, failed = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)], 0
    for cell in design():
        found = missed(cell)
        lines.append(row(cell, found))
        print(lines[-1], flush=True)
        failed += sum(one.fails for one in found)
    write(path, "coverage", lines)
    write(
        path, "widths", ["| rewards | plays | this | beta-binomial mixture |", "| --- | --- | --- | --- |", *widths()]
    )
    return int(failed > 0)


def write(path: Path, name: str, lines: list[str]) -> None:
    """Put lines between the marks of a page."""
    text = path.read_text(encoding="utf-8")
    start, end = (text.index(f"<!-- {one} -->") for one in (name, f"end of {name}"))
    text = text[: start + len(f"<!-- {name} -->")] + "\n\n" + "\n".join(lines) + "\n\n" + text[end:]
    path.write_text(text, encoding="utf-8")


def written(path: Path, name: str) -> list[str]:
    """The lines between the marks of a page."""
    text = path.read_text(encoding="utf-8").split(f"<!-- {name} -->")[1].split(f"<!-- end of {name} -->")[0]
    return text.strip().splitlines()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
