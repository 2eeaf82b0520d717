"""Errors that the caller can correct, all of them an `evenhand.EvenhandError`, and the warning of what may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.lazy import lazy

if TYPE_CHECKING:
    from evenhand.bandit.pending import RewardError as RewardError
    from evenhand.core.errors import ConfigurationError as ConfigurationError
    from evenhand.core.errors import DataError as DataError
    from evenhand.core.errors import EvenhandError as EvenhandError
    from evenhand.core.errors import InfeasiblePromise as InfeasiblePromise
    from evenhand.core.errors import MissingPart as MissingPart
    from evenhand.core.errors import StateError as StateError
    from evenhand.core.experimental import ExperimentalWarning as ExperimentalWarning
else:
    __getattr__, __dir__ = lazy(__name__)
