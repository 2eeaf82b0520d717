"""The command that changes the arms and the promises of an allocation, or closes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

from evenhand.bandit import changes
from evenhand.bandit.audit.effects import planned_with_effect
from evenhand.bandit.record import Record
from evenhand.core.errors import HINTED, EvenhandError, nearest
from evenhand.messages.answers import ChangeResult, Plan
from evenhand.messages.changes import (
    VALUES,
    AddArm,
    BringBack,
    ChangeRecord,
    Close,
    Erase,
    OfArm,
    Promise,
    Rename,
    Reopen,
    Retire,
    Reword,
    change_of,
)
from evenhand.service.store import arms
from evenhand.service.store.commands import Command, CommandContext
from evenhand.service.store.errors import Conflict, TooMuchWork, UnknownArm
from evenhand.service.store.events import closed_after, encode


@dataclass(frozen=True)
class Change(Command[Any]):
    """Make a change, unless everything is so already; with ``dry_run`` say what it would do.

    Example:
        >>> import tempfile
        >>> from evenhand.changes import AddArm, Promise
        >>> from evenhand.service import Change, Store
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> new = store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.1}, seed=1)
        >>> store.run("drinks", Change(AddArm("mate", fraction=0.2)))
        ChangeResult(version=1, round=0, changed=True)
        >>> store.run("drinks", Change(AddArm("mate", fraction=0.2)))
        ChangeResult(version=1, round=0, changed=False)
        >>> store.run("drinks", Change(Promise({"tea": 0.5}), dry_run=True)).begins
        ('tea',)
        >>> store.close()
    """

    kind: ClassVar[str] = "change"
    answer: ClassVar[type] = ChangeResult
    change: ChangeRecord  # one of `evenhand.changes`
    version: int | None = None  # that the allocation must have, as there was no other change since; None for any
    dry_run: bool = False  # whether to change nothing, and answer with a plan
    max_arms: int | None = None  # of the allocation; None for no limit

    def __post_init__(self) -> None:
        super().__post_init__()
        # A dry run changes nothing, and an erased name must be in no file any more: asked often, so found out once.
        vars(self).update(reads=self.dry_run, purges=isinstance(self.change, Erase))

    def values(self) -> dict[str, Any]:
        """The change as JSON, for the digest."""
        return self.change.to_json() | {"version": self.version}

    def run(self, context: CommandContext) -> ChangeResult | Plan:
        """Make it."""
        allocation, record = context.allocation, context.allocation.bandit
        change, body = _plain(self.change)
        if self.version is not None and self.version != record.version:
            raise Conflict(
                f"allocation {allocation.name!r} has version {record.version}, not {self.version}; read it again, as "
                "others have changed it"
            )
        for arm in _named(change):
            if arm not in record.arms.place:
                hint = nearest(arm, record.arms.names) * (len(record.arms.names) <= HINTED)
                raise UnknownArm(f"allocation {allocation.name!r} has no arm {arm!r}{hint}")
        same, number = _is_so(record, allocation.closed, change), len(record.arms.names)
        if isinstance(change, AddArm) and not same and self.max_arms is not None and number >= self.max_arms:
            raise TooMuchWork(f"an allocation may have at most {self.max_arms:,} arms, got {number + 1:,}")
        if self.dry_run:
            return planned_with_effect(record, None if same else change)
        changed = not same and _made(context, change, body)
        return ChangeResult(record.version, int(record.state.round), changed)


def _made(context: CommandContext, change: ChangeRecord, body: dict[str, Any]) -> bool:
    """Make and record a change with the body of its event; whether it changed anything."""
    allocation, record, connection = context.allocation, context.allocation.bandit, context.connection
    version, arm = record.version, getattr(change, "arm", "")
    place, naming = record.arms.place.get(arm), isinstance(change, Rename | Erase)
    if naming:
        allocation.flush(connection)  # the events before have the numbers of the names that there are now
    changes.make(record, change, context.now, key=context.api_key or "")
    if record.version == version and not isinstance(change, Close | Reopen | Reword):
        return False
    allocation.closed = closed_after(change.change, allocation.closed)
    if naming and place is not None:
        name = record.names[place]
        body |= {field: name for field in ("arm", "new_name") if field in body}  # the old name is stored nowhere
        _rename(context, place, arm, name)
    context.record("change", int(record.state.round), body)
    return True


def _rename(context: CommandContext, place: int, old: str, new: str) -> None:
    """Give an arm another name in the database, and in the answers that repeated requests get."""
    allocation, connection = context.allocation, context.connection
    allocation.names = allocation.bandit.names
    arms.rename(connection, allocation.id, place, old, new)
    for row in context.answers:  # which are not written yet
        row["body"] = arms.replaced(row["body"], old, new)


def _is_so(record: Record, closed: bool, change: ChangeRecord) -> bool:
    """Whether everything is as the change would make it, so that one that is sent twice is made once."""
    match change:
        case AddArm(arm=arm) if arm in record.arms.place:
            if arm in record.retired:
                raise Conflict(f"arm {arm!r} is there and retired; bring it back")
            for name, value in arm_values(record, arm).items():
                given = getattr(change, name)
                wanted = next(new for one, new in VALUES.values() if one == name) if given is None else given
                if wanted != value:
                    raise Conflict(f"arm {arm!r} is there with {name} {value}, not {wanted}; change that instead")
            return True
        case Retire(arm=arm):
            return arm in record.retired
        case BringBack(arm=arm, fraction=fraction) if arm not in record.retired:
            return fraction is None or fraction == arm_values(record, arm).get("fraction")
        case Rename(arm=arm, new_name=name) if arm != name and name in record.arms.place:
            raise Conflict(f"there is already an arm {name!r}")
        case Reword():
            return change.words == record.words
    return isinstance(change, Close | Reopen) and isinstance(change, Close) == closed


def _named(change: ChangeRecord) -> Iterator[str]:
    """The arms that a change names, which must be there."""
    if isinstance(change, Promise):
        groups = [group.get("arms", ()) for group in (change.groups or {}).values() if group]
        yield from chain(change.fractions or (), change.caps or (), *groups)
    elif isinstance(change, OfArm) and not isinstance(change, AddArm):
        yield change.arm


def arm_values(record: Record, arm: str) -> dict[str, Any]:
    """The values of an arm, as far as the algorithm has one per arm."""
    place = record.arms.place[arm]
    values = ((name, record.parameters.get(parameter)) for parameter, (name, _) in VALUES.items())
    return {name: value[place] for name, value in values if isinstance(value, list)}


def _plain(change: ChangeRecord) -> tuple[ChangeRecord, dict[str, Any]]:
    """The change as it will be read from its event, and the body of that."""
    try:
        body = json.loads(encode(change.to_json()))
        return change_of(body), body
    except (RecursionError, TypeError, ValueError) as error:
        if isinstance(error, EvenhandError):
            raise
        raise EvenhandError(f"the values of a change must be plain JSON values: {error}") from None
