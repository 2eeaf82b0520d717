"""Delays: how long after its play a reward becomes known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.environment.delays import ByReward as ByReward
    from evenhand.environment.delays import Custom as Custom
    from evenhand.environment.delays import Empirical as Empirical
    from evenhand.environment.delays import Fixed as Fixed
    from evenhand.environment.delays import Geometric as Geometric
    from evenhand.environment.delays import PacketLoss as PacketLoss
    from evenhand.environment.delays import Pareto as Pareto
    from evenhand.environment.delays import Uniform as Uniform
    from evenhand.environment.late import Delay as Delay
else:
    __getattr__, __dir__ = lazy(__name__)
