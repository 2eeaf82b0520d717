"""What a decision by features and its update cost, beside river, MABWiser and Vowpal Wabbit, in processor time.

LinUCB and LinTS with a θ for every arm, one decision and one reward at a time; lanes of a simulation, beside a loop
over as many of the others; and rewards that arrive by the thousand. river has no policy by features: a
`BayesianLinearRegression` for each arm takes the place of one. Vowpal Wabbit has one of its own (`--cb_explore_adf
--squarecb`), a row of text for every decision and arm. Nothing is timed unless means and widths of river and MABWiser
are Evenhand's to 1e-8.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from common import Repeats, medians, stop_if
from evenhand import Feedback, Observation, Policy
from evenhand.algorithms import lin_ts, lin_ucb
from evenhand.core.cohorts import Answers
from report import Aim, AsJson, Table, Write, aims_table, publish

SIZES = [(columns, arms) for columns in (10, 50, 200) for arms in (10, 100, 1000)]
PEERS = ("river", "MABWiser", "Vowpal Wabbit")
PACKAGES = ("evenhand", "numpy", "river", "mabwiser", "vowpalwabbit")
WORK = 2_000_000  # numbers that the rounds of a turn go through, about
LANES, BATCH = 200, 10_000
SIDE_BY_SIDE = [(10, 10), (10, 100), (50, 10)]  # columns and arms of the lanes
TOGETHER, LOOPED = 20, 3  # rounds of a turn: of all lanes at once, and of one lane after the other
READ = 50_000  # lines that Vowpal Wabbit has read at most
CODE = ("evenhand.policy.contextual:LinUCB", "evenhand.policy.contextual:LinTS")


class Data:
    """Situations and rewards of some rounds."""

    def __init__(self, columns: int, arms: int, rounds: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.arms, self.situations, self.rewards = arms, rng.random((rounds, columns)), rng.random(rounds)
        self.tables = [dict(enumerate(row)) for row in self.situations.tolist()]
        self.texts = [" ".join(f"{place}:{value:.6f}" for place, value in row.items()) for row in self.tables]


class Ours:
    """Evenhand."""

    def __init__(self, policy: Policy, data: Data, lanes: int | None = None) -> None:
        self.policy, self.data, self.rng = policy, data, np.random.default_rng(0)
        self.state = policy.start(data.arms, lanes, columns=(data.situations.shape[1], 0))

    def learn(self, round: int, place: int) -> None:
        """The reward of a round, for an arm."""
        self._learn(np.array([place]), slice(round, round + 1))

    def _learn(self, places: Any, rounds: slice) -> None:
        received = np.bincount(places, minlength=self.data.arms)
        rewards, situations = self.data.rewards[rounds], self.data.situations[rounds]
        answers = Answers(places, np.zeros(len(places), dtype=np.int64), rewards, situations)
        self.policy.observe(self.state, Feedback(received, received * rewards[0], answers), self.rng)

    def step(self, round: int) -> None:
        """A decision and its reward."""
        seen = Observation(situation=self.data.situations[round])
        self.learn(round, int(self.policy.decide(self.state, seen, self.rng).played.argmax()))

    def all_at_once(self) -> None:
        """The rewards of all rounds, for the arms in turn."""
        self._learn(np.arange(len(self.data.rewards)) % self.data.arms, slice(None))

    def scores(self, row: Any) -> Any:
        """The scores of all arms."""
        return self.policy.index.score(self.state, Observation(situation=row), self.rng)


class River:
    """A regression for every arm."""

    def __init__(self, data: Data) -> None:
        kind = import_module("river.linear_model").BayesianLinearRegression
        self.data, self.models = data, [kind() for _ in range(data.arms)]

    def learn(self, round: int, place: int) -> None:
        """The reward of a round, for an arm."""
        self.models[place].learn_one(self.data.tables[round], self.data.rewards[round])

    def step(self, round: int) -> None:
        """A decision by the mean plus the deviation of the prediction, and its reward."""
        laws = [model.predict_one(self.data.tables[round], with_dist=True) for model in self.models]
        self.learn(round, int(np.argmax([law.mu + law.sigma for law in laws])))

    def scores(self, row: Any) -> Any:
        """Mean plus width: the variance of a prediction has that of the noise, 1, besides."""
        laws = [model.predict_one(dict(enumerate(row.tolist())), with_dist=True) for model in self.models]
        return np.array([law.mu + np.sqrt(law.sigma**2 - 1.0) for law in laws])


class MABWiser:
    """LinUCB of MABWiser."""

    def __init__(self, data: Data) -> None:
        module = import_module("mabwiser.mab")
        self.data, arms = data, list(range(data.arms))
        self.mab = module.MAB(arms, module.LearningPolicy.LinUCB(alpha=1.0, l2_lambda=1.0))
        self.mab.fit(arms, [0.0] * data.arms, np.zeros((data.arms, data.situations.shape[1])))

    def learn(self, round: int, place: int) -> None:
        """The reward of a round, for an arm."""
        row = self.data.situations[round : round + 1]
        self.mab.partial_fit([place], [float(self.data.rewards[round])], row)

    def step(self, round: int) -> None:
        """A decision and its reward."""
        self.learn(round, self.mab.predict(self.data.situations[round : round + 1]))

    def all_at_once(self) -> None:
        """The rewards of all rounds, for the arms in turn."""
        places = (np.arange(len(self.data.rewards)) % self.data.arms).tolist()
        self.mab.partial_fit(places, self.data.rewards.tolist(), self.data.situations)

    def scores(self, row: Any) -> Any:
        """The scores of all arms."""
        found = self.mab.predict_expectations(row[np.newaxis])
        return np.array([found[place] for place in range(self.data.arms)])


class VowpalWabbit:
    """SquareCB of Vowpal Wabbit."""

    def __init__(self, data: Data) -> None:
        kind = import_module("vowpalwabbit").Workspace
        self.data, self.rng = data, np.random.default_rng(0)
        self.workspace = kind("--cb_explore_adf --squarecb -q SA --cb_type mtr --quiet")

    def step(self, round: int) -> None:
        """A decision and its reward, each as text."""
        rows = [f"shared |S {self.data.texts[round]}", *(f"|A a{place}" for place in range(self.data.arms))]
        chances = np.array(self.workspace.predict(rows))
        place = int(self.rng.choice(self.data.arms, p=chances / chances.sum()))
        rows[place + 1] = f"0:{-self.data.rewards[round]}:{chances[place]} {rows[place + 1]}"
        self.workspace.learn(rows)


class VowpalWabbitRead(VowpalWabbit):
    """The same with lines that are read before anything is timed, a reward for the arms in turn."""

    def __init__(self, data: Data) -> None:
        super().__init__(data)
        self.asked, self.answered = [], []
        for round, text in enumerate(data.texts):
            rows = [f"shared |S {text}", *(f"|A a{place}" for place in range(data.arms))]
            self.asked.append(self.workspace.parse(rows))
            rows[round % data.arms + 1] = f"0:{-data.rewards[round]}:{1 / data.arms} {rows[round % data.arms + 1]}"
            self.answered.append(self.workspace.parse(rows))

    def step(self, round: int) -> None:
        """A decision and its reward."""
        self.workspace.predict(self.asked[round])
        self.workspace.learn(self.answered[round])


def contenders(data: Data) -> Iterator[tuple[str, Any]]:
    """Everybody, who knows something of every arm; one after another, as all their matrices may fill the memory."""
    makers: dict[str, Callable[[], Any]] = {
        "LinUCB": lambda: Ours(lin_ucb(), data),
        "LinTS": lambda: Ours(lin_ts(), data),
        "river": lambda: River(data),
    }
    for name, make in makers.items():
        one = make()
        for place in range(data.arms):
            one.learn(place % len(data.rewards), place)
        one.step(0)
        yield name, one
    yield "MABWiser", MABWiser(data)  # which begins with a reward of 0 for every arm, and a situation of zeros
    yield "Vowpal Wabbit", VowpalWabbit(data)
    if data.arms * len(data.rewards) <= READ:
        yield "read before", VowpalWabbitRead(data)


def disagreements(columns: int) -> list[str]:
    """Packages whose scores are not Evenhand's after the same rewards."""
    data, row = Data(columns, 4, 200), np.random.default_rng(2).random(columns)
    found: dict[str, Any] = {"Evenhand": Ours(lin_ucb(), data), "river": River(data), "MABWiser": MABWiser(data)}
    for round in range(len(data.rewards)):
        for one in found.values():
            one.learn(round, round % 3)  # the last arm has no data
    scores = {name: one.scores(row) for name, one in found.items()}
    gaps = {name: float(np.abs(one - scores["Evenhand"]).max()) for name, one in scores.items()}
    return [f"{name}, {columns} columns: scores differ by {gap:.2g}" for name, gap in gaps.items() if gap > 1e-8]


def steps(one: Any, rounds: int) -> None:
    """Some rounds."""
    for round in range(rounds):
        one.step(round)


def single(columns: int, arms: int, repeats: int) -> dict[str, float]:
    """Microseconds of a decision and its update, by contender."""
    rounds = int(np.clip(WORK // (columns**2 * arms), 5, 400))
    data, found = Data(columns, arms, rounds), {}
    for name, one in contenders(data):
        found[name] = medians({name: partial(steps, one, rounds)}, repeats)[name] / rounds * 1e6
    return found


def shown(microseconds: float) -> str:
    """Three digits, or all before the point."""
    return f"{microseconds:.3g}" if microseconds < 1000.0 else f"{microseconds:,.0f}"


def lanes(columns: int, arms: int, repeats: int) -> dict[str, float]:
    """Microseconds of a decision and its update in each of many lanes, and of a loop over as many of the others."""
    loops = {
        name: [make(Data(columns, arms, LOOPED, seed)) for seed in range(LANES)]
        for name, make in (("river", River), ("MABWiser", MABWiser))
    }
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "LinUCB": (_together(lin_ucb(), columns, arms), TOGETHER),
        "LinTS": (_together(lin_ts(), columns, arms), TOGETHER),
        **{name: (partial(_looped, those), LOOPED) for name, those in loops.items()},
    }
    taken = medians({name: call for name, (call, _) in calls.items()}, repeats)
    return {name: 1e6 * taken[name] / rounds / LANES for name, (_, rounds) in calls.items()}


def _together(policy: Policy, columns: int, arms: int) -> Callable[[], object]:
    """Some rounds in all lanes of one state."""
    rng = np.random.default_rng(1)
    state = policy.start(arms, LANES, columns=(columns, 0))
    situations = rng.random((TOGETHER, LANES, columns))

    def play() -> None:
        for seen in situations:
            played = policy.decide(state, Observation(situation=seen), rng).played
            lane, place = played.nonzero()
            answers = Answers(lane * arms + place, np.zeros(LANES, dtype=np.int64), rng.random(LANES), seen)
            policy.observe(state, Feedback(played, played * 0.5, answers), rng)

    return play


def _looped(those: list[Any]) -> None:
    """Some rounds of one after the other."""
    for one in those:
        steps(one, LOOPED)


def batches(columns: int, repeats: int) -> dict[str, float]:
    """Milliseconds to learn from many rewards at once, for ten arms, and to decide once."""
    data = Data(columns, 10, BATCH)
    calls: dict[str, Callable[[], object]] = {}
    for name, one in (("LinUCB", Ours(lin_ucb(), data)), ("MABWiser", MABWiser(data))):
        calls[name] = one.all_at_once
        calls[f"{name} and a decision"] = partial(_and_decide, one, data.situations[0])
    return {name: 1e3 * taken for name, taken in medians(calls, repeats).items()}


def _and_decide(one: Any, row: Any) -> None:
    """Learn, and score the arms once: Evenhand solves when it decides, MABWiser when it learns."""
    one.all_at_once()
    one.scores(row)


def one_by_one(repeats: int, notes: Console) -> tuple[list[Table], dict[str, Any]]:
    """Tables and figures of single decisions."""
    found = {}
    for columns, arms in SIZES:
        with notes.status(f"timing {columns} columns, {arms} arms"):
            found[columns, arms] = single(columns, arms, repeats)
    names = ("LinUCB", "LinTS", *PEERS, "read before")
    rows = [
        (str(columns), f"{arms:,}", *(shown(row[name]) if name in row else "" for name in names))
        for (columns, arms), row in found.items()
    ]
    aims = []
    for (columns, arms), row in found.items():
        where, own = f"{columns} columns, {arms:,} arms", row["LinUCB"]
        aims += [Aim(f"{where}: less than {peer}", row[peer] / own, own < row[peer]) for peer in PEERS[:2]]
        for name, words in (("Vowpal Wabbit", ""), ("read before", ", whose lines are read before")):
            if name in row:
                ratio = own / row[name]
                aims.append(Aim(f"{where}: at most 3 times Vowpal Wabbit{words}", ratio, ratio <= 3.0))
    table = Table("contexts", "microseconds of a decision and its update", ("columns", "arms", *names), rows)
    figures = {
        "rows": [{"columns": columns, "arms": arms, **row} for (columns, arms), row in found.items()],
        "aims": [vars(aim) for aim in aims],
    }
    return [table, aims_table("contexts-aims", aims)], figures


def at_once(repeats: int, notes: Console) -> tuple[list[Table], dict[str, Any]]:
    """Tables and figures of lanes, and of rewards that come together."""
    found = {}
    for columns, arms in SIDE_BY_SIDE:
        with notes.status(f"timing {LANES} lanes, {columns} columns, {arms} arms"):
            found[columns, arms] = lanes(columns, arms, repeats)
    learned = {columns: batches(columns, repeats) for columns in (10, 50, 200)}
    names = ("columns", "arms", *found[SIDE_BY_SIDE[0]])
    rows = [(str(columns), str(arms), *map(shown, row.values())) for (columns, arms), row in found.items()]
    milliseconds = [(str(columns), *(f"{one:.3g}" for one in row.values())) for columns, row in learned.items()]
    tables = [
        Table("contexts-lanes", "microseconds, in each of 200 lanes", names, rows),
        Table("contexts-batches", "ms to learn 10,000 rewards", ("columns", *learned[10]), milliseconds),
    ]
    figures = {
        "lanes": [{"columns": columns, "arms": arms, **row} for (columns, arms), row in found.items()],
        "batches": {str(columns): row for columns, row in learned.items()},
    }
    return tables, figures


def main(
    repeats: Repeats = 3,
    as_json: AsJson = False,
    write: Write = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare the scores of the packages, and time nothing.")
    ] = False,
    together: Annotated[bool, typer.Option("--together", help="Only lanes and rewards that arrive together.")] = False,
) -> None:
    """Measure what decisions by features cost in Evenhand and in other packages."""
    os.environ["OMP_NUM_THREADS"] = "1"
    notes = Console(stderr=True)
    stop_if([line for columns in (1, 5, 30) for line in disagreements(columns)], notes)
    if check:
        return
    parts = (at_once,) if together else (one_by_one, at_once)
    found = [part(repeats, notes) for part in parts]
    publish(
        [table for tables, _ in found for table in tables],
        {name: one for _, figures in found for name, one in figures.items()},
        packages=PACKAGES,
        method=f"medians of {repeats} turns",
        code=CODE,
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
