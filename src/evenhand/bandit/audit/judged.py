"""The judgement of every promise of a bandit: by `evenhand.judgement`, from the whole ledger."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.bandit.audit.account import Account
from evenhand.bandit.audit.costing import deserved_shares, scaled_means
from evenhand.bandit.ledger import InSegment, Kind, Promised
from evenhand.core.dataclasses import dataclass
from evenhand.core.state import Array, Mask
from evenhand.judgement.judge import MISSED, VERDICTS, Judgement, Judgements, judge, judge_rates
from evenhand.judgement.keeping import Keeping
from evenhand.judgement.merits import allowed_shares
from evenhand.judgement.sentences import WHOLE, Case, briefly, of_all, resting, sentence
from evenhand.messages.audit_text import plain
from evenhand.messages.lines import BoundLine
from evenhand.messages.words import in_segment
from evenhand.policy.merit import Merit


@dataclass(frozen=True)
class Judged:
    """What can be said of each promise that has begun."""

    places: NDArray[np.intp]  # (n,), the arms that are promised a share
    arms: Judgements | None  # of these
    shares: Array  # (arms,)
    names: tuple[str, ...]
    bounds: tuple[tuple[int, Promised, Case], ...]  # of groups and largest shares, each with the place of its line
    rewards: bool = False  # whether rewards per round are promised, not plays

    def tally(self) -> tuple[int, int, int]:
        """How many promises are kept, missed and undecided."""
        counts = np.zeros(3, dtype=int) if self.arms is None else np.bincount(self.arms.verdicts, minlength=3)
        for _, _, case in self.bounds:
            counts[VERDICTS.index(case.judgement.verdict)] += 1
        kept, missed, undecided = counts.tolist()
        return kept, missed, undecided

    def words(self) -> list[tuple[str | None, str | None]]:
        """The verdict on the promised share of each arm, and the same briefly; None where none has begun."""
        found: list[tuple[str | None, str | None]] = [(None, None)] * len(self.names)
        arms = self.arms
        for at, place in enumerate(self.places.tolist() if arms is not None else ()):
            assert arms is not None
            word = VERDICTS[arms.verdicts[at]]
            found[place] = word, briefly(self.case("", place, arms[at])) if word == "missed" else word
        return found

    def of_bounds(self, lines: Sequence[BoundLine]) -> tuple[BoundLine, ...]:
        """The lines of groups and largest shares, each with what became of it: the worse of the two."""
        worst = {at: case for at, _, case in sorted(self.bounds, key=lambda one: _urgency(one[2]))}
        return tuple(
            replace(line, verdict=worst[at].judgement.verdict, standing=briefly(worst[at])) if at in worst else line
            for at, line in enumerate(lines)
        )

    def of_arm(self, place: int) -> Judgement | None:
        """The judgement of the share of an arm; None where none is promised, or it has not begun."""
        at = int(np.searchsorted(self.places, place))
        known = self.arms is not None and at < len(self.places) and self.places[at] == place
        return self.arms[at] if known and self.arms is not None else None

    def of(self, promise: Promised) -> Case | None:
        """The case of a promise; None where there is none, or it has not begun."""
        kind, place = promise
        if kind == "share" and isinstance(place, int):
            found = self.of_arm(place)
            return None if found is None else self.case(plain(self.names[place]), place, found)
        return next((case for _, one, case in self.bounds if one == promise), None)

    def missed(self) -> list[Promised]:
        """The promises that are missed."""
        arms = [] if self.arms is None else self.places[self.arms.are(MISSED)].tolist()
        bounds = [promise for _, promise, case in self.bounds if case.judgement.verdict == "missed"]
        return [*(("share", place) for place in arms), *bounds]

    def worst(self) -> Case | None:
        """The promise that is furthest from being kept: of those that are missed, then of those that are undecided."""
        cases = sorted(self._candidates(), key=_urgency)
        return cases[-1] if cases else None

    def _candidates(self) -> Iterator[Case]:
        """For each verdict the arm that is furthest behind, and all bounds."""
        yield from (case for _, _, case in self.bounds)
        if self.arms is not None:
            for verdict in range(3):
                of_these = np.flatnonzero(self.arms.are(verdict))
                if len(of_these):
                    at = int(of_these[self.arms.behind[of_these].argmax()])
                    place = int(self.places[at])
                    yield self.case(plain(self.names[place]), place, self.arms[at])

    def case(self, subject: str, place: int, found: Judgement) -> Case:
        """The promise to an arm."""
        return Case(subject, float(self.shares[place]), found, reward=self.rewards)


def _urgency(case: Case) -> tuple[bool, bool, bool, float]:
    verdict = case.judgement.verdict
    return verdict == "missed", verdict == "undecided", case.by_rule, case.judgement.behind


def judged(account: Account) -> Judged:
    """Judge all promises; of arms that are retired there is none."""
    return Judged(*_of_arms(account), account.names, tuple(_of_bounds(account)), account.rates is not None)


def _of_arms(account: Account) -> tuple[NDArray[np.intp], Judgements | None, Array]:
    """The arms to which something is promised, its judgement, and the shares or rewards per round."""
    if account.rates is not None:
        return _of_rates(account, account.rates)
    if account.merit is not None:
        return _of_merit(account, account.merit)
    shares = np.zeros(len(account.names)) if account.fractions is None else account.fractions
    places = np.flatnonzero(account.active & (shares > 0.0) & (account.rounds_promised > 0) & ~_not_yet(account))
    if not len(places):
        return places, None, shares
    if account.kept_for_price:
        plays = (account.pulls - account.plays_before)[places]
    else:
        plays = account.balance.paid[places].astype(float)
    due = plays + account.deficits[places]
    return places, judge(account.keeping, due, plays, account.rounds_promised[places], online=True), shares


def _not_yet(account: Account) -> Mask:
    """(arms,), of whose promises for all rounds nothing was asked yet."""
    asleep = (account.seen > 0.0) & (account.missed >= account.seen)
    plays = account.pulls - account.plays_before
    return _unasked(account.since, asleep, account.balance.promises > 0, plays, account.deficits)


def _unasked(since: Any, asleep: Any, before: Any, plays: Any, owed: Any) -> Mask:
    """Whether nothing was asked of promises that began after the first round, or of arms that could never play.

    They are the first ones to their arms, which have no play yet, and are not more than one behind.
    """
    late = np.greater(since, 0.0) | asleep
    return np.asarray(late & np.logical_not(before) & np.less_equal(plays, 0.0) & np.less_equal(owed, WHOLE))


def _of_rates(account: Account, rates: Array) -> tuple[NDArray[np.intp], Judgements | None, Array]:
    """Guaranteed rewards per round."""
    places = np.flatnonzero(account.active & (rates > 0.0) & (account.seen > 0))
    if not len(places) or account.rewarded is None:
        return places[:0], None, rates
    earned = account.limits.scale(account.sums, account.known)[places]
    unknown = (account.pulls - account.known)[places]
    return places, judge_rates(rates[places], earned, account.seen[places], unknown, online=True), rates


def _of_merit(account: Account, merit: Merit) -> tuple[NDArray[np.intp], Judgements | None, Array]:
    """Shares by merit, beside those that the intervals of the means allow; none where arms came, went or slept, or each
    round has merits of its own.
    """
    rounds, arms = float(account.rounds), len(account.names)
    stayed = (
        not account.contextual and account.active.all() and not account.missed.any() and (account.seen == rounds).all()
    )
    if not stayed or not rounds or not account.known.all():
        return np.empty(0, dtype=np.intp), None, np.zeros(arms)
    least, most = allowed_shares(merit, *scaled_means(account, account.active), account.plays)
    due = (rounds * least, rounds * most)
    found = judge(account.keeping, due[0], account.pulls, rounds, online=True, due_at_most=due[1])
    return np.arange(arms), found, deserved_shares(account)


def _of_bounds(account: Account) -> Iterator[tuple[int, Promised, Case]]:
    """The promises to groups, and the largest shares of groups and arms, that have begun."""
    for at, line in enumerate(account.bounds):
        grouped = line.kind == "group"
        name = f"the group {plain(line.name)}" if grouped else plain(line.name)
        if line.rounds and grouped and line.at_least > 0.0:
            found = _of_bound(account.keeping, line, line.owed, account.plays)
            yield at, ("group", line.name), Case(name, line.at_least, found)
        if line.rounds and line.kind == "segment":
            within = InSegment(line.segment, account.names.index(line.name))
            before = within in account.ended_within
            if _unasked(line.since, line.available == 0.0, before, line.plays, line.owed):
                continue
            found = _of_bound(account.keeping_within, line, line.owed, 1)
            case = Case(name, line.at_least, found, segment=plain(line.segment))
            yield at, ("segment", within), case
        if line.rounds and line.at_most is not None and line.excess is not None:
            found = _of_bound(account.keeping, line, -line.excess, account.plays, cap=True)
            kind: Kind = "group_cap" if grouped else "cap"
            holder = line.name if grouped else account.names.index(line.name)
            yield at, (kind, holder), Case(name, line.at_most, found, cap=True)


def _of_bound(keeping: Keeping, line: BoundLine, behind: float, plays: int, cap: bool = False) -> Judgement:
    made = np.array([float(line.plays)])
    return judge(keeping, made + behind, made, line.rounds, online=True, cap=cap, at_once=float(plays))[0]


def verdict(account: Account, found: Judged) -> str:
    """What became of the promises, and which is furthest from being kept, in a sentence."""
    if account.round == 0:
        return "Nothing has been decided yet."
    kept, missed, undecided = found.tally()
    rests = [(plain(account.names[at]), float(account.deficits[at])) for at in waiting(account)]
    rests += [(in_segment(*map(plain, of)), owed) for of, owed in account.waiting_within.items()]
    of_whom = "accounts" if account.waiting_within else "arms"
    worst, rest = found.worst(), resting(sorted(rests, key=lambda one: -one[1]), of_whom)
    promised = account.bounds or account.rates is not None or (found.shares * account.active).any()
    text = "The promises begin with the next round" if promised else "No share is promised to any arm"
    begun = account.active & (found.shares > 0.0) & (account.rounds_promised > 0)
    if account.owed_within or (begun & _not_yet(account)).any():  # the next round may be in no such segment
        text = "No promise has been due more than a play yet"
    if kept + missed + undecided:
        text = of_all(kept, missed, undecided, _waits(account, found))
        if undecided == kept + missed + undecided and worst is not None and not worst.by_rule:
            text = f"No promise is known to be missed; {text[0].lower()}{text[1:]}"
        text += f"; {sentence(worst)}" if worst is not None and missed + undecided else ""
        rest = "The shares follow the merit of the arms, as it is estimated in each round" if account.merit else rest
    elif account.merit is not None:
        text = "The shares follow the merit of the arms, as it is estimated in each round"
    return f"{text}. {rest}." if rest else f"{text}."


def _waits(account: Account, found: Judged) -> int:
    """How many promises are not judged, as at most a play was due."""
    if account.rates is not None or account.merit is not None:
        return 0
    promised = np.count_nonzero(account.active & (found.shares > 0.0))
    promised += sum(line.at_most is not None for line in account.bounds)
    promised += sum(line.kind != "arm" and line.at_least > 0.0 for line in account.bounds)
    return int(promised) - sum(found.tally())


def waiting(account: Account) -> NDArray[np.intp]:
    """The arms that are owed more than a play, for which nothing is promised now; the largest arrears first."""
    none = np.ones(len(account.names), dtype=bool) if account.fractions is None else account.fractions == 0.0
    none &= account.active & (account.keeping.keeps == "count")  # the others repay nothing
    places = np.flatnonzero(none & (account.deficits > WHOLE))
    return places[np.argsort(-account.deficits[places], kind="stable")]
