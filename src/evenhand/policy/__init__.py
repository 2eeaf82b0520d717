"""The parts of a policy: what is known of the arms, what they are owed, and who plays.

Each slot of `evenhand.Policy` takes one: index, evidence, fairness, selection, schedule and hold. The base classes
(`Index`, `Evidence`, `Fairness`, `Selection`, `Schedule`, `Hold`) are for parts of one's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.policy.accounts import owed as owed
    from evenhand.policy.best_chance import BestChance as BestChance
    from evenhand.policy.bootstrap import Bootstrap as Bootstrap
    from evenhand.policy.chain import Chain as Chain
    from evenhand.policy.claim import Fairness as Fairness
    from evenhand.policy.claim import Ranking as Ranking
    from evenhand.policy.claim import Shares as Shares
    from evenhand.policy.confidence import ConfidenceIntervals as ConfidenceIntervals
    from evenhand.policy.confidence import Intervals as Intervals
    from evenhand.policy.confidence import OptimisticShares as OptimisticShares
    from evenhand.policy.confidence import optimistic_means as optimistic_means
    from evenhand.policy.contextual import LinTS as LinTS
    from evenhand.policy.contextual import LinUCB as LinUCB
    from evenhand.policy.doubt import IntervalsUntilDisproved as IntervalsUntilDisproved
    from evenhand.policy.doubt import MatureBeta as MatureBeta
    from evenhand.policy.doubt import MatureIntervals as MatureIntervals
    from evenhand.policy.doubt import UntilDisproved as UntilDisproved
    from evenhand.policy.evidence import Evidence as Evidence
    from evenhand.policy.evidence import Mature as Mature
    from evenhand.policy.evidence import Optimistic as Optimistic
    from evenhand.policy.evidence import Pessimistic as Pessimistic
    from evenhand.policy.evidence import Received as Received
    from evenhand.policy.exploration_floor import ExplorationFloor as ExplorationFloor
    from evenhand.policy.fairness import DeficitBonus as DeficitBonus
    from evenhand.policy.fairness import DeficitFirst as DeficitFirst
    from evenhand.policy.fairness import GuaranteedShares as GuaranteedShares
    from evenhand.policy.fairness import MeritShares as MeritShares
    from evenhand.policy.fairness import Mixing as Mixing
    from evenhand.policy.fairness import NoPromise as NoPromise
    from evenhand.policy.floor_shares import FloorShares as FloorShares
    from evenhand.policy.forgetting import Forgetting as Forgetting
    from evenhand.policy.group_rank import GroupRank as GroupRank
    from evenhand.policy.groups import BoundedShares as BoundedShares
    from evenhand.policy.hold import CustomSize as CustomSize
    from evenhand.policy.hold import EveryRound as EveryRound
    from evenhand.policy.hold import GeometricSize as GeometricSize
    from evenhand.policy.hold import Hold as Hold
    from evenhand.policy.hold import HoldFor as HoldFor
    from evenhand.policy.hold import PowerSize as PowerSize
    from evenhand.policy.hold import RandomEnds as RandomEnds
    from evenhand.policy.hold import RestartedHold as RestartedHold
    from evenhand.policy.hold import Size as Size
    from evenhand.policy.identification import IdentifyingMerit as IdentifyingMerit
    from evenhand.policy.identification import IdentifyingShares as IdentifyingShares
    from evenhand.policy.identification import TrackedShares as TrackedShares
    from evenhand.policy.index import UCB as UCB
    from evenhand.policy.index import BetaSample as BetaSample
    from evenhand.policy.index import Committed as Committed
    from evenhand.policy.index import EmpiricalMean as EmpiricalMean
    from evenhand.policy.index import Exploring as Exploring
    from evenhand.policy.index import Index as Index
    from evenhand.policy.index import Mean as Mean
    from evenhand.policy.inverse_gap import InverseGap as InverseGap
    from evenhand.policy.kl import KLUCB as KLUCB
    from evenhand.policy.logistic import LogisticTS as LogisticTS
    from evenhand.policy.mixing import Constant as Constant
    from evenhand.policy.mixing import DoubledHorizon as DoubledHorizon
    from evenhand.policy.mixing import Doubling as Doubling
    from evenhand.policy.mixing import ForChoices as ForChoices
    from evenhand.policy.mixing import MixingRule as MixingRule
    from evenhand.policy.mixing import OnePhase as OnePhase
    from evenhand.policy.mixing import Phases as Phases
    from evenhand.policy.part import PolicyPart as PolicyPart
    from evenhand.policy.part import Traits as Traits
    from evenhand.policy.reward_rates import RewardRates as RewardRates
    from evenhand.policy.schedule import Elimination as Elimination
    from evenhand.policy.schedule import ForcedStart as ForcedStart
    from evenhand.policy.schedule import NoSchedule as NoSchedule
    from evenhand.policy.schedule import PeriodicExploration as PeriodicExploration
    from evenhand.policy.schedule import PhasedElimination as PhasedElimination
    from evenhand.policy.schedule import Quotas as Quotas
    from evenhand.policy.schedule import Schedule as Schedule
    from evenhand.policy.selection import Categorical as Categorical
    from evenhand.policy.selection import DependentRounding as DependentRounding
    from evenhand.policy.selection import Selection as Selection
    from evenhand.policy.selection import SystematicSampling as SystematicSampling
    from evenhand.policy.selection import TopM as TopM
    from evenhand.policy.shares import proportional as proportional
    from evenhand.policy.since_change import SinceLastChange as SinceLastChange
    from evenhand.policy.virtual_queue import VirtualQueue as VirtualQueue
    from evenhand.policy.weights import ExponentialWeights as ExponentialWeights
    from evenhand.policy.weights import RestartedWeights as RestartedWeights
    from evenhand.policy.weights import WindowWeights as WindowWeights
else:
    __getattr__, __dir__ = lazy(__name__)
