"""Whether one may stop: the arms that can still be the best, what this rests on, and when more is likely known."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.costing import shares_for
from evenhand.bandit.audit.differences import MOST, differences, named
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.errors import EvenhandError, nearest, number_of, shown
from evenhand.core.intervals import Claim
from evenhand.core.numbers import percent
from evenhand.core.state import Array, Mask
from evenhand.inference.stopping import FARTHEST, BestArms, best_arms, gaining, rounds_to_go
from evenhand.inference.sums import Sums, mean, simultaneous
from evenhand.judgement.differences import STEADY
from evenhand.judgement.sentences import listed
from evenhand.messages.answers import Stopping
from evenhand.messages.audit_text import plain

COMPARED = 0.2  # part of δ for differences
WIDE = 10  # times its earliest round that a forecast may be late
BOUNDED = 100  # arms up to which the best shares under promises are followed
PROMISES: Literal["promises"] = "promises"


class Question(NamedTuple):
    """What is asked: with which error, how exactly, and for how many arms or the promises."""

    delta: float
    epsilon: float  # in the unit of the rewards
    best: int | Literal["promises"]


def question(account: Account, delta: float, epsilon: float, best: int | str | None) -> Question:
    """The question, checked."""
    if isinstance(delta, bool) or not (isinstance(delta, int | float) and 0.0 < delta < 1.0):
        raise EvenhandError(
            f"must be between 0 and 1, such as 0.05, got {shown(delta)}: an answer that is never wrong takes forever, "
            "and one that may always be wrong says nothing",
            "delta",
        )
    epsilon = validate.number("epsilon", epsilon, 0.0, account.limits.width)
    active = int(np.count_nonzero(account.active))
    if best == PROMISES:
        if account.merit is not None or account.rates is not None:
            kind = "merit" if account.rates is None else "guaranteed rewards"
            raise EvenhandError(f"must be a number of arms, as by {kind} every arm gets more than a minimum", "best")
        if active > BOUNDED:
            raise EvenhandError(
                f"must be a number of arms, as promises to more than {BOUNDED} are not followed", "best"
            )
        return Question(delta, epsilon, PROMISES)
    if isinstance(best, str):
        raise EvenhandError(
            f"must be a number of arms or 'promises', got {shown(best)}{nearest(best, [PROMISES])}", "best"
        )
    count = account.plays if best is None else validate.whole("best", best)
    if count > active:
        raise EvenhandError(f"must be at most {active}, the number of arms, got {count}", "best")
    return Question(delta, epsilon, count)


class Seen(NamedTuple):
    """Rewards on the scale [0, 1], each (arms,): the least and the most that their sums can be, and how many."""

    least: Array
    most: Array
    number: Array


def stopping(record: Record, delta: float, epsilon: float, best: int | str | None) -> Stopping:
    """Whether one may stop.

    For one best arm a fifth of δ is for its differences to the others. Where these are weighted by known chances and
    suffice, that is the answer, as it holds whatever changes over time. Those from the arms' own means are narrow where
    rewards vary little, and rest on what the likelihood ratios rest on, for which the rest of δ is.
    """
    account = Account(record)
    asked = question(account, delta, epsilon, best)
    others = int(np.count_nonzero(account.active)) - 1
    if asked.best != PROMISES and asked.best > others:
        return _by_number(account)
    if account.contextual:
        return _by_weights(record, account, asked)
    if asked.best != 1 or account.by_totals or others > MOST or not account.known.any():
        return _by_likelihood(account, asked, asked.delta)
    part = (1.0 - COMPARED) * delta
    leader = _found(account, asked._replace(delta=part), _seen(account, account.known, account.known)).chosen
    place = int(np.flatnonzero(leader)[0])
    found = differences(record, record.names[place], confidence=1.0 - COMPARED * delta)
    if any(one.interval.claim == "not_claimed" for one in found):
        return _by_likelihood(account, asked, part)
    premises = tuple(dict.fromkeys(premise for one in found for premise in one.interval.premises))
    far = max(one.interval.high for one in found)
    rest = _by_likelihood(account, asked, part, (leader, far))
    if STEADY not in premises and rest.claim == "not_claimed":
        rest = replace(rest, epsilon_now=max(far, 0.0))
    if STEADY not in premises and (far < 0.0 or far <= asked.epsilon > 0.0):
        possible = (record.names[place], *(one.first for one in found if one.interval.high >= 0.0))
        return _by_differences(account, asked, possible, far, premises, min(max(far, 0.0), rest.epsilon_now))
    return rest


def _by_weights(record: Record, account: Account, asked: Question) -> Stopping:
    """Whether one may stop by weighted differences alone, where arms meet the rounds that suit them."""
    faults = [account.incomparable] * bool(account.incomparable)
    if asked.best != 1:
        faults.append("who is best depends on the features of a round, so that only one arm for all rounds is sought")
    if faults:
        return _nothing(account, tuple(faults))
    means = np.where(
        account.active, np.nan_to_num(account.means(np.arange(len(account.names)))[0], nan=-np.inf), -np.inf
    )
    place = int(means.argmax())
    found = differences(record, record.names[place], confidence=1.0 - asked.delta)
    if any(one.interval.claim == "not_claimed" for one in found):
        return _nothing(account, tuple(dict.fromkeys(why for one in found for why in one.interval.premises)))
    premises = tuple(dict.fromkeys(premise for one in found for premise in one.interval.premises))
    far = max(one.interval.high for one in found)
    possible = (record.names[place], *(one.first for one in found if one.interval.high >= 0.0))
    if far < 0.0 or far <= asked.epsilon > 0.0:
        return _by_differences(account, asked, possible, far, premises, max(far, 0.0))
    claim: Claim = "holds_if" if premises else "holds"
    answer = Stopping(False, possible, possible[:1], far, (None, None), claim, premises, ())
    return replace(answer, sentences=tuple(map(account.say, _sentences(account, asked, answer, certain=False))))


def _nothing(account: Account, why: tuple[str, ...]) -> Stopping:
    """That nothing is claimed, and why."""
    names = tuple(name for name, active in zip(account.names, account.active, strict=True) if active)
    says = account.say(f"Nothing is claimed, since {listed(why)}.")
    return Stopping(False, names, (), account.limits.width, (None, None), "not_claimed", why, (says,))


def _by_number(account: Account) -> Stopping:
    """That no other arms are left, so that these are the best ones whatever their rewards are."""
    names = tuple(name for name, active in zip(account.names, account.active, strict=True) if active)
    only = "is the only arm, so it is the best one" if len(names) == 1 else "are all arms, so these are the best ones"
    says = account.say(f"Yes: {named(names)} {only}.")
    return Stopping(True, names, names, 0.0, (0, 0), "holds", (), (says,))


def _by_differences(
    account: Account, asked: Question, possible: tuple[str, ...], far: float, premises: tuple[str, ...], nearest: float
) -> Stopping:
    """That one may stop, since no other arm was better by more on average over all rounds."""
    name, by = plain(possible[0]), account.words.amount(f"{far:.3g}")
    said = f"{name} is the best arm" if far < 0.0 else f"no other arm is better than {name} by more than {by} per play"
    text = f"Yes: {said}, on average over all rounds (error at most {percent(asked.delta)})."
    sure = f"if {listed(premises)}" if premises else "whatever changes over time"
    lines = [text, f"This holds however often one looks, {sure}.", *_nearer(account, far, nearest, premises)]
    claim: Claim = "holds_if" if premises else "holds"
    return Stopping(True, possible, possible[:1], nearest, (0, 0), claim, premises, tuple(map(account.say, lines)))


def _nearer(account: Account, far: float, nearest: float, premises: tuple[str, ...]) -> list[str]:
    """That more premises leave less than what one stops with."""
    more, less = _premises(account, True)[1], account.words.amount(f"{nearest:.3g}")
    more = tuple(one for one in more if one not in premises)
    return [f"If also {listed(more)}, it is {less} at most."] if nearest < far and more else []


def _by_likelihood(
    account: Account, wanted: Question, delta: float, compared: tuple[Mask, float] | None = None
) -> Stopping:
    """Whether one may stop by likelihood ratios with a part of δ, and by what differences to an arm say.

    The worst case of all rewards that are not known is tried first, as it needs no premise of them. Where it does not
    suffice, those that are known count alone: so an answer that names the premise is wrong with a probability of δ if
    it is true, and one that does not, in any case.
    """
    asked = wanted._replace(delta=delta)
    known, all_plays = _seen(account, account.known, account.known), _seen(account, account.certain, account.pulls)
    found = alone = _narrowed(account, _found(account, asked, all_plays), compared)
    if account.missing != "zero" and _unknown(account):  # with "zero", failures come late, successes early
        alone = _narrowed(account, _found(account, asked, known), compared)
    independent = alone is not found and not _stops(account, asked, found)
    answer = _answer(account, wanted, alone if independent else found, known, delta, *_premises(account, independent))
    nearest = min(found.epsilon, alone.epsilon) * account.limits.width
    lines = _nearer(account, answer.epsilon_now, nearest, answer.premises) if answer.stop else []
    sentences = (*answer.sentences, *map(account.say, lines))
    return replace(answer, epsilon_now=nearest, sentences=sentences)


def _narrowed(account: Account, found: BestArms, compared: tuple[Mask, float] | None) -> BestArms:
    """What is known beside that no other arm is better than one by so much."""
    if compared is None or found.certain or (found.chosen != compared[0]).any():
        return found
    leader, far = compared
    if far < 0.0:
        return BestArms(leader, leader, 0.0, True)
    return replace(found, epsilon=min(found.epsilon, far / account.limits.width))


def _seen(account: Account, certain: Array, count: Array) -> Seen:
    """So many rewards of each arm, of which so many are certain."""
    sums = np.clip(account.limits.scale(account.sums, certain), 0.0, certain)
    return Seen(sums, sums + (count - certain), count)


def _found(account: Account, asked: Question, seen: Seen) -> BestArms:
    """The arms that are possible."""
    if asked.best != PROMISES:
        return best_arms(*seen, delta=asked.delta, best=asked.best, active=account.active)
    if account.plays == 1 and not account.groups and account.caps is None:  # all that is free is the best arm's
        one = best_arms(*seen, delta=asked.delta, best=1, active=account.active)
        promised = 0.0 if account.fractions is None else float(account.fractions[account.active].sum())
        return replace(one, epsilon=one.epsilon * max(1.0 - promised, 0.0))
    at, arms = np.flatnonzero(account.active), len(account.names)
    unknown = (seen.most - seen.least)[at]
    low, high = mean(Sums(seen.number[at] - unknown, seen.least[at]), simultaneous(1.0 - asked.delta, len(at)), unknown)
    floors = np.zeros(arms) if account.fractions is None else account.fractions
    caps = np.ones(arms) if account.caps is None else account.caps
    gain = gaining(low, high, partial(shares_for, account), floors[at], caps[at])
    possible, chosen = np.zeros((2, arms), dtype=bool)
    possible[at], chosen[at] = gain.possible, gain.chosen
    return BestArms(possible, chosen, gain.epsilon, gain.certain)


def _stops(account: Account, asked: Question, found: BestArms) -> bool:
    return found.certain or (asked.epsilon > 0.0 and found.epsilon * account.limits.width <= asked.epsilon)


def _unknown(account: Account) -> str:
    """How many rewards are not known, or came after their window; empty for none."""
    late = round(float(account.late.sum()))
    rest = round(float((account.pulls - account.certain).sum())) - late
    parts = [number_of(rest, "reward that is not known", "rewards that are not known")] * (rest > 0)
    parts += [number_of(late, "reward that came after its window", "rewards that came after their window")] * (late > 0)
    return listed(parts) if parts else ""


def _premises(account: Account, independent: bool) -> tuple[Claim, tuple[str, ...]]:
    """What is claimed, and under which premises, or why nothing is."""
    low, high = account.limits
    false = []
    if account.changes is not None and account.changes.any():
        false.append("the policy found that the rewards of an arm have changed")
    if account.by_totals:
        false.append("rewards came as totals of rounds, which do not say which arm earned them")
    clauses = ["the mean reward of each arm stays the same over time", f"no reward is below {low:g} or above {high:g}"]
    unknown = _unknown(account)
    if independent and unknown:
        clauses.append(f"whether and when a reward arrives does not depend on its value ({unknown})")
    elif unknown:
        clauses.append(f"{unknown} may be anything")
    if account.plays > 1:
        clauses.append("rewards of arms that play in the same round are independent")
    if (account.seen < account.rounds).any():
        clauses.append("one counts anew from when an arm was added")
    return ("not_claimed", tuple(false)) if false else ("holds_if", tuple(clauses))


def _answer(
    account: Account,
    asked: Question,
    found: BestArms,
    known: Seen,
    part: float,
    claim: Claim,
    premises: tuple[str, ...],
) -> Stopping:
    """The answer to a question of which a part of δ was spent, with what is claimed and the premises."""
    stops = _stops(account, asked, found)
    means = known.least / np.maximum(known.number, 1.0)
    order = np.lexsort((-means, known.number <= 0.0)).tolist()
    rounds: tuple[int | None, int | None] = (0, 0) if stops else (None, None)
    if not stops and asked.best != PROMISES and account.round:
        rounds = _rounds(account, asked._replace(delta=part), known, means)
    answer = Stopping(
        stop=stops and claim != "not_claimed",
        candidates=tuple(account.names[place] for place in order if found.possible[place]),
        chosen=tuple(account.names[place] for place in order if found.chosen[place]),
        epsilon_now=found.epsilon * account.limits.width,
        rounds=(None, None) if claim == "not_claimed" else rounds,
        claim=claim,
        premises=premises,
        sentences=(),
    )
    return replace(answer, sentences=tuple(map(account.say, _sentences(account, asked, answer, found.certain))))


def _rounds(account: Account, asked: Question, known: Seen, means: Array) -> tuple[int | None, int | None]:
    """From when to when it is likely that one may stop, in rounds from now."""
    pace = account.recent_plays * known.number / np.maximum(account.pulls, 1.0)
    exactly, latest = asked.epsilon / account.limits.width, FARTHEST * account.round
    options: Any = (asked.delta, asked.best, account.active, exactly, latest)
    ends = rounds_to_go(means, known.number, pace, *options)
    first, last = (math.ceil(end) if math.isfinite(end) else None for end in ends)
    return first, last


def _sentences(account: Account, asked: Question, answer: Stopping, certain: bool) -> list[str]:
    """The answer in words."""
    if answer.claim == "not_claimed":
        return [f"Nothing is claimed, since {listed(answer.premises)}."]
    error, taken = f"error at most {percent(asked.delta)}", named(answer.chosen)
    by = account.words.amount(f"{answer.epsilon_now:.3g}")
    if asked.best == PROMISES:
        found = f"the best shares under the promises give {taken} more than a minimum, and no other arm"
        missed, kind = f"shares that give more to {taken} miss at most {by} per round", "be given more"
    else:
        found = f"{taken} {'are the best arms' if len(answer.chosen) > 1 else 'is the best arm'}"
        missed = f"no other arm is better than {taken} by more than {by} per play"
        kind = "be the best" if asked.best == 1 else f"be among the {asked.best} best"
    if answer.stop:
        lines = [f"Yes: {found if certain else missed} ({error})."]
    else:
        arms = number_of(len(answer.candidates), "arm")
        lines = [f"Not yet: {arms} can still {kind}: {named(answer.candidates)}."]
        if account.known.any():
            lines += [f"What is sure by now: {missed} ({error}).", *_forecast(account, asked, answer.rounds)]
    sure = f"if {listed(answer.premises)}" if answer.premises else "whatever changes over time"
    return [*lines, f"This holds however often one looks, {sure}."]


def _forecast(account: Account, asked: Question, rounds: tuple[int | None, ...]) -> list[str]:
    """When one may likely stop; nothing where that is not foreseen."""
    first, last = rounds
    if asked.best == PROMISES or not account.round or account.contextual:
        return []
    far, lead = f"within ten times the {number_of(account.round, 'round')} so far", "At the present shares"
    if first is None:
        return [f"{lead}, that is not to be expected {far}."]
    if last is None:
        return [f"{lead}, one may stop after {number_of(first, 'more round')} at the earliest, perhaps not {far}."]
    if last > WIDE * first:
        return [f"{lead}, one may stop after {number_of(first, 'more round')} at the earliest, perhaps after {last:,}."]
    return [f"{lead}, one may likely stop after {first:,} to {last:,} more rounds."]
