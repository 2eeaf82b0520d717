"""Who must play by plan? Schedules that decide some rounds, or all of them, themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from evenhand.core import validate
from evenhand.core.by_default import by_default
from evenhand.core.dataclasses import dataclass
from evenhand.core.errors import EvenhandError
from evenhand.core.frozen import field, frozen
from evenhand.core.parts import part
from evenhand.core.state import Array, Decision, Mask, Observation, Shape, State, each_array
from evenhand.policy.claim import Claim, Ranking
from evenhand.policy.confidence import Intervals, as_confidence
from evenhand.policy.forgetting import refuse_memory
from evenhand.policy.part import Composition, PolicyPart, Traits
from evenhand.policy.rules import ScheduleRules

LONGEST = 1e12  # rounds that no run has
OUT = 2.0**50  # more plays than anybody has


class Schedule(PolicyPart):
    """A plan that decides rounds itself. An own schedule needs `plan` or `forced`.

    Its traits: ``alone``, ``free``, ``flexible`` and ``idle``; see `evenhand.policy.part.Traits`.
    """

    @by_default
    def promises(self) -> bool:
        """Whether the plan keeps shares of the rounds."""
        return self.fractions is not None

    @by_default
    def forces(self) -> bool:
        """Whether it decides some rounds whatever the other parts say, by `forced`."""
        return type(self).forced is not Schedule.forced

    @by_default
    def keeps_scores(self) -> bool:
        """Whether `plan` says at most which arms go first, and leaves the scores as they are."""
        return type(self).plan is Schedule.plan

    def check(self, arms: int, plays: int) -> None:
        """Complain if the plan is meant for another number of arms or plays.

        Args:
            arms: K, number of arms.
            plays: m, arms that play per round.

        Raises:
            EvenhandError: it is.
        """

    def forced(self, state: State, observation: Observation) -> Mask | None:
        """The arms that play whatever the other parts say, (…, arms); None where the other parts decide all lanes.

        A lane without a forced arm is left to the other parts.

        Args:
            state: of the policy.
            observation: what is known of the round.

        Returns:
            Who plays, or None.
        """
        return None

    def plan(self, claim: Claim, state: State, observation: Observation) -> Claim:
        """The claim to go by, given what the fairness part says.

        Args:
            claim: of the fairness part.
            state: of the policy.
            observation: what is known of the round.
        """
        return claim

    def refuses(self, policy: Composition) -> str | None:
        """Refuses holds, features, promises that the plan cannot keep, and free pulls where their age counts."""
        own, hold = type(self).__name__, type(policy.hold).__name__
        if self.traits.idle:
            return None
        if not policy.hold.traits.idle:
            return f"{own} decides single rounds, but {hold} holds choices for several rounds: use one of them"
        if policy.contextual:
            return f"{own} plans rounds whatever their features are: use an index without features, or no schedule"
        if self.traits.alone and not policy.fairness.traits.idle:
            return f"{own} decides every round itself and keeps no promise: use fairness=NoPromise(), or no schedule"
        if self.traits.free and policy.named:
            return f"{own} pulls arms before round 1, and these pulls have no age: omit free"
        return None

    def rounds(self, arms: int) -> float:
        """The rounds that the plan takes for itself before the other parts decide.

        Args:
            arms: K, number of arms.

        Returns:
            Rounds, at least 0.
        """
        return 0.0


@part("schedule", "none")
@frozen
class NoSchedule(Schedule):
    """The other parts decide every round.

    Example:
        >>> NoSchedule().traits.alone
        False
    """

    traits = Traits(idle=True, flexible=True)

    def rules(self) -> ScheduleRules:
        """No plan."""
        return ScheduleRules()


@part("schedule", "periodic_exploration")
@frozen
class PeriodicExploration(Schedule):
    """The arms play in turn in a part of the rounds, whatever the other parts say: forced exploration.

    In every ⌈K/α⌉ rounds the first K go to the arms in turn. Where an arm is unavailable in its round, the
    other parts decide.

    Args:
        share: α in [0, 1], part of the rounds.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> from evenhand.policy import EmpiricalMean
        >>> policy = Policy(EmpiricalMean(), schedule=PeriodicExploration(0.5))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(8)]
        [0, 1, 0, 0, 0, 1, 0, 0]

    Source: Besson et al. 2022, Algorithm 2, line 3, counted from round 1 and not from the last change.
    """

    share: float = field(converter=validate.unit)
    traits = Traits(flexible=True)
    keeps_scores = True

    def refuses(self, policy: Composition) -> str | None:
        """Promises, whose rounds it would use."""
        if not policy.fairness.promises:
            return super().refuses(policy)
        own, fairness = type(self).__name__, type(policy.fairness).__name__
        return (
            f"{own} uses rounds that {fairness} owes to other arms: use no schedule, because promised shares also "
            "explore, or fairness=NoPromise()"
        )

    def plan(self, claim: Claim, state: State, observation: Observation) -> Claim:
        """The arm whose turn it is goes before all others."""
        if self.share == 0.0:
            return claim
        turn = state.round % math.ceil(state.arms / self.share - 1e-9)
        if turn >= state.arms:
            return claim
        others = np.full(claim.score.shape, -np.inf) if claim.priority is None else claim.priority
        return replace(claim, priority=np.where(np.arange(state.arms) == turn, np.inf, others))


@part("schedule", "quotas")
@frozen(eq=False)
class Quotas(Schedule):
    """First every arm plays its quota, lowest index first; then the other parts decide.

    Where arms are unavailable, a round in which no arm with an open quota can play is left to the other parts.

    Args:
        quotas: (arms,) whole numbers, plays of each arm before anything else; one number stands for every arm.
        promised: (arms,), the share of the rounds that the quotas are there to keep at their horizon, if any.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(schedule=Quotas([2, 1]))
        >>> state, rng = policy.start(arms=2), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(3)]
        [0, 0, 1]

    Source: Patil et al. 2019, section 4, Algorithms 1 and 2.
    """

    quotas: Array = field(converter=validate.whole_numbers)
    promised: Array | None = field(default=None, converter=validate.fractions_or_none)

    @property
    def fractions(self) -> Array | None:
        """What the quotas are there to keep, (arms,) or (1,)."""
        return self.promised

    def check(self, arms: int, plays: int) -> None:
        """One quota per arm, or one for all."""
        validate.one_per_arm("quotas", self.quotas, arms)

    def rounds(self, arms: int) -> float:
        """The sum of the quotas."""
        return float(np.broadcast_to(self.quotas, (*self.quotas.shape[:-1], arms)).sum(axis=-1).max())

    def plan(self, claim: Claim, state: State, observation: Observation) -> Claim:
        """Arms with an open quota go before all others."""
        due = state.tally.pulls < self.quotas
        if not due.any():
            return claim
        others = -np.inf if claim.priority is None else claim.priority
        return replace(claim, priority=np.where(due, np.inf, others))


@part("schedule", "forced_start")
@frozen
class ForcedStart(Schedule):
    """First every arm plays once, in the order of the arms; the last such round is filled up from the first arm.

    With ``free`` a simulation instead pulls every arm once before round 1. These pulls are no plays of a round: they
    count in the tally, and their rewards come as late as others, but no metric sees them. Outside simulations there is
    no such round, and a free start is refused.

    Args:
        free: whether the first pulls come before round 1.

    Example:
        >>> import numpy as np
        >>> from evenhand import Observation, Policy
        >>> policy = Policy(schedule=ForcedStart())
        >>> state, rng = policy.start(arms=3), np.random.default_rng(0)
        >>> [policy.decide(state, Observation(), rng).played.argmax().item() for _ in range(3)]
        [0, 1, 2]

    Source: Chen et al. 2024, Algorithm 1, lines 2 to 4; the published code has the free start.
    """

    free: bool = field(default=False, converter=validate.truth)

    @property
    def traits(self) -> Traits:
        """Whether it is free."""
        return Traits(free=self.free)

    def rounds(self, arms: int) -> float:
        """One for each arm, or none."""
        return 0.0 if self.free else float(arms)

    def rules(self) -> ScheduleRules | None:
        """Every arm once; none for pulls before round 1."""
        return None if self.free else ScheduleRules(once=True)

    def plan(self, claim: Claim, state: State, observation: Observation) -> Claim:
        """Arms that have never played go before all others, then those of the lowest index."""
        due = state.tally.pulls < 1.0
        if self.free or not due.any():
            return claim
        open_now = due if observation.available is None else due & observation.available
        others = -np.inf if claim.priority is None else claim.priority
        others = np.where(open_now.any(axis=-1, keepdims=True), np.finfo(float).max, others)
        return replace(claim, priority=np.where(due, np.inf, others))


@dataclass(slots=True)
class Contest:
    """Which arms are still in, and how often each of them has been played since the last cut."""

    alive: Mask  # (…, arms) True for arms that have not been eliminated
    passes: Array  # (…, 1) plays that every arm still in had when arms were last eliminated


@part("schedule", "elimination")
@frozen
class Elimination(Schedule):
    """Arms play in turn, and one that is surely worse than m others never plays again.

    Whenever every arm still in has been played once more, arm i is eliminated if the upper end of its interval lies
    below the lower ends of m others still in, m being the number of plays of the selection; the paper has m = 1. The
    arms still in play by their number of plays, the fewest first. An arm that is out plays only where too few others
    are available.

    Args:
        confidence: an interval for the mean of every arm.

    Example:
        >>> import numpy as np
        >>> from evenhand import Feedback, Observation, Policy
        >>> from evenhand.policy import ConfidenceIntervals
        >>> policy = Policy(schedule=Elimination(ConfidenceIntervals(inside=2.0, per_arm=False)))
        >>> state, rng, rewards = policy.start(arms=2), np.random.default_rng(0), np.array([1.0, 0.0])
        >>> for _ in range(20):
        ...     played = policy.decide(state, Observation(), rng).played
        ...     policy.observe(state, Feedback(played, rewards * played), rng)
        >>> state.schedule.alive, state.tally.pulls
        (array([ True, False]), array([17.,  3.]))

    Source: Lancewicki et al. 2021, section 4, Algorithm 3.
    """

    confidence: Intervals = field(converter=as_confidence, metadata={"slot": "confidence"})
    traits = Traits(alone=True, bounded=True)

    def __attrs_post_init__(self) -> None:
        refuse_memory(self.confidence.evidence)

    def refuses(self, policy: Composition) -> str | None:
        """Also what the intervals refuse."""
        return super().refuses(policy) or self.confidence.refuses(policy)

    def start(self, shape: Shape) -> Contest:
        """All arms are in."""
        return Contest(np.ones(shape, dtype=bool), np.zeros((*shape[:-1], 1)))

    def plan(self, claim: Claim, state: State, observation: Observation) -> Claim:
        """The arm still in with the fewest plays goes first, arms that are out last."""
        contest = self._cut(state)
        return Ranking(-state.tally.pulls - OUT * ~contest.alive)

    def after_decision(self, state: State, decision: Decision) -> None:
        """Record who has been eliminated."""
        state.schedule = self._cut(state)

    def _cut(self, state: State) -> Contest:
        """The contest after the arms that are surely worse have been taken out."""
        contest: Contest = state.schedule
        passes = np.where(contest.alive, state.tally.pulls, np.inf).min(axis=-1, keepdims=True)
        if not (passes > contest.passes).any():
            return contest
        low, high = self.confidence.of(state)
        low = np.where(contest.alive, low, -np.inf)
        rivals = -np.sort(-low, axis=-1)[..., state.plays - 1, np.newaxis]  # the m-th largest lower end
        beaten = (high < rivals) & (passes > contest.passes)
        return Contest(contest.alive & ~beaten, np.maximum(contest.passes, passes))


@dataclass(slots=True)
class Campaign:
    """How far each lane is in its phases."""

    alive: Mask  # (…, arms) arms that have not been eliminated
    phase: Array  # (…, 1) m, counted from 1
    arm: Array  # (…, 1) the arm that plays; −1 before the first
    left: Array  # (…, 1) rounds that it still plays
    bridge: Mask  # (…, 1) True while what comes in is thrown away
    before: Array  # (…, 1) rewards credited to the arm when it began to play
    sums: Array  # (…, arms) rewards credited to each arm in its plays outside the bridges


@part("schedule", "phased_elimination")
@frozen
class PhasedElimination(Schedule):
    """Phases of longer and longer runs of each arm, after each of which the worse arms are dropped.

    In phase m, with tolerance ``Δ_m = 2^−m``, every arm still in plays until it has ``n_m`` rounds in all, without a
    break; then an arm goes if its mean is more than Δ_m below the largest; then the best arm still in plays for
    ``n_m − n_(m−1)`` rounds of which nothing is kept (the bridge), so that late rewards do not reach into the next
    phase. n_m makes the mean right to Δ_m/2. With ``L = max(ln(T Δ_m²), 1)`` and the expectation E, the variance V and
    the bound d of the delay:

    =========  ==================================================================================  =================
    rule       n_m                                                                                 what is known
    =========  ==================================================================================  =================
    expected   ``(sqrt(2L) + sqrt(2L + 8/3 Δ L + 6 Δ m E))²/Δ²``                                   E
    bounded    ``max(m d', (sqrt(2L) + sqrt(2L + 8/3 Δ L + 4 Δ E))²/Δ²)``, ``d' = min(d, n_e/m)``  E and d
    variance   ``(sqrt(2L) + sqrt(2L + 8/3 Δ L + 4 Δ (E + 2V)))²/Δ²``                              E and V
    composite  ``(sqrt(L/2) + sqrt(L/2 + 2 Δ m d))²/Δ²``                                           length d of spread
    =========  ==================================================================================  =================

    n_e is the n_m of the rule "expected". The first three are Pike-Burke et al.'s and have one form: n plays leave a
    random error of ``sqrt(2L/n) + 4L/(3n)`` and a bias of ``B/n``, and n_m is where the two together are Δ_m/2, with
    ``B = 3mE``; ``B = 2E``, one E for either end of a run, where the bridge keeps everything else out; and
    ``B = 2(E + 2V)``. The fourth is ours:
    Hoeffding's inequality, and a bias of at most ``m d/n``, since each of an arm's m runs can lose or win the rewards
    of d rounds at either end; it has the order of Garg & Akash's. While the arm of a run is unavailable, the other
    parts decide, and the run waits.

    Args:
        horizon: T, rounds.
        rule: ``"expected"``, ``"bounded"``, ``"variance"`` or ``"composite"``.
        mean_delay: E ≥ 0, rounds.
        max_delay: d ≥ 0, rounds.
        variance: V ≥ 0, of the delay.

    Example:
        >>> PhasedElimination(horizon=10_000, rule="composite", max_delay=20).length(1)
        189

    Source: Pike-Burke et al. 2018, Algorithm 1; Garg & Akash 2019.
    """

    horizon: int = field(converter=validate.count)
    rule: str = field(default="expected", validator=validate.choice("expected", "bounded", "variance", "composite"))
    mean_delay: float = field(default=0.0, converter=validate.nonnegative)
    max_delay: float = field(default=0.0, converter=validate.nonnegative)
    variance: float = field(default=0.0, converter=validate.nonnegative)
    traits = Traits(alone=True, bounded=True)

    def rules(self) -> ScheduleRules:
        """The lengths of the phases, up to the first that outlasts every run."""
        lengths = [0.0]
        while lengths[-1] <= LONGEST:
            lengths.append(float(self.length(len(lengths))))
        return ScheduleRules(tuple(lengths))

    def length(self, phase: int) -> int:
        """n_m, the rounds that every arm still in has played at the end of phase m; 0 for m = 0.

        Args:
            phase: m ≥ 0.

        Returns:
            Rounds.
        """
        return 0 if phase == 0 else math.ceil(self._length(phase, self.rule))

    def _length(self, phase: int, rule: str) -> float:
        gap = 2.0**-phase
        log = max(math.log(self.horizon * gap**2), 1.0)
        if rule == "composite":
            half, late = math.sqrt(log / 2.0), 2.0 * gap * phase * self.max_delay
            return (half + math.sqrt(log / 2.0 + late)) ** 2 / gap**2
        late = {
            "expected": 6.0 * phase * self.mean_delay,
            "bounded": 4.0 * self.mean_delay,
            "variance": 4.0 * (self.mean_delay + 2.0 * self.variance),
        }[rule]
        root = math.sqrt(2.0 * log) + math.sqrt(2.0 * log + 8.0 / 3.0 * gap * log + gap * late)
        length = root**2 / gap**2
        if rule == "bounded":
            length = max(length, min(phase * self.max_delay, self._length(phase, "expected")))
        return length

    def check(self, arms: int, plays: int) -> None:
        """One arm plays at a time."""
        if plays > 1:
            raise EvenhandError(f"phased_elimination plays one arm per round, got plays = {plays}: use elimination")

    def start(self, shape: Shape) -> Campaign:
        """All arms are in, nobody has played."""
        lane = (*shape[:-1], 1)
        none, bridge = np.zeros(lane), np.zeros(lane, dtype=bool)
        return Campaign(
            np.ones(shape, dtype=bool), none + 1.0, none - 1.0, none.copy(), bridge, none.copy(), np.zeros(shape)
        )

    def forced(self, state: State, observation: Observation) -> Mask:
        """The arm of each lane's run, where it is available."""
        run: Mask = self._advanced(state).arm == np.arange(state.arms)
        return run if observation.available is None else run & observation.available

    def after_decision(self, state: State, decision: Decision) -> None:
        """Lanes at the end of a run go on to the next; a round less to go, unless the arm was unavailable."""
        campaign = state.schedule = self._advanced(state)
        own = campaign.arm == np.arange(state.arms)
        campaign.left -= (decision.played & own).any(axis=-1, keepdims=True)

    def _advanced(self, state: State) -> Campaign:
        """The campaign in which lanes that have come to the end of a run are at the next one."""
        campaign: Campaign = state.schedule
        over = np.flatnonzero(campaign.left.reshape(-1) <= 0.0)
        if over.size == 0:
            return campaign
        campaign = each_array(campaign, np.copy)
        rewards = state.tally.rewards.reshape(-1, state.arms)
        for lane in over.tolist():
            self._advance(_LaneOf(campaign, lane), rewards[lane])
        return campaign

    def _advance(self, lane: _LaneOf, rewards: Array) -> None:
        """The next run of a lane: the next arm still in, the bridge after the last, the next phase after the bridge."""
        if lane.arm >= 0 and not lane.bridge:
            lane.sums[lane.arm] += rewards[lane.arm] - lane.before
        phase, alive = lane.phase, np.flatnonzero(lane.alive)
        later = alive[alive > lane.arm] if not lane.bridge else alive
        if lane.bridge:
            phase += 1
        run = self.length(phase) - self.length(phase - 1)
        if later.size:
            lane.go(int(later[0]), run, phase, bridge=False, before=rewards[later[0]])
            return
        means = lane.sums / self.length(phase)
        lane.alive &= means >= means[alive].max() - 2.0**-phase
        best = int(alive[means[alive].argmax()])
        lane.go(best, run if lane.alive.sum() > 1 else np.inf, phase, bridge=True, before=rewards[best])


class _LaneOf:
    """One lane of a campaign, to read and write."""

    def __init__(self, campaign: Campaign, lane: int) -> None:
        arms = campaign.alive.shape[-1]
        self._campaign, self._lane = campaign, lane
        self.alive, self.sums = campaign.alive.reshape(-1, arms)[lane], campaign.sums.reshape(-1, arms)[lane]
        self.phase, self.arm = int(campaign.phase.reshape(-1)[lane]), int(campaign.arm.reshape(-1)[lane])
        self.bridge, self.before = bool(campaign.bridge.reshape(-1)[lane]), float(campaign.before.reshape(-1)[lane])

    def go(self, arm: int, rounds: float, phase: int, bridge: bool, before: float) -> None:
        """Begin a run."""
        new = {"arm": arm, "left": rounds, "phase": phase, "bridge": bridge, "before": before}
        for name, value in new.items():
            getattr(self._campaign, name).reshape(-1)[self._lane] = value
