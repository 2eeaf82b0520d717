"""The declaration of features: which there are, of the situation and of the arms, and which are crossed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core import validate
from evenhand.core.errors import EvenhandError, nearest, shown
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import Part, build, part, plain
from evenhand.core.state import Array, Mask
from evenhand.features.encoding import Block, Counts, Crosses, columns_of, refuse
from evenhand.features.kinds import LARGEST, Feature

if TYPE_CHECKING:
    import pandas as pd

INTERCEPT = "intercept"


def _features(table: Any) -> dict[str, Feature]:
    """Features by name, from their plain forms too."""
    if not isinstance(table, Mapping):
        raise EvenhandError(f"must be a table of features by name, got {shown(table)}")
    features, faults = {}, []
    for name, one in table.items():
        if not isinstance(name, str) or not name.strip():
            faults.append(EvenhandError(f"must have text as names, got {shown(name)}"))
            continue
        try:
            features[name] = build("feature", one)
            validate.part("", features[name], Feature, "Number(0, 100)")
        except EvenhandError as error:
            faults.append(error.at(name))
    if faults:
        raise EvenhandError.together(faults)
    return features


def _pairs(crosses: Any) -> tuple[tuple[str, str], ...]:
    """Pairs of names."""
    if isinstance(crosses, str) or not isinstance(crosses, Iterable):
        raise EvenhandError(f'must be a list of pairs such as ("country", "price"), got {shown(crosses)}')
    pairs = []
    for place, pair in enumerate(crosses):
        if not isinstance(pair, list | tuple) or len(pair) != 2 or not all(isinstance(one, str) for one in pair):
            raise EvenhandError(f'must be two names such as ("country", "price"), got {shown(pair)}', place)
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


@part("features", "features")
@frozen
class Features(Part):
    """What is known before a decision, of the situation and of each arm, and how it becomes numbers.

    The numbers of the situation are an intercept, its features in their order, and products of two of them that are
    crossed; those of an arm are its features and the products with one of them.

    Args:
        situation: features by name, or their plain forms.
        arms: features that differ from arm to arm, by name.
        crosses: pairs of names; every column of one feature times every column of the other.
        intercept: whether a column is always 1.

    Raises:
        EvenhandError: there is no column or more than 10,000, a name is twice among situation and arms, or a cross
            names an unknown feature, one feature twice or a pair again.

    Example:
        >>> from evenhand.features import Category, Number
        >>> features = Features(
        ...     situation={"country": Category(["DE", "FR"], unknown="error"), "age": Number(0, 100)},
        ...     arms={"price": Number(0, 50)}, crosses=[("country", "price")],
        ... )
        >>> features.columns
        ('intercept', 'country=DE', 'country=FR', 'age', 'price', 'country=DE:price', 'country=FR:price')
        >>> situation, arms = features.observed({"country": "FR", "age": 25}, {"tea": {"price": 5}}, ["tea"])
        >>> situation, arms
        (array([1.  , 0.  , 1.  , 0.25]), array([[0.1, 0. , 0.1]]))
        >>> features.observed({"country": "IT", "agee": 25}, {"tea": {"price": "5"}}, ["tea"])
        Traceback (most recent call last):
        ...
        evenhand.core.errors.EvenhandError: features.country must be 'DE' or 'FR', got 'IT'
        features.age is missing
        features.agee: there is no such feature; did you mean 'age'?
        arms.tea.price must be a number, got '5'
    """

    situation: dict[str, Feature] = field(factory=dict, converter=_features)
    arms: dict[str, Feature] = field(factory=dict, converter=_features)
    crosses: tuple[tuple[str, str], ...] = field(default=(), converter=_pairs)
    intercept: bool = field(default=True, converter=validate.truth)
    _situation: Block = field(init=False, eq=False, repr=False)
    _arm: Block = field(init=False, eq=False, repr=False)
    _crossed: Crosses = field(init=False, eq=False, repr=False)
    columns: tuple[str, ...] = field(init=False, eq=False, repr=False)  # names, the situation's first
    widths: tuple[int, int] = field(init=False, eq=False, repr=False)  # d and d_arm, columns of each
    version: str = field(init=False, eq=False, repr=False)  # a digest of the plain form

    def __attrs_post_init__(self) -> None:
        """Check that the features fit together, and note where each column stands."""
        self._check_names()
        intercept = (INTERCEPT,) * self.intercept
        own, arm = Block(self.situation, intercept), Block(self.arms)
        crosses = Crosses(own, arm, self.crosses)
        columns = own.columns + crosses.situation + arm.columns + crosses.arm
        twice = [name for name, times in Counter(columns).items() if times > 1]
        if twice:
            raise EvenhandError(f"two columns are called {twice[0]!r}: rename a feature or a level")
        if not 1 <= len(columns) <= LARGEST:
            raise EvenhandError(f"features must have 1 to {LARGEST:,} columns, these have {len(columns):,}")
        widths = len(own.columns + crosses.situation), len(arm.columns + crosses.arm)
        text = json.dumps(plain(self), sort_keys=True, ensure_ascii=False)
        version = hashlib.sha256(text.encode()).hexdigest()[:16]
        derived = {"_situation": own, "_arm": arm, "_crossed": crosses, "columns": columns, "widths": widths}
        for name, value in {**derived, "version": version}.items():
            object.__setattr__(self, name, value)

    def _check_names(self) -> None:
        """Complain about names that are twice, and about crosses of features that do not exist."""
        known = {**self.situation, **self.arms}
        faults = [
            EvenhandError("is also a feature of the situation: call one of them otherwise", "arms", name)
            for name in self.arms
            if name in self.situation
        ]
        pairs: set[frozenset[str]] = set()
        for place, pair in enumerate(self.crosses):
            unknown = [name for name in pair if name not in known]
            fault = ""
            if unknown:
                fault = f"there is no feature {unknown[0]!r}{nearest(unknown[0], known)}"
            elif pair[0] == pair[1]:
                fault = f"must be two features, got {pair[0]!r} twice; give its square as a feature of its own"
            elif frozenset(pair) in pairs:
                fault = f"is the pair {pair} again"
            if fault:
                faults.append(EvenhandError(fault, "crosses", place))
            pairs.add(frozenset(pair))
        if faults:
            raise EvenhandError.together(faults)

    def to_json(self) -> dict[str, Any]:
        """Its plain form, from which it can be made again.

        Returns:
            The table.
        """
        table: dict[str, Any] = plain(self)
        return table

    def meanings(self) -> tuple[str, ...]:
        """How each column is encoded: where two declarations have an equal one, their numbers mean the same.

        Returns:
            A text per column, in the order of ``columns``.
        """
        own, arm, crossed = self._situation.meanings(), self._arm.meanings(), self._crossed

        def products(places: Any, one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
            return () if places is None else tuple(f"{one[i]} times {other[j]}" for i, j in zip(*places, strict=True))

        situation = own + products(crossed.own_own, own, own)
        return situation + arm + products(crossed.own_arm, own, arm) + products(crossed.arm_arm, arm, arm)

    def places(self, name: str) -> range:
        """The columns of a feature of the situation.

        Args:
            name: of the feature.
        """
        return self._situation.places(name)

    @classmethod
    def of(cls, frame: pd.DataFrame, *, arms: Sequence[str] = (), levels: int = 100) -> Features:
        """A declaration of the columns of a table, as they are in it; see `evenhand.features.learning.declared`.

        Args:
            frame: one row per decision, only with columns that are features.
            arms: names of the columns that are features of the arms.
            levels: the most different names in a column of names; a column of people's names or addresses would stand
                in records that cannot be erased.

        Returns:
            Numbers from the smallest to the largest (0 and 1 alone, and true and false: a flag), with the median for
            missing ones where there are any; names with their levels in order; vectors.

        Raises:
            EvenhandError: a column has more levels, the same value everywhere, the same values as another, or others
                than numbers, names, flags and lists of numbers; every fault has a line.

        Example:
            >>> import pandas as pd
            >>> frame = pd.DataFrame({"age": [20, 60, None], "country": ["FR", "DE", "FR"]})
            >>> Features.of(frame).situation["age"], Features.of(frame).situation["country"]
            (Number(low=20.0, high=60.0, missing=40.0), Category(levels=('DE', 'FR'), unknown='other'))
        """
        from evenhand.features.learning import declared

        own, arm = declared(frame, arms, levels)
        return cls(own, arm)

    def encode(self, rows: Any, counts: Counts | None = None) -> Array:
        """The numbers of many rows, each with the features of the situation and of one arm.

        Args:
            rows: a table of pandas, whose blanks are missing values and whose other columns are not read; a list of
                dictionaries; or an array (rows, features), where a vector has as many columns as numbers.
            counts: a `collections.Counter`, in which is counted how often values of a feature were ``"cut"``,
                ``"unknown"`` or ``"missing"``.

        Returns:
            (rows, columns), in the order of ``columns``.

        Raises:
            EvenhandError: a value is wrong; the path is its row and the name of the feature. Of many, 100 are listed.

        Example:
            >>> from evenhand.features import Flag, Number
            >>> counts = Counter()
            >>> Features({"age": Number(0, 100), "new": Flag()}).encode(np.array([[25, 1], [400, 0]]), counts)
            array([[1.  , 0.25, 1.  ],
                   [1.  , 1.  , 0.  ]])
            >>> counts
            Counter({('age', 'cut'): 1})
        """
        number, values, faults = columns_of(rows, {**self.situation, **self.arms})
        noted: Counts = Counter() if counts is None else counts
        own, arm = (block.many(values, number, noted, faults) for block in (self._situation, self._arm))
        refuse(faults)
        return np.hstack([self._crossed.of_situation(own), self._crossed.of_arms(own, arm)])

    def situations(self, rows: Any) -> Array:
        """The numbers of many situations, for decisions in a batch.

        Args:
            rows: as for `encode`, with the features of the situation only.

        Returns:
            (rows, d).
        """
        number, values, faults = columns_of(rows, self.situation)
        own = self._situation.many(values, number, Counter(), faults)
        refuse(faults)
        return self._crossed.of_situation(own)

    def observed_many(
        self, situations: Any, arms: Any, names: Sequence[str], available: Mask | None = None
    ) -> tuple[Array, Array | None, Counts]:
        """The numbers of many decisions.

        Args:
            situations: as for `encode`, with the features of the situation only.
            arms: rows with the features of arms: of each arm, the same for all decisions; or of each decision those of
                its arms, one decision after the other.
            names: of the arms, in their order.
            available: (decisions, arms), the arms of which ``arms`` has rows, where these are of each decision; the
                numbers of the others are 0. None: all.

        Returns:
            (decisions, d); (decisions, arms, d_arm), or None where no feature is of the arms; and how often values
            of a feature were cut, unknown or missing.

        Raises:
            EvenhandError: a value is wrong; with paths as of `observed` behind the number of the decision.
        """
        number, values, wrong = columns_of(situations, self.situation)
        counts: Counts = Counter()
        base = self._situation.many(values, number, counts, wrong)
        faults = [(row, error.at("features")) for row, error in wrong]
        own, whole = self._crossed.of_situation(base), None
        if self.arms:
            rows, values, wrong = columns_of(arms, self.arms)
            every = np.ones((1 if rows == len(names) else number, len(names)), bool) if available is None else available
            if np.count_nonzero(every) != rows:
                raise EvenhandError(f"has {rows:,} rows for {np.count_nonzero(every):,} arms of decisions", "arms")
            whole = np.zeros((*every.shape, len(self._arm.columns)))
            whole[every] = self._arm.many(values, rows, counts, wrong)
            places = np.argwhere(every).tolist() if wrong else []
            faults += [(places[row][0], error.at("arms", names[places[row][1]])) for row, error in wrong]
        refuse(faults)
        if whole is None:
            return own, None, counts
        return (
            own,
            self._crossed.of_arms(base[:, np.newaxis], np.broadcast_to(whole, (number, *whole.shape[1:]))),
            counts,
        )

    def observed(
        self, situation: Mapping[str, Any] | None, arms: Mapping[str, Mapping[str, Any]] | None, names: Sequence[str]
    ) -> tuple[Array, Array | None]:
        """The numbers of one decision.

        Args:
            situation: value by feature.
            arms: the same for every arm, where arms have features.
            names: of the arms, in their order.

        Returns:
            (d,), and (arms, d_arm); None where no feature is of the arms.

        Raises:
            EvenhandError: a value is wrong or missing, or a name is unknown; all faults at once, with paths such as
                ``("features", "age")`` and ``("arms", "tea", "price")``.
        """
        own, arm, _ = self.observed_counted(situation, arms, names)
        return own, arm

    def observed_counted(
        self,
        situation: Mapping[str, Any] | None,
        arms: Mapping[str, Mapping[str, Any]] | None,
        names: Sequence[str],
        known: Array | None = None,
    ) -> tuple[Array, Array | None, Counts | None]:
        """As `observed`, with how often values were cut, unknown or missing.

        Args:
            situation: value by feature.
            arms: the same for every arm.
            names: of the arms.
            known: what `arm_rows` gave of these arms; only arms in ``arms`` are read again. None: all are read.

        Returns:
            What `observed` returns, and the counts, None where there are none.
        """
        faults: list[EvenhandError] = []
        notes: list[tuple[str, str]] = []
        base = self._situation.one(situation, ("features",), faults, notes)
        rows = known if known is not None and not arms else None
        if rows is None and (self.arms or arms):
            rows = self._arms(arms, names, faults, notes, known)
        if faults:
            raise EvenhandError.together(faults)
        own = self._crossed.of_situation(base)
        return own, None if rows is None else self._crossed.of_arms(base, rows), Counter(notes) if notes else None

    def _arms(
        self,
        arms: Mapping[str, Mapping[str, Any]] | None,
        names: Sequence[str],
        faults: list[EvenhandError],
        notes: list[tuple[str, str]],
        known: Array | None,
    ) -> Array | None:
        """The numbers of every arm's own features, (arms, …)."""
        arms = {} if arms is None else arms
        if not isinstance(arms, Mapping):
            faults.append(EvenhandError(f"must be a table of features by arm, got {shown(arms, 40)}", "arms"))
            return None
        place = {name: at for at, name in enumerate(names)}
        faults += [
            EvenhandError(f"there is no such arm{nearest(name, names)}", "arms", str(name))
            for name in arms
            if name not in place
        ]
        if not self.arms:
            faults += [
                EvenhandError("has features, but none is declared for arms: Features(arms={…})", "arms", name)
                for name in names
                if arms.get(name)
            ]
            return None
        if known is None:
            return np.array([self._arm.one(arms.get(name), ("arms", name), faults, notes) for name in names])
        rows = known.copy()
        for name in arms:
            if name in place:
                rows[place[name]] = self._arm.one(arms[name], ("arms", name), faults, notes)
        return rows

    def arm_rows(self, arms: Sequence[Mapping[str, Any]]) -> tuple[Array, Mask]:
        """The numbers of the own features of arms, before they are crossed, for many decisions.

        Args:
            arms: value by feature of each; values that are missing are given with the decisions.

        Returns:
            (arms, …), and whether nothing is missing of each, (arms,).
        """
        faults: list[list[EvenhandError]] = [[] for _ in arms]
        rows = [self._arm.one(values, (), found, []) for values, found in zip(arms, faults, strict=True)]
        return np.array(rows), np.array([not found for found in faults])


def as_features(value: object) -> Features | None:
    """The declaration that a caller gives, as it is or as a table of its arguments; None for none."""
    if value is None or isinstance(value, Features):
        return value
    found = build("features", {"kind": "features", **value} if isinstance(value, Mapping) else value)
    validate.part("", found, Features, 'Features({"age": Number(0, 100)})')
    return found  # type: ignore[no-any-return]
