"""A policy in use: named arms, decisions, late reports, changes of arms and promises."""

from __future__ import annotations

import base64
import json
import math
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import __version__, validate
from evenhand.availability import Always
from evenhand.cadence import EveryRound
from evenhand.errors import EvenhandError, StateError, nearest
from evenhand.fairness import Queue, missing, owed
from evenhand.feasibility import check_shares
from evenhand.holds import HoldFor, RandomEnds
from evenhand.index import Heedful
from evenhand.online.book import Book, Entry, ReportError
from evenhand.online.given import HINTED, as_plain, by_arm, from_plain, limits, named
from evenhand.online.growing import grown, welcome
from evenhand.online.propensities import Propensities, copied, draws, propensities
from evenhand.online.tallies import RECENT, Places, Tallies
from evenhand.online.trail import Trail
from evenhand.policy import Policy
from evenhand.records import Array, Begun, Decision, Feedback, Mask, State, dump, restore
from evenhand.results import write_whole

if TYPE_CHECKING:
    from evenhand.online.audit import Audit

FORMAT = 1
#: Parameters with one value an arm.
BY_ARM = ("fractions", "penalties", "weights")
#: Cadences under which arms may come and go: the others follow a schedule that is fixed at the start.
CHANGEABLE = (EveryRound, HoldFor, RandomEnds)
FAR = 1e15  # seconds from the epoch, beyond any clock
#: Errors that a damaged description leads to.
DAMAGE = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


@dataclass(eq=False)  # frozen, it would take three times as long to make, and one is made in every round
class Choice:
    """A decision: who plays in a round.

    Attributes:
        id: names the decision in reports.
        round: counted from 1.
        arms: those that play, the surest first.
        version: of the policy: the number of changes of arms and promises so far.
        sure: the chance with which each of ``arms`` was to play, in their order, where the policy has a closed form;
            else None, and `propensities` estimates it.
    """

    id: str
    round: int
    arms: tuple[str, ...]
    version: int
    sure: tuple[float, ...] | None
    _names: tuple[str, ...] = field(repr=False)
    _awake: Mask = field(repr=False)
    _chances: Callable[[Sequence[str]], Propensities] = field(repr=False)

    @cached_property
    def available(self) -> tuple[str, ...]:
        """The arms that could play."""
        return tuple(self._names[place] for place in np.flatnonzero(self._awake).tolist())

    @cached_property
    def propensities(self) -> Propensities:
        """The chance with which every available arm was to play, given all that was known before.

        Exact where the policy has a closed form; otherwise estimated, when first asked, from lanes that decide from the
        same state, with a standard error.
        """
        return self._chances(self.available)


class Bandit:
    """Named arms on top of a policy: decides, takes reports at any time, and knows what each arm was promised and got.

    The policy is the very code that is simulated, in a single lane. All randomness comes from the seed: a bandit that
    is saved and loaded goes on as if nothing had happened.

    Args:
        arms: their names, each once.
        algorithm: a name of `evenhand.algorithms`.
        plays: m, arms that play a round.
        seed: of all randomness.
        window: seconds after which a report that is missing is not waited for any more; None for never.
        missing: what a report that never came counts as: ``"lost"`` (never known) or ``"zero"`` (a reward of 0).
        rewards: the smallest and the largest reward; others are refused. None takes any.
        **parameters: the algorithm's; those with one value an arm as a list in the order of ``arms``, or by name.

    Raises:
        EvenhandError: a parameter is missing, unknown or out of range.
        InfeasiblePromise: the promised shares cannot be kept.

    Example:
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2}, seed=1)
        >>> choice = bandit.decide()
        >>> choice.id, choice.arms, choice.propensities.chances
        ('1', ('tea',), {'tea': 1.0, 'coffee': 0.0})
        >>> bandit.observe(choice.id, {"tea": 1.0})
        {'tea': 'accepted'}
        >>> bandit.observe(choice.id, {"tea": 1.0})
        {'tea': 'duplicate'}
    """

    def __init__(
        self,
        arms: Sequence[str],
        algorithm: str,
        *,
        plays: int = 1,
        seed: int = 0,
        window: float | None = None,
        missing: str = "lost",
        rewards: tuple[float, float] | None = (0.0, 1.0),
        **parameters: Any,
    ) -> None:
        names = named(arms)
        if not isinstance(algorithm, str):
            raise EvenhandError(f"algorithm must be a name such as 'fucb', got {algorithm!r}")
        self.algorithm, self.plays = algorithm, validate.whole("plays", plays)
        self.seed = validate.whole("seed", seed, low=0)
        self.missing = validate.one_of("missing", missing, ("lost", "zero"))
        self.range = None if rewards is None else limits(rewards)
        self.version = 0
        given = {name: by_arm(name, value, names) if name in BY_ARM else value for name, value in parameters.items()}
        self._adopt(names, given, set(), self._built(names, given))
        self.state = self._begun(self.policy, len(names))
        self.rng = np.random.default_rng(self.seed)
        self.book = Book(window)
        self.tallies = Tallies.empty(len(names))
        self.trail = Trail()
        self._recent: deque[bytes] = deque(maxlen=RECENT)  # who was available of late, packed
        self._summed: int | None = None  # the last round whose anonymous sum is known

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, available: Iterable[str] | None = None, now: float | None = None) -> Choice:
        """Who plays the next round.

        Args:
            available: names of the arms that can play; None for all that are not retired.
            now: seconds since the epoch; None for the computer's clock.

        Raises:
            EvenhandError: an arm is unknown, retired or named twice, nobody is available, or the policy cannot go on
                beyond its horizon; no decision is made then.

        Example:
            >>> Bandit(["tea", "coffee"], "ucb1").decide(available=["coffee"]).arms
            ('coffee',)
        """
        now = self._now(now)
        awake, mask, packed = self._usual if available is None else _masks(self._awake(available))
        self._close(now)
        decision, before = self._decided(mask)
        (played,) = decision.played.nonzero()
        if len(played) > 1:
            played = played[np.argsort(-1.0 * decision.vector[played], kind="stable")]
        places = played.tolist()
        name, arms = str(decision.round), tuple([self.names[place] for place in places])
        self.book.enter(name, arms, now)
        if mask is not None:
            self.tallies.miss(mask)
        self._recent.append(packed)
        self._note_deficits(places, now)
        seed = (self.seed, decision.round)
        chances = partial(propensities, self.policy, before, mask, decision, self._place, seed)
        sure = tuple(map(float, decision.vector[played].tolist())) if before is None else None
        return Choice(name, decision.round, arms, self.version, sure, self.names, awake, chances)

    def _decided(self, mask: Mask | None) -> tuple[Decision, State | None]:
        """The policy's decision, and the state before it where the policy draws.

        Only such a policy can fail when it has changed something already; then all is put back as it was.
        """
        if not self._draws:
            self._tell_silence()
            return self.policy.decide(self.state, self.rng, mask), None
        kept, random = copied(self.state), self.rng.bit_generator.state
        try:
            before = copied(self.state) if self._tell_silence() else kept
            return self.policy.decide(self.state, self.rng, mask), before
        except BaseException:
            self.state, self.rng.bit_generator.state = kept, random
            raise

    def check_available(self, available: Iterable[str] | None) -> None:
        """Raise what `decide` would say to arms that cannot be available; several decisions can be checked first."""
        if available is not None:
            self._awake(available)

    # --- reports ------------------------------------------------------------------------------------------------------

    def observe(self, decision: str, rewards: Mapping[str, float], now: float | None = None) -> dict[str, str]:
        """Take in what arms earned, at any time, in any order, one by one or together.

        A report that was made before changes nothing. What arrives after the window is written down and not learned
        from.

        Args:
            decision: its id.
            rewards: by the names of arms that it played.
            now: seconds since the epoch; None for the computer's clock.

        Returns:
            For each arm ``"accepted"``, ``"duplicate"`` or ``"late"``.

        Raises:
            ReportError: the decision is unknown, an arm did not play in it, another reward was reported before, or the
                bandit takes no such reports; its ``status`` says which. Nothing is taken in then.
            EvenhandError: a reward is no number or out of range.
        """
        if not isinstance(decision, str):
            raise EvenhandError(f"a decision is named by its id, a text such as '1'; got {decision!r}")
        if not isinstance(rewards, Mapping):
            raise EvenhandError(f"rewards must be a mapping from arms to numbers, got {rewards!r}")
        now = self._now(now)
        self._close(now)
        told = {arm: self._reward(arm, reward) for arm, reward in rewards.items()}
        entry = self.book.find(decision)
        if entry is None:
            raise ReportError(f"there is no decision {decision!r}, or it has been settled for long", "unknown")
        found = {arm: self._judged(decision, entry, arm, reward) for arm, reward in told.items()}
        fresh = {arm: told[arm] for arm, status in found.items() if status == "accepted"}
        if fresh and self._summed is not None:
            raise ReportError("this bandit learns from totals (observe_total); it cannot take reports by decision, too")
        if fresh and self._needs_order and decision != str(self.state.round):
            raise ReportError(
                f"{self.algorithm} learns from the round just decided only, {self.state.round}, not from {decision}: "
                "report before the next decision, or as totals"
            )
        for arm, status in found.items():
            if status == "late":
                self.tallies.late[self._place[arm]] += 1.0
            if status != "duplicate":
                self.book.write(decision, arm, told[arm])
        for arm, reward in fresh.items():
            self.tallies.report(self._place[arm], reward, max(0.0, now - entry.time))
        if fresh:
            self._learn([self._place[arm] for arm in fresh], list(fresh.values()))
        return found

    def observe_total(self, value: float) -> None:
        """Take in the anonymous sum of the round just decided: all that arrived in it, whoever earned it.

        The sum is credited in equal parts to the arms that played in that round.

        Args:
            value: the sum.

        Raises:
            ReportError: no decision has been made, the round's sum is known, or there were reports by decision.
            EvenhandError: the sum is no finite number.
        """
        value, round = validate.number("value", value), self.state.round
        if round == 0:
            raise ReportError("no decision has been made, so there is nobody to credit a total to", "unknown")
        if self._summed == round:
            raise ReportError(f"the total of round {round} is known; decide before the next", "conflict")
        if self._summed is None and self.tallies.reports.any():
            raise ReportError("reports by decision have been made; this bandit cannot take totals, too")
        entry = self.book.waiting.get(str(round))
        if entry is None:
            raise ReportError(f"the window of round {round} has passed; decide before the next total")
        self.book.waiting.clear()  # rounds without a total are not waited for
        self._summed = round
        places = [self._place[arm] for arm in entry.rewards]
        self._learn(places, [value / len(places)] * len(places))

    def count_late(self, arm: str) -> None:
        """A report of an arm came so late that its decision has been forgotten: counted as late, and nothing else.

        Only whoever remembers more than the bandit, such as a log, can know that there was such a decision.

        Raises:
            EvenhandError: the arm is unknown.
        """
        self._known(arm)
        self.tallies.late[self._place[arm]] += 1.0

    @property
    def by_totals(self) -> bool:
        """Whether it has been told totals, and so takes no reports by decision."""
        return self._summed is not None

    def due(self, now: float | None = None) -> bool:
        """Whether the window of some decision has passed, so that `expire` would close it."""
        return self.book.due(self._now(now))

    def expire(self, now: float | None = None) -> dict[str, list[str]]:
        """Close the decisions whose window has passed; returns their ids with the arms whose reports are missing.

        Every decision and report does this first.
        """
        return self._close(self._now(now))

    def _close(self, now: float) -> dict[str, list[str]]:
        if not self.book.due(now):
            return {}
        closed = dict(self.book.expire(now))
        places = [self._place[arm] for arms in closed.values() for arm in arms]
        for place in places:
            self.tallies.lost[place] += 1.0
            if self.missing == "zero":
                self.tallies.learn(place, 0.0)
        if places and self.missing == "zero" and not self._needs_order:  # which hears of silence before a decision
            self._learn(places, [0.0] * len(places))
        return closed

    # --- changes ------------------------------------------------------------------------------------------------------

    def add(self, arm: str, **values: float) -> None:
        """A new arm; what it is owed counts from the next round.

        Args:
            arm: its name.
            **values: ``fraction``, ``penalty`` or ``weight`` of the arm, where the algorithm has such a parameter for
                each arm; a fraction left out is 0, a weight 1.

        Raises:
            InfeasiblePromise: the promises could not be kept any more; nothing changes then.
            EvenhandError: there is such an arm, or the policy follows a fixed schedule.
        """
        self._changeable()
        (arm,) = named([arm])
        if arm in self._place:
            raise EvenhandError(f"there is an arm {arm!r} already" + ("; bring it back" * (arm in self.retired)))
        names = (*self.names, arm)
        parameters = dict(self.parameters)
        for single, several, default in (
            ("fraction", "fractions", 0.0),
            ("penalty", "penalties", None),
            ("weight", "weights", 1.0),
        ):
            value = values.pop(single, None)
            if isinstance(parameters.get(several), list):
                value = default if value is None else value
                if value is None:
                    raise EvenhandError(f"{self.algorithm} needs a {single} for the new arm {arm!r}")
                parameters[several] = [*parameters[several], validate.number(single, value, low=0.0)]
            elif value is not None:
                raise EvenhandError(f"{self.algorithm} has no {single} for each arm here")
        if values:
            raise EvenhandError(
                f"unknown {next(iter(values))!r}{nearest(next(iter(values)), ('fraction', 'penalty', 'weight'))}"
            )
        self._change(names, parameters, self.retired, [arm])
        self._recent.clear()  # nobody knows whether the new arm would have been available

    def retire(self, arm: str) -> None:
        """An arm that does not play any more; its promise ends, reports of it are still welcome.

        Raises:
            EvenhandError: it is unknown or retired, too few would be left, or the policy follows a fixed schedule.
        """
        self._changeable()
        self._known(arm)
        if arm in self.retired:
            raise EvenhandError(f"arm {arm!r} is retired already")
        if len(self.names) - len(self.retired) <= self.plays:
            raise EvenhandError(f"{self.plays} arms play a round, so at least as many must stay; {arm!r} cannot retire")
        parameters = self._with("fractions", arm, 0.0)
        self._change(self.names, parameters, self.retired | {arm}, [arm])

    def bring_back(self, arm: str, fraction: float = 0.0) -> None:
        """A retired arm plays again, with all that is known of it; what it is owed counts from the next round.

        Args:
            arm: its name.
            fraction: its new promise, where the algorithm promises shares.

        Raises:
            InfeasiblePromise: the promises could not be kept any more; nothing changes then.
            EvenhandError: it is unknown or not retired.
        """
        self._known(arm)
        if arm not in self.retired:
            raise EvenhandError(f"arm {arm!r} is not retired")
        parameters = self._with("fractions", arm, validate.number("fraction", fraction, 0.0, 1.0))
        self._change(self.names, parameters, self.retired - {arm}, [arm])
        self._recent.clear()  # nobody knows whether it would have been available

    def promise(self, fractions: Mapping[str, float]) -> None:
        """Other promised shares for some arms; what these are owed counts from the next round.

        What an arm was owed under its old promise lapses; arms that are not named keep theirs, with all that they are
        owed.

        Raises:
            InfeasiblePromise: they cannot be kept; nothing changes then.
            EvenhandError: an arm is unknown or retired, or the algorithm promises no shares.
        """
        self._changeable()
        if not isinstance(self.parameters.get("fractions"), list):
            raise EvenhandError(f"{self.algorithm} promises no shares that could be changed")
        if not isinstance(fractions, Mapping):
            raise EvenhandError(f"fractions must be a mapping from arms to shares, got {fractions!r}")
        shares = list(self.parameters["fractions"])
        for arm, share in fractions.items():
            self._known(arm)
            if arm in self.retired:
                raise EvenhandError(f"arm {arm!r} is retired; bring it back with its share")
            shares[self._place[arm]] = validate.number(f"fractions[{arm!r}]", share, 0.0, 1.0)
        self._change(self.names, self.parameters | {"fractions": shares}, self.retired, list(fractions))

    # --- what it got --------------------------------------------------------------------------------------------------

    def audit(self, limit: int | None = None, now: float | None = None) -> Audit:
        """For each arm what was promised, what it got, and what is known of it; see `evenhand.online.audit.Audit`.

        Args:
            limit: lines at most: those of the arms furthest behind their promise first, then of those with the most
                plays since it began. None for all, in the order of the arms.
            now: seconds since the epoch; None for the computer's clock.
        """
        from evenhand.online.audit import audit

        return audit(self, limit, self._now(now))

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Everything as plain JSON values, from which `restored` makes an exact copy."""
        return {
            "evenhand": __version__,
            "format": FORMAT,
            "algorithm": self.algorithm,
            "arms": list(self.names),
            "options": {
                "plays": self.plays,
                "seed": self.seed,
                "window": self.book.window,
                "missing": self.missing,
                "rewards": None if self.range is None else list(self.range),
            },
            "parameters": {name: as_plain(name, value) for name, value in self.parameters.items()},
            "retired": sorted(self.retired),
            "version": self.version,
            "state": dump(self.state),
            "random": self.rng.bit_generator.state,
            "reports": self.book.dump(),
            "tallies": dump(self.tallies),
            "trail": self.trail.dump(),
            "available": self._dump_recent(),
            "summed": self._summed,
        }

    @classmethod
    def restored(cls, plain: Any) -> Bandit:
        """The bandit that `dump` described.

        Raises:
            StateError: it is damaged, or of another format.
        """
        if not isinstance(plain, dict) or "evenhand" not in plain or "format" not in plain:
            raise StateError("this is no saved bandit")
        if plain["format"] != FORMAT:
            raise StateError(f"a saved bandit of format {plain['format']!r}; this version reads format {FORMAT}")
        try:
            parameters = {name: from_plain(value) for name, value in plain["parameters"].items()}
            made = cls(plain["arms"], plain["algorithm"], **plain["options"], **parameters)
            made._adopt(made.names, made.parameters, set(plain["retired"]), made.policy)
            made.version, made._summed = plain["version"], plain["summed"]
            made.state = restore(made.state, plain["state"])
            made.rng.bit_generator.state = plain["random"]
            made.book = Book.restored(made.book.window, plain["reports"], made._place)
            made.tallies = restore(made.tallies, plain["tallies"])
            made.trail = Trail.restored(plain["trail"])
            sets = [base64.b64decode(packed, validate=True) for packed in plain["available"]["sets"]]
            made._recent.extend(sets[number] for number in plain["available"]["rounds"])
            again = made.dump()
        except StateError:
            raise
        except DAMAGE as error:
            raise StateError(f"a saved bandit is damaged: {error!r}") from None
        for name in (again.keys() | plain.keys()) - {"evenhand"}:
            if name not in again or name not in plain or again[name] != plain[name]:
                raise StateError(f"a saved bandit is damaged: {name!r} is not what such a bandit would have written")
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, which appears whole or not at all.

        Raises:
            StateError: the file cannot be written.
        """
        text = json.dumps(self.dump(), allow_nan=False)
        try:
            write_whole(Path(path), lambda file: file.write_text(text, encoding="utf-8"))
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            why = f"there is no folder {Path(path).parent}" if missing else error.strerror or error
            raise StateError(f"the bandit could not be saved to {path}: {why}") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bandit:
        """The bandit that `save` wrote: its next decisions are those that the saved one would have made.

        Raises:
            StateError: the file is missing, damaged or not Evenhand's.
        """
        try:
            plain = json.loads(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StateError(f"there is no file {path}") from None
        except (OSError, RecursionError, ValueError) as error:
            raise StateError(f"{path} cannot be read: {error}") from None
        try:
            return cls.restored(plain)
        except StateError as error:
            raise StateError(f"{path}: {error}") from None

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def fractions(self) -> Array | None:
        """The promised share of every arm, (arms,); None where none is promised."""
        return self._shares

    @cached_property
    def _needs_order(self) -> bool:
        """Whether the index weighs a reward by the chances of the round in which it is told."""
        return _heeds(self.policy.index)

    def _built(self, names: Sequence[str], parameters: Mapping[str, Any]) -> Policy:
        """The policy, if the promises can be kept by those who play."""
        from evenhand.config import policy_of

        policy = policy_of(self.algorithm, parameters, self.plays, len(names))
        # Each share is at most 1, so that only their sum can be too much.
        if policy.fractions is not None and np.sum(policy.fractions) > self.plays:
            check_shares(np.asarray(policy.fractions), self.plays, Always(), names)
        return policy

    def _adopt(self, names: tuple[str, ...], parameters: Mapping[str, Any], retired: set[str], policy: Policy) -> None:
        """Go by these arms, parameters and policy from now on."""
        self.names, self.parameters, self.retired, self.policy = names, dict(parameters), set(retired), policy
        self._place = {name: place for place, name in enumerate(names)}
        self.able = np.ones(len(names), dtype=bool)  # who is not retired
        self.able[[self._place[arm] for arm in retired]] = False
        self._usual, self._draws = _masks(self.able), draws(policy)
        shares = policy.fractions
        self._shares = None if shares is None else np.broadcast_to(np.asarray(shares, dtype=float), len(names))

    @staticmethod
    def _begun(policy: Policy, arms: int) -> State:
        """A fresh state, whose promises begin with round 1."""
        state = policy.start(arms)
        state.begun = Begun(np.zeros(arms), np.zeros(arms))
        return state

    def _change(
        self, names: tuple[str, ...], parameters: Mapping[str, Any], retired: set[str], begun: Sequence[str]
    ) -> None:
        """Go over to other arms and parameters, all at once or not at all; the promises to ``begun`` begin now."""
        policy, old = self._built(names, parameters), len(self.names)
        state: State = grown(self.state, self._begun(policy, len(names)))
        welcome(state, policy, old)
        place = {name: number for number, name in enumerate(names)}
        places = [place[arm] for arm in begun]
        state.begun.rounds[places] = state.round
        state.begun.pulls[places] = state.tally.pulls[places]
        if isinstance(state.fairness, Queue):  # that of a promise that begins anew is empty
            state.fairness.rounds[places] = 0.0
            state.fairness.plays[places] = 0.0
        self._adopt(names, parameters, retired, policy)
        self.state = state
        self.tallies = grown(self.tallies, Tallies.empty(len(names)))
        self.tallies.worst[places] = -math.inf
        self.trail.forget(places)
        self.tallies.missed[old:] = state.round  # when there was no such arm yet
        self.version += 1

    def _changeable(self) -> None:
        if not isinstance(self.policy.cadence, CHANGEABLE):
            raise EvenhandError(
                f"{self.algorithm} follows a schedule that is fixed at the start; its arms and promises cannot change"
            )

    def _with(self, name: str, arm: str, value: float) -> dict[str, Any]:
        """The parameters with another value for one arm, where there is one an arm."""
        if not isinstance(self.parameters.get(name), list):
            if value:
                raise EvenhandError(f"{self.algorithm} has no {name} for each arm")
            return dict(self.parameters)
        values = list(self.parameters[name])
        values[self._place[arm]] = float(value)
        return self.parameters | {name: values}

    def _known(self, arm: str) -> None:
        if not isinstance(arm, str):
            raise EvenhandError(f"an arm is named by a text, got {arm!r}")
        if arm not in self._place:
            raise EvenhandError(f"there is no arm {arm!r}{nearest(arm, self.names) * (len(self.names) <= HINTED)}")

    def _awake(self, available: Iterable[str]) -> Mask:
        if isinstance(available, str) or not np.iterable(available):
            raise EvenhandError(f"available must be a list of arms, got {available!r}")
        arms, awake = list(available), np.zeros(len(self.names), dtype=bool)
        if not arms:
            raise EvenhandError("nobody is available: name at least one arm")
        try:
            places = [self._place[arm] for arm in arms]
        except (KeyError, TypeError):
            for arm in arms:
                self._known(arm)
            raise
        awake[places] = True
        if np.count_nonzero(awake) < len(arms):
            (arm, _), *_ = Counter(arms).most_common(1)
            raise EvenhandError(f"arm {arm!r} is named twice among the available ones")
        if self.retired and not self.able[places].all():
            arm = next(arm for arm in arms if arm in self.retired)
            raise EvenhandError(f"arm {arm!r} is retired, so it cannot be available; bring it back first")
        return awake

    def _reward(self, arm: str, reward: Any) -> float:
        try:
            value = validate.number("a reward", reward)
        except EvenhandError:
            raise EvenhandError(f"the reward of {arm!r} must be a finite number, got {reward!r}") from None
        if self.range is not None and not self.range[0] <= value <= self.range[1]:
            low, high = self.range
            raise EvenhandError(f"the reward of {arm!r} must be from {low:g} to {high:g}, got {value:g}")
        return value

    @staticmethod
    def _judged(decision: str, entry: Entry, arm: str, reward: float) -> str:
        """What a report is: accepted, duplicate or late."""
        if arm not in entry.rewards:
            raise ReportError(
                f"arm {arm!r} did not play in decision {decision}; {', '.join(map(repr, entry.rewards))} did", "unknown"
            )
        known = entry.rewards[arm]
        if known is None:
            return "late" if entry.gone else "accepted"
        if known != reward:
            raise ReportError(
                f"decision {decision}, arm {arm!r}: a reward of {known:g} was reported before, now {reward:g}",
                "conflict",
            )
        return "duplicate"

    def _learn(self, places: Sequence[int], rewards: Sequence[float]) -> None:
        """Tell the policy of rewards that came at one time; an arm may be named several times."""
        received, sums = np.zeros(len(self.names)), np.zeros(len(self.names))
        for place, reward in zip(places, rewards, strict=True):
            received[place] += 1.0
            sums[place] += reward
        self.policy.observe(self.state, Feedback(received, sums), self.rng)

    def _tell_silence(self) -> bool:
        """An index that goes by the order of rounds hears of each, also of one in which nothing came; was this one?"""
        if self._needs_order and self.state.round and self._summed != self.state.round:
            entry = self.book.find(str(self.state.round))
            if entry is not None and (entry.gone or None in entry.rewards.values()):
                self._learn([], [])
                return True
        return False

    def _dump_recent(self) -> dict[str, Any]:
        """Who was available of late: every set once, and the number of that of each round."""
        numbers = {packed: number for number, packed in enumerate(dict.fromkeys(self._recent))}
        return {
            "sets": [base64.b64encode(packed).decode() for packed in numbers],
            "rounds": [numbers[packed] for packed in self._recent],
        }

    def seen(self, places: Places | slice = slice(None)) -> tuple[Mask, Array]:
        """The sets of arms that were available of late, and how often each was, as parts of 1.

        Args:
            places: of the arms that are asked for.

        Returns:
            (sets, places), True where an arm was available; and (sets,).
        """
        counts = Counter(self._recent)
        sets = np.zeros((len(counts), len(np.arange(len(self.names))[places])), dtype=bool)
        for row, packed in enumerate(counts):
            bits = np.frombuffer(packed, dtype=np.uint8)
            sets[row] = np.unpackbits(bits, count=len(self.names))[places]
        return sets, np.array(list(counts.values())) / max(len(self._recent), 1)

    def pending(self) -> Array:
        """How many reports each arm waits for, (arms,)."""
        if self._summed is None:
            return self.state.tally.pulls - self.tallies.reports - self.tallies.lost
        waiting = np.zeros(len(self.names))  # with totals, only rounds after the last one are waited for
        for arm, reports in self.book.pending().items():
            waiting[self._place[arm]] = reports
        return waiting

    def _note_deficits(self, places: Sequence[int], now: float) -> None:
        """How far behind the arms were that have just played: a deficit is largest right before a play."""
        if self._shares is None:
            return
        begun, pulls, before = self.state.begun, self.state.tally.pulls, self.state.round - 1
        for place in places:  # one by one: mostly a single arm plays, and arrays of one are slow
            rounds = before - begun.rounds.item(place)
            if rounds > 0.0:
                plays = pulls.item(place) - 1.0 - begun.pulls.item(place)
                deficit = owed(self._shares.item(place), rounds, plays)
                self.tallies.note(place, deficit)
                self.trail.note(before, place, deficit)
        if self.state.round >= self.trail.next:
            self.trail.mark(self.state.round, now, self.deficits(), self._shares > 0.0)

    def deficits(self) -> Array:
        """The plays that each arm is behind its promise, counted from when that began; negative where it is ahead."""
        if self._shares is None:
            return np.zeros(len(self.names))
        return missing(self._shares, self.state.round, self.state)

    def worst(self) -> Array:
        """The largest of these at the end of any round so far; −inf where the promise has seen none."""
        now = np.where(self.state.round > self.state.begun.rounds, self.deficits(), -np.inf)
        return np.maximum(self.tallies.worst, now)

    @staticmethod
    def _now(now: float | None) -> float:
        return time.time() if now is None else validate.number("now", now, -FAR, FAR)


def _masks(awake: Mask) -> tuple[Mask, Mask | None, bytes]:
    """Who is available; the same for a policy, None where all are; and in few bytes."""
    return awake, None if awake.all() else awake, np.packbits(awake).tobytes()


def _heeds(index: Any) -> bool:
    """Whether an index, or the one that it goes by, takes notice of who plays."""
    inner = getattr(index, "first", getattr(index, "index", None))
    return isinstance(index, Heedful) if inner is None else _heeds(inner)
