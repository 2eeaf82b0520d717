"""A policy in production: named arms, decisions, late rewards, changes of arms and promises."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Literal

from evenhand.bandit import decisions
from evenhand.bandit import rewards as received
from evenhand.bandit.record import Record
from evenhand.core import validate
from evenhand.core.descriptions import complete
from evenhand.core.errors import EvenhandError, MissingPart, StateError, number_of
from evenhand.messages.answers import AllocationHealth, Decision, Lease, LeaseReport, Plan, RewardStatus, Stopping
from evenhand.messages.arguments import SHARED
from evenhand.messages.changes import ChangeLike, Rename, Retire, change_of
from evenhand.policy.composition import Policy

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.learning import Learned
    from evenhand.bandit.evaluation.log import Log
    from evenhand.core.intervals import Difference
    from evenhand.features import Features
    from evenhand.messages.audit import Audit
    from evenhand.messages.requests import Round


FAR = 1e15  # seconds from the epoch, beyond any clock
#: Arguments that several methods have, whose docstrings are completed from here.
ARGUMENTS = {
    **SHARED,
    "arm": "its name.",
    "now": "seconds since the epoch; None for the computer's clock.",
    "reason": "why, for the audit.",
    "terms": """``debt``, what becomes of owed plays: ``"carry"``, they go on; ``"cap"``, up to ``limit`` plays or
        ``limit_rounds`` of the new share; ``"forgive"``, none do. And a ``reason``, which that needs.""",
}


class Bandit:
    """Named arms on top of a policy: decides, takes rewards at any time, records what each arm was promised and got.

    The policy is the code that is simulated, in a single lane. All randomness comes from the seed: a bandit that is
    saved and loaded continues as if nothing had happened.

    Args:
        arms: names, each once.
        algorithm: a name of `evenhand.algorithms`, a policy such as ``fucb([0.1, 0.2])``, or a table for each part of
            one, such as ``{"index": "empirical_mean", "fairness": {"kind": "deficit_first", "fractions": 0.1}}``.
        plays: m, arms that play per round; None for what a policy says, and for 1.
        seed: of all randomness.
        window: seconds to wait for a reward; None for no limit.
        missing: what it means that a reward is missing when its window has passed: ``"zero"``, a reward of 0, where
            only successes are reported; ``"lost"``, nothing. Without a window ``"never"``: every reward is reported at
            some time, also those of 0.
        rewards: the smallest and the largest reward, in your unit; others are refused. Policies learn from rewards
            scaled to [0, 1] by this range; audits are in your unit.
        start_from: evidence from elsewhere that the policy learns from: another bandit, or by arm the number of plays
            whose rewards are known and the sum of these. It counts for no promise, and the audit shows it apart.
        words: the unit of rewards and what rounds and arms are called, where audits and plans speak of them, such as
            ``{"unit": "€", "round_name": "visitors", "arm_name": "films"}``.
        features: what is known of the situation and of the arms before a decision, as `evenhand.features.Features` or
            its plain form.
        arm_features: values of features that arms have, by arm and name; a decision can give others.
        segments: the feature of the situation by whose values promises can be made and rounds are counted: the name of
            a category or flag, or ``{"feature": "age", "cuts": [18, 65]}`` of a number.
        **parameters: the algorithm's; those with one value per arm as a list in the order of ``arms``, or by name.

    Raises:
        EvenhandError: a parameter is missing, unknown or out of range.
        InfeasiblePromise: the promised shares cannot be kept.

    Example:
        >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2}, seed=1)
        >>> decision = bandit.decide()
        >>> decision.id, decision.names
        ('1', ('tea',))
        >>> bandit.observe(decision.id, {"tea": 1.0})
        {'tea': 'accepted'}
        >>> bandit.observe(decision.id, {"tea": 1.0})
        {'tea': 'duplicate'}
    """

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
        start_from: Bandit | Mapping[str, object] | None = None,
        words: Mapping[str, str] | None = None,
        features: Features | Mapping[str, object] | None = None,
        arm_features: Mapping[str, Mapping[str, object]] | None = None,
        segments: str | Mapping[str, object] | None = None,
        **parameters: object,
    ) -> None:
        given: dict[str, Any] = {"plays": plays, "seed": seed, "window": window, "missing": missing, "rewards": rewards}
        given |= {"words": words, "features": features, "arm_features": arm_features, "segments": segments}
        self._record = record = Record(arms, algorithm, parameters=parameters, **given)
        record.check_taken()
        if start_from is None:
            return
        from evenhand.bandit import history

        if isinstance(start_from, Bandit):
            start = history.start_from(start_from._record, record.names, record.reward_range, "another bandit")
            history.learn_counts(record, start.counts, start.source)
        else:
            history.learn_counts(record, history.as_counts(start_from, record.names, record.reward_range), "counts")

    def __repr__(self) -> str:
        sizes = f"{number_of(len(self.names), 'arm')}, {number_of(self.round, 'round')}"
        return f"<Bandit of {self._record.label}: {sizes}>"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arms, in their order, with those of retired ones."""
        return self._record.names

    @property
    def retired(self) -> frozenset[str]:
        """The names of the arms that do not play any more."""
        return self._record.retired

    @property
    def parameters(self) -> dict[str, Any]:
        """The algorithm's parameters as they are now; those with one value per arm as lists."""
        return dict(self._record.parameters)

    @property
    def round(self) -> int:
        """Number of rounds that have been decided, leased ones among them."""
        return self._record.state.round

    @property
    def version(self) -> int:
        """Number of changes of arms and promises so far."""
        return self._record.version

    # --- decisions and rewards ----------------------------------------------------------------------------------------

    def decide(
        self,
        features: Mapping[str, object] | None = None,
        *,
        arms: Mapping[str, Mapping[str, object]] | None = None,
        available: Iterable[str] | None = None,
        now: float | None = None,
        propensities: bool = False,
    ) -> Decision:
        """Decide which arms play the next round.

        Args:
            propensities: whether to return the propensity of every available arm: exact where the policy has a closed
                form, otherwise estimated from lanes that decide from the same state, which takes time.

        Returns:
            The decision, with its id, the arms that play, and their propensities where they are known.

        Raises:
            EvenhandError: an arm is unknown, retired or named twice, none is available, features are not as declared
                (every fault has a path and a line), or the policy cannot continue beyond its horizon; no decision is
                made then.

        Example:
            >>> Bandit(["tea", "coffee"], "ucb1").decide(available=["coffee"]).names
            ('coffee',)
        """
        at = time.time() if now is None else clock(now)
        return decisions.decide(self._record, available, at, propensities, None, features, arms)

    def decide_many(
        self, rounds: Sequence[Round], *, now: float | None = None, propensities: bool = False
    ) -> list[Decision]:
        """Decide several rounds, one after the other.

        All are checked before the first is decided.

        Args:
            rounds: of each what is known, as `evenhand.bandit.Round`.
            propensities: as in `decide`.

        Returns:
            A decision for each round, in their order.

        Raises:
            EvenhandError: as in `decide`; every fault has a line, and a path such as ``rounds[3].features.age``. The
                rounds before one that the policy cannot decide, as beyond its horizon, are decided.

        Example:
            >>> from evenhand.bandit import Round
            >>> bandit = Bandit(["tea", "coffee"], "ucb1")
            >>> [one.names for one in bandit.decide_many([Round(available=["coffee"]), Round()])]
            [('coffee',), ('tea',)]
        """
        from evenhand.messages.requests import Round

        if not isinstance(rounds, Sequence) or not all(isinstance(one, Round) for one in rounds):
            raise EvenhandError('must be a list of rounds such as Round({"age": 33})', "rounds")
        return decisions.decide_many(self._record, rounds, clock(now), propensities)

    def observe(self, decision: str, rewards: Mapping[str, float], now: float | None = None) -> dict[str, RewardStatus]:
        """Take the rewards of a decision, at any time, in any order, one by one or together.

        A reward that is already known changes nothing. A reward that arrives after the window is recorded, and the
        policy does not learn from it.

        Args:
            decision: its id.
            rewards: by the names of arms that played in it, in your unit.

        Returns:
            For each arm ``"accepted"``, ``"duplicate"`` or ``"late"``.

        Raises:
            RewardError: the decision is unknown, an arm did not play in it, another reward is known, or the bandit
                takes no such rewards; its ``status`` says which. No reward is taken then.
            EvenhandError: a reward is not a number, or out of range.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "ucb1", rewards=(0, 5), window=60.0, missing="lost")
            >>> decision = bandit.decide(now=0.0)
            >>> bandit.observe(decision.id, {"tea": 4.5}, now=61.0)
            {'tea': 'late'}
        """
        return received.observe(self._record, decision, rewards, time.time() if now is None else clock(now))

    def observe_total(self, value: float) -> None:
        """Take the anonymous total of the round just decided: everything that arrived in it, whichever arm earned it.

        It is credited in equal parts to the arms that played in that round.

        Args:
            value: the total, in your unit.

        Raises:
            RewardError: no decision has been made, the round's total is known, rewards were given by decision, or the
                smallest reward is not 0.
            EvenhandError: the total is not a finite number.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "ars_ucb")
            >>> decision = bandit.decide()
            >>> bandit.observe_total(0.5)
        """
        received.observe_total(self._record, value)

    def due(self, now: float | None = None) -> bool:
        """Whether the window of a decision has passed, or the time of a lease, so that `expire` would close it.

        Returns:
            True if `expire` would close a decision or a lease now.
        """
        return self._record.due(clock(now))

    def expire(self, now: float | None = None) -> dict[str, list[str]]:
        """Close the decisions whose window has passed, and leases that are over; all that has a time does this first.

        Returns:
            The ids of these decisions, each with the arms whose rewards are missing.
        """
        closed: dict[str, list[str]] = received.close(self._record, clock(now))["closed"]
        return closed

    # --- leases -------------------------------------------------------------------------------------------------------

    def lease(
        self,
        decisions: int,
        seconds: float = 60.0,
        available: Iterable[str] | None = None,
        *,
        units: bool = False,
        now: float | None = None,
    ) -> Lease:
        """Lease the next rounds to somebody who decides them without asking again.

        How often each arm plays in them is decided now, from what is known now, with promised shares kept exactly. The
        plays count as made until the lease is over; then those that were not reported are taken out of the account.

        Args:
            decisions: number of rounds, at most 1,000,000.
            seconds: for which they may be played, up to a day; they may be reported for as long again, and at least a
                minute.
            units: whether the arms of a round follow from a hash of a unit, such as the id of a user, so that it keeps
                its arm; the counts are then kept on average only.

        Returns:
            The lease, with its id, its times, and how often each arm plays in it.

        Raises:
            EvenhandError: an arm is unknown, retired or named twice, none is available, or the policy must see single
                rounds.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2})
            >>> lease = bandit.lease(1000, seconds=60)
            >>> lease.id, lease.decisions, [(one.arm, one.propensity) for one in lease.arms]
            ('1', 1000, [('tea', 0.8), ('coffee', 0.2)])
        """
        from evenhand.bandit import lease_rounds

        received.close(self._record, at := clock(now))
        return lease_rounds.lease(self._record, decisions, seconds, available, units, at)[0]

    def report(
        self,
        lease: str,
        played: int,
        rewards: Mapping[str, tuple[Sequence[int], Sequence[float]]] | None = None,
        columns: Sequence[int] | None = None,
        *,
        finished: bool = False,
        now: float | None = None,
    ) -> LeaseReport:
        """Record the report of a lease, completely or not at all.

        Args:
            lease: its id.
            played: number of its decisions that were played so far; these are its first ones. Where more were reported
                before, those stand.
            rewards: by arm, at which positions it had rewards, counted from 0, and these rewards, in your unit.
            columns: of the last of these decisions, of a lease for units; at least of those that were not reported yet.
            finished: whether no more will be played; what was not reported is taken out of the account then.

        Returns:
            What was taken of the report, and what the service knows of the lease now.

        Raises:
            LeaseError: there is no such lease, it is over, or other columns were reported before; its ``status`` says
                which.
            RewardError: an arm did not play at a position, or another reward is known.
            EvenhandError: there are not so many decisions, or a reward is out of range.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2})
            >>> lease = bandit.lease(3, available=["tea"])
            >>> report = bandit.report(lease.id, played=2, rewards={"tea": ([0], [1.0])})
            >>> report.added, report.accepted
            (2, 1)
            >>> bandit.report(lease.id, played=2, finished=True).returned
            True
        """
        from evenhand.bandit import lease_reports

        received.close(self._record, at := clock(now))
        return lease_reports.report(self._record, lease, played, rewards or {}, columns, finished, at)[0]

    # --- evidence from elsewhere --------------------------------------------------------------------------------------

    def learn(self, log: Log | str | os.PathLike[str], missing: str | None = None) -> Learned:
        """Learn from the rewards in a log of decisions of another policy; they count for no promise.

        A bandit that goes by features reads them from the file, each in a column of its name; a log must have been read
        with them.

        Args:
            log: a CSV or Parquet file, or what `evenhand.bandit.evaluation.log.read_log` returned.
            missing: what a blank reward in a file means: ``"zero"``, ``"lost"`` or ``"never"``; None for what was
                said of the file before, or what this bandit's ``missing`` says, which refuses them where every reward
                is reported.

        Returns:
            What was learned, and what was not; printed, it is a sentence.

        Raises:
            DataError: the log cannot be read, or has arms that the bandit does not have.
            EvenhandError: a reward is out of range, or the policy goes by more than counts; nothing is learned then.

        Example:
            >>> import pandas as pd
            >>> from evenhand.evaluation import Log
            >>> rows = {"timestamp": [1, 2], "item_id": ["tea", "tea"], "reward": [0, 1], "propensity_score": [1, 1]}
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=0.5)
            >>> print(bandit.learn(Log.of(pd.DataFrame(rows))))
            learned from 2 plays of the log: tea 2; without plays in the log: coffee
            >>> line = bandit.audit().lines[0]
            >>> line.plays, line.learned_plays, line.learned_mean
            (0, 2, 0.5)
        """
        from evenhand.bandit.evaluation.learning import learn_log

        return learn_log(self._record, log, missing)

    # --- changes ------------------------------------------------------------------------------------------------------

    def change(self, change: ChangeLike, *, now: float | None = None) -> tuple[str, ...]:
        """Change arms or promises, all at once or not at all; what is promised anew begins with the next round.

        What is owed under a promise that changes goes on, unless the change says otherwise. Closing and
        reopening are recorded only: a service decides no more, a bandit does.

        Args:
            change: one of `evenhand.changes`, such as ``Promise({"tea": 0.2}, reason="as agreed")``; or its table, such
                as ``{"change": "promise", "fractions": {"tea": 0.2}}``.

        Returns:
            The arms and groups whose promise has changed. Where nothing has changed, the version stays, too.

        Raises:
            InfeasiblePromise: the promises could not be kept together; nothing changes then.
            EvenhandError: it cannot be made, as where an arm is unknown, too few would be left, or the policy follows a
                fixed schedule or makes no such promise.

        Example:
            >>> from evenhand.changes import Promise
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.2])
            >>> bandit.change(Promise({"tea": 0.1, "coffee": 0.3}, reason="coffee was late"))
            ('coffee',)
            >>> bandit.audit().changes_made[0].text, bandit.audit().changes_made[0].reason
            ('the promised share of coffee changed from 20% to 30%', 'coffee was late')
        """
        from evenhand.bandit import changes

        received.close(self._record, at := clock(now))
        return changes.make(self._record, change_of(change), at)

    def plan(self, change: ChangeLike, *, now: float | None = None) -> Plan:
        """What a change would do; nothing changes.

        Args:
            change: as of `change`.

        Returns:
            Whether anything would change, what each arm and group would be promised, and whose promise would begin; and
            the effect: what the promises would cost, who pays, and how long arrears last.

        Raises:
            InfeasiblePromise: the promises could not be kept together.
            EvenhandError: it could not be made.

        Example:
            >>> from evenhand.changes import AddArm
            >>> plan = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.2]).plan(AddArm("mate", fraction=0.3))
            >>> plan.changed, round(plan.promised, 3), plan.begins
            (True, 0.6, ('mate',))
        """
        from evenhand.bandit.audit import effects

        received.close(self._record, clock(now))
        return effects.planned_with_effect(self._record, change_of(change))

    def add(self, arm: str, *, now: float | None = None, **values: object) -> None:
        """Add an arm: the change `evenhand.changes.AddArm` with these values.

        Args:
            **values: its ``fraction``, ``penalty``, ``weight``, ``cap``, ``rate`` or ``features``, and a ``reason``.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.1])
            >>> bandit.add("mate", fraction=0.2)
            >>> bandit.names, bandit.parameters["fractions"]
            (('tea', 'coffee', 'mate'), [0.1, 0.1, 0.2])
        """
        self.change(change_of({"change": "add", "arm": arm, **values}), now=now)

    def retire(self, arm: str, *, reason: str = "", now: float | None = None) -> None:
        """Retire an arm: the change `evenhand.changes.Retire`; its pending rewards are still taken."""
        self.change(Retire(arm, reason=reason), now=now)

    def bring_back(self, arm: str, fraction: float | None = None, *, now: float | None = None, **terms: Any) -> None:
        """Bring back a retired arm with everything known of it: the change `evenhand.changes.BringBack`.

        Args:
            fraction: its promised share of the rounds, in [0, 1]; None for none.
        """
        self.change(change_of({"change": "bring_back", "arm": arm, "fraction": fraction, **terms}), now=now)

    def rename(self, arm: str, new_name: str, *, reason: str = "", now: float | None = None) -> None:
        """Give an arm another name, with its promise, its plays and its pending rewards: `evenhand.changes.Rename`.

        Args:
            new_name: its name from now on.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "ucb1")
            >>> decision = bandit.decide()
            >>> bandit.rename("tea", "green tea")
            >>> bandit.observe(decision.id, {"green tea": 1.0})
            {'green tea': 'accepted'}
        """
        self.change(Rename(arm, new_name, reason=reason), now=now)

    def promise(
        self,
        fractions: Mapping[str, float] | None = None,
        *,
        caps: Mapping[str, float] | None = None,
        groups: Mapping[str, Mapping[str, Any] | None] | None = None,
        segment: str | None = None,
        now: float | None = None,
        **terms: Any,
    ) -> tuple[str, ...]:
        """Change the promises of some arms and groups: the change `evenhand.changes.Promise`.

        Args:
            fractions: shares of the rounds by arm, in [0, 1].
            caps: largest shares of the rounds by arm, in [0, 1]; 1 for no limit.
            groups: tables with ``at_least``, ``at_most`` or ``exactly``, and ``arms``, by name; None ends one.
            segment: in whose rounds the shares are promised; None for all rounds.

        Returns:
            The arms and groups whose promise has changed.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=[0.1, 0.2])
            >>> bandit.promise({"tea": 0.1, "coffee": 0.3}), bandit.promise({"tea": 0.1})
            (('coffee',), ())
        """
        given = {"fractions": fractions, "caps": caps, "groups": groups, "segment": segment}
        return self.change(change_of({"change": "promise", **given, **terms}), now=now)

    # --- audit --------------------------------------------------------------------------------------------------------

    def audit(self, limit: int | None = None, now: float | None = None) -> Audit:
        """For each arm what was promised, what it got, and its rewards; see `evenhand.messages.audit.Audit`.

        Args:
            limit: lines at most: those of the arms furthest behind their promise first, then of those with the most
                plays since it began. None for all, in the order of the arms.

        Raises:
            EvenhandError: ``limit`` is less than 1.
        """
        from evenhand.bandit.audit.account import Account
        from evenhand.bandit.audit.computation import audit

        received.close(self._record, at := clock(now))
        return audit(Account(self._record), limit, at)

    def save_report(self, path: str | os.PathLike[str], *, now: float | None = None) -> None:
        """Write a report to be handed on: promises and verdicts, costs, intervals, missing rewards, and changes.

        Args:
            path: of the HTML file, which is replaced if it exists; it loads nothing, and prints well.

        Raises:
            DataError: the file cannot be written.

        Example:
            >>> import tempfile
            >>> from pathlib import Path
            >>> path = Path(tempfile.mkdtemp(), "report.html")
            >>> Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2}).save_report(path)
            >>> "<script" in path.read_text(encoding="utf-8")
            False
        """
        from evenhand.bandit.audit.report import report, reported
        from evenhand.core.files import write_page

        write_page(path, report(*reported(self._record, self.audit(now=now))))

    def differences(
        self,
        control: str | None = None,
        *,
        of: Literal["arms", "groups"] = "arms",
        month: str | None = None,
        assume: Literal["lost independently", "the window is over"] | None = None,
        confidence: float = 0.95,
        now: float | None = None,
    ) -> tuple[Difference, ...]:
        """Differences of mean rewards, with intervals that hold at all times at once, however often one looks.

        Where all arms that could play had a known chance above 0 in at least a tenth of the rounds, each reward of
        these rounds is weighted by 1/p, and the difference is the mean one over them: that holds whatever changes over
        time. Otherwise it is that of the two arms' own means, which holds only if nothing common changed meanwhile.
        Each interval says what is claimed of it, and under which premises. All of them hold at once with the given
        confidence. What was learned elsewhere does not count.

        Returns:
            A difference for each pair, in the order of the arms.

        Raises:
            EvenhandError: an arm or month is unknown, fewer than two can be compared, there are too many pairs, or the
                bandit learns from totals.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fair_random", fractions=0.2, seed=1)
            >>> for round in range(2000):
            ...     decision = bandit.decide()
            ...     _ = bandit.observe(decision.id, {decision.names[0]: float(decision.names[0] == "tea")})
            >>> (found,) = bandit.differences("coffee")
            >>> found.first, found.second, found.verdict, found.interval.claim
            ('tea', 'coffee', 'larger', 'holds')
        """
        from evenhand.bandit.audit.differences import differences

        received.close(self._record, clock(now))
        return differences(self._record, control, of, month, assume, confidence)

    def stopping(
        self,
        delta: float = 0.05,
        epsilon: float = 0.0,
        *,
        best: int | Literal["promises"] | None = None,
        now: float | None = None,
    ) -> Stopping:
        """Whether one may stop: the arms that can still be the best, and what this rests on; ask as often as you like.

        Returns:
            The answer; printed, it is sentences.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "fucb", fractions=0.3)
            >>> for round in range(200):
            ...     decision = bandit.decide()
            ...     good = {"tea": 8, "coffee": 3}[decision.names[0]]
            ...     _ = bandit.observe(decision.id, {decision.names[0]: float(round % 10 < good)})
            >>> answer = bandit.stopping(delta=0.2)
            >>> answer.stop, answer.candidates, answer.claim
            (True, ('tea',), 'holds_if')
        """
        from evenhand.bandit.audit.stopping import stopping

        received.close(self._record, clock(now))
        return stopping(self._record, delta, epsilon, best)

    def health(self, now: float | None = None) -> AllocationHealth:
        """What needs attention: promises in arrears, estimates that cannot be trusted, rewards that stay away.

        Returns:
            A word, a sentence, and the numbers behind them.

        Example:
            >>> Bandit(["tea", "coffee"], "fucb", fractions={"coffee": 0.2}).health().status
            'good'
        """
        from evenhand.bandit.audit.account import Account
        from evenhand.bandit.audit.computation import health

        received.close(self._record, at := clock(now))
        return health(Account(self._record), False, at)

    # --- saving -------------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """Everything as plain JSON values, from which `restored` makes an exact copy.

        Returns:
            The table.
        """
        from evenhand.bandit import saved

        return saved.dump(self._record)

    @classmethod
    def restored(cls, plain: object) -> Bandit:
        """The bandit that `dump` described.

        Args:
            plain: what `dump` returned, also after a way through JSON.

        Returns:
            A bandit whose next decisions are those that the first one would have made.

        Raises:
            StateError: the description is damaged, or of another format.

        Example:
            >>> bandit = Bandit(["tea", "coffee"], "thompson", seed=3)
            >>> Bandit.restored(bandit.dump()).decide().names == bandit.decide().names
            True
        """
        from evenhand.bandit import saved

        bandit = cls.__new__(cls)
        bandit._record = saved.restored(plain)
        return bandit

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a JSON file, completely or not at all.

        Args:
            path: of the file, which is replaced if it exists.

        Raises:
            StateError: the file cannot be written.
        """
        from evenhand.bandit import saved

        saved.write(self.dump(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Bandit:
        """The bandit that `save` wrote; its next decisions are those that the saved one would have made.

        Args:
            path: of the file.

        Raises:
            StateError: the file is missing, damaged or not a saved bandit.
            MissingPart: it needs a part of your own, whose module was not imported.
        """
        from evenhand.bandit import saved

        plain = saved.read(path)
        try:
            return cls.restored(plain)
        except (MissingPart, StateError) as error:
            raise type(error)(f"{path}: {error}") from None


for _one in vars(Bandit).values():
    if isfunction(_one):
        complete(_one, ARGUMENTS)


def clock(now: float | None) -> float:
    """Seconds since the epoch, as the user gave them; None for the computer's clock."""
    return time.time() if now is None else validate.number("now", now, -FAR, FAR)
