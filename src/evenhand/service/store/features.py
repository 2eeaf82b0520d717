"""The features of decisions, which may be personal: they stand in a table of their own, and events have seals of them.

The seal of a decision is a hash of its features with a salt that stands beside them: a hash alone would be found by
trying all ages and countries. When features are erased, their salt goes with them, and the seal says nothing any more.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from secrets import token_hex
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import orjson
from sqlalchemy import Connection, select

from evenhand.bandit.contexts import Contexts, Pull
from evenhand.bandit.saved import DAMAGE
from evenhand.core.errors import StateError
from evenhand.service.json import encode
from evenhand.service.store import tables
from evenhand.service.store.database import Chosen, delete_rows, insert_rows

CHUNK = 500  # rows per statement
_OF = tables.features.c
_SOME = Chosen(select(_OF.round, _OF.salt, _OF.body), _OF.allocation, _OF.round)


class Sealed(NamedTuple):
    """The features of a decision as they are stored."""

    salt: str
    body: str

    @classmethod
    def of(cls, pull: Pull, contexts: Contexts, features: Any, arms: Any) -> Sealed:
        """The features of a decision, encoded and as they were given, with a salt of their own."""
        if wide := vectors(contexts):  # which are encoded as they are, and stand in it once
            features = {name: value for name, value in features.items() if name not in wide}
        values = base64.b64encode(pull.values.astype("<f8").tobytes()).decode()
        return cls(token_hex(16), encode([pull.version, values, pull.noted, features, arms]).decode())

    @property
    def seal(self) -> str:
        """``HMAC-SHA256(salt, features)``, which stands in the event of the decision."""
        return hmac.new(bytes.fromhex(self.salt), self.body.encode(), hashlib.sha256).hexdigest()

    def pull(self) -> Pull:
        """The features."""
        try:
            version, values, noted, *_ = orjson.loads(self.body)
            numbers = np.frombuffer(base64.b64decode(values), dtype="<f8").astype(float)
            return Pull(version, numbers, tuple((name, what) for name, what in noted))
        except DAMAGE as error:
            raise StateError(f"the features of a decision are damaged: {error!r}") from None

    def given(self, contexts: Contexts) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """The features of the situation and of arms, as they were given; no vectors of an earlier declaration."""
        features, arms = json.loads(self.body)[-2:]
        pull, vectors_of = self.pull(), contexts.features.places
        if pull.version == len(contexts.history):
            features = (features or {}) | {name: pull.values[vectors_of(name)].tolist() for name in vectors(contexts)}
        return features or {}, arms or {}

    def checked(self, seal: str, round: int) -> Pull:
        """The features, if they are those that an event has the seal of."""
        self.check(seal, round)
        return self.pull()

    def check(self, seal: str, round: int) -> None:
        """Refuse features that are not those that an event has the seal of."""
        try:
            if hmac.compare_digest(self.seal, seal):
                return
        except ValueError:
            pass
        raise StateError(f"the features of decision {round} were edited")


def vectors(contexts: Contexts) -> list[str]:
    """The features of the situation that are vectors."""
    return [name for name, one in contexts.features.situation.items() if one.many_columns]


def write(connection: Connection, id: int, rows: Mapping[int, Sealed]) -> None:
    """Write the features of decisions of an allocation, by round."""
    made = [{"allocation": id, "round": round, **one._asdict()} for round, one in rows.items()]
    if made:
        insert_rows(connection, tables.features, made)


def find(connection: Connection, id: int, rounds: Iterable[int]) -> dict[int, Sealed]:
    """The features of some decisions of an allocation that are still there, by round."""
    rows = _SOME.rows(connection, [(id, round) for round in rounds])
    return {round: Sealed(salt, body) for round, salt, body in rows}


def erase(connection: Connection, id: int, until: int, waiting: Iterable[int]) -> None:
    """Erase the features of decisions up to a round, but for those that wait for rewards."""
    there = connection.execute(select(_OF.round).where(_OF.allocation == id, _OF.round <= until)).scalars()
    rounds = sorted(set(there) - set(waiting))
    for start in range(0, len(rounds), CHUNK):
        delete_rows(connection, tables.features, id, _OF.round.in_(rounds[start : start + CHUNK]))


def beside(connection: Connection, id: int, rows: Sequence[Any]) -> Sequence[Any]:
    """Rows of events, each with the features of the decisions that it is about, where the allocation has any."""
    if not rows or connection.execute(select(_OF.round).where(_OF.allocation == id).limit(1)).first() is None:
        return rows
    about = [_rounds(row) for row in rows]
    found = find(connection, id, {round for rounds in about for round in rounds})
    return [
        SimpleNamespace(**row._mapping, features={round: found[round] for round in rounds if round in found})
        for row, rounds in zip(rows, about, strict=True)
    ]


def _rounds(row: Any) -> list[int]:
    """The rounds whose features a policy may need to take over what an event says."""
    if row.kind in ("decide", "reward"):
        return [row.round]
    if row.kind != "expire":
        return []
    try:
        return [int(id) for id in json.loads(row.body)["closed"]]
    except DAMAGE:  # it is refused when it is read
        return []


def seals_in(event: Any) -> dict[int, str]:
    """The seals that an event has, by round."""
    found = event.body.get("features") if event.kind in ("decide", "state") else None
    if found is None:
        return {}
    return {event.round: found} if event.kind == "decide" else {int(round): seal for round, seal in found.items()}


def faults(connection: Connection, id: int, sealed: Mapping[int, str]) -> Iterator[str]:
    """What is wrong with the stored features of an allocation whose events have these seals."""
    rounds = connection.execute(select(_OF.round).where(_OF.allocation == id).order_by(_OF.round)).scalars().all()
    for start in range(0, len(rounds), CHUNK):
        for round, one in find(connection, id, rounds[start : start + CHUNK]).items():
            if round not in sealed:
                yield f"there are features of decision {round}, but no event has a seal of them"
                continue
            try:
                one.check(sealed[round], round)
            except StateError as error:
                yield str(error)
    for round in sorted(sealed.keys() - set(rounds)):
        yield f"the features of decision {round} are missing"
