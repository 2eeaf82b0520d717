"""How often promises are judged kept, missed or undecided that are kept, or broken by so much.

The promise is a tenth of the rounds. By the rule 1% of what is due may be missing, or a single play, so a judgement is
wrong if it is "missed" for a promise of which no more is missing in expectation, or "kept" for one of which more is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import typer

from evenhand.core.state import Array
from evenhand.judgement.judge import FEWEST, KEPT, MISSED, OPEN, PART, judge
from evenhand.judgement.keeping import Keeping
from report import AsJson, Table, Write, names_of, publish

SHARE = 0.1
MISSING = (0.0, 0.005, 0.01, 0.05, 0.2)  # parts of the promise
ROUNDS = (100, 1000, 10_000)
LANES = (1, 10, 100)
SPREAD = 0.02  # of the share of a lane, as a part of it, where a policy learns
LOOKS = 60  # at an allocation that is watched, evenly on a logarithmic scale
Trials = Annotated[int, typer.Option(min=100, help="How many promises are judged in each case.")]


def cases() -> Iterator[tuple[str, int, int]]:
    """How a promise is kept, rounds and lanes."""
    for kind, numbers in (("count", LANES[:1]), ("watched", LANES[:1]), ("chance", LANES), ("learned", LANES[1:])):
        for rounds in ROUNDS:
            for lanes in numbers:
                yield kind, rounds, lanes


def verdicts(kind: str, rounds: int, lanes: int, missing: float, trials: int, seed: int) -> Array:
    """(trials,), what is judged; of an allocation that is watched the worst of all looks."""
    rng, chance = np.random.default_rng(seed), SHARE * (1.0 - missing)
    due = np.full(trials, SHARE * rounds)
    if kind == "watched":
        return _watched(rng, chance, rounds, trials)
    if kind == "count":
        return np.asarray(judge(Keeping("count"), due, np.full(trials, chance * rounds), rounds).verdicts)
    chances = np.full((lanes, trials), chance)
    if kind == "learned":
        chances = chances * (1.0 + SPREAD * rng.standard_normal((lanes, trials)))
    plays = rng.binomial(rounds, chances).astype(float)
    keeping = Keeping("merit" if kind == "learned" else "chance")
    return np.asarray(judge(keeping, due, plays, rounds).verdicts)


def _watched(rng: np.random.Generator, chance: float, rounds: int, trials: int) -> Array:
    """What is judged in the end; what was wrong at any look stays."""
    looks = np.unique(np.geomspace(1, rounds, LOOKS).astype(int))
    plays, before, wrong = np.zeros(trials), 0, np.zeros(trials, dtype=bool)
    found, result = np.zeros(trials), np.zeros(trials)
    for round in looks:
        plays, before = plays + rng.binomial(round - before, chance, trials), round
        now = judge(Keeping("chance"), np.full(trials, SHARE * round), plays, round, online=True).verdicts
        mistake = (now == _wrong((SHARE - chance) * round, SHARE * round)) & ~wrong
        found, wrong = np.where(mistake, now, found), wrong | mistake
        result = np.where(wrong, found, now)
    return np.asarray(result)


def _wrong(behind: float, due: float) -> int:
    """The wrong one of the two decisions."""
    return MISSED if behind <= max(FEWEST, PART * due) + 1e-9 else KEPT


def parts(found: Array) -> tuple[float, float, float]:
    """The parts that are judged kept, undecided and missed."""
    kept, undecided, missed = (float((found == verdict).mean()) for verdict in (KEPT, OPEN, MISSED))
    return kept, undecided, missed


def main(trials: Trials = 20_000, as_json: AsJson = False, write: Write = False) -> None:
    """Judge many promises and print how often each judgement is made."""
    rows: list[list[str]] = []
    figures: list[dict[str, Any]] = []
    for place, (kind, rounds, lanes) in enumerate(cases()):
        cells = []
        for which, missing in enumerate(MISSING):
            found = parts(verdicts(kind, rounds, lanes, missing, trials, seed=10 * place + which))
            wrong = found[0 if _wrong(missing * SHARE * rounds, SHARE * rounds) == KEPT else 2]
            figures.append(
                {"kind": kind, "rounds": rounds, "lanes": lanes, "missing": missing, "parts": found, "wrong": wrong}
            )
            cells.append(" / ".join(f"{100.0 * part:.1f}" for part in found))
        rows.append([kind, f"{rounds:,}", str(lanes), *cells])
    columns = ["kept / undecided / missed, %", "rounds", "lanes", *(f"{100.0 * part:g}% missing" for part in MISSING)]
    publish(
        [Table("judge", f"{trials:,} promises of a tenth of the rounds in each cell", columns, rows)],
        {"judged": figures},
        packages=("evenhand", "numpy"),
        method=f"{trials:,} promises of a tenth of the rounds in each cell",
        code=names_of(judge),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
