"""Checks of a policy in a bandit: arms that come, promises that change, leases, saving, and logs that are replayed.

They go through every member of the parts that a simulation does not ask for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.algorithms.build import PolicyLike, Surroundings, as_policy
from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.judged import judged
from evenhand.bandit.bandit import Bandit
from evenhand.bandit.decisions import decide
from evenhand.bandit.propensities import copied
from evenhand.bandit.record import Record
from evenhand.bandit.replay import Recorder, replay_decision, replay_memory, replay_rewards
from evenhand.core.errors import EvenhandError
from evenhand.core.parts import plain
from evenhand.core.state import State, dump, shapes_in
from evenhand.features import Features, Flag, Number
from evenhand.judgement.keeping import keeping_of
from evenhand.judgement.sentences import sentence
from evenhand.policy.composition import REMEMBERING, Policy
from evenhand.simulation.checks import POLICY_CHECKS as SIMULATED

ROUNDS = 30
LEASES = 6
MOST, MARGIN = 420, 10.0  # rounds that an arm sleeps at most; plays that it is then owed beyond twice the allowance
#: What decisions of policies that go by features are given.
FEATURES = Features({"age": Number(0, 1), "new": Flag()}, {"price": Number(0, 1)})


def check_policy(policy: PolicyLike, arms: int) -> None:
    """Run every check of ``POLICY_CHECKS`` on a policy: in simulations, and in a bandit where it can be in one.

    A policy with a part that is not registered, or with a free start, has no bandit; it is checked in simulations only.

    Args:
        policy: any composition of parts, the name of an algorithm, or a table.
        arms: number of arms that it is for.

    Raises:
        AssertionError: a rule is broken; the message says which.

    Example:
        >>> from evenhand import check_policy
        >>> from evenhand.algorithms import fucb
        >>> check_policy(fucb([0.2, 0.1, 0.0]), arms=3)
    """
    built = as_policy(policy, Surroundings(arms))
    for check in POLICY_CHECKS:
        check(built, arms)


def arms_can_be_added(policy: Policy, arms: int) -> None:
    """With a new arm every part remembers what it did of the others, in arrays of the shape that it starts with."""
    bandit = _living(policy, arms)
    if bandit is None or not policy.schedule.traits.flexible:
        return
    before = _values(bandit, arms)
    penalty = {"penalty": 0.1} if isinstance(bandit.parameters.get("penalties"), list) else {}
    try:
        bandit.add("new", **penalty)
    except EvenhandError as error:  # as a part has a value for each arm, which does not grow
        if "define" not in str(error):
            return
        raise AssertionError(f"an arm cannot be added: {error}") from None
    after, fresh = bandit._record.state, bandit._record.started(bandit._record.policy, arms + 1)
    _same_shapes(after, fresh, "after an arm was added")
    assert _values(bandit, arms) == before, "an arm that was added changes how often the others have played"
    _live(bandit, ROUNDS)


def promises_can_change(policy: Policy, arms: int) -> None:
    """A promise that changes begins anew: parts remember something new, in place of what they had, not within it, and
    plays that were owed are made up for."""
    bandit = _living(policy, arms)
    shares = None if bandit is None else bandit.parameters.get("fractions")
    if bandit is None or not policy.schedule.traits.flexible or not isinstance(shares, list):
        return
    record, place = bandit._record, int(np.argmax(shares))
    _owe(bandit, place)
    _begins_anew(record, place)
    change = {record.names[place]: shares[place] / 2.0 if shares[place] else 1e-3}
    try:
        bandit.promise(change)
    except EvenhandError:  # a part with an account of its own may refuse to carry what is owed, and says so
        bandit.promise(change, debt="forgive", reason="the part does not carry what is owed")
    _same_shapes(record.state, record.started(record.policy, arms), "after a promise changed")
    _live(bandit, ROUNDS)
    last = bandit.round + _repaid(record, place)
    while (missed := _missed(bandit)) and bandit.round < last:
        _live(bandit, ROUNDS, unloved=record.names[place])
    assert not missed, (
        f"after a promise changed with plays owed, they are not made up for: {missed}; begin(memory, places, carried) "
        "must count the plays that are carried"
    )


def rounds_can_be_leased(policy: Policy, arms: int) -> None:
    """Rounds are leased, or refused with the reason; those that are given back leave no trace in the plays, and those
    that are played keep the promises, but for what becomes due within one lease."""
    bandit = _living(policy, arms)
    if bandit is None:
        return
    before = bandit._record.state.tally.pulls.copy()
    written = json.dumps(bandit.dump())
    try:
        lease = bandit.lease(ROUNDS, seconds=60.0, now=0.0)
    except EvenhandError:
        assert json.dumps(bandit.dump()) == written, "a lease that is refused changes the bandit"
        return
    assert sum(arm.count for arm in lease.arms) == ROUNDS * policy.plays, "a lease has not as many plays as its rounds"
    bandit.report(lease.id, played=0, finished=True, now=0.0)
    assert np.allclose(bandit._record.state.tally.pulls, before), "rounds that are given back are counted"
    for _ in range(LEASES):
        lease = bandit.lease(ROUNDS, seconds=60.0, now=0.0)
        bandit.report(lease.id, played=ROUNDS, finished=True, now=0.0)
    shares = np.zeros(1) if bandit._record.fractions is None else bandit._record.fractions
    missed = _missed(bandit, more=ROUNDS * float(shares.max()))
    assert not missed, f"after {LEASES} leases {missed}; advance(memory, plays, rounds) must count rounds and plays"
    _live(bandit, ROUNDS)


def saved_bandit_continues(policy: Policy, arms: int) -> None:
    """A bandit that went through JSON decides as the bandit itself; where it goes by features, as another copy."""
    bandit = _living(policy, arms)
    if bandit is None:
        return
    written = json.dumps(bandit.dump())
    again = Bandit.restored(json.loads(written))
    if policy.contextual:  # what is solved from the sums is not saved, and the last digits can decide a draw among arms
        bandit = Bandit.restored(json.loads(written))
    world = np.random.default_rng(4)
    for _ in range(ROUNDS):
        given = _shown(bandit, world)
        one, other = bandit.decide(**given, now=0.0), again.decide(**given, now=0.0)
        assert one.names == other.names, f"round {one.round}: the saved bandit decides otherwise"
        for each in (bandit, again):
            each.observe(one.id, dict.fromkeys(one.names, 0.5), now=0.0)


def log_replays(policy: Policy, arms: int) -> None:
    """What is remembered follows from a log: decisions, rewards, and the memory of parts that are not exact."""
    bandit, again = _bandit(policy, arms), _bandit(policy, arms)
    if bandit is None or again is None:
        return
    record, copy, world = bandit._record, again._record, np.random.default_rng(3)
    recorder = Recorder(record)
    for _ in range(ROUNDS):
        facts: dict[str, Any] = {}
        decision = decide(record, None, 0.0, facts=facts, **_shown(bandit, world))
        given = {name: facts[name] for name in ("propensity", "silent", "spread", "pull") if name in facts}
        replay_decision(copy, decision.round, facts["arms"], 0.0, **given)
        replay_memory(copy, recorder.changes())
        rewards = {arm: float(world.random() < 0.5) for arm in decision.names}
        bandit.observe(decision.id, rewards, now=0.0)
        replay_rewards(copy, decision.id, rewards, (), 0.0)
        replay_memory(copy, recorder.changes())
        assert dump(copy.state) == dump(record.state), f"round {decision.round}: a replay results in another memory"


#: The checks of `check_policy`, to be run one by one.
POLICY_CHECKS: tuple[Callable[[Policy, int], None], ...] = (
    *SIMULATED,
    arms_can_be_added,
    promises_can_change,
    rounds_can_be_leased,
    saved_bandit_continues,
    log_replays,
)


def _bandit(policy: Policy, arms: int) -> Bandit | None:
    """A bandit of the policy; None where a part has no plain form, or the policy is for simulations only."""
    try:
        plain(policy)
        features = FEATURES if policy.contextual else None
        return Bandit([f"arm {number + 1}" for number in range(arms)], policy, seed=5, features=features)
    except EvenhandError:
        return None


def _living(policy: Policy, arms: int) -> Bandit | None:
    """A bandit of the policy after some rounds."""
    bandit = _bandit(policy, arms)
    if bandit is not None:
        _live(bandit, ROUNDS)
    return bandit


def _live(bandit: Bandit, rounds: int, unloved: str = "") -> None:
    """Some rounds, in which one arm may earn nothing and the others always something."""
    world = np.random.default_rng(bandit.round)
    for _ in range(rounds):
        decision = bandit.decide(**_shown(bandit, world), now=0.0)
        assert len(decision.names) == bandit._record.plays, f"round {decision.round}: not as many arms play as can"
        level = {arm: (0.0 if arm == unloved else 1.0) if unloved else 0.5 for arm in decision.names}
        bandit.observe(decision.id, {arm: float(world.random() < level[arm]) for arm in decision.names}, now=0.0)


def _owe(bandit: Bandit, place: int) -> None:
    """Let an arm sleep until it is owed more than the policy allows; not where that takes too long."""
    record, others = bandit._record, [name for at, name in enumerate(bandit._record.names) if at != place]
    if len(others) < record.plays or record.fractions is None or record.policy.groups:
        return
    keeping, world = keeping_of(record.policy, len(record.names), MOST, record.state), np.random.default_rng(6)
    wanted = 2.0 * keeping.owed_at_most(record.state.round + MOST) + MARGIN
    if keeping.keeps != "count" or record.fractions[place] * MOST < wanted:
        return
    while record.owed()[place] < wanted:
        decision = bandit.decide(**_shown(bandit, world), available=others, now=0.0)
        bandit.observe(decision.id, dict.fromkeys(decision.names, 1.0), now=0.0)


def _repaid(record: Record, place: int) -> float:
    """Rounds within which an arm has certainly got what it is owed: thrice as many as it takes beside all promises."""
    policy, shares = record.policy, np.zeros(len(record.names)) if record.fractions is None else record.fractions
    cap = 1.0 if policy.caps is None else float(np.broadcast_to(policy.caps, shares.shape)[place])
    room = float(min(record.plays - shares.sum(), cap - shares[place]))
    return 3.0 * float(record.owed()[place]) / max(room, 1e-3)


def _begins_anew(record: Record, place: int) -> None:
    """The parts that promise begin with a play owed, or where they refuse that with none, and return a new memory."""
    state = copied(record.state)
    written = json.dumps(dump(state))
    for slot, one in record.policy.parts.items():
        if slot != "fairness" and not one.promises:
            continue
        memory, places, owed = getattr(state, slot), np.array([place]), np.zeros(state.arms)
        owed[place] = 1.0
        try:
            one.begin(memory, places, owed)
        except EvenhandError:
            one.begin(memory, places, 0.0 * owed)
        assert json.dumps(dump(state)) == written, (
            f"{type(one).__name__}.begin changes the memory that it is given; it must return a new one"
        )


def _missed(bandit: Bandit, more: float = 0.0) -> str:
    """The sentence of the promise that is missed most, if one is; of fairness parts that count what they owe.

    A schedule promises for its horizon only.
    """
    account = Account(bandit._record)
    keeping = account.keeping
    if keeping.keeps != "count" or not bandit._record.policy.fairness.promises:
        return ""
    account.keeping = replace(keeping, allowance=lambda rounds: keeping.owed_at_most(rounds) + more)
    found = judged(account)
    worst = found.worst()
    if worst is None or not found.missed():
        return ""
    return f"{sentence(worst)}; {worst.judgement.allowed:.3g} are allowed"


def _shown(bandit: Bandit, world: np.random.Generator) -> dict[str, Any]:
    """The features of a decision, where the policy goes by any."""
    if not bandit._record.policy.contextual:
        return {}
    prices = {name: {"price": float(world.random())} for name in bandit._record.names}
    return {"features": {"age": float(world.random()), "new": bool(world.random() < 0.5)}, "arms": prices}


def _values(bandit: Bandit, arms: int) -> list[float]:
    plays: list[float] = bandit._record.state.tally.pulls[:arms].tolist()
    return plays


def _same_shapes(state: State, fresh: State, when: str) -> None:
    """Every part remembers arrays of the shape that it starts with; a window of rounds may have become longer."""
    for slot in REMEMBERING:
        found, wanted = shapes_in(getattr(state, slot)), shapes_in(getattr(fresh, slot))
        assert len(found) == len(wanted), f"{when} the {slot} remembers another number of arrays"
        for one, other in zip(found, wanted, strict=True):
            longer = len(one) == len(other) and all(has >= needs for has, needs in zip(one, other, strict=True))
            assert longer, f"{when} the {slot} remembers an array of shape {one}, not {other}"
