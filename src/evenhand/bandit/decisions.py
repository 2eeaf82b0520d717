"""How a bandit decides a round."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bandit.arms import Available
from evenhand.bandit.propensities import Propensities, copied, propensities
from evenhand.bandit.record import Record
from evenhand.bandit.rewards import close
from evenhand.bandit.scores import FAINT, GUESS, UNCOUNTED
from evenhand.core.errors import EvenhandError
from evenhand.core.state import Array, Decision, Feedback, Observation, State
from evenhand.messages import answers
from evenhand.messages.answers import ArmPropensity, moment
from evenhand.policy.accounts import owed

if TYPE_CHECKING:
    from evenhand.bandit.contexts import Notes, Pull, Seen
    from evenhand.messages.requests import Round

same = lru_cache(1 << 12)(ArmPropensity)  # that are the same in most rounds, and made once
HELD = 1 << 22  # numbers of the features of rounds that are decided together, 32 MiB; of many arms each has as many


def decide(
    record: Record,
    available: Iterable[str] | None,
    now: float,
    estimate: bool = False,
    facts: dict[str, Any] | None = None,
    features: Mapping[str, object] | None = None,
    arms: Mapping[str, Mapping[str, object]] | None = None,
    seen: Seen | None = None,
) -> answers.Decision:
    """Decide the next round; see `evenhand.bandit.Bandit.decide`. ``facts`` receives what a log records of it.

    ``seen`` is what was made of the features before, of a round among many.
    """
    able = record.arms.all if available is None else record.arms.available(available)
    observation, known = able.observation, None
    noted: Notes = ()
    if record.contexts is not None or features is not None or arms is not None:
        observation, noted = seen or observed(record, able, features, arms)
    if record.pending.window is not None or record.leases:
        close(record, now)
    silent = record.in_order and _silent(record)
    if estimate and record.contexts is not None and record.policy.estimates:
        raise _not_estimated(record)
    decision = (_after_silence if silent else chosen)(record, observation, record.state)
    names, places, chances, least = record.arms.names, decision.places, decision.propensities, 0.0
    if places is None:
        decision.places = places = decision.played.nonzero()[0].tolist()
        if len(places) > 1:
            places.sort(key=decision.inclusion.item, reverse=True)  # stable: equal ones stay in the order of the arms
    if chances is not None and able.size > 1 and (len(places) > 1 or chances.item(places[0]) < 1.0):
        among = chances if able.mask is None else chances[able.arms]
        least = float(among.item(among.argmin()))
    if estimate:
        known = propensities(record, record.state, able, decision)
        played = [known[names[place]] for place in places]
    elif chances is None:
        played = [same(names[place], None, None) for place in places]
    else:
        make = ArmPropensity if least else same
        played = [make(names[place], float(chances.item(place)), 0.0) for place in places]
    pull = None if record.contexts is None else record.contexts.pull(observation, places, noted)
    if facts is not None:
        facts |= _facts(record, decision, played, None if available is None else able, least, silent, pull)
    apply(record, decision, able, now, (), least, pull=pull)
    every, round = None if known is None else tuple(known.values()), decision.round
    return answers.Decision(str(round), round, moment(now), tuple(played), record.version, every)


def _facts(
    record: Record,
    decision: Decision,
    played: Sequence[ArmPropensity],
    able: Available | None,
    least: float,
    silent: bool,
    pull: Pull | None,
) -> dict[str, Any]:
    """What a log records of a decision, without what is as usual."""
    known = played[0].propensity is not None
    facts = {
        "arms": [one.arm for one in played],
        "available": None if able is None else able.listed(record.arms.names),
        "propensity": [one.propensity for one in played] if known else None,
        "stderr": [one.stderr for one in played] if known and decision.propensities is None else None,
        "least": least or None,
        "silent": silent or None,
        "pull": pull,
        "spread": None if decision.spread is None else decision.spread.item(),
        "eta": None if decision.spread is None else record.policy.fairness.scale(record.state),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def observed(record: Record, able: Available, features: object, arms: object) -> Seen:
    """What is known of a round, and what was noted of that; it changes nothing."""
    if record.contexts is not None:
        return record.contexts.observation(features, arms, able, record.arms.names)
    if features is None and arms is None:
        return able.observation, ()
    name, given = ("arms", arms) if features is None else ("features", features)
    habit = "" if isinstance(given, Mapping) else "; arms that can play are given as available=[…]"
    raise EvenhandError(f"must be left out: this bandit was made without features{habit}", name)


def decide_many(record: Record, rounds: Sequence[Round], now: float, estimate: bool = False) -> list[answers.Decision]:
    """Decide several rounds; see `evenhand.bandit.Bandit.decide_many`."""
    return [
        decide(record, one.available, now, estimate, None, one.features, one.arms, seen)
        for one, seen in zip(rounds, checked_rounds(record, rounds), strict=True)
    ]


def checked_rounds(record: Record, rounds: Sequence[Round]) -> list[Seen | None]:
    """What is seen of rounds, None of those beyond what is held, if all can be decided; every fault has a line."""
    faults: list[EvenhandError] = []
    seen: list[Seen | None] = []
    held = 0
    for place, one in enumerate(rounds):
        try:
            found = observed(record, record.arms.available(one.available), one.features, one.arms)
        except EvenhandError as error:
            faults.append(error.at("rounds", place))
        else:
            held += sum(part.size for part in (found[0].situation, found[0].arms) if part is not None)
            seen.append(found if held <= HELD else None)
    if faults:
        raise EvenhandError.together(faults)
    return seen


def _after_silence(record: Record, observation: Observation, state: State) -> Decision:
    """The decision of a policy that is first shown the last round, in which a reward is missing."""
    saved, learned = copied(state), record.learned
    record.learn_rewards([], [], [])
    try:
        return chosen(record, observation, state)
    except BaseException:  # nothing has changed
        record.state, record.learned = saved, learned
        raise


def estimated(record: Record, arms: Sequence[str], available: Iterable[str] | None, silent: bool) -> Propensities:
    """The propensities of the next decision, of which a log says who plays; changes nothing."""
    if record.contexts is not None:
        raise _not_estimated(record)
    able, before = record.arms.available(available), _before(record, silent)
    played = np.zeros(len(record.arms), dtype=bool)
    played[[record.arms.place[arm] for arm in arms]] = True
    return propensities(record, before, able, Decision(before.clock, played, None, able.mask, played))


def decided_again(
    record: Record,
    available: Iterable[str] | None,
    silent: bool,
    features: Mapping[str, object] | None = None,
    arms: Mapping[str, Mapping[str, object]] | None = None,
) -> Decision:
    """What this computer and this version decide for the next round; changes nothing. See `estimated`."""
    observation, _ = observed(record, record.arms.available(available), features, arms)
    return chosen(record, observation, _before(record, silent))


def chosen(record: Record, observation: Observation, state: State) -> Decision:
    """The decision of a round, with the promises of its segment where there are any; it changes nothing."""
    policy = record.policy
    if record.contexts is not None and (segments := record.contexts.segments) and observation.situation is not None:
        policy, state = segments.seen(segments.of(observation.situation), policy, state)
    return policy.choose(state, observation, record.chance.deciding(state.round + 1))


def _not_estimated(record: Record) -> EvenhandError:
    """The error for propensities of scores that are drawn, where every round has features of its own."""
    return EvenhandError(
        f"must be left out: {record.label} draws its scores, so that its propensities have no closed form, and none is "
        "estimated for a single round with features; with selection=ExplorationFloor(floor) every decision has an "
        "exact one",
        "propensities",
    )


def _before(record: Record, silent: bool) -> State:
    """A copy of the state right before the next decision."""
    before = copied(record.state)
    if silent:
        nothing = np.zeros(len(record.arms))
        record.policy.observe(before, Feedback(nothing, nothing), record.chance.learning(record.learned + 1))
    return before


def apply(
    record: Record,
    decision: Decision,
    available: Available,
    now: float,
    given: Container[str] = (),
    least: float = 0.0,
    counted: bool = True,
    pull: Pull | None = None,
) -> None:
    """Record a decision with the places of who plays, whether it was just made or is read from a log.

    ``least`` is the smallest chance of an available arm; 0 where it is not known. A decision from before there were
    sums for differences does not count in them. ``pull`` has its features.
    """
    places, chances = decision.places, decision.propensities
    assert places is not None
    record.policy.apply(record.state, decision, given)
    if pull is not None and record.contexts is not None:
        record.contexts.decided(decision.round, pull, places, available, record.policy.contextual)
    scores, index = record.scores, UNCOUNTED
    counting: list[float] = []
    if counted:  # in line, as all that every decision does
        if not scores.begins <= now < scores.ends:
            record.turn(now)
        index, weighed = scores.apart, False
        if least <= FAINT or chances is None:
            index = index if index >= 0 else scores.opened(None)
        else:
            known = scores.places.get(available.packed)
            index = scores.opened(available.packed) if known is None else known
            table = scores.tables[index]
            weighed = table.able is not None
            if weighed:
                table.rounds += 1.0
                table.least = least if least < table.least else table.least
        rows = scores.tables[index].rows
        for place in places:
            counting += (1.0 / chances.item(place) if weighed else 0.0), rows[place][GUESS]  # type: ignore[union-attr]
    record.pending.enter(decision.round, places, now, index, counting)
    if available.mask is not None:
        record.statistics.miss(available.mask)
    record.availability.add(available.packed)
    if record.fractions is not None:
        _note_deficits(record, record.fractions, places)
    round, record.count_history.decided = record.state.round, now
    if round >= record.count_history.next or (record.fractions is not None and round >= record.deficit_history.next):
        record.mark(now)


def _silent(record: Record) -> bool:
    """Whether a reward of the last round is missing, which a policy that learns in the order of rounds has to know."""
    last = record.state.round
    if last == 0 or record.last_total == last:
        return False
    rewards = record.pending.find(str(last))
    return rewards is not None and (rewards.closed or None in rewards.rewards.values())


def _note_deficits(record: Record, fractions: Array, places: Sequence[int]) -> None:
    """Record the deficits of the arms that have just played: a deficit is largest right before a play."""
    state = record.state
    begun, pulls, before = state.begun, state.tally.pulls, state.round - 1
    for place in places:  # one by one: usually a single arm plays, and arrays of one element are slow
        share, rounds = fractions.item(place), before - begun.rounds.item(place)
        if share > 0.0 and rounds > 0.0:
            plays = pulls.item(place) - 1.0 - begun.plays.item(place)
            deficit = owed(share, rounds, plays, begun.carried.item(place))
            record.statistics.note(place, deficit)
            record.deficit_history.note(before, place, deficit)
