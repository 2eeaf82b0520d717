"""Environments: what plays earn, which arms are available, and when rewards become known."""

from evenhand.environment.adversary import Adversary, NonOblivious
from evenhand.environment.anonymous import AnonymousFeedback
from evenhand.environment.availability import Always, Availability, AvailabilityTraits, Independent, Joint, Logged
from evenhand.environment.delays import (
    ByReward,
    Custom,
    Empirical,
    Fixed,
    Geometric,
    PacketLoss,
    Pareto,
    Uniform,
)
from evenhand.environment.drift import DriftingRewards, Piecewise, Sinusoidal, Varying
from evenhand.environment.feedback import Channel, FeedbackModel, FeedbackTraits, Immediate
from evenhand.environment.kernel import Kernel
from evenhand.environment.late import Delay
from evenhand.environment.profiles import Bounded, Decreasing, Discounted, Increasing, Polynomial, RandomDelay
from evenhand.environment.rewards import (
    Bernoulli,
    Beta,
    Categorical,
    Gaussian,
    Rewards,
    RewardTraits,
    Table,
    Winners,
)
from evenhand.environment.world import Environment, World

__all__ = [
    "Adversary",
    "Always",
    "AnonymousFeedback",
    "Availability",
    "AvailabilityTraits",
    "Bernoulli",
    "Beta",
    "Bounded",
    "ByReward",
    "Categorical",
    "Channel",
    "Custom",
    "Decreasing",
    "Delay",
    "Discounted",
    "DriftingRewards",
    "Empirical",
    "Environment",
    "FeedbackModel",
    "FeedbackTraits",
    "Fixed",
    "Gaussian",
    "Geometric",
    "Immediate",
    "Increasing",
    "Independent",
    "Joint",
    "Kernel",
    "Logged",
    "NonOblivious",
    "PacketLoss",
    "Pareto",
    "Piecewise",
    "Polynomial",
    "RandomDelay",
    "RewardTraits",
    "Rewards",
    "Sinusoidal",
    "Table",
    "Uniform",
    "Varying",
    "Winners",
    "World",
]
