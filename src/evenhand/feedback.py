"""Rewards that arrive at once, or spread over rounds in anonymous sums."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.environment.adversary import Adversary as Adversary
    from evenhand.environment.adversary import NonOblivious as NonOblivious
    from evenhand.environment.anonymous import AnonymousFeedback as AnonymousFeedback
    from evenhand.environment.feedback import Channel as Channel
    from evenhand.environment.feedback import FeedbackModel as FeedbackModel
    from evenhand.environment.feedback import FeedbackTraits as FeedbackTraits
    from evenhand.environment.feedback import Immediate as Immediate
    from evenhand.environment.kernel import Kernel as Kernel
    from evenhand.environment.profiles import Bounded as Bounded
    from evenhand.environment.profiles import Decreasing as Decreasing
    from evenhand.environment.profiles import Discounted as Discounted
    from evenhand.environment.profiles import Increasing as Increasing
    from evenhand.environment.profiles import Polynomial as Polynomial
    from evenhand.environment.profiles import Profile as Profile
    from evenhand.environment.profiles import RandomDelay as RandomDelay
    from evenhand.environment.profiles import lateness as lateness
    from evenhand.environment.profiles import lateness_variance as lateness_variance
else:
    __getattr__, __dir__ = lazy(__name__)
