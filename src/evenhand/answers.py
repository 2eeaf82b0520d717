"""Records that bandits, the store and the service answer with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.core.intervals import Claim as Claim
    from evenhand.core.intervals import Difference as Difference
    from evenhand.core.intervals import Interval as Interval
    from evenhand.messages.answers import Allocation as Allocation
    from evenhand.messages.answers import AllocationHealth as AllocationHealth
    from evenhand.messages.answers import AllocationSummary as AllocationSummary
    from evenhand.messages.answers import Arm as Arm
    from evenhand.messages.answers import ArmOutcome as ArmOutcome
    from evenhand.messages.answers import ArmPropensity as ArmPropensity
    from evenhand.messages.answers import CatchUp as CatchUp
    from evenhand.messages.answers import Cost as Cost
    from evenhand.messages.answers import Decision as Decision
    from evenhand.messages.answers import DecisionOutcome as DecisionOutcome
    from evenhand.messages.answers import Effect as Effect
    from evenhand.messages.answers import Event as Event
    from evenhand.messages.answers import Lease as Lease
    from evenhand.messages.answers import LeasedArm as LeasedArm
    from evenhand.messages.answers import LeaseReport as LeaseReport
    from evenhand.messages.answers import MovedShare as MovedShare
    from evenhand.messages.answers import Recommendation as Recommendation
    from evenhand.messages.answers import RewardResult as RewardResult
    from evenhand.messages.answers import TotalResult as TotalResult
    from evenhand.messages.audit import Audit as Audit
    from evenhand.messages.audit import DelaySummary as DelaySummary
    from evenhand.messages.lines import BoundLine as BoundLine
    from evenhand.messages.lines import ChangeMade as ChangeMade
    from evenhand.messages.lines import DeficitExcerpt as DeficitExcerpt
    from evenhand.messages.lines import History as History
    from evenhand.messages.lines import Line as Line
    from evenhand.messages.prices import ArmPrice as ArmPrice
    from evenhand.messages.prices import LogPrice as LogPrice
    from evenhand.messages.prices import Price as Price
    from evenhand.messages.prices import PricePoint as PricePoint
else:
    __getattr__, __dir__ = lazy(__name__)
