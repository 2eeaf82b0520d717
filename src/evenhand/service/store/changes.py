"""The commands that change the arms and the promises of an allocation, or close it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar

from evenhand.bandit import changes
from evenhand.bandit.arguments import with_numbers
from evenhand.bandit.changes import NEW_ARM
from evenhand.bandit.record import Record
from evenhand.bandit.replay import apply_change
from evenhand.core.errors import EvenhandError
from evenhand.messages.answers import ChangeResult
from evenhand.service.store import arms
from evenhand.service.store.commands import Command, CommandContext
from evenhand.service.store.errors import Conflict, TooMuchWork, UnknownArm
from evenhand.service.store.events import closed_after, encode

Values = Mapping[str, Any]


def _change(context: CommandContext, made: Iterable[tuple[str, Values]]) -> ChangeResult:
    """Make changes in order, and record each that changes anything; only the first of them may be refused.

    Args:
        context: of the command.
        made: names of `evenhand.bandit.replay.CHANGES`, each with its values.
    """
    allocation, bandit, changed = context.allocation, context.allocation.bandit, False
    round = int(bandit.state.round)
    for name, values in made:
        facts, version = json_values(values), bandit.version
        apply_change(bandit, name, facts, context.now)
        if bandit.version != version or name in ("close", "reopen"):
            allocation.closed, changed = closed_after(name, allocation.closed), True
            context.record("change", round, {**facts, "change": name})
    return ChangeResult(bandit.version, round, changed)


@dataclass(frozen=True)
class AddArm(Command[ChangeResult]):
    """Add an arm, unless it is there with the same promise.

    Args:
        arm: its name.
        values: its ``fraction``, ``penalty`` and ``weight``, as far as they are given.
        max_arms: of the allocation; None for no limit.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Store
        >>> from evenhand.service.store import AddArm
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.1}, seed=1)
        True
        >>> store.run("drinks", AddArm("mate", {"fraction": 0.2}))
        ChangeResult(version=1, round=0, changed=True)
        >>> store.run("drinks", AddArm("mate", {"fraction": 0.2}))
        ChangeResult(version=1, round=0, changed=False)
        >>> store.close()
    """

    kind: ClassVar[str] = "add_arm"
    answer: ClassVar[type] = ChangeResult
    arm: str
    values: Values = field(default_factory=dict)
    max_arms: int | None = None

    def run(self, context: CommandContext) -> ChangeResult:
        """Add it."""
        return _change(context, self.made(context))

    def made(self, context: CommandContext) -> list[tuple[str, Values]]:
        """The change that it makes, if any.

        Args:
            context: of the command.

        Returns:
            The kind of the change and its values; empty if the arm is there already.

        Raises:
            EvenhandError: there is such an arm with other values, or there are too many arms.
        """
        bandit = context.allocation.bandit
        if self.arm in bandit.arms.place:
            self._check_same(bandit)
            return []
        if self.max_arms is not None and len(bandit.names) >= self.max_arms:
            raise TooMuchWork(f"an allocation may have at most {self.max_arms:,} arms, got {len(bandit.names) + 1:,}")
        return [("add", {**self.values, "arm": self.arm})]

    def _check_same(self, bandit: Record) -> None:
        if self.arm in bandit.retired:
            raise Conflict(f"arm {self.arm!r} is there and retired; bring it back")
        for name, value in per_arm(bandit, self.arm).items():
            wanted = self.values.get(name, next(default for one, _, default in NEW_ARM if one == name))
            if wanted != value:
                raise Conflict(f"arm {self.arm!r} is there with {name} {value}, not {wanted}; change that instead")


@dataclass(frozen=True)
class UpdateArm(Command[ChangeResult]):
    """Retire an arm, bring it back, or change its promise.

    Args:
        arm: its name.
        retired: whether it is retired from now on; None for no change.
        fraction: its promised share of the rounds from now on; None for no change, and for none where it is brought
            back.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Store
        >>> from evenhand.service.store import UpdateArm
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> store.run("drinks", UpdateArm("tea", retired=True))
        ChangeResult(version=1, round=0, changed=True)
        >>> store.close()
    """

    kind: ClassVar[str] = "update_arm"
    answer: ClassVar[type] = ChangeResult
    arm: str
    retired: bool | None = None
    fraction: float | None = None

    def run(self, context: CommandContext) -> ChangeResult:
        """Change it."""
        return _change(context, self.made(context))

    def made(self, context: CommandContext) -> list[tuple[str, Values]]:
        """The change that it makes, if any.

        Args:
            context: of the command.

        Returns:
            The kind of the change and its values; empty if everything is so already.

        Raises:
            EvenhandError: there is no such arm, or it would be retired with a promise.
        """
        _check_known(context, self.arm)
        if self.retired and self.fraction is not None:
            raise EvenhandError("a retired arm has no promise: give either retired or a fraction")
        was, arm = self.arm in context.allocation.bandit.retired, {"arm": self.arm}
        if self.retired:
            return [] if was else [("retire", arm)]
        if self.retired is False and was:
            return [("bring_back", arm if self.fraction is None else arm | {"fraction": self.fraction})]
        return [] if self.fraction is None else [("promise", {"fractions": {self.arm: self.fraction}})]


@dataclass(frozen=True)
class RenameArm(Command[ChangeResult]):
    """Give an arm another name: in all of the database, and in the answers that repeated requests get.

    Args:
        arm: its name.
        name: its new name.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Decide, Store
        >>> from evenhand.service.store import RenameArm
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> store.run("drinks", RenameArm("tea", "green tea"))
        ChangeResult(version=1, round=0, changed=True)
        >>> store.run("drinks", Decide()).decisions[0].names
        ('green tea',)
        >>> store.close()
    """

    kind: ClassVar[str] = "rename_arm"
    answer: ClassVar[type] = ChangeResult
    arm: str
    name: str

    def run(self, context: CommandContext) -> ChangeResult:
        """Rename it."""
        self.made(context)
        return _rename(context, "rename", self.arm, self.name)

    def made(self, context: CommandContext) -> list[tuple[str, Values]]:
        """The change that it makes, which is not recorded with the names.

        Args:
            context: of the command.

        Returns:
            The kind of the change and its values.

        Raises:
            EvenhandError: there is no such arm, or there is one with the new name.
        """
        _check_known(context, self.arm)
        if self.name != self.arm and self.name in context.allocation.bandit.arms.place:
            raise Conflict(f"there is already an arm {self.name!r}")
        return [("rename", {"arm": self.arm, "name": self.name})]


@dataclass(frozen=True)
class EraseArm(Command[ChangeResult]):
    """Retire an arm and give it a neutral name, such as ``erased-3``, so that its own name is stored nowhere any more.

    What it played, and what the others were promised and got, stays as it is.

    Args:
        arm: its name.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Describe, Store
        >>> from evenhand.service.store import EraseArm
        >>> store = Store.open(tempfile.mkdtemp() + "/people.db")
        >>> store.create("people", ["Ann", "Ben", "Cem"], "ucb1", seed=1)
        True
        >>> store.run("people", EraseArm("Ben"))
        ChangeResult(version=2, round=0, changed=True)
        >>> answer = store.run("people", Describe())
        >>> answer.arms, answer.retired
        (('Ann', 'erased-2', 'Cem'), ('erased-2',))
        >>> store.close()
    """

    kind: ClassVar[str] = "erase_arm"
    answer: ClassVar[type] = ChangeResult
    purges: ClassVar[bool] = True
    arm: str

    def run(self, context: CommandContext) -> ChangeResult:
        """Erase its name."""
        _check_known(context, self.arm)
        bandit = context.allocation.bandit
        name = neutral = f"erased-{bandit.arms.place[self.arm] + 1}"
        number = 1
        while name in bandit.arms.place:
            name, number = f"{neutral}-{number}", number + 1
        if self.arm not in bandit.retired:
            try:
                _change(context, [("retire", {"arm": self.arm})])
            except EvenhandError as error:
                raise EvenhandError(f"{error}; give it a neutral name instead, which erases its own as well") from None
        return _rename(context, "erase", self.arm, name)


@dataclass(frozen=True)
class UpdateAllocation(Command[ChangeResult]):
    """Change promises of several arms, or close or reopen the allocation: all of it, or nothing.

    Args:
        fractions: promised shares of the rounds from now on, by arm; None for no change.
        closed: whether it decides no more from now on; None for no change.
        caps: largest shares of the rounds from now on, by arm; None for no change.
        groups: promises of groups from now on, by name; see `evenhand.bandit.Bandit.promise`. None for no change.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Store
        >>> from evenhand.service.store import UpdateAllocation
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "ucb1", seed=1)
        True
        >>> store.run("drinks", UpdateAllocation(closed=True))
        ChangeResult(version=0, round=0, changed=True)
        >>> store.close()
    """

    kind: ClassVar[str] = "update"
    answer: ClassVar[type] = ChangeResult
    fractions: Mapping[str, float] | None = None
    closed: bool | None = None
    caps: Mapping[str, float] | None = None
    groups: Mapping[str, Mapping[str, Any] | None] | None = None

    def run(self, context: CommandContext) -> ChangeResult:
        """Change it."""
        return _change(context, self.made(context))

    def made(self, context: CommandContext) -> list[tuple[str, Values]]:
        """The changes that it makes, in order.

        Args:
            context: of the command.

        Returns:
            Kinds of changes, each with its values.

        Raises:
            EvenhandError: an arm is unknown.
        """
        made: list[tuple[str, Values]] = []
        place, promises = context.allocation.bandit.arms.place, {"fractions": self.fractions, "caps": self.caps}
        grouped = [group.get("arms", ()) for group in (self.groups or {}).values() if group]
        for arm in chain(self.fractions or (), self.caps or (), *grouped):
            _check_known(context, arm)
        given: dict[str, Any] = {name: value for name, value in promises.items() if value is not None}
        if self.groups is not None:
            given["groups"] = {name: group and with_numbers(group, place) for name, group in self.groups.items()}
        if given:
            made.append(("promise", given))
        if self.closed is not None and self.closed != context.allocation.closed:
            made.append(("close" if self.closed else "reopen", {}))
        return made


def _check_known(context: CommandContext, arm: str) -> None:
    if arm not in context.allocation.bandit.arms.place:
        raise UnknownArm(f"allocation {context.allocation.name!r} has no arm {arm!r}")


def _rename(context: CommandContext, change: str, arm: str, name: str) -> ChangeResult:
    """Give an arm another name, in memory and in the database, and record that its name has changed."""
    allocation, bandit, connection = context.allocation, context.allocation.bandit, context.connection
    round, place, version = int(bandit.state.round), bandit.arms.place[arm], bandit.version
    allocation.flush(connection)  # the events before have the numbers of the names that there are now
    with bandit.noting(change, name, context.now):
        changes.rename(bandit, arm, name)
    if bandit.version == version:
        return ChangeResult(version, round, changed=False)
    allocation.names = bandit.names
    context.record("change", round, {"change": change, "arm": name})
    arms.rename(connection, allocation.id, place, name)
    arms.rename_in_answers(connection, allocation.id, arm, name)
    for row in context.answers:  # which are not written yet
        for before, after in arms.replacements(arm, name):
            row["body"] = row["body"].replace(before, after)
    return ChangeResult(bandit.version, round, changed=True)


def per_arm(bandit: Record, arm: str) -> dict[str, Any]:
    """The fraction, penalty and weight of an arm, as far as the algorithm has one per arm.

    Args:
        bandit: that has the arm.
        arm: its name.

    Returns:
        The values by these names.
    """
    place = bandit.arms.place[arm]
    values = ((name, bandit.parameters.get(parameter)) for name, parameter, _ in NEW_ARM)
    return {name: value[place] for name, value in values if isinstance(value, list)}


def json_values(values: Values) -> dict[str, Any]:
    """Values as they will be read from the event.

    Args:
        values: of a change.

    Returns:
        The values.

    Raises:
        EvenhandError: they are not plain JSON values.

    Example:
        >>> json_values({"fractions": {"tea": 1}})
        {'fractions': {'tea': 1}}
    """
    try:
        return json.loads(encode(values))  # type: ignore[no-any-return]
    except (RecursionError, TypeError, ValueError) as error:
        raise EvenhandError(f"the values of a change must be plain JSON values: {error}") from None
