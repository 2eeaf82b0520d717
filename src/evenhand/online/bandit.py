"""A policy in use: named arms, decisions, late reports, changes of arms and promises."""

from __future__ import annotations

import base64
import copy
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import __version__, validate
from evenhand.availability import Always
from evenhand.cadence import EveryRound
from evenhand.errors import ConfigurationError, EvenhandError, StateError, nearest
from evenhand.feasibility import check_shares
from evenhand.holds import HoldFor, RandomEnds
from evenhand.online.book import Book, ReportError
from evenhand.online.propensities import Propensities, propensities
from evenhand.online.tallies import RECENT, Tallies
from evenhand.policy import Policy
from evenhand.records import Array, Begun, Feedback, Mask, State, dump, restore
from evenhand.results import write_whole

if TYPE_CHECKING:
    from evenhand.online.audit import Audit

FORMAT = 1
#: Parameters with one value an arm.
BY_ARM = ("fractions", "penalties", "weights")
#: Cadences under which arms may come and go: the others follow a schedule that is fixed at the start.
CHANGEABLE = (EveryRound, HoldFor, RandomEnds)


@dataclass(frozen=True, eq=False)
class Choice:
    """A decision: who plays in a round.

    Attributes:
        id: names the decision in reports.
        round: counted from 1.
        arms: those that play, the surest first.
        available: those that could.
        version: of the policy: the number of changes of arms and promises so far.
    """

    id: str
    round: int
    arms: tuple[str, ...]
    available: tuple[str, ...]
    version: int
    _chances: Callable[[], Propensities] = field(repr=False)

    @property
    def propensities(self) -> Propensities:
        """The chance with which every available arm was to play, given all that was known before.

        Exact where the policy has a closed form; otherwise estimated, when first asked, from lanes that decide from the
        same state, with a standard error.
        """
        return self._chances()


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
        ('1', ('coffee',), {'tea': 0.0, 'coffee': 1.0})
        >>> bandit.observe(choice.id, {"coffee": 1.0})
        {'coffee': 'accepted'}
        >>> bandit.observe(choice.id, {"coffee": 1.0})
        {'coffee': 'duplicate'}
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
        self.names = _named(arms)
        self.algorithm, self.plays, self.seed = algorithm, plays, validate.whole("seed", seed, low=0)
        self.missing = validate.one_of("missing", missing, ("lost", "zero"))
        self.range = None if rewards is None else (float(rewards[0]), float(rewards[1]))
        self.parameters = {
            name: _by_arm(name, value, self.names) if name in BY_ARM else value for name, value in parameters.items()
        }
        self.retired: set[str] = set()
        self.version = 0
        self.policy = self._built(self.names, self.parameters)
        self._check(self.names, self.parameters, self.retired)
        self.state = self.policy.start(len(self.names))
        zeros = np.zeros(len(self.names))
        self.state.begun = Begun(zeros, zeros.copy())
        self.rng = np.random.default_rng(self.seed)
        self.book = Book(window)
        self.tallies = Tallies.empty(len(self.names))
        self._place = {name: place for place, name in enumerate(self.names)}
        self._masks: deque[bytes] = deque(maxlen=RECENT)  # who was available of late, packed
        self._summed: int | None = None  # the last round whose anonymous sum is known

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, available: Iterable[str] | None = None, now: float | None = None) -> Choice:
        """Who plays the next round.

        Args:
            available: names of the arms that can play; None for all that are not retired.
            now: seconds since the epoch; None for the computer's clock.

        Raises:
            EvenhandError: an arm is unknown, retired or named twice, or nobody is available.

        Example:
            >>> Bandit(["tea", "coffee"], "ucb1").decide(available=["coffee"]).arms
            ('coffee',)
        """
        awake = self._awake(available)
        self.expire(now)
        before = copy.deepcopy(self.state) if self.policy.index.random else None
        mask = None if awake.all() else awake
        decision = self.policy.decide(self.state, self.rng, mask)
        played = np.flatnonzero(decision.played)
        order = played[np.argsort(-1.0 * decision.vector[played], kind="stable")]
        name, arms = str(decision.round), [self.names[place] for place in order.tolist()]
        self.book.enter(name, arms, self._now(now))
        self.tallies.offer(awake)
        self._masks.append(np.packbits(awake).tobytes())
        self._note_deficit()
        awake_names = tuple(self.names[place] for place in np.flatnonzero(awake).tolist())
        chances = partial(
            propensities, self.policy, before, mask, decision, awake_names, self.names, (self.seed, decision.round)
        )
        return Choice(name, decision.round, tuple(arms), awake_names, self.version, _once(chances))

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
            ReportError: the decision is unknown, an arm did not play in it, or another reward was reported before;
                nothing is taken in then.
            EvenhandError: a reward is no number or out of range.
        """
        self.expire(now)
        found = {}
        for arm, reward in rewards.items():
            self._check_reward(arm, reward)
            found[arm] = self.book.judge(decision, arm, float(reward))
            self._complain(decision, arm, reward, found[arm])
        if self._needs_order and "accepted" in found.values() and decision != str(self.state.round):
            raise ReportError(
                f"{self.algorithm} learns from the round just decided only, {self.state.round}, not from {decision}: "
                "report before the next decision, or as totals"
            )
        if self._summed is not None and "accepted" in found.values():
            raise ReportError("this bandit learns from totals (observe_total); it cannot take reports by decision, too")
        for arm, status in found.items():
            if status in ("accepted", "late"):
                self._take(decision, arm, float(rewards[arm]), status, now)
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
        if not math.isfinite(validate.number("value", value)):
            raise EvenhandError(f"value must be finite, got {value}")
        round = self.state.round
        if round == 0:
            raise ReportError("no decision has been made, so there is nobody to credit a total to")
        if self._summed == round:
            raise ReportError(f"the total of round {round} is known; decide before the next")
        if self._summed is None and self.tallies.reports.any():
            raise ReportError("reports by decision have been made; this bandit cannot take totals, too")
        entry = self.book.waiting.pop(str(round), None)
        if entry is None:
            raise ReportError(f"nobody played in round {round}, so there is nobody to credit a total to")
        self.book.waiting.clear()  # rounds without a total are not waited for
        played: Array = np.isin(self.names, list(entry.rewards)).astype(float)
        self._summed = round
        self._learn(played, played * (value / played.sum()))

    def expire(self, now: float | None = None) -> dict[str, list[str]]:
        """Close the decisions whose window has passed; returns their ids with the arms whose reports are missing.

        Every decision and report does this first.
        """
        closed = dict(self.book.expire(self._now(now)))
        for arms in closed.values():
            for arm in arms:
                place = self._place[arm]
                self.tallies.lost[place] += 1
                if self.missing == "zero":
                    received = np.zeros(len(self.names))
                    received[place] = 1.0
                    self._learn(received, np.zeros(len(self.names)))
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
        if arm in self._place:
            raise EvenhandError(f"there is an arm {arm!r} already" + ("; bring it back" * (arm in self.retired)))
        names = _named([*self.names, arm])
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
                parameters[several] = [*parameters[several], float(value)]
            elif value is not None:
                raise EvenhandError(f"{self.algorithm} has no {single} for each arm here")
        if values:
            raise EvenhandError(
                f"unknown {next(iter(values))!r}{nearest(next(iter(values)), ('fraction', 'penalty', 'weight'))}"
            )
        self._change(names, parameters, self.retired, [arm])

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
        parameters = self._with("fractions", arm, fraction) if fraction else self.parameters
        self._change(self.names, parameters, self.retired - {arm}, [arm])

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
        shares = list(self.parameters["fractions"])
        for arm, share in fractions.items():
            self._known(arm)
            if arm in self.retired:
                raise EvenhandError(f"arm {arm!r} is retired; bring it back with its share")
            shares[self._place[arm]] = validate.number(f"fractions[{arm!r}]", share, 0.0, 1.0)
        self._change(self.names, self.parameters | {"fractions": shares}, self.retired, list(fractions))

    # --- what it got --------------------------------------------------------------------------------------------------

    def audit(self) -> Audit:
        """For each arm what was promised, what it got, and what is known of it; see `evenhand.online.audit.Audit`."""
        from evenhand.online.audit import audit

        return audit(self)

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
            "parameters": _with_words(self.parameters),
            "retired": sorted(self.retired),
            "version": self.version,
            "state": dump(self.state),
            "random": self.rng.bit_generator.state,
            "reports": self.book.dump(),
            "tallies": dump(self.tallies),
            "available": [base64.b64encode(mask).decode() for mask in self._masks],
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
            options, parameters = dict(plain["options"]), _without_words(plain["parameters"])
            window = options["window"]
            made = cls(plain["arms"], plain["algorithm"], **options, **parameters)
            made.retired, made.version, made._summed = set(plain["retired"]), plain["version"], plain["summed"]
            made.state = restore(made.state, plain["state"])
            made.rng.bit_generator.state = plain["random"]
            made.book = Book.restored(window, plain["reports"])
            made.tallies = restore(made.tallies, plain["tallies"])
            made._masks.extend(base64.b64decode(mask, validate=True) for mask in plain["available"])
        except StateError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StateError(f"a saved bandit is damaged: {error!r}") from None
        return made

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, which appears whole or not at all."""
        text = json.dumps(self.dump(), allow_nan=False)
        write_whole(Path(path), lambda file: file.write_text(text, encoding="utf-8"))

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
        except (OSError, ValueError) as error:
            raise StateError(f"{path} cannot be read: {error}") from None
        try:
            return cls.restored(plain)
        except StateError as error:
            raise StateError(f"{path}: {error}") from None

    # --- inside -------------------------------------------------------------------------------------------------------

    @property
    def fractions(self) -> Array | None:
        """The promised share of every arm, (arms,); None where none is promised."""
        shares = self.policy.fractions
        return None if shares is None else np.broadcast_to(np.asarray(shares, dtype=float), len(self.names))

    @property
    def _needs_order(self) -> bool:
        """Whether the index weighs a reward by the chances of the round in which it is told."""
        return self.policy._heedful is not None

    def _built(self, names: Sequence[str], parameters: Mapping[str, Any]) -> Policy:
        from evenhand.config import policy_of

        return policy_of(self.algorithm, parameters, self.plays, len(names))

    def _check(self, names: Sequence[str], parameters: Mapping[str, Any], retired: set[str]) -> None:
        """Refuse promises that cannot be kept by those who play."""
        shares = parameters.get("fractions")
        if shares is not None:
            check_shares(np.asarray(shares, dtype=float), self.plays, Always(), names)

    def _change(
        self, names: tuple[str, ...], parameters: Mapping[str, Any], retired: set[str], begun: Sequence[str]
    ) -> None:
        """Go over to other arms and parameters, all at once or not at all; the promises to ``begun`` begin now."""
        self._check(names, parameters, retired)
        policy = self._built(names, parameters)
        fresh = policy.start(len(names))
        zeros = np.zeros(len(names))
        fresh.begun = Begun(zeros, zeros.copy())
        state: State = _grown(self.state, fresh)
        places = [names.index(arm) for arm in begun]
        state.begun.rounds[places] = state.round
        state.begun.pulls[places] = state.tally.pulls[places]
        _forget_queue(state, places)
        self.names, self.parameters, self.retired = names, dict(parameters), set(retired)
        self.policy, self.state = policy, state
        self.tallies = _grown(self.tallies, Tallies.empty(len(names)))
        self.tallies.worst[places] = -math.inf
        self._place = {name: place for place, name in enumerate(names)}
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
        if arm not in self._place:
            raise EvenhandError(f"there is no arm {arm!r}{nearest(arm, self.names)}")

    def _awake(self, available: Iterable[str] | None) -> Mask:
        awake = np.ones(len(self.names), dtype=bool)
        if available is not None:
            awake[:] = False
            for arm in available:
                self._known(arm)
                if arm in self.retired:
                    raise EvenhandError(f"arm {arm!r} is retired, so it cannot be available; bring it back first")
                if awake[self._place[arm]]:
                    raise EvenhandError(f"arm {arm!r} is named twice among the available ones")
                awake[self._place[arm]] = True
            if not awake.any():
                raise EvenhandError("nobody is available: name at least one arm")
        for arm in self.retired:
            awake[self._place[arm]] = False
        return awake

    def _check_reward(self, arm: str, reward: Any) -> None:
        if isinstance(reward, bool) or not isinstance(reward, int | float | np.number) or not math.isfinite(reward):
            raise EvenhandError(f"the reward of {arm!r} must be a finite number, got {reward!r}")
        if self.range is not None and not self.range[0] <= reward <= self.range[1]:
            low, high = self.range
            raise EvenhandError(f"the reward of {arm!r} must be from {low:g} to {high:g}, got {reward:g}")

    def _complain(self, decision: str, arm: str, reward: float, status: str) -> None:
        if status == "conflict":
            known = self.book.waiting.get(decision) or self.book.settled[decision]
            raise ReportError(
                f"decision {decision}, arm {arm!r}: a reward of {known.rewards[arm]:g} was reported before, "
                f"now {reward:g}"
            )
        if status == "unknown":
            entry = self.book.waiting.get(decision) or self.book.settled.get(decision)
            if entry is None:
                raise ReportError(f"there is no decision {decision!r}, or it has been settled for long")
            raise ReportError(
                f"arm {arm!r} did not play in decision {decision}; {', '.join(map(repr, entry.rewards))} did"
            )

    def _take(self, decision: str, arm: str, reward: float, status: str, now: float | None) -> None:
        place = self._place[arm]
        made = self.book.write(decision, arm, reward)
        if status == "late":
            self.tallies.late[place] += 1
            return
        self.tallies.report(place, reward, max(self._now(now) - made, 0.0))
        received = np.zeros(len(self.names))
        received[place] = 1.0
        self._learn(received, received * reward)

    def _learn(self, received: Array, rewards: Array) -> None:
        self.policy.observe(self.state, Feedback(received, rewards), self.rng)

    def seen(self) -> tuple[Mask, Array]:
        """The sets of arms that were available of late, (sets, arms), and how often each was, as parts of 1."""
        if not self._masks:
            return np.zeros((0, len(self.names)), dtype=bool), np.zeros(0)
        masks = np.zeros((len(self._masks), len(self.names)), dtype=bool)
        for row, packed in enumerate(self._masks):
            mask = np.unpackbits(np.frombuffer(packed, dtype=np.uint8))[: len(self.names)]
            masks[row, : len(mask)] = mask
        sets, counts = np.unique(masks, axis=0, return_counts=True)
        return sets, counts / counts.sum()

    def _note_deficit(self) -> None:
        shares = self.fractions
        if shares is not None:
            self.tallies.note(self.deficits())

    def deficits(self) -> Array:
        """The plays that each arm is behind its promise, counted from when that began; negative where it is ahead."""
        from evenhand.fairness import missing

        shares = self.fractions
        if shares is None:
            return np.zeros(len(self.names))
        return missing(shares, self.state.round, self.state)

    @staticmethod
    def _now(now: float | None) -> float:
        return time.time() if now is None else float(now)


def _named(arms: Sequence[str]) -> tuple[str, ...]:
    if isinstance(arms, str):
        raise EvenhandError(f"arms must be a list of names, got the text {arms!r}")
    names = tuple(arms)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise EvenhandError(f"the name of an arm must be a text that is not blank, got {name!r}")
        if names.count(name) > 1 and len(names) < 1000:
            raise EvenhandError(f"there are {names.count(name)} arms named {name!r}; each needs a name of its own")
    if len(set(names)) < len(names):
        raise EvenhandError("two arms have the same name; each needs one of its own")
    if not names:
        raise EvenhandError("there must be at least one arm")
    return names


def _by_arm(name: str, value: Any, names: tuple[str, ...]) -> Any:
    """Values as a list in the order of the arms; those that a mapping leaves out are 0 (weights: 1)."""
    if isinstance(value, Mapping):
        for arm in value:
            if arm not in names:
                raise EvenhandError(f"{name} names an unknown arm {arm!r}{nearest(str(arm), names)}")
        default = 1.0 if name == "weights" else 0.0
        return [float(value.get(arm, default)) for arm in names]
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return [float(one) for one in value]
    return value


def _grown(old: Any, fresh: Any) -> Any:
    """A record with the values of ``old``, and those of ``fresh`` for arms that ``old`` does not have."""
    if isinstance(fresh, np.ndarray):
        if fresh.shape == old.shape:
            return old.copy()
        made = fresh.copy()
        made[..., : old.shape[-1]] = old
        return made
    if hasattr(fresh, "__dataclass_fields__"):
        return type(fresh)(
            **{name: _grown(getattr(old, name), getattr(fresh, name)) for name in fresh.__dataclass_fields__}
        )
    return old


def _forget_queue(state: State, places: Sequence[int]) -> None:
    """A virtual queue of a promise that begins anew is empty."""
    from evenhand.fairness import Queue

    if isinstance(state.fairness, Queue):
        state.fairness.rounds[list(places)] = 0.0
        state.fairness.plays[list(places)] = 0.0


def _once(make: Callable[[], Propensities]) -> Callable[[], Propensities]:
    found: list[Propensities] = []

    def get() -> Propensities:
        if not found:
            found.append(make())
        return found[0]

    return get


def _with_words(value: Any) -> Any:
    """Infinity as a text, which JSON knows."""
    if isinstance(value, dict):
        return {name: _with_words(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_with_words(item) for item in value]
    return repr(value) if isinstance(value, float) and not math.isfinite(value) else value


def _without_words(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_words(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_words(item) for item in value]
    return float(value) if value in ("inf", "-inf") else value


__all__ = ["Bandit", "Choice", "ConfigurationError", "ReportError"]
