"""What is said of promises: one table of sentences, each with the premise under which it is true."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from evenhand.core.numbers import amount, percent
from evenhand.judgement.judge import Judgement, Judgements, Verdict
from evenhand.messages.words import in_segment

NAMED = 3  # arms that a sentence names
WHOLE = 1.0 + 1e-9  # plays behind that any policy must allow which decides in whole plays
ALL = ("both", "all three", "all four", "all five", "all six", "all seven", "all eight", "all nine", "all ten")


@dataclass(frozen=True)
class Case:
    """A promise that is spoken of: to whom, which share, and how it was judged."""

    subject: str
    share: float
    judgement: Judgement
    cap: bool = False
    reward: bool = False  # whether a reward per round is promised, not plays
    segment: str = ""  # of whose rounds alone it is; empty for all rounds

    def to_json(self) -> dict[str, Any]:
        """Plain values: ``to``, ``share``, ``cap``, ``reward``, ``segment``, and those of the judgement."""
        named = {"to": self.subject, "share": self.share, "cap": self.cap, "reward": self.reward}
        return named | {"segment": self.segment} | asdict(self.judgement)

    @property
    def to(self) -> str:
        """The subject, in its segment."""
        return in_segment(self.subject, self.segment) if self.segment else self.subject

    @property
    def name(self) -> str:
        """As `to`; a number becomes ``arm 3``, so that it cannot be taken for a number of plays."""
        return f"arm {self.to}" if self.subject.isdigit() else self.to

    @property
    def by_rule(self) -> bool:
        """Whether more than the tolerance is surely missing, and the policy's rule allows it."""
        found = self.judgement
        return found.verdict == "undecided" and found.low > found.tolerance

    @property
    def bound(self) -> str:
        """What was promised."""
        if self.cap:
            return f"its largest share of {percent(self.share)}"
        promised = f"reward of {self.share:.3g} per round" if self.reward else percent(self.share)
        return f"the {promised} that it was promised"

    @property
    def off(self) -> str:
        """Who is behind or above what was promised, and by how much."""
        return f"{self.name} is {self.amount(self.judgement.behind)} {'above' if self.cap else 'behind'} {self.bound}"

    def amount(self, number: float) -> str:
        """A number of plays, or of reward."""
        return f"{plays(number)} of reward" if self.reward else counted(number)

    @property
    def interval(self) -> str:
        """The ends of what is missing, such as "between 3 plays ahead and 21 behind"."""
        low, high = self.judgement.low, self.judgement.high
        less, more = ("below", "above") if self.cap else ("ahead", "behind")
        if low < 0.0 < high:
            return f"between {self.amount(-low)} {less} and {plays(high)} {more}"
        near, far = sorted((abs(low), abs(high)))
        return f"between {plays(near)} and {self.amount(far)} {more if low >= 0.0 else less}"

    @property
    def at_least(self) -> str:
        """The lower end of what is missing, where it is not known exactly."""
        found = self.judgement
        return f", and at least {plays(found.low)} by the interval" if found.low < found.behind else ""

    @property
    def allowed(self) -> str:
        """What allows arrears, and from which round on they are within the tolerance."""
        return f"as {self.judgement.parameter or 'its policy'} allows; {small(self.judgement)}"

    @property
    def needed(self) -> str:
        """How much more would decide."""
        found = self.judgement
        ways = [f"{about(found.rounds_needed)} rounds"] if found.rounds_needed is not None else []
        ways += [f"{about(found.lanes_needed)} lanes"] if found.lanes_needed is not None else []
        far = "it would not be decided within ten times the rounds so far"
        return f"; about {' or '.join(ways)} would decide" if ways else f"; {far}"


def small(found: Judgement) -> str:
    """From when on the policy's rule allows no more than is tolerated."""
    if found.rounds_needed is None:
        return "that never becomes less than 1% of what is due"
    return f"from about round {about(found.rounds_needed)} on that is less than 1% of what is due"


class Sentence(NamedTuple):
    """A sentence, and when it is true."""

    premise: Callable[[Case], bool]
    text: Callable[[Case], str]


def _when(verdict: Verdict, premise: Callable[[Case], bool] = lambda case: True) -> Callable[[Case], bool]:
    return lambda case: case.judgement.verdict == verdict and premise(case)


def _whole(case: Case) -> bool:
    return case.judgement.behind <= WHOLE


#: Of these exactly one is true of a promise.
PROMISES = (
    Sentence(_when("kept", _whole), lambda case: f"{case.name} {'keeps to' if case.cap else 'has'} {case.bound}"),
    Sentence(
        _when("kept", lambda case: not _whole(case)),
        lambda case: f"{case.off}, which is no more than 1% of {'it' if case.cap else 'what is due'}",
    ),
    Sentence(_when("missed"), lambda case: f"{case.off}{case.at_least}"),
    Sentence(_when("undecided", lambda case: case.by_rule), lambda case: f"{case.off}, {case.allowed}"),
    Sentence(
        _when("undecided", lambda case: not case.by_rule),
        lambda case: (
            f"{case.name} is {case.interval} {case.bound}, so it is undecided whether that is kept{case.needed}"
        ),
    ),
)


#: Of arms that were never further behind than `WHOLE`.
CLOSE = "No arm was ever more than one play behind its promise, which is as close as whole plays can come."


def sentence(case: Case) -> str:
    """What is true of a promise, without the full stop."""
    return next(one.text(case) for one in PROMISES if one.premise(case))


def briefly(case: Case) -> str:
    """What is true of a promise in a few words, for a table."""
    found = case.judgement
    off = f"{case.amount(found.behind)} {'above its largest share' if case.cap else 'behind'}"
    return off if found.verdict == "missed" else found.verdict


def forecast(worst: Judgement, rounds: int) -> str:
    """How far a policy may be behind the smallest promise after so many rounds, and what allows it."""
    missing = f"up to {counted(worst.behind)} may be missing after {rounds:,} rounds"
    return f"{missing}, as {worst.parameter} allows; {small(worst)}"


def of_all(kept: int, missed: int, undecided: int, waiting: int = 0) -> str:
    """What became of all promises, as a sentence without the full stop; of some it may be too early to say."""
    count = kept + missed + undecided
    if waiting:
        known = ((kept, "kept"), (missed, "missed"), (undecided, "undecided"))
        parts = [f"{number:,} {_are(number)} {word}" for number, word in known if number]
        first, *more = [*parts, f"{waiting:,} {'has' if waiting == 1 else 'have'} not been due more than a play"]
        some, rest = first.split(" ", 1)
        return ", ".join([f"{some} {'promise' if some == '1' else 'promises'} {rest}", *more])
    if count == 1 and undecided:
        return "It is undecided whether the promise is kept"
    for number, word in ((kept, "kept"), (missed, "missed")):
        if number == count:
            whole = {1: "The promise is", 2: "Both promises are"}.get(count, f"All {count:,} promises are")
            return f"{whole} {word}"
    if undecided == count:
        return f"It is undecided whether {all_of(count)} promises are kept"
    parts = [f"{kept:,} of {count:,} promises {_are(kept)} kept"]
    parts += [
        f"{number:,} {_are(number)} {word}" for number, word in ((missed, "missed"), (undecided, "undecided")) if number
    ]
    return listed(parts)


def in_settings(kept: int, missed: int, undecided: int) -> str:
    """In how many settings of a study a policy kept all of its promises, as the predicate of a sentence."""
    count = kept + missed + undecided
    if not count:
        return "promised no share"
    everywhere = "" if count == 1 else f" in {all_of(count)} settings"
    if count in (kept, missed):
        return f"kept all promises{everywhere}" if kept else f"missed some promise{everywhere}"
    if undecided == count:
        return f"may have kept all promises{everywhere} (undecided)"
    parts = [f"kept all promises in {kept:,} of {count:,} {'setting' if count == 1 else 'settings'}"]
    parts += [f"missed some in {missed:,}"] if missed else []
    return listed(parts) + (f" ({undecided:,} undecided)" if undecided else "")


def resting(owed: Sequence[tuple[str, float]], of_whom: str = "arms") -> str:
    """To whom plays are owed that wait for the next promise, the most first, without the full stop."""
    if not owed:
        return ""
    (name, most), *more = owed
    text = f"{name} is owed {counted(most)}"
    if more:
        return f"{len(owed):,} {of_whom} are owed plays, which wait for their next promises; {text}"
    return f"{text}, which wait for its next promise"


def deed(cases: Sequence[Case], noun: str = "promise") -> str:
    """What a policy of a simulation did with its promises, as the predicate of a sentence."""
    several = noun.replace("promise", "promises").replace("share", "shares")
    kept = sum(case.judgement.verdict == "kept" for case in cases)
    undecided = [case for case in cases if case.judgement.verdict == "undecided" and not case.by_rule]
    count, off = len(cases), _off(cases)
    if kept == count:
        return f"kept its {noun}" if count == 1 else f"kept {all_of(count)} {several}"
    some = f"{kept:,} of {count:,} {several}"
    if off:
        aside = [f"{some} kept"] * (count > 1) + ([unsure(undecided)] if undecided else [])
        return off + f" ({', '.join(aside)})" * bool(aside)
    return f"may have kept its {noun} ({unsure(undecided)})" if count == 1 else f"kept {some} ({unsure(undecided)})"


def unsure(undecided: Sequence[Case]) -> str:
    """How many promises are undecided, and how many lanes would decide about all of them."""
    lanes = [one.judgement.lanes_needed for one in undecided]
    known = [one for one in lanes if one is not None]
    more = f"; about {about(max(known))} lanes would decide" if len(known) == len(lanes) else ""
    return f"{len(undecided):,} undecided{more}"


def _off(cases: Sequence[Case]) -> str:
    """Who is furthest behind or above its largest share, and by how much; empty for nobody."""
    cases = sorted(cases, key=lambda one: -one.judgement.behind)
    missed, by_rule = [one for one in cases if one.judgement.verdict == "missed"], [one for one in cases if one.by_rule]
    parts = _amounts([one for one in missed if not one.cap], "left {} short by {}")
    parts += _amounts([one for one in missed if one.cap], "let {} exceed its largest share by {}")
    owed = _amounts([one for one in by_rule if not one.cap], "is behind with {} by {}")
    owed += _amounts([one for one in by_rule if one.cap], "is above the largest share of {} by {}")
    allows = [f"{listed(owed)}, as {by_rule[0].judgement.parameter or 'its rule'} allows"] if owed else []
    return listed(parts + allows) if parts or allows else ""


def _amounts(missed: Sequence[Case], phrase: str) -> list[str]:
    if not missed:
        return []
    names = [one.name for one in missed[:NAMED]]
    numbers = [f"{one.judgement.behind:,.0f}" for one in missed]
    unit = "of reward" if missed[0].reward else "play" if numbers[0] == "1" else "plays"
    parts = [f"{name} by {number}" for name, number in zip(names[1:], numbers[1:NAMED], strict=True)]
    parts.insert(0, phrase.format(names[0], f"{numbers[0]} {unit}"))
    if (more := len(missed) - NAMED) > 0:
        parts.append(f"1 more arm by {numbers[NAMED]}" if more == 1 else f"{more} more arms by up to {numbers[NAMED]}")
    return parts


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence with commas, and "and" before the last."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def tally(found: Sequence[Judgements]) -> tuple[int, int, int]:
    """How many promises are kept, missed and undecided."""
    kept, missed, undecided = (sum(int((one.verdicts == place).sum()) for one in found) for place in range(3))
    return kept, missed, undecided


def all_of(count: int) -> str:
    """All of at least two, in words as far as ten."""
    return ALL[count - 2] if count <= 10 else f"all {count:,}"


plays = amount  # a number of plays


def counted(number: float) -> str:
    """A number of plays with its noun."""
    return f"{plays(number)} {'play' if plays(number) == '1' else 'plays'}"


def about(number: float) -> str:
    """A number of rounds or lanes, to two digits, rounded up."""
    digits = 10.0 ** max(0, math.floor(math.log10(max(number, 1.0))) - 1)
    return f"{math.ceil(number / digits - 1e-9) * digits:,.0f}"


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
