"""Everything that a bandit remembers: settings, arms, the policy with its state, and what has happened."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.bandit.arguments import RewardRange, as_plain, by_arm, from_plain
from evenhand.bandit.arms import Arms, RecentAvailability, checked_names
from evenhand.bandit.change_log import ChangeLog
from evenhand.bandit.counts import CountHistory, DeficitHistory, Statistics
from evenhand.bandit.leases import Leases
from evenhand.bandit.ledger import Ledger, Promised, Stated
from evenhand.bandit.pending import PendingRewards, RewardRecord, round_of
from evenhand.bandit.scores import Scores
from evenhand.core import validate
from evenhand.core.cohorts import Answers
from evenhand.core.errors import EvenhandError, Path
from evenhand.core.frozen import fields
from evenhand.core.parts import Part, parameters_of, plain
from evenhand.core.state import Array, Feedback, Mask, State, Unit, each_array, unkept
from evenhand.messages.changes import VALUES
from evenhand.messages.words import Words
from evenhand.policy.accounts import BILLION, Accounts
from evenhand.policy.composition import SLOTS, Policy, parts_in
from evenhand.policy.prior import by_name as prior_by_name

if TYPE_CHECKING:
    from evenhand.bandit.contexts import Contexts
    from evenhand.bandit.segments import Segments

#: Parameters that name arms.
WITH_NAMES = (*VALUES, "groups")
DECIDING, LEARNING = 0, 1  # purposes of random streams


class Record:
    """The data of a `evenhand.bandit.Bandit`; see there for the arguments."""

    def __init__(
        self,
        arms: Sequence[str],
        algorithm: str | Policy | Mapping[str, object],
        *,
        plays: int | None = None,
        seed: int = 0,
        window: float | None = None,
        missing: str | None = None,
        rewards: tuple[float, float] = (0.0, 1.0),
        parameters: Mapping[str, object] = MappingProxyType({}),
        words: Words | Mapping[str, object] | None = None,
        features: object = None,
        arm_features: object = None,
        segments: object = None,
    ) -> None:
        names = checked_names(arms)
        self.contexts: Contexts | None = None
        if not features is arm_features is segments is None:
            from evenhand.bandit.contexts import Contexts  # loaded where there are any

            self.contexts = Contexts.of(features, arm_features, names, segments)
        if isinstance(algorithm, Policy):
            if plays not in (None, algorithm.plays):
                raise EvenhandError(f"plays = {plays}, but the policy plays {algorithm.plays}; leave plays out")
            plays, algorithm = algorithm.plays, _table_of(algorithm, parameters)
        self.algorithm, parameters = split(algorithm, parameters, len(names))
        self.plays = 1 if plays is None else validate.whole("plays", plays)
        self.seed = validate.whole("seed", seed, low=0)
        self.pending = PendingRewards(Arms(names), self.plays, window)
        self.leases = Leases()
        self.missing = checked_missing(missing, window)
        self.reward_range = RewardRange.of(rewards)
        _check_zero(self.missing, self.reward_range)
        lists = _with_places(parameters, names)
        self.version = 0
        self.adopt(Arms(names), lists, self.built(names, lists))
        self.words = Words.of(words)
        self._begin(len(names))

    def _begin(self, arms: int) -> None:
        """Nothing has happened yet."""
        self.state = self.started(self.policy, arms)
        self._first = each_array(self.state, lambda array: np.empty(0, array.dtype))  # kinds of what parts remember
        self.check_kept()
        self.chance, self.learned = Chance(self.seed), 0
        self.statistics = Statistics.empty(arms)
        self.scores = Scores()
        self.ledger = Ledger.of(arms)
        self.deficit_history = DeficitHistory()
        self.count_history = CountHistory()
        self.changes = ChangeLog()
        self.availability = RecentAvailability()
        self.alarms: dict[Promised, Stated] = {}  # the promises that are stated to be behind
        self.last_total: int | None = None
        self.returned = 0  # rounds that leases gave back, which nobody played
        self.sources: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms, in their order."""
        return self.arms.names

    @property
    def retired(self) -> frozenset[str]:
        """The names of the arms that do not play any more."""
        return self.arms.retired

    @property
    def by_totals(self) -> bool:
        """Whether it has been given totals, and so takes no rewards by decision."""
        return self.last_total is not None

    @cached_property
    def in_order(self) -> bool:
        """Whether the policy learns from the round just decided only: its index weighs a reward by the propensities."""
        return self.policy.index.traits.in_order

    @property
    def unit(self) -> Unit | None:
        """The unit of the rewards; None for the scale [0, 1]."""
        return self.reward_range.unit

    @property
    def segments(self) -> Segments | None:
        """The segments of the rounds; None where there are none."""
        return None if self.contexts is None else self.contexts.segments

    @property
    def columns(self) -> tuple[int, int] | None:
        """Of the encoded features, of the situation and of every arm; None where there are none."""
        return None if self.contexts is None else self.contexts.features.widths

    @property
    def label(self) -> str:
        """What messages and lists call the policy: the algorithm, or the kinds of its parts."""
        return label_of(self.algorithm)

    def built(
        self,
        names: Sequence[str],
        parameters: Mapping[str, object],
        checked: bool = False,
        retired: Collection[str] = (),
    ) -> Policy:
        """The policy for some arms."""
        return policy_for(
            self.algorithm, parameters, names, self.plays, checked=checked, retired=retired, columns=self.columns
        )

    def adopt(self, arms: Arms, parameters: Mapping[str, Any], policy: Policy) -> None:
        """Use these arms, parameters and policy from now on."""
        self.arms, self.parameters, self.policy = arms, dict(parameters), policy
        self.pending.arms = arms
        shares = policy.fractions
        self.fractions: Array | None = (  # (arms,), promised shares of the rounds; None where no share is promised
            None if shares is None else np.broadcast_to(np.asarray(shares, dtype=float), len(arms.names))
        )

    def started(self, policy: Policy, arms: int) -> State:
        """The state of a policy in which nothing has happened, and whose promises begin with round 1."""
        state = policy.start(arms, unit=self.unit, columns=self.columns)
        state.begun = Accounts.opened((arms,))
        return state

    def check_taken(self) -> None:
        """Refuse what is given beside a table of parts where none of them takes it: it would promise nothing."""
        check_taken(self.algorithm, self.policy, self.parameters)

    def check_kept(self) -> None:
        """Refuse what a part remembers where a file would give it back as another kind."""
        for slot, one in self.policy.parts.items():
            if fault := unkept(one, getattr(self._first, slot), getattr(self.state, slot)):
                raise EvenhandError(fault)

    def learn_rewards(
        self, places: Sequence[int], rewards: Sequence[float], rounds: Sequence[int], given: Container[str] = ()
    ) -> None:
        """Give the policy rewards that arrived together, on the scale [0, 1]; an arm can occur several times."""
        records = self.policy.rounds.after_reward
        if records is not None and (len(places) == 1 or len(set(places)) == len(places)):
            self.learned += 1
            rng: Any = self.chance.learning(self.learned) if records else None
            self.policy.rounds.count(self.state, places, rewards, rng, given)
            return
        received, sums = np.zeros((2, len(self.arms)))
        for place, reward in zip(places, rewards, strict=True):
            received[place] += 1.0
            sums[place] += reward
        answers = None
        if self.policy.named or self.policy.contextual:
            delays = self.state.round - np.array(rounds, dtype=np.int64)
            situation = each = None
            if self.policy.contextual and self.contexts is not None:
                situation, each = self.contexts.of_rewards(self._pulls(places, rounds))
            at = np.array(places, dtype=np.intp)
            answers = Answers(at, delays, np.array(rewards, dtype=float), situation, each)
        self.learn_sums(received, sums, given, answers)

    def _pulls(self, places: Sequence[int], rounds: Sequence[int]) -> Iterator[tuple[int, int, int]]:
        """Of rewards the round, the place of the arm among those that played, and how many played."""
        for place, round in zip(places, rounds, strict=True):
            if self.plays == 1:
                yield round, 0, 1
                continue
            entry = self.pending.find(str(round))
            assert entry is not None
            played = [self.arms.place[arm] for arm in entry.rewards]
            yield round, played.index(place), len(played)

    def erased(self, rounds: Sequence[int]) -> set[int]:
        """Those of these rounds whose features the policy or a segment needs, and that are erased."""
        if self.contexts is None or not (self.policy.contextual or self.contexts.segments):
            return set()
        return {round for round in rounds if round not in self.contexts.pulls}

    def learn_sums(
        self, received: Array, sums: Array, given: Container[str] = (), answers: Answers | None = None
    ) -> None:
        """Give the policy rewards that arrived together: (arms,) their numbers, and their sums on the scale [0, 1]."""
        self.learned += 1
        self.policy.observe(self.state, Feedback(received, sums, answers), self.chance.learning(self.learned), given)

    def turn(self, now: float) -> None:
        """Go to the month of a time, from which on the sums for differences are kept apart."""
        moved = self.scores.turn(now)
        if moved:
            self.pending.move(moved)
            for report in (report for lease in self.leases.values() for report in lease.reports):
                report.table = moved[report.table] if report.table >= 0 else report.table

    def find(self, decision: str) -> RewardRecord | None:
        """The rewards of a decision, also of a leased one; None where there is none, or it is no longer remembered."""
        entry = self.pending.find(decision)
        if entry is not None or not self.leases:
            return entry
        round = round_of(decision)
        lease = None if round is None else self.leases.of(round)
        return None if round is None or lease is None else lease.entry(round, self.names)

    @property
    def expires(self) -> bool:
        """Whether anything can become due."""
        return self.pending.window is not None or bool(self.leases)

    def next_due(self) -> float | None:
        """When the first window passes, or the first lease returns, in seconds; None for never."""
        due = None if self.pending.window is None else self.pending.next_due()
        for lease in self.leases.values():
            time = lease.next_due(self.pending.window)
            due = time if due is None or (time is not None and time < due) else due
        return due

    def due(self, now: float) -> bool:
        """Whether the window of a decision has passed by then, or the time of a lease."""
        due = self.next_due()
        return due is not None and due <= now

    def count_late(self, arm: str) -> None:
        """Count a reward as late whose decision has been forgotten, as only a log can know that there was one."""
        self.arms.check(arm)
        self.statistics.late[self.arms.place[arm]] += 1.0

    def pending_counts(self) -> Array:
        """(arms,), the number of rewards that can still arrive."""
        if self.last_total is None:
            counts = self.statistics
            return self.state.tally.pulls - counts.learned_plays - counts.received - counts.lost
        return self.pending.counts()  # with totals, only those of rounds after the last one

    def counts(self) -> tuple[Array, Array, Array]:
        """Plays, known rewards and their sums so far, each (arms,)."""
        counts = self.statistics
        return self.state.tally.pulls - counts.learned_plays, counts.known, counts.sums

    def mark(self, now: float) -> None:
        """Continue the histories of counts and deficits after a decision or a lease."""
        round, history, deficits = self.state.round, self.count_history, self.deficit_history
        history.decided, owed = now, None
        if self.fractions is not None and round >= deficits.next:
            owed = np.where(self.promised, self.owed(), np.nan)
        if round >= history.next:
            history.mark(round, now, self.counts(), self.returned)
        if owed is not None:
            deficits.mark(round, now, owed)

    @property
    def promised(self) -> Mask:
        """(arms,), whether a share is promised to an arm now, so that its account does not rest."""
        if self.fractions is None:
            return np.zeros(len(self.arms), dtype=bool)
        return np.asarray((self.fractions > 0.0) & self.arms.active)

    def owed(self) -> Array:
        """(arms,), the plays behind the promise, also of an account that rests; negative where ahead."""
        if self.fractions is None:
            return np.zeros(len(self.arms))
        begun = self.state.begun
        running = begun.owed(self.fractions, self.state.round, self.state.tally.pulls)
        return np.asarray(np.where(self.promised, running, begun.waiting / BILLION))

    def worst(self) -> Array:
        """(arms,), the most plays behind at the end of any round so far; −inf where no promise has seen one."""
        seen = self.promised & (self.state.round > self.state.begun.rounds)
        return np.maximum(self.statistics.worst, np.where(seen, self.owed(), -np.inf))


def checked_missing(missing: str | None, window: float | None) -> str:
    """What a missing reward means, which must be said where rewards can be missing."""
    meaning = "never" if missing is None else validate.one_of("missing", missing, ("never", "lost", "zero"))
    if meaning == "never" and window is not None:
        fault = "window needs missing," if missing is None else "missing='never' is without a window; with one, say"
        raise EvenhandError(
            f"{fault} what a reward counts as that is missing when the window has passed: "
            "missing='zero' where only successes are reported, missing='lost' where a missing reward says nothing"
        )
    if meaning != "never" and window is None:
        counts = "counts as 0" if meaning == "zero" else "is lost"
        raise EvenhandError(
            f"missing={meaning!r} needs a window, the seconds after which a reward that has not arrived {counts}"
        )
    return meaning


def _check_zero(missing: str, rewards: RewardRange) -> None:
    """Refuse a missing reward that counts as 0 where rewards cannot be 0."""
    if missing == "zero" and not rewards.low <= 0.0 <= rewards.high:
        raise EvenhandError(
            f"missing='zero' counts a missing reward as 0, which is outside rewards = ({rewards.low:g}, "
            f"{rewards.high:g}); extend rewards to 0, or use missing='lost'"
        )


def _with_places(parameters: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Parameters whose values by the names of arms are lists in their order."""
    lists = {name: by_arm(name, value, names) if name in VALUES else value for name, value in parameters.items()}
    if isinstance(lists.get("prior"), Mapping):
        lists["prior"] = prior_by_name(lists["prior"], names)
    if "groups" in lists:
        from evenhand.policy.groups import with_places

        lists["groups"] = with_places(lists["groups"], names)
    return lists


def label_of(algorithm: str | Mapping[str, Any]) -> str:
    """The name of an algorithm, or the kinds of a table of parts."""
    if isinstance(algorithm, str):
        return algorithm
    if algorithm.get("name"):
        return str(algorithm["name"])
    return " + ".join(part if isinstance(part, str) else str(part["kind"]) for part in algorithm.values())


def policy_for(
    algorithm: str | Mapping[str, object],
    parameters: Mapping[str, object],
    names: Sequence[str],
    plays: int = 1,
    importing: Callable[[str], object] | None = None,
    checked: bool = False,
    retired: Collection[str] = (),
    columns: tuple[int, int] | None = None,
) -> Policy:
    """The policy for some arms."""
    from evenhand.algorithms.build import Surroundings, build_policy  # loaded when a bandit is made

    named = isinstance(algorithm, str)
    table: Any = {"algorithm": algorithm, **parameters} if named else algorithm
    around: dict[str, Any] = {"names": names} if named else {"shared": parameters}
    try:
        policy = build_policy(table, Surroundings(len(names), plays, importing=importing, columns=columns, **around))
    except EvenhandError as error:
        raise error.having(replace(fault, path=_with_names(fault.path, names)) for fault in error.faults) from None
    if policy.schedule.traits.free:
        raise EvenhandError("a free start exists in simulations only, where arms can be pulled before round 1")
    if not checked:
        _check_promises(policy, names, plays, retired)
    return policy


def _check_promises(policy: Policy, names: Sequence[str], plays: int, retired: Collection[str]) -> None:
    """Refuse promises that cannot be kept together."""
    # Each share is at most 1, so that only their sum can be too large.
    if policy.fractions is not None and np.sum(policy.fractions) > plays:
        from evenhand.environment.availability import Always
        from evenhand.theory.feasibility import check_shares

        check_shares(np.asarray(policy.fractions), plays, Always(), names)
    if policy.caps is not None and (policy.groups or np.any(policy.caps < 1.0)):
        from evenhand.environment.availability import Always, Joint
        from evenhand.theory.bounded import bounds_of, check_bounds

        active = [int(name not in retired) for name in names]
        able = Joint([active], [1.0]) if retired else Always()
        check_bounds(bounds_of(len(names), policy.fractions, policy.caps, policy.groups, names), plays, able)


def check_taken(algorithm: str | Mapping[str, Any], policy: Policy, parameters: Mapping[str, object]) -> None:
    """Refuse parameters that are given beside a table of parts where no part of a slot takes them."""
    if isinstance(algorithm, str):
        return
    taken = {name for slot in SLOTS for name in parameters_of(type(getattr(policy, slot)))} & set(WITH_NAMES)
    if unused := sorted({name for name, value in parameters.items() if value is not None} - taken):
        known = f"its parts take {', '.join(sorted(taken))}" if taken else "its parts take none"
        remedy = ": with fairness = {kind = 'deficit_first'} one does" if unused[0] == "fractions" and not taken else ""
        raise EvenhandError(f"is taken by no part of {label_of(algorithm)}; {known}{remedy}", unused[0])


def _with_names(path: Path, names: Sequence[str]) -> Path:
    """The path to a value with the name of its arm in place of the number."""
    before = ("", *path)
    return tuple(
        names[step] if isinstance(step, int) and step < len(names) and last in VALUES else step
        for last, step in zip(before, path, strict=False)
    )


def _table_of(policy: Policy, parameters: Mapping[str, object]) -> dict[str, Any]:
    """A policy as a table of its parts, without those that every policy has anyway."""
    if parameters:
        raise EvenhandError(f"a policy has its parameters itself; leave out {', '.join(parameters)}")
    for one in parts_in(policy):
        if one.traits.offline:
            raise EvenhandError(
                f"{type(one).__name__} is for simulations and logs only, as what it remembers can neither be read "
                "safely from a file nor followed by replay: use LinUCB, LinTS or LogisticTS here"
            )
    table: dict[str, Any] = {"name": policy.name} if policy.name else {}
    for slot in fields(Policy):
        part = getattr(policy, slot.name)
        if slot.name in SLOTS and (slot.name == "index" or as_plain(slot.name, part) != plain(slot.default)):
            table[slot.name] = part
    return table


def _part_table(slot: str, part: Part, arms: int) -> dict[str, Any]:
    """The table of a part of a policy; one value stands for all arms."""
    table: dict[str, Any] = from_plain(as_plain(slot, part))
    for name in VALUES:
        if isinstance(table.get(name), list) and len(table[name]) == 1:
            table[name] *= arms
    return table


def split(
    algorithm: object, parameters: Mapping[str, object], arms: int
) -> tuple[str | dict[str, Any], dict[str, Any]]:
    """A policy's name or table of parts, and its parameters; those with one value per arm are not in the table."""
    from evenhand.algorithms.build import entry_of, no_policy

    if isinstance(algorithm, str):
        return algorithm, dict(parameters)
    if not isinstance(algorithm, Mapping):
        raise no_policy(algorithm).at("algorithm")
    table = {slot: _part_table(slot, one, arms) if isinstance(one, Part) else one for slot, one in algorithm.items()}
    values = dict(parameters)
    if "algorithm" in table:
        name = table.pop("algorithm")
        if not isinstance(name, str):
            entry_of(name)  # refuses it
        if twice := sorted(set(table) & set(values)):
            raise EvenhandError(f"{', '.join(twice)} is given twice, in the table of {name!r} and beside it")
        return str(name), table | values
    fairness = table.get("fairness")
    if isinstance(fairness, Mapping):
        for name in WITH_NAMES:
            if name in fairness and name in values:
                raise EvenhandError(f"{name} is given twice, in the fairness part and beside it")
        values |= {name: fairness[name] for name in WITH_NAMES if name in fairness}
        table["fairness"] = {name: value for name, value in fairness.items() if name not in WITH_NAMES}
    for name in values:
        if name not in WITH_NAMES:
            raise EvenhandError(f"unknown parameter {name!r} beside a table of parts; known: {', '.join(WITH_NAMES)}")
    return table, values


class Chance:
    """Independent random streams, each found by its number alone."""

    def __init__(self, seed: int) -> None:
        key = np.random.SeedSequence(seed).generate_state(2, np.uint64)
        self._bits = np.random.Philox(key=key)
        self._generator = np.random.Generator(self._bits)
        self._state: Any = {**self._bits.state, "buffer": [0, 0, 0, 0]}  # lists, which are read faster than arrays
        self._counter = [0, 0, 0, 0]
        self._state["state"] = {"counter": self._counter, "key": key.tolist()}
        self._begins: tuple[int, int] | None = None

    def deciding(self, round: int) -> Any:
        """The stream of a round's decision, as of a generator; valid until the next one is asked for."""
        self._begins = (DECIDING, round)
        return self

    def learning(self, time: int) -> Any:
        """The stream of the time-th feedback, as of a generator; valid until the next one is asked for."""
        self._begins = (LEARNING, time)
        return self

    def __getattr__(self, name: str) -> Any:
        """That of the generator, which goes to where the stream begins when something is drawn, and not before."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self._begins is not None:
            self._counter[2], self._counter[3] = self._begins
            self._bits.state = self._state
            self._begins = None
        return getattr(self._generator, name)
