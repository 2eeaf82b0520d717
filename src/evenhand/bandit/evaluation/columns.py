"""How the columns of a log are read: their usual names, what a user said once, and the file that keeps it."""

from __future__ import annotations

import difflib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from evenhand.core import validate
from evenhand.core.errors import DataError, EvenhandError, nearest, shown
from evenhand.core.files import write_text
from evenhand.core.parts import plain
from evenhand.features.declaration import Features, as_features
from evenhand.features.kinds import Feature

#: The usual names of each column, in any case. The first is the role's own; of the others a log may have one only.
COLUMNS = {
    "timestamp": ("timestamp", "decided", "decided_at", "time", "datetime", "date"),
    "rewarded": ("rewarded", "rewarded_at", "reward_time", "converted_at"),
    "decision_id": ("decision_id",),
    "item_id": ("item_id", "item", "arm", "action", "product", "variant"),
    "position": ("position",),
    "reward": ("reward", "click", "clicked", "converted", "conversion", "revenue", "amount", "rating"),
    "propensity_score": ("propensity_score", "propensity", "pscore", "action_prob", "probability"),
    "available": ("available",),
}
MAY_BE_ONE = {"timestamp", "decision_id"}  # the plays of a decision often share a time
NEEDED = ("timestamp", "item_id", "reward")
AFTER = {"item_id", "reward", "rewarded", "propensity_score"}  # known after the decision only
MEANINGS = ("never", "lost", "zero")  # of a missing reward, as in a bandit


@dataclass(frozen=True)
class Reading:
    """How a log is read; what is not said here is asked for, or is as usual."""

    columns: Mapping[str, str] = field(default_factory=dict)  # the name of a column by its role, where it is another
    window: float | None = None  # time after a decision in which its reward counts, as in the file; dates: seconds
    missing: str | None = None  # what a blank means after it: ``"zero"`` or ``"lost"``; or ``"never"`` without a window
    rewards: tuple[float, float] | None = None  # the smallest and the largest reward that can occur
    unit: str = ""  # of the rewards, such as ``"€"``
    rounds: str = "decision"  # or ``"row"``, where every row is a round
    features: Features | None = None  # columns that are features; those of an arm may stand with the available ones

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", as_features(self.features))
        if not isinstance(self.columns, Mapping):
            right = "must be a table of names by column, such as reward = 'bought'"
            raise EvenhandError(f"{right}, got {shown(self.columns)}", "columns")
        for name in self.declared:
            if name in COLUMNS:
                remedy = f"call the feature otherwise, with the name of its column in columns={ {'my_' + name: name} }"
                raise EvenhandError(f"is a column of every log, and no feature: {remedy}", "features", name)
        if not isinstance(self.unit, str):
            raise EvenhandError(f"must be a string, such as '€', got {shown(self.unit)}", "unit")
        if self.missing is not None:
            validate.one_of("missing", self.missing, MEANINGS)
        validate.one_of("rounds", self.rounds, ("decision", "row"))
        if self.window is not None:
            validate.number("window", self.window, 0.0, math.inf)
            if self.missing == "never":
                raise EvenhandError("missing='never' is without a window; with one, say missing='zero' or 'lost'")
        for role, name in self.columns.items():
            if role not in COLUMNS and role not in self.declared:
                turned = f"; the name in the log comes second: columns={ {name: role} }"
                raise EvenhandError(f"unknown column {role!r}{turned if name in COLUMNS else _own_name(role)}")
            if not isinstance(name, str):
                raise EvenhandError(f"must be the name of a column in the log, got {shown(name)}", "columns", role)
        for role, other in combinations(self.columns, 2):
            if self.columns[role] == self.columns[other] and {role, other} != MAY_BE_ONE:
                both = f"the columns {role!r} and {other!r} are both {self.columns[role]!r}"
                raise EvenhandError(f"{both}; each needs its own")
        if self.rewards is not None and not _is_range(self.rewards):
            right = "must be the smallest and the largest reward, such as 0, 80"
            raise EvenhandError(f"{right}, got {shown(self.rewards)}", "rewards")

    @property
    def declared(self) -> dict[str, Feature]:
        """The features of the situation and of the arms, by name."""
        return {} if self.features is None else {**self.features.situation, **self.features.arms}

    def with_(self, **said: Any) -> Reading:
        """The same with what is said now; None says nothing."""
        given = {name: value for name, value in said.items() if value is not None}
        if "missing" in given and "window" not in given:
            given["window"] = None if given["missing"] == "never" else self.window
        if "columns" in given:
            given["columns"] = {**self.columns, **given["columns"]}
        return replace(self, **given)

    def names(self, known: Sequence[str], source: str) -> dict[str, str]:
        """The name of every column that exists, by its role."""
        names, lacking = {}, {}
        own_names: dict[str, tuple[str, ...]] = {name: (name,) for name in self.declared}
        needed = {*NEEDED, *(self.features.situation if self.features else ())}
        for role, usual in {**COLUMNS, **own_names}.items():
            wanted = (self.columns[role],) if role in self.columns else usual
            existing = [name for name in known if name in wanted or (len(wanted) > 1 and name.lower() in wanted)]
            own = [name for name in existing if name == wanted[0]] or existing
            if len(set(own)) > 1:
                choice = f"columns={ {role: own[0]} }"
                raise DataError(f"{source} has {', '.join(map(repr, own))}: which is the {role}? Say so with {choice}")
            if len(own) > 1:
                raise DataError(f"{source} has several columns {own[0]!r}")
            if own:
                names[role] = own[0]
            elif role in needed or role in self.columns:
                lacking[role] = wanted[0]
        situation = self.features.situation if self.features else {}
        for role in AFTER & names.keys():
            for name in situation if role == "item_id" else self.declared:
                if names.get(name) == names[role]:
                    fault = f"column {names[role]!r} is the {role}, which is not known before the decision"
                    raise DataError(f"{source}: {fault}, and no feature")
        if lacking:
            raise _lacking(lacking, [name for name in known if name not in names.values()], source)
        return names

    def toml(self) -> str:
        """What was said, in TOML."""
        said = {"window": self.window, "missing": self.missing, "rewards": self.rewards and list(self.rewards)}
        said |= {"unit": self.unit or None, "rounds": self.rounds if self.rounds != "decision" else None}
        lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in said.items() if value]
        rows = [f"{role} = {json.dumps(name, ensure_ascii=False)}" for role, name in self.columns.items()]
        declared = [] if self.features is None else ["", *_tables(plain(self.features))]
        return "\n".join([*lines, *(["", "[columns]", *rows] if rows else []), *declared, ""])


def _tables(features: dict[str, Any]) -> list[str]:
    """A declaration of features in TOML, a line for each feature."""
    value = partial(json.dumps, ensure_ascii=False)
    lines = ["[features]", f"crosses = {value(features['crosses'])}", f"intercept = {value(features['intercept'])}"]
    for block in ("situation", "arms"):
        rows = {
            name: ", ".join(f"{key} = {value(one)}" for key, one in feature.items() if one is not None)
            for name, feature in features[block].items()
        }
        lines += ["", f"[features.{block}]", *(f"{value(name)} = {{ {row} }}" for name, row in rows.items())] * bool(
            rows
        )
    return lines


def kept_at(log: Path) -> Path:
    """The file beside a log that says how it is read."""
    return log.with_suffix(".columns.toml")


def kept_with(log: Path) -> Reading:
    """What was said of a log before; nothing where there is no such file."""
    path = kept_at(log)
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        known = [one.name for one in fields(Reading)]
        for key in table:
            if key not in known:
                raise EvenhandError(f"unknown key {key!r}{nearest(key, known)}")
        columns = table.get("columns")
        for key, name in columns.items() if isinstance(columns, dict) else ():
            if key not in COLUMNS and "features" not in table:
                meant = f"; did you mean {name} = {key!r}?" if str(name) in COLUMNS else _own_name(key)
                raise EvenhandError(f"unknown column {key!r} in [columns]{meant}")
        found = Reading(**table)
        return found if found.rewards is None else replace(found, rewards=(found.rewards[0], found.rewards[1]))
    except FileNotFoundError:
        return Reading()
    except (OSError, ValueError) as error:  # also what `Reading` refuses
        raise DataError(f"{path} does not say how {log} is read: {error} (or remove the file)") from None


def keep(log: Path, reading: Reading) -> None:
    """Write down how a log is read, where that is new and its folder can be written to."""
    try:
        if reading == kept_with(log):
            return
        write_text(kept_at(log), f"# How {log.name} is read.\n{reading.toml()}")
    except OSError:
        return  # what was said holds for this time


def _own_name(role: str) -> str:
    """A hint at the role's own name, for another usual one or one that is misspelt."""
    meant = [own for own, usual in COLUMNS.items() if role in usual]
    return f"; did you mean {meant[0]!r}?" if meant else nearest(role, COLUMNS)


def _is_range(rewards: object) -> bool:
    """Whether these are two numbers in rising order."""
    if not isinstance(rewards, Sequence) or len(rewards) != 2:
        return False
    low, high = (validate.number("rewards", value) for value in rewards)
    return low < high


def _lacking(lacking: Mapping[str, str], free: Sequence[str], source: str) -> DataError:
    """The error that columns are missing, and which others may be meant."""
    meant = {role: _meant(name, free) for role, name in lacking.items()}
    missing, others = ", ".join(map(repr, lacking.values())), ", ".join(map(repr, free[:20])) or "no other"
    return DataError(f"{source} has no column {missing}, but {others}; name what is missing with columns={meant}")


def _meant(usual: str, known: Sequence[str]) -> str:
    """The name among the known ones that is probably for a usual one; "…" where none suggests itself."""
    begins = [name for name in known if usual.startswith(name.lower())]
    return [*begins, *difflib.get_close_matches(usual, known, cutoff=0.5), "…"][0]
