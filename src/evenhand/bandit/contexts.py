"""The features of a bandit: how they are declared, those of its arms, and those of pulls whose rewards are missing."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.bandit.arms import Arms, Available
from evenhand.bandit.segments import Segments
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, StateError, number_of, shown
from evenhand.core.state import Array, Mask, Observation
from evenhand.features import Features
from evenhand.features.declaration import as_features
from evenhand.policy.linear_sums import taken
from evenhand.policy.part import Places

OFTEN = 0.05  # values per round from which on an audit says that they were cut, unknown or missing
NOTED = {"cut": "was beyond its range and cut", "unknown": "had a value that is not declared", "missing": "was missing"}
NEW = -1  # in the place of a column that was not declared before

Notes = tuple[tuple[str, str], ...]  # features of which a value was ``"cut"``, ``"unknown"`` or ``"missing"``
Seen = tuple[Observation, Notes]


class Pull(NamedTuple):
    """The encoded features of a decision, while a reward of it can arrive."""

    version: int  # number of the declaration by which they are encoded, from 0
    values: Array  # (d + m · d_arm,), of the situation, then of each arm that played, in their order
    noted: Notes = ()


class Elsewhere(dict[int, Pull]):
    """The features of pulls that are not in the save; what has them in a table puts that in place of this."""


class Moved(NamedTuple):
    """What another declaration made of the columns: the place of each in the one before, or `NEW`."""

    widths: tuple[int, int]  # before, of the situation and of every arm
    situation: Places  # (d,)
    arms: Places  # (d_arm,)

    def of(self, situation: Array, arms: Array) -> tuple[Array, Array]:
        """Rows (…, d) and (…, d_arm) in the new columns; those that are new are 0."""
        return taken(situation, self.situation), taken(arms, self.arms)


class Contexts:
    """What a bandit knows of features.

    Those of pulls stand behind a mapping from rounds, so that they need not be in memory: a store keeps them in a
    table of its own, and replaces ``pulls``.
    """

    def __init__(self, features: Features, arms: Sequence[Mapping[str, object]]) -> None:
        self.features = features
        self.arms: list[dict[str, Any]] = [dict(one) for one in arms]  # features of each arm, as they were given
        self.history: list[Moved] = []  # of the columns, by the declarations after the first one
        self.counts: Counter[tuple[str, str]] = Counter()  # of values that were cut, unknown or missing, by feature
        self.pulls: MutableMapping[int, Pull] = {}
        self.segments: Segments | None = None
        self._encoded: tuple[Array, Mask] | None = None  # the features of the arms

    @classmethod
    def of(cls, features: object, arms: object, names: Sequence[str], segments: object = None) -> Contexts:
        """From the arguments of a bandit."""
        if features is None:
            name = "segments" if arms is None else "arm_features"
            raise EvenhandError("needs a declaration of the features, features=Features(…)", name)
        declared = declared_by(features)
        contexts = cls(declared, checked(declared, {} if arms is None else arms, Arms(tuple(names))))
        contexts.segments = None if segments is None else Segments(segments, declared, len(names))
        return contexts

    def observation(self, situation: Any, arms: Any, able: Available, names: Sequence[str]) -> Seen:
        """What is known before a decision, and what was noted of the values.

        The features of arms that cannot play need not be known, and are 0.
        """
        given: Any = {} if arms is None else arms
        listed = list(names) if able.mask is None else able.listed(names)
        known = None
        if isinstance(given, Mapping) and self.features.arms:
            known, given = self._known(given, able, names)
        own, rows, counts = self.features.observed_counted(situation, given, listed, known)
        if rows is not None and len(rows) < len(names):
            every = np.zeros((len(names), rows.shape[-1]))
            every[able.arms] = rows
            rows = every
        return Observation(able.mask, own, rows), tuple(counts.elements()) if counts else ()

    def _known(
        self, given: Mapping[str, object], able: Available, names: Sequence[str]
    ) -> tuple[Array, dict[str, Any]]:
        """What is encoded already of the arms that can play, and the features of those of which it is not, or other."""
        if self._encoded is None:
            self._encoded = self.features.arm_rows(self.arms)
        rows, complete = self._encoded
        fresh = np.flatnonzero(able.arms & ~complete).tolist()
        table: dict[str, Any] = {}
        if given:
            place = {name: at for at, name in enumerate(names)}
            fresh += [place[name] for name in given if name in place and able.arms[place[name]]]
            table = {name: one for name, one in given.items() if name not in place}  # faults, which are listed
        for at in sorted(set(fresh)):
            one = given.get(names[at], {})
            table[names[at]] = {**self.arms[at], **one} if isinstance(one, Mapping) else one
        return rows if able.mask is None else rows[able.arms], table

    def check_arm(self, values: Any, active: Iterable[int], remedy: str) -> None:
        """Refuse features of a new arm that are not as declared, and that lack what all active ones have.

        Decisions that leave those out would fail from then on.
        """
        faults = faults_of(self.features, values, "features")
        if not faults:
            elsewhere = {name for place in active for name in lacking(self.features, self.arms[place])}
            faults = [
                EvenhandError(f"is missing, and every other arm has it: {remedy}", "features", name)
                for name in lacking(self.features, values)
                if name not in elsewhere
            ]
        if faults:
            raise EvenhandError.together(faults)

    def add_arm(self, values: Mapping[str, object]) -> None:
        """A new arm has these features."""
        self.arms.append(dict(values))
        self._encoded = None

    def erase_arm(self, place: int) -> None:
        """The features of an arm are forgotten."""
        self.arms[place], self._encoded = {}, None

    def pull(self, observation: Observation, places: Sequence[int], noted: Notes = ()) -> Pull:
        """The features of a decision in which these arms play."""
        assert observation.situation is not None
        own, arms = observation.situation, observation.arms
        values = own.copy() if arms is None else np.concatenate([own, arms[list(places)].ravel()])
        return Pull(len(self.history), values, noted)

    def decided(self, round: int, pull: Pull, places: Sequence[int], available: Available, kept: bool) -> None:
        """Count what was noted of a decision, and its round; keep its features where its rewards need them."""
        if self.segments is not None:
            self.segments.decided(self.segments.of(pull.values), places, available)
            kept = True
        if pull.noted:
            self.counts.update(pull.noted)
        if kept:
            self.pulls[round] = pull

    def observed(self, pull: Pull, places: Sequence[int], arms: int) -> tuple[Array, Array | None]:
        """The features of a decision as the policy sees them, of the arms that played; those of the others are 0."""
        own, rows = self.split(pull, len(places))
        if not self.features.widths[1]:
            return own, None
        every = np.zeros((arms, rows.shape[-1]))
        every[list(places)] = rows
        return own, every

    def split(self, pull: Pull, plays: int) -> tuple[Array, Array]:
        """(d,) and (m, d_arm), in the columns that are declared now."""
        widths = self._widths(pull)
        if pull.values.shape != (widths[0] + plays * widths[1],):
            raise StateError(f"the features of a decision have {pull.values.size} columns, not those that are declared")
        own, rows = pull.values[: widths[0]], pull.values[widths[0] :].reshape(plays, widths[1])
        for step in self.history[pull.version :]:
            own, rows = step.of(own, rows)
        return own, rows

    def _widths(self, pull: Pull) -> tuple[int, int]:
        """The columns of the situation and of every arm when a decision was made."""
        return self.history[pull.version].widths if pull.version < len(self.history) else self.features.widths

    def of_rewards(self, pulls: Iterable[tuple[int, int, int]]) -> tuple[Array, Array | None]:
        """(n, d) and (n, d_arm), the features of rewards: of each the round, the place of its arm among those that
        played, and how many played.
        """
        parts = [(self.split(self.pulls[round], plays), at) for round, at, plays in pulls]
        own = np.array([part[0] for part, _ in parts]).reshape(len(parts), self.features.widths[0])
        arms = np.array([part[1][at] for part, at in parts]).reshape(len(parts), self.features.widths[1])
        return own, arms if self.features.widths[1] else None

    def count_reward(self, round: int, place: int, reward: float) -> None:
        """Count a reward that is known, in the user's unit, in the segment of its round."""
        pull = self.pulls[round]
        widths = self._widths(pull)
        played = (len(pull.values) - widths[0]) // widths[1] if widths[1] else 0
        if self.segments is not None:
            self.segments.learn(self.segments.of(self.split(pull, played)[0]), place, reward)

    def doubts(self, rounds: int) -> list[str]:
        """Features that were often not as they are declared, each in a sentence without the full stop."""
        return [
            f"{name} {NOTED[note]} {number_of(times, 'time')} in {number_of(rounds, 'round')}: declare it anew if that "
            "is not meant"
            for (name, note), times in sorted(self.counts.items())
            if times > OFTEN * rounds
        ]

    def forget(self, rounds: Iterable[int]) -> None:
        """Forget the features of decisions of which no reward can arrive any more."""
        for round in rounds:
            self.pulls.pop(round, None)

    def redeclared(self, features: object, given: Mapping[str, object] | None, arms: Arms) -> Contexts | None:
        """The same with another declaration, and values of the features of arms; None where nothing is another."""
        declared = declared_by(features)
        old = dict(zip(arms.names, self.arms, strict=True))
        kept = {arm: {name: one for name, one in old[arm].items() if name in declared.arms} for arm in old}
        contexts = Contexts(declared, checked(declared, kept if given is None else given, arms))
        if declared == self.features and contexts.arms == self.arms:
            return None
        contexts.history = [*self.history, self.moved_to(declared)]
        contexts.counts, contexts.pulls = self.counts, self.pulls
        contexts.segments = None if self.segments is None else self.segments.moved_to(declared)
        return contexts

    def moved_to(self, features: Features) -> Moved:
        """Where the columns of another declaration stand in this one, if they are encoded as before."""
        old, new = self.features.meanings(), features.meanings()
        before, after = self.features.widths[0], features.widths[0]
        place = {key: at for at, key in enumerate(old)}
        at = np.array([place.get(key, NEW) for key in new], dtype=np.intp)
        own, arms = at[:after], at[after:]
        return Moved(
            self.features.widths, np.where(own < before, own, NEW), np.where(arms >= before, arms - before, NEW)
        )

    def settings(self, names: Sequence[str]) -> dict[str, Any]:
        """The arguments of a bandit that describe them."""
        given = {name: one for name, one in zip(names, self.arms, strict=True) if one}
        segments = {} if self.segments is None else {"segments": self.segments.plain}
        return {"features": self.features.to_json(), **({"arm_features": given} if given else {}), **segments}

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Plain JSON values."""
        kept = {"pulls": _dumped(self.pulls)} if type(self.pulls) is dict else {}
        return {
            "features": self.features.to_json(),
            "arms": self.arms,
            "history": [[list(one.widths), one.situation.tolist(), one.arms.tolist()] for one in self.history],
            "counts": sorted([*key, number] for key, number in self.counts.items()),
            **({} if self.segments is None else {"segments": self.segments.dump()}),
            **kept,
        }

    @classmethod
    def restored(cls, described: Mapping[str, Any], arms: int) -> Contexts:
        """What `dump` described, of a bandit with so many arms."""
        contexts = cls(declared_by(described["features"]), described["arms"])
        if len(contexts.arms) != arms:
            raise StateError(f"the saved features are damaged: they are of {len(contexts.arms)} arms, not of {arms}")
        for (d, d_arm), own, each in described["history"]:
            moves = np.array(own, dtype=np.intp), np.array(each, dtype=np.intp)
            contexts.history.append(Moved((int(d), int(d_arm)), *moves))
        contexts.counts.update({(name, note): validate.whole("a count", n) for name, note, n in described["counts"]})
        if "segments" in described:
            contexts.segments = Segments.restored(described["segments"], contexts.features, arms)
        contexts.pulls = _restored(described["pulls"]) if "pulls" in described else Elsewhere()
        return contexts


def checked(features: Features, given: object, arms: Arms) -> list[dict[str, Any]]:
    """The values of features that arms have, in the order of the arms."""
    if not isinstance(given, Mapping):
        raise EvenhandError(f"must be a table of features by arm, got {shown(given)}", "arm_features")
    faults: list[EvenhandError] = []
    for arm, values in given.items():
        arms.check(arm)
        faults += faults_of(features, values, "arm_features", arm)
    if faults:
        raise EvenhandError.together(faults)
    return [dict(given.get(name, {})) for name in arms.names]


def faults_of(features: Features, values: object, *path: str) -> list[EvenhandError]:
    """What is wrong with the features of an arm, of which some may be missing: each decision can add them."""
    if not isinstance(values, Mapping):
        return [EvenhandError(f"must be a table of features by name, got {values!r}", *path)]
    found = []
    for name, value in values.items():
        if name not in features.arms:
            known = f"; there are {', '.join(features.arms)}" if features.arms else ", and none is declared for arms"
            found.append(EvenhandError(f"there is no such feature{known}", *path, str(name)))
            continue
        feature = features.arms[name]
        try:
            feature.put(value, np.zeros(len(feature.labels(name))), 0)
        except EvenhandError as error:
            found.append(error.at(*path, name))
    return found


def lacking(features: Features, values: Mapping[str, object]) -> list[str]:
    """Features that each decision has to give for an arm with these values: the declaration has none for a blank."""
    found = []
    for name, feature in features.arms.items():
        if values.get(name) is None:
            try:
                feature.put(None, np.zeros(len(feature.labels(name))), 0)
            except EvenhandError:
                found.append(name)
    return found


def declared_by(features: object) -> Features:
    """A declaration as it is given, as an object or in its plain form."""
    try:
        declared = as_features(features)
    except EvenhandError as error:
        raise error.at("features") from None
    assert declared is not None
    return declared


def _dumped(pulls: Mapping[int, Pull]) -> dict[str, Any]:
    """The features of pulls as plain JSON values: all numbers as one text, exactly and shortly."""
    values = np.concatenate([one.values for one in pulls.values()] or [np.zeros(0)]).astype("<f8")
    return {
        "rounds": list(pulls),
        "versions": [one.version for one in pulls.values()],
        "widths": [len(one.values) for one in pulls.values()],
        "values": base64.b64encode(values.tobytes()).decode(),
    }


def _restored(described: Mapping[str, Any]) -> dict[int, Pull]:
    """The features of pulls that `_dumped` described."""
    values = np.frombuffer(base64.b64decode(described["values"], validate=True), dtype="<f8").astype(float)
    widths = [validate.whole("a width", one, low=0) for one in described["widths"]]
    if sum(widths) != len(values) or not np.isfinite(values).all():
        raise StateError("the saved features are damaged: they are not as many numbers as they say")
    parts = np.split(values, np.cumsum(widths)[:-1]) if widths else []
    rows = zip(described["rounds"], described["versions"], parts, strict=True)
    return {int(round): Pull(int(version), part) for round, version, part in rows}
