"""Evaluation of a policy on the log of another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.bandit.evaluation.evaluation import Estimate as Estimate
    from evenhand.bandit.evaluation.evaluation import Evaluation as Evaluation
    from evenhand.bandit.evaluation.evaluation import evaluate as evaluate
    from evenhand.bandit.evaluation.evaluation import grade as grade
    from evenhand.bandit.evaluation.grade import Grade as Grade
    from evenhand.bandit.evaluation.learning import Learned as Learned
    from evenhand.bandit.evaluation.log import Log as Log
    from evenhand.bandit.evaluation.log import read_log as read_log
    from evenhand.bandit.evaluation.price import price as price
    from evenhand.bandit.evaluation.propensities import balanced as balanced
    from evenhand.bandit.evaluation.propensities import estimated as estimated
    from evenhand.bandit.evaluation.replay import Replay as Replay
    from evenhand.bandit.evaluation.replay import replay as replay
    from evenhand.bandit.evaluation.targets import FixedShares as FixedShares
    from evenhand.bandit.evaluation.targets import Target as Target
    from evenhand.bandit.evaluation.vowpal_wabbit import read_vowpal_wabbit as read_vowpal_wabbit
    from evenhand.inference.sequences import mean_interval as mean_interval
    from evenhand.messages.prices import Price as Price
else:
    __getattr__, __dir__ = lazy(__name__)
