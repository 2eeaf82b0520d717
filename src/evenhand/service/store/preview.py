"""What a change would do, computed without making it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.bandit.arms import Arms
from evenhand.bandit.changes import (
    NEW_ARM,
    Plan,
    plan_add,
    plan_bring_back,
    plan_promise,
    plan_rename,
    plan_retire,
)
from evenhand.bandit.record import Record
from evenhand.messages.answers import Arm, GroupPromise, Preview
from evenhand.policy.composition import Policy
from evenhand.service.store.changes import AddArm, RenameArm, UpdateAllocation, UpdateArm, json_values
from evenhand.service.store.commands import Command, CommandContext


@dataclass(frozen=True)
class PreviewChange(Command[Preview]):
    """Say what a change would do, and change nothing.

    Args:
        of: the change.

    Example:
        >>> import tempfile
        >>> from evenhand.service import Store
        >>> from evenhand.service.store import PreviewChange, UpdateAllocation
        >>> store = Store.open(tempfile.mkdtemp() + "/drinks.db")
        >>> store.create("drinks", ["tea", "coffee"], "fucb", parameters={"fractions": 0.1}, seed=1)
        True
        >>> preview = store.run("drinks", PreviewChange(UpdateAllocation({"coffee": 0.3})))
        >>> preview.changed, preview.promised, preview.begins
        (True, 0.4, ('coffee',))
        >>> store.close()
    """

    reads: ClassVar[bool] = True
    kind: ClassVar[str] = "preview"
    of: AddArm | RenameArm | UpdateAllocation | UpdateArm

    def run(self, context: CommandContext) -> Preview:
        """Compute it."""
        bandit, made = context.allocation.bandit, self.of.made(context)
        plan = Plan(bandit.arms, bandit.parameters, ())
        for change, values in made:
            plan = _plan(bandit, change, json_values(values)) or plan
        policy = plan.policy(bandit)
        same = plan.arms is bandit.arms and plan.parameters == bandit.parameters
        changed = not same or any(change in ("close", "reopen") for change, _ in made)
        begins = _beginning(plan, policy)
        return preview_of(bandit.plays, plan.arms, policy, plan.parameters, changed, int(bandit.state.round), begins)


def _beginning(plan: Plan, policy: Policy) -> tuple[str, ...]:
    """The arms and groups whose promise begins; that of an arm which retires, or of a group that ends, does not."""
    groups = {group["name"] for group in policy.groups}
    arms = [arm for arm in plan.begun if arm not in plan.arms.retired]
    return (*arms, *(name for name in plan.groups_begun if name in groups))


def _plan(record: Record, change: str, values: Mapping[str, Any]) -> Plan | None:
    """What a change would make of a bandit; None for one that concerns its promises and arms in nothing."""
    match change:
        case "add":
            return plan_add(record, values["arm"], {name: value for name, value in values.items() if name != "arm"})
        case "promise":
            return plan_promise(record, **values)
        case "retire":
            return plan_retire(record, values["arm"])
        case "bring_back":
            return plan_bring_back(record, **values)
        case "rename":
            return plan_rename(record, **values)
    return None


def preview_of(
    plays: int,
    arms: Arms,
    policy: Policy,
    parameters: Mapping[str, Any],
    changed: bool,
    round: int = 0,
    begins: Collection[str] = (),
) -> Preview:
    """What a policy would promise.

    Args:
        plays: arms that play per round.
        arms: that there would be.
        policy: that would decide.
        parameters: of its algorithm.
        changed: whether anything would change.
        round: after which it would decide.
        begins: names of the arms and groups whose promise would begin.

    Example:
        >>> from evenhand.bandit.record import Record
        >>> record = Record(["tea", "coffee"], "fucb", parameters={"fractions": [0.0, 0.2]})
        >>> preview_of(1, record.arms, record.policy, record.parameters, changed=True).promised
        0.2
    """
    columns = {name: parameters[key] for name, key, _ in NEW_ARM if isinstance(parameters.get(key), list)}
    if policy.fractions is not None:
        columns["fraction"] = np.broadcast_to(np.asarray(policy.fractions, dtype=float), len(arms)).tolist()
    none: dict[str, Any] = {"fraction": None, "penalty": None, "weight": None}
    promises = [
        Arm(arm, arm in arms.retired, **none | {name: values[place] for name, values in columns.items()})
        for place, arm in enumerate(arms.names)
    ]
    groups = [
        GroupPromise(one["name"], tuple(arms.names[place] for place in one["arms"]), one["at_least"], one["at_most"])
        for one in policy.groups
    ]
    promised = float(np.sum(columns["fraction"])) if "fraction" in columns else None
    return Preview(changed, round, plays, promised, tuple(promises), tuple(groups), tuple(begins))
