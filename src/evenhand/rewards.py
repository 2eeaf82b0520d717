"""What plays earn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.environment.contextual import ContextualRewards as ContextualRewards
    from evenhand.environment.contextual import Linear as Linear
    from evenhand.environment.contextual import Logistic as Logistic
    from evenhand.environment.drift import DriftingRewards as DriftingRewards
    from evenhand.environment.drift import Piecewise as Piecewise
    from evenhand.environment.drift import Sinusoidal as Sinusoidal
    from evenhand.environment.drift import Varying as Varying
    from evenhand.environment.rewards import Bernoulli as Bernoulli
    from evenhand.environment.rewards import Beta as Beta
    from evenhand.environment.rewards import Categorical as Categorical
    from evenhand.environment.rewards import Gaussian as Gaussian
    from evenhand.environment.rewards import Rewards as Rewards
    from evenhand.environment.rewards import RewardTraits as RewardTraits
    from evenhand.environment.rewards import Table as Table
    from evenhand.environment.rewards import Winners as Winners
else:
    __getattr__, __dir__ = lazy(__name__)
